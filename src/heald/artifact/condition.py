"""Launch conditions: what must hold of dims, shapes and by-value integers for a variant to be
right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A number known at launch.

    ``kind`` is ``dim`` (launch extent ``axis``), ``shape`` (extent ``axis`` of array leaf ``leaf``
    of parameter ``parameter``) or ``value`` (integer leaf ``leaf`` of parameter ``parameter``).
    """

    kind: str
    parameter: int = 0
    leaf: int = 0
    axis: int = 0


@dataclass(frozen=True, slots=True)
class LinearTerm:
    """``constant + sum(coefficient * symbol) >= 0``."""

    constant: int
    terms: tuple[tuple[int, Symbol], ...]


@dataclass(frozen=True, slots=True)
class LaunchCondition:
    """A conjunction; empty means always true.  Overflow of 64 bits makes it false."""

    clauses: tuple[LinearTerm, ...] = ()

    def holds(self, lookup: Callable[[Symbol], int]) -> bool:
        """Evaluate for one launch."""
        for clause in self.clauses:
            total = clause.constant
            for coefficient, symbol in clause.terms:
                total += coefficient * lookup(symbol)
                if not -_LIMIT <= total < _LIMIT:
                    return False
            if total < 0:
                return False
        return True

    def describe(self, name: Callable[[Symbol], str]) -> str:
        """Readable text, such as ``dim[0] <= a.shape[0]``."""
        if not self.clauses:
            return "always"
        return " and ".join(_describe(clause, name) for clause in self.clauses)


def _describe(clause: LinearTerm, name: Callable[[Symbol], str]) -> str:
    sides: tuple[list[str], list[str]] = ([], [])  # what must be <= , what must be >=
    for coefficient, symbol in clause.terms:
        text = name(symbol) if abs(coefficient) == 1 else f"{abs(coefficient)} * {name(symbol)}"
        sides[coefficient > 0].append(text)
    if clause.constant:
        sides[clause.constant > 0].append(str(abs(clause.constant)))
    low, high = (" + ".join(side) or "0" for side in sides)
    return f"{low} <= {high}"
