"""Type rules: what each op gives, and the sentence where it refuses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from unit.ops.cases import ALL, Case

from heald.ir import Builder, Op, Value
from heald.ops import TABLE
from heald.types import (
    FLOATS,
    INTEGERS,
    SCALARS,
    Array,
    Scalar,
    Type,
    Vector,
    b1,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)

SIGNED = [t for t in INTEGERS if t.kind == "i"]
UNSIGNED = [t for t in INTEGERS if t.kind == "u"]


def apply(
    name: str, operands: tuple[Type, ...], results: tuple[Type, ...] = (), **attrs: object
) -> tuple[Type, ...] | str:
    typed: Mapping[str, object] = attrs
    op = Op(name, tuple(map(Value, operands)), tuple(map(Value, results)), typed)  # type: ignore[arg-type]
    return TABLE[name].type_rule(op)


def accepted(name: str, arity: int) -> list[Scalar]:
    return [t for t in SCALARS if apply(name, (t,) * arity) == (t,)]


@pytest.mark.parametrize(
    ("names", "arity", "types"),
    [
        ("iadd isub imul shl lshr ashr", 2, list(INTEGERS)),
        ("ineg popcount clz", 1, list(INTEGERS)),
        ("iand ior ixor", 2, [b1, *INTEGERS]),
        ("inot", 1, [b1, *INTEGERS]),
        ("idiv irem smin smax smulhi", 2, SIGNED),
        ("udiv urem umin umax umulhi", 2, UNSIGNED),
        ("fadd fsub fmul fdiv fmin fmax copysign", 2, list(FLOATS)),
        ("fsqrt fneg fabs floor ceil ftrunc rint", 1, list(FLOATS)),
        ("fma", 3, [f32, f64]),
    ],
)
def test_arithmetic_keeps_its_type(names: str, arity: int, types: list[Scalar]) -> None:
    for name in names.split():
        assert accepted(name, arity) == types


CONVERSIONS = {
    "sext": lambda s, t: s.is_integer and t.is_integer and t.bits > s.bits,
    "zext": lambda s, t: not s.is_float and t.is_integer and t.bits > s.bits,
    "trunc": lambda s, t: s.is_integer and t.is_integer and t.bits < s.bits,
    "fpext": lambda s, t: s.is_float and t.is_float and t.bits > s.bits,
    "fptrunc": lambda s, t: s.is_float and t.is_float and t.bits < s.bits,
    "sitofp": lambda s, t: s in SIGNED and t.is_float,
    "uitofp": lambda s, t: s in (b1, *UNSIGNED) and t.is_float,
    "fptosi_sat": lambda s, t: s.is_float and t in SIGNED,
    "fptoui_sat": lambda s, t: s.is_float and t in UNSIGNED,
    "bitcast": lambda s, t: s is not b1 and t is not b1 and s.bits == t.bits,
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_take_these_pairs(name: str) -> None:
    for s in SCALARS:
        for t in SCALARS:
            answer = apply(name, (s,), (t,))
            if CONVERSIONS[name](s, t):
                assert answer == (t,)
            else:
                assert isinstance(answer, str)
                assert str(s) in answer


def test_conversions_need_a_declared_result() -> None:
    for name in CONVERSIONS:
        assert apply(name, (i32,)) == "needs a declared result type"
        assert isinstance(apply(name, (Vector(f32, 3),), (f32,)), str)


def test_comparisons_give_b1() -> None:
    for pred in ("slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
        assert [t for t in SCALARS if apply("icmp", (t, t), pred=pred) == (b1,)] == list(INTEGERS)
    for pred in ("eq", "ne"):
        assert [t for t in SCALARS if apply("icmp", (t, t), pred=pred) == (b1,)] == [b1, *INTEGERS]
    for pred in ("oeq", "une", "olt", "ole", "ogt", "oge"):
        assert [t for t in SCALARS if apply("fcmp", (t, t), pred=pred) == (b1,)] == list(FLOATS)


@pytest.mark.parametrize("pred", [None, "lt", "one", "ord", 3])
def test_other_predicates_are_refused(pred: object) -> None:
    attrs = {} if pred is None else {"pred": pred}
    assert "predicate" in apply("icmp", (i32, i32), **attrs)  # type: ignore[operator]
    assert "predicate" in apply("fcmp", (f32, f32), **attrs)  # type: ignore[operator]


@pytest.mark.parametrize("case", [c for c in ALL if len(c.sources) > 0], ids=str)
def test_operands_are_counted(case: Case) -> None:
    op = case.op
    for operands in (op.operands[:-1], (*op.operands, op.operands[-1])):
        answer = TABLE[op.name].type_rule(Op(op.name, operands, op.results, op.attrs))
        assert answer == f"takes {len(op.operands)} operand{'s' * (len(op.operands) > 1)}, not " + (
            str(len(operands))
        )


def test_mixed_operands_are_refused_by_name() -> None:
    assert apply("iadd", (i32, u32)) == "takes operands of one type, not i32, u32"
    assert apply("shl", (i64, i32)) == "takes operands of one type, not i64, i32"
    assert apply("fadd", (f16, bf16)) == "takes operands of one type, not f16, bf16"
    assert apply("icmp", (i8, i16), pred="eq") == "takes operands of one type, not i8, i16"
    assert apply("fma", (f16, f16, f16)) == "takes f32, f64, not f16"
    assert apply("umin", (i8, i8)) == "takes u8, u16, u32, u64, not i8"
    assert apply("select", (i32, f32, f32)) == "takes a b1 first, not i32"
    assert apply("select", (b1, f32, f64)) == (
        "chooses between scalars of one type, not f32 and f64"
    )
    array = Array(f32, 1)
    assert isinstance(apply("select", (b1, array, array)), str)
    assert isinstance(apply("fadd", (Vector(f32, 3), Vector(f32, 3))), str)


def test_a_thread_knows_its_place() -> None:
    for name in ("block_dim", "thread_index", "lane", "block_index"):
        assert apply(name, ()) == (i32,)
        assert apply(name, (i32,)) == "takes 0 operands, not 1"
    assert apply("block_index", (), (i64,)) == (i64,)
    assert isinstance(apply("block_index", (), (u32,)), str)


def test_exchange_between_threads() -> None:
    for mode in ("index", "up", "down", "xor"):
        assert apply("shuffle", (f64, i32), mode=mode) == (f64,)
    assert isinstance(apply("shuffle", (f64, i32), mode="left"), str)
    assert isinstance(apply("shuffle", (f64, i32)), str)
    assert isinstance(apply("shuffle", (f64, i64), mode="up"), str)
    assert isinstance(apply("shuffle", (b1, i32), mode="up"), str)
    assert apply("vote", (b1,), mode="any") == apply("vote", (b1,), mode="all") == (b1,)
    assert apply("vote", (b1,), mode="ballot") == (u32,)
    assert isinstance(apply("vote", (i32,), mode="any"), str)
    assert isinstance(apply("vote", (b1,)), str)
    for mode in ("any", "all"):
        assert apply("vote", (b1,), mode=mode, scope="block") == (b1,)
    assert isinstance(apply("vote", (b1,), mode="ballot", scope="block"), str)
    assert isinstance(apply("vote", (b1,), mode="any", scope="grid"), str)


def test_resources() -> None:
    array = Array(Vector(f32, 3), 1)
    assert apply("resource_array", (u64,), (array,), kind=1, slot=6) == (array,)
    assert apply("resource_scalar", (u64,), (u8,), kind=255, slot=7) == (u8,)
    for name, result in (("resource_array", array), ("resource_scalar", f32)):
        for attrs in (
            {"kind": 1},
            {"slot": 1},
            {"kind": 0, "slot": 1},
            {"kind": 256, "slot": 1},
            {"kind": 1, "slot": 8},
            {"kind": 1, "slot": -1},
            {"kind": True, "slot": 1},
        ):
            assert isinstance(apply(name, (u64,), (result,), **attrs), str), attrs
        assert isinstance(apply(name, (i64,), (result,), kind=1, slot=1), str)
        assert isinstance(apply(name, (u64,), (), kind=1, slot=1), str)
    assert isinstance(apply("resource_array", (u64,), (array,), kind=1, slot=7), str)
    for wrong in (f32, Array(f32, 2), Array(f32, 1, "local", (4,))):
        assert isinstance(apply("resource_array", (u64,), (wrong,), kind=1, slot=1), str)
    assert isinstance(apply("resource_scalar", (u64,), (array,), kind=1, slot=1), str)


def test_ops_without_a_result() -> None:
    assert apply("assert", (b1,), message="no") == ()
    assert apply("assert", (b1,)) == "needs a message"
    assert apply("assert", (b1,), message="", kind="divergence") == ()
    assert apply("assert", (b1,), message="", kind="other") == "has no kind 'other'"
    assert apply("assert", (i32,), message="no") == "takes a b1, not i32"
    assert apply("assume", (b1,)) == ()
    assert apply("assume", (b1, b1)) == "takes 1 operand, not 2"
    assert apply("printf", (), text="hello", kinds="") == ()
    assert apply("printf", (i32, f64, b1), text="%d %f %d", kinds="dfd") == ()
    assert apply("printf", (i32,), text="%d") == "needs the attribute kinds"
    assert isinstance(apply("printf", (Vector(f32, 3),), text="", kinds=""), str)


def test_the_builder_takes_the_result_type_from_the_rule() -> None:
    builder = Builder(TABLE)
    builder.open()
    x, y = Value(u16), Value(f64)
    assert builder.op("icmp", x, x, pred="ult").type is b1
    assert builder.op("fptrunc", y, type=bf16).type is bf16
    assert builder.op("zext", x, type=i64).type is i64
    assert len(builder.pop()) == 3
