"""Two launches that nothing orders: can a thread of one touch bytes that a thread of the other
changes?

Both are executed with their concrete sizes, each on unknowns of its own, and accesses are compared
by address, so arrays may overlap in any way.  What is read is any number, as the launches may
change it under each other.  Only ``wp.atomic_*`` is atomic across launches: the atomics behind
``a[i] += v`` are so among the threads of their launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heald.ir import Kernel, op_ids
from heald.proof.conditions import Clause
from heald.proof.context import Context, Request
from heald.proof.prove import deep_recursion, execute
from heald.proof.records import Access, Beyond
from heald.proof.solver import Solver
from heald.proof.terms import Term, Terms
from heald.types import Array, Type, leaf_offsets, leaves, size_of


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an array lies: the address of element (0, ..., 0), and its byte strides."""

    ptr: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A launch with everything that is known of it.

    Attributes:
        kernel: before guards.
        given: its sizes and by-value integers.
        layouts: its arrays, by parameter and leaf.
    """

    kernel: Kernel
    given: tuple[Clause, ...]
    layouts: Mapping[tuple[int, int], Layout]


@dataclass(frozen=True, slots=True)
class Collision:
    """Two accesses that were not shown to keep apart: ids of their ops, and a thread for each."""

    first: int
    second: int
    threads: tuple[tuple[int, ...], tuple[int, ...]] | None


def collisions(first: Placed, second: Placed) -> list[Collision] | str:
    """Pairs of accesses that may touch one byte; a sentence where that cannot be judged."""
    terms = Terms()
    with deep_recursion():
        contexts = []
        for placed in (first, second):
            made = Context(Request(placed.kernel, placed.given, infer=False), terms=terms)
            try:
                execute(made, demand=False)
            except Beyond as stop:
                return f"kernel '{placed.kernel.name}' has {stop.reason}"
            if any(a.kind != "read" and a.root.kind == "resource" for a in made.found.accesses):
                return f"kernel '{placed.kernel.name}' writes to a resource"
            contexts.append(made)
        return _collide(terms, contexts, (first, second))


def _collide(
    terms: Terms, contexts: Sequence[Context], launches: Sequence[Placed]
) -> list[Collision]:
    facts = [fact for c in contexts for fact in (*c.facts(), *c.invariants)]
    ids = [op_ids(c.kernel) for c in contexts]
    found: dict[tuple[int, int], Collision] = {}
    solver = Solver(terms)
    solver.add(facts)
    exact = Solver(terms, exact=True)
    exact.add(facts)
    for a in contexts[0].found.accesses:
        for b in contexts[1].found.accesses:
            if not _conflict(a, b) or a.root.kind != "parameter" or b.root.kind != "parameter":
                continue
            key = ids[0][a.op], ids[1][b.op]
            question = [*a.path, *a.known, *b.path, *b.known]
            question.append(
                _overlap(terms, _bytes(terms, launches[0], a), _bytes(terms, launches[1], b))
            )
            if key in found or solver.check(question).status == "unsat":
                continue
            answer = exact.check(question, model=True)
            if answer.status == "unsat":
                continue
            threads = None
            if answer.model is not None:
                model = answer.model
                one, two = (tuple(model.number(t) for t in c.found.threads) for c in contexts)
                threads = one, two
            found[key] = Collision(*key, threads)
    return list(found.values())


def _conflict(a: Access, b: Access) -> bool:
    if a.kind == b.kind == "read":
        return False
    return not (_is_atomic(a) and _is_atomic(b))


def _is_atomic(access: Access) -> bool:
    """Across launches, too?"""
    return access.kind == "atomic" and access.op.attrs.get("scope") != "launch"


Bytes = tuple[Term, int]
"""The address of the first byte, and how many there are."""


def _bytes(terms: Terms, launch: Placed, access: Access) -> Bytes:
    parameter, leaf = access.root.key
    assert isinstance(parameter, int)
    assert isinstance(leaf, int)
    layout = launch.layouts[parameter, leaf]
    address = terms.integer(layout.ptr)
    for index, stride in zip(access.index, layout.strides, strict=True):
        address = terms.add(address, index, stride)
    offset, size = _part(leaves(launch.kernel.params[parameter].type)[leaf], access.leaf)
    return terms.plus(address, offset), size


def _part(array: Type, leaf: int | None) -> tuple[int, int]:
    """Where in an element an access begins, and how many bytes it has."""
    assert isinstance(array, Array)
    if leaf is None:
        return 0, size_of(array.dtype)
    return leaf_offsets(array.dtype)[leaf], size_of(leaves(array.dtype)[leaf])


def _overlap(terms: Terms, a: Bytes, b: Bytes) -> Term:
    return terms.both(
        terms.less(a[0], terms.plus(b[0], b[1])), terms.less(b[0], terms.plus(a[0], a[1]))
    )
