"""From a question that a solver could not refute to a launch that a replay can judge.

Products are exact here, and sizes are kept small: first because small launches are easy to read and
to run, and second because a solver finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from random import Random

from heald.artifact import Symbol
from heald.proof.context import Context
from heald.proof.explain import closure
from heald.proof.result import Content, Suspect
from heald.proof.solver import Effort, Model, Solver
from heald.proof.terms import BOOL, INT, Term, constant_of

_SMALL = (2, 3, 3, 5, 8)
_SIZES = (3, 8, 40, 70_000, None)
_RLIMIT = 300_000
_SEARCH = 3_000_000
"""Steps for one question: no launch of the corpus took a thirtieth of them to be found."""
_MOST = 2
_WORD = range(-(1 << 63), 1 << 63)


def seek(
    c: Context,
    question: Sequence[Term],
    copies: Sequence[int | None],
    facts: Sequence[Term],
    *,
    also: Mapping[Term, Term] | None = None,
) -> tuple[Suspect, ...]:
    """Launches in which all terms of a question are true, small ones first.

    Args:
        c: the attempt.
        question: what is suspected.
        copies: how the threads to watch are renamed.
        facts: about the launch.
        also: what is known of numbers read, as for the question.
    """
    made: list[Suspect] = []
    effort = Effort(min(_SEARCH, c.effort.left))
    given = effort.left
    solver = _solver(c, effort, also)
    known = [i for thread in copies if thread for i in _renamed(c, thread)]
    solver.add([*facts, *c.invariants, *known])
    solver.prepare(question)
    for bounds in (*_fixed(c, effort, facts), *map(partial(_bounds, c), _SIZES)):
        answer = solver.check([*question, *bounds], model=True)
        if answer.status != "sat" or answer.model is None:
            continue
        suspect = _suspect(c, answer.model, question, copies)
        if suspect is not None and suspect not in made:
            made.append(suspect)
        if len(made) == _MOST:
            break
    c.effort.left -= given - effort.left
    return tuple(made)


def _solver(c: Context, effort: Effort, also: Mapping[Term, Term] | None = None) -> Solver:
    return Solver(c.terms, also=also or {}, exact=True, rlimit=_RLIMIT, effort=effort)


def _fixed(c: Context, effort: Effort, facts: Sequence[Term]) -> Iterator[list[Term]]:
    """Small launches, one after another: where sizes are numbers, products are sums."""
    chance = Random(len(facts))
    solver = _solver(c, effort)
    solver.add(facts)
    for size in _SMALL:
        chosen: list[Term] = []
        for symbol in c.found.symbols.values():
            if constant_of(symbol) is not None:
                continue
            low, high = c.terms.range(symbol)
            number = c.terms.integer(chance.randint(max(low, -1), min(high, size)))
            choice = c.terms.same(symbol, number)
            if solver.check([*chosen, choice]).status == "sat":
                chosen.append(choice)
        answer = solver.check([*chosen, *_bounds(c, 2 * size * size)], model=True)
        if answer.status == "sat" and answer.model is not None:
            numbers = {s: answer.model.number(s) for s in c.found.symbols.values()}
            yield [c.terms.same(s, c.terms.integer(n)) for s, n in numbers.items()]


def _renamed(c: Context, thread: int) -> Iterator[Term]:
    return (c.terms.rename(i, thread) for i in c.invariants)


def _bounds(c: Context, size: int | None) -> list[Term]:
    if size is None:
        return []
    unknown = [s for s in c.found.symbols.values() if constant_of(s) is None]
    return [c.terms.between(-size, s, size) for s in unknown if c.terms.is_exact(s)]


def _suspect(
    c: Context, model: Model, question: Sequence[Term], copies: Sequence[int | None]
) -> Suspect | None:
    numbers = {symbol: model.number(term) for symbol, term in c.found.symbols.items()}
    axes = range(len(c.found.threads))
    dims = tuple(numbers[Symbol("dim", axis=axis)] for axis in axes)
    threads = tuple(
        tuple(model.number(_of(c, t, copy)) for t in c.found.threads) for copy in copies
    )
    kept = tuple((s, n) for s, n in sorted(numbers.items()) if s.kind != "dim")
    contents = tuple(_contents(c, model, question, copies))
    every = [*numbers.values(), *(n for x in contents for n in (*x.index, x.value))]
    if any(n not in _WORD for n in every):
        return None
    return Suspect(dims, kept, contents, threads)


def _of(c: Context, term: Term, copy: int | None) -> Term:
    return term if copy is None else c.terms.rename(term, copy)


def _contents(
    c: Context, model: Model, question: Sequence[Term], copies: Sequence[int | None]
) -> Iterator[Content]:
    """Numbers read on the way, where the question speaks of them."""
    spoken = closure(c.terms, c.found, question)
    placed: set[tuple[object, ...]] = set()
    for copy in copies:
        for access in c.found.accesses:
            if access.root.kind != "parameter":
                continue
            for k, number in enumerate(access.result):
                term = _of(c, number, copy)
                if term not in spoken or term.sort not in (INT, BOOL):
                    continue
                index = tuple(model.number(_of(c, i, copy)) for i in access.index)
                parameter, leaf = access.root.key
                assert isinstance(parameter, int)
                assert isinstance(leaf, int)
                place = parameter, leaf, index, (access.leaf or 0) + k
                if place not in placed:
                    placed.add(place)
                    value = model.holds(term) if term.sort == BOOL else model.number(term)
                    yield Content(*place, int(value))
