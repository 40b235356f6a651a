"""Branches and loops of widened kernels, for all lanes, for some and for none."""

import numpy as np
import pytest
from unit.codegen.harness import Make
from unit.codegen.widening import agree, launch, widen

from heald.ir import Kernel, Value
from heald.types import Array, Scalar, b1, f32, f64, i32, i64, u64

pytestmark = pytest.mark.cpu
COUNTS = (0, 1, 7, 8, 9, 15, 16, 17)


def chain(m: Make, t: Scalar, op: str, *operands: Value | int | float, **attrs: object) -> Value:
    values = [m.const(t, x) if not isinstance(x, Value) else x for x in operands]
    return m.op(op, *values, **attrs)


def signals(count: int, seed: int = 0) -> list[np.ndarray]:
    """Numbers that agree in long stretches and differ in others: x in -3..6, and zeros to write."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 7, count).astype(np.int32)
    x[8:16] = 5
    x[16:24] = -2
    return [x, np.zeros(count, np.int32)]


def kernel_on(body: object, **more: object) -> Kernel:
    """``y[i] = body(m, i, x[i])``."""
    m = Make(x=Array(i32, 1), y=Array(i32, 1), **more)
    i = m.tid()
    m.store(m.y, i, body(m, i, m.load(m.x, i)))
    return m.done()


def test_branches_of_values() -> None:
    def body(m: Make, i: Value, x: Value) -> Value:
        low = chain(m, i32, "icmp", x, 2, pred="slt")
        (found,) = m.if_(
            low,
            lambda: [chain(m, i32, "imul", x, 10)],
            lambda: [chain(m, i32, "isub", i, x)],
            [i32],
        )
        return found

    agree(kernel_on(body), signals, counts=COUNTS)


@pytest.mark.parametrize("arm", [0, 1])
def test_branches_with_memory_in_one_arm(arm: int) -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    x = m.load(m.x, i)
    write = lambda: m.store(m.y, i, chain(m, i32, "iadd", x, 100)) or []  # noqa: E731
    arms = [write, list]
    m.if_(chain(m, i32, "icmp", x, 2, pred="slt"), arms[arm], arms[1 - arm])
    agree(m.done(), signals, counts=COUNTS)


def test_branches_in_branches() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    x = m.load(m.x, i)

    def write(number: int) -> object:
        return lambda: m.store(m.y, i, chain(m, i32, "iadd", m.load(m.y, i), number)) or []

    def inner(pred: str, one: int, other: int) -> object:
        condition = lambda: chain(m, i32, "icmp", x, 5, pred=pred)  # noqa: E731
        return lambda: list(m.if_(condition(), write(one), write(other)))

    m.if_(chain(m, i32, "icmp", x, 2, pred="slt"), inner("eq", 1, 2), inner("ne", 4, 8))
    m.if_(chain(m, i32, "icmp", x, 0, pred="sge"), inner("sge", 16, 32), inner("slt", 64, 128))
    agree(m.done(), signals, counts=COUNTS)


def test_shared_conditions_stay_branches() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1), p=b1)
    i = m.tid()
    x = m.load(m.x, i)
    (v, w) = m.if_(m.p, lambda: [x, m.const(i32, 3)], lambda: [i, m.const(i32, 4)], [i32, i32])
    m.store(m.y, i, chain(m, i32, "iadd", v, w))
    kernel = m.done()
    for p in (False, True):
        agree(kernel, lambda n, p=p: [*signals(n), p], counts=(17,))


# ------------------------------------------------------------------------------ borders


@pytest.mark.parametrize(
    "pred", ["slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "eq", "ne"]
)
@pytest.mark.parametrize("swapped", [False, True])
def test_borders(pred: str, swapped: bool) -> None:
    # A branch on the launch index: lanes part in one vector of threads only.
    m = Make(x=Array(i32, 1), y=Array(i32, 1), n=i32)
    i = m.tid()
    sides = (m.n, i) if swapped else (i, m.n)
    m.if_(
        m.op("icmp", *sides, pred=pred),
        lambda: m.store(m.y, i, m.load(m.x, i)) or [],
        lambda: m.store(m.y, i, m.const(i32, 77)) or [],
    )
    kernel = m.done()
    for n in (-1, 0, 5, 8, 12, 23, 40):
        agree(kernel, lambda count, n=n: [*signals(count), n], counts=(24,), units=(True,))


def test_border_of_an_index_that_wraps() -> None:
    # i + 2^31 - 12 turns negative in the middle of a vector.
    m = Make(x=Array(i32, 1), y=Array(i32, 1), n=i32)
    i = m.tid()
    far = chain(m, i32, "iadd", i, 2**31 - 12)
    for bound in (0, 2**31 - 14, -(2**31) + 3):
        m.if_(
            chain(m, i32, "icmp", far, bound, pred="slt"),
            lambda: m.store(m.y, i, chain(m, i32, "iadd", m.load(m.y, i), 1)) or [],
        )
    agree(m.done(), lambda count: [*signals(count), 0], counts=(24,))


def test_two_borders_in_one_condition() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    inside = m.op(
        "iand",
        chain(m, i32, "icmp", i, 1, pred="sge"),
        chain(m, i32, "icmp", i, 20, pred="slt"),
    )
    outside = m.op("inot", inside)
    before = lambda: m.load(m.x, chain(m, i32, "isub", i, 1))  # noqa: E731
    m.if_(inside, lambda: m.store(m.y, i, before()) or [])
    m.if_(outside, lambda: m.store(m.y, i, m.const(i32, -1)) or [])
    agree(m.done(), signals, counts=(1, 8, 9, 16, 20, 21, 24, 32))


def test_a_diagonal_in_a_loop() -> None:
    # Each iteration lanes part at another place; all must still run together.
    m = Make(x=Array(i32, 1), y=Array(i32, 1), n=i32)
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(j: Value, total: Value) -> list[Value]:
        (found,) = m.if_(
            m.op("icmp", j, i, pred="slt"),
            lambda: [m.op("iadd", total, m.load(m.x, j))],
            lambda: [total],
            [i32],
        )
        return [found]

    (total,) = m.for_(zero, m.n, one, [zero], body)
    m.store(m.y, i, total)
    agree(m.done(), lambda count: [*signals(count), count], counts=(1, 8, 17, 24))


# ------------------------------------------------------------------------------ loops


def collatz(t: Scalar) -> Kernel:
    """Steps until 1, at most 99; every lane leaves at its own iteration."""
    m = Make(x=Array(t, 1), y=Array(i32, 1))
    i = m.tid()
    one = m.const(t, 1)

    def go_on(v: Value, count: Value) -> list[Value]:
        small = chain(m, i32, "icmp", count, 99, pred="slt")
        return [m.op("iand", m.op("icmp", v, one, pred="ne"), small)]

    def step(v: Value, count: Value) -> list[Value]:
        odd = m.op("icmp", m.op("iand", v, one), one, pred="eq")
        (following,) = m.if_(
            odd,
            lambda: [m.op("iadd", m.op("imul", v, m.const(t, 3)), one)],
            lambda: [m.op("ashr", v, one)],
            [t],
        )
        return [following, chain(m, i32, "iadd", count, 1)]

    _, count = m.while_([m.load(m.x, i), m.const(i32, 0)], go_on, step)
    m.store(m.y, i, count)
    return m.done()


@pytest.mark.parametrize("t", [i32, i64], ids=str)
def test_a_loop_that_lanes_leave_one_by_one(t: Scalar) -> None:
    def make(count: int) -> list[np.ndarray]:
        return [np.arange(1, count + 1, dtype=t.carrier), np.zeros(count, np.int32)]

    agree(collatz(t), make, counts=COUNTS)


@pytest.mark.parametrize("t", [i32, i64], ids=str)
@pytest.mark.parametrize("shared", [(), ("lo",), ("step",), ("lo", "step"), ("lo", "hi", "step")])
def test_counted_loops_with_bounds_of_their_own(t: Scalar, shared: tuple[str, ...]) -> None:
    m = Make(lo=Array(t, 1), hi=Array(t, 1), step=Array(t, 1), y=Array(t, 2))
    i = m.tid()
    zero = m.const(i32, 0)
    lo, hi, step = (
        m.load(getattr(m, n), zero if n in shared else i, guard=False, id=k)
        for k, n in enumerate(("lo", "hi", "step"))
    )

    def body(iv: Value, count: Value, total: Value, uniform: Value) -> list[Value]:
        return [
            m.op("iadd", count, m.const(t, 1)),
            m.op("iadd", total, iv),
            m.op("iadd", uniform, m.const(t, 5)),
        ]

    found = m.for_(lo, hi, step, [m.const(t, 0), m.const(t, 0), m.const(t, 7)], body)
    for k, value in enumerate(found):
        m.store(m.y, i, m.const(i32, k), value)

    def make(count: int) -> list[np.ndarray]:
        rng = np.random.default_rng(3)
        big = [t.lowest, t.highest]
        lo, hi = (rng.integers(-9, 10, 24).astype(t.carrier) for _ in range(2))
        step = rng.choice([1, 2, 3, -1, -2, 5], 24).astype(t.carrier)
        step[19] = 0
        if not shared:  # near the ends of the type, few iterations each
            lo[20:] = [big[1] - 5, big[0] + 4, big[0], big[1]]
            hi[20:] = [big[1], big[0], big[1], big[0]]
            step[20:] = [2, -3, big[1], big[0]]
        return [lo, hi, step, np.zeros((count, 3), t.carrier)]

    agree(m.done(), make, counts=(1, 8, 24))


def test_results_of_a_loop_that_lanes_leave_while_what_it_carries_is_shared() -> None:
    # k is the same for all lanes that are still in the loop, another one for each that left.
    m = Make(x=Array(i32, 1), y=Array(i32, 1), z=Array(i32, 1))
    i = m.tid()
    x = m.load(m.x, i)
    k, j = m.while_(
        [m.const(i32, 0), i],
        lambda k, j: [m.op("icmp", k, x, pred="slt")],
        lambda k, j: [chain(m, i32, "iadd", k, 1), chain(m, i32, "iadd", j, 10)],
    )
    m.store(m.y, i, k)
    m.store(m.z, i, j)
    agree(m.done(), lambda n: [*signals(n), np.zeros(n, np.int32)], counts=COUNTS)


def search(name: str) -> Kernel:
    """A search that leaves by break, return or continue, in a loop within a loop."""
    m = Make(x=Array(i32, 1), y=Array(i32, 1), n=i32)
    i = m.tid()
    x = m.load(m.x, i)
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def inner(j: Value, best: Value) -> list[Value] | None:
        hit = m.op("icmp", m.load(m.x, j), x, pred="sgt")

        def leave() -> None:
            if name == "return":
                m.store(m.y, i, j)
                m.leave("return")
            else:
                m.leave(name, m.op("iadd", best, j))

        m.if_(hit, leave)
        return [m.op("iadd", best, one)]

    def outer(k: Value, total: Value) -> list[Value]:
        (found,) = m.for_(k, m.n, one, [zero], inner)
        skip = m.op("icmp", found, k, pred="eq")
        m.if_(skip, lambda: m.leave("continue", m.op("iadd", total, m.const(i32, 1000))))
        return [m.op("iadd", total, found)]

    (total,) = m.for_(zero, m.n, one, [zero], outer)
    m.store(m.y, i, total)
    return m.done()


@pytest.mark.parametrize("name", ["break", "continue", "return"])
def test_exits_of_loops_in_loops(name: str) -> None:
    agree(search(name), lambda n: [*signals(n), n], counts=(1, 8, 9, 17))


def test_a_return_in_the_middle() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1))
    i = m.tid()
    x = m.load(m.x, i)
    m.store(m.y, i, m.const(i32, 9))
    m.if_(chain(m, i32, "icmp", x, 0, pred="slt"), lambda: m.leave("return"))
    m.store(m.y, i, chain(m, i32, "imul", x, x))
    m.if_(chain(m, i32, "icmp", x, 5, pred="eq"), lambda: m.leave("return"))
    m.store(m.y, i, chain(m, i32, "iadd", m.load(m.y, i), 1000))
    agree(m.done(), signals, counts=COUNTS)


# ------------------------------------------------------------------------------ launches


@pytest.mark.parametrize("dims", [(3, 17), (5, 8), (2, 7), (2, 3, 19), (1, 2, 3, 9)])
def test_rows(dims: tuple[int, ...]) -> None:
    rank = len(dims)
    m = Make(x=Array(i32, rank), y=Array(i32, rank))
    index = [m.tid(axis) for axis in range(rank)]
    value = m.load(m.x, *index)
    for axis, i in enumerate(index):
        value = m.op("iadd", m.op("imul", value, m.const(i32, 7)), i)
        value = m.op("iadd", value, m.emit("launch_dim", types=[i32], axis=axis))
    last = index[-1]
    inner = chain(m, i32, "icmp", last, 1, pred="sge")
    m.if_(inner, lambda: m.store(m.y, *index, value) or [])
    forms = widen(m.done(rank), unit=True)
    x = np.arange(np.prod(dims), dtype=np.int32).reshape(dims)
    expected = x.copy()
    for axis, extent in enumerate(dims):
        grid = np.arange(extent).reshape([-1 if k == axis else 1 for k in range(rank)])
        expected = expected * 7 + grid + extent
    expected[..., 0] = 0
    for cuts in ([], [1], [x.size // 2 + 1], [3, 4, 5]):
        y = np.zeros(dims, np.int32)
        assert launch(forms, dims, [x, y], cuts) is None
        np.testing.assert_array_equal(y, expected)


def test_a_launch_with_more_dims_than_the_kernel_reads() -> None:
    m = Make(y=Array(i64, 1))
    i = m.tid()
    m.atomic("add", m.y, i, m.const(i64, 1))
    forms = widen(m.done(), unit=True)
    y = np.zeros(20, np.int64)
    assert launch(forms, (20, 3), [y], [7, 31]) is None
    assert (y == 3).all()


def test_indices_of_64_bits() -> None:
    m = Make(x=Array(f64, 1), y=Array(f64, 1), s=u64)
    i = m.tid(t=i64)
    back = m.op("isub", m.emit("dim", m.x, types=[i64], axis=0), m.op("iadd", i, m.const(i64, 1)))
    m.store(m.y, i, m.op("fadd", m.load(m.x, i), m.load(m.x, back)))
    make = lambda n: [np.arange(n) * 1.5, np.zeros(n), 3]  # noqa: E731
    kernel = m.done()
    agree(kernel, make, counts=COUNTS, width=4)
    agree(kernel, make, counts=(17,), width=8)


def test_floats_and_bools_that_are_carried() -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1), z=Array(b1, 1))
    i = m.tid()
    x = m.load(m.x, i)
    v, flag = m.while_(
        [x, m.const(b1, False)],
        lambda v, flag: [m.op("fcmp", v, m.const(f32, 1.0), pred="ogt")],
        lambda v, flag: [m.op("fmul", v, m.const(f32, 0.5)), m.op("inot", flag)],
    )
    m.store(m.y, i, v)
    m.store(m.z, i, flag)

    def make(n: int) -> list[np.ndarray]:
        x = (np.arange(n, dtype=np.float32) ** 2) - 3
        if n > 3:
            x[3] = np.nan
        return [x, np.zeros(n, np.float32), np.zeros(n, bool)]

    agree(m.done(), make, counts=COUNTS)
