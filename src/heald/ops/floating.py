"""Float arithmetic: IEEE 754, rounded once to nearest even, subnormals kept, never contracted.

The 16-bit floats are computed on in float32 and rounded once, which rounds correctly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from heald.ir import Builder, Effect, Op, Value
from heald.ops import lowering
from heald.ops.carriers import choose, operand_type, quiet, result_type
from heald.ops.definition import (
    Adjoint,
    Emit,
    Evaluate,
    Lower,
    OpDef,
    define,
    encoded_as,
)
from heald.ops.fused import fused_multiply_add
from heald.ops.lowering import rounded_instruction, rounded_intrinsic
from heald.ops.rules import uniform
from heald.types import FLOATS, Scalar, bf16, f32, f64, u16
from heald.types.rounding import narrow, widen

Gradients = tuple[Value | None, ...]


def _define(
    name: str,
    doc: str,
    arity: int,
    evaluate: Evaluate,
    lower: str | Lower,
    adjoint: Adjoint,
    accepted: tuple[Scalar, ...] = FLOATS,
) -> None:
    """One record: what all float arithmetic has in common is said here."""
    define(
        OpDef(
            name=name,
            doc=doc,
            arity=arity,
            effects=Effect.PURE,
            type_rule=uniform(arity, accepted),
            evaluate=quiet(evaluate),
            lower=lower,
            smt=encoded_as(name),
            adjoint=adjoint,
        )
    )


def _rounded(function: Callable[..., Any]) -> Evaluate:
    """Evaluation of a function that numpy rounds correctly in float32 and float64."""

    def evaluate(op: Op, *xs: Any) -> Any:
        t = result_type(op)
        return narrow(t, function(*(widen(t, x) for x in xs)))

    return evaluate


# -- arithmetic ------------------------------------------------------------------------------------


def _product_adjoint(b: Builder, g: Value, op: Op) -> Gradients:
    x, y = op.operands
    return b.op("fmul", g, y), b.op("fmul", g, x)


def _quotient_adjoint(b: Builder, g: Value, op: Op) -> Gradients:
    to_x = b.op("fdiv", g, op.operands[1])
    return to_x, b.op("fneg", b.op("fmul", to_x, op.result))


def _root_adjoint(b: Builder, g: Value, op: Op) -> Gradients:
    half = b.op("fmul", g, b.const(result_type(op), 0.5))
    return (b.op("fdiv", half, op.result),)


def _fused_adjoint(b: Builder, g: Value, op: Op) -> Gradients:
    x, y, _ = op.operands
    return b.op("fmul", g, y), b.op("fmul", g, x), g


_define(
    "fadd",
    "Sum, rounded once.",
    2,
    _rounded(np.add),
    rounded_instruction("fadd"),
    lambda b, g, op: (g, g),
)
_define(
    "fsub",
    "Difference, rounded once.",
    2,
    _rounded(np.subtract),
    rounded_instruction("fsub"),
    lambda b, g, op: (g, b.op("fneg", g)),
)
_define(
    "fmul",
    "Product, rounded once; never fused with a sum.",
    2,
    _rounded(np.multiply),
    rounded_instruction("fmul"),
    _product_adjoint,
)
_define(
    "fdiv",
    "Quotient, rounded once; division by zero gives infinity or NaN.",
    2,
    _rounded(np.divide),
    rounded_instruction("fdiv"),
    _quotient_adjoint,
)
_define(
    "fsqrt",
    "Square root, rounded once; NaN below zero, -0 for -0.",
    1,
    _rounded(np.sqrt),
    rounded_intrinsic("sqrt"),
    _root_adjoint,
)
_define(
    "fma",
    "`a * b + c` with one rounding, of float32 or float64.",
    3,
    lambda _, a, b, c: fused_multiply_add(a, b, c),
    "call {T} @llvm.fma.{S}({T} {0}, {T} {1}, {T} {2})",
    _fused_adjoint,
    accepted=(f32, f64),
)


# -- the sign bit ----------------------------------------------------------------------------------


def _sign_mask(t: Scalar) -> Any:
    """The bit that ``copysign``, ``fabs`` and ``fneg`` act on."""
    return np.dtype(f"uint{t.bits}").type(1 << (t.bits - 1))


def _on_sign(function: Callable[..., Any]) -> Evaluate:
    """Evaluation of ``function(mask, bits...)`` on the bits of floats."""

    def evaluate(op: Op, *xs: Any) -> Any:
        t = result_type(op)
        mask = _sign_mask(t)
        return function(mask, *(x.view(mask.dtype) for x in xs)).view(t.carrier)

    return evaluate


def _lower_sign(for_floats: Lower, for_bits: Lower) -> Lower:
    """LLVM's own instruction, or integer code for bfloat16, whose LLVM type is i16."""

    def lower(emit: Emit, op: Op, *names: str) -> str:
        return (for_bits if result_type(op) is bf16 else for_floats)(emit, op, *names)

    return lower


