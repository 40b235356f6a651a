"""Where the numbers in a goal come from, when it is not proved: the reason to give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heald.ir import ATOMICS, LOOPS, Op
from heald.proof.records import Execution
from heald.proof.terms import Term, Terms, walk


def closure(terms: Terms, found: Execution, formulas: Iterable[Term]) -> set[Term]:
    """Every unknown that formulas speak of, through quotients, extremes and loop variables."""
    seen: set[Term] = set()
    work = [symbol for formula in formulas for symbol in terms.symbols(formula)]
    while work:
        symbol = work.pop()
        if symbol not in seen:
            seen.add(symbol)
            for fact in (*terms.definitions(symbol), *found.related.get(symbol, ())):
                work += terms.symbols(fact)
    return seen


def turns_in(terms: Terms, found: Execution, formulas: Iterable[Term]) -> list[Term]:
    """What tells whether anything wrapped in what formulas are computed from."""
    if not found.turns:
        return []
    given = [*formulas]
    unknowns = [*given, *closure(terms, found, given)]
    facts = [fact for unknown in unknowns for fact in terms.definitions(unknown)]
    seen = {term for formula in (*unknowns, *facts) for term in walk(formula)}
    return [turn for turn in found.turns if turn in seen]


def origins(terms: Terms, found: Execution, goals: Iterable[Term]) -> list[Op]:
    """The ops that unknowns of the thread in goals come from."""
    seen = closure(terms, found, goals)
    ops = dict.fromkeys(op for symbol, op in found.sources.items() if symbol in seen)
    return sorted(ops, key=_rank)


_RANKS = ("load", "atomic", "loop", "number", "other")


def _rank(op: Op) -> int:
    return _RANKS.index(_kind(op))


def _kind(op: Op) -> str:
    if op.name == "load":
        return "load"
    if op.name in ATOMICS:
        return "atomic"
    if op.name in ("resource_scalar", "resource_array"):
        return "number"
    return "loop" if op.name in LOOPS else "other"


def reason_of(sources: Sequence[Op], otherwise: str = "arithmetic") -> str:
    """The key of the reason: what the solver would have to know."""
    return _kind(sources[0]) if sources and _kind(sources[0]) != "other" else otherwise
