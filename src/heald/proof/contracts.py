"""Contracts as the prover takes them: what is promised of shapes and of what arrays hold."""

from __future__ import annotations

from dataclasses import dataclass

from heald.artifact import Symbol
from heald.proof.conditions import Clause, Product

Sum = tuple[tuple[Product, int], ...]
"""A polynomial over launch sizes: products, and how often each."""


@dataclass(frozen=True, slots=True)
class ShapePromise:
    """An extent is a size.

    Attributes:
        extent: which one.
        size: what it is.
        text: the size as written.
        origin: where the names in the size come from, readably; empty where they need no saying.
        fixed: whether nobody promised it: the extent is compiled in, and is known of every launch.
    """

    extent: Symbol
    size: Sum
    text: str
    origin: str = ""
    fixed: bool = False

    @property
    def clause(self) -> Clause:
        """The promise as a clause."""
        terms = dict(self.size)
        terms[(self.extent,)] = terms.get((self.extent,), 0) - 1
        kept = sorted((product, n) for product, n in terms.items() if n)
        if kept and kept[-1][1] < 0:
            kept = [(product, -n) for product, n in kept]
        return Clause(tuple(kept), equal=True)


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest number that elements are."""

    low: Sum
    high: Sum


@dataclass(frozen=True, slots=True)
class ArrayPromise:
    """What an array parameter holds when a launch begins.

    Attributes:
        parameter: its number.
        elements: between which numbers they lie, or None.
        monotone: whether elements never fall from one index to the next.
        injective: whether elements differ from each other.
        text: the promise as written.
    """

    parameter: int
    elements: Range | None = None
    monotone: bool = False
    injective: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Promises:
    """The contracts of a kernel, apart from those in its body."""

    shapes: tuple[ShapePromise, ...] = ()
    arrays: tuple[ArrayPromise, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.shapes or self.arrays)

    @property
    def known(self) -> tuple[Clause, ...]:
        """What of it needs no trust."""
        return tuple(shape.clause for shape in self.shapes if shape.fixed)

    @property
    def trusted(self) -> tuple[ShapePromise, ...]:
        """The shapes that users promise."""
        return tuple(shape for shape in self.shapes if not shape.fixed)

    def of(self, parameter: int) -> ArrayPromise | None:
        """What is promised of a parameter's contents."""
        return next((a for a in self.arrays if a.parameter == parameter), None)


NOTHING = Promises()
