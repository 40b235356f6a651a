"""Faults: which thread, which op, what index; what failing ops give; how faulted threads go on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from unit.interp.support import agree, wir

from heald.artifact import Fault, FaultKind
from heald.diagnostics import InternalError, LaunchError
from heald.interp import ArrayView, Outcome, run, run_serial
from heald.ir import Kernel, op_ids
from heald.types import Vector, f32, i32


def id_of(kernel: Kernel, name: str, nth: int = 0) -> int:
    return [number for op, number in op_ids(kernel).items() if op.name == name][nth]


def only_fault(outcome: Outcome) -> Fault:
    (fault,) = outcome.faults
    return fault


GATHER = """
kernel @gather<1>(%at: array<i64,1>, %x: array<vec<f32,2>,2>, %y: array<vec<f32,2>,1>) {
  %t: i32 = tid [axis=0]
  %i: i64 = load %at, %t
  %one: i32 = const [value=1]
  %v: vec<f32,2> = load %x, %i, %one
  store %y, %t, %v
  return
}
"""


def test_a_load_out_of_bounds_gives_zero_in_every_leaf() -> None:
    at = np.array([1, -1, 0, 3, 2**40, 2], np.int64)
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    kernel = wir(GATHER)
    outcome, _, _, y = agree(kernel, (6,), [at, x, np.full((6, 2), 9, np.float32)])
    assert y.tolist() == [[6, 7], [0, 0], [2, 3], [0, 0], [0, 0], [10, 11]]
    fault = Fault(FaultKind.BOUNDS, id_of(kernel, "load", 1), 1, (-1, 1), (3, 2), 3)
    assert only_fault(outcome) == fault


def test_a_store_out_of_bounds_is_dropped() -> None:
    k = wir("""
    kernel @k<1>(%y: array<f32,1>) {
      %t: i32 = tid [axis=0]
      %two: i32 = const [value=2]
      %i: i32 = isub %t, %two
      %f: f32 = sitofp %t
      store %y, %i, %f
      return
    }""")
    outcome, y = agree(k, (8,), [np.full(4, -1, np.float32)])
    assert y.tolist() == [2, 3, 4, 5]
    assert only_fault(outcome) == Fault(FaultKind.BOUNDS, id_of(k, "store"), 0, (-2,), (4,), 4)


def test_the_same_index_of_all_threads_is_a_fault_of_each() -> None:
    k = wir("""
    kernel @k<1>(%x: array<f32,1>, %y: array<f32,1>) {
      %t: i32 = tid [axis=0]
      %seven: i32 = const [value=7]
      %v: f32 = load %x, %seven
      store %y, %t, %v
      return
    }""")
    outcome, _, y = agree(k, (5,), [np.ones(3, np.float32), np.ones(5, np.float32)])
    assert y.tolist() == [0] * 5
    assert only_fault(outcome) == Fault(FaultKind.BOUNDS, id_of(k, "load"), 0, (7,), (3,), 5)


def test_the_lowest_thread_wins_with_its_first_fault() -> None:
    """Thread 3 faults first in time at the load, thread 1 later at the division."""
    k = wir("""
    kernel @k<1>(%x: array<i32,1>, %d: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %v: i32 = load %x, %t
      %w: i32 = load %d, %t
      %q: i32 = idiv %v, %w
      store %x, %t, %q
      return
    }""")
    x, d = np.array([7, 8, 9], np.int32), np.array([2, 0, 3, 4, 0], np.int32)
    outcome, x, _ = agree(k, (5,), [x, d])
    assert x.tolist() == [3, 0, 3]
    assert only_fault(outcome) == Fault(FaultKind.DIVISION, id_of(k, "idiv"), 1, count=3)


@pytest.mark.parametrize("name", ["idiv", "irem", "udiv", "urem"])
def test_division_by_zero_gives_zero(name: str) -> None:
    t = name.replace("iv", "").replace("em", "")[0]
    k = wir(f"""
    kernel @k<1>(%x: array<{t}16,1>, %d: array<{t}16,1>) {{
      %t: i32 = tid [axis=0]
      %v: {t}16 = load %x, %t
      %w: {t}16 = load %d, %t
      %q: {t}16 = {name} %v, %w
      store %x, %t, %q
      return
    }}""")
    dtype = np.int16 if t == "i" else np.uint16
    x, d = np.array([7, 8, 9], dtype), np.array([0, 3, 0], dtype)
    outcome, x, _ = agree(k, (3,), [x, d])
    assert x.tolist() == [0, 8 // 3 if "div" in name else 2, 0]
    assert only_fault(outcome) == Fault(FaultKind.DIVISION, id_of(k, name), 0, count=2)


def test_faults_of_inactive_lanes_do_not_count() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %n: i32 = dim %x [axis=0]
      %in: b1 = icmp %t, %n [pred="slt"]
      if %in () {
        %zero: i32 = const [value=0]
        %v: i32 = load %x, %t
        %some: b1 = icmp %v, %zero [pred="ne"]
        %q: i32 = if %some () { %r: i32 = idiv %t, %v yield %r } () { yield %zero }
        assert %in [message="inside"]
        store %x, %t, %q
        yield
      } () { yield }
      return
    }""")
    outcome, x = agree(k, (6,), [np.array([0, 1, 0, 2], np.int32)])
    assert outcome.faults == ()
    assert x.tolist() == [0, 1, 0, 1]