def _lower_neg_bits(emit: Emit, _: Op, a: str) -> str:
    return lowering.binary(emit, "xor", u16, a, emit.splat(u16, 0x8000))


def _lower_abs_bits(emit: Emit, _: Op, a: str) -> str:
    return lowering.binary(emit, "and", u16, a, emit.splat(u16, 0x7FFF))


def _lower_copysign_bits(emit: Emit, _: Op, a: str, b: str) -> str:
    size = lowering.binary(emit, "and", u16, a, emit.splat(u16, 0x7FFF))
    sign = lowering.binary(emit, "and", u16, b, emit.splat(u16, 0x8000))
    return lowering.binary(emit, "or", u16, size, sign)


def _lower_neg(emit: Emit, op: Op, a: str) -> str:
    return emit.ins(f"fneg {emit.type(result_type(op))} {a}")


def _lower_intrinsic(name: str) -> Lower:
    return lambda emit, op, *names: lowering.call(emit, name, result_type(op), *names)


def _abs_adjoint(b: Builder, g: Value, op: Op) -> Gradients:
    """The gradient of `-x if x < 0 else x`."""
    x = op.operands[0]
    negative = b.op("fcmp", x, b.zero(x.type), pred="olt")
    return (b.op("select", negative, b.op("fneg", g), g),)


def _copysign_adjoint(b: Builder, g: Value, op: Op) -> Gradients:
    """The gradient flips where the sign of the first operand did; the second has none."""
    x, y = op.operands
    one = b.const(result_type(op), 1.0)
    flip = b.op("fmul", b.op("copysign", one, x), b.op("copysign", one, y))
    return b.op("fmul", g, flip), None


_define(
    "fneg",
    "The number with its sign bit flipped, also of NaN.",
    1,
    _on_sign(lambda mask, a: a ^ mask),
    _lower_sign(_lower_neg, _lower_neg_bits),
    lambda b, g, op: (b.op("fneg", g),),
)
_define(
    "fabs",
    "The number with its sign bit cleared, also of NaN.  The gradient at 0 is 1.",
    1,
    _on_sign(lambda mask, a: a & ~mask),
    _lower_sign(_lower_intrinsic("fabs"), _lower_abs_bits),
    _abs_adjoint,
)
_define(
    "copysign",
    "The first number with the sign bit of the second, also of NaN.",
    2,
    _on_sign(lambda mask, a, b: (a & ~mask) | (b & mask)),
    _lower_sign(_lower_intrinsic("copysign"), _lower_copysign_bits),
    _copysign_adjoint,
)


# -- minimum and maximum ---------------------------------------------------------------------------


def _extremum(relation: Callable[[Any, Any], Any]) -> Evaluate:
    def evaluate(op: Op, a: Any, b: Any) -> Any:
        t = operand_type(op)
        return choose(relation(widen(t, b), widen(t, a)), b, a)

    return evaluate


def _lower_extremum(pred: str) -> Lower:
    def lower(emit: Emit, op: Op, a: str, b: str) -> str:
        t = operand_type(op)
        rhs, lhs = lowering.widen(emit, t, b), lowering.widen(emit, t, a)
        taken = lowering.binary(emit, f"fcmp {pred}", lowering.computed_in(t), rhs, lhs)
        return lowering.choose(emit, taken, t, b, a)

    return lower


def _extremum_adjoint(pred: str) -> Adjoint:
    """The whole gradient goes to the operand that was taken."""

    def adjoint(b: Builder, g: Value, op: Op) -> Gradients:
        x, y = op.operands
        zero = b.zero(g.type)
        taken = b.op("fcmp", y, x, pred=pred)
        return b.op("select", taken, zero, g), b.op("select", taken, g, zero)

    return adjoint


_define(
    "fmin",
    "`b if b < a else a`: the first operand where they are equal or where one is NaN.",
    2,
    _extremum(np.less),
    _lower_extremum("olt"),
    _extremum_adjoint("olt"),
)
_define(
    "fmax",
    "`b if b > a else a`: the first operand where they are equal or where one is NaN.",
    2,
    _extremum(np.greater),
    _lower_extremum("ogt"),
    _extremum_adjoint("ogt"),
)


# -- rounding to whole numbers ---------------------------------------------------------------------

# `roundeven` names its rounding; `rint` would use the mode that the thread happens to be in.
for _name, _doc, _function, _intrinsic in (
    ("floor", "The largest whole number that is not above the operand.", np.floor, "floor"),
    ("ceil", "The smallest whole number that is not below the operand.", np.ceil, "ceil"),
    ("ftrunc", "The whole number next to the operand towards zero.", np.trunc, "trunc"),
    ("rint", "The nearest whole number; halfway, the even one.", np.rint, "roundeven"),
):
    _define(
        _name,
        f"{_doc}  Keeps the sign of zero; its derivative is zero.",
        1,
        _rounded(_function),
        rounded_intrinsic(_intrinsic),
        lambda b, g, op: (None,),
    )
