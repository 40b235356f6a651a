"""Guards that fail: what the thread gets, what is recorded, when it leaves its loops."""

import numpy as np
import pytest
from unit.codegen.harness import Launch, Make, run

from heald.artifact import Fault, FaultKind
from heald.codegen import parallel_launcher
from heald.ir import ATOMICS, Kernel
from heald.types import Array, Vector, b1, f32, i8, i32, i64, u8

pytestmark = pytest.mark.cpu
DIVISIONS = ["idiv", "irem", "udiv", "urem"]


def gather() -> Kernel:
    """``y[i] = x[index[i]] + 1``."""
    m = Make(x=Array(f32, 1), index=Array(i64, 1), y=Array(f32, 1))
    i = m.tid()
    value = m.load(m.x, m.load(m.index, i))
    m.store(m.y, i, m.op("fadd", value, m.const(f32, 1.0)))
    return m.done()


def test_reads_outside_give_zero_and_the_lowest_thread_is_recorded() -> None:
    x = np.array([10, 20, 30], np.float32)
    index = np.array([0, 2, 1, -1, 3, 1, i64.lowest, i64.highest, 1 << 32])
    y = np.zeros(9, np.float32)
    fault = run(gather(), 9, x, index, y).fault
    assert y.tolist() == [11, 31, 21, 1, 1, 21, 1, 1, 1]
    load_id = 2  # tid, load index, load x
    assert fault == Fault(FaultKind.BOUNDS, load_id, 3, (-1,), (3,), 5)


def test_writes_outside_are_dropped() -> None:
    m = Make(y=Array(i8, 2), index=Array(i32, 2))
    t = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    row, col = m.load(m.index, t, zero), m.load(m.index, t, one)
    m.store(m.y, row, col, m.op("trunc", m.op("iadd", t, one), type=i8))
    kernel = m.done()
    room = np.zeros((5, 6), np.int8)
    y = room[1:4, 1:5]
    index = np.array([[0, 0], [0, 4], [2, -1], [-1, 2], [3, 0], [2, 3], [1, 1]], np.int32)
    fault = run(kernel, 7, y, index).fault
    expected = np.zeros_like(room)
    expected[1, 1], expected[3, 4], expected[2, 2] = 1, 6, 7
    assert (room == expected).all()
    assert (fault.thread, fault.index, fault.shape, fault.count) == (1, (0, 4), (3, 4), 4)


@pytest.mark.parametrize("name", sorted(ATOMICS))
def test_atomics_outside_change_nothing_and_give_zero(name: str) -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    values = [m.const(i32, 3)] * (2 if name == "atomic_cas" else 1)
    m.store(m.y, i, m.atomic(name.removeprefix("atomic_"), m.x, i, *values))
    room, y = np.full(6, 3, np.int32), np.full(5, 99, np.int32)
    fault = run(m.done(), 5, room[:2], y).fault
    assert y.tolist() == [3, 3, 0, 0, 0]
    assert room[2:].tolist() == [3] * 4
    assert (fault.thread, fault.index, fault.count) == (2, (2,), 3)


def test_leaves_of_one_element_fault_as_one() -> None:
    m = Make(x=Array(Vector(f32, 3), 1), y=Array(f32, 2))
    i = m.tid()
    for leaf in range(3):
        m.store(m.y, i, m.const(i32, leaf), m.load(m.x, i, leaf=leaf))
    x, y = np.ones((2, 3), np.float32), np.full((4, 3), 7, np.float32)
    fault = run(m.done(), 4, x, y).fault
    assert y.tolist() == [[1] * 3] * 2 + [[0] * 3] * 2
    assert (fault.thread, fault.index, fault.shape, fault.count) == (2, (2,), (2,), 2)


def test_arrays_without_elements_refuse_every_index() -> None:
    x, y = np.zeros(0, np.float32), np.full(2, 5, np.float32)
    fault = run(gather(), 2, x, np.array([0, 1]), y).fault
    assert y.tolist() == [1, 1]
    assert (fault.index, fault.shape) == ((0,), (0,))


def test_an_op_without_its_guard_does_not_check() -> None:
    # `guard=False` says proved: no compare, no fault, no fault code in the module.
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    m.store(m.y, i, m.load(m.x, i, guard=False, id=10), guard=False, id=11)
    room, y = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    assert run(m.done(), 6, room[:1], y[:1]).fault is None
    assert y.tolist() == room.tolist()


