"""Why a call fits no overload, said at the argument that does not fit."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType

from heald.diagnostics import Note
from heald.frontend.intrinsics import Arguments
from heald.frontend.operands import Literal, Operand, Refused, describe
from heald.frontend.session import Session, near_miss
from heald.frontend.signatures import accepted, pattern_of, signature_text
from heald.frontend.sources import ParameterSource, parameters_of
from heald.ir import Value
from heald.types import (
    Array,
    Scalar,
    Type,
    TypeClass,
    as_concrete,
    can_widen,
    describe_type,
    fits,
)


def no_overload(
    s: Session, arguments: Arguments, name: str, functions: Sequence[FunctionType]
) -> Refused:
    """The error for arguments that fit no signature."""
    if len(functions) == 1:
        (function,) = functions
        notes = [Note(f"it is {name}{signature_text(function)}")]
        refused = _wrong_names(s, arguments, name, parameters_of(function), notes)
        refused = refused or _wrong_type(s, arguments, name, parameters_of(function), notes)
        if refused is not None:
            return refused
    return fits_none(s, arguments, name, functions)


def fits_none(
    s: Session,
    arguments: Arguments,
    name: str,
    functions: Sequence[FunctionType],
    why: Sequence[Note] = (),
) -> Refused:
    """The error that shows what is given, why that is wrong where it is known, and what fits."""
    given = [describe(o) for o in arguments.positional]
    given += [f"{k}={describe(o)}" for k, o in arguments.named.items()]
    return s.refuse(
        arguments.node,
        "H0203",
        f"'{name}' does not take ({', '.join(given)})",
        "these arguments fit no signature",
        (*why, *accepted(name, functions)),
        _cast_hint(arguments, functions),
    )


def _wrong_names(
    s: Session,
    arguments: Arguments,
    name: str,
    parameters: Sequence[ParameterSource],
    notes: Sequence[Note],
) -> Refused | None:
    """Too many, too few, unknown or doubled arguments of a function with one signature."""

    def refuse(node: ast.AST, what: str, hint: str = "") -> Refused:
        return s.refuse(node, "H0305", f"'{name}' {what}", notes=notes, hint=hint)

    ordered = [p.name for p in parameters if p.by_position]
    count = len(arguments.positional)
    if count > len(ordered):
        extra = arguments.at(arguments.positional[len(ordered)])
        return refuse(extra, f"takes {len(ordered)} arguments by position, not {count}")
    bound = set(ordered[:count])
    for key, operand in arguments.named.items():
        known = [p.name for p in parameters if p.by_name]
        if key in bound:
            return refuse(arguments.at(operand), f"is given '{key}' twice")
        if key not in known:
            near = near_miss(key, known)
            hint = f"did you mean {near}?" if near else ""
            return refuse(arguments.at(operand), f"has no parameter '{key}'", hint)
        bound.add(key)
    missing = [p.name for p in parameters if p.name not in bound and not p.has_default]
    if missing:
        names = " and ".join(f"'{m}'" for m in missing)
        return refuse(arguments.node, f"misses {names}")
    return None


def _wrong_type(
    s: Session,
    arguments: Arguments,
    name: str,
    parameters: Sequence[ParameterSource],
    notes: Sequence[Note],
) -> Refused | None:
    """The first argument that no conversion makes fit, where it alone decides that."""
    ordered = [p.name for p in parameters if p.by_position]
    bound = dict(zip(ordered, arguments.positional, strict=False)) | dict(arguments.named)
    for parameter in parameters:
        operand = bound.get(parameter.name)
        t = as_concrete(pattern_of(parameter))
        if operand is None or t is None or _fits(operand, t):
            continue
        expected = describe_type(t)
        return s.refuse(
            arguments.at(operand),
            "H0203",
            f"'{name}' takes {expected} as '{parameter.name}', not {describe(operand)}",
            notes=notes,
            hint=_cast(operand, t),
        )
    return None


def _fits(operand: Operand, t: Type) -> bool:
    match operand:
        case Literal(value):
            return isinstance(t, Scalar) and fits(value, t)
        case Value(type=Array(dtype, ndim)):
            return isinstance(t, Array) and (t.dtype, t.ndim) == (dtype, ndim)
        case Value(type=Scalar() as own) if isinstance(t, Scalar):
            return can_widen(own, t)
        case Value(type=own):
            return own is t
    return False


def _cast(operand: Operand, pattern: Type) -> str:
    scalar = isinstance(operand, Value) and isinstance(operand.type, Scalar)
    if scalar and isinstance(pattern, Scalar):
        return f"write wp.{pattern.public}(...) if the conversion is meant"
    return ""


def _cast_hint(arguments: Arguments, functions: Sequence[FunctionType]) -> str:
    """``float(...)``, where an integer stands at a place for floats."""
    for function in functions:
        for parameter, operand in zip(parameters_of(function), arguments.positional, strict=False):
            pattern = pattern_of(parameter)
            is_integer = (
                isinstance(operand, Value)
                and isinstance(operand.type, Scalar)
                and operand.type.is_integer
            )
            if is_integer and isinstance(pattern, TypeClass) and pattern.members[-1].is_float:
                return "write float(...) around an integer"
    return ""
