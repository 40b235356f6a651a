"""The devices of this process, and the current one of each thread."""

from __future__ import annotations

import difflib
import re
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heald.diagnostics import DeviceError, Diagnostic, Note

if TYPE_CHECKING:
    from heald.runtime.cuda.devices import Gpu
    from heald.runtime.cuda.streams import Stream


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A place where arrays live and kernels run.  Compares equal to its own name.

    Attributes:
        alias: the short name, ``cpu``, ``sim`` or ``cuda:0``; what ``str`` gives.
        name: what it is, in words.
        kind: ``cpu`` (machine code on this machine), ``sim`` (the reference interpreter) or
            ``cuda`` (a GPU).
        ordinal: position among the devices of its kind.
    """

    alias: str
    name: str
    kind: str
    ordinal: int = 0

    @property
    def is_cpu(self) -> bool:
        """Does machine code for this machine's processor run on it?"""
        return self.kind == "cpu"

    @property
    def is_sim(self) -> bool:
        """Does the reference interpreter stand behind it?"""
        return self.kind == "sim"

    @property
    def is_cuda(self) -> bool:
        """Is it a CUDA GPU?"""
        return self.kind == "cuda"

    @property
    def is_host(self) -> bool:
        """Is its memory the memory of this process?"""
        return self.kind in ("cpu", "sim")

    @property
    def is_capturing(self) -> bool:
        """Is its current stream recorded into a graph?"""
        return self.is_cuda and self.stream.capture is not None

    @property
    def has_stream(self) -> bool:
        """Does it have streams?"""
        return self.is_cuda

    @property
    def stream(self) -> Stream:
        """The stream that this thread uses on it where none is named.

        Raises:
            DeviceError: it is no GPU (H0805).
        """
        from heald.runtime.cuda.streams import get_stream

        return get_stream(self)

    @property
    def _gpu(self) -> Gpu | None:
        from heald.runtime.cuda.devices import gpu_of

        return gpu_of(self) if self.is_cuda else None

    @property
    def arch(self) -> int:
        """Compute capability of a GPU as a number, 90 for 9.0; 0 elsewhere."""
        gpu = self._gpu
        return 0 if gpu is None else 10 * gpu.capability[0] + gpu.capability[1]

    @property
    def sm_count(self) -> int:
        """Multiprocessors of a GPU; 0 elsewhere."""
        gpu = self._gpu
        return 0 if gpu is None else gpu.processors

    @property
    def total_memory(self) -> int:
        """Bytes of memory of a GPU; 0 elsewhere."""
        gpu = self._gpu
        return 0 if gpu is None else gpu.memory

    @property
    def free_memory(self) -> int:
        """Bytes of memory of a GPU that nobody uses; 0 elsewhere."""
        gpu = self._gpu
        return 0 if gpu is None else gpu.free_memory

    @property
    def is_mempool_supported(self) -> bool:
        """Can memory of it be allocated in the order of streams?"""
        gpu = self._gpu
        return gpu is not None and gpu.has_pools

    @property
    def is_mempool_enabled(self) -> bool:
        """Is it?"""
        gpu = self._gpu
        return gpu is not None and gpu.uses_pool

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f"heald.Device({self.alias!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self.alias == other.alias
        return self.alias == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.alias)


CPU = Device("cpu", "host processor", "cpu")
SIM = Device("sim", "reference interpreter", "sim")

_CUDA = re.compile(r"cuda(?::(\d{1,4}))?", re.ASCII)
_DEVICES: dict[str, Device] = {device.alias: device for device in (CPU, SIM)}

DeviceLike = Device | str | None


class Current(threading.local):
    """The current device of each thread; a new thread starts on the CPU."""

    device: Device = CPU


CURRENT = Current()


def devices() -> tuple[Device, ...]:
    """Every device of this process; asks the CUDA driver for its GPUs."""
    return (*_DEVICES.values(), *cuda_devices())


