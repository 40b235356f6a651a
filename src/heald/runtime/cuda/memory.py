"""Memory of GPUs.  Every call waits until it is done."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.diagnostics import DeviceError, Diagnostic, Note
from heald.runtime.cuda.devices import Gpu, gpu_of
from heald.runtime.device import Device
from heald.runtime.memory import MAX_BYTES

Bytes = npt.NDArray[np.uint8]
_SETTERS = {1: ("cuMemsetD8_v2", ctypes.c_uint8), 2: ("cuMemsetD16_v2", ctypes.c_uint16)} | {
    4: ("cuMemsetD32_v2", ctypes.c_uint32)
}


class DeviceMemory:
    """Bytes of a GPU; they live as long as this object.

    Attributes:
        ptr: device address of the first byte, a multiple of 256.
        nbytes: how many bytes were asked for.
    """

    __slots__ = ("__weakref__", "nbytes", "ptr")

    def __init__(self, gpu: Gpu, nbytes: int) -> None:
        address = ctypes.c_uint64()
        with gpu.active() as call:
            # Whole words, since atomics on small elements work on the word around them.
            size = max(4, -(-nbytes // 4) * 4)
            call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.ptr = address.value
        self.nbytes = nbytes
        # At the end of the process the driver frees everything, and may be gone before us.
        weakref.finalize(self, _free, gpu, address.value).atexit = False


def _free(gpu: Gpu, address: int) -> None:
    if gpu.driver.is_usable:
        with gpu.active() as call:
            call.attempt("cuMemFree_v2", ctypes.c_uint64(address))


def allocate(device: Device, nbytes: int, *, zeroed: bool = False) -> DeviceMemory:
    """New memory of a GPU; with ``zeroed`` all bytes are 0, else their contents are unspecified.

    Raises:
        DeviceError: there is not that much memory (H0802).
    """
    gpu = gpu_of(device)
    try:
        if nbytes > MAX_BYTES:
            raise DeviceError(Diagnostic("H0802", "more bytes than an address can reach"))
        memory = DeviceMemory(gpu, nbytes)
    except DeviceError as error:
        if error.codes != ("H0802",):
            raise
        raise DeviceError(
            Diagnostic(
                "H0802",
                f"cannot allocate {nbytes:,} bytes on '{device}' ({device.name}, "
                f"{gpu.memory:,} bytes in all)",
                notes=(Note("memory is freed when no array or view refers to it"),),
            )
        ) from None
    if zeroed:
        fill(device, memory.ptr, b"\0", nbytes)
    return memory


def read(device: Device, ptr: int, nbytes: int) -> Bytes:
    """A copy of bytes of a GPU, in new memory of the host."""
    out = np.empty(nbytes, np.uint8)
    if nbytes:
        with gpu_of(device).active() as call:
            host = ctypes.c_void_p(out.ctypes.data)
            call("cuMemcpyDtoH_v2", host, ctypes.c_uint64(ptr), ctypes.c_size_t(nbytes))
    return out


def write(device: Device, ptr: int, data: bytes | npt.NDArray[Any]) -> None:
    """Copy bytes of the host to a GPU; arrays without gaps."""
    source = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    if source.nbytes:
        with gpu_of(device).active() as call:
            host, size = ctypes.c_void_p(source.ctypes.data), ctypes.c_size_t(source.nbytes)
            call("cuMemcpyHtoD_v2", ctypes.c_uint64(ptr), host, size)
            call("cuStreamSynchronize", None)


def copy(device: Device, dest: int, source: int, nbytes: int) -> None:
    """Copy bytes that do not overlap within a GPU."""
    if nbytes:
        with gpu_of(device).active() as call:
            places = (ctypes.c_uint64(dest), ctypes.c_uint64(source))
            call("cuMemcpyDtoD_v2", *places, ctypes.c_size_t(nbytes))
            call("cuStreamSynchronize", None)


def fill(device: Device, ptr: int, pattern: bytes, count: int) -> bool:
    """Repeat a pattern of bytes; False where the driver has no call for one of its size."""
    if len(pattern) not in _SETTERS:
        return False
    name, word = _SETTERS[len(pattern)]
    if count:
        with gpu_of(device).active() as call:
            value = word(int.from_bytes(pattern, "little"))
            call(name, ctypes.c_uint64(ptr), value, ctypes.c_size_t(count))
            call("cuStreamSynchronize", None)
    return True
