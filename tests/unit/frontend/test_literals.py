"""Python numbers in kernels: what they become, and when they are refused."""

import numpy as np
import pytest
from unit.frontend.harness import cell, launch, pointed_at, refuse_text

import heald as wp


@wp.kernel
def extend(b: wp.array(dtype=wp.float64)):
    x = 0.1  # binding fixes float32
    b[0] = wp.float64(x)
    b[1] = 0.1


def test_bound_float_literal_is_rounded_before_it_widens() -> None:
    b = np.zeros(2)
    launch(extend, 1, b)
    assert b[0] == float(np.float32(0.1))
    assert b[1] == 0.1


@wp.kernel
def flags(a: wp.array(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    big = a[i] > 0.5
    a[i] = big * 2.0 + True
    n[i] = big + 1
    n[i + 2] = n[i + 2] if big else False


def test_bools_meet_numbers_as_zero_and_one() -> None:
    a, n = np.array([0.25, 0.75], np.float32), np.array([0, 0, 7, 8], np.int32)
    launch(flags, 2, a, n)
    assert a.tolist() == [1.0, 3.0]
    assert n.tolist() == [1, 2, 0, 8]


@pytest.mark.parametrize(
    ("expression", "literal"),
    [
        ("a[0] + 16777217", "16777217"),
        ("1e300", "1e300"),
        ("float(10**400)", "10**400"),
        ("a[0] * 2**2000", "2**2000"),
        ("-a[0] + (-2**40 + 1)", "-2**40 + 1"),
        ("float(n[0] + 300)", "300"),
        ("float(n[0] == 1000)", "1000"),
        ("float(wp.uint8(-1))", "-1"),
        ("float(n[0] + BIG)", "BIG"),
        ("min(a[0], 1e300)", "1e300"),
    ],
)
def test_literal_that_does_not_fit_is_underlined(expression: str, literal: str) -> None:
    found = refuse_text(
        f"""
        @wp.kernel
        def k(a: wp.array(dtype=float), n: wp.array(dtype=wp.int8)):
            a[0] = {expression}
        """,
        BIG=10**5000,
    )
    assert found.code == "H0202"
    assert pointed_at(found) == literal


def test_literals_of_any_size_fold_in_python() -> None:
    kernels = cell(
        """
        @wp.kernel
        def k(n: wp.array(dtype=wp.int64)):
            n[0] = 2**100 // 2**60
            n[1] = 7 // -2 + 7 % -2
            n[2] = wp.int64(1e30)
        """
    )
    n = np.zeros(3, np.int64)
    launch(kernels["k"], 1, n)
    assert n.tolist() == [2**40, -4 - 1, 2**63 - 1]


@wp.kernel
def halves(a: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.bfloat16)):
    b[0] = wp.bfloat16(a[0])
    a[1] = wp.float16(b[1])


def test_sixteen_bit_floats_convert_into_each_other() -> None:
    a = np.array([1.0 + 2.0**-9, 0], np.float16)
    b = np.array([0, 0x4049], np.uint16)  # 0x4049 is 3.140625
    launch(halves, 1, a, b)
    assert b[0] == 0x3F80  # rounded to 8 bits: 1.0
    assert a[1] == np.float16(3.140625)
