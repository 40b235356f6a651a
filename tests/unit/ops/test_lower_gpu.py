"""``lower`` of every op at every type on a GPU, at width 1 and 4, against ``evaluate``."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from unit.ops.cases import FUNCTIONS, Bits, Case, arguments, cases, check_same, to_bits
from unit.ops.machine import function_name, ptx_code
from unit.ops.test_lower import columns_of

from heald.ops import TABLE

WIDTHS = (1, 4)
pytestmark = pytest.mark.gpu


class Driver:
    """The few calls of the CUDA driver that this test needs."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self.device = device
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self("cuCtxSetCurrent", self.context)

    def __call__(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} failed with status {status}")

    def upload(self, array: Any) -> ctypes.c_uint64:
        """Device memory with the bytes of an array."""
        memory = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(array.nbytes))
        host, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
        self("cuMemcpyHtoD_v2", memory, host, size)
        return memory

    def run(self, module: ctypes.c_void_p, case: Case, width: int, columns: list[Bits]) -> Bits:
        """The results of one kernel over columns of operands."""
        function = ctypes.c_void_p()
        name = function_name(case, width).encode()
        self("cuModuleGetFunction", ctypes.byref(function), module, name)
        arrays = [np.ascontiguousarray(a) for a in arguments(case, columns)]
        out = np.zeros(len(columns[0]), case.target.carrier)
        memory = [self.upload(a) for a in (*arrays, out)]
        values = [*memory, ctypes.c_int64(len(out))]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        try:
            self("cuLaunchKernel", function, 64, 1, 1, 128, 1, 1, 0, None, pointers, None)
            host, size = ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(out.nbytes)
            self("cuMemcpyDtoH_v2", host, memory[-1], size)
        finally:
            for block in memory:
                self("cuMemFree_v2", block)
        return to_bits(case.target, out)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    found = Driver()
    yield found
    found("cuDevicePrimaryCtxRelease_v2", found.device)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gpu_code_gives_the_bits_of_evaluate(name: str, driver: Driver) -> None:
    module = ctypes.c_void_p()
    driver("cuModuleLoadData", ctypes.byref(module), ptx_code(cases(name), WIDTHS).encode())
    try:
        for case in cases(name):
            columns = columns_of(case)
            expected = to_bits(
                case.target, TABLE[name].evaluate(case.op, *arguments(case, columns))
            )
            for width in WIDTHS:
                found = driver.run(module, case, width, columns)
                check_same(case, columns, found, expected, exact=False)
    finally:
        driver("cuModuleUnload", module)
