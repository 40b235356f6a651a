"""Pairs of accesses by which two threads of a launch may meet in one element.

One generic thread is executed; its unknowns are renamed twice.  Two accesses meet where both
threads come to them and every index is equal.  Atomics do not race with each other.  What is read
from arrays that the launch does not write is the same for both threads; everything else read is
arbitrary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from heald.proof.records import Access, Data, Execution, Path, Root
from heald.proof.terms import INT, Term, Terms, constant_of, polynomial
from heald.types import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two accesses that would be a race.

    Attributes:
        first: by thread 1.
        second: by thread 2.
        meeting: where they meet.
        differ: where they write different values; always true unless both are plain writes.
        merged: the arrays are two parameters, taken to be the same array.
    """

    first: Access
    second: Access
    meeting: tuple[Term, ...]
    differ: Term
    merged: bool = False


def pairs_of(terms: Terms, found: Execution) -> list[Pair]:
    """Pairs in one array that cannot be told apart by looking at their indices."""
    by_root: dict[Root, list[Access]] = {}
    for access in found.accesses:
        by_root.setdefault(access.root, []).append(access)
    pairs: list[Pair] = []
    for accesses in by_root.values():
        for first, second in combinations_with_replacement(accesses, 2):
            if not conflict(first, second) or separate(terms, found, first, second):
                continue
            where = blocks_of(terms, found, first, second)
            if where is not None:
                pairs.append(make_pair(terms, found, first, second, where=where))
    return pairs


def blocks_of(terms: Terms, found: Execution, first: Access, second: Access) -> Path | None:
    """In which blocks two threads can meet in two accesses with no barrier between; None for none.

    Barriers order the threads of one block only.  Of those, all come to the same barriers
    (``divergence`` shows that), so that accesses behind different ones are ordered.
    """
    ordered = not found.tangled and first.segments.isdisjoint(second.segments)
    if first.root.kind == "shared":
        return None if ordered else same_block(terms, found)
    if not ordered:
        return ()
    return (terms.negate(same_block(terms, found)[0]),)


def same_block(terms: Terms, found: Execution) -> Path:
    """Two threads are of one block, and what is uniform there is the same for both, as far as they
    are between the same barriers.
    """
    symbols = (found.place["block_index"], *(() if found.tangled else found.uniform))
    return tuple(terms.same(terms.rename(s, 1), terms.rename(s, 2)) for s in symbols)


def merged_pairs(terms: Terms, found: Execution, a: Root, b: Root) -> list[Pair]:
    """Pairs between two parameters, were they the same array."""
    return [
        make_pair(terms, found, first, second, merged=True)
        for first in found.accesses
        for second in found.accesses
        if first.root == a
        and second.root == b
        and conflict(first, second)
        and not separate(terms, found, first, second)
    ]


def conflict(first: Access, second: Access) -> bool:
    """Would two accesses of one element race?"""
    kinds = {first.kind, second.kind}
    if kinds in ({"read"}, {"atomic"}):
        return False
    return first.leaf is None or second.leaf is None or first.leaf == second.leaf


def make_pair(
    terms: Terms,
    found: Execution,
    first: Access,
    second: Access,
    *,
    where: Path = (),
    merged: bool = False,
) -> Pair:
    """The question about two accesses; ``where`` says something of the blocks of the threads."""
    one = [terms.rename(term, 1) for term in (*first.path, *first.known)]
    two = [terms.rename(term, 2) for term in (*second.path, *second.known)]
    equal = [
        terms.same(terms.rename(a, 1), terms.rename(b, 2))
        for a, b in zip(first.index, second.index, strict=True)
    ]
    differ = terms.true
    if first.kind == second.kind == "write" and first.leaf == second.leaf:
        parts = [
            terms.negate(terms.same(terms.rename(a, 1), terms.rename(b, 2)))
            for a, b in zip(_flat(first.values), _flat(second.values), strict=True)
        ]
        differ = terms.either(*parts)
    return Pair(
        first,
        second,
        (*one, *two, *equal, *where, different_threads(terms, found)),
        differ,
        merged,
    )


def different_threads(terms: Terms, found: Execution) -> Term:
    """Two threads of one launch."""
    return terms.negate(
        terms.both(*(terms.same(terms.rename(t, 1), terms.rename(t, 2)) for t in found.threads))
    )


