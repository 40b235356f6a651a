"""Scalar conversions, the meeting of two operands, and truth."""

from __future__ import annotations

import ast

from heald.frontend.operands import Literal, Refused, describe, spell
from heald.frontend.session import Session
from heald.ir import Value
from heald.types import (
    Array,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    b1,
    can_widen,
    describe_type,
    f32,
    f64,
    fits,
    i32,
    i64,
    join,
    leaves,
    literal_type,
    u32,
    u64,
)


def materialise(s: Session, node: ast.AST, literal: Literal, t: Scalar) -> Value:
    """A literal as a constant of ``t``; refused where it does not fit."""
    if isinstance(literal.value, bool) and can_widen(b1, t):
        return s.const(t, literal.value)
    if not fits(literal.value, t):
        raise _does_not_fit(s, node, literal, t)
    return s.const(t, literal.value)


def _does_not_fit(s: Session, node: ast.AST, literal: Literal, t: Scalar) -> Refused:
    name = describe_type(t)
    value = literal.value
    if t.is_integer and isinstance(value, int):
        hint = f"{name} holds {t.lowest} to {t.highest}"
        wider = next((w for w in (i32, u32, i64, u64) if w.lowest <= value <= w.highest), None)
        hint += f"; wp.{wider.public}({value}) is a value of a wider type" if wider else ""
    elif t.is_integer or t is b1:
        hint = f"write wp.{name}({value!r}) if the conversion is meant"
    elif isinstance(value, int) and value.bit_length() <= t.bits:
        hint = f"no {name} is exactly this integer; write {value}.0 for the nearest"
    elif isinstance(value, int):
        hint = ""
    else:
        hint = f"wp.float64({value!r}) is a value of a wider type" if t is not f64 else ""
    return s.refuse(
        literal.span or node,
        "H0202",
        f"the literal {spell(value)} does not fit {name}",
        hint=hint,
    )


def as_value(s: Session, node: ast.AST, operand: Value | Literal) -> Value:
    """A value that may be bound to a name: a literal takes int32, float32 or bool."""
    if isinstance(operand, Literal):
        return materialise(s, node, operand, literal_type(operand.value))
    return operand


def convert(s: Session, node: ast.AST, operand: Value | Literal, t: Scalar) -> Value:
    """The explicit conversion ``t(operand)``: truncates, saturates or rounds as DESIGN section 4
    says."""
    if isinstance(operand, Literal):
        return _convert_literal(s, node, operand, t)
    source = operand.type
    if not isinstance(source, Scalar):
        raise s.refuse(
            node,
            "H0201",
            f"cannot convert {describe(operand)} to {describe_type(t)}",
            "not a number",
        )
    if source is t:
        return operand
    if t is b1:
        return truth_of_number(s, operand)
    if source is b1 and t.is_float:
        return s.op("select", operand, s.const(t, 1.0), s.const(t, 0.0))
    known = s.literals.get(operand)
    if known is not None and fits(known, t):
        return s.const(t, known)
    if source.is_float and t.is_float and source.bits == t.bits:  # float16 and bfloat16
        return s.op("fptrunc", s.op("fpext", operand, type=f32), type=t)
    return s.op(_conversion(source, t), operand, type=t)


def _conversion(source: Scalar, t: Scalar) -> str:
    if source.is_float:
        if t.is_float:
            return "fpext" if t.bits > source.bits else "fptrunc"
        return "fptosi_sat" if t.kind == "i" else "fptoui_sat"
    if t.is_float:
        return "sitofp" if source.kind == "i" else "uitofp"
    if source.bits == t.bits:
        return "bitcast"
    if source.bits > t.bits:
        return "trunc"
    return "sext" if source.kind == "i" else "zext"


def _convert_literal(s: Session, node: ast.AST, literal: Literal, t: Scalar) -> Value:
    value = literal.value
    if t is b1:
        return s.const(b1, bool(value))
    if t.is_float:
        try:
            return s.const(t, float(value))
        except OverflowError:
            raise _does_not_fit(s, node, literal, t) from None
    if isinstance(value, float):
        clipped = 0.0 if value != value else max(min(value, 2.0**64), -(2.0**63))
        return s.const(t, max(t.lowest, min(t.highest, int(clipped))))
    if not t.lowest <= int(value) <= t.highest:
        raise _does_not_fit(s, node, literal, t)
    return s.const(t, int(value))


