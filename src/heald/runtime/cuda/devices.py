"""The CUDA GPUs of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from threading import RLock

from heald.diagnostics import DeviceError, InternalError
from heald.runtime.cuda.driver import Driver, driver
from heald.runtime.device import Device

_MAJOR, _MINOR, _PROCESSORS = 75, 76, 16
_NAME_SIZE = 256


class Gpu:
    """What a ``cuda`` device stands for; its primary context is made when it is first used.

    Attributes:
        device: its record.
        capability: compute capability, major and minor.
        lock: held by whoever launches; launches wait for their kernels.
    """

    def __init__(self, driver: Driver, device: Device) -> None:
        self.driver = driver
        self.device = device
        self._handle = ctypes.c_int()
        driver("cuDeviceGet", ctypes.byref(self._handle), ctypes.c_int(device.ordinal))
        self.capability = (self._attribute(_MAJOR), self._attribute(_MINOR))
        self.lock = RLock()
        self._context: ctypes.c_void_p | None = None

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self.driver("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(which), self._handle)
        return value.value

    @cached_property
    def processors(self) -> int:
        """How many multiprocessors it has."""
        return self._attribute(_PROCESSORS)

    @property
    def memory(self) -> int:
        """Bytes of device memory."""
        total = ctypes.c_size_t()
        self.driver("cuDeviceTotalMem_v2", ctypes.byref(total), self._handle)
        return total.value

    @contextmanager
    def active(self) -> Iterator[Driver]:
        """Its primary context is that of this thread inside a ``with``; gives the driver.

        Afterwards the thread has the context that it had, which may be that of other libraries.
        """
        call = self.driver
        with self.lock:
            if self._context is None:
                context = ctypes.c_void_p()
                call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._handle)
                self._context = context
        call("cuCtxPushCurrent_v2", self._context)
        try:
            yield call
        finally:
            call.attempt("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def synchronize(self) -> None:
        """Wait until it has finished everything that was given to it."""
        if self._context is not None:
            with self.active() as call:
                call("cuCtxSynchronize")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The GPUs by ordinal, or why there are none."""

    gpus: tuple[Gpu, ...]
    problem: DeviceError | None = None


@cache
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
