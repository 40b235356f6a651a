"""Unrolling."""

import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of

from heald.ir import Kernel, walk
from heald.passes import guard, unroll_loops


def counted(low: int, high: int, step: int, body: str = "", extra: str = "") -> str:
    return f"""
        %i: i32 = tid [axis=0]
        %0: i32 = const [value={low}]
        %1: i32 = const [value={high}]
        %2: i32 = const [value={step}]
        {extra}
        %r: i32 = for %0, %1, %2, %n (%j: i32, %s: i32) {{
          {body}
          %3: i32 = imul %s, %j
          %t: i32 = iadd %3, %i
          yield %t
        }}
        store %m, %i, %i, %r
        """


def unrolled(text: str, **options: int) -> Kernel:
    kernel = guard(kernel_of(text))
    after = unroll_loops(kernel, **options)
    assert_same(kernel, after, launches_of(kernel, 4))
    return after


def count(kernel: Kernel, name: str) -> int:
    return sum(op.name == name for op in walk(kernel.body))


@pytest.mark.parametrize(
    ("low", "high", "step", "trips"),
    [
        (0, 3, 1, 3),
        (0, 0, 1, 0),
        (5, 2, 1, 0),
        (7, 0, -3, 3),
        (-2, 3, 2, 3),
        (2**31 - 3, 2**31 - 1, 2, 1),
        (0, 16, 1, 16),
    ],
)
def test_short_loops_are_written_out(low, high, step, trips):
    after = unrolled(counted(low, high, step))
    assert count(after, "for") == 0
    assert count(after, "imul") == trips


@pytest.mark.parametrize(("low", "high", "step"), [(0, 17, 1), (0, 3, 0), (0, -3, 0)])
def test_long_loops_and_steps_of_zero_stay(low, high, step):
    kernel = kernel_of(counted(low, high, step))
    assert unroll_loops(kernel) is kernel


def test_bounds_that_are_not_constant_stay():
    kernel = kernel_of(counted(0, 3, 1).replace("for %0, %1", "for %0, %n"))
    assert unroll_loops(kernel) is kernel


@pytest.mark.parametrize("exit_", ["break %s", "continue %s", "return"])
def test_loops_that_something_leaves_stay(exit_):
    body = f"if %p () {{\n{exit_}\n}} () {{\nyield\n}}"
    kernel = kernel_of(counted(0, 3, 1, body))
    assert unroll_loops(kernel) is kernel


def test_an_inner_loop_may_be_left_by_its_own_break():
    inner = """
        %q: i32 = for %0, %k, %2, %s (%u: i32, %v: i32) {
          if %p () {
            break %v
          } () {
            yield
          }
          yield %u
        }
        """
    after = unrolled(counted(0, 3, 1, inner))
    assert count(after, "for") == 3


def test_options_limit_trips_and_size():
    kernel = kernel_of(counted(0, 8, 1))
    assert unroll_loops(kernel, trips=7) is kernel
    assert unroll_loops(kernel, trips=8, budget=8 * 3) is not kernel
    assert unroll_loops(kernel, trips=8, budget=8 * 3 - 1) is kernel


def test_the_budget_counts_what_inner_loops_become():
    inner = """
        for %0, %1, %2 (%q: i32) {
          store %m, %i, %q, %s
          yield
        }
        """
    kernel = kernel_of(counted(0, 8, 1, inner))
    after = unroll_loops(kernel, budget=100)
    assert count(after, "for") == 1  # 8 * (8 * 2 + 3) ops are too many, 8 * 2 are not
    assert count(after, "store") == 9


def test_copies_have_fresh_values_and_the_same_ids():
    after = unrolled(counted(0, 3, 1, "store %m, %i, %j, %s"))
    stores = [op for op in walk(after.body) if op.name == "store"][:-1]
    assert len({op.attrs["id"] for op in stores}) == 1
    assert [after.name_of(op.operands[2]) for op in stores] == ["j", "j", "j"]
    constants = {op.result: op.attrs["value"] for op in walk(after.body) if op.name == "const"}
    assert [constants[op.operands[2]] for op in stores] == [0, 1, 2]


def test_a_loop_variable_of_64_bits_stays_so():
    text = counted(0, 2, 1).replace("i32 = const", "i64 = const").replace("%j: i32", "%j: i64")
    text = text.replace("imul %s, %j", "trunc %j")
    after = unrolled(text)
    assert count(after, "for") == 0
