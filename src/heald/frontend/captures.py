"""Names and captured Python objects: what they become in a kernel."""

from __future__ import annotations

import ast
import enum
from typing import Any

import numpy as np

from heald.diagnostics import Diagnostic
from heald.frontend.operands import Binding, Operand, Refused, Several, Static, Unset, literal_of
from heald.frontend.session import Session, near_miss
from heald.types import Array, as_type, is_generic, leaves


def read_name(s: Session, node: ast.Name) -> Operand:
    """The meaning of a name where it stands."""
    entry = s.frame.env.get(node.id)
    match entry:
        case Binding():
            return entry.operand
        case Unset(None):
            raise Refused(None)
        case Unset(why) if why is not None:
            raise Refused(
                Diagnostic(why.code, why.message, s.span(node), "read here", why.notes, why.hint)
            )
    found = s.frame.source.lookup(node.id)
    if not found:
        near = near_miss(node.id, [*s.frame.env, *s.frame.source.visible_names()])
        hint = f"did you mean {near}?" if near else ""
        raise s.refuse(node, "H0301", f"name '{node.id}' is not defined", hint=hint)
    return operand_of(s, node, found[0])


def operand_of(s: Session, node: ast.AST, value: Any) -> Operand:
    """A captured Python object: numbers become literals, host vectors constants, the rest stays Python."""
    if isinstance(value, enum.Enum) and not isinstance(value, (int, float)):
        value = value.value
    number = literal_of(value)
    if number is not None:
        return number
    if isinstance(value, np.generic):
        scalar = as_type(type(value))
        if scalar is None or is_generic(scalar):
            raise _unusable(s, node, value, f"numpy type {type(value).__name__} has no kernel type")
        return s.const(scalar, value.item())
    if isinstance(value, (tuple, list)):
        return Several(tuple(operand_of(s, node, item) for item in value))
    described = getattr(type(value), "__heald_type__", None)
    if isinstance(value, type) or described is None:
        return Static(value)
    composite = as_type(described)
    if composite is None or is_generic(composite) or isinstance(composite, Array):
        raise _unusable(s, node, value, "an array is passed as an argument, not captured")
    parts = leaves(composite)
    if any(isinstance(leaf, Array) for leaf in parts):
        raise _unusable(s, node, value, "a struct with arrays is passed as an argument, not captured")
    constants = [
        s.const(leaf, leaf(x).item()) for leaf, x in zip(parts, value.leaves, strict=True)  # type: ignore[operator, union-attr, arg-type]
    ]
    return s.builder.compose(composite, constants)


def _unusable(s: Session, node: ast.AST, value: Any, why: str) -> Refused:
    return s.refuse(
        node,
        "H0304",
        f"captured {type(value).__name__} cannot be used in a kernel",
        why,
        hint="captured numbers, vectors, functions and types are compiled in; pass the rest as arguments",
    )
