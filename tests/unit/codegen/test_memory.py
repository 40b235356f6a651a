"""Loads, stores, strides, leaves, local arrays and views."""

import numpy as np
import pytest
from unit.codegen.harness import Make, run

from heald.artifact import FaultKind
from heald.diagnostics import CompileError, InternalError
from heald.ir import Kernel
from heald.types import (
    Array,
    Matrix,
    Struct,
    Vector,
    b1,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    numpy_dtype,
    u8,
    u16,
)

pytestmark = pytest.mark.cpu


def copy_kernel(rank: int) -> Kernel:
    """``y[i, j, ...] = x[i, j, ...]``, indices of both types."""
    m = Make(x=Array(f32, rank), y=Array(f32, rank))
    index = [m.tid(axis, i64 if axis % 2 else i32) for axis in range(rank)]
    m.store(m.y, *index, m.load(m.x, *index))
    return m.done(rank)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_strides_of_every_kind(rank: int) -> None:
    kernel = copy_kernel(rank)
    shape = (4, 3, 5, 2)[:rank]
    full = np.arange(np.prod([2 * n + 3 for n in shape]), dtype=np.float32)
    full = full.reshape([2 * n + 3 for n in shape])
    cut = tuple(slice(1, 1 + n) for n in shape)
    spread = tuple(slice(2, 2 + 2 * n, 2) for n in shape)
    back = tuple(slice(n, 0, -1) for n in shape)
    views = [full[cut], full[spread], full[back], np.broadcast_to(np.float32(7), shape)]
    if rank > 1:
        turned = tuple(slice(0, n) for n in reversed(shape))
        views.append(np.ascontiguousarray(full[turned]).transpose())
    for source in views:
        for layout in (np.zeros(shape, np.float32), np.zeros(shape, np.float32, order="F")):
            target = layout[(slice(None, None, -1),) * rank]
            assert run(kernel, shape, source, target).fault is None
            assert (target == source).all()


def test_memory_at_odd_addresses() -> None:
    # A packed record of foreign make: doubles and halves at odd offsets.
    record = np.dtype({"names": ["a", "b"], "formats": ["f8", "f2"], "offsets": [1, 11],
                       "itemsize": 13})  # fmt: skip
    source, target = np.zeros(9, record), np.zeros(9, record)
    source["a"], source["b"] = np.arange(9) + 0.1, np.arange(9) - 0.5
    m = Make(a=Array(f64, 1), b=Array(f16, 1), c=Array(f64, 1), d=Array(f16, 1))
    i = m.tid()
    m.store(m.c, i, m.load(m.a, i))
    m.store(m.d, i, m.load(m.b, i))
    run(m.done(), 9, source["a"], source["b"], target["a"], target["b"])
    assert (target == source).all()


PARTICLE = Struct(
    "Particle",
    (("flag", b1), ("x", Vector(f64, 3)), ("m", Matrix(i8, 2, 2)), ("id", u16), ("w", f32)),
)


def test_leaves_of_composite_elements() -> None:
    dtype = numpy_dtype(PARTICLE)
    rng = np.random.default_rng(3)
    source = np.zeros((3, 2), dtype)
    source["flag"], source["x"] = rng.integers(0, 2, (3, 2)), rng.random((3, 2, 3))
    source["m"], source["id"] = rng.integers(-9, 9, (3, 2, 2, 2)), rng.integers(0, 65000, (3, 2))
    source["w"] = rng.random((3, 2))
    m = Make(x=Array(PARTICLE, 2), y=Array(PARTICLE, 2))
    i, j = m.tid(0), m.tid(1)
    for leaf in range(1 + 3 + 4 + 1 + 1):
        m.store(m.y, i, j, m.load(m.x, i, j, leaf=leaf), leaf=leaf)
    target = np.zeros((3, 2), dtype)
    run(m.done(2), (3, 2), source, target)
    for name in dtype.names:
        assert (target[name] == source[name]).all(), name


def test_a_whole_composite_is_refused() -> None:
    m = Make(x=Array(Vector(f32, 2), 1))
    i = m.tid()
    v = m.emit("load", m.x, i, types=[Vector(f32, 2)])
    m.store(m.x, i, v)
    with pytest.raises(InternalError, match="scalarise"):
        run(m.done(), 1, np.zeros((1, 2), np.float32))


