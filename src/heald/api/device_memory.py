"""What arrays do with memory, on whatever device it lies.

Memory of a GPU is reached by copies.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.runtime import Device, allocate, byte_span, contiguous_strides
from heald.runtime import cuda as gpu
from heald.types import numpy_dtype
from heald.types.descriptors import Element

NDArray = npt.NDArray[Any]
Layout = tuple[tuple[int, ...], tuple[int, ...]]


def new_memory(device: Device, nbytes: int, *, zeroed: bool) -> tuple[int, object]:
    """The address of new memory, and its owner.

    Raises:
        DeviceError: not enough memory (H0802).
    """
    memory: Any
    if device.is_cuda:
        memory = gpu.allocate(device, nbytes, zeroed=zeroed)
    else:
        memory = allocate(nbytes, zeroed=zeroed, tracked=device.is_sim)
    return memory.ptr, memory


def read_bytes(device: Device, ptr: int, nbytes: int) -> bytes:
    """A copy of bytes at an address."""
    if device.is_cuda:
        return gpu.read(device, ptr, nbytes).tobytes()
    return ctypes.string_at(ptr, nbytes)


def fetch(device: Device, ptr: int, nbytes: int) -> NDArray:
    """A copy of bytes of a GPU, uint8, which can be changed."""
    return gpu.read(device, ptr, nbytes)


def write_bytes(device: Device, ptr: int, data: bytes) -> None:
    """Copy bytes to an address."""
    if device.is_cuda:
        gpu.write(device, ptr, data)
    else:
        ctypes.memmove(ptr, data, len(data))


def put_back(device: Device, ptr: int, layout: Layout, itemsize: int, host: NDArray) -> None:
    """Copy the bytes that ``host`` is made of, a copy of a GPU's, to where they belong.

    Nothing is left to do for memory of the host.
    """
    if device.is_cuda and host.size:
        low, _ = byte_span(*layout, itemsize)
        assert isinstance(host.base, np.ndarray)
        gpu.write(device, ptr + low, host.base)


def fill_on_gpu(device: Device, ptr: int, layout: Layout, element: bytes) -> bool:
    """Repeat the bytes of an element where the driver can do so without the host."""
    shape, strides = layout
    if not device.is_cuda or strides != contiguous_strides(shape, len(element)):
        return False
    count = int(np.prod(shape, dtype=object))
    if element.count(0) == len(element):
        return gpu.fill(device, ptr, b"\0", count * len(element))
    return gpu.fill(device, ptr, element, count)


def copy_on_gpu(device: Device, dest: int, source: int, nbytes: int) -> bool:
    """Copy bytes within a GPU; False where they overlap, or lie elsewhere."""
    if not device.is_cuda or abs(dest - source) < nbytes:
        return False
    gpu.copy(device, dest, source, nbytes)
    return True


def cuda_interface(element: Element, layout: Layout, ptr: int, read_only: bool) -> dict[str, Any]:
    """Memory of a GPU as CuPy, numba and torch take it (version 3), axes of vectors last."""
    t = numpy_dtype(element)
    shape, strides = layout
    inner = contiguous_strides(t.shape, t.base.itemsize)
    return {
        "data": (0 if 0 in shape else ptr, read_only),
        "shape": shape + t.shape,
        "strides": strides + inner,
        "typestr": t.base.str,
        "version": 3,
    }
