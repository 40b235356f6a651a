"""What is known at a point of the program, and a search for what follows from it.

A fact is a term that is at least 0, or ``Different`` from 0.  To show that a goal is at least 0,
the search adds facts up until nothing but a number is left (Fourier and Motzkin's elimination,
driven by the goal).  Everything is over integers: a goal is divided by what its factors have in
common and rounded down, so ``2 * q <= n`` gives ``q <= n // 2``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from heald.passes.interval_terms import Atom, Case, Different, Linear

_DEPTH = 8
_BUDGET = 160
_SPLITS = 3
_USUAL = 1 << 24
"""Launch sizes that are nothing special: a clause that excludes them has to be worth it."""
_MODEST = 1 << 12
"""A clause that excludes launches of this size is not worth having."""


@dataclass(slots=True)
class Facts:
    """Facts in scopes, found by the atoms that they bound.

    Attributes:
        effort: steps that searches may still take; without any left, only ranges prove anything.
        trail: the facts of all open scopes, in order.
        clauses: of the launch condition.
    """

    effort: int

    trail: list[Linear] = field(default_factory=list)
    clauses: list[Linear] = field(default_factory=list)
    _index: dict[tuple[Atom, bool], list[Linear]] = field(default_factory=dict)
    _numbers: dict[tuple[Atom, bool], list[int]] = field(default_factory=dict)
    _tests: set[Linear] = field(default_factory=set)
    _different: dict[Hashable, int] = field(default_factory=dict)

    # -- scopes ------------------------------------------------------------------------------------

    def add(self, fact: Linear) -> None:
        """Something known from here on, until the scope ends."""
        if fact.terms:
            self.trail.append(fact)
            self._enter(fact)

    def add_all(self, facts: Iterable[Linear]) -> None:
        """Several facts."""
        for fact in facts:
            self.add(fact)

    def test(self, facts: Iterable[Linear]) -> None:
        """Facts that the program tested, which say best what it relies on."""
        for fact in facts:
            self._tests.add(fact)
            self.add(fact)

    def mark(self) -> int:
        """The start of a scope."""
        return len(self.trail)

    def since(self, mark: int) -> list[Linear]:
        """Facts added since a mark."""
        return self.trail[mark:]

    def release(self, mark: int) -> None:
        """End a scope."""
        while len(self.trail) > mark:
            fact = self.trail.pop()
            if isinstance(fact, Different):
                self._differ(fact, -1)
                continue
            for atom, factor in fact.terms.items():
                self._index[atom, factor > 0].pop()
                if len(fact.terms) == 1:
                    self._numbers[atom, factor > 0].pop()

    def accept(self, clause: Linear) -> None:
        """Make something a clause of the launch condition; it is known everywhere."""
        self.clauses.append(clause)
        self._rebuild()

    def retract(self, count: int) -> None:
        """Take back all clauses but the first ``count``."""
        if len(self.clauses) > count:
            del self.clauses[count:]
            self._rebuild()

    def _rebuild(self) -> None:
        """Index everything again, clauses before what scopes end."""
        self._index.clear()
        self._numbers.clear()
        self._different.clear()
        for fact in (*self.clauses, *self.trail):
            self._enter(fact)

    def _enter(self, fact: Linear) -> None:
        if isinstance(fact, Different):
            self._differ(fact, 1)
            return
        for atom, factor in fact.terms.items():
            key = atom, factor > 0
            self._index.setdefault(key, []).append(fact)
            if len(fact.terms) == 1:
                found = self._numbers.setdefault(key, [])
                if factor > 0:
                    number = max(-(fact.constant // factor), found[-1] if found else atom.low)
                else:
                    number = min(fact.constant // -factor, found[-1] if found else atom.high)
                found.append(number)

    def _differ(self, fact: Different, change: int) -> None:
        for key in (fact.key, (-fact).key):
            self._different[key] = self._different.get(key, 0) + change

    # -- questions ---------------------------------------------------------------------------------

    def bounding(self, atom: Atom, *, below: bool) -> list[Linear]:
        """Facts that bound an atom from below, or above.

        Tests of the program and definitions in terms of older atoms come first, since they lead to
        what the launch knows, and of these the newest: a test rather than the extent of the launch.
        Numbers come last, the range of the atom last of all.
        """
        found = self._index.get((atom, below), [])[::-1]
        if len(found) > 1:
            found.sort(key=lambda fact: (self._is_derived(fact, atom), len(fact.terms) == 1))
        if below:
            found.append(Linear(-atom.low, {atom: 1}))
        else:
            found.append(Linear(atom.high, {atom: -1}))
        return found

    def _is_derived(self, fact: Linear, atom: Atom) -> bool:
        """Does a fact about an atom say more about newer ones that were computed from it?"""
        if fact in self._tests:
            return False
        return any(a.index > atom.index and a.symbol is None for a in fact.terms)

    def low(self, term: Linear) -> int:
        """The least number a term can be here, as far as facts on single atoms tell."""
        total = term.constant
        numbers = self._numbers
        for atom, count in term.terms.items():
            if count > 0:
                found = numbers.get((atom, True))
                total += count * (found[-1] if found else atom.low)
            else:
                found = numbers.get((atom, False))
                total += count * (found[-1] if found else atom.high)
        return total

    def high(self, term: Linear) -> int:
        """The greatest number a term can be here, as far as facts on single atoms tell."""
        total = term.constant
        numbers = self._numbers
        for atom, count in term.terms.items():
            if count > 0:
                found = numbers.get((atom, False))
                total += count * (found[-1] if found else atom.high)
            else:
                found = numbers.get((atom, True))
                total += count * (found[-1] if found else atom.low)
        return total

    def is_different(self, term: Linear) -> bool:
        """Did a test find that a term is not 0?"""
        return bool(self._different) and self._different.get(term.key, 0) > 0

    def contradicts(self, fact: Linear) -> bool:
        """Is a fact false, for all that is known?"""
        if isinstance(fact, Different):
            return self.prove(fact) and self.prove(-fact)
        return self.prove(-fact - 1)

    def prove(self, goal: Linear) -> bool:
        """Is ``goal`` at least 0 here, for all that is known?"""
        if self.low(goal) >= 0:
            return True
        return self._search(goal, ask=False) is not None

    def prove_under(self, goal: Linear) -> list[Linear] | None:
        """Clauses on what the launch knows under which ``goal`` is at least 0 here, or None."""
        return self._search(goal, ask=True)

    def _search(self, goal: Linear, *, ask: bool) -> list[Linear] | None:
        if self.effort <= 0:
            return None
        search = _Search(self, ask, min(_BUDGET, self.effort))
        self.effort -= 1
        start = search.budget
        found = search.run(goal)
        self.effort -= start - search.budget
        return found


def is_usual(clause: Linear) -> bool:
    """Does a clause hold for all launches that are not extreme?"""
    return _range(clause, _USUAL)[0] >= 0


def is_modest(clause: Linear) -> bool:
    """Does a clause hold for all launches that are small?"""
    return _range(clause, _MODEST)[0] >= 0


def is_possible(clause: Linear) -> bool:
    """Does a clause hold for some launch that is not extreme?"""
    return _range(clause, _USUAL)[1] >= 0


def _range(clause: Linear, size: int) -> tuple[int, int]:
    """The least and the most that a term can be where all numbers are at most ``size``."""
    low = high = clause.constant
    for atom, count in clause.terms.items():
        least, most = max(atom.low, -size), min(atom.high, size)
        low += count * (least if count > 0 else most)
        high += count * (most if count > 0 else least)
    return low, high


@dataclass(slots=True)
class _Search:
    """One search; ``ask`` lets it stop at goals that the launch can decide."""

    facts: Facts
    ask: bool
    budget: int
    seen: set[Hashable] = field(default_factory=set)
    split: set[Atom] = field(default_factory=set)

    def run(self, goal: Linear) -> list[Linear] | None:
        return self._show(goal.tightened(), _DEPTH)

    def _show(self, goal: Linear, depth: int) -> list[Linear] | None:
        """Clauses under which the goal holds, or None."""
        if self.facts.low(goal) >= 0:
            return []
        if not goal.terms or self.facts.high(goal) < 0:
            return None  # false, whatever the atoms are
        if depth and self.facts.is_different(goal + 1):
            found = self._show(goal + 1, depth - 1)  # at least 0 and not 0
            if found is not None:
                return found
        if self.ask and goal.known_at_launch() and is_possible(goal):
            return [goal]
        key = goal.key
        self.budget -= 1
        if depth == 0 or self.budget < 0 or key in self.seen:
            return None
        self.seen.add(key)
        atom = self._next(goal)
        found = self._eliminate(goal, atom, depth)
        if found is None and atom.cases and atom not in self.split and len(self.split) < _SPLITS:
            found = self._by_cases(goal, atom, depth)
        return found

    def _next(self, goal: Linear) -> Atom:
        """The atom to eliminate: one of the thread before those of the launch, the newest first."""
        return max(goal.terms, key=lambda atom: (atom.symbol is None, atom.index))

    def _eliminate(self, goal: Linear, atom: Atom, depth: int) -> list[Linear] | None:
        factor = goal.terms[atom]
        for fact in self.facts.bounding(atom, below=factor > 0):
            rest = combine(goal, fact, atom)
            found = self._show(rest, depth - 1)
            if found is not None:
                return found
        return None

    def _by_cases(self, goal: Linear, atom: Atom, depth: int) -> list[Linear] | None:
        """Show the goal in each case of what an atom is."""
        clauses: list[Linear] = []
        self.split.add(atom)
        for case in atom.cases:
            mark = self.facts.mark()
            self._assume(case, atom)
            seen, self.seen = self.seen, set()
            found = self._show(goal, depth - 1)
            self.seen = seen
            self.facts.release(mark)
            if found is None:
                self.split.remove(atom)
                return None
            clauses += found
        self.split.remove(atom)
        return clauses

    def _assume(self, case: Case, atom: Atom) -> None:
        self.facts.add_all(case.facts)
        difference = case.term.plus(Linear(0, {atom: 1}), -1)
        self.facts.add(difference)
        self.facts.add(-difference)


def combine(goal: Linear, fact: Linear, atom: Atom) -> Linear:
    """A goal without ``atom``, which ``fact`` bounds, from which ``goal`` follows.

    With positive ``m`` and ``k`` such that ``m * goal - k * fact`` has no ``atom``: where that is
    more than ``-m``, so is ``m * goal``, hence ``goal`` is more than -1, hence at least 0.
    """
    scale, weight = abs(fact.terms[atom]), abs(goal.terms[atom])
    rest = goal.times(scale).plus(fact, -weight)
    return (rest + (scale - 1)).tightened()
