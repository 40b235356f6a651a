"""Structured exits to plain regions."""

from __future__ import annotations

import numpy as np
import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of, observe

from heald.artifact import FaultKind
from heald.interp import ArrayView
from heald.ir import Kernel, walk
from heald.passes import drop_dead, guard, normalise_exits
from heald.types import i64

EXITS = {"break", "continue", "scope", "unreachable"}


def normal(text: str) -> Kernel:
    kernel = guard(kernel_of(text))
    after = normalise_exits(kernel)
    assert_normal(after)
    assert_same(kernel, after, launches_of(kernel, 9, (7, 0, 2)), same_faults=True)
    return after


def assert_normal(kernel: Kernel) -> None:
    ops = [op.name for op in walk(kernel.body)]
    assert not EXITS & set(ops)
    assert ops.count("return") == 1
    assert ops[-1] == "return"


def names(kernel: Kernel) -> list[str]:
    return [op.name for op in walk(kernel.body)]


def test_what_follows_an_early_return_moves_into_the_other_arm():
    after = normal(
        """
        %i: i32 = tid [axis=0]
        %c: b1 = icmp %i, %n [pred="sge"]
        if %c () {
          return
        } () {
          yield
        }
        store %a, %i, %x
        """
    )
    assert [n for n in names(after) if n != "const"] == [
        "tid", "icmp", "if", "yield", "store", "yield", "return"
    ]  # fmt: skip


def test_results_of_the_arm_that_falls_reach_what_follows():
    normal(
        """
        %i: i32 = tid [axis=0]
        %v: f32 = if %p () {
          return
        } () {
          %w: f32 = load %a, %i
          yield %w
        }
        %s: f32 = fadd %v, %x
        store %b, %i, %s
        """
    )


def test_arms_that_may_both_fall_are_told_apart_by_a_status():
    after = normal(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = const [value=2]
        %c: b1 = icmp %i, %0 [pred="slt"]
        %v: f32 = if %c () {
          if %p () {
            return
          } () {
            yield
          }
          yield %x
        } () {
          yield %y
        }
        store %a, %i, %v
        """
    )
    assert names(after).count("if") == 3


LOOP = """
    %i: i32 = tid [axis=0]
    %0: i32 = const [value=0]
    %1: i32 = const [value={step}]
    %r: f32 = for %0, %n, %1, %x (%j: i32, %s: f32) {{
      %t: f32 = fadd %s, %y
      %c: b1 = icmp %j, %i [pred="{pred}"]
      %w: f32 = if %c () {{
        {exit}
      }} () {{
        %z: f32 = fmul %t, %y
        yield %z
      }}
      yield %w
    }}
    store %a, %i, %r
    """


@pytest.mark.parametrize("exit_", ["break %t", "continue %t", "return"])
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("pred", ["sge", "slt", "eq"])
def test_loops_keep_their_meaning(exit_, step, pred):
    after = normal(LOOP.format(exit=exit_, step=step, pred=pred))
    found = names(drop_dead(after))
    assert ("for" in found) == (exit_ == "continue %t")
    assert ("while" in found) == (exit_ != "continue %t")


def test_nested_loops_and_scopes():
    normal(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %3: i32 = const [value=3]
        %r: f32 = scope () {
          %u: f32 = for %0, %3, %1, %x (%j: i32, %s: f32) {
            %v: f32 = for %0, %j, %1, %s (%q: i32, %t: f32) {
              %c: b1 = icmp %q, %i [pred="sgt"]
              if %c () {
                if %p () {
                  return %t
                } () {
                  break %t
                }
                unreachable
              } () {
                yield
              }
              %d: b1 = icmp %q, %n [pred="eq"]
              if %d () {
                continue %y
              } () {
                yield
              }
              %e: f32 = fadd %t, %y
              yield %e
            }
            %f: b1 = fcmp %v, %y [pred="olt"]
            if %f () {
              break %v
            } () {
              yield
            }
            yield %v
          }
          return %u
        }
        store %a, %i, %r
        """
    )


