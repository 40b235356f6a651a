"""From a question that a solver could not refute to a launch that a replay can judge.

Products are exact here, and sizes are kept small: first because small launches are easy to read and
to run, and second because a solver finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from heald.artifact import Symbol
from heald.proof.explain import closure
from heald.proof.records import Execution
from heald.proof.result import Content, Suspect
from heald.proof.solver import Model, Solver
from heald.proof.terms import BOOL, INT, Term, Terms

_SIZES = (3, 8, 40, 70_000, None)
_RLIMIT = 2_000_000
_MOST_THREADS = 1 << 40


class Seeker:
    """Looks for launches in which formulas are true.

    Args:
        terms: of the execution.
        found: the execution.
        facts: about the launch.
        loads: what is known of numbers read, as for the question.
    """

    def __init__(
        self, terms: Terms, found: Execution, facts: Sequence[Term], loads: dict[Term, Term]
    ) -> None:
        self.terms = terms
        self.found = found
        self.facts = list(facts)
        self.loads = loads

    def suspects(
        self, formulas: Sequence[Term], copies: Sequence[int | None], *, most: int = 2
    ) -> tuple[Suspect, ...]:
        """Up to ``most`` launches; ``copies`` says how the threads to watch are renamed."""
        made: list[Suspect] = []
        solver = Solver(self.terms, also=self.loads, exact=True, rlimit=_RLIMIT)
        solver.add(self.facts)
        solver.prepare(formulas)
        for size in _SIZES:
            bounds = list(self._bounds(size))
            answer = solver.check([*formulas, *bounds], model=True)
            if answer.status != "sat" or answer.model is None:
                continue
            suspect = self._suspect(answer.model, formulas, copies)
            if suspect not in made:
                made.append(suspect)
            if len(made) == most:
                break
        return tuple(made)

    def _bounds(self, size: int | None) -> Iterable[Term]:
        if size is None:
            return
        terms = self.terms
        for symbol in self.found.symbols.values():
            yield terms.between(-size, symbol, size)

    def _suspect(
        self, model: Model, formulas: Sequence[Term], copies: Sequence[int | None]
    ) -> Suspect:
        numbers = {symbol: model.number(term) for symbol, term in self.found.symbols.items()}
        rank = self.found.kernel.rank
        dims = tuple(numbers[Symbol("dim", axis=axis)] for axis in range(rank)) or (2,)
        threads = tuple(
            tuple(model.number(self._of(t, copy)) for t in self.found.threads) for copy in copies
        )
        kept = tuple((s, n) for s, n in sorted(numbers.items()) if s.kind != "dim")
        return Suspect(dims, kept, tuple(self._contents(model, formulas, copies)), threads)

    def _of(self, term: Term, copy: int | None) -> Term:
        return term if copy is None else self.terms.rename(term, copy)

    def _contents(
        self, model: Model, formulas: Sequence[Term], copies: Sequence[int | None]
    ) -> Iterable[Content]:
        """Numbers read on the way, where the formulas speak of them."""
        spoken = closure(self.terms, self.found, formulas)
        placed: set[Any] = set()
        for copy in copies:
            for access in self.found.accesses:
                if access.root.kind != "parameter":
                    continue
                for k, number in enumerate(access.result):
                    term = self._of(number, copy)
                    if term not in spoken or term.sort not in (INT, BOOL):
                        continue
                    index = tuple(model.number(self._of(i, copy)) for i in access.index)
                    parameter, leaf = access.root.key
                    assert isinstance(parameter, int)
                    assert isinstance(leaf, int)
                    place = parameter, leaf, index, (access.leaf or 0) + k
                    if place not in placed:
                        placed.add(place)
                        value = model.holds(term) if term.sort == BOOL else model.number(term)
                        value = int(value)
                        yield Content(*place, value)
