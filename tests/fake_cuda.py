"""A driver of one GPU that keeps its memory on the host, for what needs no kernels."""
# ruff: noqa: N802, N815 - it has the names of the real one

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.api import command, launch
from heald.api.content_kernels import MOVES
from heald.api.kernel import Kernel
from heald.once import once
from heald.runtime import byte_span
from heald.runtime.cuda import devices, queue, streams
from heald.runtime.cuda.devices import Gpu
from heald.runtime.device import Device

BASE = 1 << 40
"""Added to every address, so that the host cannot use one by accident."""


class Fake:
    """A driver of one GPU; counts the bytes that cross to and from the host, and waits."""

    is_usable = True

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.host: list[Any] = []
        self.handles = 0
        self.fetched = self.sent = self.waited = self.moved = 0

    def __call__(self, name: str, *arguments: Any) -> None:
        getattr(self, name, lambda *_: None)(*arguments)

    def check_process(self) -> None:
        pass

    def attempt(self, name: str, *arguments: Any) -> None:
        self(name, *arguments)

    def ask(self, name: str, *arguments: Any, no: int) -> bool:
        self(name, *arguments)
        return True

    def address(self, name: str) -> int:
        return 0

    def _new(self, place: Any, *_: Any) -> None:
        self.handles += 1
        place._obj.value = self.handles

    cuStreamCreate = cuStreamCreateWithPriority = cuEventCreate = cuDevicePrimaryCtxRetain = _new

    def cuMemHostAlloc(self, place: Any, size: Any, flags: Any) -> None:
        self.host.append(ctypes.create_string_buffer(size.value))
        place._obj.value = ctypes.addressof(self.host[-1])

    def cuMemAlloc_v2(self, place: Any, size: Any) -> None:
        block = ctypes.create_string_buffer(b"\xa5" * size.value)
        place._obj.value = ctypes.addressof(block) + BASE
        self.blocks[place._obj.value] = block

    def cuMemFree_v2(self, address: Any) -> None:
        del self.blocks[address.value]

    def cuEventSynchronize(self, event: Any) -> None:
        self.waited += 1

    def cuCtxSynchronize(self) -> None:
        self.waited += 1

    def _check(self, ptr: int, size: int) -> int:
        for start, block in self.blocks.items():
            if start <= ptr and ptr + size <= start + len(block):
                return ptr - BASE
        raise AssertionError("outside every allocation")

    def cuMemcpyDtoHAsync_v2(self, host: Any, ptr: Any, size: Any, stream: Any) -> None:
        self.fetched += size.value
        ctypes.memmove(host.value, self._check(ptr.value, size.value), size.value)

    def cuMemcpyHtoDAsync_v2(self, ptr: Any, host: Any, size: Any, stream: Any) -> None:
        self.sent += size.value
        ctypes.memmove(self._check(ptr.value, size.value), host.value, size.value)

    def cuMemcpyDtoDAsync_v2(self, dest: Any, source: Any, size: Any, stream: Any) -> None:
        places = [self._check(p.value, size.value) for p in (dest, source)]
        ctypes.memmove(*places, size.value)

    def cuMemsetD8Async(self, ptr: Any, value: Any, count: Any, stream: Any) -> None:
        assert ptr.value % ctypes.sizeof(value) == 0
        data = bytes(value) * count.value
        ctypes.memmove(self._check(ptr.value, len(data)), data, len(data))

    cuMemsetD16Async = cuMemsetD32Async = cuMemsetD8Async

    cuModuleLoadData = cuModuleGetFunction = _new

    def cuFuncGetAttribute(self, place: Any, which: Any, function: Any) -> None:
        place._obj.value = 1024

    def move(self, kernel: Kernel, dim: Any, inputs: Any, device: Device) -> None:
        """What a launch of one of ``content_kernels.MOVES`` does."""
        assert kernel is MOVES[len(dim) - 1]
        self.moved += 1
        dest, source = (self._view(a) for a in inputs)
        assert dest.shape == source.shape == tuple(dim)
        assert not np.may_share_memory(dest, source)
        dest[...] = source

    def _view(self, a: wp.array) -> np.ndarray[Any, Any]:
        low, high = byte_span(a.shape, a.strides, a.itemsize)
        place = self._check(a.address + low, high - low)
        memory = (ctypes.c_uint8 * (high - low)).from_address(place)
        assert a.address % a.itemsize == 0
        dtype = np.dtype(f"u{a.itemsize}")
        return np.ndarray(a.shape, dtype, memory, -low, a.strides)


def fake_gpu() -> tuple[Fake, Gpu]:
    """A driver, and the GPU that it has."""
    driver: Any = Fake()
    return driver, Gpu(driver, Device("cuda:0", "a GPU", "cuda"))


def use_fake_gpu(monkeypatch: pytest.MonkeyPatch) -> tuple[Fake, Gpu]:
    """The same, as the only GPU that there is."""
    fake, gpu = fake_gpu()
    discover = once(lambda: devices.Discovery((gpu,)))
    discover()
    for module in (devices, queue):
        monkeypatch.setattr(module, "discover", discover)
    chosen = streams.Chosen()
    for module in (streams, launch, command):
        monkeypatch.setattr(module, "CHOSEN", chosen)
    return fake, gpu
