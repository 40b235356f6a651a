"""From what users write in annotations and dtypes to descriptors."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from heald.types.descriptors import (
    SCALARS,
    Array,
    Bfloat16,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    b1,
    bf16,
    f32,
    i32,
)
from heald.types.generic import (
    ArrayPattern,
    IndexedPattern,
    MatrixPattern,
    Pattern,
    QuaternionPattern,
    TransformPattern,
    TypeClass,
    VectorPattern,
    is_generic,
)

_PYTHON: dict[Any, Any] = {int: i32, float: f32, bool: b1, Bfloat16: bf16}
_NUMPY = {np.dtype(t.public): t for t in SCALARS if t is not bf16}
_PATTERNS = (
    TypeClass,
    VectorPattern,
    MatrixPattern,
    QuaternionPattern,
    TransformPattern,
    ArrayPattern,
    IndexedPattern,
)


def as_type(annotation: Any) -> Pattern | None:
    """The type or pattern meant by ``annotation``, or None.

    Accepts descriptors and patterns, ``int``/``float``/``bool``, numpy scalar types and dtypes
    (and ``ml_dtypes.bfloat16``), ``Any``, and any class with a ``__heald_type__`` (host vectors,
    matrices, structs).
    """
    if isinstance(annotation, _PATTERNS) or not is_generic(annotation):
        return annotation
    if annotation is typing.Any:
        return typing.Any
    if isinstance(annotation, type):
        if annotation in _PYTHON:
            return _PYTHON[annotation]
        if issubclass(annotation, np.generic):
            return _scalar_of(np.dtype(annotation))
    if isinstance(annotation, np.dtype):
        return _scalar_of(annotation)
    described = getattr(annotation, "__heald_type__", None)
    return described if described is None or described is annotation else as_type(described)


def _scalar_of(dtype: np.dtype[Any]) -> Scalar | None:
    return bf16 if is_ml_bfloat16(dtype) else _NUMPY.get(dtype)


def is_ml_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Is it the bfloat16 of the package ml_dtypes?"""
    return dtype.name == "bfloat16" and dtype.itemsize == 2


def as_concrete(annotation: Any) -> Type | None:
    """The type meant by ``annotation`` where it is one concrete type, else None."""
    t = as_type(annotation)
    if isinstance(t, (Scalar, Vector, Matrix, Quaternion, Transform, Struct, Array)):
        return t
    return None


def array_of(dtype: Any, ndim: Any) -> Pattern:
    """The array type or pattern of an element annotation and a rank.

    Raises:
        TypeError: the element annotation is no type.
    """
    element = as_type(dtype)
    if isinstance(element, (Scalar, Vector, Matrix, Quaternion, Transform, Struct)):
        return ArrayPattern(element, ndim) if ndim is typing.Any else Array(element, ndim)
    if element is None or isinstance(element, (Array, ArrayPattern, IndexedPattern)):
        raise TypeError(f"{dtype!r} cannot be an array element type")
    return ArrayPattern(element, ndim)
