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
        alias: the short name, ``cpu`` or ``sim``; what ``str`` gives.
        name: what it is, in words.
        kind: ``cpu`` (machine code on this machine) or ``sim`` (the reference interpreter).
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

_DEVICES: dict[str, Device] = {device.alias: device for device in (CPU, SIM)}

DeviceLike = Device | str | None


class _Current(threading.local):
    """The current device of each thread; a new thread starts on the CPU."""

    device: Device = CPU


_CURRENT = _Current()


def devices() -> tuple[Device, ...]:
    """Every device of this process."""
    return tuple(_DEVICES.values())


def current_device() -> Device:
    """The device that this thread uses where none is named."""
    return _CURRENT.device


def get_device(ident: DeviceLike = None) -> Device:
    """The device meant by a name, a :class:`Device`, or None for the current one of this thread.

    Raises:
        DeviceError: no such device (H0801).
    """
    if ident is None:
        return _CURRENT.device
    if isinstance(ident, Device):
        return ident
    found = _DEVICES.get(ident) if isinstance(ident, str) else None
    if found is None:
        raise _unknown(ident)
    return found


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

    Launches on ``cpu`` and ``sim`` return when their last thread has ended, so on them nothing is
    ever left to wait for.

    Raises:
        DeviceError: no such device (H0801).
    """
    get_device(ident)


def _unknown(ident: object) -> DeviceError:
    known = ", ".join(repr(alias) for alias in _DEVICES)
    if not isinstance(ident, str):
        message = f"a device is a name or a Device, not {type(ident).__name__} {ident!r}"
        return DeviceError(Diagnostic("H0801", message, hint=f"use one of {known}"))
    if re.fullmatch(r"cuda(:\d+)?", ident):
        return DeviceError(
            Diagnostic(
                "H0801",
                f"device {ident!r} cannot be used: this version of Heald has no CUDA back end",
                notes=(Note(f"devices here: {known}"),),
                hint="use device='cpu', which gives the same bits",
            )
        )
    near = difflib.get_close_matches(ident.strip().lower(), _DEVICES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {known}"
    notes = (Note(f"devices here: {known}"),) if near else ()
    return DeviceError(Diagnostic("H0801", f"there is no device {ident!r}", notes=notes, hint=hint))