def _flat(values: Sequence[Data]) -> Iterator[Term]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            assert isinstance(value, Term)
            yield value


def separate(terms: Terms, found: Execution, first: Access, second: Access) -> bool:
    """Does every axis of the launch stand in the indices, so that threads never meet?"""
    told_apart: set[Term] = set()
    for a, b in zip(first.index, second.index, strict=True):
        difference = polynomial(terms.subtract(terms.rename(a, 1), terms.rename(b, 2)))
        for thread in found.threads:
            one, two = (terms.rename(thread, k) for k in (1, 2))
            count = difference.get((one,), 0)
            if set(difference) == {(one,), (two,)} and difference[two,] == -count != 0:
                told_apart.add(thread)
    return told_apart == set(found.threads)


def stable_loads(terms: Terms, found: Execution, written: set[Root]) -> dict[Term, Term]:
    """For numbers read from arrays that no thread writes: they are functions of the index."""
    facts: dict[Term, Term] = {}
    for access in found.accesses:
        if access.kind != "read" or access.root in written or access.root.kind == "shared":
            continue  # shared arrays of different blocks hold different numbers
        leaf = access.leaf or 0
        for k, number in enumerate(access.result):
            name = f"contents {access.root.kind} {_name(access.root)} {leaf + k}"
            low, high = terms.range(number) if number.sort == INT else (0, 0)
            value = terms.apply(name, number.sort, (*_terms(access.root), *access.index), low, high)
            facts[number] = terms.same(number, value)
    return facts


def _name(root: Root) -> str:
    return " ".join(str(part) for part in root.key if not isinstance(part, Term))


def _terms(root: Root) -> list[Term]:
    return [part for part in root.key if isinstance(part, Term)]


# -- counters --------------------------------------------------------------------------------------

_COUNTING = {"atomic_add": 1, "atomic_sub": -1}


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """Atomics that all count in one direction, by constants, and alone write an array.

    As long as what a launch counts in one element stays below 2^bits, their old values differ.

    Attributes:
        accesses: every access that changes the array.
        amount: how far one thread counts, at most.
        type: of the element.
    """

    accesses: tuple[Access, ...]
    amount: int
    type: Scalar


def counters(found: Execution) -> list[Counter]:
    """Arrays that are counters, in which a thread counts a limited number of times."""
    by_root: dict[Root, list[Access]] = {}
    for access in found.accesses:
        if access.kind != "read" and access.root.kind != "shared":  # each block has its own
            by_root.setdefault(access.root, []).append(access)
    made = [_counter(accesses) for accesses in by_root.values()]
    return [counter for counter in made if counter is not None]


def _counter(accesses: Sequence[Access]) -> Counter | None:
    amounts = [_amount(access) for access in accesses]
    if not (all(n > 0 for n in amounts) or all(n < 0 for n in amounts)):
        return None
    t = accesses[0].op.result.type
    assert isinstance(t, Scalar)
    return Counter(tuple(accesses), abs(sum(amounts)), t)


def _amount(access: Access) -> int:
    """How far an access counts, once for a thread; 0 where it does not count by a constant."""
    sign = _COUNTING.get(access.op.name, 0)
    if not sign or access.repeats or len(access.result) != 1:
        return 0
    value = access.values[0]
    amount = constant_of(value) if isinstance(value, Term) and value.sort == INT else None
    return sign * (amount or 0)


def distinct_tickets(terms: Terms, counter: Counter) -> list[Term]:
    """Old values that two threads get from one element are as far apart as the earlier counted.

    That holds of values around the wrap, too.  Where a thread does not come to the atomic, its old
    value stands for nothing and may be any: the limit on the counter leaves room for one.
    """
    facts = []
    for first in counter.accesses:
        for second in counter.accesses:
            if first.leaf != second.leaf:
                continue
            step = min(abs(_amount(first)), abs(_amount(second)))
            old = terms.rename(first.result[0], 1), terms.rename(second.result[0], 2)
            apart = terms.either(
                *(
                    terms.at_least(terms.subtract(a, b), terms.integer(step))
                    for a, b in (old, old[::-1])
                )
            )
            equal = [
                terms.same(terms.rename(a, 1), terms.rename(b, 2))
                for a, b in zip(first.index, second.index, strict=True)
            ]
            facts.append(terms.implies(terms.both(*equal), apart))
    return facts
