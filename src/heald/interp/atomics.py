"""Atomics: the lanes of one op take turns in ascending order, as threads in serial order do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from heald.diagnostics import InternalError
from heald.interp.access import (
    Places,
    Watch,
    array_of,
    as_parts,
    check_initialised,
    leaf_address,
    leaf_carrier,
    locate,
    refuse_read_only,
    zeros,
)
from heald.interp.lanes import Group
from heald.interp.memory import Lanes
from heald.interp.values import Datum, Mask, pick, spread
from heald.ir import Op, Value
from heald.ops import TABLE
from heald.ops.updates import updating_op
from heald.types import Scalar, leaves

Combine = Callable[..., Lanes]
"""Old values and operands to new values."""

# numpy's own loops that apply operands one after another, where no old value is read.
_IN_ORDER: Mapping[str, np.ufunc] = {
    "iadd": np.add,
    "fadd": np.add,
    "isub": np.subtract,
    "fsub": np.subtract,
    "smin": np.minimum,
    "umin": np.minimum,
    "smax": np.maximum,
    "umax": np.maximum,
    "iand": np.bitwise_and,
    "ior": np.bitwise_or,
    "ixor": np.bitwise_xor,
}


def atomic(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """Change an element leaf by leaf and give its old value, zero where the check fails."""
    array = array_of(args[0])
    ndim = len(array.shape)
    places = locate(group, op, array, args[1 : 1 + ndim], mask, apart=True)
    if places is None:
        return (zeros(op),)
    check_initialised(group, op, places)
    Watch(group, op, places).update()
    operands = [as_parts(a) for a in args[1 + ndim :]]
    old_is_read = op.result in group.launch.used
    parts = [
        _change_leaf(group, op, places, k, [parts[n] for parts in operands], old_is_read)
        for n, k in enumerate(places.leaf_positions(op))
    ]
    return (parts[0] if isinstance(op.result.type, Scalar) else tuple(parts),)


def _change_leaf(
    group: Group, op: Op, places: Places, k: int, operands: list[Lanes], old_is_read: bool
) -> Lanes:
    lanes = places.lanes
    assert lanes is not None
    leaf = leaves(places.array.dtype)[k]
    assert isinstance(leaf, Scalar)
    carrier = leaf_carrier(places.array, k)
    out = np.zeros(len(group), carrier)
    chosen = [spread(pick(x, lanes), len(lanes)) for x in operands]
    for memory, part in places.by_memory():
        refuse_read_only(memory, op)
        address = leaf_address(places.array, k, places.address[part])
        cells, position = memory.cells(carrier, address)
        old = change(op.name, leaf, cells, position, [x[part] for x in chosen], old_is_read)
        memory.mark(carrier, address)
        if old is not None:
            out[lanes[part]] = old
    return out


def change(
    name: str,
    t: Scalar,
    cells: np.ndarray[Any, np.dtype[Any]],
    position: Lanes,
    operands: Sequence[Lanes],
    old_is_read: bool,
) -> Lanes | None:
    """Apply an atomic at positions of ``cells`` in turn; the old values, if they are read."""
    value_op = updating_op(name, t)
    if not old_is_read and len(position) > 1:
        if name == "atomic_exch":
            cells[position] = operands[0]
            return None
        # A bfloat16 is no number to numpy.
        if value_op in _IN_ORDER and not (t.is_float and t.carrier.kind == "u"):
            _IN_ORDER[value_op].at(cells, position, operands[0])
            return None
    if value_op in ("iadd", "isub") and len(position) > 1:
        return _running_sum(value_op, cells, position, operands[0])
    return _by_turns(_combiner(name, t, value_op), cells, position, operands)


def _combiner(name: str, t: Scalar, value_op: str) -> Combine:
    if name == "atomic_exch":
        return lambda old, new: new
    if name == "atomic_cas":
        return _compare_and_swap
    if not value_op:
        raise InternalError(f"{name} of {t} has no meaning")
    evaluate = TABLE[value_op].evaluate
    probe = Op(value_op, (Value(t), Value(t)), (Value(t),))
    return lambda old, operand: evaluate(probe, old, operand)


def _compare_and_swap(old: Lanes, expected: Lanes, new: Lanes) -> Lanes:
    bits = np.dtype(f"u{old.itemsize}")
    return np.where(old.view(bits) == expected.view(bits), new, old)


def _running_sum(
    value_op: str, cells: np.ndarray[Any, np.dtype[Any]], position: Lanes, operand: Lanes
) -> Lanes:
    """Integer sums wrap, so they may be regrouped: old values are partial sums at each position."""
    order = np.argsort(position, kind="stable")
    where, amount = position[order], operand[order]
    if value_op == "isub":
        amount = np.negative(amount)
    total = np.cumsum(amount, dtype=amount.dtype)
    before = total - amount
    first = np.flatnonzero(np.r_[True, where[1:] != where[:-1]])
    counts = np.diff(np.r_[first, len(where)])
    old: Lanes = cells[where] + before - np.repeat(before[first], counts)
    last = np.r_[first[1:], len(where)] - 1
    cells[where[last]] = old[last] + amount[last]
    out = np.empty_like(old)
    out[order] = old
    return out


def _by_turns(
    combine: Combine,
    cells: np.ndarray[Any, np.dtype[Any]],
    position: Lanes,
    operands: Sequence[Lanes],
) -> Lanes:
    """In turn k the k-th lane of each position: within a turn no two lanes meet."""
    order = np.argsort(position, kind="stable")
    where = position[order]
    first = np.flatnonzero(np.r_[True, where[1:] != where[:-1]])
    counts = np.diff(np.r_[first, len(where)])
    turn = np.arange(len(where)) - np.repeat(first, counts)
    by_turn = order[np.argsort(turn, kind="stable")]
    old = np.zeros(len(position), cells.dtype)
    start = 0
    for size in np.bincount(turn):
        lanes = by_turn[start : start + size]
        found = cells[position[lanes]]
        old[lanes] = found
        cells[position[lanes]] = combine(found, *(x[lanes] for x in operands))
        start += size
    return old
