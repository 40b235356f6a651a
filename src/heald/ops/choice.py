"""Choice between two values."""

from __future__ import annotations

from heald.ir import Builder, Effect, Op, Value
from heald.ops.carriers import choose
from heald.ops.definition import OpDef, define, encoded_as
from heald.ops.rules import Answer, count_refusal
from heald.types import Scalar, b1


def _rule(op: Op) -> Answer:
    refusal = count_refusal(op, 3)
    if refusal:
        return refusal
    condition, then, other = (v.type for v in op.operands)
    if condition is not b1:
        return f"takes a b1 first, not {condition}"
    if not isinstance(then, Scalar) or then is not other:
        return f"chooses between scalars of one type, not {then} and {other}"
    return (then,)


def _adjoint(b: Builder, g: Value, op: Op) -> tuple[Value | None, ...]:
    zero = b.zero(g.type)
    condition = op.operands[0]
    return None, b.op("select", condition, g, zero), b.op("select", condition, zero, g)


define(
    OpDef(
        name="select",
        doc="The second operand where the first is true, else the third.",
        arity=3,
        effects=Effect.PURE,
        type_rule=_rule,
        evaluate=lambda _, c, a, b: choose(c, a, b),
        lower="select {C} {0}, {T} {1}, {T} {2}",
        smt=encoded_as("select"),
        adjoint=_adjoint,
    )
)
