"""Unrolling of short loops with constant bounds."""

from __future__ import annotations

from heald.ir import EXITS, Kernel, Op, Region, has_exit
from heald.passes.facts import constants_of, known_trips
from heald.passes.rebuild import Rebuild


def unroll_loops(kernel: Kernel, *, trips: int = 16, budget: int = 512) -> Kernel:
    """Write out loops of at most ``trips`` constant iterations, as long as that makes at most
    ``budget`` ops.

    Before::

        %r = for %0, %2, %1, %x (%i, %s) {
          %t = iadd %s, %i
          yield %t
        }

    After::

        %i = const [value=0]
        %t = iadd %x, %i
        %i.1 = const [value=1]
        %t.1 = iadd %t, %i.1

    Inner loops go first.  A loop that something leaves early stays.  Copies keep the ids of
    obligations.  A thread that faulted leaves a loop at its next back edge, and unrolled iterations
    have none: after a fault it runs the rest of them.
    """
    return _Unroll(kernel, trips, budget).run()


class _Unroll:
    """Copies the body of a loop as often as it runs."""

    def __init__(self, kernel: Kernel, trips: int, budget: int) -> None:
        self.build = Rebuild(kernel)
        self._trips = trips
        self._budget = budget
        self._constants = constants_of(kernel)
        self._sizes: dict[Op, int] = {}

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        values = self._iterations(op) if op.name == "for" else None
        if values is None:
            self.build.copy(op, self._one)
            return
        body = op.regions[0]
        carried = self.build.get_all(op.operands[3:])
        for value in values:
            self.build.span = op.span
            index = self.build.scalar_const(body.args[0], value)
            self.build.put_all(body.args, (index, *carried))
            self.build.visit_all(body.ops[:-1], self._one)
            carried = self.build.get_all(body.terminator.operands)
        self.build.put_all(op.results, carried)

    def _iterations(self, op: Op) -> range | None:
        """The values of the loop variable when the loop is to be written out."""
        trips = known_trips(op, self._constants)
        if trips is None or trips > self._trips or has_exit(op.regions[0], EXITS):
            return None
        low, high, step = (int(self._constants[v]) for v in op.operands[:3])
        values = range(low, high, step)
        return values if len(values) * self._size(op.regions[0]) <= self._budget else None

    def _size(self, region: Region) -> int:
        """Ops of a region once the loops inside it are written out."""
        return sum(self._op_size(op) for op in region.ops)

    def _op_size(self, op: Op) -> int:
        if not op.regions:
            return 1
        size = self._sizes.get(op)
        if size is None:
            values = self._iterations(op) if op.name == "for" else None
            inner = sum(self._size(region) for region in op.regions)
            size = 1 + inner if values is None else len(values) * inner
            self._sizes[op] = size
        return size
