"""Bounds, divisions, assertions, handles, and indices that overflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heald.ir import Op
from heald.passes.intervals import Intervals
from heald.proof.conditions import Clause
from heald.proof.context import Context, Item, Open, Stage, merge_suspects
from heald.proof.explain import turns_in
from heald.proof.records import Indexing, Obligation
from heald.proof.result import Finding, Live, Suspect
from heald.proof.terms import Term, polynomial
from heald.proof.witness import seek

PROPERTY_OF = {
    "bounds": "bounds",
    "division": "division",
    "step": "division",
    "assertion": "assertions",
    "handle": "handles",
    "contract": "contracts",
}
_MOST_OVERFLOWS = 8


@dataclass(frozen=True, slots=True)
class Settled:
    """What the interval analysis says: always, or under clauses."""

    always: frozenset[Op] = frozenset()
    under: frozenset[Op] = frozenset()
    clauses: tuple[Clause, ...] = ()

    @classmethod
    def of(cls, found: Intervals, clauses: Sequence[Clause], *, infer: bool) -> Settled:
        """The verdicts of the analysis; conditional ones only where conditions are allowed."""
        under = found.proved_under if infer else frozenset()
        return cls(found.proved, under, tuple(clauses))


def judge_obligations(c: Context, settled: Settled, wanted: Sequence[str]) -> None:
    """Prove obligations, or leave them open in their stages."""
    by_property: dict[str, list[Obligation]] = {}
    for obligation in c.found.obligations:
        name = PROPERTY_OF[obligation.kind]
        is_settled = obligation.kind != "contract"  # which the interval analysis knows nothing of
        if name not in wanted or (is_settled and obligation.op in settled.always):
            continue
        if obligation.kind == "handle":
            _judge_handle(c, obligation)
        elif is_settled and obligation.op in settled.under:
            c.stages[name].demand(settled.clauses)
        else:
            by_property.setdefault(name, []).append(obligation)
    for name, rest in by_property.items():
        _judge(c, name, rest)


def _judge(c: Context, name: str, obligations: Sequence[Obligation]) -> None:
    stage = c.stages[name]
    items = [((*o.path, *o.known), o.goal) for o in obligations]
    left = c.open_of([c.wrong(item) for item in items], c.facts(name))
    for k in left:
        known = c.request.infer and c.holds(items[k], c.facts(name), deep=False)
        if not known and not c.infer(items[k], stage, usual=False):
            _leave_open(c, name, obligations[k], items[k])


def _leave_open(c: Context, name: str, obligation: Obligation, item: Item) -> None:
    stage = c.stages[name]
    question = [*item[0], c.terms.negate(item[1])]
    op = c.ids[obligation.op]
    finding = c.finding(name, op, [item[1]], question, axis=obligation.axis)

    def look() -> tuple[Suspect, ...]:
        return seek(c, question, [None], c.facts(name))

    found = Open(finding, look)
    for k, known in enumerate(stage.open):
        if (known.finding.op, known.finding.axis) == (finding.op, finding.axis):
            stage.open[k] = merge_suspects(known, found)
            return
    stage.open.append(found)


def _judge_handle(c: Context, obligation: Obligation) -> None:
    """A handle that is a parameter can be looked up before the launch."""
    stage = c.stages["handles"]
    (handle,) = obligation.numbers
    kind = obligation.op.attrs["kind"]
    assert isinstance(kind, int)
    for symbol, term in c.found.symbols.items():
        if term is handle and symbol.kind == "value":
            stage.live.append(Live(symbol.parameter, symbol.leaf, kind))
            return
    finding = Finding("handles", c.ids[obligation.op], reason="handle")
    stage.open.append(Open(finding, tuple))


# -- overflow of indices ---------------------------------------------------------------------------


def judge_overflows(c: Context) -> None:
    """An index must be the exact result of its arithmetic wherever its access succeeds."""
    stage = c.stages["overflow"]
    if not c.found.turns:
        return
    for access in c.found.indexings:
        turns = turns_in(c.terms, c.found, access.numbers)
        if turns:
            goal = c.terms.both(*(_is_exact(c, number) for number in access.numbers))
            here = (*access.path, *access.known)
            parts = goal.args if goal.kind == "and" else (goal,)  # the plain ones come first
            if not all(c.holds((here, part), c.facts()) for part in parts):
                _leave_overflow(c, stage, access, turns, (here, goal))
        if len(stage.open) == _MOST_OVERFLOWS:
            return


def _is_exact(c: Context, number: Term) -> Term:
    """Is a number what its arithmetic would give without limits?

    What was taken off in several places may add up to nothing, and of two values of which one is
    chosen the other one does not count.
    """
    terms = c.terms
    if number.kind == "ite":
        condition, x, y = number.args
        chosen = terms.implies(condition, _is_exact(c, x))
        other = terms.either(condition, _is_exact(c, y))
        return terms.both(_has_no_turns(c, condition), chosen, other)
    if number.kind != "sum":
        return _has_no_turns(c, number)
    total = polynomial(number)
    counted = c.found.turns.keys() - c.executor.encoding.lost
    own = {m: n for m, n in total.items() if counted & set(m)}
    rest = dict.fromkeys(atom for m in total if m not in own for atom in m)
    return terms.both(terms.zero(terms.sum_of(own)), *(_is_exact(c, atom) for atom in rest))


def _has_no_turns(c: Context, formula: Term) -> Term:
    """Did nothing wrap anywhere in what a formula is computed from?"""
    turns = turns_in(c.terms, c.found, [formula])
    return c.terms.both(*(c.executor.encoding.is_exact(turn) for turn in turns))


def _leave_overflow(
    c: Context, stage: Stage, access: Indexing, turns: Sequence[Term], item: Item
) -> None:
    question = [*item[0], c.terms.negate(item[1])]
    culprits = tuple(dict.fromkeys(c.ids[c.found.turns[turn]] for turn in turns))
    c.note_vague([*access.numbers, *turns])
    op = c.ids[access.op]
    finding = Finding("overflow", op, reason="overflow", sources=culprits)
    stage.open.append(Open(finding, lambda: seek(c, question, [None], c.facts())))
