"""Patterns over types: what a generic parameter accepts, and what a match binds."""

from __future__ import annotations

import typing
from dataclasses import dataclass

from heald.types.descriptors import (
    ARITHMETIC,
    FLOATS,
    INTEGERS,
    Array,
    Element,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    i32,
)
from heald.types.indexed import as_indexed, indexed_array

Anything = typing.Any


@dataclass(frozen=True, slots=True)
class TypeClass:
    """A named set of scalar types.  Within one signature every use of it stands for one type."""

    name: str
    members: tuple[Scalar, ...]

    def __repr__(self) -> str:
        return f"heald.{self.name}"


FLOAT = TypeClass("Float", FLOATS)
INT = TypeClass("Int", INTEGERS)
SCALAR = TypeClass("Scalar", ARITHMETIC)

ScalarPattern = Scalar | TypeClass | typing.Any
Extent = int | str | typing.Any


@dataclass(frozen=True, slots=True)
class VectorPattern:
    """A vector; ``length`` is a number, ``Any``, or a name that must bind to one number in a
    signature."""

    dtype: ScalarPattern
    length: Extent


@dataclass(frozen=True, slots=True)
class MatrixPattern:
    """A matrix; extents as for :class:`VectorPattern`."""

    dtype: ScalarPattern
    rows: Extent
    cols: Extent


@dataclass(frozen=True, slots=True)
class QuaternionPattern:
    """A quaternion of a generic scalar type."""

    dtype: ScalarPattern


@dataclass(frozen=True, slots=True)
class TransformPattern:
    """A transformation of a generic scalar type."""

    dtype: ScalarPattern


@dataclass(frozen=True, slots=True)
class ArrayPattern:
    """An array whose element type, rank, or both are generic."""

    dtype: typing.Any
    ndim: Extent

    def __repr__(self) -> str:
        return f"heald.array(dtype={self.dtype!r}, ndim={self.ndim!r})"


@dataclass(frozen=True, slots=True)
class IndexedPattern:
    """An indexed array.  It is never one type: each axis may have indices or not."""

    dtype: typing.Any
    ndim: Extent

    def __repr__(self) -> str:
        return f"heald.indexedarray(dtype={self.dtype!r}, ndim={self.ndim!r})"


Pattern = (
    Type
    | TypeClass
    | VectorPattern
    | MatrixPattern
    | QuaternionPattern
    | TransformPattern
    | ArrayPattern
    | IndexedPattern
    | typing.Any
)

_CONCRETE = (Scalar, Vector, Matrix, Quaternion, Transform, Array, Struct)


def is_generic(pattern: Pattern) -> bool:
    """True unless ``pattern`` is one concrete type."""
    return not isinstance(pattern, _CONCRETE)


def usual_type(pattern: Pattern) -> Type | None:
    """The one type that a pattern is, and for an indexed array that with int32 indices for every
    axis; None where it does not say enough."""
    if isinstance(pattern, IndexedPattern):
        if isinstance(pattern.ndim, int) and isinstance(pattern.dtype, Element):
            return indexed_array(pattern.dtype, (i32,) * pattern.ndim)
        return None
    return pattern if isinstance(pattern, _CONCRETE) else None


def match_pattern(pattern: Pattern, t: Type, bound: dict[str, typing.Any]) -> bool:
    """Does ``t`` fit ``pattern``?  Names of type classes and extents are bound in ``bound`` and
    must agree."""
    match pattern:
        case TypeClass():
            return t in pattern.members and bound.setdefault(pattern.name, t) is t
        case VectorPattern():
            return (
                isinstance(t, Vector)
                and _match_scalar(pattern.dtype, t.dtype, bound)
                and _match_extent(pattern.length, t.length, bound)
            )
        case MatrixPattern():
            return (
                isinstance(t, Matrix)
                and _match_scalar(pattern.dtype, t.dtype, bound)
                and _match_extent(pattern.rows, t.rows, bound)
                and _match_extent(pattern.cols, t.cols, bound)
            )
        case QuaternionPattern():
            return isinstance(t, Quaternion) and _match_scalar(pattern.dtype, t.dtype, bound)
        case TransformPattern():
            return isinstance(t, Transform) and _match_scalar(pattern.dtype, t.dtype, bound)
        case ArrayPattern():
            return (
                isinstance(t, Array)
                and match_pattern(pattern.dtype, t.dtype, bound)
                and _match_extent(pattern.ndim, t.ndim, bound)
            )
        case IndexedPattern():
            indexed = as_indexed(t)
            return (
                indexed is not None
                and match_pattern(pattern.dtype, indexed.dtype, bound)
                and _match_extent(pattern.ndim, indexed.ndim, bound)
            )
        case _ if pattern is typing.Any:
            return True
    return pattern is t


def _match_scalar(pattern: ScalarPattern, t: Scalar, bound: dict[str, typing.Any]) -> bool:
    return match_pattern(pattern, t, bound)


def _match_extent(pattern: Extent, extent: int, bound: dict[str, typing.Any]) -> bool:
    if isinstance(pattern, str):
        return bool(bound.setdefault(pattern, extent) == extent)
    return pattern is typing.Any or pattern == extent
