"""Branches, loops, scopes and their exits, against the same in Python."""

import itertools

import numpy as np
import pytest
from unit.codegen.harness import Make, run

from heald.diagnostics import InternalError
from heald.ir import Kernel
from heald.types import Array, Scalar, Vector, b1, f32, i32, i64

pytestmark = pytest.mark.cpu


def integer(m: Make, t: Scalar, op: str, *operands, **attrs):
    """A chain of an integer op over values and Python numbers."""
    values = [m.const(t, x) if isinstance(x, int) else x for x in operands]
    return m.op(op, *values, **attrs)


def test_an_if_gives_what_the_taken_arm_yields() -> None:
    m = Make(y=Array(i32, 1), z=Array(i32, 1))
    i = m.tid()
    even = integer(m, i32, "icmp", integer(m, i32, "iand", i, 1), 0, pred="eq")
    first, second = m.if_(
        even,
        lambda: [integer(m, i32, "imul", i, 10), i],
        lambda: [integer(m, i32, "ineg", i), m.const(i32, 5)],
        [i32, i32],
    )
    m.store(m.y, i, first)
    m.store(m.z, i, second)
    y, z = np.zeros(6, np.int32), np.zeros(6, np.int32)
    run(m.done(), 6, y, z)
    assert y.tolist() == [0, -1, 20, -3, 40, -5]
    assert z.tolist() == [0, 5, 2, 5, 4, 5]


def test_an_early_return_ends_the_thread() -> None:
    m = Make(y=Array(i32, 1), n=i32)
    i = m.tid()

    def leave():
        return m.leave("return")

    m.if_(integer(m, i32, "icmp", i, m.n, pred="sge"), leave)
    m.store(m.y, i, integer(m, i32, "iadd", i, 1))
    y = np.zeros(5, np.int32)
    assert run(m.done(), 5, y, 3).fault is None
    assert y.tolist() == [1, 2, 3, 0, 0]


def test_both_arms_may_leave() -> None:
    m = Make(y=Array(i32, 1))
    i = m.tid()

    def body():
        def arm(value):
            return lambda: m.leave("return", m.const(i32, value))

        m.if_(integer(m, i32, "icmp", i, 2, pred="slt"), arm(7), arm(8))
        return m.leave("unreachable")

    (value,) = m.scope([i32], body)
    m.store(m.y, i, value)
    y = np.zeros(4, np.int32)
    run(m.done(), 4, y)
    assert y.tolist() == [7, 7, 8, 8]


def trip_kernel(t: Scalar) -> Kernel:
    """For each row of bounds: how many iterations, first and last counter, at most 5 of them."""
    m = Make(bounds=Array(t, 2), y=Array(t, 2))
    i = m.tid()
    columns = [m.const(i32, k) for k in range(4)]
    lo, hi, step = (m.load(m.bounds, i, columns[k]) for k in range(3))
    zero = m.const(t, 0)

    def body(iv, count, total, last):
        one = m.const(t, 1)
        more = m.op("iadd", count, one)
        values = (more, m.op("iadd", total, iv), iv)

        def stop():
            return m.leave("break", *values)

        m.if_(m.op("icmp", more, m.const(t, 5), pred="sge"), stop)
        return values

    for k, value in enumerate(m.for_(lo, hi, step, [zero, zero, zero], body)):
        m.store(m.y, i, columns[k], value)
    return m.done()


@pytest.mark.parametrize("t", [i32, i64], ids=str)
def test_trip_counts_up_to_the_ends_of_the_type(t: Scalar) -> None:
    ends = [t.lowest, t.lowest + 1, t.lowest + 3, -4, -1, 0, 1, 3, 7]
    ends += [t.highest - 3, t.highest - 1, t.highest]
    steps = [1, -1, 2, -2, 3, 7, -7, t.highest, t.highest - 1, t.lowest, t.lowest + 1, 1 << 20]
    rows = np.array(list(itertools.product(ends, ends, steps)), t.carrier)
    y = np.zeros((len(rows), 3), t.carrier)
    assert run(trip_kernel(t), len(rows), rows, y).fault is None
    for (lo, hi, step), found in zip(rows.tolist(), y.tolist(), strict=True):
        trips = list(itertools.islice(range(lo, hi, step), 5))
        total = (sum(trips) - t.lowest) % (1 << t.bits) + t.lowest
        assert found == [len(trips), total, trips[-1] if trips else 0], (lo, hi, step)


