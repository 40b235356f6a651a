"""Barriers that some threads of a block certainly do not reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heald.diagnostics import CompileError, Diagnostic, Note, Span
from heald.ir import Kernel, Op, Region, Value, walk
from heald.ops import TABLE
from heald.ops.threads import LANE_WIDTH, SYNCHRONISING, synchronises_block
from heald.passes.block_uniformity import control_operands
from heald.passes.facts import is_pure
from heald.passes.normalise_exits import normalise_exits
from heald.types import Scalar

_SIZES = (32, 64, 128, 256, 512, 1024)
"""Blocks that are looked at: a condition that parts all of these parts any of a warp and more."""

_WRITTEN = (
    "not all threads of a block come to this barrier",
    "move the barrier out of the branch, to where all threads come",
)
_PLACED = (
    "not all threads of a block come to the barrier that the compiler places before this access",
    "move the access to where all threads come, or place the barriers yourself without sync='auto'",
)
"""What is said of a barrier, and what helps."""

_NAMES = {"if": "this branch", "for": "this loop", "while": "this loop"}


def refuse_divergence(kernel: Kernel, *, placed: bool = False) -> None:
    """Refuse barriers under conditions that depend on nothing but a thread's place in its block,
    and part the threads of every block.

    Others are looked at while they run (``agree_on_control``).

    Args:
        kernel: with or without exits.
        placed: what would be refused are barriers of ``place_barriers``, since the others have
            been looked at before.

    Raises:
        CompileError: H0408, with the barrier and what parts the threads.
    """
    if not any(synchronises_block(op) for op in _meetings(kernel.body)):
        return
    normal = normalise_exits(kernel)
    search = _Search(normal, placed)
    search.region(normal.body, None)
    if search.found:
        raise CompileError(*search.found)


def _meetings(region: Region) -> list[Op]:
    return [op for op in walk(region) if op.name in SYNCHRONISING]


def _place(op: Op) -> Span | None:
    """Where a user sees an op: the barriers of a reduction are all at its call."""
    return None if op.span is None else op.span.in_user_code


class _Search:
    """Walks down to the barriers, with what has parted the threads on the way."""

    def __init__(self, kernel: Kernel, placed: bool) -> None:
        self._placed = placed
        self.found: list[Diagnostic] = []
        self._rank = kernel.rank
        self._origin: Mapping[Value, Op] = {
            value: op for op in walk(kernel.body) for value in op.results
        }

    def region(self, region: Region, parting: Op | None) -> None:
        """Look at a region that ``parting`` runs for some threads only."""
        for op in region.ops:
            if synchronises_block(op) and parting is not None:
                self._report(op, parting)
            if op.regions:
                here = parting
                if here is None and self._parts(op):
                    here = op
                for inner in op.regions:
                    self.region(inner, here)

    def _report(self, op: Op, parting: Op) -> None:
        note = Note(f"{_NAMES[parting.name]} parts the threads of every block", _place(parting))
        message, hint = _PLACED if self._placed else _WRITTEN
        found = Diagnostic("H0408", message, _place(op), notes=(note,), hint=hint)
        if found not in self.found:
            self.found.append(found)

    def _parts(self, op: Op) -> bool:
        return all(self._parts_block(op, size) for size in _SIZES)

    def _parts_block(self, op: Op, size: int) -> bool:
        """Do threads of the first block, which has ``size``, go different ways?"""
        values = [self._value(v, size, {}) for v in control_operands(op)]
        return any(x is not None and x.size > 1 and bool((x != x[0]).any()) for x in values)

    def _value(self, value: Value, size: int, known: dict[Value, Any]) -> Any:
        """The value in each thread of the first block, None where it depends on anything else."""
        if value not in known:
            op = self._origin.get(value)
            known[value] = None if op is None else self._result(op, size, known)
        return known[value]

    def _result(self, op: Op, size: int, known: dict[Value, Any]) -> Any:
        t = op.results[0].type
        if not isinstance(t, Scalar):
            return None
        threads = np.arange(size)
        match op.name:
            case "const":
                return np.array([op.attrs["value"]]).astype(t.carrier)
            case "tid" if self._rank == 1:
                return threads.astype(t.carrier)
            case "thread_index":
                return threads.astype(t.carrier)
            case "lane":
                return (threads % LANE_WIDTH).astype(t.carrier)
            case "block_dim":
                return np.array([size], t.carrier)
            case "block_index":
                return np.array([0], t.carrier)
            case name if name in TABLE and is_pure(op) and not t.is_float:
                operands = [self._value(v, size, known) for v in op.operands]
                if any(x is None or x.dtype.kind == "f" for x in operands):
                    return None
                return np.atleast_1d(np.asarray(TABLE[name].evaluate(op, *operands)))
            case name if name in ("idiv", "irem"):
                return self._quotient(op, size, known)
        return None

    def _quotient(self, op: Op, size: int, known: dict[Value, Any]) -> Any:
        operands = [self._value(v, size, known) for v in op.operands]
        if any(x is None for x in operands) or not operands[1].all():
            return None
        return np.atleast_1d(np.asarray(TABLE[op.name].evaluate(op, *operands)))
