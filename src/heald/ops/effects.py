"""Ops without a result: they exist for what they do."""

from __future__ import annotations

import re

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
    if op.attrs.get("kind", "divergence") != "divergence":
        return f"has no kind {op.attrs['kind']!r}"
    return _condition(op)


PROMISES = frozenset({"assume", "requires"})
"""Roles of ``assume`` whose condition is taken from the user."""
CLAIMS = frozenset({"ensures", "invariant"})
"""Roles of ``assume`` whose condition is to be proved."""


def role_of(op: Op) -> str:
    """What an ``assume`` is for; without the attribute it is a plain promise."""
    return str(op.attrs.get("role", "assume"))


def _assume(op: Op) -> Answer:
    if role_of(op) not in PROMISES | CLAIMS:
        return f"has the role {role_of(op)!r}"
    if not isinstance(op.attrs.get("message", ""), str):
        return "needs a text as message"
    return _condition(op)


MAX_WIDTH = 999
"""The largest width and precision of a conversion that ``printf`` prints."""
_CONVERSION = re.compile(r"%[-+ #0]*(\d*)(?:\.(\d+))?([A-Za-z%])")
_FOR_INTEGERS = "diuxXoc"
_FOR_FLOATS = "eEfFgG"


def conversions_of(text: str) -> str | None:
    """The letters that say how ``printf`` prints its operands; None for a text that cannot be
    printed."""
    found = list(_CONVERSION.finditer(text))
    if "%" in _CONVERSION.sub("", text):
        return None
    for match in found:
        *sizes, letter = match.groups()
        if letter not in f"s%{_FOR_INTEGERS}{_FOR_FLOATS}":
            return None
        if any(len(size or "") > 3 for size in sizes):  # 1000 > MAX_WIDTH
            return None
    return "".join(m.group(3) for m in found if m.group() != "%%")


def _printf(op: Op) -> Answer:
    for name in ("text", "kinds"):
        if not isinstance(op.attrs.get(name), str):
            return f"needs the attribute {name}"
    for value in op.operands:
        if not isinstance(value.type, Scalar):
            return f"prints scalars, not {value.type}"
    return ()


def misprint(op: Op) -> str:
    """Why a ``printf`` from a file cannot print its operands; empty where it can."""
    text, kinds = str(op.attrs["text"]), ",".join(str(value.type) for value in op.operands)
    if op.attrs["kinds"] != kinds:
        return f"it prints {kinds or 'nothing'}, but kinds is {op.attrs['kinds']!r}"
    letters = conversions_of(text)
    if letters is None or len(letters) != len(op.operands):
        return f"{text!r} does not print {len(op.operands)} operands"
    for letter, value in zip(letters, op.operands, strict=True):
        assert isinstance(value.type, Scalar)
        if letter != "s" and (letter in _FOR_FLOATS) != value.type.is_float:
            return f"%{letter} does not print {value.type}"
    return ""


_FAULTS = Handled("it records a fault of the thread")
_PRINTS = Handled("it writes to the print buffer of the launch")
_INFORMS = Handled("it tells the prover a fact and runs no code")

define(
    OpDef(
        name="assert",
        doc="Records a fault with `message` where the operand is false.  The thread goes on to its "
        "next back edge.  With `kind` it is what `divergence` says: threads of a block part.",
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
        doc="The user promises that the operand is true (`role` assume or requires), or claims it "
        "for the prover to show (ensures or invariant).  Verdicts that rest on promises say so, "
        "and no guard goes.",
        arity=1,
        effects=Effect.FAULT,
        type_rule=_assume,
        evaluate=_INFORMS,
        lower=_INFORMS,
        smt=_INFORMS,
        adjoint=_NO_RESULT,
    )
)
