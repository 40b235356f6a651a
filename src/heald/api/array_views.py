"""Where the elements of views lie: reshaped, transposed, seen as another type."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from heald.api.array_input import bad_shape, check_aligned, check_shape
from heald.api.scalars import integer_of
from heald.api.struct import spell
from heald.diagnostics import Diagnostic, TypingError
from heald.types import size_of
from heald.types.descriptors import Element

Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""Shape and byte strides."""


def reshape_extents(given: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that ``reshape`` was asked for, with the size of ``shape``; one may be -1.

    Raises:
        LaunchError: no shape, or another size (H0711).
    """
    size = prod(shape)
    wanted = list(given) if isinstance(given, (tuple, list, np.ndarray)) else [given]
    if wanted.count(-1) == 1:
        rest = -prod(wanted)
        if rest <= 0 or size % rest:
            raise bad_shape(f"{size} elements do not divide into shape {given}")
        wanted[wanted.index(-1)] = size // rest
    extents = check_shape(wanted)
    if prod(extents) != size:
        raise bad_shape(f"{size} elements of shape {shape} do not make {extents}")
    return extents


def transpose_layout(layout: Layout, axes: Any) -> Layout:
    """Dimensions in the order of ``axes``, or in reverse where that is None.

    Raises:
        LaunchError: ``axes`` do not name each dimension once (H0711).
    """
    shape, strides = layout
    ndim = len(shape)
    order = range(ndim - 1, -1, -1) if axes is None else _axes(axes, ndim)
    return tuple(shape[k] for k in order), tuple(strides[k] for k in order)


def _axes(axes: Any, ndim: int) -> Sequence[int]:
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    numbers = [integer_of(axis) for axis in given]
    order = [k + ndim if k is not None and -ndim <= k < 0 else k for k in numbers]
    named = [k for k in order if k is not None]
    if sorted(named) != list(range(ndim)) or len(named) != len(order):
        raise bad_shape(
            f"axes {given} do not name each dimension of an array of {ndim} dimensions once",
            f"give the numbers 0 to {ndim - 1} in the order that you want",
        )
    return named


def view_layout(old: Element, new: Element, ptr: int, layout: Layout) -> Layout:
    """The same bytes as elements of another type.

    Elements of equal size keep their shape; smaller ones split those of the last dimension, larger
    ones join them.

    Raises:
        TypingError: the sizes do not suit, or the memory is not aligned for ``new`` (H0712).
    """
    found = _view_layout(old, new, layout)
    if 0 not in found[0]:
        check_aligned(new, ptr, found, f"a view as {spell(new)}")
    return found


def _view_layout(old: Element, new: Element, layout: Layout) -> Layout:
    shape, strides = layout
    before, after = size_of(old), size_of(new)
    if before == after:
        return layout
    length = shape[-1] * before
    what = f"{spell(old)} of {before} bytes cannot be seen as {spell(new)} of {after} bytes"
    if before % after and after % before:
        raise _no_view(what, "one size must be a multiple of the other")
    if strides[-1] != before:
        raise _no_view(
            f"{what}: the last dimension has a stride of {strides[-1]} bytes",
            "only elements side by side can be split or joined; use a.contiguous().view(...)",
        )
    if length % after:
        raise _no_view(f"{what}: {shape[-1]} of them in a row are {length} bytes", "")
    return (*shape[:-1], length // after), (*strides[:-1], after)


def _no_view(message: str, hint: str) -> TypingError:
    return TypingError(Diagnostic("H0712", message, hint=hint))


def overlaps_itself(layout: Layout, itemsize: int) -> bool:
    """May two indices mean the same bytes?  False only where that is impossible.

    Dimensions sorted by stride must each step over everything that the smaller ones reach.
    """
    shape, strides = layout
    if 0 in shape:
        return False
    reach = itemsize
    used = sorted((abs(s), e) for e, s in zip(shape, strides, strict=True) if e > 1)
    for stride, extent in used:
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False
