"""Faults of some lanes: what is recorded, what the others still do, when loops end."""

from typing import Any

import numpy as np
import pytest
from unit.codegen.harness import Make
from unit.codegen.test_resources import BAD, HANDLE, KIND, put_array, record, table
from unit.codegen.test_wide_memory import odd
from unit.codegen.widening import agree, assert_equal, launch, widen

from heald.artifact import Fault, FaultKind
from heald.ir import Kernel, Value
from heald.types import Array, Scalar, Vector, b1, f32, i8, i32, i64, u8, u16, u32, u64

pytestmark = pytest.mark.cpu


def fresh(n: int, bad: dict[int, int]) -> list[np.ndarray]:
    """Indices 0 to n - 1, bad ones in some threads; numbers; room."""
    index = np.arange(n, dtype=np.int32)
    for thread, value in bad.items():
        index[thread % max(n, 1) : thread % max(n, 1) + 1] = value
    return [index, np.arange(n, dtype=np.float32) + 0.5, np.zeros((n, 2), np.float32)]


BADNESS = [{}, {3: -1}, {8: 99}, {15: 2**31 - 1, 2: -(2**31)}, dict.fromkeys(range(8, 16), -5)]


@pytest.mark.parametrize("bad", BADNESS, ids=str)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_accesses_outside(bad: dict[int, int], late: bool, masked: bool) -> None:
    # Before the first effect threads are started anew; behind it lanes are recorded.
    m = Make(index=Array(i32, 1), x=Array(f32, 1), y=Array(f32, 2))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    at = m.load(m.index, i)
    if late:
        m.store(m.y, i, zero, m.const(f32, 5.0))

    def move() -> list[Value]:
        value = m.load(m.x, at)
        m.store(m.y, at, one, m.op("fadd", value, m.const(f32, 1.0)))
        return []

    m.if_(odd(m, i), move) if masked else move()
    agree(m.done(), lambda n: fresh(n, bad), counts=(1, 8, 9, 17))


@pytest.mark.parametrize("late", [False, True])
def test_more_threads_than_elements(late: bool) -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1), z=Array(Vector(f32, 3), 1))
    i = m.tid()
    if late:
        m.store(m.y, i, m.const(f32, 1.0))
    for leaf in range(3):
        m.store(m.z, i, m.load(m.x, i), leaf=leaf)

    def make(n: int) -> list[np.ndarray]:
        sizes = (max(n - 2, 0), n, max(n - 5, 0))
        return [
            np.ones(s, np.float32) if k < 2 else np.zeros((s, 3), np.float32)
            for k, s in enumerate(sizes)
        ]

    agree(m.done(), make, counts=(1, 8, 9, 17))


def test_the_first_fault_of_a_thread_stands_and_the_lowest_thread_wins() -> None:
    m = Make(index=Array(i32, 1), x=Array(f32, 1), y=Array(f32, 2))
    i = m.tid()
    at = m.load(m.index, i, guard=False, id=1)
    m.store(m.y, i, m.const(i32, 0), m.const(f32, 2.0), guard=False, id=2)
    first = m.load(m.x, at, id=10, guard=True)
    twice = m.op("iadd", at, at)
    second = m.load(m.x, twice, id=11, guard=True)
    m.store(m.y, i, m.const(i32, 1), m.op("fadd", first, second), guard=False, id=12)
    kernel = m.done()
    forms = widen(kernel, unit=True)
    assert forms.width == 8
    args = fresh(24, {10: 700, 21: -3})
    fault = launch(forms, (24,), args)
    # Threads 12 to 23 fail at the second load alone, thread 10 at both.
    ids = {op.name: op.attrs.get("id") for op in forms.scalar.body.ops if op.name == "load"}
    assert fault == Fault(FaultKind.BOUNDS, fault.op, 10, (700,), (24,), 13)
    assert fault.op < ids["load"]


