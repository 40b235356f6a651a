"""Which kernels let a GPU thread run several threads of a launch."""

from collections.abc import Callable

import pytest
from unit.codegen.harness import Make

from heald.ir import Kernel, Value
from heald.passes import NORMAL, guard, run_pipeline
from heald.passes.coarsen import SPACING, coarsen
from heald.types import Array, Scalar, Vector, f16, f32, f64, i32, i64, u8


def decided(kernel: Kernel) -> tuple[int, str]:
    """Width, and why it is 1."""
    kernel = run_pipeline(guard(kernel), NORMAL, check=True)
    made = coarsen(kernel)
    assert made.body is kernel.body
    assert made.attrs.get("spacing") == (SPACING if made.attrs["width"] != 1 else None)
    return int(made.attrs["width"]), str(made.attrs.get("scalar", ""))


def made(write: Callable[[Make, Value], None], **params: Array) -> Kernel:
    m = Make(**(params or {"a": Array(f32, 1), "b": Array(f32, 1), "n": Array(i32, 1)}))
    write(m, m.tid())
    return m.done()


def double(m: Make, i: Value) -> None:
    x = m.load(m.a, i)
    m.store(m.b, i, m.op("fadd", x, x))


def gather(m: Make, i: Value) -> None:
    m.store(m.b, i, m.load(m.a, m.load(m.n, i)))


def border(m: Make, i: Value) -> None:
    inside = m.op("icmp", i, m.const(i32, 0), pred="sgt")
    m.if_(inside, lambda: double(m, i) or [])


def count(m: Make, i: Value) -> None:
    m.atomic("add", m.n, m.load(m.n, i), m.const(i32, 1))


def add_floats(m: Make, i: Value) -> None:
    for _ in range(2):
        m.atomic("add", m.b, i, m.load(m.a, i))


def computing(m: Make, i: Value) -> None:
    x = m.load(m.a, i)
    for _ in range(240):
        x = m.op("fmul", x, x)
    m.store(m.b, i, x)


@pytest.mark.parametrize("write", [double, gather, border, count, add_floats, computing])
def test_short_kernels_take_lanes(write: Callable[[Make, Value], None]) -> None:
    assert decided(made(write)) == (4, "")


def loop(m: Make, i: Value) -> None:
    zero, one = m.const(i32, 0), m.const(i32, 1)
    end = m.load(m.n, zero)

    def body(k: Value, total: Value) -> list[Value]:
        return [m.op("fadd", total, m.load(m.a, k))]

    (total,) = m.for_(zero, end, one, [m.const(f32, 0.0)], body)
    m.store(m.b, i, total)


def part(m: Make, i: Value) -> None:
    x = m.load(m.a, i)
    positive = m.op("fcmp", x, m.const(f32, 0.0), pred="ogt")
    m.if_(positive, lambda: m.store(m.b, i, x) or [])


def guard_late(m: Make, i: Value) -> None:
    m.store(m.b, i, m.const(f32, 1.0))
    m.store(m.b, m.load(m.n, i), m.const(f32, 2.0))


def old_value(m: Make, i: Value) -> None:
    m.store(m.n, i, m.atomic("add", m.n, m.const(i32, 0), m.const(i32, 1)))


def long(m: Make, i: Value) -> None:
    x = m.load(m.a, i)
    for _ in range(260):
        x = m.op("fmul", x, x)
    m.store(m.b, i, x)


def nothing(m: Make, i: Value) -> None:
    m.op("iadd", i, i)


def wide_index(m: Make, i: Value) -> None:
    m.store(m.b, m.tid(0, i64), m.const(f32, 1.0))


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (loop, "loops"),
        (part, "part"),
        (guard_late, "behind an effect"),
        (old_value, "old value"),
        (long, "256 ops"),
        (nothing, "no memory"),
        (wide_index, "64 bits"),
    ],
)
def test_others_do_not(write: Callable[[Make, Value], None], why: str) -> None:
    width, reason = decided(made(write))
    assert width == 1
    assert why in reason


def test_many_numbers_at_once() -> None:
    m = Make(a=Array(f32, 1), b=Array(f32, 1))
    i = m.tid()
    found = [m.load(m.a, m.op("iadd", i, m.const(i32, k))) for k in range(14)]
    total = found[0]
    for x in reversed(found):
        total = m.op("fadd", total, x)
    m.store(m.b, i, total)
    assert "more than 48 numbers" in decided(m.done())[1]


@pytest.mark.parametrize(("t", "lanes"), [(u8, 16), (f16, 8), (f32, 4), (f64, 4)], ids=str)
def test_small_elements_take_more_lanes(t: Scalar, lanes: int) -> None:
    m = Make(a=Array(t, 1), b=Array(t, 1))
    i = m.tid()
    m.store(m.b, i, m.load(m.a, i))
    assert decided(m.done()) == (lanes, "")


def test_elements_of_several_numbers_stay_whole() -> None:
    m = Make(a=Array(Vector(f32, 3), 1), b=Array(f32, 1))
    i = m.tid()
    m.store(m.b, i, m.load(m.a, i, leaf=1))
    assert "several numbers" in decided(m.done())[1]
