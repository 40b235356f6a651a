"""Memory of GPUs, and memory of the host that GPUs copy from and to by themselves.

Memory is allocated and freed in the order of streams: freed memory is used again only after the
work given before, on any stream of the GPU.  As long as there is one stream that is its order.
With several, memory is allocated on a stream that has nothing to wait for, so that every stream may
use it at once, and freed on one that waits for them all.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from threading import Lock

import numpy as np
import numpy.typing as npt

from heald.diagnostics import DeviceError, Diagnostic, Note
from heald.runtime.cuda.devices import Gpu, gpu_of
from heald.runtime.cuda.streams import Event, Stream, current_stream
from heald.runtime.device import Device, get_device
from heald.runtime.memory import MAX_BYTES

Bytes = npt.NDArray[np.uint8]
_THRESHOLD, _REUSE_INTERNAL, _RESERVED, _USED, _USED_HIGH = 4, 3, 5, 7, 8
_KEPT = 1 << 30
"""Bytes that a pool keeps by default when all its memory is free."""
_PORTABLE_AND_MAPPED = 3
_WAIT = ctypes.c_uint(0)


class DeviceMemory:
    """Bytes of a GPU; they live as long as this object, and as work given before its end.

    Attributes:
        ptr: device address of the first byte, a multiple of 256.
        nbytes: how many bytes were asked for.
        device: the GPU.
    """

    __slots__ = ("__weakref__", "device", "nbytes", "ptr")

    def __init__(self, gpu: Gpu, nbytes: int) -> None:
        stream = current_stream(gpu.device)
        # Whole words, since atomics on small elements work on the word around them.
        size = max(4, -(-nbytes // 4) * 4)
        pooled = gpu.uses_pool
        try:
            address = _take(gpu, stream, size, pooled)
        except DeviceError as error:
            if error.codes != ("H0802",) or gpu.captures:
                raise
            _reclaim(gpu)
            address = _take(gpu, stream, size, pooled)
        self.ptr = address
        self.nbytes = nbytes
        self.device = gpu.device
        # At the end of the process the driver frees everything, and may be gone before us.
        weakref.finalize(self, _free, gpu, address, pooled).atexit = False
        if stream.capture is not None:
            stream.capture.keep(self)


def _take(gpu: Gpu, stream: Stream, size: int, pooled: bool) -> int:
    address, count = ctypes.c_uint64(), ctypes.c_size_t(size)
    if pooled and not gpu.has_prepared_pool:
        gpu.has_prepared_pool = True
        _prepare_pool(gpu)
    with gpu.active() as call:
        if not pooled:
            call("cuMemAlloc_v2", ctypes.byref(address), count)
        elif _has_one_order(gpu):
            call("cuMemAllocAsync", ctypes.byref(address), count, stream.handle)
        else:
            with gpu.aside() as (_, aside):
                call("cuMemAllocAsync", ctypes.byref(address), count, aside)
    return address.value


def _has_one_order(gpu: Gpu) -> bool:
    return not gpu.has_many_streams and not gpu.captures


def _free(gpu: Gpu, address: int, pooled: bool) -> None:
    if not gpu.driver.is_usable:
        return
    if not pooled:
        gpu.later(lambda: _free_now(gpu, address))
        return
    with gpu.active() as call, gpu.lock:
        if _has_one_order(gpu) and gpu.default is not None:
            call.attempt("cuMemFreeAsync", ctypes.c_uint64(address), gpu.default.handle)
            return
        last = gpu.own_stream("free")
        streams = list(gpu.streams)
        try:
            captured = {s for s in streams if s.is_foreign and s.is_capturing}
        except DeviceError:  # the legacy stream tells nothing while another library captures
            gpu.try_later(lambda: _free(gpu, address, pooled))
            return
        for stream in streams:
            if stream in captured:
                continue  # by its owner, who keeps what it uses
            event = stream.mark() if stream.capture is None else stream.before
            if event is not None:
                call.attempt("cuStreamWaitEvent", last, ctypes.c_void_p(event.cuda_event), _WAIT)
        call.attempt("cuMemFreeAsync", ctypes.c_uint64(address), last)


def _free_now(gpu: Gpu, address: int) -> None:
    with gpu.active() as call:
        call.attempt("cuCtxSynchronize")
        call.attempt("cuMemFree_v2", ctypes.c_uint64(address))


def after_work(
    device: Device, deleter: Callable[[int, int], object]
) -> Callable[[int, int], object]:
    """The same, called when everything that was given to a GPU before is done."""
    gpu = gpu_of(device)

    def wait_and_delete(ptr: int, nbytes: int) -> None:
        def now() -> None:
            if gpu.driver.is_usable:
                with gpu.active() as call:
                    call.attempt("cuCtxSynchronize")
            deleter(ptr, nbytes)

        gpu.later(now)

    return wait_and_delete


def _reclaim(gpu: Gpu) -> None:
    """Give back what is free: it may be waiting for work to end."""
    with gpu.active() as call:
        call("cuCtxSynchronize")
        if gpu.has_pools:
            call("cuMemPoolTrimTo", default_pool(gpu), ctypes.c_size_t(0))


def allocate(device: Device, nbytes: int) -> DeviceMemory:
    """New memory of a GPU with unspecified contents.

    Raises:
        DeviceError: there is not that much memory (H0802).
    """
    gpu = gpu_of(device)
    try:
        if nbytes > MAX_BYTES:
            raise DeviceError(Diagnostic("H0802", "more bytes than an address can reach"))
        return DeviceMemory(gpu, nbytes)
    except DeviceError as error:
        if error.codes != ("H0802",):
            raise
        raise DeviceError(_out_of_memory(gpu, nbytes)) from None


def _out_of_memory(gpu: Gpu, nbytes: int) -> Diagnostic:
    """Who has the memory of a GPU, where there is not enough of it, and what to do."""
    free = gpu.free_memory
    notes = [Note(f"{free:,} bytes are free, {gpu.memory - free:,} in use by all processes")]
    hint = "use smaller arrays or elements, or let go of arrays that are no longer needed"
    if gpu.has_pools:
        reserved, used = mempool_number(gpu, _RESERVED), mempool_number(gpu, _USED)
        notes.append(
            Note(
                f"the memory pool of this process holds {reserved:,} bytes: {used:,} are in use by "
                f"arrays, {max(0, reserved - used):,} are not"
            )
        )
        if free < nbytes <= free + reserved - used and not gpu.captures:
            hint = "there are enough bytes, but in pieces: make large arrays first, and keep them"
    notes.append(Note("memory is freed when no array or view refers to it"))
    message = f"cannot allocate {nbytes:,} bytes on '{gpu.device}' ({gpu.device.name}, "
    message += f"{gpu.memory:,} bytes in all)"
    return Diagnostic("H0802", message, notes=tuple(notes), hint=hint)


# ------------------------------------------------------------------------------------------- pools


def default_pool(gpu: Gpu) -> ctypes.c_void_p:
    """The memory pool of a GPU.

    Raises:
        DeviceError: its driver has none (H0805).
    """
    if not gpu.has_pools:
        message = f"the driver of '{gpu.device}' has no memory pools"
        raise DeviceError(Diagnostic("H0805", message))
    pool = ctypes.c_void_p()
    with gpu.active() as call:
        call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), gpu.handle)
    return pool


def _prepare_pool(gpu: Gpu) -> None:
    """Set a pool up: it keeps some memory, and never makes a stream wait for another one to
    get memory sooner."""
    _set_pool(gpu, _THRESHOLD, ctypes.c_uint64(min(_KEPT, gpu.memory // 8)))
    _set_pool(gpu, _REUSE_INTERNAL, ctypes.c_int(0))


def _set_pool(gpu: Gpu, which: int, value: ctypes.c_uint64 | ctypes.c_int) -> None:
    with gpu.active() as call:
        call("cuMemPoolSetAttribute", default_pool(gpu), ctypes.c_int(which), ctypes.byref(value))


def mempool_number(gpu: Gpu, which: int) -> int:
    """One of the numbers that a pool keeps."""
    value = ctypes.c_uint64()
    with gpu.active() as call:
        call("cuMemPoolGetAttribute", default_pool(gpu), ctypes.c_int(which), ctypes.byref(value))
    return value.value


def set_threshold(gpu: Gpu, nbytes: int) -> None:
    """How many bytes a pool keeps when they are free."""
    _set_pool(gpu, _THRESHOLD, ctypes.c_uint64(nbytes))


def threshold(gpu: Gpu) -> int:
    """How many bytes a pool keeps when they are free."""
    return mempool_number(gpu, _THRESHOLD)


def used_memory(gpu: Gpu, *, high: bool = False) -> int:
    """Bytes of a pool in use now, or at most since the start."""
    return mempool_number(gpu, _USED_HIGH if high else _USED)


# ------------------------------------------------------------------------------------ pinned memory


class PinnedMemory:
    """Memory of the host that GPUs copy from and to while the host goes on.

    Attributes:
        ptr: address of the first byte.
        nbytes: how many bytes were asked for.
        gpu: with whose driver it was made.

    Raises:
        DeviceError: not enough memory (H0802), or no GPU (H0806 to H0808).
    """

    __slots__ = ("__weakref__", "_events", "_lock", "gpu", "nbytes", "ptr")

    def __init__(self, nbytes: int) -> None:
        gpu = gpu_of(get_device("cuda:0"))
        address, size = ctypes.c_void_p(), ctypes.c_size_t(max(1, nbytes))
        with gpu.active() as call:
            flags = ctypes.c_uint(_PORTABLE_AND_MAPPED)
            call("cuMemHostAlloc", ctypes.byref(address), size, flags)
        assert address.value is not None
        self.ptr = address.value
        self.nbytes = nbytes
        self.gpu = gpu
        self._events: list[Event] = []
        self._lock = Lock()
        weakref.finalize(self, _unpin, gpu, self.ptr, self._events).atexit = False

    def in_use(self, event: Event) -> None:
        """A copy that ends with an event uses it."""
        with self._lock:
            busy = [e for e in self._events if e is not event and not e.is_complete]
            self._events[:] = [*busy, event]

    @property
    def events(self) -> tuple[Event, ...]:
        """Those with which the copies end that may use it."""
        return tuple(self._events)


_PENDING: list[tuple[Gpu, int, list[Event]]] = []
"""Pinned memory that nobody refers to any more while copies still use it."""


def _unpin(gpu: Gpu, address: int, events: list[Event]) -> None:
    if gpu.driver.is_usable:
        _PENDING.append((gpu, address, events))
        gpu.later(release_pinned)


def release_pinned() -> None:
    """Free the pinned memory whose copies have ended."""
    for entry in list(_PENDING):
        gpu, address, events = entry
        if all(event.is_complete for event in events):
            with gpu.lock:  # another thread may be here
                if entry not in _PENDING:
                    continue
                _PENDING.remove(entry)
            with gpu.active() as call:
                call.attempt("cuMemFreeHost", ctypes.c_void_p(address))
