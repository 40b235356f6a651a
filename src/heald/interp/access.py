"""Arrays: load, store, allocation, extents and views, each under its check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from heald.artifact import FaultKind
from heald.diagnostics import Diagnostic, InternalError, LaunchError
from heald.interp.lanes import Group, is_uniform, only
from heald.interp.memory import ArrayValue, ArrayView, Lanes, Memory
from heald.interp.resources import Resource, look_up
from heald.interp.shared import Part, Watcher
from heald.interp.values import Datum, Mask, pick, spread
from heald.ir import Op
from heald.types import Array, Scalar, i32, leaf_offsets, leaves

_NOTHING = Memory(np.zeros(0, np.uint8))
_NONE = np.zeros(1, np.int64)


def array_of(data: Datum) -> ArrayValue:
    """A datum that is known to be an array."""
    if not isinstance(data, ArrayValue):
        raise InternalError(f"an array is needed, not {type(data).__name__}")
    return data


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the lanes of an access go, its check done.

    Attributes:
        array: what is accessed.
        lanes: positions of the lanes that pass the check, ascending; None when all lanes share one
            place.
        which: the memory of each of them.
        address: byte address of the element of each of them.
        index: for reports.
        mask: the lanes of the access, whether they pass or not.
    """

    array: ArrayValue
    lanes: Lanes | None
    which: Lanes
    address: Lanes
    index: tuple[Lanes, ...]
    mask: Mask

    def by_memory(self) -> Iterator[tuple[Memory, Lanes]]:
        """Each memory that lanes go to, with the positions of these lanes in ``address``."""
        if len(self.array.memories) == 1 or self.which.size == 1:
            yield self.array.memories[int(self.which[0])], np.arange(len(self.address))
            return
        for number in np.unique(self.which):
            yield self.array.memories[int(number)], np.flatnonzero(self.which == number)

    def chosen(self, part: Lanes) -> Lanes:
        """The lanes at some positions of ``address``."""
        return part if self.lanes is None else self.lanes[part]

    def leaf_positions(self, op: Op) -> range:
        """The leaves of an element that ``op`` accesses."""
        leaf = op.attrs.get("leaf")
        if leaf is None:
            return range(len(leaves(self.array.dtype)))
        assert isinstance(leaf, int)
        return range(leaf, leaf + 1)


def locate(
    group: Group,
    op: Op,
    array: ArrayValue,
    index: Sequence[Datum],
    mask: Mask,
    *,
    apart: bool = False,
) -> Places | None:
    """Check an index on every axis; where it fails the fault is recorded and the lane drops out.

    None when no lane is left.  ``apart`` keeps a lane apart from the others even where all share a
    place.
    """
    at = tuple(only(i).astype(np.int64) for i in index)
    fields = (array.which, array.offset, *array.shape, *array.strides, *at)
    shared = is_uniform(fields) and not apart
    lanes = None if shared else group.active(mask)
    if lanes is not None:
        array = pick_array(array, lanes)
        at = tuple(pick(i, lanes) for i in at)
    bad = np.zeros(1, bool)
    for i, extent in zip(at, array.shape, strict=True):
        bad = bad | (i < 0) | (i >= extent)
    if bad.any():
        if lanes is None or bad.size == 1:
            group.fault(op, FaultKind.BOUNDS, group.active(mask), at, array.shape)
            return None
        failing = np.flatnonzero(bad)
        shape = tuple(pick(n, failing) for n in array.shape)
        where = tuple(pick(i, failing) for i in at)
        group.fault(op, FaultKind.BOUNDS, lanes[failing], where, shape)
        good = np.flatnonzero(~bad)
        if not len(good):
            return None
        lanes = lanes[good]
        array = pick_array(array, good)
        at = tuple(pick(i, good) for i in at)
    address = array.offset
    for i, stride in zip(at, array.strides, strict=True):
        address = address + i * stride
    if lanes is not None:
        address = spread(address, len(lanes))
    return Places(array, lanes, array.which, address, at, mask)


def pick_array(array: ArrayValue, lanes: Lanes) -> ArrayValue:
    """The arrays of some lanes."""
    return ArrayValue(
        array.memories,
        pick(array.which, lanes),
        pick(array.offset, lanes),
        tuple(pick(n, lanes) for n in array.shape),
        tuple(pick(s, lanes) for s in array.strides),
        array.dtype,
    )


