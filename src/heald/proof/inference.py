"""Launch conditions under which a goal holds, found by elimination.

What a thread does not share with others is eliminated from ``goal >= 0``, the newest unknown first:
where it has a factor that is not negative, its least value makes the goal least, and so on.  Bounds
are what the program tested, before what is known otherwise, so that ``if i < n`` leads to ``n``
rather than to the extent of the launch.  What is left speaks of the launch only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from heald.proof.terms import INT, Term, Terms, atoms, constant_of, polynomial

_DEPTH = 10
_BUDGET = 300
_WAYS = 6

Ways = Iterator[tuple[Term, ...]]
"""Sets of claims about the launch; each set is enough."""


def conditions_for(
    terms: Terms, goal: Term, path: Sequence[Term], known: Sequence[Term]
) -> list[tuple[Term, ...]]:
    """Sets of claims about the launch that make ``goal`` true at a place, the likeliest first."""
    search = _Search(terms, _bounds(terms, [*path, *known]))
    return list(islice(search.ways_for(goal), _WAYS))


def _bounds(terms: Terms, facts: Iterable[Term]) -> dict[Term, list[Term]]:
    """Sums that are at least 0, by the unknowns in them, the newest first."""
    found: dict[Term, list[Term]] = {}
    for fact in list(facts)[::-1]:
        for total in _sums(terms, fact):
            for monomial in polynomial(total):
                if len(monomial) == 1:
                    found.setdefault(monomial[0], []).append(total)
    return found


def _sums(terms: Terms, fact: Term) -> Iterator[Term]:
    match fact.kind:
        case "and":
            for part in fact.args:
                yield from _sums(terms, part)
        case "ge":
            yield fact.args[0]
        case "zero":
            yield fact.args[0]
            yield terms.scale(fact.args[0], -1)


@dataclass(slots=True)
class _Search:
    terms: Terms
    bounds: dict[Term, list[Term]]
    budget: int = _BUDGET
    seen: set[Term] = field(default_factory=set)

    def ways_for(self, goal: Term) -> Ways:
        """Ways to a truth value."""
        terms = self.terms
        match goal.kind:
            case "true":
                yield ()
            case "ge":
                self.seen = set()
                yield from self._ways(goal.args[0], _DEPTH)
            case "zero":
                total = goal.args[0]
                yield from self._all(
                    [terms.non_negative(total), terms.non_negative(terms.scale(total, -1))]
                )
            case "and":
                yield from self._all(goal.args)
            case "or":
                for part in reversed(goal.args):
                    yield from self.ways_for(part)
            case "not" if goal.args[0].kind == "zero":
                total = goal.args[0].args[0]
                for sign in (1, -1):
                    yield from self.ways_for(
                        terms.non_negative(terms.plus(terms.scale(total, sign), -1))
                    )

    def _all(self, goals: Sequence[Term]) -> Ways:
        if not goals:
            yield ()
            return
        for first in islice(self.ways_for(goals[0]), _WAYS):
            for rest in self._all(goals[1:]):
                yield tuple(dict.fromkeys((*first, *rest)))

    def _ways(self, total: Term, depth: int) -> Ways:
        """Ways to ``total >= 0``."""
        terms = self.terms
        goal = terms.non_negative(total)
        if goal is terms.true:
            yield ()
            return
        if goal is terms.false or depth == 0 or self.budget <= 0 or goal in self.seen:
            return
        self.budget -= 1
        total = goal.args[0]
        own = [atom for atom in atoms(total) if not is_known_at_launch(terms, atom)]
        if not own:
            yield (goal,)
            return
        self.seen.add(goal)
        atom = max(own, key=lambda a: a.number)
        if atom.kind == "ite":
            yield from self._by_cases(total, atom, depth)
            return
        found = split(terms, total, atom)
        if found is not None:
            yield from self._by_division(atom, *found, depth)
            yield from self._eliminate(atom, *found, depth)

    def _by_cases(self, total: Term, atom: Term, depth: int) -> Ways:
        sides = [_replaced(self.terms, total, atom, side) for side in atom.args[1:]]
        for first in islice(self._ways(sides[0], depth - 1), _WAYS):
            for second in islice(self._ways(sides[1], depth - 1), _WAYS):
                yield tuple(dict.fromkeys((*first, *second)))

    def _by_division(self, atom: Term, factor: Term, rest: Term, depth: int) -> Ways:
        """``rest - c * q >= 0`` where ``q`` is ``x // d``, or ``x % d``, with an unknown ``d``.

        ``c * x < (rest + 1) * d`` is enough for the quotient; the remainder is less than ``d``.
        """
        terms = self.terms
        count = constant_of(factor)
        if count is None or count >= 0:
            return
        if atom in terms.quotients:
            x, divisor = terms.quotients[atom]
            room = terms.multiply(terms.plus(rest, 1), divisor)
            reduced = terms.plus(terms.add(room, x, count), -1)
        elif atom in terms.rests:
            _, divisor = terms.rests[atom]
            reduced = terms.add(rest, terms.plus(divisor, -1), count)
        else:
            return
        claim = terms.at_least(divisor, terms.integer(1))
        if _all_known(terms, claim):
            for way in self._ways(reduced, depth - 1):
                yield tuple(dict.fromkeys((claim, *way)))

    def _eliminate(self, atom: Term, factor: Term, rest: Term, depth: int) -> Ways:
        """``factor * atom + rest >= 0``, by bounds of ``atom``."""
        terms = self.terms
        low, high = terms.range(factor)
        signs = [1] if low >= 0 else [-1] if high <= 0 else [1, -1]
        for sign in signs:
            claim = terms.non_negative(terms.scale(factor, sign))
            if claim is not terms.true and not _all_known(terms, claim):
                continue
            for bound in self._bounding(atom, below=sign > 0):
                scale = abs(polynomial(bound)[(atom,)])
                other = terms.add(bound, atom, -polynomial(bound)[(atom,)])
                # scale * goal is at least this, and an integer above -scale is enough.
                product = terms.multiply(factor, other)
                reduced = terms.add(terms.scale(rest, scale), product, -sign)
                for way in self._ways(terms.plus(reduced, scale - 1), depth - 1):
                    yield way if claim is terms.true else tuple(dict.fromkeys((claim, *way)))

    def _bounding(self, atom: Term, *, below: bool) -> Iterator[Term]:
        """Sums that are at least 0 and bound an unknown from below, or above."""
        terms = self.terms
        found = [*self.bounds.get(atom, ())]
        for fact in terms.definitions(atom):
            found += _sums(terms, fact)
        for total in found:
            parts = split(terms, total, atom)
            count = None if parts is None else constant_of(parts[0])
            if count and (count > 0) == below:
                yield total
        low, high = terms.range(atom)
        yield terms.plus(atom, -low) if below else terms.add(terms.integer(high), atom, -1)


def split(terms: Terms, total: Term, atom: Term) -> tuple[Term, Term] | None:
    """``factor, rest`` with ``total == factor * atom + rest``; None where it has a square of it."""
    factor, rest = terms.integer(0), terms.integer(0)
    for monomial, count in polynomial(total).items():
        times = monomial.count(atom)
        product = terms.integer(count)
        for other in monomial:
            if other is not atom:
                product = terms.multiply(product, other)
        if times > 1 or any(
            atom in terms.symbols(other) for other in monomial if other is not atom
        ):
            return None
        if times:
            factor = terms.add(factor, product)
        else:
            rest = terms.add(rest, product)
    return factor, rest


def _replaced(terms: Terms, total: Term, atom: Term, value: Term) -> Term:
    parts = split(terms, total, atom)
    if parts is None:
        return terms.integer(-1)  # no way
    return terms.add(terms.multiply(parts[0], value), parts[1])


def is_known_at_launch(terms: Terms, atom: Term) -> bool:
    """May a launch condition speak of an unknown?"""
    return atom.kind == "symbol" and atom.sort == INT and atom in terms.launch


def _all_known(terms: Terms, claim: Term) -> bool:
    return all(is_known_at_launch(terms, symbol) for symbol in terms.symbols(claim))
