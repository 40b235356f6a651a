"""What lanes share, as the analysis finds it."""

import pytest
from unit.codegen.harness import Make

from heald.diagnostics import InternalError
from heald.ir import Kernel, Op, Value, walk
from heald.passes import guard
from heald.passes.uniformity import analyse_uniformity, effectful_ops, find_late
from heald.types import Array, b1, f32, i32, i64, u8, u64


def steps_of(m: Make, *values: Value, rank: int = 1) -> list[int | None]:
    found = analyse_uniformity(m.done(rank))
    return [found.steps.get(v) for v in values]


def test_launch_indices() -> None:
    m = Make()
    outer, inner = m.tid(0), m.tid(1)
    wide = m.op("sext", inner, type=i64)
    assert steps_of(m, outer, inner, wide, rank=2) == [0, 1, 1]


def test_arithmetic() -> None:
    m = Make(n=i32, p=b1)
    i = m.tid()
    three = m.const(i32, 3)
    scaled = m.op("imul", i, three)
    values = {
        "sum": (m.op("iadd", i, m.n), 1),
        "difference": (m.op("isub", m.n, i), -1),
        "negated": (m.op("ineg", scaled), -3),
        "scaled": (scaled, 3),
        "sum of both": (m.op("iadd", scaled, i), 4),
        "apart": (m.op("isub", m.op("iadd", i, m.n), i), 0),
        "by an unknown number": (m.op("imul", i, m.n), None),
        "shared": (m.op("imul", m.n, m.n), 0),
        "quotient": (m.op("idiv", i, three), None),
        "chosen alike": (m.op("select", m.p, i, m.op("iadd", i, three)), 1),
        "chosen apart": (m.op("select", m.p, i, three), None),
        "other sign": (m.op("trunc", m.op("bitcast", m.tid(t=i64), type=u64), type=u8), None),
        "wraps": (m.op("sext", m.op("iadd", i, m.n), type=i64), None),
        "float": (m.op("sitofp", i, type=f32), None),
        "far": (m.op("imul", i, m.const(i32, 1 << 20)), None),
    }
    found = steps_of(m, *(value for value, _ in values.values()))
    assert dict(zip(values, found, strict=True)) == {n: s for n, (_, s) in values.items()}


def test_memory() -> None:
    m = Make(x=Array(f32, 2), n=i32)
    i = m.tid()
    local = m.emit("alloc", types=[Array(f32, 1, "local", (4,))])
    row = m.emit("subview", m.x, m.n, types=[Array(f32, 1)], axes="if", guard=False, id=101)
    own = m.emit("subview", m.x, i, types=[Array(f32, 1)], axes="if", guard=False, id=102)
    assert steps_of(
        m,
        m.load(m.x, m.n, m.n),
        m.load(m.x, m.n, i),
        m.load(local, m.n),
        m.load(row, m.n),
        m.load(own, m.n),
        m.emit("dim", own, types=[i32], axis=0),
    ) == [0, None, None, 0, None, 0]


def test_extents_of_views_that_fail_behind_an_effect() -> None:
    m = Make(x=Array(f32, 2))
    i = m.tid()
    before = m.emit("subview", m.x, i, types=[Array(f32, 1)], axes="if", guard=True, id=103)
    m.store(m.x, i, i, m.const(f32, 1.0))
    behind = m.emit("subview", m.x, i, types=[Array(f32, 1)], axes="if", guard=True, id=104)
    dims = [m.emit("dim", view, types=[i32], axis=0) for view in (before, behind)]
    found = analyse_uniformity(m.done())
    assert [found.steps.get(d) for d in dims] == [0, None]
    assert found.ragged == {behind}


def ops(kernel: Kernel, name: str) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name == name]


