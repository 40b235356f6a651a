"""Bytes: how elements lie in arrays and how parameters are packed for a launch.

Vectors and matrices are packed row-major with the alignment of their scalar; structs follow the C
rules (each field at its natural alignment, total size rounded up), nested structs by the same rule.
An array passed by value is ``{pointer, int64 shape[ndim], int64 byte_stride[ndim]}``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from heald.types.descriptors import Array, Scalar, Struct, Type


def _round_up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _scalar_size(t: Scalar) -> int:
    return max(1, t.bits // 8)


@cache
def align_of(t: Type) -> int:
    """Alignment in bytes."""
    match t:
        case Scalar():
            return _scalar_size(t)
        case Array():
            return 8
        case Struct():
            return max((align_of(f) for _, f in t.fields), default=1)
        case _:
            return _scalar_size(t.dtype)


@cache
def size_of(t: Type) -> int:
    """Size in bytes; a local array is the bytes of its elements."""
    match t:
        case Scalar():
            return _scalar_size(t)
        case Array(space="global"):
            return 8 + 16 * t.ndim
        case Array():
            return int(np.prod(t.shape or ())) * size_of(t.dtype)
        case Struct():
            offset = 0
            for _, f in t.fields:
                offset = _round_up(offset, align_of(f)) + size_of(f)
            return _round_up(offset, align_of(t))
        case _:
            return int(np.prod(t.shape)) * _scalar_size(t.dtype)


@cache
def leaf_offsets(t: Type) -> tuple[int, ...]:
    """Byte offset of each leaf inside one value of ``t``."""
    match t:
        case Scalar() | Array():
            return (0,)
        case Struct():
            offset, out = 0, []
            for _, f in t.fields:
                offset = _round_up(offset, align_of(f))
                out += [offset + inner for inner in leaf_offsets(f)]
                offset += size_of(f)
            return tuple(out)
        case _:
            step = _scalar_size(t.dtype)
            return tuple(range(0, size_of(t), step))


def parameter_layout(types: Iterable[Type]) -> tuple[tuple[int, ...], int]:
    """Offsets of parameters packed in order with natural alignment, and the total size (multiple of
    8)."""
    offset, out = 0, []
    for t in types:
        offset = _round_up(offset, align_of(t))
        out.append(offset)
        offset += size_of(t)
    return tuple(out), _round_up(offset, 8)


@cache
def numpy_dtype(t: Type) -> np.dtype[Any]:
    """The numpy dtype of one element: a subarray for vectors and matrices, a structured dtype for
    structs.

    Raises:
        TypeError: for arrays, which are never elements.
    """
    match t:
        case Scalar():
            return t.carrier
        case Array():
            raise TypeError("an array cannot be an array element")
        case Struct():
            names = [n for n, _ in t.fields]
            formats = [numpy_dtype(f) for _, f in t.fields]
            offset, offsets = 0, []
            for _, f in t.fields:
                offset = _round_up(offset, align_of(f))
                offsets.append(offset)
                offset += size_of(f)
            return np.dtype(
                {"names": names, "formats": formats, "offsets": offsets, "itemsize": size_of(t)}
            )
        case _:
            return np.dtype((t.dtype.carrier, t.shape))
