"""What a function gives, in the types that its annotation says."""

from __future__ import annotations

import ast
import typing
from typing import Any

from heald.diagnostics import Span
from heald.frontend.conversions import widen
from heald.frontend.operands import Literal, Operand, Several, Static, describe
from heald.frontend.session import Session
from heald.frontend.signatures import pattern_text, result_patterns
from heald.frontend.sources import declared_result
from heald.ir import Value
from heald.types import Array, Pattern, Scalar, TypeClass, can_widen, fits, match_pattern


def as_declared(s: Session, node: ast.AST | Span, operand: Operand) -> Operand:
    """What the function being lowered gives at ``node``, converted as an assignment to a declared
    local would be.

    Raises:
        Refused: it is of another type (H0105), or the annotation means nothing (H0207).
    """
    function = s.frame.source.function
    declared = declared_result(function)
    if declared is None:
        return operand
    if declared.problem:
        raise _no_type(s, f"cannot be evaluated: {declared.problem}")
    patterns = result_patterns(function)
    assert patterns is not None
    items = operand.items if isinstance(operand, Several) else (operand,)
    if operand == Static(None):
        items = ()
    if len(items) != len(patterns):
        raise _other(s, node, patterns, operand if items else Static(None))
    bound: dict[str, Any] = {}
    found: list[Operand] = []
    for item, pattern in zip(items, patterns, strict=True):
        if not _fits(item, pattern, bound):
            if pattern is None and not isinstance(item, Static):
                raise _no_type(s, "is no kernel type")
            raise _other(s, node, patterns, operand)
        if isinstance(pattern, Scalar) and isinstance(item, (Value, Literal)):
            where = node if isinstance(node, ast.AST) else s.frame.source.tree
            found.append(widen(s, where, item, pattern))
        else:
            found.append(item)
    if isinstance(operand, Several):
        return Several(tuple(found))
    return found[0] if found else operand


def _fits(operand: Operand, pattern: Pattern | None, bound: dict[str, Any]) -> bool:
    match operand:
        case _ if pattern is typing.Any:
            return True
        case Literal(value):
            if isinstance(pattern, TypeClass):
                return any(fits(value, t) for t in pattern.members)
            return isinstance(pattern, Scalar) and fits(value, pattern)
        case Value(type=Scalar() as own) if isinstance(pattern, Scalar):
            return can_widen(own, pattern)
        case Value(type=own):
            if isinstance(own, Array) and own.space != "global":  # any memory will do
                own = Array(own.dtype, own.ndim)
            return match_pattern(pattern, own, bound)
        case Static():
            return pattern is None
    return False


def _no_type(s: Session, why: str) -> Exception:
    source = s.frame.source
    return s.refuse(
        source.tree.returns or source.name_span(s.frame.call),
        "H0207",
        f"the annotation of what '{source.name}' gives {why}",
        hint="name a type such as `float`, `tuple[float, int]` or `wp.vec3`, or leave it out",
    )


def _other(
    s: Session, node: ast.AST | Span, patterns: tuple[Pattern | None, ...], operand: Operand
) -> Exception:
    texts = [pattern_text(pattern) for pattern in patterns]
    items = operand.items if isinstance(operand, Several) else (operand,)
    given = "nothing" if operand == Static(None) else ", ".join(describe(item) for item in items)
    return s.refuse(
        node,
        "H0105",
        f"'{s.frame.source.name}' is annotated to give {', '.join(texts) or 'nothing'}, this gives "
        f"{given or 'nothing'}",
        hint="convert it, or change what stands behind `->`",
    )
