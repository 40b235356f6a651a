"""NVIDIA's linker library, which makes machine code of PTX on many cores at once.

It is part of the CUDA toolkit, of the package ``nvidia-nvjitlink`` and of torch.  Where it is
missing, the driver does the work, one kernel after the other.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from heald.runtime.cuda.toolkit import files

_NAMES = ("libnvJitLink.so.13", "libnvJitLink.so.12")
_PTX = 2
_FUNCTIONS = ("Create", "AddData", "Complete", "GetLinkedCubinSize", "GetLinkedCubin", "Destroy")


class JitLink:
    """The library, loaded."""

    def __init__(self, library: Any) -> None:
        self._calls = {name: getattr(library, f"nvJitLink{name}") for name in _FUNCTIONS}
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)

    def assemble(self, ptx: bytes, arch: str) -> bytes | None:
        """A cubin, or None where the library refuses the PTX."""
        calls, handle, size = self._calls, ctypes.c_void_p(), ctypes.c_size_t()
        options = (ctypes.c_char_p * 1)(f"-arch={arch}".encode())
        if calls["Create"](ctypes.byref(handle), ctypes.c_uint32(1), options):
            return None
        try:
            text = ptx + b"\0"
            given = (text, ctypes.c_size_t(len(text)), b"kernel.ptx")
            if calls["AddData"](handle, ctypes.c_int(_PTX), *given) or calls["Complete"](handle):
                return None
            if calls["GetLinkedCubinSize"](handle, ctypes.byref(size)):
                return None
            cubin = ctypes.create_string_buffer(size.value)
            return None if calls["GetLinkedCubin"](handle, cubin) else cubin.raw
        finally:
            calls["Destroy"](ctypes.byref(handle))


@cache
def find_jit_link(driver_version: int | None = None) -> JitLink | None:
    """The library, if there is one: one whose code a driver (13000 for CUDA 13.0) takes, or any."""
    for place in _places():
        try:
            found = JitLink(_open(place))
        except (OSError, AttributeError):
            continue
        if driver_version is None or found.version[0] <= driver_version // 1000:
            return found
    return None


def _open(place: str) -> ctypes.CDLL:
    """The library; reading its 100 MB takes a tenth of a second, in which ``ctypes.CDLL`` would
    let no other thread go on.

    Raises:
        OSError: it cannot be loaded.
    """
    load = ctypes.CDLL(None).dlopen
    load.restype, load.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    handle = load(os.fsencode(place), os.RTLD_NOW)
    return ctypes.CDLL(place, handle=handle)  # where there is none, it tries and says why


def _places() -> Iterator[str]:
    yield from _NAMES
    yield from map(str, files("lib64/libnvJitLink.so.1?", of_packages="lib/libnvJitLink.so.1?"))
