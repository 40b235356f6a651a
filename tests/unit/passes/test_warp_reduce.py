"""Which atomics the threads of a warp do together."""

import pytest
from unit.codegen.harness import Make

from heald.diagnostics import CompileError
from heald.ir import ATOMICS, Kernel, Value, check, parse, to_text, walk
from heald.ops import TABLE
from heald.passes import SCALAR_CPU, guard, run_pipeline
from heald.passes.warp_reduce import warp_reduce
from heald.types import Array, Scalar, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64


def marks(kernel: Kernel, *, floats: bool = False) -> list[bool]:
    """Of each atomic, whether it is marked."""
    lowered = run_pipeline(guard(kernel), SCALAR_CPU, check=True)
    marked = warp_reduce(lowered, floats=floats)
    check(marked, TABLE)
    return [op.attrs.get("warp") is True for op in walk(marked.body) if op.name in ATOMICS]


def counter(t: Scalar, kind: str) -> Kernel:
    m = Make(a=Array(t, 1), x=Array(t, 1))
    m.atomic(kind, m.a, m.const(i32, 0), m.load(m.x, m.tid()))
    return m.done()


@pytest.mark.parametrize("t", [i32, u32, i64, u64], ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "and", "or", "xor"])
def test_integers(t: Scalar, kind: str) -> None:
    assert marks(counter(t, kind)) == [True]


@pytest.mark.parametrize(("t", "wanted"), [(f32, True), (f64, True), (f16, False)], ids=str)
def test_sums_of_floats_where_asked_for(t: Scalar, wanted: bool) -> None:
    assert marks(counter(t, "add")) == [False]
    assert marks(counter(t, "add"), floats=True) == [wanted]


@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize("kind", ["min", "max"])
def test_extrema_of_floats_need_not_be_asked_for(t: Scalar, kind: str) -> None:
    assert marks(counter(t, kind)) == [True]


@pytest.mark.parametrize(
    ("t", "kind"),
    [(f16, "min"), (f32, "exch"), (i8, "and"), (i8, "exch"), (i32, "exch")],
    ids=str,
)
def test_others_are_left_alone(t: Scalar, kind: str) -> None:
    assert marks(counter(t, kind), floats=True) == [False]


@pytest.mark.parametrize("t", [i8, u8, i16, u16], ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max"])
def test_small_integers_of_any_element(t: Scalar, kind: str) -> None:
    assert marks(counter(t, kind)) == [True]
    m = Make(a=Array(t, 1), x=Array(t, 1))
    m.atomic(kind, m.a, m.tid(), m.load(m.x, m.tid()))
    assert marks(m.done()) == [True]


@pytest.mark.parametrize("t", [i8, u8, i16, u16, i32], ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max"])
def test_local_arrays_are_left_alone(t: Scalar, kind: str) -> None:
    """Every thread has its own at the same address."""
    m = Make(a=Array(t, 1), n=Array(i32, 1))
    own = m.emit("alloc", types=[Array(t, 1, "local", (4,))])
    m.atomic(kind, own, m.load(m.n, m.tid()), m.load(m.a, m.tid()))
    m.store(m.a, m.tid(), m.load(own, m.const(i32, 0)))
    assert marks(m.done()) == [False]


def test_the_mark_is_a_truth_value() -> None:
    marked = warp_reduce(run_pipeline(guard(counter(i32, "add")), SCALAR_CPU, check=True))
    text = to_text(marked)
    assert text.count("warp=true") == 1
    with pytest.raises(CompileError, match="attribute warp is 1, not true or false"):
        check(parse(text.replace("warp=true", "warp=1"), TABLE), TABLE)


def test_an_old_value_that_is_used() -> None:
    m = Make(a=Array(i32, 1))
    m.store(m.a, m.tid(), m.atomic("add", m.a, m.const(i32, 0), m.const(i32, 1)))
    assert marks(m.done()) == [False]


def test_elements_of_the_thread_and_of_memory() -> None:
    m = Make(a=Array(i32, 1), n=Array(i32, 1), k=i32)
    one = m.const(i32, 1)
    m.atomic("add", m.a, m.tid(), one)
    m.atomic("add", m.a, m.load(m.n, m.const(i32, 0)), one)
    m.atomic("add", m.a, m.op("isub", m.k, m.emit("dim", m.n, types=[i32], axis=0)), one)
    m.atomic("add", m.a, m.emit("thread_index", types=[i32]), one)
    assert marks(m.done()) == [False, False, True, False]


def test_threads_that_meet_in_a_loop_need_not_be_at_the_same_iteration() -> None:
    m = Make(a=Array(i32, 1), n=Array(i32, 1))
    zero, one = m.const(i32, 0), m.const(i32, 1)

    def body(k: Value) -> list[Value]:
        m.atomic("add", m.a, k, one)
        m.atomic("add", m.a, zero, one)
        return []

    m.for_(zero, m.load(m.n, m.tid()), one, [], body)
    assert marks(m.done()) == [False, True]
