"""Which kernels are widened, and to how many lanes."""

from collections.abc import Callable

import pytest
from unit.codegen.harness import Make

from heald.ir import Kernel, Value
from heald.passes import NORMAL, guard, run_pipeline
from heald.passes.coalesce import coalesce
from heald.passes.layout import assume_unit
from heald.types import Array, Matrix, Scalar, Vector, b1, f16, f32, f64, i32, i64, u8, u64


def decided(kernel: Kernel, *, unit: bool = True, vector_bytes: int = 32) -> tuple[int, str]:
    """Width, and why it is 1."""
    kernel = run_pipeline(guard(kernel), NORMAL, check=True)
    made = coalesce(assume_unit(kernel) if unit else kernel, vector_bytes=vector_bytes)
    assert made.body is kernel.body
    return int(made.attrs["width"]), str(made.attrs.get("scalar", ""))


def streaming(t: Scalar) -> Kernel:
    m = Make(x=Array(t, 1), y=Array(t, 1))
    i = m.tid()
    x = m.load(m.x, i)
    m.store(m.y, i, m.op("fmul" if t.is_float else "imul", x, x))
    return m.done()


@pytest.mark.parametrize(
    ("t", "bytes_", "width"),
    [(f32, 32, 8), (f32, 64, 16), (f64, 32, 4), (f64, 64, 8), (f16, 32, 8), (i64, 32, 8)],
    ids=str,
)
def test_width_follows_the_floats(t: Scalar, bytes_: int, width: int) -> None:
    assert decided(streaming(t), vector_bytes=bytes_) == (width, "")


@pytest.mark.parametrize("rare", [False, True])
def test_a_long_way_round_does_not_halve_the_width(rare: bool) -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    x = m.load(m.x, i)

    def precisely() -> list[Value]:
        v = m.op("fpext", x, type=f64)
        for _ in range(4):
            v = m.op("fmul", v, v)
        return [m.op("fptrunc", v, type=f32)]

    if rare:
        big = m.op("fcmp", x, m.const(f32, 1e5), pred="ogt")
        (found,) = m.if_(big, precisely, lambda: [m.op("fadd", m.op("fmul", x, x), x)], [f32])
    else:
        (found,) = precisely()
    m.store(m.y, i, found)
    assert decided(m.done())[0] == (8 if rare else 4)


def test_long_elements_are_taken_apart_in_short_vectors() -> None:
    m = Make(x=Array(Matrix(f32, 3, 3), 1), y=Array(f32, 1))
    i = m.tid()
    total = m.load(m.x, i, leaf=0)
    for leaf in range(1, 9):
        total = m.op("fadd", total, m.load(m.x, i, leaf=leaf))
    m.store(m.y, i, total)
    assert decided(m.done(), vector_bytes=64) == (8, "")


# ------------------------------------------------------------------------------ legality


def refused(fill: Callable[[Make, Value], object], rank: int = 1, **params: object) -> str:
    m = Make(x=Array(f32, 1), n=Array(i32, 1), h=Array(u64, 1), p=b1, **params)
    fill(m, m.tid() if rank else m.const(i32, 0))
    width, reason = decided(m.done(rank))
    assert width == 1
    return reason


def unread(m: Make, kind: str, array: Value, i: Value) -> None:
    m.atomic(kind, array, i, m.load(array, i))


def in_loop(m: Make, fill: Callable[[], object]) -> None:
    zero, n = m.const(i32, 0), m.load(m.n, m.const(i32, 1))

    def body(_: Value) -> list[Value]:
        fill()
        return []

    m.for_(zero, n, m.const(i32, 1), [], body)


def test_reasons() -> None:
    def old_value(m: Make, i: Value) -> None:
        m.store(m.n, i, m.atomic("add", m.n, m.const(i32, 0), i))

    def two_sums(m: Make, i: Value) -> None:
        unread(m, "add", m.x, i)
        unread(m, "add", m.x, m.const(i32, 3))

    def sums(m: Make, i: Value) -> None:
        in_loop(m, lambda: unread(m, "add", m.x, i))

    def own_handles(m: Make, i: Value) -> None:
        v = m.emit("resource_scalar", m.load(m.h, i), types=[f32], kind=1, slot=1)
        m.store(m.x, i, v)

    def own_slices(m: Make, i: Value) -> None:
        two, one = m.const(i32, 2), m.const(i32, 1)
        view = m.emit("subview", m.x, i, two, one, types=[Array(f32, 1)], axes="s")
        m.store(view, one, m.const(f32, 1.0))

    def large(m: Make, i: Value) -> None:
        local = m.emit("alloc", types=[Array(f32, 1, "local", (20_000,))])
        m.store(local, m.load(m.n, i), m.const(f32, 1.0))
        m.store(m.x, i, m.load(local, i))

    assert refused(lambda m, i: m.store(m.x, i, m.const(f32, 1.0)), 0) == "it reads no launch index"
    assert refused(old_value) == "the old value of atomic_add is used"
    assert "order" in refused(lambda m, i: unread(m, "exch", m.n, i))
    assert refused(two_sums) == refused(sums) == "the order of its float atomics matters"
    assert refused(lambda m, i: m.emit("printf", text="", kinds="")) == "it prints"
    assert "block" in refused(lambda m, i: m.store(m.n, i, m.op("lane")))
    assert refused(own_handles) == "threads use handles of their own"
    assert refused(own_slices) == "threads slice arrays in their own ways"
    assert refused(large) == "its local arrays are too large"


