"""Launch conditions: what must hold of dims, shapes, strides, addresses and by-value integers for a
variant to be right.

A condition is a conjunction of clauses of a few kinds, so that it can be evaluated by Python and by
compiled launch entries alike.  All arithmetic is that of 64-bit signed integers; whatever does not
fit makes the clause false, which only ever chooses a more careful variant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

_WORD = range(-(1 << 63), 1 << 63)
_EXTENT_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A number known at launch.

    ``kind`` is ``dim`` (launch extent ``axis``), ``shape`` or ``stride`` (extent or byte stride of
    ``axis`` of array leaf ``leaf`` of parameter ``parameter``), ``pointer`` (address of element
    (0, ..., 0) of that array) or ``value`` (integer leaf ``leaf`` of parameter ``parameter``).
    Proofs, but no launch conditions, speak of ``block``, too: how many threads a block has.
    """

    kind: str
    parameter: int = 0
    leaf: int = 0
    axis: int = 0


Lookup = Callable[[Symbol], int]
Name = Callable[[Symbol], str]


@dataclass(frozen=True, slots=True)
class LinearTerm:
    """``constant + sum(coefficient * symbol) >= 0``, summed in order."""

    constant: int
    terms: tuple[tuple[int, Symbol], ...]

    def holds(self, lookup: Lookup) -> bool:
        """Evaluate for one launch."""
        total = self.constant
        for coefficient, symbol in self.terms:
            total = _fit(total + _fit(coefficient * _fit(lookup(symbol))))
        return total >= 0

    def describe(self, name: Name) -> str:
        """Readable text, such as ``dim[0] <= a.shape[0]``."""
        sides: tuple[list[str], list[str]] = ([], [])  # what must be <= , what must be >=
        for coefficient, symbol in self.terms:
            text = name(symbol) if abs(coefficient) == 1 else f"{abs(coefficient)} * {name(symbol)}"
            sides[coefficient > 0].append(text)
        if self.constant:
            sides[self.constant > 0].append(str(abs(self.constant)))
        low, high = (" + ".join(side) or "0" for side in sides)
        return f"{low} <= {high}"


@dataclass(frozen=True, slots=True, order=True)
class ArrayPlace:
    """An array leaf of a parameter, with what its type says: rank, and bytes of an element."""

    parameter: int
    leaf: int
    ndim: int
    itemsize: int


@dataclass(frozen=True, slots=True)
class Apart:
    """Nothing that is written is also something else.

    No byte of a ``written`` array belongs to another array of the clause, and different indices of
    a written array are different bytes (found out for axes in row-major order of their strides;
    others count as overlapping).  Arrays without elements are apart from everything.

    Attributes:
        written: arrays that the kernel writes.
        others: the rest of its arrays.
        merged: pairs of positions in ``written + others``, the smaller one first, that may also be
            one and the same array: equal address, extents, strides and size of elements.
    """

    written: tuple[ArrayPlace, ...]
    others: tuple[ArrayPlace, ...] = ()
    merged: frozenset[tuple[int, int]] = frozenset()

    def holds(self, lookup: Lookup) -> bool:
        """Evaluate for one launch."""
        arrays = [_look_up(place, lookup) for place in self.written + self.others]
        spans = [_span(array) for array in arrays]
        for array, span in zip(arrays[: len(self.written)], spans, strict=False):
            if span is not None and not _has_distinct_elements(array):
                return False
        for first, second in combinations(range(len(arrays)), 2):
            one, two = spans[first], spans[second]
            if first >= len(self.written) or one is None or two is None:
                continue
            merged = (first, second) in self.merged and arrays[first] == arrays[second]
            if not (merged or one[1] <= two[0] or two[1] <= one[0]):
                return False
        return True

    def describe(self, name: Name) -> str:
        """Readable text, such as ``c apart from a, b``."""
        written, others = (
            ", ".join(name(Symbol("pointer", place.parameter, place.leaf)) for place in places)
            for places in (self.written, self.others)
        )
        return f"{written} apart from {others}" if others else f"{written} apart"


@dataclass(frozen=True, slots=True)
class Unit:
    """Elements of the last axis follow each other, the address is a multiple of ``alignment`` (a
    power of two), and all elements lie within 2^31 bytes."""

    arrays: tuple[ArrayPlace, ...]
    alignment: int = 1

    def holds(self, lookup: Lookup) -> bool:
        """Evaluate for one launch."""
        for place in self.arrays:
            array = _look_up(place, lookup)
            span = _span(array)
            reach = 0 if span is None else _fit(span[1] - span[0])
            if array.strides[-1] != place.itemsize or array.pointer % self.alignment:
                return False
            if reach >= _EXTENT_LIMIT:
                return False
        return True

    def describe(self, name: Name) -> str:
        """Readable text, such as ``a, b dense and aligned to 16 bytes``."""
        arrays = ", ".join(name(Symbol("pointer", p.parameter, p.leaf)) for p in self.arrays)
        aligned = f" and aligned to {self.alignment} bytes" if self.alignment > 1 else ""
        return f"{arrays} dense{aligned}"


Clause = LinearTerm | Apart | Unit


@dataclass(frozen=True, slots=True)
class LaunchCondition:
    """A conjunction; empty means always true.  Overflow of 64 bits makes it false."""

    clauses: tuple[Clause, ...] = ()

    def holds(self, lookup: Lookup) -> bool:
        """Evaluate for one launch."""
        try:
            return all(clause.holds(lookup) for clause in self.clauses)
        except _DoesNotFitError:
            return False

    def describe(self, name: Name) -> str:
        """Readable text, such as ``dim[0] <= a.shape[0]``."""
        return " and ".join(clause.describe(name) for clause in self.clauses) or "always"


# -- arrays ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Descriptor:
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


def _look_up(place: ArrayPlace, lookup: Lookup) -> _Descriptor:
    parameter, leaf, axes = place.parameter, place.leaf, range(place.ndim)
    pointer = _fit(lookup(Symbol("pointer", parameter, leaf)))
    shape = tuple([_fit(lookup(Symbol("shape", parameter, leaf, k))) for k in axes])
    strides = tuple([_fit(lookup(Symbol("stride", parameter, leaf, k))) for k in axes])
    return _Descriptor(pointer, shape, strides, place.itemsize)


def _span(array: _Descriptor) -> tuple[int, int] | None:
    """Address of the first byte of elements and of the one after the last; None without any."""
    if min(array.shape) <= 0:
        return None
    start, end = array.pointer, _fit(array.pointer + array.itemsize)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = _fit((extent - 1) * stride)
        start = _fit(start + min(0, reach))
        end = _fit(end + max(0, reach))
    return start, end


def _has_distinct_elements(array: _Descriptor) -> bool:
    size = array.itemsize
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent > 1:
            step = _fit(abs(stride))
            if step < size:
                return False
            size = _fit(size + _fit((extent - 1) * step))
    return True


class _DoesNotFitError(ArithmeticError):
    """A number is beyond 64 bits."""


def _fit(number: int) -> int:
    if number not in _WORD:
        raise _DoesNotFitError
    return number