def check_initialised(group: Group, op: Op, places: Places) -> None:
    """Record a fault for lanes whose element holds a byte known to be never written."""
    for memory, part in places.by_memory():
        if memory.written is None:
            continue
        bad = np.zeros(len(part), bool)
        for k in places.leaf_positions(op):
            carrier, offset = _leaf(places.array, k)
            missing = memory.unwritten(carrier, places.address[part] + offset)
            assert missing is not None
            bad |= missing
        if bad.any():
            at = part[np.flatnonzero(bad)]
            lanes = group.active(places.mask) if places.lanes is None else places.lanes[at]
            index = tuple(pick(i, at) for i in places.index)
            shape = tuple(pick(n, at) for n in places.array.shape)
            group.fault(op, FaultKind.UNINITIALISED, lanes, index, shape)


def _leaf(array: ArrayValue, k: int) -> tuple[np.dtype[np.generic], int]:
    leaf = leaves(array.dtype)[k]
    assert isinstance(leaf, Scalar)
    return leaf.carrier, leaf_offsets(array.dtype)[k]


def leaf_carrier(array: ArrayValue, k: int) -> np.dtype[np.generic]:
    """The carrier of leaf ``k`` of an element."""
    return _leaf(array, k)[0]


def leaf_address(array: ArrayValue, k: int, address: Lanes) -> Lanes:
    """Byte addresses of leaf ``k`` of elements at ``address``."""
    return address + _leaf(array, k)[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One leaf of an access that is watched: positions of the access ``at`` which it goes there,
    lanes that do it, and for each of them a row of bytes.
    """

    watcher: Watcher
    part: Part
    at: Lanes
    lanes: Lanes
    places: Lanes


class Watch:
    """One access of watched memory: tells it, and records a fault for the threads that race."""

    __slots__ = ("_before", "_group", "_op", "_places", "_rows")

    def __init__(self, group: Group, op: Op, places: Places) -> None:
        self._group, self._op, self._places = group, op, places
        self._rows: list[_Row] = []
        for memory, at in places.by_memory() if group.watched else ():
            watcher = group.watcher_of(memory)
            if watcher is not None:
                lanes = self._lanes(at)
                for k in places.leaf_positions(op):
                    rows = _spread_rows(self._bytes(k, at), len(lanes))
                    self._rows.append(_Row(watcher, Part(op, k), at, lanes, rows))
        self._before = [row.watcher.memory.buffer[row.places] for row in self._rows]

    def _lanes(self, part: Lanes) -> Lanes:
        if self._places.lanes is None:
            return self._group.active(self._places.mask)
        return self._places.lanes[part]

    def _bytes(self, k: int, at: Lanes) -> Lanes:
        array = self._places.array
        address = leaf_address(array, k, self._places.address[at])
        return np.asarray(address[:, None] + np.arange(leaf_carrier(array, k).itemsize))

    def read(self) -> None:
        """The access was a load."""
        self._report([r.watcher.read(r.part, self._threads(r), r.places) for r in self._rows])

    def update(self) -> None:
        """The access was an atomic."""
        self._report([r.watcher.update(r.part, self._threads(r), r.places) for r in self._rows])

    def write(self, parts: Sequence[Lanes]) -> None:
        """The access was a store of these leaves."""
        found = []
        each = zip(self._rows, self._before, strict=True)
        for n, (row, before) in enumerate(each):
            count = len(row.lanes)
            number = spread(pick(parts[n % len(parts)], row.lanes), count)
            new = np.ascontiguousarray(number).view(np.uint8).reshape(count, -1)
            threads = self._threads(row)
            found.append(row.watcher.write(row.part, threads, row.places, before, new))
        self._report(found)

    def _threads(self, row: _Row) -> Lanes:
        return np.asarray(self._group.threads[row.lanes])

    def _report(self, racing: Sequence[Mask]) -> None:
        for row, bad in zip(self._rows, racing, strict=True):
            if bad.any():
                chosen = np.flatnonzero(bad)
                at = row.at[chosen] if self._places.lanes is not None else row.at[:1]
                index = tuple(pick(i, at) for i in self._places.index)
                shape = tuple(pick(n, at) for n in self._places.array.shape)
                self._group.fault(self._op, FaultKind.RACE, row.lanes[chosen], index, shape)


def _spread_rows(rows: Lanes, count: int) -> Lanes:
    """One row for each of ``count`` lanes."""
    return np.broadcast_to(rows, (count, rows.shape[1])) if len(rows) == 1 else rows


def load(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """The element, or zero where the check fails."""
    array = array_of(args[0])
    places = locate(group, op, array, args[1:], mask)
    if places is None:
        return (zeros(op),)
    check_initialised(group, op, places)
    Watch(group, op, places).read()
    parts = []
    for k in places.leaf_positions(op):
        carrier = leaf_carrier(array, k)
        out = np.zeros(1 if places.lanes is None else len(group), carrier)
        for memory, part in places.by_memory():
            found = memory.read(carrier, leaf_address(array, k, places.address[part]))
            if len(found) == len(out):
                out = found
            else:
                out[places.chosen(part)] = found
        parts.append(out)
    return (parts[0] if isinstance(op.result.type, Scalar) else tuple(parts),)


def zeros(op: Op) -> Datum:
    """Zero in every leaf of the type of the result."""
    t = op.result.type
    own = tuple(np.zeros(1, leaf.carrier) for leaf in leaves(t) if isinstance(leaf, Scalar))
    return own[0] if isinstance(t, Scalar) else own


def store(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """Write an element, unless the check fails; of lanes that share it the highest wins."""
    array = array_of(args[0])
    ndim = len(array.shape)
    parts = as_parts(args[1 + ndim])
    apart = not is_uniform(parts)
    places = locate(group, op, array, args[1 : 1 + ndim], mask, apart=apart)
    if places is None:
        return ()
    watch = Watch(group, op, places)
    for memory, part in places.by_memory():
        refuse_read_only(memory, op)
        for k, number in zip(places.leaf_positions(op), parts, strict=True):
            chosen = number
            if places.lanes is not None:
                chosen = spread(pick(number, places.lanes), len(places.lanes))[part]
            memory.write(leaf_address(array, k, places.address[part]), chosen)
    watch.write(parts)
    return ()


def as_parts(data: Datum) -> tuple[Lanes, ...]:
    """The scalars of a datum that holds no arrays."""
    return tuple(only(p) for p in (data if isinstance(data, tuple) else (data,)))


def refuse_read_only(memory: Memory, op: Op) -> None:
    """Raise ``LaunchError`` for memory that must not be written."""
    if not memory.buffer.flags.writeable:
        raise LaunchError(Diagnostic("H0705", f"{op.name} into read-only memory", op.span))


def dim(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """Extent on an axis."""
    extent = array_of(args[0]).shape[_axis(op)]
    return (index_result(op, extent, mask),)


def stride(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """Byte stride on an axis."""
    return (array_of(args[0]).strides[_axis(op)],)


def _axis(op: Op) -> int:
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis


def index_result(op: Op, number: Lanes, mask: Mask) -> Lanes:
    """An int64 index or extent in the result type of ``op``.

    Raises:
        LaunchError: the type is 32 bits wide and too narrow; a kernel with 64-bit indices is
            needed.
    """
    t = op.result.type
    assert isinstance(t, Scalar)
    if t is i32 and ((number > i32.highest) & (mask if number.size > 1 else True)).any():
        raise LaunchError(
            Diagnostic("H0210", f"{op.name} gives {number.max()}, which no i32 holds", op.span)
        )
    return number.astype(t.carrier)


# -- views -----------------------------------------------------------------------------------------


def subview(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """A view, or one of extent 0 on every axis where an axis of it fails its check.

    Each axis is checked on its own: an index must be inside; a stretch must have extent 0, or a
    positive extent with its first and last element inside (a negative extent fails).
    """
    array = array_of(args[0])
    numbers = iter(only(x).astype(np.int64) for x in args[1:])
    good = np.ones(1, bool)
    offset, shape, strides, index = array.offset, [], [], []
    axes = op.attrs["axes"]
    assert isinstance(axes, str)
    for letter, extent, step_bytes in zip(axes, array.shape, array.strides, strict=True):
        if letter == "f":
            shape.append(extent)
            strides.append(step_bytes)
            index.append(_NONE)
            continue
        start = next(numbers)
        start_inside = (start >= 0) & (start < extent)
        offset = offset + start * step_bytes
        if letter == "i":
            good = good & start_inside
            index.append(start)
            continue
        count, step = next(numbers), next(numbers)
        good = good & ((count == 0) | (start_inside & _fits(start, count, step, extent)))
        index.append(np.where(start_inside, start + (count - 1) * step, start))
        shape.append(count)
        strides.append(step * step_bytes)
    if not good.all():
        lanes = group.active(mask)
        bad = lanes if good.size == 1 else lanes[~good[lanes]]
        if len(bad):
            where = tuple(pick(i, bad) for i in index)
            group.fault(op, FaultKind.BOUNDS, bad, where, tuple(pick(n, bad) for n in array.shape))
        shape = [np.where(good, n, 0) for n in shape]
    return (
        ArrayValue(array.memories, array.which, offset, tuple(shape), tuple(strides), array.dtype),
    )


def _fits(start: Lanes, count: Lanes, step: Lanes, extent: Lanes) -> Lanes:
    """Is the last of ``count`` > 0 elements inside, as the first one is?  Never overflows."""
    room = np.where(step < 0, start, extent - 1 - start).astype(np.uint64)
    size = np.where(step < 0, np.negative(step), step).view(np.uint64)
    most = room // np.maximum(size, np.uint64(1))
    far_enough = (step == 0) | ((count - 1).astype(np.uint64) <= most)
    return np.asarray((count > 0) & far_enough)


# -- resources -------------------------------------------------------------------------------------


def _resolve(
    group: Group, op: Op, handle: Lanes, mask: Mask
) -> Iterator[tuple[Resource | None, Lanes]]:
    """Each resource that active lanes name (None: a bad handle, recorded), with these lanes."""
    lanes = group.active(mask)
    kind = op.attrs["kind"]
    assert isinstance(kind, int)
    numbers = pick(handle, lanes)
    for number in np.unique(numbers):
        chosen = lanes if numbers.size == 1 else lanes[numbers == number]
        found = look_up(group.launch.resources, int(number), kind)
        yield found, chosen


def _report_handles(group: Group, op: Op, bad: list[Lanes]) -> None:
    if bad:
        group.fault(op, FaultKind.HANDLE, np.sort(np.concatenate(bad)))


def resource_scalar(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """A scalar slot of a resource, zero where the handle is bad or the slot empty."""
    t = op.result.type
    assert isinstance(t, Scalar)
    handle = only(args[0])
    out = np.zeros(handle.size, t.carrier)
    bad = []
    for resource, lanes in _resolve(group, op, handle, mask):
        if resource is None:
            bad.append(lanes)
            continue
        slot = op.attrs["slot"]
        assert isinstance(slot, int)
        word = resource.scalars[slot] if slot < len(resource.scalars) else 0
        low = np.array([word], np.uint64).view(t.carrier)[:1]
        out[lanes if handle.size > 1 else slice(None)] = low[0]
    _report_handles(group, op, bad)
    return (out,)


def resource_array(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """An array slot of a resource, of extent 0 where the handle is bad or the slot empty."""
    t = op.result.type
    assert isinstance(t, Array)
    slot = op.attrs["slot"]
    assert isinstance(slot, int)
    handle = only(args[0])
    size = handle.size
    memories = [_NOTHING]
    which, offset, extent, step = (np.zeros(size, np.int64) for _ in range(4))
    bad = []
    for resource, lanes in _resolve(group, op, handle, mask):
        if resource is None:
            bad.append(lanes)
            continue
        if slot >= len(resource.arrays):
            continue
        old = resource.arrays[slot]
        view = ArrayView(old.buffer, old.offset, old.shape, old.strides, t.dtype, old.written)
        at = lanes if size > 1 else slice(None)
        which[at] = len(memories)
        memories.append(Memory(view.buffer, view.written))
        offset[at], extent[at], step[at] = view.offset, view.shape[0], view.strides[0]
    _report_handles(group, op, bad)
    return (ArrayValue(tuple(memories), which, offset, (extent,), (step,), t.dtype),)
