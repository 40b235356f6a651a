"""What every op other than control flow does: one table for both interpreters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from heald.artifact import FaultKind, PrintRecord
from heald.diagnostics import InternalError
from heald.interp import access, atomics, blocks
from heald.interp.access import index_result
from heald.interp.lanes import Group, only
from heald.interp.memory import ArrayValue, Lanes
from heald.interp.values import Datum, Mask, from_number, pick, to_number
from heald.ir import ATOMICS, Op
from heald.ops import TABLE
from heald.ops.threads import LANE_WIDTH
from heald.types import Array, Scalar

Operation = Callable[[Group, Op, Sequence[Datum], Mask], tuple[Datum, ...]]
"""``(group, op, data of the operands, active lanes) -> data of the results``."""

DIVISIONS = frozenset({"idiv", "irem", "udiv", "urem"})


def perform(group: Group, op: Op, mask: Mask) -> None:
    """Run one op that is not control flow on the lanes of a mask that is not empty."""
    args = group.read(op.operands)
    operation = OPERATIONS.get(op.name, _value_op)
    group.bind(op.results, operation(group, op, args, mask))


# -- constants and composites ----------------------------------------------------------------------


def _const(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    t = op.result.type
    assert isinstance(t, Scalar)
    return (from_number(t, op.attrs["value"]),)


def _compose(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    return (tuple(a for a in args if not isinstance(a, tuple)),)


def _leaf(op: Op, composite: Datum) -> tuple[int, tuple[Datum, ...]]:
    leaf = op.attrs["leaf"]
    assert isinstance(leaf, int)
    assert isinstance(composite, tuple)
    return leaf, composite


def _extract(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    leaf, composite = _leaf(op, args[0])
    return (composite[leaf],)


def _insert(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    leaf, composite = _leaf(op, args[0])
    changed = (*composite[:leaf], args[1], *composite[leaf + 1 :])
    return (tuple(p for p in changed if not isinstance(p, tuple)),)


# -- threads ---------------------------------------------------------------------------------------


def _tid(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    dims = group.launch.dims
    index_result(op, np.array([dims[axis] - 1], np.int64), mask)  # refuse before, not at, a wrap
    index = group.threads
    for extent in dims[:axis:-1]:
        index = index // extent
    index = index % dims[axis] if dims[axis] > 1 else np.zeros(1, np.int64)
    return (index_result(op, index, mask),)


def _launch_dim(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return (index_result(op, np.array([group.launch.dims[axis]], np.int64), mask),)


def _of_thread(meaning: Callable[[Lanes, int], Lanes]) -> Operation:
    """An op that only depends on the linear thread and the size of a block."""

    def operation(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
        return (index_result(op, meaning(group.threads, group.launch.block_dim), mask),)

    return operation


# -- memory ----------------------------------------------------------------------------------------


def _alloc(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """A zeroed array for each lane, or a shared one for each block."""
    t = op.result.type
    assert isinstance(t, Array)
    if t.space == "shared":
        return (blocks.allocate(group, t),)
    return (ArrayValue.local(t, len(group)),)


# -- effects ---------------------------------------------------------------------------------------


def _assert(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    failing = np.flatnonzero(mask & ~only(args[0]))
    if len(failing):
        parts = op.attrs.get("kind") == "divergence"
        group.fault(op, FaultKind.DIVERGENCE if parts else FaultKind.ASSERT, failing)
    return ()


def _assume(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    return ()


def _printf(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    numbers = [(v.type, only(a)) for v, a in zip(op.operands, args, strict=True)]
    for lane in group.active(mask):
        values = []
        for t, x in numbers:
            assert isinstance(t, Scalar)
            values.append(to_number(t, pick(x, lane) if x.size > 1 else x[0]))
        group.journal.printed.append(
            PrintRecord(
                int(group.threads[lane]),
                int(group.sequence[lane]),
                group.launch.ids[op],
                tuple(values),
            )
        )
        group.sequence[lane] += 1
    return ()


# -- value ops -------------------------------------------------------------------------------------


def _value_op(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    record = TABLE.get(op.name)
    if record is None:
        raise InternalError(f"there is no op {op.name!r}")
    operands = [only(a) for a in args]
    if op.name in DIVISIONS:
        failing = np.flatnonzero(mask & (operands[1] == 0))
        if len(failing):
            group.fault(op, FaultKind.DIVISION, failing)
    t = op.result.type
    assert isinstance(t, Scalar)
    result = np.atleast_1d(np.asarray(record.evaluate(op, *operands)))
    if result.dtype != t.carrier:
        raise InternalError(f"{op.name} gave {result.dtype}, not the carrier of {t}")
    return (result,)


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "const": _const,
        "compose": _compose,
        "extract": _extract,
        "insert": _insert,
        "tid": _tid,
        "launch_dim": _launch_dim,
        "block_dim": _of_thread(lambda threads, size: np.array([size], np.int64)),
        "block_index": _of_thread(lambda threads, size: threads // size),
        "thread_index": _of_thread(lambda threads, size: threads % size),
        "lane": _of_thread(lambda threads, size: threads % size % LANE_WIDTH),
        "block_sync": blocks.block_sync,
        "shuffle": blocks.shuffle,
        "vote": blocks.vote,
        "load": access.load,
        "store": access.store,
        **dict.fromkeys(ATOMICS, atomics.atomic),
        "alloc": _alloc,
        "dim": access.dim,
        "stride": access.stride,
        "subview": access.subview,
        "resource_scalar": access.resource_scalar,
        "resource_array": access.resource_array,
        "assert": _assert,
        "assume": _assume,
        "printf": _printf,
    }
)
"""By name of the op.  Any other value op is a function of its operands: its record evaluates it."""