def test_ids_come_from_the_pass_that_placed_the_guard() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    m.store(m.y, i, m.load(m.x, i, guard=True, id=4711), guard=False, id=4712)
    fault = run(m.done(), 3, np.zeros(1, np.int32), np.zeros(3, np.int32)).fault
    assert (fault.op, fault.thread, fault.count) == (4711, 1, 2)


def test_the_first_fault_of_a_thread_stands() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    at = [m.op("iadd", i, m.const(i32, 10 * k)) for k in range(3)]
    values = [m.load(m.x, a, id=k, guard=True) for k, a in enumerate(at)]
    m.store(m.y, i, m.op("iadd", m.op("iadd", values[0], values[1]), values[2]), id=3, guard=True)
    # Thread 0 fails at its second load, thread 1 at its first.
    fault = run(m.done(), 2, np.zeros(1, np.int32), np.zeros(2, np.int32)).fault
    assert fault == Fault(FaultKind.BOUNDS, 1, 0, (10,), (1,), 2)


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("guard", [True, False])
def test_division_by_zero(name: str, guard: bool) -> None:
    t = u8 if name[0] == "u" else i8
    m = Make(a=Array(t, 1), b=Array(t, 1), y=Array(t, 1))
    i = m.tid()
    m.store(m.y, i, m.op(name, m.load(m.a, i), m.load(m.b, i), guard=guard, id=5))
    a = np.array([7, 9, t.lowest, t.lowest, 100], t.carrier)
    b = np.array([2, 0, t.highest, 0, 255 if t is u8 else -1], t.carrier)
    if t is i8:
        a[2], b[2] = -128, -1
    y = np.ones(5, t.carrier)
    fault = run(m.done(), 5, a, b, y).fault
    if t is u8:
        expected = {"udiv": [3, 0, 0, 0, 0], "urem": [1, 0, 0, 0, 100]}[name]
    else:
        expected = {"idiv": [3, 0, -128, 0, -100], "irem": [1, 0, 0, 0, 0]}[name]
    assert y.tolist() == expected
    assert fault == (Fault(FaultKind.DIVISION, 5, 1, (), (), 2) if guard else None)


def test_a_step_of_zero_runs_nothing() -> None:
    m = Make(step=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    body = lambda iv, count: [m.op("iadd", count, one)]  # noqa: E731
    (count,) = m.for_(zero, m.const(i32, 6), m.load(m.step, i), [zero], body, id=8, guard=True)
    m.store(m.y, i, count)
    y = np.full(4, 9, np.int32)
    fault = run(m.done(), 4, np.array([1, 4, 0, 0], np.int32), y).fault
    assert y.tolist() == [6, 2, 0, 0]
    assert fault == Fault(FaultKind.STEP, 8, 2, (), (), 2)


@pytest.mark.parametrize("guard", [True, False])
def test_a_constant_step_of_zero(guard: bool) -> None:
    m = Make(y=Array(i32, 1))
    i = m.tid()
    zero = m.const(i32, 0)
    body = lambda iv, n: [iv]  # noqa: E731
    (count,) = m.for_(zero, m.const(i32, 6), zero, [zero], body, id=9, guard=guard)
    m.store(m.y, i, count)
    y = np.full(2, 9, np.int32)
    fault = run(m.done(), 2, y).fault
    assert y.tolist() == [0, 0]
    assert (fault is not None) == guard


def test_assertions() -> None:
    m = Make(y=Array(i32, 1))
    i = m.tid()
    three = m.const(i32, 3)
    m.emit("assert", m.op("icmp", i, three, pred="slt"), message="i stays below 3", id=2)
    m.emit("assume", m.op("icmp", i, three, pred="slt"))
    m.store(m.y, i, i)
    y = np.full(5, -1, np.int32)
    fault = run(m.done(), 5, y).fault
    assert y.tolist() == [0, 1, 2, 3, 4]
    assert fault == Fault(FaultKind.ASSERT, 2, 3, (), (), 2)


# ------------------------------------------------------------------------------ leaving loops


def test_a_thread_leaves_a_for_at_the_back_edge_after_its_fault() -> None:
    # count grows in each iteration that runs; thread i fails at iteration i of 5.
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one, five = m.const(i32, 0), m.const(i32, 1), m.const(i32, 5)

    def body(iv, count):
        hit = m.op("icmp", iv, i, pred="eq")
        bad = m.op("select", hit, m.const(i32, -1), zero)
        return [m.op("iadd", m.op("iadd", count, one), m.load(m.x, bad))]

    (count,) = m.for_(zero, five, one, [zero], body)
    m.store(m.y, i, count)
    y = np.zeros(7, np.int32)
    run(m.done(), 7, np.zeros(1, np.int32), y)
    assert y.tolist() == [1, 2, 3, 4, 5, 5, 5]


def test_a_loop_entered_after_a_fault_runs_once() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 2))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    first = m.load(m.x, i)
    grow = lambda iv, n: [m.op("iadd", n, one)]  # noqa: E731
    (a,) = m.for_(zero, m.const(i32, 9), one, [first], grow)
    (b,) = m.while_(
        [zero], lambda n: [m.op("icmp", n, m.const(i32, 4), pred="slt")], lambda n: grow(n, n)
    )
    m.store(m.y, i, zero, a)
    m.store(m.y, i, one, b)
    y = np.zeros((2, 2), np.int32)
    run(m.done(), 2, np.zeros(1, np.int32), y)
    assert y.tolist() == [[9, 4], [1, 1]]


