"""What arrays do with memory, on whatever device it lies.

Memory of a GPU is reached by copies, in the order of the current stream.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.foreign_streams import let_torch_wait
from heald.runtime import Device, allocate, byte_span, contiguous_strides
from heald.runtime import cuda as gpu
from heald.types import numpy_dtype
from heald.types.descriptors import Element

NDArray = npt.NDArray[Any]
Deleter = Callable[[int, int], object]
Layout = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes without gaps: where, how many, and what they belong to."""

    device: Device
    ptr: int
    nbytes: int
    owner: object

    @property
    def pinned(self) -> gpu.PinnedMemory | None:
        """The pinned memory of the host that they are part of."""
        return self.owner if isinstance(self.owner, gpu.PinnedMemory) else None


def new_memory(
    device: Device, nbytes: int, *, zeroed: bool, pinned: bool = False
) -> tuple[int, object]:
    """The address of new memory, and its owner.

    Args:
        device: where.
        nbytes: how many bytes.
        zeroed: whether they are 0.
        pinned: whether GPUs copy from and to it by themselves; of a host only.

    Raises:
        DeviceError: not enough memory (H0802), or no GPU that could pin it (H0806).
    """
    memory: Any
    if device.is_cuda:
        memory = gpu.allocate(device, nbytes)
        if zeroed:
            gpu.fill(device, memory.ptr, b"\0", nbytes)
    elif pinned:
        memory = gpu.PinnedMemory(nbytes)
        if zeroed:
            ctypes.memset(memory.ptr, 0, nbytes)
    else:
        memory = allocate(nbytes, zeroed=zeroed, tracked=device.is_sim)
    return memory.ptr, memory


def after_work(device: Device, deleter: Deleter) -> Deleter:
    """What gives memory of others back: on a GPU when the work that may use it has ended."""
    return gpu.after_work(device, deleter) if device.is_cuda else deleter


def is_pinned(owner: object) -> bool:
    """Do GPUs copy from and to memory of this owner by themselves?"""
    return isinstance(owner, gpu.PinnedMemory)


def settle(owner: object) -> None:
    """Before the host looks at memory: wait for copies of GPUs that use it.

    Raises:
        KernelFault: a launch on the stream of such a copy has failed.
    """
    if isinstance(owner, gpu.PinnedMemory):
        gpu.settle(owner)


def finish(device: Device) -> None:
    """Wait until a device has done all that it was given, on whatever stream.

    Raises:
        KernelFault: a launch on it has failed.
        DeviceError: a stream of it is being captured (H0811).
    """
    if device.is_cuda:
        gpu.synchronize_gpu(gpu.gpu_of(device))


def is_capturing(device: Device) -> bool:
    """Is a stream of a device being captured, so that nobody can wait for the device?"""
    return device.is_cuda and bool(gpu.gpu_of(device).captures)


def write_now(device: Device, ptr: int, data: NDArray) -> None:
    """Copy an array without gaps to memory of a GPU that was made during a capture, and that
    nothing has used: at once, whatever is captured."""
    gpu.write_now(device, ptr, data)


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


def fill_on_gpu(memory: Bytes, layout: Layout, element: bytes) -> bool:
    """Repeat the bytes of an element in memory of a GPU without gaps; False elsewhere."""
    shape, strides = layout
    if not memory.device.is_cuda or strides != contiguous_strides(shape, len(element)):
        return False
    _keep(memory)
    gpu.fill(memory.device, memory.ptr, element, prod(shape))
    return True


def copy_by_gpu(dest: Bytes, source: Bytes) -> bool:
    """Copy bytes of equal number that do not overlap where GPUs can do it alone: within one,
    between two, from and to pinned memory.  False elsewhere."""
    to, come = dest.device, source.device
    if to.is_cuda and come.is_cuda:
        if to is not come:
            gpu.copy_between((to, dest.ptr), (come, source.ptr), dest.nbytes)
        else:
            gpu.copy(to, dest.ptr, source.ptr, dest.nbytes)
    elif to.is_cuda and source.pinned is not None:
        gpu.write_pinned(to, dest.ptr, source.pinned, source.ptr, dest.nbytes)
    elif come.is_cuda and dest.pinned is not None:
        gpu.read_pinned(come, source.ptr, dest.pinned, dest.ptr, dest.nbytes)
    else:
        return False
    _keep(dest)
    _keep(source)
    return True


def _keep(memory: Bytes) -> None:
    """A graph that is being captured keeps what it uses."""
    if memory.device.is_cuda:
        capture = gpu.current_stream(memory.device).capture
        if capture is not None:
            capture.keep(memory.owner)


def cuda_interface(
    device: Device, element: Element, layout: Layout, ptr: int, read_only: bool
) -> dict[str, Any]:
    """Memory of a GPU as CuPy, numba and torch take it (version 3), axes of vectors last; it is
    ready when what the current stream was given so far is done."""
    stream = gpu.current_stream(device)
    gpu.raise_pending(stream)
    let_torch_wait(device)  # it does not look at ``stream``
    t = numpy_dtype(element)
    shape, strides = layout
    inner = contiguous_strides(t.shape, t.base.itemsize)
    return {
        "data": (0 if 0 in shape else ptr, read_only),
        "shape": shape + t.shape,
        "strides": strides + inner,
        "stream": stream.cuda_stream,
        "typestr": t.base.str,
        "version": 3,
    }
