"""Ops without a result: they exist for what they do."""

from __future__ import annotations

from heald.ir import Effect, Op
from heald.ops.definition import Handled, NoAdjoint, OpDef, define
from heald.ops.rules import Answer, count_refusal
from heald.types import Scalar, b1

_NO_RESULT = NoAdjoint("there is no result to differentiate")


def _condition(op: Op) -> Answer:
    refusal = count_refusal(op, 1)
    if refusal:
        return refusal
    given = op.operands[0].type
    return () if given is b1 else f"takes a b1, not {given}"


def _assert(op: Op) -> Answer:
    if not isinstance(op.attrs.get("message"), str):
        return "needs a message"
    return _condition(op)


def _printf(op: Op) -> Answer:
    for name in ("text", "kinds"):
        if not isinstance(op.attrs.get(name), str):
            return f"needs the attribute {name}"
    for value in op.operands:
        if not isinstance(value.type, Scalar):
            return f"prints scalars, not {value.type}"
    return ()


_FAULTS = Handled("it records a fault of the thread")
_PRINTS = Handled("it writes to the print buffer of the launch")
_INFORMS = Handled("it tells the prover a fact and runs no code")

define(
    OpDef(
        name="assert",
        doc="Records a fault with `message` where the operand is false.  The thread goes on to its "
        "next back edge.",
        arity=1,
        effects=Effect.FAULT,
        type_rule=_assert,
        evaluate=_FAULTS,
        lower=_FAULTS,
        smt=_FAULTS,
        adjoint=_NO_RESULT,
    )
)
define(
    OpDef(
        name="printf",
        doc="Prints the operands as `text` and `kinds` say.",
        arity=None,
        effects=Effect.PRINT,
        type_rule=_printf,
        evaluate=_PRINTS,
        lower=_PRINTS,
        smt=_PRINTS,
        adjoint=_NO_RESULT,
    )
)
# The promise holds where it stands, so `assume` counts as able to fault: that keeps it from being
# moved to where the source does not execute it.
define(
    OpDef(
        name="assume",
        doc="The user promises that the operand is true.  Verdicts that rest on it say so, and no "
        "guard goes.",
        arity=1,
        effects=Effect.FAULT,
        type_rule=_condition,
        evaluate=_INFORMS,
        lower=_INFORMS,
        smt=_INFORMS,
        adjoint=_NO_RESULT,
    )
)
