"""The division of GPUs, run by this processor, and that their code has no other of 64 bits."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable
from functools import cache

import pytest

import heald as wp
from heald.codegen import compile_object, host_target, ptx_text
from heald.codegen.helpers import GPU_QUOTIENT
from heald.codegen.jit import load_object
from heald.codegen.writer import METADATA, QUOTIENT
from heald.driver.choice import Choice
from heald.driver.compiler import widen_for_gpu

pytestmark = pytest.mark.cpu

_DIVIDE = f"""
define i64 @divide(i64 %n, i64 %d) {{
  %q = call i64 @{QUOTIENT}(i64 %n, i64 %d)
  ret i64 %q
}}
attributes #0 = {{ alwaysinline convergent nounwind }}
"""
EDGES = sorted(
    {
        number & (1 << 64) - 1
        for power in (0, 1, 2, 31, 32, 33, 62, 63, 64)
        for number in ((1 << power) - 1, 1 << power, (1 << power) + 1, 3 << power)
    }
)


@cache
def division() -> tuple[Callable[[int, int], int], object]:
    target = host_target()
    text = "\n".join([target.header, GPU_QUOTIENT, _DIVIDE, *METADATA])
    (address,), keepalive = load_object(compile_object(text, target), ["divide"])
    return ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)(address), keepalive


def test_quotients_are_those_of_python() -> None:
    divide, _ = division()
    chance = random.Random(5)
    numbers = [chance.getrandbits(chance.randint(1, 64)) for _ in range(200)]
    pairs = [(n, d) for n in EDGES for d in EDGES]
    pairs += [(n, d) for n in numbers for d in numbers]
    pairs += [(n * d + k, d) for n in numbers for d in EDGES for k in (-1, 0) if n * d >> 64 == 0]
    assert len(pairs) > 40_000
    wrong = [(n, d) for n, d in pairs if d and n >= 0 and divide(n, d) != n // d]
    assert wrong == []


@wp.kernel
def one(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0


@wp.kernel
def two(x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = 1.0


@wp.kernel
def four(x: wp.array4d(dtype=float)):
    i, j, k, m = wp.tid()
    x[i, j, k, m] = 1.0


@wp.kernel
def steps(x: wp.array(dtype=float), step: int):
    i = wp.tid()
    total = 0.0
    for k in range(i, x.shape[0], step):
        total += x[k]
    x[i] = total


@wp.kernel
def places(x: wp.array(dtype=int)):
    x[wp.tid()] = wp.block_index() + wp.thread_index()


@pytest.mark.parametrize("kernel", [one, two, four, steps, places], ids=lambda k: k.key)
def test_gpus_divide_64_bits_without_a_call(kernel: wp.Kernel) -> None:
    program = kernel.program(kernel.concrete_types())
    for bounds in (True, False):
        lowered = program.lowered_for_gpu(Choice(bounds=bounds, unit=True), "sm_90")
        text = ptx_text(lowered, entry="k", wide=widen_for_gpu(lowered))
        assert "div.u32" in text
        assert re.findall(r"\b(?:div|rem)\.[us]64", text) == []


def test_the_loop_of_the_division_stays_a_loop() -> None:
    program = one.program(one.concrete_types())
    text = ptx_text(program.lowered_for_gpu(Choice(), "sm_90"), entry="k")
    assert text.count('.pragma "nounroll"') == text.count("clz.b64") // 2 == 1
