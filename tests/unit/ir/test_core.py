"""Values, walks, effects and the builder."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import constants, kernels

from heald.diagnostics import InternalError, Span
from heald.ir import (
    ATOMICS,
    LOOPS,
    MEMORY,
    OBLIGATIONS,
    STRUCTURAL,
    TERMINATORS,
    Builder,
    Effect,
    Kernel,
    Op,
    Region,
    Value,
    check,
    effects_of,
    has_exit,
    op_ids,
    parse,
    region_effects,
    walk,
)
from heald.ir.builder import round_constant
from heald.ir.rules import RULES, is_exact_constant
from heald.ops import TABLE
from heald.types import (
    FLOATS,
    INTEGERS,
    SCALARS,
    Array,
    Scalar,
    Struct,
    Vector,
    b1,
    bf16,
    f16,
    f32,
    i32,
    u8,
)


def body_of(text: str, params: str = "%c: b1, %n: i32, %a: array<i32,1>") -> Region:
    """The body of a kernel with these lines; it passes the check."""
    kernel = parse(f"kernel @k<1>({params}) {{\n{text}\nreturn\n}}", TABLE)
    check(kernel, TABLE)
    return kernel.body


NESTED = """
for %n, %n, %n (%k: i32) {
  if %c () {
    break
  } () {
    yield
  }
  scope () {
    return
  }
  continue
}
store %a, %n, %n [id=42, guard=true]
"""


def test_walk_is_preorder_and_ids_are_its_numbers() -> None:
    body = body_of(NESTED)
    names = ["for", "if", "break", "yield", "scope", "return", "continue", "store", "return"]
    assert [op.name for op in walk(body)] == names
    ids = op_ids(Kernel("k", (), body))
    assert [ids[op] for op in walk(body)] == [0, 1, 2, 3, 4, 5, 6, 42, 8]


@pytest.mark.parametrize(
    ("name", "leaves"),
    [("break", False), ("continue", False), ("yield", True), ("return", True)],
)
def test_loops_and_scopes_catch_their_exits(name: str, leaves: bool) -> None:
    body = body_of(NESTED)
    assert has_exit(body, frozenset({name})) is leaves
    assert has_exit(body.ops[0].regions[0], frozenset({"break"}))
    assert has_exit(body.ops[0].regions[0], frozenset({"continue"}))
    assert not has_exit(body.ops[0].regions[0], frozenset({"return"}))


# -------------------------------------------------------------------------------------- effects


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("%x: i32 = iadd %n, %n", Effect.PURE),
        ("%x: i32 = idiv %n, %n", Effect.FAULT),
        ("%x: i32 = load %a, %n", Effect.READ | Effect.FAULT),
        ("store %a, %n, %n", Effect.WRITE | Effect.FAULT),
        ("%x: i32 = atomic_add %a, %n, %n", Effect.READ | Effect.WRITE | Effect.FAULT),
        ('%v: array<i32,1> = subview %a [axes="f"]', Effect.FAULT),
        ("%l: local<i32,4> = alloc", Effect.WRITE),
        ("block_sync", Effect.SYNC),
        ('printf [text="x", kinds=""]', Effect.PRINT),
        ("%d: i32 = dim %a [axis=0]", Effect.PURE),
        ("if %c () {\nreturn\n} () {\nyield\n}", Effect.EXIT),
        ("scope () {\nif %c () {\nreturn\n} () {\nyield\n}\nreturn\n}", Effect.PURE),
        ("scope () {\nstore %a, %n, %n\nreturn\n}", Effect.WRITE | Effect.FAULT),
        ("for %n, %n, %n (%k: i32) {\nyield\n}", Effect.FAULT),
        ("for %n, %n, %n (%k: i32) {\nreturn\n}", Effect.FAULT | Effect.EXIT),
        ("while () {\nyield %c\n} () {\nyield\n}", Effect.LOOP),
        (
            "while () {\n%x: i32 = load %a, %n\nyield %c\n} () {\nblock_sync\nyield\n}",
            Effect.LOOP | Effect.READ | Effect.FAULT | Effect.SYNC,
        ),
    ],
)
def test_effects(text: str, effects: Effect) -> None:
    body = body_of(text)
    assert effects_of(body.ops[0], TABLE) == effects
    assert region_effects(body, TABLE) == effects | Effect.EXIT


def test_sets_of_structural_ops_agree() -> None:
    assert set(STRUCTURAL) == set(RULES) | TERMINATORS | LOOPS | {"if", "scope", "threads"}
    assert not set(RULES) & TERMINATORS
    assert set(STRUCTURAL) >= MEMORY
    assert {
        f"atomic_{kind}" for kind in ["add", "sub", "min", "max", "and", "or", "xor", "exch", "cas"]
    } == ATOMICS
    assert {*STRUCTURAL, *TABLE} >= OBLIGATIONS
    assert not set(STRUCTURAL) & set(TABLE)


def test_obligations_are_the_ops_that_fault() -> None:
    """Assumptions count as able to fault so that they stay in place; they are no obligation."""
    faulting = {name for name, record in TABLE.items() if record.effects & Effect.FAULT}
    assert faulting - {"assume"} == OBLIGATIONS - set(STRUCTURAL)
    assert OBLIGATIONS & set(STRUCTURAL) == MEMORY | {"subview", "for"}


# -------------------------------------------------------------------------------------- builder


def built(b: Builder, *params: Value) -> Kernel:
    b.emit("return")
    kernel = Kernel("k", params, b.close())
    check(kernel, TABLE)
    return kernel


def test_builder_gives_ops_the_types_of_their_rules() -> None:
    b = Builder(TABLE)
    b.open()
    x = b.const(i32, 3)
    assert b.op("icmp", x, x, pred="eq").type is b1
    assert b.op("sitofp", x, type=f32).type is f32
    with pytest.raises(InternalError, match="fadd"):
        b.op("fadd", x, x)
    assert [op.name for op in walk(built(b).body)] == ["const", "icmp", "sitofp", "return"]


def test_builder_puts_its_span_on_every_op() -> None:
    b = Builder(TABLE)
    b.open()
    b.span = Span("k.py", 1, 0, 1, 4)
    b.const(i32, 1)
    b.span = None
    b.const(i32, 1)
    assert [op.span is None for op in built(b).body.ops] == [False, True, True]


def test_extract_of_a_composed_value_makes_no_op() -> None:
    b, v = Builder(TABLE), Value(Vector(i32, 2))
    b.open()
    x, y = b.const(i32, 1), b.const(i32, 2)
    w = b.compose(Vector(i32, 2), (x, y))
    assert b.parts(w) == (x, y)
    assert b.parts(x) == (x,)
    first, second = b.parts(v)
    assert (first.type, second.type) == (i32, i32)
    names = [op.name for op in built(b, v).body.ops]
    assert names == ["const", "const", "compose", "extract", "extract", "return"]


def test_zero_has_zero_in_every_leaf() -> None:
    b = Builder(TABLE)
    b.open()
    t = Struct("S", (("x", f32), ("v", Vector(b1, 2)), ("n", u8)))
    assert b.zero(t).type is t
    values = [op.attrs["value"] for op in built(b).body.ops if op.name == "const"]
    assert repr(values) == "[0.0, False, False, 0]"
    with pytest.raises(InternalError):
        b.zero(Array(f32, 1))


def test_rollback_forgets_open_lists_too() -> None:
    b = Builder(TABLE)
    b.open()
    b.const(i32, 1)
    mark = b.mark()
    b.const(i32, 2)
    b.open()
    b.const(i32, 3)
    b.rollback(mark)
    assert b.depth == 1
    assert [op.attrs.get("value") for op in built(b).body.ops] == [1, None]


def test_popped_lists_can_be_continued() -> None:
    b = Builder(TABLE)
    b.open()
    b.open()
    b.const(i32, 1)
    ops = b.pop()
    b.open(ops)
    b.const(i32, 2)
    b.extend(b.pop())
    b.append(Op("const", (), (Value(i32),), {"value": 3}))
    assert [op.attrs.get("value") for op in built(b).body.ops] == [1, 2, 3, None]


# ------------------------------------------------------------------------------------ constants


@given(st.sampled_from(FLOATS), st.floats() | st.floats(width=32) | st.floats(width=16))
def test_a_float_is_exact_if_rounding_leaves_it(t: Scalar, value: float) -> None:
    rounded = round_constant(t, value)
    assert isinstance(rounded, float)
    assert is_exact_constant(t, rounded)
    assert is_exact_constant(t, value) == (rounded == value or math.isnan(value))
    assert not is_exact_constant(t, 1)


@pytest.mark.parametrize("t", INTEGERS)
def test_integers_are_exact_in_range(t: Scalar) -> None:
    assert is_exact_constant(t, t.lowest)
    assert is_exact_constant(t, t.highest)
    for value in (t.lowest - 1, t.highest + 1, True, 1.0):
        assert not is_exact_constant(t, value)
    with pytest.raises(InternalError):
        round_constant(t, t.highest + 1)


@pytest.mark.parametrize(
    ("t", "value", "rounded"),
    [
        (f32, 0.1, 0.10000000149011612),
        (f16, 0.1, 0.0999755859375),
        (bf16, 0.1, 0.10009765625),
        (f16, 65520.0, math.inf),
        (b1, 2, True),
    ],
)
def test_constants_are_rounded_to_their_type(t: Scalar, value: float, rounded: float) -> None:
    assert round_constant(t, value) == rounded


@given(st.data())
def test_every_constant_of_every_type_passes_the_check(data: st.DataObject) -> None:
    b = Builder(TABLE)
    b.open()
    for t in SCALARS:
        b.const(t, data.draw(constants(t)))
    built(b)


def test_random_kernels_use_the_language() -> None:
    """The strategy that other tests rest on meets every structural op that it can make."""
    seen: set[str] = set()

    @settings(max_examples=200, derandomize=True, database=None)
    @given(kernels(atomics=True))
    def collect(kernel: Kernel) -> None:
        seen.update(op.name for op in walk(kernel.body))

    collect()
    wanted = {"if", "for", "while", "scope", "load", "store", "alloc", "subview", "dim", "const"}
    wanted |= {"break", "continue", "unreachable", "compose", "extract", "insert", "tid", "yield"}
    assert seen >= wanted | {"return"}
    assert seen & ATOMICS
    assert len(seen & set(TABLE)) > 25
