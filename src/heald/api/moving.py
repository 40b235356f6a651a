"""Copies within a GPU between arrays whose elements have gaps, by a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from heald.api.array import array, make_array
from heald.api.content_kernels import MOVES
from heald.api.launch import launch
from heald.types import i32, u8, u16, u32, u64

_WORDS = {1: u8, 2: u16, 4: u32, 8: u64}


@dataclass(frozen=True, slots=True)
class Plan:
    """Words to move.

    Attributes:
        word: bytes of one: 1, 2, 4 or 8.
        shape: how many there are along each of one to four axes.
        dest: bytes from one to the next of those that are written.
        source: the same of those that are read.
        parts: how many follow each word side by side, itself among them, and are moved after it.
    """

    word: int
    shape: tuple[int, ...]
    dest: tuple[int, ...]
    source: tuple[int, ...]
    parts: int = 1


def plan(
    shape: Sequence[int],
    itemsize: int,
    dest: tuple[int, Sequence[int]],
    source: tuple[int, Sequence[int]],
) -> Plan | None:
    """How threads copy all elements, each a word of them; neighbours write side by side.

    None where an axis is too long, and where elements that are written lie on each other.

    Args:
        shape: of both, without an extent of 0.
        itemsize: bytes of an element.
        dest: address and strides in bytes of what is written.
        source: the same of what is read.
    """
    (to, steps), (come, others) = dest, source
    axes = [axis for axis in zip(shape, steps, others, strict=True) if axis[0] > 1]
    word = gcd(8, itemsize, to, come, *(step for _, *both in axes for step in both))
    if itemsize > word or not axes:
        axes.append((itemsize // word, word, word))
    axes.sort(key=lambda axis: -abs(axis[1]))
    reach = word
    for extent, step, _ in reversed(axes):
        if extent > 1 and abs(step) < reach:
            return None
        reach += abs(step) * (extent - 1)
    merged = axes[:1]
    for extent, step, other in axes[1:]:
        count, outer, origin = merged[-1]
        if (outer, origin) == (extent * step, extent * other) and count * extent <= i32.highest:
            merged[-1] = (count * extent, step, other)
        else:
            merged.append((extent, step, other))
    if any(extent > i32.highest for extent, _, _ in merged):
        return None
    parts = merged.pop()[0] if len(merged) > len(MOVES) else 1  # the last are words of an element
    extents, written, read = zip(*merged, strict=True)
    return Plan(word, extents, written, read, parts)


def move(dest: array, source: array) -> bool:
    """Copy all elements of an array of the same shape, element type and GPU, which has no byte in
    common with it.  False where that is left to the host."""
    if not dest.size:
        return False
    for axis, extent in enumerate(dest.shape):
        if extent > i32.highest:
            halves = slice(extent // 2), slice(extent // 2, None)
            keys = [(*[slice(None)] * axis, half) for half in halves]
            return all(move(dest[key], source[key]) for key in keys)
    places = (dest.address, dest.strides), (source.address, source.strides)
    found = plan(dest.shape, dest.itemsize, *places)
    if found is None:
        return False
    word = _WORDS[found.word]
    for start in range(0, found.parts * found.word, found.word):
        words = [
            make_array(word, a.address + start, found.shape, strides, a.device, a.owner)
            for a, strides in ((dest, found.dest), (source, found.source))
        ]
        launch(MOVES[len(found.shape) - 1], found.shape, words, device=dest.device)
    return True