@pytest.mark.parametrize("t", [i32, i64], ids=str)
@pytest.mark.parametrize("step", [1, -1, 3, -2, "highest", "lowest"])
def test_trip_counts_of_constant_steps(t: Scalar, step: int | str) -> None:
    number = step if isinstance(step, int) else getattr(t, step)
    m = Make(bounds=Array(t, 2), y=Array(t, 2))
    i = m.tid()
    column = [m.const(i32, k) for k in range(2)]
    lo, hi = (m.load(m.bounds, i, c) for c in column)

    def body(iv, count, last):
        return m.op("iadd", count, m.const(t, 1)), iv

    zero = m.const(t, 0)
    for c, value in zip(
        column, m.for_(lo, hi, m.const(t, number), [zero, zero], body), strict=False
    ):
        m.store(m.y, i, c, value)
    near = [-3, 0, 1, 4]
    ends = [t.lowest, t.lowest + 2, t.highest - 2, t.highest]
    pairs = list(itertools.product(near, near)) + list(itertools.product(ends[:2], ends[:2]))
    pairs += list(itertools.product(ends[2:], ends[2:]))
    if abs(number) > 9:
        pairs += list(itertools.product(ends, ends))
    rows = np.array(pairs, t.carrier)
    y = np.zeros((len(rows), 2), t.carrier)
    assert run(m.done(), len(rows), rows, y).fault is None
    for (lo_, hi_), found in zip(rows.tolist(), y.tolist(), strict=True):
        trips = range(lo_, hi_, number)
        assert found == [len(trips), trips[-1] if trips else 0]


def test_break_and_continue_carry_every_value() -> None:
    # Odd numbers are skipped after a mark; the sum stops once it passes a limit.
    m = Make(y=Array(i32, 2), limit=i32)
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(iv, total, skipped):
        def skip():
            return m.leave("continue", total, m.op("iadd", skipped, one))

        odd = m.op("icmp", m.op("iand", iv, one), one, pred="eq")
        m.if_(odd, skip)
        grown = m.op("iadd", total, iv)

        def stop():
            return m.leave("break", grown, m.op("ineg", skipped))

        m.if_(m.op("icmp", grown, m.limit, pred="sgt"), stop)
        return grown, skipped

    results = m.for_(zero, i, one, [zero, zero], body)
    for k, value in enumerate(results):
        m.store(m.y, i, m.const(i32, k), value)
    y = np.zeros((40, 2), np.int32)
    run(m.done(), 40, y, 30)

    def reference(n: int) -> list[int]:
        total = skipped = 0
        for iv in range(n):
            if iv % 2:
                skipped += 1
                continue
            total += iv
            if total > 30:
                return [total, -skipped]
        return [total, skipped]

    assert y.tolist() == [reference(n) for n in range(40)]


def test_while_with_a_condition_that_loads() -> None:
    # Binary search: the first element that is not below the wanted one.
    m = Make(x=Array(f32, 1), wanted=Array(f32, 1), y=Array(i32, 1))
    i = m.tid()
    wanted = m.load(m.wanted, i)
    start, end = m.const(i32, 0), m.emit("dim", m.x, types=[i32], axis=0)
    one = m.const(i32, 1)

    def condition(lo, hi):
        return [m.op("icmp", lo, hi, pred="slt")]

    def body(lo, hi):
        middle = m.op("ashr", m.op("iadd", lo, hi), one)
        below = m.op("fcmp", m.load(m.x, middle), wanted, pred="olt")
        return m.if_(
            below, lambda: [m.op("iadd", middle, one), hi], lambda: [lo, middle], [i32, i32]
        )

    lo, _ = m.while_([start, end], condition, body)
    m.store(m.y, i, lo)
    x = np.sort(np.random.default_rng(0).random(100).astype(np.float32))
    wanted_ = np.random.default_rng(1).random(50).astype(np.float32)
    y = np.zeros(50, np.int32)
    assert run(m.done(), 50, x, wanted_, y).fault is None
    assert (y == np.searchsorted(x, wanted_)).all()


