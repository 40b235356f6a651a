"""Control flow of one thread: the canonical order, and a second opinion on the whole grid.

Threads run one after another in ascending order, each to its end, with Python's own control flow.
Everything that is not control flow is shared with the whole grid: a thread is a group of one lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heald.artifact import FaultKind
from heald.diagnostics import InternalError
from heald.interp.lanes import Group, only
from heald.interp.operations import perform
from heald.interp.values import Datum, from_number
from heald.ir import Op, Region
from heald.types import Scalar


@dataclass(frozen=True, slots=True)
class _End:
    """How a region ended: the name of its terminator, and the operands of that."""

    how: str
    values: Sequence[Datum]


def run_thread(group: Group) -> Sequence[Datum]:
    """Run the kernel on the only lane of ``group``; gives what ``return`` carried."""
    return _run_region(group, group.launch.kernel.body).values


def _run_region(group: Group, region: Region) -> _End:
    for op in region.ops:
        end = None
        match op.name:
            case "yield" | "break" | "continue" | "return":
                return _End(op.name, group.read(op.operands))
            case "unreachable":
                raise InternalError(f"`unreachable` at {op.span} was reached")
            case "if":
                (condition,) = group.read(op.operands)
                end = _run_region(group, op.regions[0 if only(condition)[0] else 1])
            case "for":
                end = _run_for(group, op)
            case "while":
                end = _run_while(group, op)
            case "scope":
                end = _End("yield", _run_region(group, op.regions[0]).values)
            case _:
                perform(group, op, group.everyone)
                continue
        if end.how != "yield":
            return end
        group.bind(op.results, end.values)
    raise InternalError("a region has no terminator")


def _run_for(group: Group, op: Op) -> _End:
    low, high, step, *carried = group.read(op.operands)
    start, stop, stride = (int(only(x)[0]) for x in (low, high, step))
    t = op.operands[0].type
    assert isinstance(t, Scalar)
    if stride == 0:
        group.fault(op, FaultKind.STEP, group.active(group.everyone))
        return _End("yield", carried)
    for iv in range(start, stop, stride):
        end = _run_body(group, op, [from_number(t, iv), *carried])
        if end.how == "return":
            return end
        carried = list(end.values)
        if end.how == "break" or group.faulted[0]:
            break
    return _End("yield", carried)


def _run_while(group: Group, op: Op) -> _End:
    carried = group.read(op.operands)
    condition = op.regions[0]
    while True:
        group.bind(condition.args, carried)
        (going,) = _run_region(group, condition).values
        if not only(going)[0]:
            break
        end = _run_body(group, op, carried)
        if end.how == "return":
            return end
        carried = list(end.values)
        if end.how == "break" or group.faulted[0]:
            break
    return _End("yield", carried)


def _run_body(group: Group, op: Op, args: Sequence[Datum]) -> _End:
    group.spend(op)
    body = op.regions[-1]
    group.bind(body.args, args)
    return _run_region(group, body)
