"""The CUDA GPUs of this process."""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from heald.diagnostics import DeviceError, InternalError
from heald.once import once
from heald.runtime.cuda.driver import Driver, driver
from heald.runtime.device import Device

if TYPE_CHECKING:
    from heald.runtime.cuda.queue import Queue
    from heald.runtime.cuda.streams import Stream

_MAJOR, _MINOR, _PROCESSORS, _POOLS = 75, 76, 16, 115
_NAME_SIZE = 256
_NON_BLOCKING = 1
RELAXED = 2
"""Capture mode, of streams and of threads: nothing is forbidden."""


class Active:
    """Makes a context that of the thread inside a ``with``; one object serves all threads."""

    __slots__ = ("_context", "_driver")

    def __init__(self, driver: Driver, context: ctypes.c_void_p) -> None:
        self._driver = driver
        self._context = context

    def __enter__(self) -> Driver:
        self._driver("cuCtxPushCurrent_v2", self._context)
        return self._driver

    def __exit__(self, *_: object) -> None:
        self._driver.attempt("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


class Gpu:
    """What a ``cuda`` device stands for; its primary context is made when it is first used.

    Attributes:
        device: its record.
        capability: compute capability, major and minor.
        lock: for whoever changes what is written here.
        streams: every stream of it that is alive.
        default: the stream used where no other is chosen, once it was made.
        queues: what launches leave behind, by stream and graph, those that are gone too.
        idle_queues: such that wait for a new stream.
        has_many_streams: has there ever been another one than the default stream?
        has_pools: does its driver allocate in the order of streams?
        uses_pool: is new memory allocated that way?
        has_prepared_pool: was its pool set up?
        captures: how many captures are under way.
        lent: streams that other libraries use by their handles, with their priorities.
        spare: those of them that are no stream of ours any more.
    """

    def __init__(self, driver: Driver, device: Device) -> None:
        self.driver = driver
        self.device = device
        self._handle = ctypes.c_int()
        driver("cuDeviceGet", ctypes.byref(self._handle), ctypes.c_int(device.ordinal))
        self.capability = (self._attribute(_MAJOR), self._attribute(_MINOR))
        self.has_pools = self.uses_pool = bool(self._attribute(_POOLS))
        self.has_prepared_pool = False
        self.lock = RLock()
        self.streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self.has_many_streams = False
        self.captures = 0
        self.lent: dict[int, int] = {}
        self.spare: list[int] = []
        self.default: Stream | None = None
        self.queues: list[Queue] = []
        self.idle_queues: list[Queue] = []
        self._context: ctypes.c_void_p | None = None
        self._active: Active | None = None
        self._own: dict[str, ctypes.c_void_p] = {}
        self._late: deque[Callable[[], None]] = deque()

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self.driver("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(which), self._handle)
        return value.value

    @property
    def handle(self) -> ctypes.c_int:
        """The driver's number of it."""
        return self._handle

    @cached_property
    def processors(self) -> int:
        """How many multiprocessors it has."""
        return self._attribute(_PROCESSORS)

    @cached_property
    def memory(self) -> int:
        """Bytes of device memory."""
        total = ctypes.c_size_t()
        self.driver("cuDeviceTotalMem_v2", ctypes.byref(total), self._handle)
        return total.value

    @property
    def free_memory(self) -> int:
        """Bytes of device memory that nobody uses."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self.active() as call:
            call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    @property
    def context(self) -> int:
        """The driver's handle of its primary context."""
        with self.active():
            assert self._context is not None
            assert self._context.value is not None
            return self._context.value

    @property
    def is_in_use(self) -> bool:
        """Has anything of this process used it?"""
        return self._context is not None

    def active(self) -> Active:
        """Its primary context is that of this thread inside a ``with``; gives the driver.

        Afterwards the thread has the context that it had, which may be that of other libraries.
        """
        if self._active is None:
            with self.lock:
                if self._context is None:
                    context = ctypes.c_void_p()
                    self.driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._handle)
                    self._context = context
                    self._active = Active(self.driver, context)
        assert self._active is not None
        return self._active

    def own_stream(self, purpose: str) -> ctypes.c_void_p:
        """A stream of our own for one purpose; it waits for nobody unless told to."""
        with self.lock:
            if purpose not in self._own:
                stream = ctypes.c_void_p()
                with self.active() as call:
                    call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(_NON_BLOCKING))
                self._own[purpose] = stream
            return self._own[purpose]

    @contextmanager
    def despite_captures(self) -> Iterator[Driver]:
        """As :meth:`active`, for calls that a capture begun by another library may forbid."""
        mode = ctypes.c_int(RELAXED)
        with self.active() as call:
            call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
            try:
                yield call
            finally:
                call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    @contextmanager
    def aside(self) -> Iterator[tuple[Driver, ctypes.c_void_p]]:
        """Driver and a stream that has nothing else to do; waited for at the end of the ``with``.

        For what must be done now, whatever is captured.
        """
        stream = self.own_stream("aside")
        with self.despite_captures() as call:
            try:
                yield call, stream
            finally:
                call("cuStreamSynchronize", stream)

    def later(self, action: Callable[[], None]) -> None:
        """Do something that would disturb a capture: now, or when none is under way."""
        if self.captures:
            self._late.append(action)
        else:
            action()

    def try_later(self, action: Callable[[], None]) -> None:
        """Do something when the host next waits for the GPU: a capture that is not ours forbids
        it."""
        self._late.append(action)

    def catch_up(self) -> None:
        """Do what waited for the end of captures."""
        for _ in range(len(self._late)):  # what fails again stays for the next time
            if self.captures or not self._late:
                return
            self._late.popleft()()


@dataclass(frozen=True)
class Discovery:
    """The GPUs by ordinal, or why there are none."""

    gpus: tuple[Gpu, ...]
    problem: DeviceError | None = None

    @cached_property
    def names(self) -> dict[str, Device]:
        """The devices by their names."""
        return {gpu.device.alias: gpu.device for gpu in self.gpus}


@once
def discover() -> Discovery:
    """Ask the driver for its GPUs, once in a process."""
    try:
        call = driver()
        count = ctypes.c_int()
        call("cuDeviceGetCount", ctypes.byref(count))
        return Discovery(tuple(Gpu(call, _describe(call, n)) for n in range(count.value)))
    except DeviceError as error:
        return Discovery((), error)


def _describe(call: Driver, ordinal: int) -> Device:
    handle, name = ctypes.c_int(), ctypes.create_string_buffer(_NAME_SIZE)
    call("cuDeviceGet", ctypes.byref(handle), ctypes.c_int(ordinal))
    call("cuDeviceGetName", name, ctypes.c_int(_NAME_SIZE), handle)
    return Device(f"cuda:{ordinal}", name.value.decode(errors="replace"), "cuda", ordinal)


def gpu_of(device: Device) -> Gpu:
    """The GPU behind a device.

    Raises:
        InternalError: it is none of this process.
    """
    gpus = discover().gpus
    if not device.is_cuda or device.ordinal >= len(gpus):
        raise InternalError(f"{device!r} is no GPU of this process")
    return gpus[device.ordinal]


def driver_version() -> int:
    """The interface of the driver, 13000 for CUDA 13.0.

    Raises:
        DeviceError: there is no driver.
    """
    return driver().version
