"""A kernel whose threads meet as a program of whole blocks: phases without meetings, one by one."""

from __future__ import annotations

from collections.abc import Sequence

from heald.ir import Kernel, Op, Region, Value
from heald.passes.block_uniformity import BlockUniformity, analyse_block_uniformity
from heald.passes.facts import is_pure
from heald.passes.liveness import carried_args
from heald.passes.meetings import is_shared_alloc, meeting_of
from heald.passes.phase_plan import Branch, Ending, Item, Loop, Mask, Meeting, Phase
from heald.passes.phase_writer import PhaseWriter

_REMADE = frozenset({"subview", "resource_array"})
"""Arrays made of others are made again in each phase: there is no room for them in memory."""
_CHEAP = frozenset({"tid", "thread_index", "lane", "const"})


def split_phases(kernel: Kernel) -> Kernel:
    """Cut a kernel where its threads meet.

    Before::

        %t = thread_index
        %x = load %a, %i
        store %s, %t, %x
        block_sync
        %y = load %s, %u
        %z = fadd %x, %y
        store %b, %i, %z

    After::

        %x_of: shared<f32,1024> = alloc
        threads () {
          %t = thread_index
          %x = load %a, %i
          store %s, %t, %x
          store %x_of, %t, %x
          yield
        }
        threads () {
          %t.1 = thread_index
          %y = load %s, %u
          %x.1 = load %x_of, %t.1
          %z = fadd %x.1, %y
          store %b, %i, %z
          yield
        }

    What lives across a meeting becomes an array over the block.  Values that a block has once
    (``analyse_block_uniformity``) are computed outside of ``threads``, and so are branches and
    loops in which threads meet.  Where only warps meet, branches may part the threads: then each
    phase runs for those that an array of masks names.  A shuffle reads what its source left in an
    array; votes are counted between two phases.

    The kernel has no exits, and ``agree_on_control`` has seen it.
    """
    plan = _Planner(kernel)
    items = plan.run()
    return PhaseWriter(kernel, plan.uniform, plan.slotted, plan.origin, plan.canonical).write(items)


