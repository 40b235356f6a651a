"""Arithmetic on Python numbers where double rounding and overflow would show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from unit.interp.support import same_bits

from heald.interp import numbers


def exact_float32(x: Fraction) -> float:
    """A rational rounded to float32 by comparing with its neighbours."""
    with np.errstate(over="ignore"):
        near = np.float32(float(x)) if abs(x) < 2**200 else np.float32(math.copysign(math.inf, x))
        around = [np.nextafter(near, np.float32(s)) for s in (-math.inf, math.inf)]

    def distance(y: np.float32) -> tuple[Fraction, int]:
        even = int(np.abs(y).view(np.uint32)) & 1
        value = Fraction(2) ** 128 * int(np.sign(y)) if np.isinf(y) else Fraction(float(y))
        return abs(value - x), even

    return float(min((near, *around), key=distance))


def halfway_products() -> Iterator[tuple[float, float]]:
    """Pairs of float32 numbers whose product is halfway between neighbours, over all exponents."""
    for a, b in [(24929.0, 673.0), (32767.0, 1057.0), (18631.0, 1801.0), (3.0, 11184811.0)]:
        for scale in (0, 30, 52, 103, -30, -100, -150, -172, -173, -174):
            yield math.ldexp(a, scale // 2), math.ldexp(b, scale - scale // 2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_fuse_single_rounds_once(sign: float) -> None:
    tiny = [0.0, 2.0**-149, 2.0**-120, 2.0**-60, 2.0**-20, 1.0, 2.0**24, 2.0**70]
    for a, b in halfway_products():
        for c in [s * x for x in tiny for s in (1, -1)]:
            expected = exact_float32(Fraction(a) * Fraction(b) * int(sign) + Fraction(c))
            assert numbers.fuse_single(sign * a, b, c) == expected


def test_fuse_single_at_the_edge_of_overflow() -> None:
    a, b = math.ldexp(18631.0, 50), math.ldexp(1801.0, 53)
    assert a * b == 2.0**128 - 2.0**103
    assert numbers.fuse_single(a, b, 0.0) == math.inf
    assert numbers.fuse_single(a, b, 1.0) == math.inf
    largest = float(np.finfo(np.float32).max)
    assert numbers.fuse_single(a, b, -1.0) == largest
    assert numbers.fuse_single(-a, b, 1.0) == -largest
    assert numbers.fuse_single(-a, b, -1.0) == -math.inf


@pytest.mark.parametrize("fuse", [numbers.fuse_single, numbers.fuse_double])
def test_fused_specials(fuse: object) -> None:
    assert callable(fuse)
    for args, expected in [
        ((0.0, 5.0, -0.0), 0.0),
        ((-0.0, 5.0, -0.0), -0.0),
        ((2.0, 3.0, -6.0), 0.0),
        ((-2.0, 3.0, 6.0), 0.0),
        ((math.inf, 0.0, 1.0), math.nan),
        ((math.inf, 1.0, -math.inf), math.nan),
        ((1e30, 1e30, -math.inf), -math.inf),
        ((1.0, math.nan, 1.0), math.nan),
    ]:
        assert same_bits(np.float64(fuse(*args)), np.float64(expected))


def test_fuse_double_keeps_what_a_product_loses() -> None:
    x = 1.0 + 2.0**-52
    assert numbers.fuse_double(x, x, -1.0) == 2.0**-51 + 2.0**-104
    assert numbers.fuse_double(1e300, 1e10, -math.inf) == -math.inf
    assert numbers.fuse_double(1e300, 1e10, -1.7e308) == math.inf
    assert numbers.fuse_double(-1e300, 1e10, 1.0) == -math.inf
    assert numbers.fuse_double(2.0**1000, 2.0**30, -(2.0**1023)) == math.inf
    assert numbers.fuse_double(5e-324, 0.5, 0.0) == 0.0
    assert numbers.fuse_double(5e-324, 0.5, 5e-324) == 1e-323
    assert same_bits(np.float64(numbers.fuse_double(-5e-324, 0.25, 0.0)), np.float64(-0.0))


def test_division_and_root_follow_ieee() -> None:
    for a in (0.0, -0.0, 1.0, -2.0, math.inf, -math.inf, math.nan):
        for b in (0.0, -0.0, 3.0, -math.inf, math.nan):
            with np.errstate(all="ignore"):
                assert same_bits(np.float64(numbers.divide(a, b)), np.float64(a) / np.float64(b))
        with np.errstate(all="ignore"):
            assert same_bits(np.float64(numbers.root(a)), np.sqrt(np.float64(a)))


def test_rounding_to_16_bits() -> None:
    for x in (65519.99, 65520.0, -65520.0, 1e300, -math.inf, 2.0**-25, 2.0**-25 * 1.01, 0.1):
        with np.errstate(over="ignore"):
            assert same_bits(np.float64(numbers.round_half(x)), np.float64(np.float16(x)))
    one, step = 1.0, 2.0**-7
    assert numbers.round_brain(one + step / 2) == one
    assert numbers.round_brain(one + step * 1.5) == one + 2 * step
    assert numbers.round_brain(one + step * 0.51) == one + step
    assert numbers.round_brain(3.4e38) == math.inf
    assert numbers.round_brain(-math.inf) == -math.inf
    assert math.isnan(numbers.round_brain(math.nan))
