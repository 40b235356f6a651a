"""Copies from, to and within GPUs, in the order of the current stream.

Only copies from a GPU to the host are waited for.  All raise what is known to have failed before on
their stream, and are then not done.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from itertools import groupby
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.runtime.cuda.devices import gpu_of
from heald.runtime.cuda.memory import Bytes, PinnedMemory
from heald.runtime.cuda.queue import put, raise_pending, synchronize_event, synchronize_stream
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


def settle(memory: PinnedMemory) -> None:
    """Before the host looks at pinned memory: wait for the copies that use it.

    Raises:
        KernelFault: a launch on the stream of one of them has failed.
        DeviceError: this is a forked process, which need not have that memory (H0809).
    """
    memory.gpu.driver.check_process()
    for event in memory.events:  # they stay: other threads may have to wait, too
        synchronize_event(event)


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
) -> None:
    """Repeat the bytes of an element; the host sends none of them, so graphs have it too.

    The driver repeats one word by itself.  Of an element that has several it writes the first, and
    then copies what is there behind itself until all is full.
    """
    stream = stream or current_stream(device)
    raise_pending(stream)
    if not count:
        return
    done = size = len(pattern)
    runs = _runs(ptr, pattern) if any(pattern) else [(0, b"\0", size)]
    if len(runs) == 1:
        ((_, word, times),) = runs
        runs, done = [(0, word, times * count)], size * count
    with stream.gpu.active() as call:
        for start, word, times in runs:
            name, kind = _SETTERS[len(word)]
            what = ctypes.c_uint64(ptr + start), kind(int.from_bytes(word, "little"))
            call(name, *what, ctypes.c_size_t(times), stream.handle)
        while done < size * count:
            more = min(done, size * count - done)
            places = (ctypes.c_uint64(ptr + done), ctypes.c_uint64(ptr))
            call("cuMemcpyDtoDAsync_v2", *places, ctypes.c_size_t(more), stream.handle)
            done += more


def _runs(ptr: int, pattern: bytes) -> list[tuple[int, bytes, int]]:
    """What to write in turn so that a pattern is there: where, which word, and how often.

    Words are as long as the address that is written at allows.  That which stands alone most often,
    as zeros do between the numbers of a float64 matrix, is written everywhere first.
    """
    step = gcd(max(_SETTERS), len(pattern), ptr)
    words = (pattern[k : k + step] for k in range(0, len(pattern), step))
    found, start = [], 0
    for word, same in groupby(words):
        times = sum(1 for _ in same)
        found.append((start, word, times))
        start += times * step
    ((usual, runs),) = Counter(word for _, word, _ in found).most_common(1)
    if runs == 1:
        return found
    return [(0, usual, len(pattern) // step), *(run for run in found if run[1] != usual)]
