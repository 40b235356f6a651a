"""Conditions on the launch under which two threads never meet in an element.

An index that is a sum of strides times coordinates tells them apart like digits, where each stride
is more than all smaller ones together reach.  The coordinates are the index of the thread and the
positions in its loops; which stride is the smaller one is tried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from heald.artifact import Symbol
from heald.proof.inference import is_known_at_launch, split
from heald.proof.records import Access, Execution
from heald.proof.terms import Term, Terms, atoms

_MOST_DIGITS = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Digit:
    """A coordinate: its stride, and how far it reaches (None: any number)."""

    stride: Term
    reach: Term | None


def conditions_apart(
    terms: Terms, found: Execution, first: Access, second: Access
) -> Iterator[tuple[Term, ...]]:
    """Sets of claims about the launch that may keep two accesses apart; a solver has to judge."""
    for one, two in zip(first.index, second.index, strict=True):
        digits, offset = _digits(terms, found, one)
        others, other = _digits(terms, found, two)
        if digits is None or others is None or offset is None or other is None:
            continue
        if len(digits) <= _MOST_DIGITS:
            yield from _orders(terms, digits)
        yield from _distances(terms, [*digits, *others], offset, other)


def _orders(terms: Terms, digits: Sequence[_Digit]) -> Iterator[tuple[Term, ...]]:
    for order in permutations(digits):
        claims: list[Term] = []
        below = terms.integer(0)
        for k, digit in enumerate(order):
            if k:
                claims.append(terms.less(below, digit.stride))
            if digit.reach is None:
                if k < len(order) - 1:
                    break
            else:
                below = terms.add(below, terms.multiply(digit.stride, digit.reach))
        else:
            yield tuple(claim for claim in claims if claim is not terms.true)


def _distances(
    terms: Terms, digits: Sequence[_Digit], offset: Term, other: Term
) -> Iterator[tuple[Term, ...]]:
    """The offsets are further apart than the digits of one of them reach."""
    if any(digit.reach is None for digit in digits) or offset is other:
        return
    reach = terms.integer(0)
    for digit in digits[: len(digits) // 2]:
        assert digit.reach is not None
        reach = terms.add(reach, terms.multiply(digit.stride, digit.reach))
    difference = terms.subtract(offset, other)
    for sign in (1, -1):
        claim = terms.less(reach, terms.scale(difference, sign))
        if claim is not terms.true:
            yield (claim,)


def _digits(terms: Terms, found: Execution, index: Term) -> tuple[list[_Digit] | None, Term | None]:
    """The coordinates in an index, and the rest, which all threads share."""
    digits: list[_Digit] = []
    rest = index
    for _ in range(2 * _MOST_DIGITS):
        own = [atom for atom in atoms(rest) if not is_known_at_launch(terms, atom)]
        if not own:
            return digits, rest
        atom = max(own, key=lambda a: a.number)
        parts = split(terms, rest, atom)
        if parts is None or not _all_known(terms, parts[0]):
            return None, None
        stride, rest = parts
        low, reach, step = _place(terms, found, atom)
        if low is None or not _all_known(terms, step):
            return None, None
        rest = terms.add(rest, terms.multiply(stride, low))
        digits.append(_Digit(terms.multiply(stride, step), reach))
    return None, None


def _place(terms: Terms, found: Execution, atom: Term) -> tuple[Term | None, Term | None, Term]:
    """A coordinate as ``low + step * digit``, with the reach of the digit."""
    zero, one = terms.integer(0), terms.integer(1)
    if atom in found.threads:
        extent = found.symbols[Symbol("dim", axis=found.threads.index(atom))]
        return zero, terms.plus(extent, -1), one
    if atom in found.related:
        low, high, step = found.related[atom]
        if atom in found.trips:
            return low, None, step
        reach = terms.plus(terms.subtract(high, low), -1)
        return low, reach if _all_known(terms, reach) else None, one
    return None, None, one


def _all_known(terms: Terms, term: Term) -> bool:
    return all(is_known_at_launch(terms, symbol) for symbol in terms.symbols(term))