def test_asserts_record_and_go_on() -> None:
    k = wir("""
    kernel @k<1>(%y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %two: i32 = const [value=2]
      %ok: b1 = icmp %t, %two [pred="slt"]
      assert %ok [message="small"]
      assume %ok
      store %y, %t, %two
      return
    }""")
    outcome, y = agree(k, (4,), [np.zeros(4, np.int32)])
    assert y.tolist() == [2] * 4
    assert only_fault(outcome) == Fault(FaultKind.ASSERT, id_of(k, "assert"), 2, count=2)


# -- loops ---------------------------------------------------------------------------------------

# Thread t stores the number of its iterations; index t faults where t >= 2.
LOOPS = """
kernel @loops<1>(%x: array<i32,1>, %y: array<i32,2>) {
  %t: i32 = tid [axis=0]
  %c0: i32 = const [value=0]
  %c1: i32 = const [value=1]
  %c2: i32 = const [value=2]
  %c5: i32 = const [value=5]
  %n: i32 = for %c0, %c5, %c1, %c0 (%i: i32, %k: i32) {
    %at: b1 = icmp %i, %c2 [pred="eq"]
    if %at () { %v: i32 = load %x, %t yield } () { yield }
    %k1: i32 = iadd %k, %c1
    yield %k1
  }
  store %y, %t, %c0, %n
  %m: i32 = while %c0 (%a: i32) {
    %go: b1 = icmp %a, %c5 [pred="slt"]
    %ok: b1 = icmp %a, %c1 [pred="sle"]
    yield %go
  } (%b: i32) {
    %b1: i32 = iadd %b, %c1
    %odd: i32 = iand %b1, %c1
    %o: b1 = icmp %odd, %c1 [pred="eq"]
    if %o () { continue %b1 } () { yield }
    yield %b1
  }
  store %y, %t, %c1, %m
  return
}
"""


def test_a_faulted_thread_leaves_at_back_edges() -> None:
    """It ends the iteration in which it faults, and one iteration of each later loop."""
    k = wir(LOOPS)
    outcome, _, y = agree(k, (4,), [np.zeros(2, np.int32), np.zeros((4, 2), np.int32)])
    assert y.tolist() == [[5, 5], [5, 5], [3, 1], [3, 1]]
    assert only_fault(outcome) == Fault(FaultKind.BOUNDS, id_of(k, "load"), 2, (2,), (2,), 2)


