"""Loop-invariant code motion."""

from __future__ import annotations

from dataclasses import dataclass

from heald.ir import LOOPS, Effect, Kernel, Op, Value, effects_of
from heald.ops import TABLE
from heald.passes.facts import (
    constants_of,
    is_speculatable,
    space_of,
    written_spaces,
)
from heald.passes.rebuild import Rebuild

_UNCERTAIN = Effect.FAULT | Effect.EXIT | Effect.LOOP


def hoist_loop_invariants(kernel: Kernel) -> Kernel:
    """Compute before a loop what every iteration computes alike.

    Before::

        for %lo, %hi, %step (%i) {
          %n = dim %a [axis=0]
          %s = fmul %x, %y
          store %a, %i, %s
          yield
        }

    After::

        %n = dim %a [axis=0]
        %s = fmul %x, %y
        for %lo, %hi, %step (%i) {
          store %a, %i, %s
          yield
        }

    Pure ops leave every loop that defines none of their operands, from inside branches too.  A load
    leaves a loop that certainly executes it in its first iteration and in which nothing may write
    the same memory (any two arrays may overlap), if no other op could fault before it.  Other ops
    that can fault stay.
    """
    return _Hoist(kernel).run()


@dataclass(slots=True)
class _Loop:
    """A loop that is being rebuilt.

    ``home`` is the position of the op list before the loop; ``certain`` says whether a thread that
    reaches the loop certainly reaches the current point of its first iteration, and without a
    fault.
    """

    home: int
    written: frozenset[str]
    certain: bool = False


class _Hoist:
    """Knows how many loops stand around each value; a value defined outside all of them is at level
    0.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel)
        self._level: dict[Value, int] = {}
        self._loops: list[_Loop] = []
        self._constants = constants_of(kernel)
        self._written = written_spaces(kernel)

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        depth = len(self._loops)
        if op.name in LOOPS:
            self._loop(op)
        elif op.regions:
            self._branch(op)
        elif not depth:
            self.build.copy(op)
            return
        else:
            target = self._target(op)
            if target < depth:
                moved = self.build.remade(op, self.build.get_all(op.operands))
                self.build.append_at(self._loops[target].home, moved)
            else:
                self.build.copy(op)
            depth = target
        for value in op.results:
            self._level[value] = depth
        if depth:
            self._pass(op, self._loops[depth - 1])

    def _target(self, op: Op) -> int:
        """How many loops stay around ``op``."""
        depth = len(self._loops)
        lowest = max([self._level.get(v, 0) for v in op.operands], default=0)
        if lowest == depth:
            return depth
        if is_speculatable(op, self._constants):
            return lowest
        if op.name != "load":
            return depth
        while depth > lowest and self._may_hoist_load(op, self._loops[depth - 1]):
            depth -= 1
        return depth

    @staticmethod
    def _may_hoist_load(op: Op, loop: _Loop) -> bool:
        return loop.certain and space_of(op) not in loop.written

    def _loop(self, op: Op) -> None:
        operands = self.build.get_all(op.operands)
        loop = _Loop(self.build.depth - 1, self._written[op])
        self._loops.append(loop)
        regions = []
        for k, region in enumerate(op.regions):
            # The condition of a while runs at least once; its body may not.
            loop.certain = self._runs(op) if op.name == "for" else k == 0
            for value in region.args:
                self._level[value] = len(self._loops)
            regions.append(self.build.region(region, self._one))
        self._loops.pop()
        self.build.append(self.build.remade(op, operands, tuple(regions)))

    def _runs(self, op: Op) -> bool:
        """Does this ``for`` certainly run an iteration?"""
        low, high, step = (self._constants.get(v) for v in op.operands[:3])
        if low is None or high is None or not step:
            return False
        return low < high if step > 0 else low > high

    def _branch(self, op: Op) -> None:
        """Arms run only sometimes; a scope always does."""
        loop = self._loops[-1] if self._loops else None
        before = loop.certain if loop is not None else False
        operands = self.build.get_all(op.operands)
        regions = []
        for region in op.regions:
            if loop is not None:
                loop.certain = before and op.name == "scope"
            regions.append(self.build.region(region, self._one))
        if loop is not None:
            loop.certain = before
        self.build.append(self.build.remade(op, operands, tuple(regions)))

    @staticmethod
    def _pass(op: Op, loop: _Loop) -> None:
        """After an op that may fault, leave the region or never end, nothing is certain to fault
        first.
        """
        if loop.certain and effects_of(op, TABLE) & _UNCERTAIN:
            loop.certain = False
