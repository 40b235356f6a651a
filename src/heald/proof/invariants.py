"""Guesses about what loops carry, and which of them hold.

A guess that holds where its loop is entered, and after every iteration before which it held, holds
in all.  All guesses of a kernel are tried together and those that fail are dropped, until none
does: Houdini (Flanagan and Leino, "Houdini, an annotation assistant for ESC/Java", 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from heald.ir import MEMORY, Effect, Op, Region, Value, walk
from heald.ops import TABLE, role_of
from heald.proof.records import Candidate, Data, Guess, View
from heald.proof.solver import Answer, Solver
from heald.proof.terms import INT, Term, Terms

if TYPE_CHECKING:
    from heald.proof.executor import Executor

_MOST = 48
_COMPARING = frozenset({"icmp", "smin", "smax", "umin", "umax"})


def guesses(ex: Executor, loop: Op, heads: Sequence[Data], inits: Sequence[Data]) -> list[Guess]:
    """Relations at the head of a loop that deserve a trial."""
    args = loop.regions[-1].args[len(loop.regions[-1].args) - len(heads) :]
    numbers = [
        k
        for k, (value, head, init) in enumerate(zip(args, heads, inits, strict=True))
        if value in ex.exact and _is_number(ex, head) and _is_number(ex, init)
    ]
    unknown = [k for k in numbers if heads[k] is not inits[k] and _is_symbol(heads[k])]
    starts = {k: init for k, init in enumerate(inits) if k in numbers and isinstance(init, Term)}
    limits = dict.fromkeys(_limits(ex, loop))
    found = dict.fromkeys(_relations(ex, unknown, numbers, starts, list(limits)))
    return list(islice(found, _MOST))


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What ``wp.invariant`` says at the start of the body of a loop, as a guess.

    It is computed from carried values by the ops before it, on exact integers: where it is not what
    the machine computes it is another guess, and as such no worse.
    """

    ex: Executor
    body: Region
    op: Op

    def claim(self, terms: Terms, carried: Sequence[Data]) -> Term:
        """What it says of carried values at one place."""
        ex = self.ex
        mark, path, known = ex.mark(), ex.path, ex.known
        own = self.body.args[: len(self.body.args) - len(carried)]  # the variable of a `for`
        ex.bind(self.body.args, (*(ex.unknown(v.type, "index") for v in own), *carried))
        for op in self.body.ops:
            if op is self.op:
                break
            if op.name != "assume":
                ex.plain(op)
        ex.rollback(mark)
        ex.path, ex.known = path, known
        return ex.term(self.op.operands[0])

    def speaks_of(self, value: Value) -> bool:
        """Is it computed from a value?"""
        found = {value}
        for op in self.body.ops:
            if op is self.op:
                return op.operands[0] in found
            if not found.isdisjoint(op.operands):
                found.update(op.results)
        raise AssertionError("it is an op of the body")


def stated(ex: Executor, loop: Op) -> Iterator[Stated]:
    """Invariants before which nothing happens in the body of a loop, and that do not speak of the
    loop variable.
    """
    body = loop.regions[-1]
    for op in body.ops:
        if op.name == "assume":
            found = Stated(ex, body, op)
            about_index = loop.name == "for" and found.speaks_of(body.args[0])
            if role_of(op) == "invariant" and not about_index:
                yield found
        elif op.regions or not _is_pure(op):
            return


def _is_pure(op: Op) -> bool:
    known = TABLE.get(op.name)
    return op.name in _COMPUTING or (known is not None and known.effects == Effect.PURE)


_COMPUTING = frozenset({"const", "tid", "launch_dim", "dim", "compose", "extract", "insert"})


def _is_number(ex: Executor, data: Data) -> bool:
    return isinstance(data, Term) and data.sort == INT and ex.terms.is_exact(data)


def _is_symbol(data: Data) -> bool:
    return isinstance(data, Term) and data.kind == "symbol"


