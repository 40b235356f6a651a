"""What functions take and give, by their annotations."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from heald.diagnostics import Note
from heald.frontend.sources import ParameterSource, declared_result, own_signature, parameters_of
from heald.types import (
    ArrayPattern,
    IndexedPattern,
    MatrixPattern,
    Pattern,
    QuaternionPattern,
    TransformPattern,
    TypeClass,
    VectorPattern,
    as_concrete,
    as_type,
    describe_type,
)

_MAX_SIGNATURES = 8
_PUBLIC = ("Float", "Int", "Scalar")


def pattern_of(parameter: ParameterSource) -> Pattern:
    """The type or pattern that a parameter takes; anything where none is written."""
    return as_type(parameter.annotation) if parameter.has_annotation else Any


def result_patterns(function: FunctionType) -> tuple[Pattern | None, ...] | None:
    """The annotated types of what a function gives, None for what is no type; None for a function
    that says nothing."""
    declared = declared_result(function)
    if declared is None or declared.problem:
        return None
    annotation = declared.annotation
    if annotation is None or annotation is type(None):
        return ()
    if typing.get_origin(annotation) is tuple:
        return tuple(as_type(part) for part in typing.get_args(annotation))
    if isinstance(annotation, tuple):
        return tuple(as_type(part) for part in annotation)
    return (as_type(annotation),)


def accepted(name: str, functions: Sequence[FunctionType]) -> tuple[Note, ...]:
    """What overloads take, one note for each of the first."""
    notes = [Note(f"it accepts {name}{signature_text(f)}") for f in functions[:_MAX_SIGNATURES]]
    if len(functions) > _MAX_SIGNATURES:
        notes.append(Note(f"and {len(functions) - _MAX_SIGNATURES} more signatures"))
    return tuple(notes)


def signature_text(function: FunctionType) -> str:
    """``(x: float32, n: int32 = 1)`` as users write it."""
    parts = []
    for p in parameters_of(function):
        pattern = pattern_of(p)
        parts.append(
            f"{p.name}: {pattern_text(pattern)}" + (f" = {p.default!r}" if p.has_default else "")
        )
    return f"({', '.join(parts)})"


def result_text(function: FunctionType) -> str:
    """`` -> float32`` of a function that says what it gives, else nothing."""
    annotation = own_signature(function).return_annotation
    if annotation is inspect.Signature.empty:
        return ""
    return f" -> {pattern_text(as_type(annotation))}"


def pattern_text(pattern: Pattern | None) -> str:
    """A pattern as users write it."""
    match pattern:
        case TypeClass(name, members):
            return name if name in _PUBLIC else " or ".join(t.public for t in members)
        case VectorPattern(dtype, length):
            return f"vector(length={_extent_text(length)}, dtype={pattern_text(dtype)})"
        case MatrixPattern(dtype, rows, cols):
            shape = f"({_extent_text(rows)}, {_extent_text(cols)})"
            return f"matrix(shape={shape}, dtype={pattern_text(dtype)})"
        case QuaternionPattern(dtype):
            return f"quaternion(dtype={pattern_text(dtype)})"
        case TransformPattern(dtype):
            return f"transformation(dtype={pattern_text(dtype)})"
        case ArrayPattern(dtype, ndim):
            return f"array(dtype={pattern_text(dtype)}, ndim={_extent_text(ndim)})"
        case IndexedPattern(dtype, ndim):
            return f"indexedarray(dtype={pattern_text(dtype)}, ndim={_extent_text(ndim)})"
    t = as_concrete(pattern)
    return "Any" if t is None else describe_type(t)


def _extent_text(extent: Any) -> str:
    return "Any" if extent is Any else str(extent)