@pytest.mark.parametrize("how", ["yield", "continue"])
def test_an_endless_while_ends_and_does_not_ask_its_condition_again(how: str) -> None:
    # The condition counts how often it is evaluated, in an array of its own.
    m = Make(x=Array(i32, 1), asked=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(n):
        m.store(m.asked, i, m.op("iadd", m.load(m.asked, i), one))
        more = m.op("iadd", n, m.op("iadd", m.load(m.x, n), one))
        if how == "yield":
            return [more]
        return m.leave("continue", more)

    (n,) = m.while_([zero], lambda n: [m.const(b1, True)], body)
    m.store(m.y, i, n)
    x, asked, y = np.zeros(3, np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32)
    fault = run(m.done(), 2, x, asked, y).fault
    assert y.tolist() == [4, 4]
    assert asked.tolist() == [4, 4]
    assert (fault.index, fault.count) == ((3,), 2)


def test_a_break_after_a_fault_is_a_break() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(iv, n):
        value = m.load(m.x, m.const(i32, -1))
        return m.leave("break", m.op("iadd", value, m.const(i32, 42)))

    (n,) = m.for_(zero, m.const(i32, 3), one, [one], body)
    m.store(m.y, i, n)
    y = np.zeros(1, np.int32)
    run(m.done(), 1, np.zeros(1, np.int32), y)
    assert y.tolist() == [42]


def test_a_fault_in_a_condition_lets_the_body_decide() -> None:
    # The failing load gives 0, so the condition holds once more and the body runs.
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    (n,) = m.while_(
        [zero],
        lambda n: [m.op("icmp", m.load(m.x, n), zero, pred="eq")],
        lambda n: [m.op("iadd", n, one)],
    )
    m.store(m.y, i, n)
    y = np.zeros(1, np.int32)
    fault = run(m.done(), 1, np.zeros(3, np.int32), y).fault
    assert y.tolist() == [4]
    assert fault.index == (3,)


# ------------------------------------------------------------------------------ many threads


def test_records_of_a_launch_in_two_parts_agree() -> None:
    index = np.array([0, -5, 0, -6, 7, 0])
    y = np.zeros(6, np.float32)
    launch = Launch(gather(), (6,), (np.zeros(2, np.float32), index, y))
    launch.run(3, 6)
    assert launch.result().fault == Fault(FaultKind.BOUNDS, 2, 3, (-6,), (2,), 2)
    launch.run(0, 3)
    assert launch.result().fault == Fault(FaultKind.BOUNDS, 2, 1, (-5,), (2,), 3)


def test_many_threads_that_fault_at_once() -> None:
    launcher = parallel_launcher()
    if launcher is None:
        pytest.skip("no OpenMP runtime")
    count = 20_000
    index = np.full(count, -1)
    index[:17] = 0
    y = np.zeros(count, np.float32)
    launch = Launch(gather(), (count,), (np.ones(1, np.float32), index, y))
    launch.share(launcher, 4)
    assert launch.result().fault == Fault(FaultKind.BOUNDS, 2, 17, (-1,), (1,), count - 17)
    assert y.tolist() == [2] * 17 + [1] * (count - 17)