def test_leaves_of_composite_parameters() -> None:
    # Arrays in a struct by value, and numbers of odd sizes around them.
    bag = Struct("Bag", (("tag", u8), ("x", Array(i32, 1)), ("scale", Vector(i32, 2)),
                         ("y", Array(i32, 2))))  # fmt: skip
    m = Make(first=i8, bag=bag, last=i32)
    i = m.tid()
    tag, x, _, scale, y = (
        m.emit("extract", m.bag, types=[t], leaf=k)
        for k, t in enumerate([u8, Array(i32, 1), i32, i32, Array(i32, 2)])
    )
    value = m.op("imul", m.load(x, i), scale)
    value = m.op("iadd", value, m.op("zext", tag, type=i32))
    m.store(y, m.const(i32, 1), i, m.op("isub", value, m.last))
    source, target = np.arange(5, dtype=np.int32), np.zeros((2, 5), np.int32)
    assert run(m.done(), 5, -1, (200, source, 11, 3, target), 1000).fault is None
    assert target.tolist() == [[0] * 5, [3 * n + 200 - 1000 for n in range(5)]]


# ------------------------------------------------------------------------------ local arrays


def test_local_arrays_are_zeroed_at_each_execution() -> None:
    m = Make(y=Array(i32, 2))
    i = m.tid()
    zero, one, three = (m.const(i32, k) for k in (0, 1, 3))
    local = Array(i32, 2, "local", (2, 4))

    def body(iv):
        a = m.emit("alloc", types=[local])
        m.atomic("add", a, one, iv, m.op("iadd", iv, one))
        (total,) = m.for_(
            zero, m.const(i32, 4), one, [zero],
            lambda k, s: [m.op("iadd", s, m.op("iadd", m.load(a, one, k), m.load(a, zero, k)))],
        )  # fmt: skip
        m.store(m.y, i, iv, total)
        return []

    m.for_(zero, three, one, [], body)
    y = np.zeros((2, 3), np.int32)
    assert run(m.done(), 2, y).fault is None
    assert y.tolist() == [[1, 2, 3]] * 2


def test_local_arrays_of_composites_and_their_views() -> None:
    m = Make(y=Array(f32, 1))
    i = m.tid()
    zero, two = m.const(i32, 0), m.const(i32, 2)
    a = m.emit("alloc", types=[Array(Vector(f32, 2), 2, "local", (3, 4))])
    x = m.op("sitofp", i, type=f32)
    m.store(a, two, zero, x, leaf=1)
    m.store(a, two, m.const(i32, 3), m.op("fmul", x, x), leaf=0)
    row = m.emit("subview", a, two, types=[Array(Vector(f32, 2), 1, "local")], axes="if")
    extent = m.op("sitofp", m.emit("dim", row, types=[i32], axis=0), type=f32)
    parts = [m.load(row, zero, leaf=1), m.load(row, m.const(i32, 3), leaf=0), extent]
    m.store(m.y, i, m.op("fadd", m.op("fadd", parts[0], parts[1]), parts[2]))
    y = np.zeros(4, np.float32)
    assert run(m.done(), 4, y).fault is None
    assert y.tolist() == [4, 6, 10, 16]


def test_local_arrays_are_guarded() -> None:
    m = Make(y=Array(i32, 1))
    i = m.tid()
    a = m.emit("alloc", types=[Array(i32, 1, "local", (3,))])
    m.store(a, i, m.const(i32, 5))
    m.store(m.y, i, m.op("iadd", m.load(a, i), m.const(i32, 1)))
    y = np.zeros(5, np.int32)
    fault = run(m.done(), 5, y).fault
    assert y.tolist() == [6, 6, 6, 1, 1]
    assert (fault.thread, fault.index, fault.shape, fault.count) == (3, (3,), (3,), 2)


def test_local_arrays_that_would_overflow_the_stack_are_refused() -> None:
    m = Make()
    m.at(3)
    m.emit("alloc", types=[Array(f32, 1, "local", (60_000,))])
    m.at(4)
    m.emit("alloc", types=[Array(f32, 1, "local", (6_000,))])
    with pytest.raises(CompileError) as caught:
        run(m.done(), 1)
    assert caught.value.codes == ("H0407",)
    assert caught.value.diagnostics[0].span.line == 4