class _Planner:
    """Finds phases, and what outlives them.

    Attributes:
        uniform: values that a block has once.
        slotted: values for which there is an array over the block.
        origin: the op that defines a value in a phase.
        canonical: for carried values and results of branches and loops, the one that has the array.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._analysis: BlockUniformity = analyse_block_uniformity(kernel)
        self.uniform = self._analysis.uniform
        self.slotted: set[Value] = set()
        self.origin: dict[Value, Op] = {}
        self.canonical: dict[Value, Value] = {}
        self._home: dict[Value, Phase] = {}
        self._phases: list[Phase] = []
        self._items: list[Item] = []
        self._open: Phase | None = None
        self._before: Phase | None = None
        self._mask: Mask | None = None

    def run(self) -> list[Item]:
        items = self._region(self._kernel.body, self._mask)
        for phase in self._phases:
            for value in phase.uses():
                self._need(value, phase)
        return items

    # -- what a phase needs ------------------------------------------------------------------------

    def _need(self, value: Value, phase: Phase) -> None:
        """A phase reads a value: from the block, from itself, made again, or from an array."""
        value = self.canonical.get(value, value)
        if value in self.uniform or self._home.get(value) is phase or value in self.slotted:
            return
        op = self.origin.get(value)
        if op is not None and is_remade(op, self.uniform):
            for operand in op.operands:
                self._need(operand, phase)
            return
        self.slotted.add(value)

    # -- phases ------------------------------------------------------------------------------------

    def _region(
        self, region: Region, mask: Mask | None, ending: Ending | None = None
    ) -> list[Item]:
        """The items of a region; what it yields is stored at its end as ``ending`` says."""
        outer = self._items, self._open, self._before, self._mask
        self._items, self._open, self._before, self._mask = [], None, None, mask
        for op in region.ops[:-1]:
            self._one(op)
        if ending is not None:
            ending.values = region.terminator.operands
            self._store(ending.targets, ending.values)
        items = self._items
        self._items, self._open, self._before, self._mask = outer
        return items

    def _store(self, targets: Sequence[Value], values: Sequence[Value]) -> None:
        """At the end of the phase, put values into the arrays of those that are no block's."""
        pairs = [
            (t, v)
            for t, v in zip(targets, values, strict=True)
            if t not in self.uniform and t is not v
        ]
        if pairs:
            for target, _ in pairs:
                self.slotted.add(self.canonical.get(target, target))
            self._phase().moves += [(self.canonical.get(t, t), v) for t, v in pairs]

    def _phase(self) -> Phase:
        if self._open is None:
            self._open = Phase(self._mask)
            self._phases.append(self._open)
            self._items.append(self._open)
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._before, self._open = self._open, None

    def _one(self, op: Op) -> None:
        if op.regions and meeting_of(*op.regions):
            self._control(op)
        elif op.name == "block_sync":
            self._close()
        elif op.name in ("shuffle", "vote"):
            self._meet(op)
        elif is_shared_alloc(op) or (op.results and all(v in self.uniform for v in op.results)):
            self._items.insert(len(self._items) - (self._open is not None), op)
        else:
            phase = self._phase()
            phase.ops.append(op)
            for value in op.results:
                self._home[value], self.origin[value] = phase, op

    def _meet(self, op: Op) -> None:
        """A shuffle or vote: what it exchanges is left at the end of the phase before."""
        given = op.operands[0]
        fresh = given in self.uniform or self._home.get(given) is self._open
        if self._open is None or self._before is None or fresh:
            self._phase()
            self._close()
        assert self._before is not None
        self._before.left.append(op)
        if op.name == "vote":
            place = len(self._items) - (self._open is not None)
            self._items.insert(place, Meeting(op, self._mask))
        if op.result not in self.uniform:
            phase = self._phase()
            phase.ops.append(op)
            self._home[op.result], self.origin[op.result] = phase, op

    # -- control -----------------------------------------------------------------------------------

    def _control(self, op: Op) -> None:
        together = meeting_of(*op.regions) == "block" or self._analysis.decides(op)
        if op.name == "if":
            self._branch(op, together)
        else:
            self._loop(op, together)
        self._before = None

    def _branch(self, op: Op, together: bool) -> None:
        masks: list[Mask | None] = [self._mask, self._mask]
        if not together:
            self._phase()
            masks = [Mask(self._mask, op.operands[0], wanted) for wanted in (True, False)]
            self._phases += [m.phase for m in masks if m is not None]
        self._close()
        endings = [Ending(op.results) for _ in op.regions]
        each = zip(op.regions, masks, endings, strict=True)
        arms = [self._region(region, mask, ending) for region, mask, ending in each]
        self._items.append(Branch(op, [m for m in masks if m and not together], arms, endings))

    def _loop(self, op: Op, together: bool) -> None:
        rows = carried_args(op)
        for row in (*rows, op.results):
            for value, first in zip(row, rows[0], strict=True):
                self.canonical[value] = first
        count = len(op.results)
        self._store(rows[0], op.operands[len(op.operands) - count :])
        mask = self._mask
        active = None
        if not together:
            self._phase()
            condition = op.regions[0].terminator.operands[0]
            active = mask = Mask(self._mask, condition, True)
            self._phases.append(active.phase)
        self._close()
        test: list[Item] = []
        if op.name == "while":
            test = self._region(op.regions[0], mask)
        ending = Ending(rows[0])
        body = self._region(op.regions[-1], mask, ending)
        self._items.append(Loop(op, active, test, body, ending))


def is_remade(op: Op, uniform: frozenset[Value]) -> bool:
    """Is a value made again wherever it is needed, rather than kept in an array?"""
    if op.name in _CHEAP or op.name in _REMADE:
        return True
    return is_pure(op) and all(v in uniform for v in op.operands)
