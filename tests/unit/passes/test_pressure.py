"""How many vectors a widened kernel holds at once."""

import pytest
from unit.codegen.harness import Make

from heald.ir import Kernel, Value
from heald.passes import NORMAL, run_pipeline
from heald.passes.pressure import most_alive
from heald.passes.uniformity import analyse_uniformity
from heald.types import Array, f32, f64, i32


def alive(kernel: Kernel, itemsize: int = 4) -> int:
    kernel = run_pipeline(kernel, NORMAL, check=True)
    return most_alive(kernel, analyse_uniformity(kernel), itemsize)


def test_loaded_early_and_used_late() -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    values = [m.load(m.x, m.op("iadd", i, m.const(i32, k))) for k in range(5)]
    total = values[-1]
    for value in reversed(values[:-1]):
        total = m.op("fmul", total, value)
    m.store(m.y, i, total)
    assert alive(m.done()) == 5


def test_shared_values_even_indices_and_conditions_are_no_vectors() -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1), n=i32)
    i = m.tid()
    shared = m.load(m.x, m.n)
    at = m.op("iadd", i, m.n)
    x = m.load(m.x, at)
    big = m.op("fcmp", x, shared, pred="ogt")
    m.store(m.y, at, m.op("select", big, x, shared))
    assert alive(m.done()) == 1


def test_wide_numbers_are_several_vectors() -> None:
    def kernel() -> Kernel:
        m = Make(x=Array(f64, 1), y=Array(f64, 1))
        i = m.tid()
        x = m.load(m.x, i)
        m.store(m.y, i, m.op("fmul", x, x))
        return m.done()

    assert alive(kernel(), itemsize=8) * 2 == alive(kernel(), itemsize=4)


def test_what_a_loop_uses_stays_through_all_of_it() -> None:
    # Two from before the loop and two sums; what is made inside comes and goes.
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    a, b = (m.load(m.x, m.op("iadd", i, m.const(i32, k))) for k in range(2))

    def body(_k: Value, s: Value, t: Value) -> list[Value]:
        return [m.op("fma", a, a, s), m.op("fma", b, b, t)]

    zero = m.const(f32, 0.0)
    s, t = m.for_(m.const(i32, 0), m.const(i32, 9), m.const(i32, 1), [zero, zero], body)
    m.store(m.y, i, m.op("fadd", s, t))
    assert alive(m.done()) == 4


def test_arms_are_not_alive_together() -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    x = m.load(m.x, i)

    def arm() -> list[Value]:
        parts = [m.op("fmul", x, m.const(f32, float(k))) for k in range(2, 6)]
        return [m.op("fma", m.op("fmul", parts[3], parts[2]), parts[1], parts[0])]

    (found,) = m.if_(m.op("fcmp", x, x, pred="oeq"), arm, arm, types=[f32])
    m.store(m.y, i, found)
    assert alive(m.done()) == 4


@pytest.mark.parametrize("loads", [False, True])
def test_long_ways_round_count_only_with_accesses(loads: bool) -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    x = m.load(m.x, i)

    def rare() -> list[Value]:
        parts = [m.op("fmul", x, m.const(f32, float(k))) for k in range(2, 20)]
        total = m.load(m.x, m.op("iadd", i, m.const(i32, 1))) if loads else x
        for part in reversed(parts):
            total = m.op("fadd", total, part)
        return [total]

    far = m.op("fcmp", x, m.const(f32, 1e6), pred="ogt")
    (found,) = m.if_(far, rare, lambda: [x], types=[f32])
    m.store(m.y, i, found)
    assert alive(m.done()) == (19 if loads else 1)
