"""Indexing on the host: from what stands in brackets to the place of a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heald.api.scalars import describe, integer_of
from heald.diagnostics import Diagnostic, OutOfBoundsError, TypingError


def find_view(
    key: Any, shape: Sequence[int], strides: Sequence[int]
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Byte offset, shape and strides of what ``key`` selects; an empty shape means one element.

    Integers (negative ones count from the end), slices with any step, and one ``...``, as in numpy.

    Raises:
        OutOfBoundsError: an integer outside its axis, or too many of them (H0401).
        TypingError: something else in the brackets (H0201).
    """
    keys = _one_for_each_axis(key, len(shape))
    offset = 0
    new_shape, new_strides = [], []
    for axis, (k, extent, stride) in enumerate(zip(keys, shape, strides, strict=True)):
        if isinstance(k, slice):
            start, count, step = _slice(k, extent)
            offset += start * stride
            new_shape.append(count)
            new_strides.append(step * stride)
        else:
            offset += _position(k, extent, axis, shape) * stride
    return offset, tuple(new_shape), tuple(new_strides)


def key_text(key: Any) -> str:
    """What stood in the brackets, with them."""
    keys = key if isinstance(key, tuple) else (key,)
    return f"[{', '.join(map(str, keys))}]"


def _one_for_each_axis(key: Any, ndim: int) -> list[Any]:
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [n for n, k in enumerate(keys) if k is ...]
    if len(dots) > 1:
        raise TypingError(Diagnostic("H0201", "an index has at most one `...`"))
    missing = ndim - (len(keys) - len(dots))
    if missing < 0:
        raise OutOfBoundsError(
            Diagnostic("H0401", f"{len(keys)} indices are too many for an array of rank {ndim}")
        )
    at = dots[0] if dots else len(keys)
    return keys[:at] + [slice(None)] * missing + keys[at + len(dots) :]


def _position(key: Any, extent: int, axis: int, shape: Sequence[int]) -> int:
    position = integer_of(key)
    if position is None:
        raise TypingError(
            Diagnostic(
                "H0201",
                f"an array is indexed by integers, slices and `...`, not by {describe(key)}",
                hint="wp.indexedarray(a, ...) picks by lists, a.numpy()[...] also by masks",
            )
        )
    if not -extent <= position < extent:
        raise OutOfBoundsError(
            Diagnostic(
                "H0401", f"index {position} is outside axis {axis} of an array of shape {shape}"
            )
        )
    return position + extent if position < 0 else position


def _slice(key: slice, extent: int) -> tuple[int, int, int]:
    """First position, number of positions, and step."""
    try:
        start, stop, step = key.indices(extent)
    except (TypeError, ValueError) as error:
        raise TypingError(Diagnostic("H0201", f"slice {key} of an array: {error}")) from None
    return start, len(range(start, stop, step)), step
