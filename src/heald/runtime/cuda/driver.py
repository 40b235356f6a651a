"""The CUDA driver, by ctypes: one function that calls it by name and turns its errors into ours.

ctypes is enough everywhere: it needs no package beside the driver itself, and releases the GIL.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from heald.diagnostics import DeviceError, Diagnostic, Note
from heald.once import once

OLDEST = 12030
"""The driver interface that understands the PTX of ``codegen.target``: CUDA 12.3, driver 545."""

_LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
_OUT_OF_MEMORY, _DEINITIALISED, _NO_DEVICE = 2, 4, 100
_STICKY = frozenset({700, 702, 714, 715, 716, 717, 718, 719})
"""Errors of a kernel after which no call of this process succeeds any more."""


class Driver:
    """The driver library, initialised in this process.

    Raises:
        DeviceError: no driver or no GPU (H0806), one that is too old (H0807), or one that cannot
            start (H0808).
    """

    def __init__(self) -> None:
        self._library = _open()
        self._process = os.getpid()
        status = self._library.cuInit(0)
        if status == _NO_DEVICE:
            raise _unavailable("the CUDA driver sees no GPU")
        if status:
            raise self._error("cuInit", status)
        self.version = self._read_version()

    def _read_version(self) -> int:
        number = ctypes.c_int()
        self("cuDriverGetVersion", ctypes.byref(number))
        if number.value < OLDEST:
            raise DeviceError(
                Diagnostic(
                    "H0807",
                    f"the CUDA driver is too old: it knows CUDA {_spell(number.value)}, kernels "
                    f"need {_spell(OLDEST)}",
                    hint="update the NVIDIA driver to 545 or newer, or use device='cpu'",
                )
            )
        return number.value

    @property
    def is_usable(self) -> bool:
        """Is this the process that initialised it?  A child made by fork cannot use CUDA."""
        return os.getpid() == self._process

    def check_process(self) -> None:
        """Refuse a child made by fork.

        Raises:
            DeviceError: this is one (H0809).
        """
        if not self.is_usable:
            raise DeviceError(
                Diagnostic(
                    "H0809",
                    "this process was forked from one that used CUDA, and cannot use it itself",
                    hint="start workers by multiprocessing.get_context('spawn')",
                )
            )

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver.  Every argument says its C type.

        Raises:
            DeviceError: it reports an error (H0802, H0808), or this is a forked child (H0809).
        """
        self.check_process()
        status = getattr(self._library, name)(*arguments)
        if status:
            raise self._error(name, status)

    def ask(self, name: str, *arguments: Any, no: int) -> bool:
        """Call a function that answers: False where its status is ``no``.

        Raises:
            DeviceError: as a call.
        """
        status = getattr(self._library, name)(*arguments)
        if status not in (0, no):
            raise self._error(name, status)
        return bool(status == 0)

    def address(self, name: str) -> int:
        """Where a function of the driver begins."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0

    def attempt(self, name: str, *arguments: Any) -> None:
        """Call a function that gives something back; at the end of a process it may be too late."""
        if self.is_usable:
            getattr(self._library, name)(*arguments)

    def _error(self, name: str, status: int) -> DeviceError:
        code, text = ctypes.c_char_p(), ctypes.c_char_p()
        self._library.cuGetErrorName(status, ctypes.byref(code))
        self._library.cuGetErrorString(status, ctypes.byref(text))
        what = (code.value or b"unknown error").decode()
        why = (text.value or b"").decode()
        if status == _OUT_OF_MEMORY:
            message = "the GPU has not enough free memory"
            return DeviceError(Diagnostic("H0802", message, notes=(Note(f"{name}: {what}"),)))
        notes = [Note(why)] if why else []
        if status in _STICKY:
            notes.append(Note("CUDA cannot be used any more in this process"))
        message = f"the CUDA driver reports {what} ({status}) from {name}"
        return DeviceError(Diagnostic("H0808", message, notes=tuple(notes)))


@once
def driver() -> Driver:
    """The driver of this process.

    Raises:
        DeviceError: as :class:`Driver`.
    """
    return Driver()


def _open() -> Any:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise _unavailable("this machine has no CUDA driver")


def _unavailable(why: str) -> DeviceError:
    return DeviceError(
        Diagnostic("H0806", f"no CUDA device: {why}", hint="use device='cpu': the same bits")
    )


def _spell(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
