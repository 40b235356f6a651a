"""Linear terms over integers that a thread knows exactly: the language of the interval analysis."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import gcd

from heald.artifact import LinearTerm, Symbol


class Atom:
    """An integer that the analysis does not take apart: one number in each run of its definition.

    Attributes:
        index: its age; what an atom is bounded by is mostly older.
        low: it is never less.
        high: it is never more.
        symbol: what the launch calls it, where the launch knows it.
        cases: the number is that of one of these, each a term with facts that hold where it is.
    """

    __slots__ = ("cases", "high", "index", "low", "symbol")

    def __init__(self, index: int, low: int, high: int, symbol: Symbol | None = None) -> None:
        self.index = index
        self.low = low
        self.high = high
        self.symbol = symbol
        self.cases: tuple[Case, ...] = ()


class Linear:
    """``constant + sum(factor * atom)`` over unbounded integers; immutable."""

    __slots__ = ("constant", "terms")

    def __init__(self, constant: int, terms: dict[Atom, int]) -> None:
        self.constant = constant
        self.terms = terms

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.terms)
        return self.plus(other, 1)

    def __sub__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant - other, self.terms)
        return self.plus(other, -1)

    def __neg__(self) -> Linear:
        return self.times(-1)

    def plus(self, other: Linear, factor: int) -> Linear:
        """``self + factor * other``."""
        terms = dict(self.terms)
        for atom, count in other.terms.items():
            total = terms.get(atom, 0) + factor * count
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return Linear(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Linear:
        """``factor * self``."""
        if factor == 1:
            return self
        if not factor:
            return Linear(0, {})
        return Linear(factor * self.constant, {a: factor * n for a, n in self.terms.items()})

    @property
    def low(self) -> int:
        """The least number it can be as far as its atoms tell."""
        total = self.constant
        for atom, count in self.terms.items():
            total += count * (atom.low if count > 0 else atom.high)
        return total

    @property
    def high(self) -> int:
        """The greatest number it can be as far as its atoms tell."""
        return -(-self).low

    @property
    def key(self) -> Hashable:
        """Equal for equal terms."""
        return self.constant, frozenset(self.terms.items())

    def equals(self, other: Linear) -> bool:
        """Is it the same term?"""
        return self.constant == other.constant and self.terms == other.terms

    def tightened(self) -> Linear:
        """A term that is at least 0 for the same integers, with factors that have no common
        divisor.
        """
        divisor = gcd(*self.terms.values()) if self.terms else 1
        if divisor <= 1:
            return self
        terms = {atom: count // divisor for atom, count in self.terms.items()}
        return Linear(self.constant // divisor, terms)

    def known_at_launch(self) -> bool:
        """Are all its atoms numbers that the launch knows?"""
        return all(atom.symbol is not None for atom in self.terms)

    def clause(self) -> LinearTerm:
        """``self >= 0`` as a clause of a launch condition; all atoms have symbols."""
        terms = sorted((a.symbol, n) for a, n in self.terms.items() if a.symbol is not None)
        return LinearTerm(self.constant, tuple((n, symbol) for symbol, n in terms))


class Different(Linear):
    """Unlike other facts, a term that is not 0."""

    __slots__ = ()


class Case:
    """A term, and facts (terms that are at least 0) that hold where it is the number."""

    __slots__ = ("facts", "term")

    def __init__(self, term: Linear, facts: Iterable[Linear]) -> None:
        self.term = term
        self.facts = tuple(facts)


def constant(number: int) -> Linear:
    """A number as a term."""
    return Linear(number, {})


def of(atom: Atom) -> Linear:
    """An atom as a term."""
    return Linear(0, {atom: 1})
