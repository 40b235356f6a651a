"""Indices: 64-bit specialisations, constants from the end, slices as in Python."""

from itertools import product

import numpy as np
import pytest
from unit.frontend.harness import cell, launch, lower, pointed_at, refuse

import heald as wp
from heald.artifact import FaultKind
from heald.ir import walk
from heald.types import i32, i64


@wp.kernel
def widest(a: wp.array(dtype=float, ndim=2), n: int):
    i, j = wp.tid()
    for k in range(a.shape[0]):
        if k == i:
            a[k, j] = float(len(a) + a.shape[1] + n)
    for k in range(n):
        a[k, 0] = 0.0


def kinds(wide: bool) -> dict[str, set[object]]:
    wir = lower(widest, index=i64 if wide else i32)
    found: dict[str, set[object]] = {}
    for op in walk(wir.body):
        if op.name in ("tid", "dim"):
            found.setdefault(op.name, set()).add(op.results[0].type)
        if op.name == "for":
            found.setdefault("for", set()).add(op.operands[1].type)
    return found


def test_indices_are_int32_or_int64_as_the_launch_needs() -> None:
    assert kinds(wide=False) == {"tid": {i32}, "dim": {i32}, "for": {i32}}
    assert kinds(wide=True) == {"tid": {i64}, "dim": {i64}, "for": {i32, i64}}


@pytest.mark.parametrize(
    ("statement", "under"),
    [
        ("f[0] = f[0] + i", "f[0] + i"),
        ("n[0] = i", "i"),
        ("n[0] = take(i)", "i"),
        ("x: int = i", "i"),
        ("n[i] = f.shape[0]", "f.shape[0]"),
    ],
)
def test_what_does_not_type_with_64_bits_is_underlined(statement: str, under: str) -> None:
    kernels = cell(
        f"""
        @wp.func
        def take(n: int):
            return n

        @wp.kernel
        def k(f: wp.array(dtype=float), n: wp.array(dtype=int)):
            i = wp.tid()
            {statement}
        """
    )
    lower(kernels["k"])
    (found,) = refuse(kernels["k"], index=i64)
    assert pointed_at(found) == under


def test_loops_take_the_widest_type_of_their_bounds() -> None:
    kernels = cell(
        """
        @wp.kernel
        def k(n: wp.array(dtype=wp.int64), u: wp.uint32, b: wp.int8, s: wp.int16):
            for i in range(u):
                n[0] = i
            for i in range(b, 2**40, 2**39):
                n[1] = i
            for i in range(b, s):
                n[2] += i
        """
    )
    n = np.zeros(3, np.int64)
    launch(kernels["k"], 1, n, 3_000, -2, 3)
    assert n.tolist() == [2999, 2**40 - 2, 0]
    trips = [op for op in walk(lower(kernels["k"]).body) if op.name == "for"]
    assert [op.operands[0].type for op in trips] == [i64, i64, i32]


@wp.kernel
def ends(a: wp.array(dtype=float, ndim=2), b: wp.array(dtype=float)):
    a[-1, -2] = 5.0
    b[-1] = a[-1][-2]


def test_negative_literals_count_from_the_end() -> None:
    a, b = np.zeros((3, 4), np.float32), np.zeros(2, np.float32)
    launch(ends, 1, a, b)
    assert (a[2, 2], b[1]) == (5.0, 5.0)


@wp.kernel
def runtime(a: wp.array(dtype=float), i: int):
    a[i] = 1.0


@pytest.mark.parametrize("i", [-1, 3, -(2**31)])
def test_negative_runtime_indices_are_out_of_bounds(i: int) -> None:
    a = np.zeros(3, np.float32)
    (fault,) = launch(runtime, 1, a, i).faults
    assert (fault.kind, fault.index) == (FaultKind.BOUNDS, (i,))
    assert not a.any()


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("n:", -2),
        (":n", -2),
        ("1:n", -2),
        ("::3", None),
        (":n:3", -2),
        ("4:n:-1", -2),
        ("n::-1", -2),
        ("n:m", -2),
        ("m:n", -3),
        ("5:", None),
    ],
)
def test_the_bound_of_a_slice_that_is_negative_is_told(part: str, told: int | None) -> None:
    kernels = cell(
        "@wp.kernel\ndef k(a: wp.array(dtype=float, ndim=2), n: int, m: int):\n"
        f"    view = a[1, {part}]\n    if len(view) > 0:\n        view[0] = 1.0\n"
    )
    faults = launch(kernels["k"], 1, np.zeros((3, 4), np.float32), -2, -3).faults
    assert [fault.index for fault in faults] == ([] if told is None else [(1, told)])


BOUNDS = [None, -6, -5, -3, -1, 0, 1, 4, 5, 7]


@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_slices_are_those_of_python(step: int | None, size: int) -> None:
    def text(x: int | None) -> str:
        return "" if x is None else str(x)

    lines = [
        f"    count[{k}] = fill(a[{text(lo)}:{text(hi)}:{text(step)}], out[{k}])"
        for k, (lo, hi) in enumerate(product(BOUNDS, BOUNDS))
    ]
    kernels = cell(
        "@wp.func\ndef fill(view: wp.array(dtype=int), out: wp.array(dtype=int)):\n"
        "    for i in range(len(view)):\n        out[i] = view[i]\n    return len(view)\n"
        "@wp.kernel\ndef k(a: wp.array(dtype=int), out: wp.array(dtype=int, ndim=2), "
        "count: wp.array(dtype=int)):\n" + "\n".join(lines)
    )
    a = np.arange(1, size + 1, dtype=np.int32)
    count, out = np.zeros(len(lines), np.int32), np.zeros((len(lines), 8), np.int32)
    assert not launch(kernels["k"], 1, a, out, count).faults
    for k, (lo, hi) in enumerate(product(BOUNDS, BOUNDS)):
        expected = a[lo:hi:step]
        assert out[k, : count[k]].tolist() == expected.tolist(), (lo, hi, step)


@wp.kernel
def views(a: wp.array(dtype=float, ndim=3), b: wp.array(dtype=float), i: int):
    block = a[i]
    row = block[1]
    b[0] = row[2]
    b[1] = a[:, 1][i, 2]
    b[2] = a[1:, 0, ::2][0, 1]
    b[3] = float(len(a[0]) * 100 + a[1:, 0].shape[0] * 10 + a[0].ndim)
    row[0] = 7.0
    block[0, 1:3][1] = 8.0
    line = a[:, :, -1]
    line[0][0] = 9.0
    (line[1])[0] = 3.0


def test_views_of_views_share_memory() -> None:
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    b = np.zeros(4, np.float32)
    expected = a.copy()
    launch(views, 1, a, b, 1)
    assert b.tolist() == [expected[1, 1, 2], expected[1, 1, 2], expected[1, 0, 2], 312]
    expected[1, 1, 0], expected[1, 0, 2], expected[0, 0, 3], expected[1, 0, 3] = 7, 8, 9, 3
    assert a.tolist() == expected.tolist()
