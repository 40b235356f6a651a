"""Races between two threads of a launch, and arrays that overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from heald.artifact import Apart, ArrayPlace
from heald.proof import races
from heald.proof.contents import relations_of_threads
from heald.proof.context import Context, Open, Stage, is_sensible
from heald.proof.races import Pair
from heald.proof.radix import conditions_apart
from heald.proof.records import Root
from heald.proof.result import Finding, Suspect
from heald.proof.terms import Term
from heald.proof.vector_terms import Inexact
from heald.proof.witness import seek
from heald.types import Array, leaves, size_of

Loads = Mapping[Term, Term]


def judge_races(c: Context) -> None:
    """Prove that no two threads meet, or leave pairs of accesses open; then look at aliasing."""
    stage = c.stages["races"]
    changed = [a for a in c.found.accesses if a.kind != "read"]
    if not changed:
        return
    written = {a.root for a in changed}
    for root in written:
        if root.kind not in ("parameter", "shared"):
            op = next(a.op for a in changed if a.root == root)
            finding = Finding("races", c.ids[op], reason="resource")
            stage.open.append(Open(finding, tuple))
    loads = races.stable_loads(c.terms, c.found, written)
    pairs = races.pairs_of(c.terms, c.found)
    tickets = [*_tickets(c, stage), *_promised(c)] if pairs else []
    _judge(c, pairs, loads, tickets)
    # What was proved with stable contents or counters holds of arrays that are apart only.
    plain = [_question(c, pair) for pair in pairs]
    may_merge = not c.found.trusted and not c.open_of(plain, c.facts("races"))
    if any(root.kind == "parameter" for root in written):
        c.stages["aliasing"].apart = apart_of(c, may_merge=may_merge)


def _question(c: Context, pair: Pair) -> Term:
    return c.terms.both(*pair.meeting, pair.differ)


def _tickets(c: Context, stage: Stage) -> list[Term]:
    """What counters tell, where their sums stay below 2^bits."""
    facts: list[Term] = []
    if c.vectors:
        return facts
    terms = c.terms
    for counter in races.counters(c.found):
        total = terms.integer(counter.amount)
        for axis in range(len(c.found.threads)):
            total = terms.multiply(total, c.executor.dim_symbol(axis))
        enough = ((), terms.at_least(terms.integer(1 << counter.type.bits), total))
        if c.holds(enough, c.facts()) or c.infer(enough, stage, usual=True):
            facts += races.distinct_tickets(terms, counter)
    return facts


def _promised(c: Context) -> list[Term]:
    """What contracts say of numbers that two threads read."""
    with suppress(Inexact):
        return relations_of_threads(c.executor.contents, c.found)
    return []


def _judge(c: Context, pairs: Sequence[Pair], loads: Loads, tickets: Sequence[Term]) -> None:
    stage = c.stages["races"]
    questions = [_question(c, pair) for pair in pairs]
    left = set(c.open_of(questions, [*c.facts("races"), *tickets], also=loads))
    for k, pair in enumerate(pairs):
        if k not in left:
            _note_benign(c, pair, loads, tickets)
        elif not _keep_apart(c, pair, loads, tickets):
            _leave_open(c, stage, pair, loads, tickets)


def _note_benign(c: Context, pair: Pair, loads: Loads, tickets: Sequence[Term]) -> None:
    """Did the proof need that both threads write the same value?"""
    ops = c.ids[pair.first.op], c.ids[pair.second.op]
    benign = c.stages["races"].benign
    if pair.differ is c.terms.true or ops in benign:
        return
    question = c.terms.both(*pair.meeting)
    if c.open_of([question], [*c.facts("races"), *tickets], also=loads):
        benign.append(ops)


def _leave_open(
    c: Context, stage: Stage, pair: Pair, loads: Loads, tickets: Sequence[Term]
) -> None:
    first, second = pair.first, pair.second
    op, other = c.ids[first.op], c.ids[second.op]
    if any((o.finding.op, o.finding.other) == (op, other) for o in stage.open):
        return
    indices = [*first.index, *second.index]
    finding = c.finding("races", op, indices, [*indices, *first.path, *second.path], other=other)

    def look() -> tuple[Suspect, ...]:
        question = [*pair.meeting, pair.differ]
        return seek(c, question, [1, 2], [*c.facts("races"), *tickets], also=loads)

    stage.open.append(Open(finding, look))


def _keep_apart(c: Context, pair: Pair, loads: Loads, tickets: Sequence[Term]) -> bool:
    """Ask of the launch that strides are large enough; False where that does not help."""
    if not c.request.infer or c.vectors:
        return False
    stage = c.stages["races"]
    here = [*c.facts("races"), *tickets]
    question = [_question(c, pair)]
    if not c.open_of(question, here, also=loads, deep=False):
        return True
    if not c.kernel.rank:  # its threads all do the same
        c.stages["races"].demand(c.clause_of(claim) for claim in _one_thread(c))
        return True
    for way in conditions_apart(c.terms, c.found, pair.first, pair.second):
        if not way or c.terms.false in way:
            continue
        clauses = [c.clause_of(claim) for claim in way if claim is not c.terms.true]
        sensible = all(is_sensible(clause, c.kernel.rank, usual=False) for clause in clauses)
        if sensible and not c.open_of(question, [*here, *way], also=loads, deep=False):
            stage.demand(clauses)
            return True
    return False


def _one_thread(c: Context) -> list[Term]:
    """The launch has one thread."""
    one = c.terms.integer(1)
    dims = [c.executor.dim_symbol(axis) for axis in range(len(c.found.threads))]
    return [c.terms.at_least(one, dim) for dim in dims]


# -- arrays that overlap ---------------------------------------------------------------------------


def apart_of(c: Context, *, may_merge: bool = False) -> Apart:
    """Which arrays must not overlap, and which pairs of them may be one array."""
    written = {a.root for a in c.found.accesses if a.kind != "read"}
    accessed = dict.fromkeys(a.root for a in c.found.accesses if a.root.kind == "parameter")
    changed = [root for root in accessed if root in written]
    order = [*changed, *(root for root in accessed if root not in written)]
    merged = frozenset(
        (j, k)
        for j, a in enumerate(changed)
        for k, b in enumerate(order)
        if k > j and may_merge and _may_be_one(c, a, b)
    )
    places = [_place(c, root) for root in order]
    split = len(changed)
    return Apart(tuple(places[:split]), tuple(places[split:]), merged)


def _may_be_one(c: Context, a: Root, b: Root) -> bool:
    """Is the kernel free of races where two parameters are one array?"""
    if _array_type(c, a) is not _array_type(c, b):
        return False
    pairs = races.merged_pairs(c.terms, c.found, a, b) + races.merged_pairs(c.terms, c.found, b, a)
    return not c.open_of([_question(c, pair) for pair in pairs], c.facts("races"))


def _place(c: Context, root: Root) -> ArrayPlace:
    t = _array_type(c, root)
    parameter, leaf = _key(root)
    return ArrayPlace(parameter, leaf, t.ndim, size_of(t.dtype))


def _array_type(c: Context, root: Root) -> Array:
    parameter, leaf = _key(root)
    found = leaves(c.kernel.params[parameter].type)[leaf]
    assert isinstance(found, Array)
    return found


def _key(root: Root) -> tuple[int, int]:
    parameter, leaf = root.key
    assert isinstance(parameter, int)
    assert isinstance(leaf, int)
    return parameter, leaf
