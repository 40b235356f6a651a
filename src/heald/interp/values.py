"""Values of lanes: how they are held, merged where control flow joins, and exchanged with Python.

A scalar is a one-dimensional array on the carrier of its type, with one entry a lane or a single
one that all lanes share (*uniform*); an array is an :class:`ArrayValue`; a composite is the tuple
of its leaves.  What inactive lanes hold is never observed.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.diagnostics import Diagnostic, LaunchError
from heald.interp.memory import ArrayValue, ArrayView, Lanes
from heald.types import Array, Leaf, Scalar, Type, bf16, leaves
from heald.types.descriptors import from_bfloat16, to_bfloat16

Mask = npt.NDArray[np.bool_]
"""One bool a lane, never uniform."""

Part = Lanes | ArrayValue
Datum = Part | tuple[Part, ...]


def merge(mask: Mask, new: Datum, old: Datum) -> Datum:
    """``new`` on the lanes of ``mask``, else ``old``; uniform where both are, and equal."""
    if new is old:
        return old
    if isinstance(new, tuple):
        assert isinstance(old, tuple)
        return tuple(_merge_part(mask, n, o) for n, o in zip(new, old, strict=True))
    assert not isinstance(old, tuple)
    return _merge_part(mask, new, old)


def _merge_part(mask: Mask, new: Part, old: Part) -> Part:
    if isinstance(new, ArrayValue):
        assert isinstance(old, ArrayValue)
        return _merge_arrays(mask, new, old)
    assert not isinstance(old, ArrayValue)
    return _merge_lanes(mask, new, old)


def _merge_lanes(mask: Mask, new: Lanes, old: Lanes) -> Lanes:
    if new is old or (new.size == old.size == 1 and new.tobytes() == old.tobytes()):
        return old
    return np.where(mask, new, old)


def _merge_arrays(mask: Mask, new: ArrayValue, old: ArrayValue) -> ArrayValue:
    memories, which = old.memories, new.which
    if new.memories is not memories:
        memories = (*memories, *(m for m in new.memories if m not in memories))
        which = np.array([memories.index(m) for m in new.memories])[which]
    return ArrayValue(
        memories,
        _merge_lanes(mask, which, old.which),
        _merge_lanes(mask, new.offset, old.offset),
        tuple(_merge_lanes(mask, n, o) for n, o in zip(new.shape, old.shape, strict=True)),
        tuple(_merge_lanes(mask, n, o) for n, o in zip(new.strides, old.strides, strict=True)),
        old.dtype,
    )


class Catcher:
    """Lanes that left a region of their own accord, with the values that they carried out.

    Merging happens as they arrive, in place where the arrays are its own: a loop that lanes leave
    one by one keeps one set of values, not one for each iteration.
    """

    __slots__ = ("_own", "mask", "values")

    def __init__(self) -> None:
        self.mask: Mask | None = None
        self.values: list[Datum] = []
        self._own: set[int] = set()

    def take(self, mask: Mask, values: Sequence[Datum]) -> None:
        """Add lanes; they are not among those taken before."""
        if self.mask is None:
            self.mask, self.values = mask, list(values)
            return
        self.mask = self.mask | mask
        for k, (new, old) in enumerate(zip(values, self.values, strict=True)):
            if k in self._own and isinstance(new, np.ndarray) and isinstance(old, np.ndarray):
                np.copyto(old, new, where=mask)
                continue
            merged = merge(mask, new, old)
            if merged is not old and isinstance(merged, np.ndarray):
                self._own.add(k)
            self.values[k] = merged


def spread(value: Lanes, count: int) -> Lanes:
    """One entry for each of ``count`` lanes."""
    return np.broadcast_to(value, (count,)) if value.size == 1 else value


def pick(value: Lanes, lanes: Lanes) -> Lanes:
    """The entries of some lanes; a uniform value stays as it is."""
    return value if value.size == 1 else value[lanes]


def from_number(t: Scalar, number: Any) -> Lanes:
    """A Python number, rounded to ``t``, as a uniform value.

    Raises:
        OverflowError, ValueError, TypeError: ``number`` is none, or an integer outside ``t``.
    """
    if t.is_integer:
        integer = operator.index(number)
        if not t.lowest <= integer <= t.highest:
            raise OverflowError(f"outside {t.lowest} to {t.highest}")
        return np.array([integer], t.carrier)
    if not isinstance(number, (bool, int, float, np.generic)):
        raise TypeError("not a number")
    if t is bf16:
        return np.atleast_1d(to_bfloat16(np.float32(number)))
    return np.array([number]).astype(t.carrier)


def to_number(t: Scalar, entry: Any) -> bool | int | float:
    """An entry of a carrier array as a Python number; a bfloat16 as its value."""
    number: bool | int | float = (from_bfloat16(entry) if t is bf16 else entry).item()
    return number


def from_argument(t: Type, argument: object, place: str) -> Datum:
    """A launch argument: a number, an :class:`ArrayView`, or the leaves of a composite.

    Raises:
        LaunchError: it is not of type ``t``.
    """
    own = leaves(t)
    if own == (t,):
        return _from_leaf(own[0], argument, place)
    if not isinstance(argument, tuple) or len(argument) != len(own):
        raise _refusal(place, f"{t} takes a tuple of {len(own)} leaves, not {argument!r}")
    return tuple(_from_leaf(leaf, a, place) for leaf, a in zip(own, argument, strict=True))


def _from_leaf(t: Leaf, argument: object, place: str) -> Part:
    if isinstance(t, Array):
        if not isinstance(argument, ArrayView):
            raise _refusal(place, f"{t} takes an ArrayView, not {argument!r}")
        if argument.dtype is not t.dtype or len(argument.shape) != t.ndim:
            found = Array(argument.dtype, len(argument.shape))
            raise _refusal(place, f"{t} takes no view of {found}")
        return ArrayValue.of(argument)
    try:
        return from_number(t, argument)
    except (OverflowError, ValueError, TypeError) as error:
        raise _refusal(place, f"{argument!r} is no {t}: {error}") from None


def _refusal(place: str, why: str) -> LaunchError:
    return LaunchError(Diagnostic("H0702", f"argument {place!r}: {why}"))