@pytest.mark.parametrize("extent", [0, 1, 5, 100])
def test_two_dimensional_indices(extent: int) -> None:
    m = Make(index=Array(i32, 1), x=Array(f32, 2), y=Array(f32, 2))
    i = m.tid()
    at = m.load(m.index, i)
    m.store(m.y, i, m.const(i32, 0), m.load(m.x, at, m.const(i32, 3)))
    m.store(m.y, i, m.const(i32, 1), m.load(m.x, m.const(i32, 2), i))

    def make(n: int) -> list[np.ndarray]:
        index, _, y = fresh(n, {5: -1})
        return [index, np.ones((extent, extent), np.float32), y]

    agree(m.done(), make, counts=(8, 17))


def test_threads_are_not_started_anew_when_others_have_written() -> None:
    # The second arm runs after the first one, whose lanes have added to y.
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()

    def add(number: int, array: Value) -> object:
        def arm() -> list[Value]:
            m.atomic("add", array, i, m.const(i32, number))
            return []

        return arm

    m.if_(odd(m, i), add(1, m.y), add(2, m.x))
    m.if_(odd(m, i), add(4, m.y), add(8, m.x))

    def make(n: int) -> list[np.ndarray]:
        return [np.zeros(max(n - 3, 0), np.int32), np.zeros(n, np.int32)]

    agree(m.done(), make, counts=(8, 9, 17))


# ------------------------------------------------------------------------------ other guards


