"""Names and captured Python objects: what they become in a kernel."""

from __future__ import annotations

import ast
import enum
from typing import Any

import numpy as np

from heald.diagnostics import Diagnostic
from heald.frontend.operands import Binding, Operand, Refused, Several, Static, Unset, literal_of
from heald.frontend.session import Session, near_miss
from heald.frontend.tables import table_type
from heald.ir import Value
from heald.types import Array, Scalar, Struct, Type, array_leaves, as_concrete


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
        captured_too = bool(s.frame.source.lookup(node.id))
        raise s.refuse(
            node,
            "H0302",
            f"'{node.id}' is read before it is set",
            "assigned in this function, so it is a local",
            hint="a captured name cannot be assigned; use another name for the local"
            if captured_too
            else f"insert `{node.id} = ...` above",
        )
    found = s.frame.source.lookup(node.id)
    if not found:
        near = near_miss(node.id, [*s.frame.env, *s.frame.source.visible_names()])
        hint = f"did you mean {near}?" if near else ""
        raise s.refuse(node, "H0301", f"name '{node.id}' is not defined", hint=hint)
    return operand_of(s, node, found[0])


def captured(s: Session, node: ast.expr) -> tuple[Any, ...]:
    """The Python object that a captured name or a chain of attributes means, in a tuple of one.

    Empty for anything else.  This is how an enum member or a named tuple has attributes.
    """
    match node:
        case ast.Name(id=name):
            entry = s.frame.env.get(name)
            if isinstance(entry, Binding) and isinstance(entry.operand, Static):
                return (entry.operand.object,)
            if entry is not None or name in s.frame.source.local_names:
                return ()
            found: tuple[Any, ...] = s.frame.source.lookup(name)
            return found
        case ast.Attribute(value=base, attr=name):
            found = captured(s, base)
            try:
                return (getattr(found[0], name),) if found else ()
            except Exception:  # noqa: BLE001 - reported where the attribute itself is lowered
                return ()
    return ()


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
    if table_type(value) is not None:
        known = s.tables.get(id(value))
        if known is None:
            raise _unusable(s, node, value, "tables are read by kernels, and functions they call")
        return known
    described = getattr(type(value), "__heald_type__", None)
    if isinstance(value, type) or described is None:
        return Static(value)
    composite = as_concrete(described)
    if composite is None or isinstance(composite, Array):
        raise _unusable(s, node, value, "an array is passed as an argument, not captured")
    if array_leaves(composite):
        raise _unusable(
            s, node, value, "a struct with arrays is passed as an argument, not captured"
        )
    return s.builder.compose(composite, _constants(s, composite, value))


def _constants(s: Session, t: Type, value: Any) -> list[Value]:
    """The leaves of a host value of type ``t``."""
    match t:
        case Scalar():
            return [s.const(t, value)]
        case Struct():
            return [c for name, f in t.fields for c in _constants(s, f, getattr(value, name))]
    assert not isinstance(t, Array)
    return [s.const(t.dtype, x) for x in value.leaves]


def _unusable(s: Session, node: ast.AST, value: Any, why: str) -> Refused:
    return s.refuse(
        node,
        "H0304",
        f"a captured {type(value).__name__} cannot be used in a kernel",
        why,
        hint="numbers, vectors, functions and types are compiled in; pass the rest as arguments",
    )