def _relations(
    ex: Executor,
    unknown: Sequence[int],
    numbers: Sequence[int],
    starts: Mapping[int, Term],
    limits: Sequence[Term],
) -> Iterator[Guess]:
    zero, one = ex.terms.integer(0), ex.terms.integer(1)
    for k in unknown:
        yield Guess(k, "at_least", starts[k])
        yield Guess(k, "at_most", starts[k])
        yield Guess(k, "at_least", zero)
        yield Guess(k, "at_least", one)
    for k in unknown:
        for other in numbers:
            if other != k:
                yield Guess(k, "at_most", other)
                yield Guess(k, "at_least", other)
                yield Guess(k, "at_most", starts[other])
                yield Guess(k, "at_least", starts[other])
                yield Guess(k, "less", other)
    for k in unknown:
        for limit in limits:
            yield Guess(k, "less", limit)
            yield Guess(k, "at_most", limit)
            yield Guess(k, "at_least", limit)


def _limits(ex: Executor, loop: Op) -> Iterator[Term]:
    """What a loop compares with, and extents of arrays that it indexes, known before it."""
    inside = {v for op in walk(loop.regions[-1]) for v in op.results}
    inside.update(v for region in loop.regions for op in walk(region) for v in op.results)
    made = {v: op for region in loop.regions for op in walk(region) for v in op.results}
    for region in loop.regions:
        for op in walk(region):
            if op.name in MEMORY:
                data = ex.env.get(op.operands[0])
                if op.operands[0] not in inside and isinstance(data, View):
                    yield from data.extents
            elif op.name in _COMPARING:
                for value in op.operands:
                    yield from _number_before(ex, value, made)


def _number_before(ex: Executor, value: Value, made: dict[Value, Op]) -> Iterator[Term]:
    op = made.get(value)
    if op is None:
        data = ex.env.get(value)
        if isinstance(data, Term) and _is_number(ex, data) and value in ex.exact:
            yield data
    elif op.name == "const" and isinstance(op.attrs["value"], int):
        if not isinstance(op.attrs["value"], bool):
            yield ex.terms.integer(op.attrs["value"])
    elif op.name == "dim" and op.operands[0] not in made:
        data = ex.env.get(op.operands[0])
        axis = op.attrs["axis"]
        if isinstance(data, View) and isinstance(axis, int):
            yield data.extents[axis]


def settle(terms: Terms, solver: Solver, candidates: Sequence[Candidate]) -> set[Term]:
    """The literals of guesses that hold; nothing is known of others."""
    active = list(candidates)
    failures = {c: _failure(terms, c) for c in candidates}
    solver.prepare(failures.values())
    while active:
        chosen = set(active)
        literals = [c.literal if c in chosen else terms.negate(c.literal) for c in candidates]
        wrong = terms.either(*(failures[c] for c in active))
        answer = solver.check([*literals, wrong], model=True)
        match answer:
            case Answer(status="unsat"):
                break
            case Answer(status="sat", model=model) if model is not None:
                kept = [c for c in active if not model.holds(failures[c])]
                if len(kept) == len(active):
                    return set()
                active = kept
            case _:
                active = _try_each(terms, solver, candidates, active, failures)
                if len(active) == len(chosen):
                    break
    return {c.literal for c in active}


def _try_each(
    terms: Terms,
    solver: Solver,
    candidates: Sequence[Candidate],
    active: Sequence[Candidate],
    failures: dict[Candidate, Term],
) -> list[Candidate]:
    """Those that the solver can judge one by one, and that hold where all others do."""
    chosen = set(active)
    literals = [c.literal if c in chosen else terms.negate(c.literal) for c in candidates]
    return [c for c in active if solver.check([*literals, failures[c]]).status == "unsat"]


def _failure(terms: Terms, candidate: Candidate) -> Term:
    """Where the guess is wrong although it held before."""
    path, claim = candidate.start
    ways = [terms.both(*path, terms.negate(claim))]
    ways += [terms.both(*path, terms.negate(claim)) for path, claim in candidate.steps]
    return terms.either(*ways)