def widen(s: Session, node: ast.AST, operand: Value | Literal, t: Type) -> Value:
    """``operand`` where a ``t`` is expected: literals adapt, scalars widen, nothing narrows in
    silence."""
    if isinstance(operand, Literal):
        if isinstance(t, Scalar):
            return materialise(s, node, operand, t)
    elif operand.type is t:
        return operand
    elif isinstance(t, Scalar) and isinstance(operand.type, Scalar):
        if can_widen(operand.type, t):
            return convert(s, node, operand, t)
        name = describe_type(t)
        raise s.refuse(
            node,
            "H0205",
            f"expected {name}, got {describe(operand)}",
            "this conversion can lose information",
            hint=f"write wp.{name}(...) if it is meant",
        )
    castable = (
        isinstance(operand, Value)
        and type(operand.type) is type(t)
        and shape_of(operand.type) == shape_of(t) != ()
    )
    expected = describe_type(t)
    raise s.refuse(
        node,
        "H0201",
        f"expected {expected}, got {describe(operand)}",
        hint=f"write wp.{expected}(...) to convert it" if castable else "",
    )


def meet(
    s: Session, node: ast.AST, a: Value | Literal, b: Value | Literal
) -> tuple[Value, Value, Scalar]:
    """Two scalar operands in the type in which they meet."""
    ta, tb = s.type_of(a), s.type_of(b)
    t = meeting_type(a, b, ta, tb)
    if t is None:
        hint = ""
        if isinstance(ta, Scalar) and isinstance(tb, Scalar):
            hint = f"cast one side, for example wp.{describe_type(_wider(ta, tb))}(...)"
        raise s.refuse(
            node,
            "H0201",
            f"{describe(a)} and {describe(b)} do not meet in one type",
            "operands of this operation",
            hint=hint,
        )
    return _adapt(s, node, a, t), _adapt(s, node, b, t), t


def _wider(a: Scalar, b: Scalar) -> Scalar:
    if a.is_float != b.is_float:
        return a if a.is_float else b
    return a if a.bits > b.bits or (a.bits == b.bits and a.kind == "i") else b


def meeting_type(a: Value | Literal, b: Value | Literal, ta: Type, tb: Type) -> Scalar | None:
    """The common scalar type of two operands, or None."""
    if not (isinstance(ta, Scalar) and isinstance(tb, Scalar)):
        return None
    if isinstance(a, Literal) and isinstance(b, Literal):
        return join(ta, tb)
    if isinstance(a, Literal) or isinstance(b, Literal):
        literal, t = (a, tb) if isinstance(a, Literal) else (b, ta)
        own = literal_type(literal.value) if isinstance(literal, Literal) else t
        if b1 in (own, t) or (own.is_float and t.is_integer):
            return join(own, t)
        return t
    return join(ta, tb)


def _adapt(s: Session, node: ast.AST, operand: Value | Literal, t: Scalar) -> Value:
    if isinstance(operand, Literal):
        return materialise(s, node, operand, t)
    return convert(s, node, operand, t)


def truth_of_number(s: Session, value: Value) -> Value:
    """``value != 0``; NaN is true, as in Python."""
    t = value.type
    assert isinstance(t, Scalar)
    if t is b1:
        return value
    name, pred = ("fcmp", "une") if t.is_float else ("icmp", "ne")
    return s.op(name, value, s.const(t, 0), pred=pred)


def truth(s: Session, node: ast.AST, operand: Value | Literal) -> Value | Literal:
    """The operand as a condition."""
    if isinstance(operand, Literal):
        return Literal(bool(operand.value))
    if operand in s.literals:
        return Literal(bool(s.literals[operand]))
    if isinstance(operand.type, Scalar):
        return truth_of_number(s, operand)
    raise s.refuse(
        node, "H0201", f"{describe(operand)} has no truth value", hint="compare it with something"
    )


def join_types(a: Type, b: Type) -> Type | None:
    """The type in which two values of a merge meet; composites and arrays meet only when equal."""
    if a is b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return join(a, b)
    return None


def composite_scalar(t: Type) -> Scalar | None:
    """The scalar type of a vector, matrix, quaternion or transform; None for anything else."""
    if isinstance(t, (Vector, Matrix, Quaternion, Transform)):
        return t.dtype
    return None


def shape_of(t: Type) -> tuple[int, ...]:
    """The shape of a vector, matrix, quaternion or transform; empty for anything else."""
    return t.shape if isinstance(t, (Vector, Matrix, Quaternion, Transform)) else ()


def is_plain(t: Type) -> bool:
    """Can values of ``t`` be merged and carried?  Arrays, and structs that hold them, cannot."""
    if isinstance(t, Array):
        return False
    return not isinstance(t, Struct) or not any(isinstance(leaf, Array) for leaf in leaves(t))