@pytest.mark.parametrize("name", ["idiv", "irem", "udiv", "urem"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_divisions_by_zero(name: str, late: bool, shared: bool) -> None:
    t = u16 if name[0] == "u" else i32
    m = Make(a=Array(t, 1), b=Array(t, 1), y=Array(t, 2))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    a, b = m.load(m.a, i), m.load(m.b, zero if shared else i)
    if late:
        m.store(m.y, i, zero, a)
    m.store(m.y, i, one, m.op(name, a, b))
    m.if_(odd(m, i), lambda: m.store(m.y, i, zero, m.op(name, b, a)) or [])

    def make(n: int) -> list[np.ndarray]:
        rng = np.random.default_rng(n)
        a, b = (rng.integers(-4 if t is i32 else 0, 5, max(n, 1)).astype(t.carrier) for _ in "ab")
        b[:1] = 0 if n % 2 else 3
        return [a, b, np.zeros((n, 2), t.carrier)]

    agree(m.done(), make, counts=(1, 8, 9, 16, 17))


@pytest.mark.parametrize("late", [False, True])
def test_assertions_and_steps_of_zero(late: bool) -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    if late:
        m.store(m.y, i, one)
    x = m.load(m.x, i)
    m.emit("assert", m.op("icmp", x, m.const(i32, 5), pred="ne"), message="five")
    (count,) = m.for_(zero, m.const(i32, 6), x, [zero], lambda k, n: [m.op("iadd", n, one)])
    m.store(m.y, i, count)

    def make(n: int) -> list[np.ndarray]:
        x = np.full(n, 2, np.int32)
        x[9:10], x[12:13], x[3:4] = 5, 0, 0 if n > 16 else 2
        return [x, np.zeros(n, np.int32)]

    agree(m.done(), make, counts=(1, 8, 16, 17))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("stride", [1, 2])
def test_handles(late: bool, stride: int) -> None:
    m = Make(h=u64, x=Array(i32, 1), y=Array(f32, 2))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    if late:
        m.store(m.y, i, zero, m.const(f32, 3.0))
    cells = m.emit("resource_array", m.h, types=[Array(f32, 1)], kind=KIND, slot=2)
    count = m.emit("resource_scalar", m.h, types=[i32], kind=KIND, slot=1)
    m.store(m.y, i, zero, m.load(cells, m.load(m.x, i)))
    m.store(m.y, i, one, m.op("sitofp", count, type=f32))
    words = table()
    record(words)[0] = HANDLE
    record(words).view(np.int32)[4] = 42
    data = np.arange(20, dtype=np.float32)[::stride][:10]
    put_array(words, 2, data)
    forms = widen(m.done(), unit=True)
    assert forms.width == 8
    for handle in (HANDLE, *BAD):
        found = {}
        for n in (8, 17):
            x = (np.arange(n) % 10).astype(np.int32)
            y = np.zeros((n, 2), np.float32)
            found[n] = launch(forms, (n,), [handle, x, y], resources=words)
            good = handle == HANDLE
            expected = [[data[k] if good else 0, 42 if good else 0] for k in x]
            assert y.tolist() == expected
        kinds = {None if f is None else (f.kind, f.thread, f.count - n) for n, f in found.items()}
        assert kinds == ({None} if good else {(FaultKind.HANDLE, 0, 0)})


# ------------------------------------------------------------------------------ loops


def counting(t: Scalar, exits: bool) -> Kernel:
    """Counts iterations of a loop in which threads fault at their own times, writing as it goes."""
    m = Make(x=Array(t, 1), y=Array(i32, 2), n=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    bound = m.load(m.n, i) if exits else m.const(i32, 9)

    def body(k: Value, count: Value) -> list[Value]:
        m.store(m.y, i, one, k)
        at = m.op("iadd", m.op("imul", i, m.const(i32, 2)), k)
        value = m.load(m.x, at)
        seen = m.op("iadd", count, one)
        return [m.op("iadd", seen, m.op("trunc", value, type=i32) if t is i64 else value)]

    (count,) = m.for_(zero, bound, one, [zero], body)
    m.store(m.y, i, zero, count)
    return m.done()


@pytest.mark.parametrize("exits", [False, True])
def test_records_of_faults_in_loops(exits: bool) -> None:
    # Lanes of a loop that all leave together go on with the last of them, so memory may differ.
    def make(n: int) -> list[np.ndarray]:
        bounds = (np.arange(n) % 7 + 3).astype(np.int32)
        return [np.zeros(n + 9, np.int32), np.zeros((n, 2), np.int32), bounds]

    agree(counting(i32, exits), make, counts=(1, 8, 17, 24), same_memory=False)


def test_lanes_that_faulted_leave_a_loop_of_their_own_at_once() -> None:
    kernel = counting(i32, exits=True)
    bounds = np.array([9, 9, 9, 9, 9, 9, 9, 9], np.int32)
    bounds[0] = 3  # so that lanes part
    x, y = np.zeros(8, np.int32), np.zeros((8, 2), np.int32)
    launch(widen(kernel, unit=True), (8,), [x, y, bounds])
    # Thread i reads 2 i + k: it fails at k = 8 - 2 i, and that iteration is its last.
    expected = [min(b, max(1, 9 - 2 * i)) for i, b in enumerate(bounds)]
    assert y[:, 0].tolist() == expected


def test_no_loop_goes_on_when_all_its_lanes_have_faulted() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def endless(k: Value) -> list[Value]:
        m.store(m.y, i, k)
        return [m.op("iadd", k, m.load(m.x, m.op("iadd", i, k)))]

    (k,) = m.while_([zero], lambda k: [m.const(b1, True)], endless)
    m.store(m.y, i, k)
    y = np.zeros(20, np.int32)
    fault = launch(widen(m.done(), unit=True), (20,), [np.ones(24, np.int32), y])
    assert fault.count == 20
    assert (fault.thread, fault.index) == (0, (24,))
    assert one is not zero


def test_the_tail_and_other_ranges_report_alike() -> None:
    m = Make(x=Array(i8, 1), y=Array(u8, 1), z=Array(u32, 1))
    i = m.tid()
    m.store(m.y, i, m.op("bitcast", m.load(m.x, i), type=u8))
    kernel = m.done()
    forms = widen(kernel, unit=True)
    faults: list[Any] = []
    for cuts in ([], [1], [7, 8, 9], [16], [25]):
        x, y = np.arange(20, dtype=np.int8), np.zeros(22, np.uint8)
        faults.append(launch(forms, (27,), [x, y, np.zeros(1, np.uint32)], cuts))
        assert_equal([np.r_[x, np.zeros(2)].astype(np.uint8)], [y])
    assert len(set(faults)) == 1
    assert (faults[0].thread, faults[0].count, faults[0].index) == (20, 7, (20,))
