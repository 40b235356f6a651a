"""Type rules that many ops share: the result types, or a sentence that says why not."""

from __future__ import annotations

from collections.abc import Callable

from heald.ir import Op
from heald.ir.structure import TypeRule
from heald.types import INTEGERS, Scalar, Type, b1

SIGNED: tuple[Scalar, ...] = tuple(t for t in INTEGERS if t.kind == "i")
UNSIGNED: tuple[Scalar, ...] = tuple(t for t in INTEGERS if t.kind == "u")

Answer = tuple[Type, ...] | str


def count_refusal(op: Op, arity: int) -> str:
    """A sentence when ``op`` has not ``arity`` operands, else nothing."""
    found = len(op.operands)
    plural = "" if arity == 1 else "s"
    return "" if found == arity else f"takes {arity} operand{plural}, not {found}"


def uniform(arity: int, accepted: tuple[Scalar, ...]) -> TypeRule:
    """All operands and the result have one type, which is among ``accepted``."""

    def rule(op: Op) -> Answer:
        types = tuple(v.type for v in op.operands)
        return count_refusal(op, arity) or _one_of(types, accepted) or (types[0],)

    return rule


def compares(accepted: Callable[[str], tuple[Scalar, ...]]) -> TypeRule:
    """Two operands of one type give b1.  ``accepted`` tells the types that a predicate takes."""

    def rule(op: Op) -> Answer:
        pred = op.attrs.get("pred")
        allowed = accepted(pred) if isinstance(pred, str) else ()
        if not allowed:
            return f"has no predicate {pred!r}"
        types = tuple(v.type for v in op.operands)
        return count_refusal(op, 2) or _one_of(types, allowed) or (b1,)

    return rule


def converts(allowed: Callable[[Scalar, Scalar], bool], meaning: str) -> TypeRule:
    """One operand gives the declared result type; ``meaning`` says which pairs are ``allowed``."""

    def rule(op: Op) -> Answer:
        refusal = count_refusal(op, 1)
        if refusal:
            return refusal
        if len(op.results) != 1:
            return "needs a declared result type"
        source, target = op.operands[0].type, op.results[0].type
        if not isinstance(source, Scalar) or not isinstance(target, Scalar):
            return f"converts scalars, not {source} to {target}"
        if not allowed(source, target):
            return f"converts {meaning}, not {source} to {target}"
        return (target,)

    return rule


def _one_of(types: tuple[Type, ...], accepted: tuple[Scalar, ...]) -> str:
    first = types[0]
    if first not in accepted:
        return f"takes {', '.join(map(str, accepted))}, not {first}"
    if any(t is not first for t in types):
        return f"takes operands of one type, not {', '.join(map(str, types))}"
    return ""
