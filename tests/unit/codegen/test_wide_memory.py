"""Memory of widened kernels: vectors, shared elements, gathers, scatters, local arrays, views."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.codegen.harness import Make
from unit.codegen.test_values import sample
from unit.codegen.widening import agree, launch, widen

from heald.ir import Kernel, Value
from heald.types import (
    SCALARS,
    Array,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Vector,
    b1,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    numpy_dtype,
    u8,
    u16,
    u32,
    u64,
)

pytestmark = pytest.mark.cpu


def odd(m: Make, i: Value) -> Value:
    one = m.const(i32, 1)
    return m.op("icmp", m.op("iand", i, one), one, pred="eq")


# ------------------------------------------------------------------------------ elements


@pytest.mark.parametrize("t", SCALARS, ids=str)
def test_every_type_moves(t: Scalar) -> None:
    # As a vector, under a mask, backwards, from one place for all.
    m = Make(x=Array(t, 1), y=Array(t, 2))
    i = m.tid()
    last = m.op("isub", m.emit("dim", m.x, types=[i32], axis=0), m.const(i32, 1))
    back = m.op("isub", last, i)
    m.store(m.y, m.const(i32, 0), i, m.load(m.x, i))
    m.store(m.y, m.const(i32, 1), i, m.load(m.x, back))
    m.store(m.y, m.const(i32, 2), i, m.load(m.x, last))
    m.if_(odd(m, i), lambda: m.store(m.y, m.const(i32, 3), back, m.load(m.x, i)) or [])

    def make(n: int) -> list[np.ndarray]:
        return [sample(t, 7)[:n].copy(), np.zeros((4, n), t.carrier)]

    agree(m.done(), make, counts=(1, 8, 9, 16))


def copy_of(t: Any, leaves: int, swap: bool = False) -> Kernel:
    """``y[i] = x[i]``, leaf by leaf, in reverse order with ``swap``."""
    m = Make(x=Array(t, 1), y=Array(t, 1))
    i = m.tid()
    values = [m.load(m.x, i, leaf=k) for k in range(leaves)]
    for k, value in enumerate(reversed(values) if swap else values):
        m.store(m.y, i, value, leaf=k)
    return m.done()


MIXED = Struct("Mixed", (("a", i8), ("v", Vector(f32, 3)), ("n", i64), ("b", b1), ("h", f16)))


@pytest.mark.parametrize(
    ("t", "leaves", "swap"),
    [
        (Vector(f32, 2), 2, True),
        (Vector(f32, 3), 3, True),
        (Vector(f64, 3), 3, True),
        (Vector(i16, 3), 3, True),
        (Vector(u8, 4), 4, True),
        (Vector(f16, 3), 3, True),
        (Vector(b1, 3), 3, True),
        (Quaternion(f32), 4, True),
        (Matrix(f32, 3, 3), 9, True),
        (Matrix(f32, 4, 4), 16, True),
        (Matrix(f32, 5, 4), 20, True),
        (MIXED, 7, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("stride", [1, 2, -1])
def test_composite_elements(t: Any, leaves: int, swap: bool, stride: int) -> None:
    def make(n: int) -> list[np.ndarray]:
        dtype = numpy_dtype(t)
        raw = np.random.default_rng(5).integers(0, 120, 2 * n * dtype.itemsize, np.uint8)
        if t is MIXED or t.dtype in (b1,):
            raw &= 1
        whole = np.frombuffer(raw.tobytes(), np.uint8).copy()
        x = np.ndarray((2 * n,), np.dtype((np.void, dtype.itemsize)), whole.data)
        return [x[::stride][:n], np.zeros_like(x)[:n]]

    agree(copy_of(t, leaves, swap), make, counts=(1, 8, 17), units=(stride == 1,))


@pytest.mark.parametrize("kept", [[0], [2], [0, 2], [1, 2]])
def test_some_leaves(kept: list[int]) -> None:
    m = Make(x=Array(Vector(f32, 3), 1), y=Array(Vector(f32, 3), 1))
    i = m.tid()
    for k in kept:
        m.store(m.y, i, m.op("fneg", m.load(m.x, i, leaf=k)), leaf=2 - k)
    m.if_(odd(m, i), lambda: m.store(m.y, i, m.load(m.x, i, leaf=kept[0]), leaf=1) or [])
    rows = lambda n: np.arange(3 * n, dtype=np.float32).reshape(n, 3)  # noqa: E731
    agree(m.done(), lambda n: [rows(n), rows(n) * 0], counts=(8, 17))


# ------------------------------------------------------------------------------ strides


def strided(n: int, stride: int) -> np.ndarray:
    room = np.arange(4 * n + 4, dtype=np.int32) * 3
    if stride == 0:
        return np.lib.stride_tricks.as_strided(room, (n,), (0,))
    return room[::stride][:n]


@pytest.mark.parametrize("stride", [2, 3, -1, -4, 0])
def test_strides_of_arrays(stride: int) -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    value = m.op("iadd", m.load(m.x, i), i)
    m.store(m.y, i, value)
    make = lambda n: [strided(n, stride), strided(n, stride or 1)]  # noqa: E731
    agree(m.done(), make, counts=(1, 8, 17), units=(False,))


@pytest.mark.parametrize("order", ["rows", "columns", "last", "diagonal", "scaled"])
def test_ways_through_two_axes(order: str) -> None:
    m = Make(x=Array(f32, 2), y=Array(f32, 2))
    i = m.tid()
    two = m.const(i32, 2)
    at = {
        "rows": (i, two),
        "columns": (two, i),
        "last": (m.op("isub", m.const(i32, 40), i), two),
        "diagonal": (i, i),
        "scaled": (two, m.op("imul", i, two)),
    }[order]
    m.store(m.y, *at, m.op("fadd", m.load(m.x, *at), m.const(f32, 0.5)))
    kernel = m.done()
    for layout in ("C", "F", "reversed"):

        def make(n: int, layout: str = layout) -> list[np.ndarray]:
            x = np.arange(41 * 50, dtype=np.float32).reshape(41, 50)
            arrays = [x, np.zeros_like(x)]
            if layout == "F":
                arrays = [np.asfortranarray(a) for a in arrays]
            return [a[::-1, ::-1] for a in arrays] if layout == "reversed" else arrays

        agree(kernel, make, counts=(9, 24), units=(layout == "C",))


# ------------------------------------------------------------------------------ gathers


def make_scattered(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(9)
    index = rng.integers(0, 30, n).astype(np.int32)
    index[8:12] = 3  # lanes that meet
    return [index, rng.normal(size=(30, 3)).astype(np.float32), np.zeros((30, 3), np.float32)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("t", [i32, i64], ids=str)
def test_gathers_and_scatters(t: Scalar, masked: bool) -> None:
    # Where several lanes store to one place, the last one wins, as if one ran after the other.
    m = Make(index=Array(t, 1), x=Array(Vector(f32, 3), 1), y=Array(Vector(f32, 3), 1))
    i = m.tid()
    at = m.load(m.index, i)

    def move() -> list[Value]:
        for leaf in range(3):
            m.store(m.y, at, m.load(m.x, at, leaf=leaf), leaf=leaf)
        m.store(m.y, at, m.op("sitofp", i, type=f32), leaf=1)
        return []

    m.if_(odd(m, i), move) if masked else move()

    def make(n: int) -> list[np.ndarray]:
        index, x, y = make_scattered(n)
        return [index.astype(t.carrier), x, y]

    agree(m.done(), make, counts=(1, 8, 17))


@pytest.mark.parametrize("masked", [False, True])
def test_the_last_lane_wins_at_one_place(masked: bool) -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1), z=Array(b1, 1))
    i = m.tid()
    zero = m.const(i32, 0)

    def write() -> list[Value]:
        m.store(m.y, zero, m.load(m.x, i))
        m.store(m.y, m.const(i32, 1), m.load(m.x, zero))
        m.store(m.z, zero, m.op("fcmp", m.load(m.x, i), m.const(f32, 3.0), pred="ogt"))
        return []

    m.if_(odd(m, i), write) if masked else write()
    make = lambda n: [  # noqa: E731
        np.arange(n, dtype=np.float32),
        np.zeros(2, np.float32),
        np.zeros(1, bool),
    ]
    agree(m.done(), make, counts=(1, 2, 8, 9, 17))


def test_arrays_that_overlap() -> None:
    # A thread sees what it wrote through another name of the same memory, in program order.
    m = Make(x=Array(f32, 1), y=Array(f32, 1), z=Array(i32, 1))
    i = m.tid()
    first = m.load(m.x, i)
    m.store(m.y, i, m.op("fadd", first, m.const(f32, 1.0)))
    second = m.load(m.x, i)
    bits = m.load(m.z, i)
    m.store(m.z, i, m.op("ixor", bits, m.const(i32, i32.lowest)))
    m.store(m.x, i, m.op("fadd", m.op("fmul", second, m.const(f32, 10.0)), m.load(m.y, i)))

    def make(n: int) -> list[np.ndarray]:
        whole = np.arange(n, dtype=np.float32) + 0.25
        return [whole, whole, whole.view(np.int32)]

    agree(m.done(), make, counts=(1, 8, 17))


# ------------------------------------------------------------------------------ local arrays


@pytest.mark.parametrize("t", [f32, i8, b1, f64, u16], ids=str)
def test_local_arrays(t: Scalar) -> None:
    # Every lane has its own; indices are shared, their own, or out of bounds.
    m = Make(x=Array(i32, 1), v=Array(t, 1), y=Array(t, 2))
    i = m.tid()
    local = m.emit("alloc", types=[Array(t, 1, "local", (5,))])
    at = m.load(m.x, i)
    m.store(local, at, m.load(m.v, i), guard=False, id=100)
    m.store(local, m.const(i32, 2), m.load(m.v, m.const(i32, 1)))
    again = m.op("irem", m.op("iadd", at, m.const(i32, 1)), m.const(i32, 5))
    m.if_(odd(m, i), lambda: m.store(local, again, m.load(m.v, i)) or [])
    for k in range(5):
        m.store(m.y, m.const(i32, k), i, m.load(local, m.const(i32, k)))
    m.store(m.y, m.const(i32, 5), i, m.load(local, at))

    def make(n: int) -> list[np.ndarray]:
        x = np.random.default_rng(1).integers(0, 5, n).astype(np.int32)
        return [x, np.resize(sample(t, 3), max(n, 2)), np.zeros((6, n), t.carrier)]

    agree(m.done(), make, counts=(1, 8, 17))


def test_local_arrays_start_at_zero_each_time() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(k: Value, total: Value) -> list[Value]:
        local = m.emit("alloc", types=[Array(i32, 2, "local", (2, 3))])
        m.store(local, one, m.op("iand", k, one), i)
        found = m.op("iadd", m.load(local, one, zero), m.load(local, one, one))
        m.if_(odd(m, i), lambda: m.store(local, zero, one, k) or [])
        return [m.op("iadd", total, m.op("iadd", found, m.load(local, zero, one)))]

    (total,) = m.for_(zero, m.load(m.x, i), one, [zero], body)
    m.store(m.y, i, total)
    agree(m.done(), lambda n: [np.arange(n, dtype=np.int32) % 5, np.zeros(n, np.int32)])


def test_views_of_local_arrays_of_composites() -> None:
    t = Vector(f32, 3)
    m = Make(x=Array(i32, 1), y=Array(f32, 2), s=Array(i64, 1))
    i = m.tid()
    local = m.emit("alloc", types=[Array(t, 2, "local", (3, 4))])
    value = m.op("sitofp", i, type=f32)
    at = m.load(m.x, i)
    row = m.emit("subview", local, at, types=[Array(t, 1, "local")], axes="if")
    for leaf in range(3):
        m.store(row, m.const(i32, leaf), m.op("fadd", value, m.const(f32, leaf)), leaf=leaf)
    shared = m.emit("subview", local, m.const(i32, 1), types=[Array(t, 1, "local")], axes="fi")
    for k in range(3):
        m.store(m.y, i, m.const(i32, k), m.load(shared, m.const(i32, k), leaf=1))
    m.store(m.y, i, m.const(i32, 3), m.load(local, at, m.const(i32, 2), leaf=2))
    m.store(m.s, i, m.emit("stride", row, types=[i64], axis=0))
    make = lambda n: [  # noqa: E731
        (np.arange(n) % 3).astype(np.int32),
        np.zeros((n, 4), np.float32),
        np.zeros(n, np.int64),
    ]
    agree(m.done(), make, counts=(1, 8, 17))


# ------------------------------------------------------------------------------ views


def view_kernel(axes: str, index: Callable[[Make, Value], list[Value]]) -> Kernel:
    """``y[i] = view[1] + view[2]`` of a view of a matrix, and its extent."""
    m = Make(x=Array(f32, 2), where=Array(i32, 1), y=Array(f32, 1), n=Array(i32, 1))
    i = m.tid()
    view = m.emit("subview", m.x, *index(m, i), types=[Array(f32, 1)], axes=axes)
    a, b = (m.load(view, m.const(i32, k)) for k in (1, 2))
    m.store(m.y, i, m.op("fadd", a, b))
    m.store(m.n, i, m.emit("dim", view, types=[i32], axis=0))
    again_index = index(m, i)
    again = m.emit("subview", m.x, *again_index, types=[Array(f32, 1)], axes=axes)
    m.store(m.y, i, m.op("fadd", m.load(m.y, i), m.load(again, m.const(i32, 0))))
    if i in again_index:  # rows or columns of their own
        m.store(again, m.const(i32, 1), m.load(m.y, i))
    return m.done()


def three(m: Make, *numbers: int) -> list[Value]:
    return [m.const(i32, n) for n in numbers]


@pytest.mark.parametrize("safety", ["guarded", "unchecked"])
@pytest.mark.parametrize(
    ("axes", "index"),
    [
        ("if", lambda m, i: [i]),
        ("if", lambda m, i: [m.load(m.where, i)]),
        ("fi", lambda m, i: [i]),
        ("if", lambda m, i: [m.const(i32, 2)]),
        ("is", lambda m, i: [i, *three(m, 2, 3, 1)]),
        ("is", lambda m, i: [m.load(m.where, i), *three(m, 9, 3, -3)]),
        ("si", lambda m, i: [*three(m, 1, 4, 2), i]),
    ],
)
def test_views(axes: str, index: Callable[[Make, Value], list[Value]], safety: str) -> None:
    def make(n: int) -> list[np.ndarray]:
        x = np.arange(30 * 30, dtype=np.float32).reshape(30, 30)
        at = np.random.default_rng(2).permutation(30)[:n].astype(np.int32)
        return [x, at, np.zeros(n, np.float32), np.zeros(n, np.int32)]

    kernel = view_kernel(axes, index)
    agree(kernel, make, counts=(8, 17), safety=safety, same_memory=False)


# ------------------------------------------------------------------------------ atomics


@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "and", "or", "xor"])
@pytest.mark.parametrize("place", ["own", "shared", "scattered"])
def test_atomics_whose_old_value_nobody_reads(kind: str, place: str) -> None:
    m = Make(where=Array(i32, 1), x=Array(i64, 1), y=Array(i64, 1))
    i = m.tid()
    index = {"own": i, "shared": m.const(i32, 1), "scattered": m.load(m.where, i)}[place]
    value = m.load(m.x, i)
    m.atomic(kind, m.y, index, value)

    def again() -> list[Value]:
        m.atomic(kind, m.y, index, m.op("ineg", value))
        return []

    m.if_(odd(m, i), again)

    def make(n: int) -> list[np.ndarray]:
        rng = np.random.default_rng(4)
        at = rng.integers(0, 24, n).astype(np.int32)
        return [at, rng.integers(-99, 99, n), rng.integers(-99, 99, 24)]

    agree(m.done(), make, counts=(1, 8, 17))


@pytest.mark.parametrize("t", [i8, u8, i32, u32, u64], ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "and", "or", "xor"])
@pytest.mark.parametrize("inside", [True, False])
def test_lanes_meet_in_one_integer(kind: str, t: Scalar, inside: bool) -> None:
    m = Make(n=i32, x=Array(t, 1), y=Array(t, 1))
    i = m.tid()
    value = m.load(m.x, i)
    m.if_(odd(m, i), lambda: (m.atomic(kind, m.y, m.n, value), [])[1])

    def make(n: int) -> list[Any]:
        x = np.random.default_rng(3).integers(0, 256, n).astype(numpy_dtype(t))
        return [1 if inside else 7, x, np.full(3, 77, numpy_dtype(t))]

    agree(m.done(), make, counts=(1, 8, 17, 40), same_memory=False)


@pytest.mark.parametrize("t", [i8, u16, i32, u64], ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "xor"])
def test_atomics_of_local_arrays(kind: str, t: Scalar) -> None:
    """Every lane has its own; elements of two leaves, at an own index, a shared one, by a view."""
    pair = Vector(t, 2)
    m = Make(where=Array(i32, 1), x=Array(t, 1), y=Array(t, 2))
    i = m.tid()
    local = m.emit("alloc", types=[Array(pair, 1, "local", (3,))])
    at, value = m.load(m.where, i), m.load(m.x, i)
    tail = m.emit(
        "subview",
        local,
        *(m.const(i64, k) for k in (1, 2, 1)),
        types=[Array(pair, 1, "local")],
        axes="s",
    )
    m.atomic(kind, local, at, value, leaf=0)
    m.atomic(kind, local, m.const(i32, 1), value, leaf=1)
    m.if_(odd(m, i), lambda: (m.atomic(kind, tail, m.const(i32, 1), value, leaf=1), [])[1])
    for k in range(6):
        found = m.load(local, m.const(i32, k // 2), leaf=k % 2)
        m.store(m.y, i, m.const(i32, k), found)

    def make(n: int) -> list[np.ndarray]:
        rng = np.random.default_rng(4)
        at = rng.integers(0, 3, n).astype(np.int32)
        x = rng.integers(1, 99, n).astype(numpy_dtype(t))
        return [at, x, np.zeros((n, 6), numpy_dtype(t))]

    agree(m.done(), make, counts=(1, 8, 17, 40))


def test_one_float_atomic_keeps_the_order_of_threads() -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    m.atomic("add", m.y, m.const(i32, 0), m.load(m.x, i))
    x = np.random.default_rng(8).normal(size=33).astype(np.float32)
    forms, y, total = widen(m.done(), unit=True), np.zeros(1, np.float32), np.float32(0)
    assert forms.width == 8
    assert launch(forms, (33,), [x, y]) is None
    for number in x:
        total += number
    assert y[0] == total