def test_nested_loops_unwind_one_back_edge_each() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,1>, %y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1] %c3: i32 = const [value=3]
      %n: i32 = for %c0, %c3, %c1, %c0 (%i: i32, %k: i32) {
        %m: i32 = for %c0, %c3, %c1, %k (%j: i32, %l: i32) {
          %v: i32 = load %x, %t
          %l1: i32 = iadd %l, %c1
          yield %l1
        }
        %m1: i32 = imul %m, %c3
        yield %m1
      }
      store %y, %t, %n
      return
    }""")
    outcome, _, y = agree(k, (2,), [np.zeros(1, np.int32), np.zeros(2, np.int32)])
    whole = 0
    for _ in range(3):
        whole = (whole + 3) * 3
    assert y.tolist() == [whole, 3]
    assert only_fault(outcome).count == 1


def test_a_while_left_by_a_fault_does_not_ask_its_condition_again() -> None:
    """The condition would load out of bounds at a second index; only the first is on record."""
    k = wir("""
    kernel @k<1>(%x: array<i32,1>, %y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1]
      %n: i32 = while %t (%a: i32) {
        %v: i32 = load %x, %a
        %go: b1 = icmp %v, %c0 [pred="eq"]
        yield %go
      } (%b: i32) {
        %b1: i32 = iadd %b, %c1
        yield %b1
      }
      store %y, %t, %n
      return
    }""")
    outcome, _, y = agree(k, (5,), [np.zeros(2, np.int32), np.zeros(5, np.int32)])
    # In bounds as far as 1; the load at 2 gives 0, the body runs once more, then the thread leaves.
    assert y.tolist() == [3, 3, 3, 4, 5]
    assert only_fault(outcome) == Fault(FaultKind.BOUNDS, id_of(k, "load"), 0, (2,), (2,), 5)


def test_step_zero_runs_no_iteration() -> None:
    k = wir("""
    kernel @k<1>(%s: array<i64,1>, %y: array<i64,1>) {
      %t: i32 = tid [axis=0]
      %c0: i64 = const [value=0] %c6: i64 = const [value=6] %c9: i64 = const [value=9]
      %step: i64 = load %s, %t
      %n: i64 = for %c0, %c6, %step, %c9 (%i: i64, %k: i64) { yield %i }
      store %y, %t, %n
      return
    }""")
    outcome, _, y = agree(k, (4,), [np.array([1, 0, 4, 0], np.int64), np.zeros(4, np.int64)])
    assert y.tolist() == [5, 9, 4, 9]
    assert only_fault(outcome) == Fault(FaultKind.STEP, id_of(k, "for"), 1, count=2)


# -- guards --------------------------------------------------------------------------------------


def with_guards(text: str, guard: str) -> Kernel:
    """The kernel with ids far from pre-order numbers, and ``guard`` on what can fault."""
    number = iter(range(100, 200))

    def mark(found: re.Match[str]) -> str:
        attrs = found[3][2:-1] + ", " if found[3] else ""
        return f"{found[1]}{found[2]} [{attrs}guard={guard}, id={next(number)}]\n"

    return wir(re.sub(r"((?:load|store|idiv|assert|subview) )([^\[\n]*?)( \[.*\])?\n", mark, text))


CHECKED = """
kernel @k<1>(%x: array<i32,1>, %d: i32) {
  %t: i32 = tid [axis=0]
  %v: i32 = load %x, %t
  %q: i32 = idiv %v, %d
  store %x, %t, %q
  return
}
"""


def test_ids_come_from_the_guard_pass() -> None:
    outcome, _, _ = agree(with_guards(CHECKED, "true"), (3,), [np.zeros(2, np.int32), 1])
    assert only_fault(outcome).op == 100
    outcome, _, _ = agree(with_guards(CHECKED, "true"), (2,), [np.zeros(2, np.int32), 0])
    assert only_fault(outcome).op == 101


def test_a_failing_op_that_was_proved_is_our_bug() -> None:
    k = with_guards(CHECKED, "false")
    for runner in (run, run_serial):
        x = ArrayView.from_numpy(np.zeros(2, np.int32))
        assert runner(k, (2,), [x, 1]).faults == ()
        with pytest.raises(InternalError, match=r"load \(op 100\) .* thread 2 \(BOUNDS\)"):
            runner(k, (3,), [x, 1])
        with pytest.raises(InternalError, match="idiv"):
            runner(k, (2,), [x, 0])


def test_unchecked_accesses_fault_but_divisions_stay_proved() -> None:
    k = with_guards(CHECKED, "false")
    outcome, x, _ = agree(k, (3,), [np.array([4, 6], np.int32), 2], unchecked=True)
    assert x.tolist() == [2, 3]
    assert only_fault(outcome) == Fault(FaultKind.BOUNDS, 100, 2, (2,), (2,), 1)
    with pytest.raises(InternalError, match="idiv"):
        run(k, (2,), [ArrayView.from_numpy(x), 0], unchecked=True)


def test_a_proof_must_hold_after_a_fault_too() -> None:
    """Compiled code does not check the second access, whether the thread has faulted or not."""
    k = wir("""
    kernel @k<1>(%x: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %v: i32 = load %x, %t [guard=true, id=0]
      %w: i32 = load %x, %t [guard=false, id=1]
      return
    }""")
    for runner in (run, run_serial):
        with pytest.raises(InternalError, match="op 1"):
            runner(k, (3,), [ArrayView.from_numpy(np.zeros(2, np.int32))])


def test_stop_on_fault_ends_at_once() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %c1: i32 = const [value=1]
      %v: i32 = load %x, %t
      store %x, %t, %c1
      return
    }""")
    x = np.zeros(3, np.int32)
    outcome = run(k, (5,), [ArrayView.from_numpy(x)], stop_on_fault=True)
    assert outcome.faults == (Fault(FaultKind.BOUNDS, id_of(k, "load"), 3, (3,), (3,), 2),)
    assert x.tolist() == [0, 0, 0]  # no thread went on
    outcome = run_serial(k, (5,), [ArrayView.from_numpy(x)], stop_on_fault=True)
    assert outcome.faults == (Fault(FaultKind.BOUNDS, id_of(k, "load"), 3, (3,), (3,), 1),)
    assert x.tolist() == [1, 1, 1]  # the threads before it had ended


