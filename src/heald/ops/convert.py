"""Conversions.  Each takes its result type from the declared result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from heald.ir import Builder, Effect, Op, Value
from heald.ops import lowering
from heald.ops.carriers import as_signed, as_unsigned, choose, operand_type, quiet, result_type
from heald.ops.definition import (
    Adjoint,
    Emit,
    Evaluate,
    Lower,
    NoAdjoint,
    OpDef,
    define,
    encoded_as,
)
from heald.ops.rules import converts
from heald.types import Scalar, b1, bf16, f32, f64
from heald.types.rounding import from_float64, narrow, widen

Pairs = Callable[[Scalar, Scalar], bool]

_DISCRETE = NoAdjoint("integers carry no gradient")


def _define(
    name: str,
    doc: str,
    allowed: Pairs,
    meaning: str,
    evaluate: Evaluate,
    lower: str | Lower,
    adjoint: Adjoint | NoAdjoint,
) -> None:
    """One record: what all conversions have in common is said here."""
    define(
        OpDef(
            name=name,
            doc=doc,
            arity=1,
            effects=Effect.PURE,
            type_rule=converts(allowed, meaning),
            evaluate=quiet(evaluate),
            lower=lower,
            smt=encoded_as(name),
            adjoint=adjoint,
        )
    )


# -- integer to integer ----------------------------------------------------------------------------


def _resize(view: Callable[[Scalar, Any], Any]) -> Evaluate:
    def evaluate(op: Op, a: Any) -> Any:
        source, target = operand_type(op), result_type(op)
        return (a if source is b1 else view(source, a)).astype(target.carrier)

    return evaluate


_define(
    "sext",
    "A wider integer; copies of the top bit come in.",
    lambda s, t: s.is_integer and t.is_integer and s.bits < t.bits,
    "an integer to a wider one",
    _resize(as_signed),
    "sext {A} {0} to {T}",
    _DISCRETE,
)
_define(
    "zext",
    "A wider integer from an integer or b1; zeros come in.",
    lambda s, t: (s.is_integer or s is b1) and t.is_integer and s.bits < t.bits,
    "an integer or b1 to a wider integer",
    _resize(as_unsigned),
    "zext {A} {0} to {T}",
    _DISCRETE,
)
_define(
    "trunc",
    "The low bits of an integer.",
    lambda s, t: s.is_integer and t.is_integer and s.bits > t.bits,
    "an integer to a narrower one",
    _resize(as_unsigned),
    "trunc {A} {0} to {T}",
    _DISCRETE,
)


# -- float to float --------------------------------------------------------------------------------


def _fpext(op: Op, a: Any) -> Any:
    return widen(operand_type(op), a).astype(result_type(op).carrier)


def _fptrunc(op: Op, a: Any) -> Any:
    target = result_type(op)
    return narrow(target, a) if operand_type(op) is f32 else from_float64(target, a)


def _lower_fpext(emit: Emit, op: Op, a: str) -> str:
    target = result_type(op)
    single = lowering.widen(emit, operand_type(op), a)
    return single if target is f32 else lowering.cast(emit, "fpext", f32, single, f64)


def _lower_fptrunc(emit: Emit, op: Op, a: str) -> str:
    convert = lowering.narrow if operand_type(op) is f32 else lowering.from_float64
    return convert(emit, result_type(op), a)


def _cast_back(how: str) -> Adjoint:
    def adjoint(b: Builder, g: Value, op: Op) -> tuple[Value | None, ...]:
        return (b.op(how, g, type=operand_type(op)),)

    return adjoint


_define(
    "fpext",
    "A wider float; exact.",
    lambda s, t: s.is_float and t.is_float and s.bits < t.bits,
    "a float to a wider one",
    _fpext,
    _lower_fpext,
    _cast_back("fptrunc"),
)
_define(
    "fptrunc",
    "A narrower float, rounded once to nearest even.",
    lambda s, t: s.is_float and t.is_float and s.bits > t.bits,
    "a float to a narrower one",
    _fptrunc,
    _lower_fptrunc,
    _cast_back("fpext"),
)


# -- integer to float ------------------------------------------------------------------------------

# bfloat16 has the range of float32 and 16 bits less, so float32 on the way would round twice: the
# integer goes through an exact float64.  A float64 holds 53 bits; of larger integers the low 11 are
# replaced by one sticky bit, far below the eight that decide the rounding.
_EXACT = 1 << 53
_LOW = (1 << 11) - 1


def _exact_in_float64(t: Scalar, a: Any) -> Any:
    """A 64-bit integer as one that float64 holds and bfloat16 rounds to the same number."""
    low, zero = a.dtype.type(_LOW), a.dtype.type(0)
    sticky = choose((a & low) == zero, zero, a.dtype.type(_LOW + 1))
    large = a >= a.dtype.type(_EXACT)
    if t.kind == "i":
        large = large | (a <= a.dtype.type(-_EXACT))
    return choose(large, (a & ~low) | sticky, a)


def _to_float(op: Op, a: Any) -> Any:
    source, target = operand_type(op), result_type(op)
    if target is not bf16:
        # No integer is both finite in float16 and inexact in float32, so two roundings are one.
        return narrow(target, a.astype(np.float64 if target is f64 else np.float32))
    exact = _exact_in_float64(source, a) if source.bits == 64 else a
    return from_float64(bf16, exact.astype(np.float64))


def _lower_to_float(how: str) -> Lower:
    def lower(emit: Emit, op: Op, a: str) -> str:
        source, target = operand_type(op), result_type(op)
        if target is not bf16:
            middle = lowering.computed_in(target)
            return lowering.narrow(emit, target, lowering.cast(emit, how, source, a, middle))
        exact = _lower_exact_in_float64(emit, source, a) if source.bits == 64 else a
        return lowering.from_float64(emit, bf16, lowering.cast(emit, how, source, exact, f64))

    return lower


def _lower_exact_in_float64(emit: Emit, t: Scalar, a: str) -> str:
    """The same as ``_exact_in_float64``; `a + 2^53 >= 2^54` unsigned says large for either sign."""
    low = lowering.binary(emit, "and", t, a, emit.splat(t, _LOW))
    whole = lowering.binary(emit, "icmp eq", t, low, emit.splat(t, 0))
    sticky = lowering.choose(emit, whole, t, emit.splat(t, 0), emit.splat(t, _LOW + 1))
    rest = lowering.binary(emit, "sub", t, a, low)
    odd = lowering.binary(emit, "or", t, rest, sticky)
    offset, limit = (_EXACT, 2 * _EXACT) if t.kind == "i" else (0, _EXACT)
    moved = lowering.binary(emit, "add", t, a, emit.splat(t, offset))
    large = lowering.binary(emit, "icmp uge", t, moved, emit.splat(t, limit))
    return lowering.choose(emit, large, t, odd, a)


_define(
    "sitofp",
    "A float from a signed integer, rounded once to nearest even.",
    lambda s, t: s.kind == "i" and t.is_float,
    "a signed integer to a float",
    _to_float,
    _lower_to_float("sitofp"),
    lambda b, g, op: (None,),
)
_define(
    "uitofp",
    "A float from an unsigned integer or b1, rounded once to nearest even.",
    lambda s, t: s.kind in "ub" and t.is_float,
    "an unsigned integer or b1 to a float",
    _to_float,
    _lower_to_float("uitofp"),
    lambda b, g, op: (None,),
)


# -- float to integer ------------------------------------------------------------------------------


def _saturate(op: Op, a: Any) -> Any:
    """float64 holds every source exactly, and both the lowest integer and the highest plus 1."""
    t = result_type(op)
    carrier = t.carrier.type
    whole = np.trunc(widen(operand_type(op), a).astype(np.float64))
    below, above = whole < float(t.lowest), whole >= float(t.highest + 1)
    inside = ~(below | above | np.isnan(whole))
    number = choose(inside, whole, np.float64(0)).astype(t.carrier)
    return choose(below, carrier(t.lowest), choose(above, carrier(t.highest), number))


def _lower_saturate(intrinsic: str) -> Lower:
    """LLVM's intrinsic; of vectors it would be taken apart lane by lane."""

    def lower(emit: Emit, op: Op, a: str) -> str:
        source, target = operand_type(op), result_type(op)
        wide, middle = lowering.widen(emit, source, a), lowering.computed_in(source)
        if lowering.is_vector(emit):
            return _lower_saturate_vector(emit, intrinsic, middle, wide, target)
        name = f"@llvm.{intrinsic}.sat.{emit.suffix(target)}.{emit.suffix(middle)}"
        return emit.ins(f"call {emit.type(target)} {name}({emit.type(middle)} {wide})")

    return lower


