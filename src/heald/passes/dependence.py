"""What the course of a kernel depends on."""

from __future__ import annotations

from collections.abc import Collection

from heald.ir import Kernel, Op, Region, Value


def behind(kernel: Kernel, ops: Collection[Op]) -> frozenset[Value]:
    """The values from which operands of ``ops`` are computed, or whether the ops run."""
    makers: dict[Value, Op] = {}
    owners: dict[Op, Op] = {}
    _note(kernel.body, None, makers, owners)
    found: set[Value] = set()
    seen: set[Op] = set()
    left = list(ops)
    while left:
        op = left.pop()
        if op in seen:
            continue
        seen.add(op)
        if op in owners:
            left.append(owners[op])
        for value in _sources(op):
            found.add(value)
            if value in makers:
                left.append(makers[value])
    return frozenset(found)


def _note(region: Region, owner: Op | None, makers: dict[Value, Op], owners: dict[Op, Op]) -> None:
    """Who makes each value, and which op each op is in."""
    for op in region.ops:
        if owner is not None:
            owners[op] = owner
        makers.update(dict.fromkeys(op.results, op))
        for inner in op.regions:
            makers.update(dict.fromkeys(inner.args, op))
            _note(inner, op, makers, owners)


def _sources(op: Op) -> list[Value]:
    """What an op takes, or gives back from its regions."""
    return [*op.operands, *(v for region in op.regions for v in _given(region))]


def _given(region: Region) -> list[Value]:
    """What leaves a region, at its end or from within."""
    found = list(region.terminator.operands)
    for op in region.ops:
        for inner in op.regions:
            found += _given(inner)
    return found
