"""Contracts on what arrays hold: what they say of numbers that are read, what they ask of stores.

They are true of an array when the launch begins, and stay true where the kernel does not write it,
under whatever name: proofs that trust them ask that arrays do not overlap.  What a kernel writes is
not trusted, but every store into it has to keep the contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heald.ir import ATOMICS, Op
from heald.passes.array_roots import array_roots, written_roots
from heald.proof.contracts import ArrayPromise, Promises, Sum
from heald.proof.records import Data, Execution, Root
from heald.proof.terms import INT, Term, Terms
from heald.proof.vector_terms import Inexact

if TYPE_CHECKING:
    from heald.proof.executor import Executor

_MOST_LOADS = 8
_KEEPING = frozenset({"atomic_min", "atomic_max", "atomic_exch", "atomic_cas"})
"""Atomics after which an element is the old one or the last operand."""


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A number read from a promised array: where, and what."""

    index: Term
    number: Term


class Contents:
    """What one execution knows of promised arrays."""

    def __init__(self, ex: Executor, promises: Promises) -> None:
        self.ex = ex
        self.promises = promises
        self.loads: dict[Root, list[Load]] = {}
        roots = array_roots(ex.kernel) if promises.arrays else {}
        self._written = written_roots(ex.kernel, roots) if promises.arrays else frozenset()

    def visit(
        self,
        op: Op,
        root: Root,
        index: tuple[Term, ...],
        values: Sequence[Data],
        result: Sequence[Term],
    ) -> None:
        """A load, store or atomic at an index of a root."""
        promise = self.promise_of(root)
        if promise is None:
            return
        if op.name == "store" or op.name in ATOMICS:
            self._keep(op, promise, values)
        elif self.ex.trusting and root.key not in self._written and result[0].sort == INT:
            self._trust(promise, root, index, result[0])

    def promise_of(self, root: Root) -> ArrayPromise | None:
        """What is promised of a root."""
        parameter, *leaf = root.key
        if root.kind != "parameter" or leaf != [0]:
            return None
        assert isinstance(parameter, int)
        return self.promises.of(parameter)

    def range_of(self, promise: ArrayPromise) -> tuple[Term, Term] | None:
        """The least and the greatest element, where there are such."""
        if promise.elements is None:
            return None
        return self._size(promise.elements.low), self._size(promise.elements.high)

    def _size(self, size: Sum) -> Term:
        terms = self.ex.terms
        total = terms.integer(0)
        for product, count in size:
            part = terms.integer(count)
            for symbol in product:
                part = terms.multiply(part, self.ex.symbol_of(symbol))
            total = terms.add(total, part)
        return total

    def _trust(
        self, promise: ArrayPromise, root: Root, index: tuple[Term, ...], number: Term
    ) -> None:
        ex, terms = self.ex, self.ex.terms
        ex.found.trusted.add(root)
        with suppress(Inexact):  # 64 bits do not hold a size: less is known
            ends = self.range_of(promise)
            if ends is not None:
                ex.learn(terms.at_least(number, ends[0]), terms.at_least(ends[1], number))
        if not (promise.monotone or promise.injective):
            return
        here = Load(index[0], number)
        known = self.loads.setdefault(root, [])
        with suppress(Inexact):
            for other in known[-_MOST_LOADS:]:
                ex.learn(*relations(terms, promise, self.extent_of(root), other, here))
        known.append(here)

    def extent_of(self, root: Root) -> Term:
        """How many elements a promised array of one axis has."""
        for symbol, term in self.ex.found.symbols.items():
            if symbol.kind == "shape" and (symbol.parameter, symbol.leaf) == root.key:
                return term
        raise AssertionError("every parameter has extents")

    def _keep(self, op: Op, promise: ArrayPromise, values: Sequence[Data]) -> None:
        """A store must keep a contract."""
        ex, terms = self.ex, self.ex.terms
        value = values[-1] if values else None
        changes_order = promise.monotone or promise.injective
        if changes_order or not isinstance(value, Term) or value.sort != INT:
            ex.claim(op, terms.false)
            return
        if op.name != "store" and op.name not in _KEEPING:
            ex.claim(op, terms.false)
            return
        ends = self.range_of(promise)
        assert ends is not None
        ex.claim(op, terms.at_least(value, ends[0]), (value,))
        ex.claim(op, terms.at_least(ends[1], value), (value,))


def relations(
    terms: Terms, promise: ArrayPromise, extent: Term, a: Load, b: Load
) -> Iterator[Term]:
    """What a contract says of two numbers read.

    A monotone array goes on as a monotone one beyond its ends, so what is said of order holds
    wherever the indices lie, and of loads that do not happen.  Different elements there are inside
    only.
    """
    if promise.monotone:
        for x, y in ((a, b), (b, a)):
            order = terms.at_least(y.index, x.index)
            yield terms.implies(order, terms.at_least(y.number, x.number))
    if promise.injective:
        inside = [
            terms.both(terms.non_negative(x.index), terms.less(x.index, extent)) for x in (a, b)
        ]
        equal = terms.same(a.number, b.number)
        yield terms.implies(terms.both(*inside, equal), terms.same(a.index, b.index))


def relations_of_threads(contents: Contents, found: Execution) -> list[Term]:
    """What contracts say of numbers that two threads read, renamed as in races."""
    facts: list[Term] = []
    terms = contents.ex.terms
    for root, loads in contents.loads.items():
        promise = contents.promise_of(root)
        assert promise is not None
        renamed = [
            [Load(terms.rename(x.index, k), terms.rename(x.number, k)) for x in loads[:_MOST_LOADS]]
            for k in (1, 2)
        ]
        for a in renamed[0]:
            for b in renamed[1]:
                facts += relations(terms, promise, contents.extent_of(root), a, b)
    return facts
