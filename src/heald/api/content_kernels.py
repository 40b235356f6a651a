"""Kernels that look at what arrays hold, where each sets ``found[0]`` if something is wrong, and
that move it."""

from __future__ import annotations

from typing import Any

from heald.api.array import array
from heald.api.intrinsics import atomic_add, atomic_max, tid
from heald.api.kernel import Kernel, kernel
from heald.library.language import int32, int64, uint64


@kernel
def _find_outside(values: array(dtype=Any), low: int64, high: int64, found: array(dtype=int32)):
    x = int64(values[tid()])
    if x < low or x > high:
        atomic_max(found, 0, 1)


@kernel
def _find_outside_2d(
    values: array(dtype=Any, ndim=2), low: int64, high: int64, found: array(dtype=int32)
):
    i, j = tid()
    x = int64(values[i, j])
    if x < low or x > high:
        atomic_max(found, 0, 1)


@kernel
def _find_outside_3d(
    values: array(dtype=Any, ndim=3), low: int64, high: int64, found: array(dtype=int32)
):
    i, j, k = tid()
    x = int64(values[i, j, k])
    if x < low or x > high:
        atomic_max(found, 0, 1)


@kernel
def _find_outside_4d(
    values: array(dtype=Any, ndim=4), low: int64, high: int64, found: array(dtype=int32)
):
    i, j, k, m = tid()
    x = int64(values[i, j, k, m])
    if x < low or x > high:
        atomic_max(found, 0, 1)


@kernel
def find_fall(values: array(dtype=Any), found: array(dtype=int32)):
    """Is an element less than the one before it?"""
    i = tid()
    if i + 1 < values.shape[0] and values[i + 1] < values[i]:
        atomic_max(found, 0, 1)


@kernel
def find_repeated(
    values: array(dtype=Any),
    low: int64,
    high: int64,
    seen: array(dtype=int32),
    found: array(dtype=int32),
):
    """Is an element there twice?  ``seen`` counts those from ``low`` to ``high``, as many as it
    has; the difference is right without a sign, however far apart they are.
    """
    x = int64(values[tid()])
    place = uint64(x) - uint64(low)
    inside = x >= low and x <= high and place < uint64(seen.shape[0])
    if inside and atomic_add(seen, int64(place), 1) > 0:
        atomic_max(found, 0, 1)


FIND_OUTSIDE: tuple[Kernel, ...] = (
    _find_outside,
    _find_outside_2d,
    _find_outside_3d,
    _find_outside_4d,
)
"""By the number of axes: is an element less than ``low`` or greater than ``high``?"""


@kernel
def _move(dest: array(dtype=Any), source: array(dtype=Any)):
    i = tid()
    dest[i] = source[i]


@kernel
def _move_2d(dest: array(dtype=Any, ndim=2), source: array(dtype=Any, ndim=2)):
    i, j = tid()
    dest[i, j] = source[i, j]


@kernel
def _move_3d(dest: array(dtype=Any, ndim=3), source: array(dtype=Any, ndim=3)):
    i, j, k = tid()
    dest[i, j, k] = source[i, j, k]


@kernel
def _move_4d(dest: array(dtype=Any, ndim=4), source: array(dtype=Any, ndim=4)):
    i, j, k, m = tid()
    dest[i, j, k, m] = source[i, j, k, m]


MOVES: tuple[Kernel, ...] = (_move, _move_2d, _move_3d, _move_4d)
"""By the number of axes: copy each element."""
