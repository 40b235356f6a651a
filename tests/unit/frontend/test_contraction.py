"""Where a sum becomes an fma: exactly one operand written as a product."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from unit.frontend.harness import cell, count_ops, launch, lower

import heald as wp

TEMPLATE = """
@wp.func
def product(x: wp.Any, y: wp.Any):
    return x * y

@wp.kernel
def k(a: wp.array(dtype={dtype}), x: {dtype}, y: {dtype}, z: {dtype}, w: {dtype}, n: int):
    s = z
    {statement}
    a[0] = s
"""


def ops_of(statement: str, dtype: str = "wp.float32", **options: Any) -> tuple[int, int, int, int]:
    """How many fma, product, sum and negation ops a statement makes."""
    names = cell(TEMPLATE.format(statement=statement, dtype=dtype))
    wir = lower(names["k"], **options)
    sums = count_ops(wir, "fadd", "fsub", "iadd", "isub")
    return count_ops(wir, "fma"), count_ops(wir, "fmul", "imul"), sums, count_ops(wir, "fneg")


@pytest.mark.parametrize(
    ("statement", "fma", "products", "sums", "signs"),
    [
        ("s = x * y + z", 1, 0, 0, 0),
        ("s = z + x * y", 1, 0, 0, 0),
        ("s = (((x * y))) + z", 1, 0, 0, 0),
        ("s = x * y - z", 1, 0, 0, 1),
        ("s = z - x * y", 1, 0, 0, 1),
        ("s += x * y", 1, 0, 0, 0),
        ("s -= x * y", 1, 0, 0, 1),
        ("s = x * y + z * w", 0, 2, 1, 0),
        ("s = x * y - y * x", 0, 2, 1, 0),
        ("s = x * y + z + w", 1, 0, 1, 0),  # (x*y + z) + w
        ("s = x * y + z * w + x", 0, 2, 2, 0),  # the left side of the last sum is a sum
        ("s = x * y + z + z * w", 2, 0, 0, 0),
        ("s = x * (y * z + w) + z", 2, 0, 0, 0),
        ("s = x * y * z + w", 1, 1, 0, 0),
        ("p = x * y; s = p + z", 0, 1, 1, 0),  # bound to a name
        ("s = product(x, y) + z", 0, 1, 1, 0),  # returned from a call
        ("s = -(x * y) + z", 0, 1, 1, 1),  # written as a negation
        ("s = x * y if n > 0 else z; s = s + w", 0, 1, 1, 0),
        ("s = x * x + 1.0", 1, 0, 0, 0),
        ("s = 2.0 * x - 1", 1, 0, 0, 1),
        ("s = x**2 + z", 0, 1, 1, 0),  # a power, not a product
        ("s = x / y + z", 0, 0, 1, 0),
        ("s *= x + y", 0, 1, 1, 0),
        ("s = x + y * 2.0 * z", 1, 1, 0, 0),
        ("s = n * n + x", 0, 1, 1, 0),  # the product is an integer
        ("s = x * n + y", 1, 0, 0, 0),  # meets in float32
        ("a[0] = x * y + z", 1, 0, 0, 0),  # a plain store of a sum
        ("a[0] += x * y", 0, 1, 0, 0),  # an update: the right side is rounded first
        ("a[0] -= x * y", 0, 1, 0, 0),
        ("a[0] *= x * y", 0, 2, 0, 0),
        ("a[0] += x * y + z", 1, 0, 0, 0),  # a sum on the right side of an update
    ],
)
def test_one_written_product_is_contracted(
    statement: str, fma: int, products: int, sums: int, signs: int
) -> None:
    assert ops_of(statement) == (fma, products, sums, signs)
    assert ops_of(statement, "wp.float64") == (fma, products, sums, signs)
    strict = ops_of(statement, strict_fp=True)
    assert strict == (0, products + fma, sums + fma, strict[3])


@pytest.mark.parametrize("dtype", ["wp.float16", "wp.bfloat16", "wp.int32", "wp.uint8"])
def test_other_types_are_never_contracted(dtype: str) -> None:
    assert ops_of("s = x * y + z", dtype)[:3] == (0, 1, 1)


def test_local_arrays_are_updated_with_a_rounded_right_side() -> None:
    statement = "t = wp.zeros(shape=1, dtype=wp.float32); t[0] += x * y"
    assert ops_of(statement)[:3] == (0, 1, 1)


@wp.kernel
def vectors(a: wp.array(dtype=wp.vec3), x: float, m: wp.mat22, b: wp.array(dtype=wp.mat22)):
    v = a[0]
    a[1] = x * v + a[2]
    a[3] = a[2] - v * 2.0
    b[0] = m * x + b[0]
    w = v
    w += x * v
    a[4] = w
    w.x += x * x
    a[5] = w


def test_vectors_are_contracted_component_by_component() -> None:
    wir = lower(vectors)
    assert count_ops(wir, "fma") == 3 + 3 + 4 + 3 + 1
    assert count_ops(wir, "fmul", "fadd", "fsub") == 0


@wp.kernel
def mixed(a: wp.array(dtype=wp.vec3d), x: float):
    a[0] = a[0] * x + a[1]  # the float32 becomes a component type, exactly


def test_scalars_of_a_narrower_type_are_contracted_too() -> None:
    assert count_ops(lower(mixed), "fma") == 3


def round32(x: Fraction) -> np.float32:
    """``x`` rounded once; the numbers of these tests are far from ties of float64."""
    return np.float32(x.numerator / x.denominator)


@wp.kernel
def values(a: wp.array(dtype=float), x: float, y: float, z: float):
    a[0] = x * y + z
    a[1] = z - x * y
    a[2] = x * y - z
    s = z
    s -= x * y
    a[3] = s
    a[4] = x * y - y * x
    p = x * y
    a[5] = p + z
    a[6] += x * y
    v = wp.vec2(x, z) * y + wp.vec2(z, x)
    a[7] = v[0]


def test_values_are_rounded_once_or_twice_as_written() -> None:
    x, y, z = (np.float32(v) for v in (1 + 2.0**-12, 1 + 2.0**-12, -1.0))
    product = Fraction(float(x)) * Fraction(float(y))
    minus = Fraction(float(z))
    once, twice = round32(product + minus), round32(product) + z
    assert once != twice
    a = np.zeros(8, np.float32)
    a[6] = z
    launch(values, 1, a, x, y, z)
    below = round32(minus - product)
    assert a.tolist() == [once, below, round32(product - minus), below, 0.0, twice, twice, once]
    a[:] = z
    launch(lower(values, strict_fp=True), 1, a, x, y, z)
    assert a[[0, 5, 6, 7]].tolist() == [twice] * 4