# ------------------------------------------------------------------------------ views


def test_views_of_views() -> None:
    # y[i, j] = x[1, 5 - 2 * i, j + 1] through two views.
    m = Make(x=Array(i32, 3), y=Array(i32, 2))
    i, j = m.tid(0), m.tid(1)
    plane = m.emit(
        "subview", m.x, m.const(i32, 1), m.const(i32, 5), m.const(i64, 3), m.const(i32, -2),
        types=[Array(i32, 2)], axes="isf",
    )  # fmt: skip
    part = m.emit(
        "subview", plane, m.const(i64, 1), m.const(i64, 4), m.const(i64, 1),
        types=[Array(i32, 2)], axes="fs",
    )  # fmt: skip
    m.store(m.y, i, j, m.load(part, i, j))
    x = np.arange(3 * 7 * 6, dtype=np.int32).reshape(3, 7, 6)
    y = np.zeros((3, 4), np.int32)
    assert run(m.done(2), (3, 4), x, y).fault is None
    assert (y == x[1, 5::-2, 1:5]).all()


LOW, HIGH = i64.lowest, i64.highest
STRETCHES = [  # start, extent, step of an axis of extent 6, good, index on record
    (0, 6, 1, True, 0),
    (5, 6, -1, True, 0),
    (1, 3, 2, True, 0),
    (0, 0, 1, True, 0),
    (99, 0, 1, True, 0),
    (-1, 0, HIGH, True, 0),
    (2, 1, HIGH, True, 0),
    (2, 9, 0, True, 0),
    (3, 4, 1, False, 6),
    (4, 4, -2, False, -2),
    (6, 1, 1, False, 6),
    (-1, 2, 1, False, -1),
    (0, -1, 1, False, -2),
    (3, LOW, 1, False, 3 + LOW - 1),
    (7, -1, 1, False, 7),
    (2, 2, HIGH, False, 2 + HIGH),
    (2, HIGH, HIGH, False, 2 + (HIGH - 1) * HIGH),
    (0, 3, 1 << 62, False, 1 << 63),
    (LOW, 1, 1, False, LOW),
    (1, (1 << 61) + 1, 8, False, 1),  # wraps to 1, which is inside: only the overflow betrays it
]


def test_the_obligation_of_a_stretch() -> None:
    m = Make(x=Array(i32, 2), bounds=Array(i64, 2), y=Array(i64, 2))
    i = m.tid()
    column = [m.const(i32, k) for k in range(3)]
    start, extent, step = (m.load(m.bounds, i, c) for c in column)
    view = m.emit("subview", m.x, start, extent, step, types=[Array(i32, 2)], axes="fs")
    for k in range(2):
        m.store(m.y, i, column[k], m.emit("dim", view, types=[i64], axis=k))
    kernel = m.done()
    x = np.zeros((4, 6), np.int32)
    for start_, extent_, step_, good, index in STRETCHES:
        bounds, y = np.array([[start_, extent_, step_]]), np.full((1, 2), -1)
        fault = run(kernel, 1, x, bounds, y).fault
        assert (fault is None) == good, (start_, extent_, step_)
        assert y.tolist() == [[4, extent_] if good else [0, 0]]
        if not good:
            assert fault.kind is FaultKind.BOUNDS
            wrapped = (index - LOW) % (1 << 64) + LOW
            assert (fault.index, fault.shape) == ((0, wrapped), (4, 6))


def test_a_failed_view_of_an_index_is_empty_and_what_uses_it_is_safe() -> None:
    m = Make(x=Array(i32, 2), y=Array(i32, 1))
    i = m.tid()
    row = m.emit("subview", m.x, i, types=[Array(i32, 1)], axes="if")
    m.store(row, m.const(i32, 0), m.const(i32, 9))
    m.store(m.y, i, m.load(row, m.const(i32, 1)))
    x, y = np.full((4, 3), 5, np.int32), np.full(6, -1, np.int32)
    fault = run(m.done(), 6, x[:3], y).fault
    assert y.tolist() == [5, 5, 5, 0, 0, 0]
    assert x.tolist() == [[9, 5, 5]] * 3 + [[5, 5, 5]]
    assert (fault.thread, fault.index, fault.shape, fault.count) == (3, (3, 0), (3, 3), 3)
