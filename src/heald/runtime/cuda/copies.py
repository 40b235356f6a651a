"""Copies from, to and within GPUs, in the order of the current stream.

Only copies from a GPU to the host are waited for.  All raise what is known to have failed before on
their stream, and are then not done.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.runtime.cuda.devices import gpu_of
from heald.runtime.cuda.memory import Bytes, PinnedMemory
from heald.runtime.cuda.queue import put, raise_pending, synchronize_stream
from heald.runtime.cuda.streams import Event, Stream, current_stream
from heald.runtime.device import Device

_SETTERS = {
    1: ("cuMemsetD8Async", ctypes.c_uint8),
    2: ("cuMemsetD16Async", ctypes.c_uint16),
    4: ("cuMemsetD32Async", ctypes.c_uint32),
}


def read(device: Device, ptr: int, nbytes: int, stream: Stream | None = None) -> Bytes:
    """A copy of bytes of a GPU, in new memory of the host.

    Raises:
        KernelFault: a launch before it has failed.
        DeviceError: the stream is being captured (H0811), or the driver reports an error.
    """
    out = np.empty(nbytes, np.uint8)
    stream = stream or current_stream(device)
    stream.refuse_capture("a copy to the host")
    if nbytes:
        with stream.gpu.active() as call:
            places = (ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(ptr))
            call("cuMemcpyDtoHAsync_v2", *places, ctypes.c_size_t(nbytes), stream.handle)
    synchronize_stream(stream)
    return out


def write(
    device: Device, ptr: int, data: bytes | npt.NDArray[Any], stream: Stream | None = None
) -> None:
    """Copy bytes of the host to a GPU; arrays without gaps.  Their memory may change afterwards.

    Raises:
        DeviceError: the stream is being captured (H0811), or the driver reports an error.
    """
    stream = stream or current_stream(device)
    stream.refuse_capture("a copy from memory of the host that is not pinned")
    raise_pending(stream)
    put(stream.gpu, ptr, data, stream)


def write_now(device: Device, ptr: int, data: npt.NDArray[Any]) -> None:
    """Copy an array without gaps to a GPU at once, in the order of no stream."""
    put(gpu_of(device), ptr, data)


def write_pinned(
    device: Device,
    ptr: int,
    memory: PinnedMemory,
    start: int,
    nbytes: int,
    stream: Stream | None = None,
) -> None:
    """Begin a copy of pinned memory of the host to a GPU."""
    stream = stream or current_stream(device)
    raise_pending(stream)
    with stream.gpu.active() as call:
        places = (ctypes.c_uint64(ptr), ctypes.c_void_p(start))
        call("cuMemcpyHtoDAsync_v2", *places, ctypes.c_size_t(nbytes), stream.handle)
    _pinned_in_use(memory, stream)


def read_pinned(
    device: Device,
    ptr: int,
    memory: PinnedMemory,
    start: int,
    nbytes: int,
    stream: Stream | None = None,
) -> None:
    """Begin a copy of a GPU's memory to pinned memory of the host."""
    stream = stream or current_stream(device)
    raise_pending(stream)
    with stream.gpu.active() as call:
        places = (ctypes.c_void_p(start), ctypes.c_uint64(ptr))
        call("cuMemcpyDtoHAsync_v2", *places, ctypes.c_size_t(nbytes), stream.handle)
    _pinned_in_use(memory, stream)


def _pinned_in_use(memory: PinnedMemory, stream: Stream) -> None:
    if stream.capture is None:
        memory.in_use(stream.record_event(Event(stream.device)))
    else:
        stream.capture.pinned.add(memory)


def copy(device: Device, dest: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
    """Copy bytes that do not overlap within a GPU."""
    stream = stream or current_stream(device)
    raise_pending(stream)
    if nbytes:
        with stream.gpu.active() as call:
            places = (ctypes.c_uint64(dest), ctypes.c_uint64(source))
            call("cuMemcpyDtoDAsync_v2", *places, ctypes.c_size_t(nbytes), stream.handle)


def copy_between(
    to: tuple[Device, int], source: tuple[Device, int], nbytes: int, stream: Stream | None = None
) -> None:
    """Copy bytes from one GPU to another, each given as a device and an address.

    It is done on the stream of the one that is written, after what the other was given so far,
    whose current stream waits for it.
    """
    (device, dest), (origin, place) = to, source
    stream = stream or current_stream(device)
    other = current_stream(origin)
    raise_pending(stream)
    raise_pending(other)
    if not nbytes:
        return
    stream.wait_stream(other)
    with stream.gpu.active() as call:
        contexts = [ctypes.c_void_p(gpu_of(d).context) for d in (device, origin)]
        ends = (ctypes.c_uint64(dest), contexts[0], ctypes.c_uint64(place), contexts[1])
        call("cuMemcpyPeerAsync", *ends, ctypes.c_size_t(nbytes), stream.handle)
    other.wait_stream(stream)


def fill(
    device: Device, ptr: int, pattern: bytes, count: int, stream: Stream | None = None
) -> bool:
    """Repeat a pattern of bytes; False where the driver has no call for one of its size."""
    if len(pattern) not in _SETTERS:
        return False
    name, word = _SETTERS[len(pattern)]
    stream = stream or current_stream(device)
    raise_pending(stream)
    if count:
        with stream.gpu.active() as call:
            value = word(int.from_bytes(pattern, "little"))
            call(name, ctypes.c_uint64(ptr), value, ctypes.c_size_t(count), stream.handle)
    return True
