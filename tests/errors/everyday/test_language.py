"""Mistakes in the source of kernels that everybody makes once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from errors.everyday.checks import refused

import heald as wp


@wp.kernel
def calls_numpy(a: wp.array(dtype=float)):
    a[wp.tid()] = np.interp(0.5, 1.0, 2.0)


@wp.kernel
def draws(a: wp.array(dtype=float)):
    a[wp.tid()] = random.random()


@wp.kernel
def draws_by_numpy(a: wp.array(dtype=float)):
    a[wp.tid()] = np.random.rand()


@wp.kernel
def makes_text(a: wp.array(dtype=float)):
    a[wp.tid()] = float(str(3))


@wp.kernel
def rounds_by_numpy(a: wp.array(dtype=float)):
    a[wp.tid()] = np.floor(2.5)


@wp.kernel
def calls_a_kernel(a: wp.array(dtype=float)):
    draws(a)


def map(x):  # noqa: A001 - a name of Python
    return x + 1.0


@wp.kernel
def calls_its_own(a: wp.array(dtype=float)):
    a[wp.tid()] = map(1.0)


@wp.kernel
def misspells(a: wp.array(dtype=float)):
    a[wp.tid()] = wp.sqr(2.0)


@wp.kernel
def evaluates(a: wp.array(dtype=float)):
    a[wp.tid()] = eval("1.0")


@wp.kernel
def looks_up(a: wp.array(dtype=float)):
    v = wp.vec3(1.0, 2.0, 3.0)
    a[wp.tid()] = getattr(v, "x")  # noqa: B009 - the mistake


@wp.func
def any_number(*numbers):
    return numbers[0]


@wp.kernel
def passes_any(a: wp.array(dtype=float)):
    a[wp.tid()] = any_number(1.0)


@wp.func
def gives_two_types(n: int):
    if n > 1:
        return 1.0
    return wp.vec2(1.0, 2.0)


@wp.kernel
def returns_two_types(a: wp.array(dtype=float), n: int):
    a[wp.tid()] = gives_two_types(n)


@wp.kernel
def spreads_names(a: wp.array(dtype=float)):
    a[wp.tid()] = wp.clamp(**{"x": 1.0})  # noqa: PIE804 - the mistake


@wp.kernel
def differs_by_branch(a: wp.array(dtype=float), n: int):
    if n > 1:  # noqa: SIM108 - the mistake
        x = wp.vec2(1.0, 2.0)
    else:
        x = 1.0
    a[wp.tid()] = wp.length(x)


@wp.kernel
def set_on_one_path(a: wp.array(dtype=float), n: int):
    if n > 1:
        x = 1.0
    a[wp.tid()] = x


@wp.kernel
def assigns_a_slice(a: wp.array(dtype=float)):
    a[0:2] = 1.0


def run(kernel: wp.Kernel, *more: object) -> None:
    wp.launch(kernel, dim=4, inputs=[wp.zeros(4, dtype=float), *more])


def test_unsupported_call() -> None:
    with refused("H0102", "np.interp", remedy="builtins of wp"):
        run(calls_numpy)
    with refused("H0303", "sqr", remedy="sqrt"):
        run(misspells)


@pytest.mark.parametrize(
    ("kernel", "remedy"),
    [
        (draws, "wp.randf"),
        (draws_by_numpy, "wp.randf"),
        (makes_text, "the builtins of wp"),
        (rounds_by_numpy, "write wp.floor"),
        (calls_a_kernel, "@wp.func"),
        (calls_its_own, "decorate 'map' with @wp.func"),
    ],
)
def test_what_to_call_instead(kernel: wp.Kernel, remedy: str) -> None:
    with refused("H0102", remedy=remedy):
        run(kernel)


@pytest.mark.parametrize(
    ("kernel", "code", "remedy"),
    [
        (evaluates, "H0102", "a kernel is compiled"),
        (looks_up, "H0102", "with a dot"),
        (passes_any, "H0104", "name each parameter"),
        (spreads_names, "H0104", "write name=value"),
    ],
    ids=["eval", "getattr", "*args", "**kwargs"],
)
def test_eval_getattr_and_star_arguments(kernel: wp.Kernel, code: str, remedy: str) -> None:
    with refused(code, remedy=remedy):
        run(kernel)


def test_type_that_differs_by_branch() -> None:
    with refused("H0204", "vec2", "float32", remedy="one type on every path"):
        run(differs_by_branch, 1)
    with refused("H0105", "vec2", "float32", remedy="one type on every path"):
        run(returns_two_types, 1)


def test_variable_set_on_one_path() -> None:
    with refused("H0302", "'x'", "this branch", remedy="insert `x = 0.0`"):
        run(set_on_one_path, 1)


def test_misuse_of_slices() -> None:
    with refused("H0109", "a[0:2] = 1.0", remedy="loop over the elements"):
        run(assigns_a_slice)


def test_struct_with_an_object() -> None:
    with refused("H0208", "member owner", remedy="another struct"):

        @wp.struct
        class Owned:
            owner: object


def test_struct_with_a_pointer_among_elements() -> None:
    @wp.struct
    class Row:
        values: wp.array(dtype=float)

    with refused("H0208", "Row has an array as a member", remedy="store an index"):
        wp.zeros(4, dtype=Row)