def test_while_leaves_by_break_and_return() -> None:
    m = Make(y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def inlined():
        def body(k):
            square = m.op("imul", k, k)
            m.if_(m.op("icmp", square, i, pred="eq"), lambda: m.leave("return", k))
            m.if_(m.op("icmp", square, i, pred="sgt"), lambda: m.leave("break", m.op("ineg", k)))
            return [m.op("iadd", k, one)]

        (last,) = m.while_([zero], lambda k: [m.const(b1, True)], body)
        return m.leave("return", m.op("isub", last, m.const(i32, 100)))

    (root,) = m.scope([i32], inlined)
    m.store(m.y, i, root)
    y = np.zeros(12, np.int32)
    run(m.done(), 12, y)
    assert y.tolist() == [0, 1, -102, -102, 2, -103, -103, -103, -103, 3, -104, -104]


def test_nested_loops_and_scopes() -> None:
    # A scope in a loop in a scope: `return` leaves the inner one, `break` the loop around it.
    m = Make(y=Array(i32, 1))
    i = m.tid()
    zero, one, four = (m.const(i32, k) for k in (0, 1, 4))

    def outer():
        def body(iv, total):
            def inner():
                m.if_(
                    m.op("icmp", iv, one, pred="eq"),
                    lambda: m.leave("return", m.const(i32, 100)),
                )

                def count(jv, found):
                    return [m.op("iadd", found, jv)]

                (found,) = m.for_(zero, iv, one, [zero], count)
                return m.leave("return", found)

            (part,) = m.scope([i32], inner)
            grown = m.op("iadd", total, part)
            m.if_(m.op("icmp", iv, i, pred="eq"), lambda: m.leave("break", grown))
            return [grown]

        return m.leave("return", *m.for_(zero, four, one, [zero], body))

    (value,) = m.scope([i32], outer)
    m.store(m.y, i, value)
    y = np.zeros(6, np.int32)
    run(m.done(), 6, y)
    parts = [0, 100, 1, 3]
    assert y.tolist() == [sum(parts[: min(n + 1, 4)]) for n in range(6)]


def test_values_from_before_a_loop_are_seen_inside_and_after() -> None:
    m = Make(y=Array(i64, 1))
    i = m.tid()
    wide = m.op("sext", i, type=i64)
    base = m.op("imul", wide, m.const(i64, 1000))

    def body(iv, total):
        return [m.op("iadd", total, m.op("iadd", base, m.op("sext", iv, type=i64)))]

    (total,) = m.for_(m.const(i32, 0), i, m.const(i32, 1), [m.const(i64, 0)], body)
    m.store(m.y, i, m.op("iadd", total, base))
    y = np.zeros(5, np.int64)
    run(m.done(), 5, y)
    assert y.tolist() == [1000 * n * n + n * (n - 1) // 2 + 1000 * n for n in range(5)]


def test_a_view_may_be_carried() -> None:
    # Arrays from outside may go round a loop; the view shrinks from the front.
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(iv, view):
        extent = m.op("isub", m.emit("dim", view, types=[i32], axis=0), one)
        return [m.emit("subview", view, one, extent, one, types=[Array(i32, 1)], axes="s")]

    (view,) = m.for_(zero, i, one, [m.x], body)
    m.store(m.y, i, m.load(view, zero))
    x, y = np.arange(10, 16, dtype=np.int32), np.zeros(6, np.int32)
    assert run(m.done(), 6, x, y).fault is None
    assert y.tolist() == x.tolist()


def test_composites_must_be_scalarised_first() -> None:
    m = Make(y=Array(f32, 1), v=Vector(f32, 2))
    x = m.emit("extract", m.v, types=[f32], leaf=1)
    pair = m.emit("compose", x, x, types=[Vector(f32, 2)])
    m.store(m.y, m.tid(), m.emit("extract", pair, types=[f32], leaf=0))
    with pytest.raises(InternalError, match="scalarise"):
        run(m.done(), 1, np.zeros(1, np.float32), (1.0, 2.0))


def test_a_local_array_cannot_be_carried() -> None:
    m = Make()
    local = Array(i32, 1, "local", (2,))
    one = m.const(i32, 1)
    m.for_(one, m.tid(), one, [m.emit("alloc", types=[local])], lambda iv, a: [a])
    with pytest.raises(InternalError, match="local array"):
        run(m.done(), 1)
