"""Which values are the same for all threads of a block, and known without asking them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heald.diagnostics import InternalError
from heald.ir import LOOPS, Kernel, Op, Region, Value, walk
from heald.ops.threads import synchronises_block
from heald.passes.facts import constants_of, is_speculatable
from heald.passes.liveness import carried_args, carried_inits
from heald.passes.meetings import is_shared_alloc, meeting_of, shares_block

_OWN = frozenset({"tid", "thread_index", "lane"})
"""What differs from thread to thread."""
_EXITS = frozenset({"break", "continue", "unreachable", "scope"})


@dataclass(frozen=True, slots=True)
class BlockUniformity:
    """What :func:`analyse_block_uniformity` finds.

    Attributes:
        uniform: values that a block has once: parameters and constants, its place and size, what
            all of its threads voted, what is computed of these without faults and memory, and what
            branches and loops make of them in which threads meet.
        voted: those of them that depend on votes, and so on what threads did.
    """

    uniform: frozenset[Value]
    voted: frozenset[Value]

    def decides(self, op: Op) -> bool:
        """Do all threads of a block take the same way through an ``if``, ``for`` or ``while``?"""
        return all(v in self.uniform for v in control_operands(op))


def control_operands(op: Op) -> tuple[Value, ...]:
    """The values that decide which way a thread takes through an op with regions."""
    match op.name:
        case "if":
            return op.operands[:1]
        case "for":
            return op.operands[:3]
        case "while":
            return op.regions[0].terminator.operands
    raise InternalError(f"{op.name} before exits are normalised")


def analyse_block_uniformity(kernel: Kernel, *, everywhere: bool = False) -> BlockUniformity:
    """Start from the best case and walk until nothing gets worse.

    The kernel has no exits.  Where threads of a block meet inside a branch or loop, they are taken
    to go the same way, which ``agree_on_control`` sees to.  What comes out of branches and loops in
    which they do not meet counts as each thread's own, unless ``everywhere``.
    """
    analysis = _Analysis(constants_of(kernel), everywhere)
    known = -1
    while known != len(analysis.free):
        known = len(analysis.free)
        analysis.uniform = set(kernel.params)
        analysis.voted = set()
        analysis.region(kernel.body)
    return BlockUniformity(frozenset(analysis.uniform), frozenset(analysis.voted))


def uniform_in_blocks(kernel: Kernel) -> frozenset[Value]:
    """The uniform values of a kernel whose threads meet; none where it has exits."""
    ops = list(walk(kernel.body))
    exits = any(op.name in _EXITS for op in ops)
    if exits or sum(op.name == "return" for op in ops) > 1 or not shares_block(kernel):
        return frozenset()
    return analyse_block_uniformity(kernel, everywhere=True).uniform


@dataclass(slots=True)
class _Analysis:
    """``free`` are results and region arguments that proved to differ; it only grows."""

    constants: Mapping[Value, bool | int | float]
    everywhere: bool
    free: set[Value] = field(default_factory=set)
    uniform: set[Value] = field(default_factory=set)
    voted: set[Value] = field(default_factory=set)

    def region(self, region: Region) -> tuple[Value, ...]:
        """Walk a region; gives what it yields."""
        for op in region.ops:
            if op.name in ("yield", "return"):
                return op.operands
            if op.regions:
                self._nested(op)
            elif is_shared_alloc(op):
                self.uniform.add(op.result)
            elif op.name == "vote" and synchronises_block(op):
                self.uniform.add(op.result)
                self.voted.add(op.result)
            elif op.name not in _OWN and is_speculatable(op, self.constants):
                self._merge_pure(op)
        raise InternalError("a region without a terminator")

    def _merge_pure(self, op: Op) -> None:
        if all(v in self.uniform for v in op.operands):
            self.uniform.update(op.results)
            if not self.voted.isdisjoint(op.operands):
                self.voted.update(op.results)

    def _nested(self, op: Op) -> None:
        meeting = meeting_of(*op.regions)
        if op.name in LOOPS:
            self._loop(op, meeting)
            return
        ends = [self.region(region) for region in op.regions]
        together = self._together(op, meeting)
        for result, *given in zip(op.results, *ends, strict=True):
            self._merge(result, together, *op.operands, *given)

    def _together(self, op: Op, meeting: str) -> bool:
        """Does the block go one way?  Where no thread meets another, each goes by itself."""
        decided = all(v in self.uniform for v in control_operands(op))
        return meeting == "block" or (decided and (self.everywhere or meeting == "warp"))

    def _loop(self, op: Op, meeting: str) -> None:
        inits, rows = carried_inits(op), carried_args(op)
        for row in rows:
            for arg, init in zip(row, inits, strict=True):
                self._merge(arg, self.everywhere or bool(meeting), init)
        counted = op.name == "for" and (self.everywhere or bool(meeting))
        if counted and all(v in self.uniform for v in op.operands[:3]):
            counter = op.regions[0].args[0]
            self.uniform.add(counter)
            if not self.voted.isdisjoint(op.operands[:3]):
                self.voted.add(counter)
        if op.name == "while":
            self.region(op.regions[0])
        given = self.region(op.regions[-1])
        together = self._together(op, meeting)
        for k, result in enumerate(op.results):
            for row in rows:
                self._merge(row[k], together, inits[k], given[k], *control_operands(op))
            self._merge(result, together, rows[-1][k], *control_operands(op))

    def _merge(self, value: Value, together: bool, *sources: Value) -> None:
        """A value that is one of several, or that depends on them."""
        decided = [v for v in sources if v in self.uniform]
        if value in self.free or not together or len(decided) < len(sources):
            self.free.add(value)
            self.uniform.discard(value)
            return
        self.uniform.add(value)
        if not self.voted.isdisjoint(sources):
            self.voted.add(value)
