"""Contracts that no launch keeps prove everything; so a launch that keeps them is looked for."""

from __future__ import annotations

from collections.abc import Iterator

from heald.proof.context import Context
from heald.proof.solver import Solver
from heald.proof.terms import Term, constant_of

KEPT, BROKEN, UNKNOWN = "kept", "broken", "unknown"
_SIZES = (8, 100, 70_000, None)
_RLIMIT = 1_000_000


def judge_contracts(c: Context) -> tuple[str, int]:
    """Whether some launch keeps all contracts, and the id of the op at which that is not so.

    Arrays with contracts on contents have an element: on empty ones every contract is kept.  What a
    contract in the body promises of a place must be true there in some launch.
    """
    base = [*c.facts(), *_some_contents(c)]
    promised = [(c.ids[p.op], [*p.path, *p.known, p.claim]) for p in c.found.promised]
    worst = KEPT, 0
    for op, question in [(0, []), *promised]:
        status = _ask(c, [*base, *question])
        if status == BROKEN:
            return status, op
        if status == UNKNOWN:
            worst = status, op
    return worst


def _some_contents(c: Context) -> Iterator[Term]:
    """There is an element, and room for it (and for as many as differ)."""
    terms, contents = c.terms, c.executor.contents
    shapes = [(s, term) for s, term in c.found.symbols.items() if s.kind == "shape"]
    for promise in contents.promises.arrays:
        extents = [term for s, term in shapes if (s.parameter, s.leaf) == (promise.parameter, 0)]
        for extent in extents:
            yield terms.at_least(extent, terms.integer(1))
        ends = contents.range_of(promise)
        if ends is None:
            continue
        yield terms.at_least(ends[1], ends[0])
        if promise.injective:
            room = terms.plus(terms.subtract(ends[1], ends[0]), 1)
            yield terms.at_least(room, extents[0])


def _ask(c: Context, question: list[Term]) -> str:
    """Is there a launch?  Small ones are found sooner; that there is none is shown for all."""
    terms = c.terms
    solver = Solver(terms, exact=True, rlimit=_RLIMIT, effort=c.effort)
    solver.add([*question, *c.invariants])
    status = ""
    for size in _SIZES:
        bounds = []
        if size is not None:
            symbols = [s for s in c.found.symbols.values() if constant_of(s) is None]
            bounds = [terms.between(-size, symbol, size) for symbol in symbols]
        c.questions += 1
        status = solver.check(bounds).status
        if status == "sat":
            return KEPT
    return BROKEN if status == "unsat" else UNKNOWN