# -- uninitialised memory ------------------------------------------------------------------------

COPY = """
kernel @copy<1>(%x: array<vec<f32,2>,1>, %y: array<f32,1>) {
  %t: i32 = tid [axis=0]
  %one: f32 = const [value=0x1p+0]
  %c2: i32 = const [value=2]
  %low: b1 = icmp %t, %c2 [pred="slt"]
  if %low () { store %x, %t, %one [leaf=1] yield } () { yield }
  %a: f32 = load %x, %t [leaf=1]
  store %y, %t, %a
  %v: vec<f32,2> = load %x, %t
  return
}
"""


def test_reads_of_unwritten_memory_are_faults() -> None:
    x = ArrayView.allocate(Vector(f32, 2), (4,), initialised=False)
    k = wir(COPY)
    outcome, after, y = agree(k, (4,), [x, np.zeros(4, np.float32)])
    assert y.tolist() == [1, 1, 0, 0]
    # Threads 0 and 1 read the other leaf in the end, 2 and 3 what nobody wrote.
    fault = Fault(FaultKind.UNINITIALISED, id_of(k, "load", 1), 0, (0,), (4,), 4)
    assert only_fault(outcome) == fault
    assert after.written.reshape(4, 8).any(axis=1).tolist() == [True, True, False, False]
    assert after.written.reshape(4, 8)[0].tolist() == [False] * 4 + [True] * 4


def test_written_memory_is_read_without_fault() -> None:
    x = ArrayView.allocate(Vector(f32, 2), (4,), initialised=False)
    assert x.written is not None
    x.written[:] = True
    outcome, _, _ = agree(wir(COPY), (4,), [x, np.zeros(4, np.float32)])
    assert outcome.faults == ()


def test_an_atomic_reads_what_it_changes() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %old: i32 = atomic_add %x, %t, %t
      return
    }""")
    x = ArrayView.allocate(i32, (3,), initialised=False)
    assert x.written is not None
    x.written[4:] = True
    outcome, after = agree(k, (3,), [x])
    fault = Fault(FaultKind.UNINITIALISED, id_of(k, "atomic_add"), 0, (0,), (3,), 1)
    assert only_fault(outcome) == fault
    assert after.leaf().tolist() == [0, 1, 2]
    assert after.written.all()


def test_read_only_memory_is_not_written() -> None:
    x = np.zeros(3, np.int32)
    x.flags.writeable = False
    k = wir("kernel @k<1>(%x: array<i32,1>) { %t: i32 = tid [axis=0] store %x, %t, %t return }")
    for runner in (run, run_serial):
        with pytest.raises(LaunchError) as caught:
            runner(k, (3,), [ArrayView.from_numpy(x)])
        assert caught.value.codes == ("H0705",)
