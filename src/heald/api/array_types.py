"""Array types: what ``wp.array`` means in annotations, and what users call an element type."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from heald.api.array_input import check_rank, element_of
from heald.api.host_value import value_class
from heald.api.scalars import describe
from heald.api.struct import struct_class
from heald.diagnostics import Diagnostic, TypingError
from heald.types import (
    Array,
    ArrayPattern,
    Element,
    IndexedPattern,
    Pattern,
    Scalar,
    Struct,
    as_type,
    is_generic,
)
from heald.types.convert import array_of


def is_type(data: Any) -> bool:
    """Is it a type, rather than data?"""
    if isinstance(data, (type, np.dtype)) or data is typing.Any:
        return True
    return data is not None and as_type(data) is data


def annotation(dtype: Any, ndim: Any) -> Pattern:
    """The type, or for generic arguments the pattern, of array parameters.

    Raises:
        TypingError: no element type (H0207, H0208), or ``ndim`` no number (H0207).
        LaunchError: ``ndim`` is not 1 to 4 (H0711).
    """
    rank = 1 if ndim is None else ndim
    if rank is not typing.Any:
        if isinstance(rank, bool) or not isinstance(rank, int):
            raise TypingError(
                Diagnostic("H0207", f"ndim is a number from 1 to 4, not {describe(rank)}")
            )
        check_rank(rank)
    if dtype is None or dtype is typing.Any:
        return ArrayPattern(typing.Any, rank)
    pattern = as_type(dtype)
    if pattern is None or isinstance(pattern, (Array, ArrayPattern)) or not is_generic(pattern):
        element_of(dtype)  # raises where it is no element type
    return array_of(dtype, rank)


def annotation_key(key: Any) -> tuple[Any, Any]:
    """Element type and number of dimensions between the brackets of an annotation.

    Raises:
        TypingError: there is more (H0207).
    """
    if not isinstance(key, tuple):
        return key, None
    if len(key) != 2:
        raise TypingError(
            Diagnostic(
                "H0207",
                "the brackets of an array annotation take an element type and a number of "
                "dimensions",
                hint="write wp.array[float] or wp.array[float, 2]",
            )
        )
    return key


def indexed_annotation(dtype: Any, ndim: Any) -> IndexedPattern:
    """The pattern of indexed array parameters.

    Raises:
        TypingError, LaunchError: as :func:`annotation`.
    """
    t = annotation(dtype, ndim)
    assert isinstance(t, (Array, ArrayPattern))
    return IndexedPattern(t.dtype, t.ndim)


def public_type(element: Element) -> Any:
    """The element type as users write it: ``wp.float32``, ``wp.vec3``, a struct class."""
    match element:
        case Scalar():
            return element
        case Struct():
            return struct_class(element)
        case _:
            return value_class(element)
