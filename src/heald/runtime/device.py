"""The devices of this process, and the current one of each thread."""

from __future__ import annotations

import difflib
import re
import threading
from dataclasses import dataclass

from heald.diagnostics import DeviceError, Diagnostic, Note


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


class _Current(threading.local):
    """The current device of each thread; a new thread starts on the CPU."""

    device: Device = CPU


_CURRENT = _Current()


def devices() -> tuple[Device, ...]:
    """Every device of this process; asks the CUDA driver for its GPUs."""
    return (*_DEVICES.values(), *cuda_devices())


def cuda_devices() -> tuple[Device, ...]:
    """The GPUs of this process."""
    from heald.runtime.cuda.devices import discover

    return tuple(gpu.device for gpu in discover().gpus)


def current_device() -> Device:
    """The device that this thread uses where none is named."""
    return _CURRENT.device


def get_device(ident: DeviceLike = None) -> Device:
    """The device meant by a name, a :class:`Device`, or None for the current one of this thread.

    Raises:
        DeviceError: no such device (H0801), or CUDA cannot be used here (H0806 to H0808).
    """
    if ident is None:
        return _CURRENT.device
    if isinstance(ident, Device):
        return ident
    if not isinstance(ident, str):
        raise _unknown(ident)
    found = _DEVICES.get(ident)
    if found is not None:
        return found
    match = _CUDA.fullmatch(ident)
    if match is None:
        raise _unknown(ident)
    return _cuda_device(ident, match[1])


def _cuda_device(ident: str, ordinal: str | None) -> Device:
    """A GPU; ``cuda`` alone is the current one of this thread, or the first."""
    from heald.runtime.cuda.devices import discover

    if ordinal is None and _CURRENT.device.is_cuda:
        return _CURRENT.device
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
        DeviceError: no such device (H0801).
    """
    device = get_device(ident)
    _CURRENT.device = device
    return device


def synchronize(ident: DeviceLike = None) -> None:
    """Wait until a device, or without an argument every device, has finished all work given to it.

    Launches return when their last thread has ended; what is left to wait for is what other
    libraries gave to a GPU.

    Raises:
        DeviceError: no such device (H0801), or a GPU reports an error (H0808).
    """
    known = None if ident is None else get_device(ident)
    if known is not None and not known.is_cuda:
        return
    from heald.runtime.cuda.devices import discover

    if known is None and not discover.cache_info().currsize:
        return  # nobody has asked for GPUs yet
    for gpu in discover().gpus:
        if known is None or gpu.device == known:
            gpu.synchronize()


def _unknown(ident: object) -> DeviceError:
    known = ", ".join(repr(device.alias) for device in devices())
    if not isinstance(ident, str):
        message = f"a device is a name or a Device, not {type(ident).__name__} {ident!r}"
        return DeviceError(Diagnostic("H0801", message, hint=f"use one of {known}"))
    near = difflib.get_close_matches(ident.strip().lower(), _DEVICES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {known}"
    notes = (Note(f"devices here: {known}"),) if near else ()
    return DeviceError(Diagnostic("H0801", f"there is no device {ident!r}", notes=notes, hint=hint))
