"""Which threads an entry runs, and where each of them stands."""

import itertools
from math import prod

import numpy as np
import pytest
from unit.codegen.harness import Launch, Make, run

from heald.ir import Kernel
from heald.types import Array, i32, i64

pytestmark = pytest.mark.cpu

SHAPES = [
    (1,), (7,), (3, 5), (1, 9), (9, 1), (2, 3, 4), (4, 1, 3), (2, 3, 1, 4), (3, 2, 2, 2),
]  # fmt: skip


def coordinates_kernel(rank: int) -> Kernel:
    """Each thread adds one to its count and stores where it stands; blocks give its number."""
    m = Make(count=Array(i32, 1), where=Array(i64, 2))
    one, size = m.const(i32, 1), m.op("sext", m.op("block_dim"), type=i64)
    number = m.op("iadd", m.op("imul", m.op("block_index", type=i64), size),
                  m.op("sext", m.op("thread_index"), type=i64))  # fmt: skip
    m.atomic("add", m.count, number, one)
    for axis in range(rank):
        m.store(m.where, number, m.const(i32, axis), m.tid(axis, i64))
    return m.done(rank)


@pytest.mark.parametrize("rank", range(5))
def test_every_thread_runs_once_at_its_coordinates(rank: int) -> None:
    kernel = coordinates_kernel(rank)
    for shape in SHAPES:
        total = prod(shape)
        count, where = np.zeros(total, np.int32), np.full((total, 4), -1, np.int64)
        assert run(kernel, shape, count, where, block_dim=4).fault is None
        assert (count == 1).all(), shape
        padded = [*shape, *[1] * (4 - len(shape))]
        expected = np.array(list(itertools.product(*map(range, padded))))
        assert (where[:, :rank] == expected[:, :rank]).all(), shape
        assert (where[:, rank:] == -1).all()


@pytest.mark.parametrize("rank", range(5))
def test_any_range_of_threads(rank: int) -> None:
    kernel = coordinates_kernel(rank)
    for shape in [(6,), (3, 4), (2, 2, 3), (2, 1, 3, 2)]:
        total = prod(shape)
        padded = [*shape, *[1] * (4 - len(shape))]
        expected = np.array(list(itertools.product(*map(range, padded))))
        for lo, hi in itertools.combinations_with_replacement(range(total + 1), 2):
            count, where = np.zeros(total, np.int32), np.full((total, 4), -1, np.int64)
            launch = Launch(kernel, shape, (count, where), block_dim=3)
            launch.run(lo, hi)
            assert np.flatnonzero(count).tolist() == list(range(lo, hi))
            assert count.max(initial=0) <= 1
            assert (where[lo:hi, :rank] == expected[lo:hi, :rank]).all(), (shape, lo, hi)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_an_empty_range_touches_nothing(rank: int) -> None:
    kernel = coordinates_kernel(rank)
    count, where = np.zeros(1, np.int32), np.zeros((1, 4), np.int64)
    for shape in [(0,), (0, 3), (3, 0), (0, 0, 0)]:
        run(kernel, shape, count, where)
    launch = Launch(kernel, (5,), (count, where))
    launch.run(3, 2)
    launch.run(2, 2)
    assert count.tolist() == [0]


def test_extents_of_the_launch_and_of_arrays() -> None:
    m = Make(a=Array(i32, 3), y=Array(i64, 1))
    rows = [m.emit("launch_dim", types=[i64], axis=k) for k in range(4)]
    rows += [m.op("sext", m.emit("launch_dim", types=[i32], axis=1), type=i64)]
    rows += [m.emit("dim", m.a, types=[i64], axis=k) for k in range(3)]
    rows += [m.op("sext", m.emit("dim", m.a, types=[i32], axis=2), type=i64)]
    rows += [m.emit("stride", m.a, types=[i64], axis=k) for k in range(3)]
    for k, value in enumerate(rows):
        m.store(m.y, m.const(i32, k), value)
    a = np.zeros((4, 6, 10), np.int32)[:, ::-2, 1:8]
    y = np.zeros(len(rows), np.int64)
    assert run(m.done(0), (2, 3, 1, 5), a, y).fault is None
    assert y.tolist() == [2, 3, 1, 5, 3, 4, 3, 7, 7, *a.strides]


def test_places_in_a_block() -> None:
    m = Make(y=Array(i32, 2))
    i = m.tid()
    rows = [m.op(name) for name in ("block_dim", "thread_index", "lane")]
    rows.append(m.op("block_index", type=i32))
    for k, value in enumerate(rows):
        m.store(m.y, i, m.const(i32, k), value)
    y = np.zeros((200, 4), np.int32)
    run(m.done(), 200, y, block_dim=96)
    i = np.arange(200)
    expected = np.stack([0 * i + 96, i % 96, i % 96 % 32, i // 96], axis=1)
    assert (y == expected).all()


def test_thread_numbers_beyond_32_bits() -> None:
    m = Make(y=Array(i64, 1), base=i64)
    x, z = m.tid(0, i64), m.tid(1, i64)
    m.store(m.y, m.op("isub", m.op("iadd", m.op("imul", x, m.const(i64, 3)), z), m.base), x)
    shape = (1 << 40, 3)
    lo = 3 * ((1 << 39) + 1) + 2
    y = np.zeros(4, np.int64)
    launch = Launch(m.done(2), shape, (y, lo))
    launch.run(lo, lo + 4)
    first = (1 << 39) + 1
    assert y.tolist() == [first, first + 1, first + 1, first + 1]
    assert launch.result().fault is None
