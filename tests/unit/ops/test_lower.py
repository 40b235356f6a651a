"""``lower`` of every op at every type, compiled at width 1 and 8, against ``evaluate``."""

from __future__ import annotations

import functools
import re

import llvmlite.binding as llvm
import numpy as np
import pytest
from unit.ops.cases import (
    FUNCTIONS,
    Bits,
    Case,
    arguments,
    cases,
    check_same,
    operands,
    to_bits,
)
from unit.ops.machine import (
    call,
    load,
    object_code,
    ptx_code,
    target_machine,
    undefined_symbols,
)
from unit.ops.test_evaluate import SIGN_OPS

from heald.ops import TABLE

WIDTHS = (1, 8)
ALLOWED_SYMBOLS: frozenset[str] = frozenset()
"""Library functions that lowered ops may call: none."""


def host_can_run(cpu: str) -> bool:
    needs = {"x86-64-v3": ("avx2", "bmi2", "f16c", "fma"), "host": ()}[cpu]
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in needs)


CPUS = [
    pytest.param(cpu, marks=pytest.mark.skipif(not host_can_run(cpu), reason=f"not {cpu}"))
    for cpu in ("host", "x86-64-v3")
]


@functools.cache
def compiled(name: str, cpu: str) -> dict[tuple[Case, int], int]:
    return load(object_code(cases(name), cpu, True, WIDTHS), cases(name), WIDTHS)


def columns_of(case: Case) -> list[Bits]:
    """All 16-bit operands of ops with one, all pairs of 8-bit operands, else a good many."""
    if len(case.sources) == 1 and case.sources[0].bits <= 16:
        numbers = np.arange(1 << max(3, case.sources[0].bits), dtype=np.uint64)
        return [numbers % np.uint64(1 << case.sources[0].bits)]
    if [t.bits for t in case.sources] == [8, 8]:
        return [c.ravel() for c in np.mgrid[:256, :256].astype(np.uint64)]
    columns = operands(case, 4000)
    return [c[: len(c) // 8 * 8] for c in columns]


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_code_gives_the_bits_of_evaluate(name: str, cpu: str) -> None:
    functions = compiled(name, cpu)
    for case in cases(name):
        columns = columns_of(case)
        arrays = arguments(case, columns)
        expected = to_bits(case.target, TABLE[name].evaluate(case.op, *arrays))
        for width in WIDTHS:
            found = call(functions[case, width], case, columns)
            check_same(case, columns, found, expected, exact=name in SIGN_OPS)


@pytest.mark.cpu
@pytest.mark.parametrize("optimise", [True, False])
@pytest.mark.parametrize("cpu", CPUS)
def test_compiled_code_calls_nothing(cpu: str, optimise: bool) -> None:
    missing = {}
    for name in FUNCTIONS:
        symbols = undefined_symbols(object_code(cases(name), cpu, optimise, WIDTHS))
        if symbols - ALLOWED_SYMBOLS:
            missing[name] = symbols
    assert not missing


def test_undefined_symbols_are_seen() -> None:
    """`frem` is a library call on every CPU, so the check above can fail."""
    module = llvm.parse_assembly(
        "define float @f(float %a, float %b) { %r = frem float %a, %b\n ret float %r }"
    )
    assert "fmodf" in undefined_symbols(target_machine("host").emit_object(module))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ptx_calls_and_approximates_nothing(name: str) -> None:
    """Neither library functions nor flushed, fused or approximate float instructions."""
    text = ptx_code(cases(name), (1, 4))
    assert not re.findall(r"\.extern|\bcall\b|\.ftz|\.approx|\.full", text)
    assert ("fma.rn" in text) == (name == "fma")
    rounded = re.findall(r"\b(?:add|sub|mul|div|sqrt)(\.\w+)*\.(?:f16|f32|f64|bf16)", text)
    assert all(rounding == ".rn" for rounding in rounded)
