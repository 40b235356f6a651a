"""Arrays as launch entries take them: bytes that begin with a word for everything that is checked.

The word says element type, number of dimensions and device by a number of this process, whether the
memory is read-only, whether some extent reaches 2^31, and on GPUs whether elements lie as they
must.  Pointer, extents and byte strides follow as in a parameter block.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence

from heald.runtime.device import Device
from heald.types import Element, align_of

READ_ONLY = 1
"""The bit of memory that must not be written."""
WIDE = 2
"""The bit of arrays that need 64-bit indices."""
MISALIGNED = 4
"""The bit of arrays of a GPU whose elements do not lie at multiples of their alignment."""

_WIDE_EXTENT = 1 << 31
_SHIFT = 3
_LAYOUTS = tuple(struct.Struct(f"<QQ{2 * ndim}q") for ndim in range(5))
_NUMBERS = itertools.count(1)
_SIGNATURES: dict[tuple[Element, int, str], int] = {}
"""Numbers given so far; types are never forgotten, so they never grow beyond what programs use."""


def array_signature(element: Element, ndim: int, device: Device) -> int:
    """The word of writable arrays with small extents; no other kind of array has it."""
    key = (element, ndim, device.alias)
    found = _SIGNATURES.get(key)
    if found is None:
        found = _SIGNATURES.setdefault(key, next(_NUMBERS) << _SHIFT)
    return found


def is_aligned(element: Element, ptr: int, shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Does every element lie at a multiple of its alignment?"""
    if 0 in shape:
        return True
    align = align_of(element)
    steps = (step for extent, step in zip(shape, strides, strict=True) if extent > 1)
    return not any(number % align for number in (ptr, *steps))


def pack_array(
    element: Element,
    device: Device,
    ptr: int,
    shape: Sequence[int],
    strides: Sequence[int],
    *,
    read_only: bool,
) -> bytes:
    """The bytes of an array: its word, address, extents and byte strides."""
    word = array_signature(element, len(shape), device)
    if read_only:
        word |= READ_ONLY
    if max(shape) >= _WIDE_EXTENT:
        word |= WIDE
    if device.is_cuda and not is_aligned(element, ptr, shape, strides):
        word |= MISALIGNED
    return _LAYOUTS[len(shape)].pack(word, ptr, *shape, *strides)