def _lower_saturate_vector(
    emit: Emit, intrinsic: str, source: Scalar, a: str, target: Scalar
) -> str:
    """Converts what lies inside the type, and 0 for the rest, which then gets its bound.

    Both bounds, the upper one plus 1, are powers of two or 0, so floats hold them.
    """
    lowest = emit.splat(source, float(target.lowest))
    limit = emit.splat(source, float(target.highest + 1))
    from_below = lowering.binary(emit, "fcmp oge", source, a, lowest)
    above = lowering.binary(emit, "fcmp oge", source, a, limit)
    below = lowering.binary(emit, "fcmp olt", source, a, lowest)
    under = lowering.binary(emit, "fcmp olt", source, a, limit)
    inside = lowering.binary(emit, "and", b1, from_below, under)
    safe = lowering.choose(emit, inside, source, a, emit.splat(source, 0.0))
    number = lowering.cast(emit, intrinsic, source, safe, target)
    number = lowering.choose(emit, above, target, emit.splat(target, target.highest), number)
    return lowering.choose(emit, below, target, emit.splat(target, target.lowest), number)


_define(
    "fptosi_sat",
    "A signed integer from a float, towards zero; beyond the type its lowest or highest number, 0 "
    "for NaN.",
    lambda s, t: s.is_float and t.kind == "i",
    "a float to a signed integer",
    _saturate,
    _lower_saturate("fptosi"),
    _DISCRETE,
)
_define(
    "fptoui_sat",
    "An unsigned integer from a float, towards zero; beyond the type 0 or its highest number, 0 "
    "for NaN.",
    lambda s, t: s.is_float and t.kind == "u",
    "a float to an unsigned integer",
    _saturate,
    _lower_saturate("fptoui"),
    _DISCRETE,
)


# -- bits ------------------------------------------------------------------------------------------

_define(
    "bitcast",
    "The same bits as another scalar type of the same size.  Which NaN a float operation gave "
    "depends on the device, so the bits of a NaN do too.",
    lambda s, t: s is not b1 and t is not b1 and s.bits == t.bits,
    "between numbers of one size",
    lambda op, a: a.view(result_type(op).carrier),
    "bitcast {A} {0} to {T}",
    NoAdjoint(
        "the bits of a number have no derivative; a function that uses them needs its own adjoint",
        refuse=True,
    ),
)
