"""Several vectors of threads side by side, up to 64 lanes; what is left runs in single ones."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from unit.codegen.harness import Make
from unit.codegen.widening import agree, launch, widen

from heald.ir import Kernel, Value
from heald.types import Array, Scalar, Vector, f32, i32, i64, u8, u32

pytestmark = pytest.mark.cpu
SHAPES = [(16, 2), (32, 2), (64, 4)]


def stepping() -> Kernel:
    """Loops of as many steps as an array says, with a store and a guard in each."""
    m = Make(count=Array(i32, 1), x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(k: Value, s: Value) -> list[Value]:
        s = m.op("iadd", s, m.load(m.x, m.op("iadd", i, k)))
        m.store(m.y, i, s)
        return [s]

    m.for_(zero, m.load(m.count, i), one, [i], body)
    return m.done()


def parting() -> Kernel:
    """A border: threads before and behind 5 take different ways."""
    m = Make(x=Array(Vector(f32, 3), 1), y=Array(f32, 1))
    i = m.tid()
    front = m.op("icmp", i, m.const(i32, 5), pred="slt")
    step = m.const(i32, 1)

    def sums(k: Value, s: Value) -> list[Value]:
        return [m.op("fma", s, m.load(m.x, i, leaf=1), m.load(m.x, i, leaf=0))]

    def many() -> list[Value]:
        start = m.load(m.x, i, leaf=2)
        return list(m.for_(m.const(i32, 0), m.const(i32, 40), step, [start], sums))

    (found,) = m.if_(front, lambda: [m.const(f32, 1.0)], many, types=[f32])
    m.store(m.y, i, found)
    return m.done()


def adding() -> Kernel:
    """Atomics of whole numbers, stores to one place, and one atomic of floats."""
    m = Make(x=Array(f32, 1), n=Array(i64, 1), y=Array(f32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    x = m.load(m.x, i)

    def some() -> list[Value]:
        m.atomic("add", m.n, zero, m.op("sext", i, type=i64))
        m.store(m.y, one, x)
        return []

    m.if_(m.op("fcmp", x, m.const(f32, 0.0), pred="ogt"), some)
    m.store(m.y, m.const(i32, 2), x)
    m.atomic("add", m.y, zero, x)
    return m.done()


def make_stepping(n: int, *, outside: bool = False) -> list[np.ndarray]:
    count = (np.arange(n) * 7 % 11).astype(np.int32)
    return [count, np.arange(n + 10 - 14 * outside, dtype=np.int32), np.zeros(n, np.int32)]


def make_parting(n: int) -> list[np.ndarray]:
    x = np.random.default_rng(3).uniform(-1, 1, (n, 3)).astype(np.float32)
    return [x, np.zeros(n, np.float32)]


def make_adding(n: int) -> list[np.ndarray]:
    x = np.random.default_rng(4).normal(size=n).astype(np.float32)
    return [x, np.zeros(1, np.int64), np.zeros(3, np.float32)]


@pytest.mark.parametrize(("width", "vectors"), SHAPES)
@pytest.mark.parametrize(
    ("kernel", "make"),
    [(stepping, make_stepping), (parting, make_parting), (adding, make_adding)],
)
def test_bits(
    kernel: Callable[[], Kernel],
    make: Callable[[int], Sequence[Any]],
    width: int,
    vectors: int,
) -> None:
    counts = (1, 9, width - 1, width, width + 1, 2 * width + 17)
    agree(kernel(), make, counts=counts, width=width, vectors=vectors)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("t", [i32, u32, i64, u8], ids=str)
@pytest.mark.parametrize("pred", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_bounds_that_one_lane_crosses(pred: str, t: Scalar, swapped: bool) -> None:
    """Whether any lane takes an arm is told by the largest, or smallest, of all vectors."""
    how = pred if pred in ("eq", "ne") else f"{t.kind.replace('i', 's')}{pred}"
    m = Make(x=Array(t, 1), y=Array(t, 1))
    i = m.tid()
    x = m.load(m.x, i)
    sides = (m.const(t, 100), x) if swapped else (x, m.const(t, 100))
    then = m.op("icmp", *sides, pred=how)
    m.if_(then, lambda: m.store(m.y, i, m.op("iadd", x, m.const(t, 1))) or [])
    forms, dtype = widen(m.done(), width=64, vectors=4, unit=True), t.carrier
    meets = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    test = {**meets, "eq": np.equal, "ne": np.not_equal}[pred]
    ends = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for common, other, place in product((99, 100, 101), (*ends, 99, 100, 101), (0, 21, 47, 63)):
        row, found = np.full(64, common, dtype), np.zeros(64, dtype)
        row[place] = other
        assert launch(forms, (64,), [row, found]) is None
        taken = test(100, row) if swapped else test(row, 100)
        np.testing.assert_array_equal(found, np.where(taken, row + np.ones_like(row), 0))


@pytest.mark.parametrize(("width", "vectors"), SHAPES)
def test_faults_behind_stores(width: int, vectors: int) -> None:
    def make(n: int) -> list[np.ndarray]:
        return make_stepping(n, outside=True)

    counts = (9, width, 2 * width + 17)
    agree(stepping(), make, counts=counts, width=width, vectors=vectors)


@pytest.mark.parametrize(("width", "vectors"), SHAPES)
@pytest.mark.parametrize("row", [3, 9, 16, 20, 64, 75])
def test_rows(row: int, width: int, vectors: int) -> None:
    m = Make(x=Array(i32, 2), y=Array(i32, 2))
    i, j = m.tid(0), m.tid(1)
    inner = m.op("icmp", j, m.const(i32, 2), pred="sgt")
    back = m.op("isub", j, m.const(i32, 1))
    value = m.if_(inner, lambda: [m.load(m.x, i, back)], lambda: [i], types=[i32])[0]
    m.store(m.y, i, j, value)
    forms = widen(m.done(2), width=width, vectors=vectors, unit=True)
    x = np.arange(5 * row, dtype=np.int32).reshape(5, row)
    expected = np.where(np.arange(row) > 2, np.roll(x, 1, axis=1), np.arange(5)[:, None])
    for cuts in ([], [1, 7], [row + 2, 3 * row - 1]):
        y = np.zeros_like(x)
        assert launch(forms, (5, row), [x, y], cuts) is None
        np.testing.assert_array_equal(y, expected)