def test_branches() -> None:
    m = Make(n=i32, x=Array(i32, 1))
    i = m.tid()
    x = m.load(m.x, i)
    shared = m.op("icmp", m.n, m.const(i32, 4), pred="slt")
    own = m.op("icmp", x, m.n, pred="slt")
    a = m.if_(shared, lambda: [i, m.n, x], lambda: [m.op("iadd", i, m.n), i, m.n], [i32] * 3)
    b = m.if_(own, lambda: [m.n, m.n, i], lambda: [m.n, i, m.op("iadd", i, m.n)], [i32] * 3)
    kernel = m.done()
    found = analyse_uniformity(kernel)
    assert [found.steps.get(v) for v in a] == [1, None, None]
    assert [found.steps.get(v) for v in b] == [0, None, None]
    assert found.divergent == {ops(kernel, "if")[1]}


@pytest.mark.parametrize("own", [False, True])
def test_loops(own: bool) -> None:
    m = Make(n=i32, x=Array(i32, 1))
    i = m.tid()
    bound = m.load(m.x, i) if own else m.n
    zero, one = m.const(i32, 0), m.const(i32, 1)
    inside: list[Value] = []

    def body(k: Value, shared: Value, even: Value, free: Value, late: Value) -> list[Value]:
        inside.extend([k, shared, even, free, late])
        return [
            m.op("iadd", shared, m.n),
            m.op("iadd", even, k),
            m.op("iadd", free, even),
            shared,
        ]

    results = m.for_(zero, bound, one, [zero, i, zero, i], body)
    kernel = m.done()
    found = analyse_uniformity(kernel)
    # A lane that is in the loop shares what all that are in it share.
    assert [found.steps.get(v) for v in inside] == [0, 0, 1, None, None]
    after = [None] * 4 if own else [0, 1, None, None]
    assert [found.steps.get(v) for v in results] == after
    assert bool(found.divergent) == own


def test_conditions_of_loops() -> None:
    m = Make(x=Array(i32, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def run(limit: Value) -> tuple[Value, ...]:
        return m.while_(
            [zero],
            lambda k: [m.op("icmp", k, limit, pred="slt")],
            lambda k: [m.op("iadd", k, one)],
        )

    (shared,) = run(m.load(m.x, zero))
    (own,) = run(m.load(m.x, i))
    kernel = m.done()
    found = analyse_uniformity(kernel)
    assert [found.steps.get(shared), found.steps.get(own)] == [0, None]
    assert found.divergent == {ops(kernel, "while")[1]}


def test_exits_come_first() -> None:
    m = Make()
    m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    m.for_(zero, one, one, [], lambda k: m.leave("break"))
    with pytest.raises(InternalError, match="normalise exits first"):
        analyse_uniformity(m.done())


def test_what_comes_behind_an_effect() -> None:
    m = Make(x=Array(i32, 1), y=Array(i32, 1), p=b1)
    i = m.tid()
    local = m.emit("alloc", types=[Array(i32, 1, "local", (4,))])
    m.store(local, i, i)
    first = m.load(m.x, i)

    def read() -> list[Value]:
        m.load(m.x, first)
        return []

    m.if_(m.p, lambda: m.store(m.y, i, first) or [], read)
    second = m.load(m.x, first)
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(k: Value) -> list[Value]:
        m.load(m.x, k)
        m.atomic("add", m.y, k, second)
        return []

    m.for_(zero, one, one, [], body)
    kernel = guard(m.done())
    late = find_late(kernel, frozenset(), effectful_ops(kernel))
    loads = [op in late for op in walk(kernel.body) if op.name == "load"]
    # Before the branch; in the arm without a store; behind it; in a loop whose last trip wrote.
    assert loads == [False, False, True, True]
    assert [op in late for op in walk(kernel.body) if op.name == "store"] == [False, False]
    # Where lanes part, those in the second arm go after those in the first one.
    late = find_late(kernel, frozenset(ops(kernel, "if")), effectful_ops(kernel))
    assert [op in late for op in ops(kernel, "load")] == [False, True, True, True]
