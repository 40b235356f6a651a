"""Control flow of a whole grid: every lane at once, divergence as masks.

A region runs on the lanes of a mask.  Lanes that exit early are deposited, with the values that
they carry, in the catcher of the loop or scope that they leave; the rest go on.  Arms and
iterations that no lane takes are skipped; where all lanes agree, values stay uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heald.artifact import FaultKind
from heald.diagnostics import InternalError
from heald.interp.blocks import Crowd, leaves_loop
from heald.interp.lanes import Group, only
from heald.interp.memory import Lanes
from heald.interp.operations import perform
from heald.interp.values import Catcher, Datum, Mask, merge, spread
from heald.ir import Op, Region
from heald.types import Scalar

CONTROL = frozenset(
    {
        *("if", "for", "while", "scope", "threads"),
        *("yield", "break", "continue", "return", "unreachable"),
    }
)
"""The structural ops that both interpreters treat themselves; ``operations`` has the others."""

Flow = tuple[Mask, Sequence[Datum]] | None
"""Lanes that reach the ``yield`` of a region and what they yield; None when there are none."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Where exits go.

    Attributes:
        leave: ``break`` of the innermost loop.
        again: ``continue`` of it.
        out: ``return`` of the innermost scope, or of the kernel.
    """

    leave: Catcher | None
    again: Catcher | None
    out: Catcher | None


_NOWHERE = Targets(None, None, None)


def run_region(group: Group, region: Region, mask: Mask, targets: Targets) -> Flow:
    """Run a region on the lanes of a mask, which is not empty."""
    for op in region.ops:
        match op.name:
            case "yield":
                return mask, group.read(op.operands)
            case "break":
                _exit(group, op, mask, targets.leave)
                return None
            case "continue":
                _exit(group, op, mask, targets.again)
                return None
            case "return":
                _exit(group, op, mask, targets.out)
                return None
            case "unreachable":
                raise InternalError(f"`unreachable` at {op.span} was reached")
            case "if":
                flow = _run_if(group, op, mask, targets)
            case "for":
                flow = _run_for(group, op, mask, targets)
            case "while":
                flow = _run_while(group, op, mask, targets)
            case "scope":
                flow = _run_scope(group, op, mask)
            case "threads":
                crowd = Crowd(group, op, mask)
                run_region(crowd.group, op.regions[0], crowd.group.everyone, _NOWHERE)
                crowd.end()
                continue
            case _:
                perform(group, op, mask)
                continue
        if flow is None:
            return None
        mask, values = flow
        group.bind(op.results, values)
    raise InternalError("a region has no terminator")


def _exit(group: Group, op: Op, mask: Mask, catcher: Catcher | None) -> None:
    if catcher is None:
        raise InternalError(f"{op.name} at {op.span} has nowhere to go")
    catcher.take(mask, group.read(op.operands))


def _run_if(group: Group, op: Op, mask: Mask, targets: Targets) -> Flow:
    condition = only(*group.read(op.operands))
    then, other = op.regions
    if condition.size == 1:
        return run_region(group, then if condition[0] else other, mask, targets)
    sides = mask & condition, mask & ~condition
    flows = [
        run_region(group, region, side, targets) if side.any() else None
        for region, side in zip((then, other), sides, strict=True)
    ]
    first, second = flows
    if first is None or second is None:
        return first or second
    everyone = first[0] is sides[0] and second[0] is sides[1]
    merged = [merge(first[0], a, b) for a, b in zip(first[1], second[1], strict=True)]
    return mask if everyone else first[0] | second[0], merged


def _run_scope(group: Group, op: Op, mask: Mask) -> Flow:
    out = Catcher()
    run_region(group, op.regions[0], mask, Targets(None, None, out))
    return None if out.mask is None else (mask, out.values)


# -- loops -----------------------------------------------------------------------------------------


class _Iteration:
    """The lanes still in a loop, and those that have left it."""

    __slots__ = ("_entered", "_returned", "_targets", "active", "carried", "done")

    def __init__(self, mask: Mask, carried: Sequence[Datum], targets: Targets) -> None:
        self.active: Mask | None = mask
        self.carried = carried
        self.done = Catcher()
        self._entered = mask
        self._targets = targets
        self._returned = targets.out.mask if targets.out else None

    def keep(self, going: Lanes) -> bool:
        """Lanes for which ``going`` is false leave before the body.  Are there any others?"""
        assert self.active is not None
        if going.size == 1:
            if not going[0]:
                self._leave(self.active)
                self.active = None
            return bool(going[0])
        ended = self.active & ~going
        if ended.any():
            self._leave(ended)
            rest = self.active & going
            self.active = rest if rest.any() else None
        return self.active is not None

    def body(self, group: Group, op: Op, leading: Sequence[Datum]) -> bool:
        """Run the body and take the back edge, where faulted lanes leave.  Are there any others?"""
        assert self.active is not None
        group.spend(op)
        again = Catcher()
        region = op.regions[-1]
        group.bind(region.args, [*leading, *self.carried])
        targets = Targets(self.done, again, self._targets.out)
        flow = run_region(group, region, self.active, targets)
        if flow is not None:
            again.take(*flow)
        self.active, self.carried = again.mask, again.values
        if self.active is None:
            return False
        if not (self.active & group.faulted).any():
            return True
        return self.keep(~leaves_loop(group, op, self.active))

    def result(self) -> Flow:
        """The lanes that the loop did not return from, and the results."""
        if self.done.mask is None:
            return None
        returned = self._targets.out.mask if self._targets.out else None
        mask = self._entered if returned is self._returned else self.done.mask
        return mask, self.done.values

    def _leave(self, mask: Mask) -> None:
        self.done.take(mask, self.carried)


def _run_for(group: Group, op: Op, mask: Mask, targets: Targets) -> Flow:
    low, high, step, *carried = group.read(op.operands)
    bounds = [only(x).astype(np.int64) for x in (low, high, step)]
    zero = np.flatnonzero(mask & (bounds[2] == 0))
    if len(zero):
        group.fault(op, FaultKind.STEP, zero)
    trips = trip_count(*bounds)
    t = op.operands[0].type
    assert isinstance(t, Scalar)
    loop = _Iteration(mask, carried, targets)
    k = 0
    while loop.keep(trips > np.uint64(k)):
        iv = bounds[0].view(np.uint64) + np.uint64(k) * bounds[2].view(np.uint64)
        if not loop.body(group, op, [iv.view(np.int64).astype(t.carrier)]):
            break
        k += 1
    return loop.result()


def trip_count(low: Lanes, high: Lanes, step: Lanes) -> Lanes:
    """Iterations of a loop over int64 bounds, as uint64 and without overflow; 0 for step 0."""
    up, down = (step > 0) & (low < high), (step < 0) & (low > high)
    start, stop, stride = (x.view(np.uint64) for x in (low, high, step))
    distance = np.where(up, stop - start, start - stop)
    size = np.where(step < 0, np.negative(stride), stride)
    size = np.where(step == 0, np.uint64(1), size)
    count = (distance - np.uint64(1)) // size + np.uint64(1)
    return np.where(up | down, count, np.uint64(0))


def _run_while(group: Group, op: Op, mask: Mask, targets: Targets) -> Flow:
    loop = _Iteration(mask, group.read(op.operands), targets)
    condition = op.regions[0]
    while loop.active is not None:
        group.bind(condition.args, loop.carried)
        flow = run_region(group, condition, loop.active, _NOWHERE)
        if flow is None:
            raise InternalError(f"the condition of the loop at {op.span} has an exit")
        going = only(*flow[1])
        if not loop.keep(going) or not loop.body(group, op, []):
            break
    return loop.result()


def run_grid(group: Group) -> list[Datum]:
    """Run the kernel on every lane; gives what ``return`` carried, with an entry for each lane."""
    out = Catcher()
    run_region(group, group.launch.kernel.body, group.everyone, Targets(None, None, out))
    return [spread_datum(v, len(group)) for v in out.values]


def spread_datum(datum: Datum, count: int) -> Datum:
    """One entry a lane in every scalar."""
    if isinstance(datum, tuple):
        return tuple(spread(p, count) if isinstance(p, np.ndarray) else p for p in datum)
    return spread(datum, count) if isinstance(datum, np.ndarray) else datum