@pytest.mark.parametrize("kind", ["add", "min", "xor"])
def test_integer_atomics_are_widened(kind: str) -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    x = m.load(m.x, i)
    for _ in range(4):
        x = m.op("imul", x, x)
    m.atomic(kind, m.y, m.const(i32, 0), x)
    assert decided(m.done())[0] == 8


# ------------------------------------------------------------------------------ profit


def gathering(arithmetic: int) -> Kernel:
    m = Make(index=Array(i32, 1), x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    v = m.load(m.x, m.load(m.index, i))
    for _ in range(arithmetic):
        v = m.op("fmul", v, v)
    m.store(m.y, i, v)
    return m.done()


def test_gathers_must_be_few() -> None:
    assert decided(gathering(0))[0] == 8  # one of three
    assert decided(gathering(0), unit=False)[0] == 1
    assert decided(gathering(5), unit=False) == (
        1,
        "3 of 8 ops of the kernel access scattered elements",
    )
    assert decided(gathering(6), unit=False)[0] == 8


def test_the_innermost_loop_decides() -> None:
    m = Make(index=Array(i32, 1), x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    v = m.load(m.x, i)
    for _ in range(20):
        v = m.op("fmul", v, v)

    def row(k: Value, total: Value) -> list[Value]:
        at = m.load(m.index, m.op("iadd", m.load(m.index, i), k))
        return [m.op("fadd", total, m.load(m.x, at))]

    (total,) = m.for_(zero, m.load(m.index, i), one, [v], row)
    m.store(m.y, i, total)
    width, reason = decided(m.done())
    assert width == 1
    assert "of its innermost loop access scattered elements" in reason


def test_rows_of_dense_composites_are_no_gathers() -> None:
    m = Make(x=Array(Vector(f32, 3), 1), y=Array(Vector(f32, 3), 1), z=Array(u8, 1))
    i = m.tid()
    for leaf in range(3):
        m.store(m.y, i, m.load(m.x, i, leaf=leaf), leaf=leaf)
    assert decided(m.done()) == (8, "")


# ------------------------------------------------------------------------------ several vectors


def looping(count: int, *, long: bool = False, local: bool = False) -> Kernel:
    """Sums ``count`` products in a loop, or a long straight line without one."""
    m = Make(x=Array(f32, 1), y=Array(f32, 1), n=i32)
    i = m.tid()
    x = m.load(m.x, i)
    if local:
        own = m.emit("alloc", types=[Array(f32, 1, "local", (4,))])
        m.store(own, m.const(i32, 0), x)
        x = m.load(own, m.const(i32, 0))

    def body(_k: Value, *sums: Value) -> list[Value]:
        return [m.op("fma", x, s, x) for s in sums]

    if long:
        sums: tuple[Value, ...] = (x,)
        for _ in range(70):
            sums = (*body(x, *sums),)
    else:
        start = [m.const(f32, float(k)) for k in range(count)]
        sums = m.for_(m.const(i32, 0), m.n, m.const(i32, 1), start, body)
    for value in sums:
        x = m.op("fadd", x, value)
    m.store(m.y, i, x)
    return m.done()


@pytest.mark.parametrize(("count", "vectors"), [(1, 4), (7, 4), (8, 2), (29, 2), (30, 1)], ids=str)
def test_loops_run_several_vectors_as_long_as_there_are_registers(count: int, vectors: int) -> None:
    for size in (32, 64):
        assert decided(looping(count), vector_bytes=size) == (vectors * size // 4, "")


def test_long_computations_do_too() -> None:
    assert decided(looping(1, long=True), vector_bytes=64) == (64, "")


def test_streams_and_local_arrays_do_not() -> None:
    assert decided(streaming(f32), vector_bytes=64) == (16, "")
    assert decided(looping(1, local=True), vector_bytes=64) == (16, "")


@pytest.mark.parametrize(("bytes_", "width"), [(32, 16), (64, 16)])
def test_masks_of_loops_are_not_short_where_they_have_no_registers(bytes_: int, width: int) -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1), n=Array(i32, 1))
    i = m.tid()
    values = [m.load(m.x, m.op("iadd", i, m.const(i32, k))) for k in range(35)]

    def body(_k: Value, s: Value) -> list[Value]:
        for value in values:
            s = m.op("fma", value, s, value)
        return [s]

    count = m.load(m.n, i)
    (s,) = m.for_(m.const(i32, 0), count, m.const(i32, 1), [m.const(f32, 0.0)], body)
    m.store(m.y, i, s)
    assert decided(m.done(), vector_bytes=bytes_) == (width, "")