def cuda_devices() -> tuple[Device, ...]:
    """The GPUs of this process."""
    from heald.runtime.cuda.devices import discover

    return tuple(gpu.device for gpu in discover().gpus)


def current_device() -> Device:
    """The device that this thread uses where none is named."""
    return CURRENT.device


def get_device(ident: DeviceLike = None) -> Device:
    """The device meant by a name, a :class:`Device`, or None for the current one of this thread.

    Raises:
        DeviceError: no such device (H0801), or CUDA cannot be used here (H0806 to H0808).
    """
    if ident is None:
        return CURRENT.device
    if isinstance(ident, Device):
        return ident
    if not isinstance(ident, str):
        raise _unknown(ident)
    found = _DEVICES.get(ident) or _known_gpu(ident)
    if found is not None:
        return found
    match = _CUDA.fullmatch(ident)
    if match is None:
        raise _unknown(ident)
    return _cuda_device(ident, match[1])


def _known_gpu(ident: str) -> Device | None:
    """A GPU by its name, where somebody has looked for GPUs before."""
    module = sys.modules.get("heald.runtime.cuda.devices")
    if module is None or not ident.startswith("cuda:"):
        return None
    found: Device | None = module.discover().names.get(ident)
    return found


def _cuda_device(ident: str, ordinal: str | None) -> Device:
    """A GPU; ``cuda`` alone is the current one of this thread, or the first."""
    from heald.runtime.cuda.devices import discover

    if ordinal is None and CURRENT.device.is_cuda:
        return CURRENT.device
    found = discover()
    number = int(ordinal or 0)
    if number < len(found.gpus):
        return found.gpus[number].device
    if found.problem is not None:
        raise DeviceError(*found.problem.diagnostics)
    raise _unknown(ident)


def set_device(ident: DeviceLike) -> Device:
    """Make a device the current one of this thread, and return it.

    Raises:
        DeviceError: no such device (H0801), or a GPU in a process that was forked from one that
            used CUDA (H0809).
    """
    device = get_device(ident)
    gpu = device._gpu
    if gpu is not None:
        gpu.driver.check_process()
    return use_device(device)


def use_device(device: Device) -> Device:
    """As :func:`set_device`, of a device that may be one of another process."""
    CURRENT.device = device
    return device


def synchronize(what: DeviceLike | Stream = None) -> None:
    """Wait until a device, a stream, or without an argument every device, has finished all work
    given to it; show what kernels have printed, and raise what has failed.

    Launches on CPU and simulator have ended when they return.  A process that was forked from one
    that used CUDA has given nothing to a GPU.

    Raises:
        KernelFault: a launch on a GPU has failed.
        DeviceError: no such device (H0801), a stream is being captured (H0811), or a GPU reports an
            error (H0808), or is waited for in a forked process (H0809).
    """
    if what is not None and not isinstance(what, (str, Device)):
        from heald.runtime.cuda.queue import synchronize_stream
        from heald.runtime.cuda.streams import Stream

        if not isinstance(what, Stream):
            raise _unknown(what)
        synchronize_stream(what)
        return
    known = None if what is None else get_device(what)
    if known is not None and not known.is_cuda:
        return
    from heald.runtime.cuda.devices import discover
    from heald.runtime.cuda.queue import synchronize_gpu

    if known is None and not discover.is_made:
        return  # nobody has asked for GPUs yet
    for gpu in discover().gpus:
        if gpu.driver.is_usable if known is None else gpu.device == known:
            synchronize_gpu(gpu)


def _unknown(ident: object) -> DeviceError:
    known = ", ".join(repr(device.alias) for device in devices())
    if not isinstance(ident, str):
        message = f"a device is a name or a Device, not {type(ident).__name__} {ident!r}"
        return DeviceError(Diagnostic("H0801", message, hint=f"use one of {known}"))
    near = difflib.get_close_matches(ident.strip().lower(), _DEVICES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {known}"
    notes = (Note(f"devices here: {known}"),) if near else ()
    return DeviceError(Diagnostic("H0801", f"there is no device {ident!r}", notes=notes, hint=hint))
