"""Names and captured Python objects: what they become in a kernel."""

from __future__ import annotations

import ast
import enum
from typing import Any

import numpy as np

from heald.diagnostics import Diagnostic
from heald.frontend.operands import Binding, Operand, Refused, Several, Static, Unset, literal_of
from heald.frontend.session import Session, near_miss
from heald.types import Array, Scalar, as_concrete, leaves


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
    if node.id in s.frame.source.local_names:
        raise s.refuse(
            node,
            "H0302",
            f"'{node.id}' is read before it is set",
            "assigned in this function, so it is a local",
            hint="a captured name cannot be assigned; use another name for the local",
        )
    found = s.frame.source.lookup(node.id)
    if not found:
        near = near_miss(node.id, [*s.frame.env, *s.frame.source.visible_names()])
        hint = f"did you mean {near}?" if near else ""
        raise s.refuse(node, "H0301", f"name '{node.id}' is not defined", hint=hint)
    return operand_of(s, node, found[0])


def operand_of(s: Session, node: ast.AST, value: Any) -> Operand:
    """A captured Python object: numbers become literals, host vectors constants, the rest stays
    Python."""
    if isinstance(value, enum.Enum) and not isinstance(value, (int, float)):
        value = value.value
    number = literal_of(value)
    if number is not None:
        return number
    if isinstance(value, np.generic):
        scalar = as_concrete(type(value))
        if not isinstance(scalar, Scalar):
            raise _unusable(s, node, value, f"numpy type {type(value).__name__} has no kernel type")
        return s.const(scalar, value.item())
    if isinstance(value, (tuple, list)):
        return Several(tuple(operand_of(s, node, item) for item in value))
    described = getattr(type(value), "__heald_type__", None)
    if isinstance(value, type) or described is None:
        return Static(value)
    composite = as_concrete(described)
    if composite is None or isinstance(composite, Array):
        raise _unusable(s, node, value, "an array is passed as an argument, not captured")
    constants = []
    for leaf, x in zip(leaves(composite), value.leaves, strict=True):
        if isinstance(leaf, Array):
            why = "a struct with arrays is passed as an argument, not captured"
            raise _unusable(s, node, value, why)
        constants.append(s.const(leaf, leaf(x).item()))
    return s.builder.compose(composite, constants)


def _unusable(s: Session, node: ast.AST, value: Any, why: str) -> Refused:
    return s.refuse(
        node,
        "H0304",
        f"captured {type(value).__name__} cannot be used in a kernel",
        why,
        hint="numbers, vectors, functions and types are compiled in; pass the rest as arguments",
    )
