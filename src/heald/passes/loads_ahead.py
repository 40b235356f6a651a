"""Loops on GPUs that wait for memory, of which several iterations had better load together."""

from __future__ import annotations

from heald.ir import EXITS, Op, Value, has_exit, walk
from heald.passes.facts import DIVISIONS, is_pure, is_short_loop
from heald.types import size_of

_WORDS = 8
"""What an iteration may load: four hold as many words of four bytes each at once."""
_COMPUTED = 3
"""Ops for each load; with more, threads have enough to do while they wait."""
_HARMLESS = DIVISIONS | {"load", "if", "scope", "yield", "return"}


def loads_ahead(loop: Op) -> tuple[Op, ...]:
    """The loads of an iteration that later iterations may do before this one has ended, with what
    their indices are computed from, in order; none where that would not pay.

    A thread that reads a long stretch of memory has one iteration's loads under way at a time,
    since it adds them up in order.  So this is for short loops that load and compute little else,
    each iteration from other places.  Nothing in such a loop has an effect, so no load can tell
    that it came early; guards are the caller's matter.

    Loads at the same place in every iteration, at places that were loaded themselves or rest on
    what an iteration hands to the next, and in branches stay where they are.
    """
    if not is_short_loop(loop):
        return ()
    (region,) = loop.regions
    inner = list(walk(region))
    if has_exit(region, EXITS) or not all(op.name in _HARMLESS or is_pure(op) for op in inner):
        return ()
    makers: dict[Value, Op] = {}
    moving, late = {region.args[0]}, set(region.args[1:])
    loads = []
    for op in region.ops[:-1]:
        moves = not moving.isdisjoint(op.operands)
        if op.name == "load" and moves and late.isdisjoint(op.operands):
            loads.append(op)
        if op.name == "load" or not is_pure(op) or not late.isdisjoint(op.operands):
            late.update(op.results)
            continue
        makers.update(dict.fromkeys(op.results, op))
        if moves:
            moving.update(op.results)
    words = sum(_words(op.result) for op in loads)
    ahead = {*loads, *_behind(loads, makers)}
    others = [op for op in inner if op not in ahead and op.name not in ("const", "yield")]
    if words > _WORDS or len(others) > _COMPUTED * len(loads):
        return ()
    return tuple(op for op in region.ops if op in ahead)


def _behind(loads: list[Op], makers: dict[Value, Op]) -> set[Op]:
    """The ops that the operands of ``loads`` are computed by."""
    found: set[Op] = set()
    todo = [v for op in loads for v in op.operands]
    while todo:
        op = makers.get(todo.pop())
        if op is not None and op not in found:
            found.add(op)
            todo += op.operands
    return found


def _words(value: Value) -> int:
    return -(-size_of(value.type) // 4)
