"""Threads of a block: do all come to each barrier, and is what they read of shared arrays written?

Both speak of launches without faults.  What a barrier orders counts in races only where all threads
of a block come to it, so where that is open, so are races and reads of shared arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from heald.ir import Kernel, Op, walk
from heald.ops.threads import synchronises_block
from heald.proof.context import Context, Open
from heald.proof.races import different_threads, same_block
from heald.proof.records import Access, Meeting
from heald.proof.result import Finding, Suspect
from heald.proof.terms import Term, polynomial
from heald.proof.vector_terms import Inexact
from heald.proof.witness import seek

_WRITER = 3
"""The copy of the generic thread that writes what thread 1 reads."""


def judge_divergence(c: Context) -> None:
    """Every thread of a block comes to a barrier to which one of them comes."""
    stage = c.stages["divergence"]
    for loop in c.found.tangled:
        _leave_tangled(c, loop)
    if c.found.tangled:
        return
    for meeting in c.found.meetings:
        question = _parted(c, meeting)
        if not question or not c.open_of([c.terms.both(*question)], c.facts("divergence")):
            continue
        finding = c.finding("divergence", c.ids[meeting.op], meeting.path, question)

        def look(question: Sequence[Term] = question) -> tuple[Suspect, ...]:
            return seek(c, question, [1, 2], c.facts("divergence"))

        stage.open.append(Open(finding, look))


def _leave_tangled(c: Context, loop: Op) -> None:
    """Whether all threads come to the barriers in a loop is open; launches that come there may show
    that they do not.
    """
    inside = {op for region in loop.regions for op in walk(region)}
    here = [[*m.path, *m.known] for m in c.found.meetings if m.op in inside]

    def look() -> tuple[Suspect, ...]:
        facts = c.facts("divergence")
        return tuple(suspect for way in here for suspect in seek(c, way, [None], facts))

    loop_id = c.ids[loop]
    finding = Finding("divergence", loop_id, reason="rounds", sources=(loop_id,))
    c.stages["divergence"].open.append(Open(finding, look))


def _parted(c: Context, meeting: Meeting) -> list[Term]:
    """Thread 1 comes to a barrier, and thread 2 of its block does not.

    That a loop before it has ended is true for thread 2, too; loops end, or no thread waits.
    """
    decisions = [term for term in meeting.path if term not in c.found.exits]
    if not decisions:
        return []
    terms = c.terms
    here = [terms.rename(term, 1) for term in (*meeting.path, *meeting.known)]
    there = terms.both(*(terms.rename(term, 2) for term in decisions))
    others = [*same_block(terms, c.found), different_threads(terms, c.found)]
    return [*here, *others, terms.negate(there)]


# -- what shared arrays hold -----------------------------------------------------------------------


def judge_initialised(c: Context) -> None:
    """What a thread reads of a shared array was written by it before, or by another thread of its
    block before a barrier.
    """
    stage = c.stages["initialised"]
    accesses = c.found.accesses
    for k, access in enumerate(accesses):
        if access.root.kind != "shared" or access.kind == "write":
            continue
        stores = [
            a
            for a in accesses[:k]
            if a.root == access.root
            and a.kind == "write"
            and (a.leaf is None or a.leaf == access.leaf)
        ]
        if any(_is_own(store, access) for store in stores):
            continue
        with suppress(Inexact):
            ordered = [] if c.found.tangled else [s for s in stores if _is_ordered(s, access)]
            if any(_covers(c, store, access) for store in ordered):
                continue
        op = c.ids[access.op]
        question = [*access.path, *access.known]
        finding = Finding("initialised", op, reason="shared")

        def look(question: Sequence[Term] = question) -> tuple[Suspect, ...]:
            return seek(c, question, [None], c.facts("initialised"))

        if all(o.finding.op != op for o in stage.open):
            stage.open.append(Open(finding, look))


def _is_own(store: Access, read: Access) -> bool:
    """Did the thread that reads write there before, wherever it comes to the read?"""
    return store.index == read.index and set(store.path) <= set(read.path)


def _is_ordered(store: Access, read: Access) -> bool:
    """Is there a barrier between, on every way?"""
    return max(store.segments) < min(read.segments)


def _covers(c: Context, store: Access, read: Access) -> bool:
    """Is there, for every element that a thread reads, a thread of its block that writes it?"""
    terms, found = c.terms, c.found
    place = found.place
    here = [terms.rename(term, 1) for term in (*read.path, *read.known)]
    index = [terms.rename(term, 1) for term in read.index]
    block = terms.rename(place["block_index"], 1)
    total = terms.integer(1)
    for axis in range(len(found.threads)):
        total = terms.multiply(total, c.executor.dim_symbol(axis))
    rank, size = place["thread_index"], place["block_dim"]
    for writer in _writers(c, store, index):
        linear = terms.add(terms.multiply(block, size), writer)
        exists = terms.both(
            terms.non_negative(writer), terms.less(writer, size), terms.less(linear, total)
        )
        if not c.holds((tuple(here), exists), c.facts("initialised"), deep=False):
            continue
        meant = [
            terms.same(terms.rename(rank, _WRITER), writer),
            terms.same(terms.rename(place["block_index"], _WRITER), block),
        ]
        meant += [
            terms.same(terms.rename(symbol, _WRITER), terms.rename(symbol, 1))
            for symbol in found.uniform
        ]
        decisions = [term for term in store.path if term not in found.exits]
        there = [terms.rename(term, _WRITER) for term in decisions]
        there += [
            terms.same(terms.rename(a, _WRITER), b) for a, b in zip(store.index, index, strict=True)
        ]
        if c.holds(((*here, *meant), terms.both(*there)), c.facts("initialised"), deep=False):
            return True
    return False


def _writers(c: Context, store: Access, index: Sequence[Term]) -> Iterator[Term]:
    """Numbers, in the block, of threads that may write an element.

    Of an array of one axis that a thread writes at its number plus a constant, or at a constant
    minus it; else of arrays that threads fill row by row, or column by column.
    """
    terms = c.terms
    rank = c.found.place["thread_index"]
    if len(index) == 1:
        sums = polynomial(store.index[0])
        if set(sums) <= {(), (rank,)} and abs(sums.get((rank,), 0)) == 1:
            yield terms.scale(terms.plus(index[0], -sums.get((), 0)), sums[rank,])
        return
    extents = _extents(store.op)
    for order in (range(len(index)), reversed(range(len(index)))):
        number = terms.integer(0)
        for axis in order:
            number = terms.add(terms.scale(number, extents[axis]), index[axis])
        yield number


def _extents(op: Op) -> Sequence[int]:
    return getattr(op.operands[0].type, "shape", None) or (1,) * 4


def waits_in_while(kernel: Kernel) -> bool:
    """Do threads of a block wait for each other in a ``while``, which ends for all of them where
    one has faulted?
    """
    return any(
        op.name == "while"
        and any(synchronises_block(inner) for region in op.regions for inner in walk(region))
        for op in walk(kernel.body)
    )
