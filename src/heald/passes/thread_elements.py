"""Which arrays a kernel uses element by thread."""

from __future__ import annotations

from heald.ir import ATOMICS, Kernel, walk
from heald.passes.array_roots import Root, array_roots
from heald.passes.own_updates import Forms

_ACCESSES = ATOMICS | {"load", "store"}


def arrays_by_thread(kernel: Kernel) -> frozenset[Root]:
    """The array parameters of which thread i uses element i, or those that lie a constant beside
    it, or rows so, and nothing else.

    What is used through views, in loops over indices or at an offset that a parameter gives is left
    out: such launches have other reasons for their number of threads.
    """
    forms, roots = Forms(kernel), array_roots(kernel)
    own: set[Root] = set()
    others: set[Root] = set()
    for op in walk(kernel.body):
        if op.name in _ACCESSES:
            found = roots.get(op.operands[0], frozenset())
            (own if forms.is_at_thread(op) else others).update(found)
    return frozenset(own - others)
