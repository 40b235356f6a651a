"""Comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from heald.ir import Effect, Op
from heald.ops import lowering
from heald.ops.carriers import as_signed, as_unsigned, operand_type, quiet
from heald.ops.definition import Emit, NoAdjoint, OpDef, define, encoded_as
from heald.ops.rules import compares
from heald.types import FLOATS, INTEGERS, Scalar, b1
from heald.types.rounding import widen

_RELATIONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

ICMP_PREDS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FCMP_PREDS = ("oeq", "une", "olt", "ole", "ogt", "oge")


def _integers(pred: str) -> tuple[Scalar, ...]:
    if pred in ("eq", "ne"):
        return (b1, *INTEGERS)
    return INTEGERS if pred in ICMP_PREDS else ()


def _floats(pred: str) -> tuple[Scalar, ...]:
    return FLOATS if pred in FCMP_PREDS else ()


@quiet
def _icmp(op: Op, a: Any, b: Any) -> Any:
    pred, t = str(op.attrs["pred"]), operand_type(op)
    if pred in ("eq", "ne"):
        return _RELATIONS[pred](a, b)
    view = as_signed if pred[0] == "s" else as_unsigned
    return _RELATIONS[pred[1:]](view(t, a), view(t, b))


@quiet
def _fcmp(op: Op, a: Any, b: Any) -> Any:
    t = operand_type(op)
    return _RELATIONS[str(op.attrs["pred"])[1:]](widen(t, a), widen(t, b))


def _lower_fcmp(emit: Emit, op: Op, a: str, b: str) -> str:
    t = operand_type(op)
    lhs, rhs = lowering.widen(emit, t, a), lowering.widen(emit, t, b)
    how = f"fcmp {op.attrs['pred']}"
    return lowering.binary(emit, how, lowering.computed_in(t), lhs, rhs)


define(
    OpDef(
        name="icmp",
        doc="Comparison of two integers by `pred`: eq and ne (also of b1), slt sle sgt sge of the "
        "bits as signed, ult ule ugt uge of the bits as unsigned numbers.",
        arity=2,
        effects=Effect.PURE,
        type_rule=compares(_integers),
        evaluate=_icmp,
        lower="icmp {pred} {A} {0}, {1}",
        smt=encoded_as("icmp"),
        adjoint=NoAdjoint("a truth value carries no gradient"),
    )
)
define(
    OpDef(
        name="fcmp",
        doc="Comparison of two floats by `pred`: oeq olt ole ogt oge are false on NaN, une is "
        "true on NaN.",
        arity=2,
        effects=Effect.PURE,
        type_rule=compares(_floats),
        evaluate=_fcmp,
        lower=_lower_fcmp,
        smt=encoded_as("fcmp"),
        adjoint=NoAdjoint("a truth value carries no gradient"),
    )
)