def test_a_while_with_exits_does_not_look_at_its_condition_again():
    after = normal(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %r: i32 = while %0 (%j: i32) {
          %v: f32 = load %a, %j
          %c: b1 = fcmp %v, %y [pred="une"]
          %9: i32 = const [value=9]
          %d: b1 = icmp %j, %9 [pred="slt"]
          %e: b1 = iand %c, %d
          yield %e
        } (%q: i32) {
          %s: i32 = iadd %q, %1
          %f: b1 = icmp %s, %i [pred="sgt"]
          if %f () {
            break %s
          } () {
            yield
          }
          yield %s
        }
        store %m, %0, %0, %r
        """
    )
    (loop,) = [op for op in walk(after.body) if op.name == "while"]
    assert "load" not in [op.name for op in loop.regions[0].ops]


def test_results_of_a_function_are_returned_once():
    kernel = kernel_of(
        """kernel @k<0>(%c: b1, %x: f32, %n: i32) -> (f32, i32) {
          if %c () {
            return %x, %n
          } () {
            yield
          }
          %0: f32 = fadd %x, %x
          return %0, %n
        }"""
    )
    after = normalise_exits(kernel)
    assert_normal(after)
    for c in (True, False):
        arguments = [np.bool_(c), np.float32(1.5), np.int32(4)]
        assert observe(after, (1,), arguments) == observe(kernel, (1,), arguments)


def counting(t: str) -> str:
    """Counts the iterations of a loop that a break leaves after ten."""
    return f"""kernel @k<0>(%lo: {t}, %hi: {t}, %step: {t}, %out: array<i64,1>) {{
      %0: i32 = const [value=0]
      %1: i64 = const [value=1]
      %z: i64 = const [value=0]
      %ten: i64 = const [value=10]
      %last: i64, %n: i64 = for %lo, %hi, %step, %z, %z (%i: {t}, %a: i64, %c: i64) {{
        %d: i64 = iadd %c, %1
        %w: i64 = {"isub %i, %z" if t == "i64" else "sext %i"}
        %e: b1 = icmp %d, %ten [pred="sge"]
        if %e () {{
          break %w, %d
        }} () {{
          yield
        }}
        yield %w, %d
      }}
      %3: i32 = const [value=1]
      store %out, %0, %n
      store %out, %3, %last
      return
    }}"""


@pytest.mark.parametrize(
    ("t", "low", "high", "step"),
    [
        ("i32", 2**31 - 5, 2**31 - 1, 3),
        ("i32", 2**31 - 2, 2**31 - 1, 1),
        ("i32", 2**31 - 2, 2**31 - 1, 2**31 - 1),
        ("i32", -(2**31), 2**31 - 1, 2**31 - 1),
        ("i32", 2**31 - 1, -(2**31), -(2**31)),
        ("i32", -(2**31) + 3, -(2**31), -2),
        ("i32", -(2**31), 2**31 - 1, 2**30),
        ("i32", 5, 5, 1),
        ("i32", 5, 6, 0),
        ("i64", 2**63 - 5, 2**63 - 1, 3),
        ("i64", -(2**63), 2**63 - 1, 2**63 - 1),
        ("i64", 2**63 - 1, -(2**63), -(2**63)),
        ("i64", -(2**63), 2**63 - 1, 2**62 - 1),
        ("i64", -(2**63) + 3, -(2**63), -2),
        ("i64", 0, 1, 0),
        ("i64", 0, 100, 1),
    ],
)
def test_loops_near_the_ends_of_their_type_count_exactly(t, low, high, step):
    kernel = guard(kernel_of(counting(t)))
    after = normalise_exits(kernel)
    assert_normal(after)
    out = ArrayView.allocate(i64, (2,))
    expected = observe(kernel, (1,), [low, high, step, out])
    assert observe(after, (1,), [low, high, step, out]) == expected
    assert observe(drop_dead(after), (1,), [low, high, step, out]) == expected
    trips = len(range(low, high, step)) if step else 0
    assert np.frombuffer(expected.memory[0], np.int64)[0] == min(trips, 10)
    assert [f.kind for f in expected.faults] == ([] if step else [FaultKind.STEP])


def test_a_constant_step_of_zero_runs_no_iteration():
    after = normal(LOOP.format(exit="break %t", step=0, pred="sge"))
    assert "for" in names(drop_dead(after))
    dims, arguments = launches_of(after, 9, (7,))[0]
    seen = observe(after, dims, arguments)
    assert {f.kind for f in seen.faults} == {FaultKind.STEP}
    written = np.frombuffer(seen.memory[0], np.float32)
    np.testing.assert_array_equal(written, np.full(7, arguments[5]))


def test_a_step_that_cannot_be_zero_is_not_checked():
    constant = LOOP.format(exit="break %t", step=1, pred="sge")
    assert "for" not in names(normal(constant))
    proved = kernel_of(counting("i32").replace("%z, %z (", "%z, %z [guard=false, id=4] ("))
    assert "for" not in names(normalise_exits(proved))


def test_the_check_of_a_step_keeps_id_and_guard():
    kernel = guard(kernel_of(counting("i32")))
    (loop,) = [op for op in walk(kernel.body) if op.name == "for"]
    (check,) = [op for op in walk(normalise_exits(kernel).body) if op.name == "for"]
    assert check.attrs == loop.attrs
    assert [op.name for op in walk(check.regions[0])] == ["yield"]


def test_a_fault_leaves_loops_as_before():
    """Threads beyond the array fault in the first iteration and leave at its end."""
    text = LOOP.format(exit="break %t", step=1, pred="sge").replace(
        "%t: f32 = fadd %s, %y", "%v: f32 = load %a, %i\n%t: f32 = fadd %v, %y"
    )
    kernel = guard(kernel_of(text))
    after = normalise_exits(kernel)
    ((_, arguments),) = launches_of(kernel, 3, (4,))
    seen = observe(kernel, (9,), arguments)
    assert seen.faults
    assert observe(after, (9,), arguments) == seen


def test_a_normal_kernel_is_given_back():
    kernel = kernel_of("%i: i32 = tid [axis=0]\nstore %a, %i, %x")
    assert normalise_exits(kernel) is kernel
