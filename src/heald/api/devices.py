"""Devices and time, as users meet them."""

from __future__ import annotations

import cProfile
import pstats
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from heald.runtime import (
    CPU,
    Device,
    DeviceLike,
    current_device,
    devices,
    get_device,
    set_device,
    synchronize,
    use_device,
)

__all__ = [
    "Device",
    "ScopedDevice",
    "ScopedTimer",
    "get_cuda_device_count",
    "get_cuda_devices",
    "get_device",
    "get_devices",
    "get_preferred_device",
    "is_cpu_available",
    "is_cuda_available",
    "is_device_available",
    "set_device",
    "synchronize",
    "synchronize_device",
]


def get_devices() -> list[Device]:
    """Every device of this process."""
    return list(devices())


def get_cuda_devices() -> list[Device]:
    """The CUDA GPUs of this process."""
    return [device for device in devices() if device.is_cuda]


def get_cuda_device_count() -> int:
    """How many CUDA GPUs there are."""
    return len(get_cuda_devices())


def get_preferred_device() -> Device:
    """The first CUDA GPU, or the CPU where there is none."""
    return next(iter(get_cuda_devices()), CPU)


def is_cpu_available() -> bool:
    """Can kernels run on the CPU?"""
    return CPU in devices()


def is_cuda_available() -> bool:
    """Can kernels run on a CUDA GPU?"""
    return bool(get_cuda_devices())


def is_device_available(device: Device) -> bool:
    """Is it a device of this process?"""
    return device in devices()


def synchronize_device(device: DeviceLike = None) -> None:
    """Wait until one device, the current one by default, has finished all work given to it.

    Raises:
        DeviceError: no such device (H0801).
    """
    synchronize(get_device(device))


class ScopedDevice:
    """Makes a device the current one of this thread inside a ``with`` block; gives the device.

    ``with wp.ScopedDevice("sim"): ...``.  One object may be entered again, also inside itself.

    Raises:
        DeviceError: no such device (H0801).
    """

    __slots__ = ("_before", "device")

    def __init__(self, device: DeviceLike) -> None:
        self.device = get_device(device)
        self._before: list[Device] = []

    def __enter__(self) -> Device:
        self._before.append(current_device())
        return set_device(self.device)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        use_device(self._before.pop())


class _Nesting(threading.local):
    """How many timers this thread is inside of."""

    depth: int = -1


_NESTING = _Nesting()


class ScopedTimer:
    """Measures the wall time of a ``with`` block and reports it, indented by nesting.

    Attributes:
        elapsed: milliseconds, once the block has ended.

    Args:
        name: what the report calls the block.
        active: False turns the timer off.
        print: write ``name took 1.23 ms`` to standard output.
        detailed: profile the Python code of the block and print the profile too.
        dict: a dictionary whose list under ``name`` gets the milliseconds appended.
        synchronize: wait for all devices before each reading of the clock.
        report_func: called with the line of the report instead of printing it.
    """

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,  # noqa: A002 - the names that Warp gave them
        detailed: bool = False,
        dict: dict[str, list[float]] | None = None,  # noqa: A002
        *,
        synchronize: bool = False,
        report_func: Callable[[str], Any] | None = None,
    ) -> None:
        self.name = name
        self.active = active
        self.elapsed = 0.0
        self._print = print
        self._results = dict
        self._profile = cProfile.Profile() if detailed and active else None
        self._synchronize = synchronize
        self._report = report_func or _write
        self._start = 0

    def __enter__(self) -> ScopedTimer:
        if self.active:
            if self._synchronize:
                synchronize()
            _NESTING.depth += 1
            if self._profile is not None:
                self._profile.enable()
            self._start = time.perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.active:
            return
        if self._synchronize:
            synchronize()
        self.elapsed = (time.perf_counter_ns() - self._start) / 1e6
        indent = "    " * _NESTING.depth
        _NESTING.depth -= 1
        if self._results is not None:
            self._results.setdefault(self.name, []).append(self.elapsed)
        if self._profile is not None:
            self._profile.disable()
            pstats.Stats(self._profile, stream=sys.stdout).sort_stats("tottime").print_stats()
        if self._print:
            self._report(f"{indent}{self.name} took {self.elapsed:.2f} ms")


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
