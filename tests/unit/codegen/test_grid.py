"""Which threads of a launch a thread of a GPU's grid runs; the code is run by this processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from meaning.gpu_code import Grid, execute
from meaning.running import compare, interpret
from unit.codegen.harness import Make

from heald.artifact import FaultKind, Lanes
from heald.interp import ArrayView
from heald.ir import Kernel, walk
from heald.passes import NORMAL, SCALAR_CPU, guard, run_pipeline
from heald.passes.coarsen import coarsen
from heald.passes.layout import assume_apart, assume_unit
from heald.passes.warp_reduce import warp_reduce
from heald.types import Array, Scalar, f16, f32, f64, i8, i16, i32, leaves, u8, u16, u64

pytestmark = pytest.mark.cpu


def array(t: Array, *shape: int) -> ArrayView:
    view = ArrayView.allocate(t.dtype, shape)
    for k in range(len(leaves(t.dtype))):
        cells = view.leaf(k)
        cells[...] = np.arange(cells.size).reshape(cells.shape) % 251
    return view


def forms(kernel: Kernel, *, unit: bool, apart: bool, spacing: int) -> tuple[Kernel, Kernel]:
    guarded = guard(kernel)
    guarded = assume_unit(guarded) if unit else guarded
    guarded = assume_apart(guarded) if apart else guarded
    scalar = run_pipeline(guarded, SCALAR_CPU, check=True)
    wide = coarsen(run_pipeline(scalar, NORMAL, check=True))
    assert wide.attrs["width"] != 1, wide.attrs["scalar"]
    return scalar, replace(wide, attrs={**wide.attrs, "spacing": spacing})


def agree(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[Any],
    *,
    spacing: int = 2,
    blocks: Sequence[int] = (4, 6),
    apart: bool = True,
) -> None:
    """One thread each, and several lanes each, leave what the interpreter leaves."""
    for unit in (False, True):
        scalar, wide = forms(kernel, unit=unit, apart=apart, spacing=spacing)
        expected = interpret(scalar, dims, args)
        for block in blocks:
            for lanes in (False, True):
                grid = Grid(block, lanes)
                found = execute(scalar, dims, args, wide=wide, grid=grid)
                assert found is not None, (dims, grid)
                compare(f"unit={unit} {grid}", expected, found, printed=False)


def sums() -> Kernel:
    m = Make(a=Array(f32, 1), b=Array(f32, 1), c=Array(f32, 1))
    i = m.tid()
    m.store(m.c, i, m.op("fadd", m.load(m.a, i), m.load(m.b, i)))
    return m.done()


@pytest.mark.parametrize("count", [63, 64, 65, 100, 128])
def test_every_thread_once(count: int) -> None:
    m = Make(n=Array(i32, 1))
    m.atomic("add", m.n, m.tid(), m.const(i32, 1))
    agree(m.done(), (count,), [array(Array(i32, 1), count)])


@pytest.mark.parametrize("dims", [(5, 64), (3, 63), (7, 16), (1, 130)])
def test_rows(dims: tuple[int, int]) -> None:
    m = Make(a=Array(f32, 2), b=Array(i32, 2))
    i, j = m.tid(0), m.tid(1)
    x = m.op("iadd", m.op("imul", i, m.const(i32, 1000)), j)
    m.store(m.b, i, j, x)
    m.atomic("add", m.a, i, j, m.const(f32, 0.5))
    agree(m.done(rank=2), dims, [array(Array(f32, 2), *dims), array(Array(i32, 2), *dims)])


def test_three_dimensions() -> None:
    m = Make(b=Array(i32, 3))
    i, j, k = (m.tid(axis) for axis in range(3))
    x = m.op("imul", m.op("iadd", m.op("imul", i, m.const(i32, 100)), j), m.const(i32, 1000))
    m.store(m.b, i, j, k, m.op("iadd", x, k))
    agree(m.done(rank=3), (3, 4, 30), [array(Array(i32, 3), 3, 4, 30)])


def test_a_guard_that_fails_sends_each_thread_on_its_own() -> None:
    a = Array(f32, 1)
    agree(sums(), (100,), [array(a, 100), array(a, 57), array(a, 90)])
    scalar, wide = forms(sums(), unit=True, apart=True, spacing=2)
    found = execute(
        scalar,
        (100,),
        [array(a, 100), array(a, 57), array(a, 90)],
        wide=wide,
        grid=Grid(4, lanes=True),
    )
    assert found is not None
    assert found.fault is not None
    assert (found.fault.kind, found.fault.thread) == (FaultKind.BOUNDS, 57)
    assert found.fault.count == 43


def test_neighbours_and_borders() -> None:
    m = Make(a=Array(f32, 2), b=Array(f32, 2))
    i, j = m.tid(0), m.tid(1)
    zero, one = m.const(i32, 0), m.const(i32, 1)
    last = m.op("isub", m.emit("dim", m.a, types=[i32], axis=1), one)
    after = m.op("icmp", j, zero, pred="sgt")
    before = m.op("icmp", j, last, pred="slt")

    def inner() -> list[Any]:
        left, right = m.load(m.a, i, m.op("isub", j, one)), m.load(m.a, i, m.op("iadd", j, one))
        m.store(m.b, i, j, m.op("fsub", right, left))
        return []

    m.if_(m.op("iand", after, before), inner)
    t = Array(f32, 2)
    agree(m.done(rank=2), (5, 64), [array(t, 5, 64), array(t, 5, 64)])


@pytest.mark.parametrize("t", [f32, u8, f16], ids=str)
def test_scattered_elements(t: Scalar) -> None:
    m = Make(a=Array(t, 1), n=Array(i32, 1), b=Array(t, 1))
    i = m.tid()
    m.store(m.b, i, m.load(m.a, m.load(m.n, i)))
    n = array(Array(i32, 1), 96)
    n.leaf(0)[...] = np.random.default_rng(1).permutation(96)
    agree(m.done(), (96,), [array(Array(t, 1), 96), n, array(Array(t, 1), 96)])


@pytest.mark.parametrize("count", [96, 101])
def test_bytes(count: int) -> None:
    m = Make(a=Array(u8, 1), b=Array(u8, 1))
    i = m.tid()
    m.store(m.b, i, m.op("iadd", m.load(m.a, i), m.const(u8, 1)))
    agree(m.done(), (count,), [array(Array(u8, 1), count)] * 2, spacing=1)


def test_a_launch_with_more_dims_than_the_kernel_reads() -> None:
    m = Make(n=Array(i32, 1))
    m.atomic("add", m.n, m.tid(), m.const(i32, 1))
    scalar, wide = forms(m.done(), unit=True, apart=False, spacing=2)
    args = [array(Array(i32, 1), 9)]
    found = execute(scalar, (9, 5), args, wide=wide, grid=Grid(4))
    assert found is not None
    compare("two dims", interpret(scalar, (9, 5), args), found)


def test_grids() -> None:
    lanes = Lanes(4, 32)
    assert lanes.grid((1 << 20,), 1) == 1 << 18
    assert lanes.grid(((1 << 20) + 1,), 1) == (1 << 18) + 32
    assert lanes.grid((1000, 4000), 2) == 1000 * 32 * 32
    assert lanes.grid((1000, 100), 2) == 0  # every fourth thread would be idle
    assert lanes.grid((1 << 20, 2), 1) == 0  # an extent that the kernel does not read
    assert lanes.grid((1 << 16, 1 << 16), 2) == 0  # too many for 32 bits
    assert 4 * lanes.grid((77, 12345), 2) >= prod((77, 12345))


@pytest.mark.parametrize("t", [i32, u64, f32, f64, f16], ids=str)
@pytest.mark.parametrize("warp", [False, True])
def test_sums_of_all_threads(t: Scalar, warp: bool) -> None:
    """Subnormals, zeros of both signs and large numbers; the order is that of the threads here."""
    m = Make(a=Array(t, 1), x=Array(t, 1))
    m.atomic("add", m.a, m.const(i32, 0), m.load(m.x, m.tid()))
    kernel = m.done()
    scalar = run_pipeline(guard(kernel), SCALAR_CPU, check=True)
    scalar = warp_reduce(scalar, floats=True) if warp else scalar
    x = array(Array(t, 1), 9)
    if t.is_float:
        small = 1e-40 if t.bits > 16 else 1e-7
        x.leaf(0)[...] = np.array([-0.0, 0.0, small, -small / 2, 3, -3, 1e-30, small, -0.0])
    for start in (0, -0.0 if t.is_float else 5):
        a = array(Array(t, 1), 1)
        a.leaf(0)[...] = start
        found = execute(scalar, (9,), [a, x], grid=Grid(4))
        assert found is not None
        compare(f"from {start}", interpret(scalar, (9,), [a, x]), found)


@pytest.mark.parametrize("t", [i8, u8, i16, u16], ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max"])
def test_small_integers_of_several_elements(t: Scalar, kind: str) -> None:
    """Lanes of a thread have elements of their own."""
    m = Make(a=Array(t, 1), x=Array(t, 1))
    i = m.tid()
    m.atomic(kind, m.a, m.op("iand", i, m.const(i32, 3)), m.load(m.x, i))
    scalar, wide = forms(m.done(), unit=True, apart=True, spacing=2)
    x, a = array(Array(t, 1), 1000), array(Array(t, 1), 4)
    limits = np.iinfo(x.leaf(0).dtype)
    low, high = limits.min, limits.max
    x.leaf(0)[...] = np.random.default_rng(0).integers(low, high, 1000, endpoint=True)
    a.leaf(0)[...] = [low, high, 0, 1]
    for grid in (Grid(4, False), Grid(4, True)):
        found = execute(warp_reduce(scalar), (1000,), [a, x], wide=warp_reduce(wide), grid=grid)
        assert found is not None
        compare(f"{grid}", interpret(scalar, (1000,), [a, x]), found, printed=False)


ZEROS = (0.0, -0.0)


@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize("kind", ["min", "max"])
@pytest.mark.parametrize("start", [*ZEROS, 5.0, -5.0, np.nan])
@pytest.mark.parametrize("beyond", [False, True])
def test_extrema_of_floats(t: Scalar, kind: str, start: float, beyond: bool) -> None:
    """Zeros keep the sign of the first, NaN changes nothing, and subnormals count."""
    m = Make(a=Array(t, 1), x=Array(t, 1))
    m.atomic(kind, m.a, m.const(i32, 0), m.load(m.x, m.tid()))
    scalar, wide = map(warp_reduce, forms(m.done(), unit=True, apart=True, spacing=2))
    marks = [op.attrs.get("warp") for k in (scalar, wide) for op in walk(k.body)]
    assert marks.count(True) == 2
    random = np.random.default_rng(1)
    x, a = array(Array(t, 1), 300), array(Array(t, 1), 1)
    for values in (ZEROS, (*ZEROS, np.nan), (2.0, np.nan), (*ZEROS, 1e-40, -1e-40), (np.nan,)):
        x.leaf(0)[...] = random.choice(values, 300)
        x.leaf(0)[0] = values[0]  # the first thread is the first of every layout
        if beyond:  # of one thread
            x.leaf(0)[101:103] = values[0] + 1.0, values[0] - 1.0
        a.leaf(0)[...] = start
        expected = interpret(scalar, (300,), [a, x])
        for lanes, whole in product((False, True), repeat=2):
            grid = Grid(4, lanes, whole_warps=whole)
            found = execute(scalar, (300,), [a, x], wide=wide, grid=grid)
            assert found is not None
            compare(f"{values} {grid}", expected, found, printed=False)
