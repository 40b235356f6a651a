"""The numpy fma where it is hard: cancellation, ties, tiny addends, the edges of the range."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from unit.ops.cases import Bits, Case, cases, check_same, random_bits, to_bits, to_carrier
from unit.ops.machine import call, load, object_code
from unit.ops.reference import FORMATS, REFERENCE, infinity, sign_bit
from unit.ops.test_lower import CPUS

from heald.ops import TABLE
from heald.ops.fused import fused_multiply_add
from heald.types import Scalar, f64

FMA = {case.target: case for case in cases("fma")}


@functools.cache
def compiled(cpu: str) -> dict[tuple[Case, int], int]:
    return load(object_code(FMA.values(), cpu, True, (1,)), FMA.values(), (1,))


def with_exponents(t: Scalar, bits: Bits, low: int, high: int, rng: np.random.Generator) -> Bits:
    """The same signs and fractions with exponent fields from ``low`` to ``high``."""
    fraction = FORMATS[t][1]
    keep = np.uint64(sign_bit(t) | (1 << fraction) - 1)
    power = rng.integers(low, high + 1, len(bits), dtype=np.uint64) << np.uint64(fraction)
    return (bits & keep) | power


def hard(t: Scalar, kind: str, rng: np.random.Generator, count: int) -> list[Bits]:
    columns = [random_bits(t, count, rng) for _ in range(3)]
    top = infinity(t) >> FORMATS[t][1]
    bias, flip = top // 2, np.uint64(sign_bit(t))
    if kind == "anything":
        return columns
    middle = [with_exponents(t, c, bias - 30, bias + 30, rng) for c in columns]
    if kind == "low":  # products near the smallest numbers
        a = with_exponents(t, columns[0], 1, bias, rng)
        power = np.clip(
            bias - (a >> np.uint64(FORMATS[t][1]) & np.uint64(top)).astype(int), 0, bias
        )
        b = columns[1] & np.uint64((1 << FORMATS[t][1]) - 1)
        b = b | (power.astype(np.uint64) << np.uint64(FORMATS[t][1]))
        return [a, b, with_exponents(t, columns[2], 0, 3, rng)]
    if kind == "high":  # products near the largest numbers
        a, b = (
            with_exponents(t, c, bias + bias // 2 - 2, bias + bias // 2 + 2, rng)
            for c in middle[:2]
        )
        return [a, b, with_exponents(t, columns[2], top - 3, top - 1, rng)]
    with np.errstate(all="ignore"):
        product = to_bits(t, to_carrier(t, middle[0]) * to_carrier(t, middle[1]))
    if kind == "cancel":
        return [*middle[:2], (product ^ flip) + rng.integers(0, 3, count, dtype=np.uint64)]
    if kind == "tie":  # few bits in each factor, so that the sum with a small power of two is a tie
        short = np.uint64((1 << t.bits) - (1 << FORMATS[t][1] // 2 + 1))
        a, b = (c & short for c in middle[:2])
        with np.errstate(all="ignore"):
            product = to_bits(t, to_carrier(t, a) * to_carrier(t, b))
        power = (product & np.uint64(infinity(t))) >> np.uint64(FORMATS[t][1])
        lower = rng.integers(FORMATS[t][1], FORMATS[t][1] + 3, count, dtype=np.uint64)
        small = (power - lower) << np.uint64(FORMATS[t][1])
        return [a, b, small | (rng.integers(0, 2, count, dtype=np.uint64) * flip)]
    tiny = with_exponents(t, columns[2], 0, 2, rng)
    return [*middle[:2], tiny]


KINDS = ("anything", "low", "high", "cancel", "tie", "tiny addend")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", FMA, ids=str)
def test_fma_is_exact(t: Scalar, kind: str) -> None:
    columns = hard(t, kind, np.random.default_rng([1, KINDS.index(kind)]), 2000)
    case = FMA[t]
    expected = [REFERENCE["fma"](case.op, *map(int, row)) for row in zip(*columns, strict=True)]
    arrays = [to_carrier(t, c) for c in columns]
    found = to_bits(t, TABLE["fma"].evaluate(case.op, *arrays))
    check_same(case, columns, found, np.array(expected, np.uint64), exact=False)
    for k in range(0, 2000, 20):
        one = to_bits(t, TABLE["fma"].evaluate(case.op, *(a[k] for a in arrays)))
        row = [c[k : k + 1] for c in columns]
        check_same(case, row, one[None], np.array(expected[k : k + 1], np.uint64), exact=False)


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", CPUS[:1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", FMA, ids=str)
def test_fma_is_that_of_the_hardware(t: Scalar, kind: str, cpu: str) -> None:
    columns = hard(t, kind, np.random.default_rng([2, KINDS.index(kind)]), 20_000)
    case = FMA[t]
    found = to_bits(t, TABLE["fma"].evaluate(case.op, *(to_carrier(t, c) for c in columns)))
    check_same(case, columns, found, call(compiled(cpu)[case, 1], case, columns), exact=False)


def test_most_numbers_take_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact fallback is for the edges of the range only; here it would fail."""
    monkeypatch.setattr("heald.ops.fused._exact", None)
    rng = np.random.default_rng(3)
    for kind in ("cancel", "tie"):
        a, b, c = (to_carrier(f64, x) for x in hard(f64, kind, rng, 1000))
        assert fused_multiply_add(a, b, c).shape == (1000,)


def test_shapes_broadcast() -> None:
    a = np.arange(6.0).reshape(2, 3)
    scalar = np.float64(1e300)
    assert fused_multiply_add(a, scalar, scalar).tolist() == (a * 1e300 + 1e300).tolist()
    tiny = np.full((2, 3), 5e-324)
    assert fused_multiply_add(tiny, tiny, a).tolist() == a.tolist()
    half = np.float64(0.5)
    assert fused_multiply_add(tiny, half, tiny).tolist() == [[1e-323] * 3] * 2
