"""Local arrays, views and resources of several threads at once.

A component of an array is a vector where it differs between lanes: the address, or all extents and
strides together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from heald.artifact import FaultKind
from heald.codegen.body import ArrayNames, types_of
from heald.codegen.memory import Place, address, allocate, axis_of, conjunction, is_shared
from heald.codegen.resources import locate, nothing, read_slot
from heald.codegen.views import Axis, view_axis
from heald.codegen.wide.body import WideBody
from heald.codegen.wide.checks import checked, escape_unless, record
from heald.ir import Op, Value
from heald.passes.facts import is_guarded
from heald.types import Array, size_of

_HALF = 1 << 31


def emit_alloc(body: WideBody, op: Op) -> None:
    """``alloc``: a copy for every lane, those of an element side by side."""
    t = op.result.type
    assert isinstance(t, Array)
    body.names[op.result] = allocate(body, t, body.width).components
    body.compact.add(op.result)


def emit_stride(body: WideBody, op: Op) -> None:
    """``stride``: of a local array that of one copy."""
    name = body.array(op.operands[0]).strides[axis_of(op)]
    if not is_shared(op.operands[0]):
        name = body.writer.ins(f"sdiv i64 {name}, {body.width}")
    body.names[op.result] = (name,)


def emit_resource(body: WideBody, op: Op) -> None:
    """``resource_array`` and ``resource_scalar`` of a handle that all lanes share."""
    good, place = locate(body, op)

    def fail() -> list[str]:
        record(body, op, body.active, FaultKind.HANDLE)
        return nothing(op)

    def run() -> tuple[str, ...]:
        return read_slot(body, op, place)

    types = types_of([op.result])
    names = run() if good is None else checked(body, op, good, run, fail, types)
    body.names[op.result] = names
    if isinstance(op.result.type, Array) and not body.is_late(op):
        _take_for_dense(body, op, names)


def _take_for_dense(body: WideBody, op: Op, names: Sequence[str]) -> None:
    """Resources hold dense arrays; were one not, the threads would run one by one."""
    t = op.result.type
    assert isinstance(t, Array)
    w, size = body.writer, size_of(t.dtype)
    pointer, extent, stride = names
    dense = w.ins(f"icmp eq i64 {stride}, {size}")
    short = w.ins(f"icmp ult i64 {extent}, {_HALF // size}")
    escape_unless(body, w.ins(f"and i1 {dense}, {short}"))
    body.names[op.result] = (pointer, extent, str(size))
    body.compact.add(op.result)


# -- views -----------------------------------------------------------------------------------------


def emit_subview(body: WideBody, op: Op) -> None:
    """``subview``: shared by all lanes, or at an index of each lane on some axes."""
    if op.operands[0] in body.compact:
        body.compact.add(op.result)
    if body.uniformity.are_uniform(op.operands) and not body.is_ragged(op.operands[0]):
        _shared_view(body, op)
    else:
        _lane_views(body, op)


def _shared_view(body: WideBody, op: Op) -> None:
    source = body.array(op.operands[0])
    axes = _axes(body, op, source)
    kept = [axis.kept for axis in axes if axis.kept is not None]
    extents = [extent for extent, _ in kept]
    if is_guarded(op):
        good = conjunction(body, [axis.holds for axis in axes if axis.holds is not None])

        def fail() -> list[str]:
            index = [body.spread("i64", axis.offender) for axis in axes]
            shape = [body.spread("i64", extent) for extent in source.extents]
            record(body, op, body.active, FaultKind.BOUNDS, index, shape)
            return ["0"] * len(kept)

        extents = list(checked(body, op, good, lambda: extents, fail, ["i64"] * len(kept)))
    place = address(body, source, [Place(axis.start) for axis in axes])
    body.names[op.result] = (place, *extents, *(stride for _, stride in kept))


def _axes(body: WideBody, op: Op, source: ArrayNames) -> list[Axis]:
    rest = iter(op.operands[1:])
    return [
        view_axis(body, kind, rest, extent, stride)
        for kind, extent, stride in zip(
            str(op.attrs["axes"]), source.extents, source.strides, strict=True
        )
    ]


@dataclass(slots=True)
class _Lanes:
    """A view in the making.

    Attributes:
        ragged: extents and strides are vectors.
        moves: byte offsets of the lanes, vectors of i64.
        kept: extents and strides of the axes that stay.
        shared: i1 conditions that all lanes share.
        own: conditions lane by lane.
        index: what a fault shows, vectors of i64.
    """

    ragged: bool
    moves: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    index: list[str] = field(default_factory=list)


def _lane_views(body: WideBody, op: Op) -> None:
    w, array = body.writer, op.operands[0]
    source = body.array(array)
    view = _Lanes(body.is_ragged(array))
    rest = iter(op.operands[1:])
    for kind, extent, stride in zip(
        str(op.attrs["axes"]), source.extents, source.strides, strict=True
    ):
        _lane_axis(body, view, kind, rest, extent, stride)
    extents = [extent for extent, _ in view.kept]
    strides = [stride for _, stride in view.kept]
    if body.is_ragged(op.result) and not view.ragged:
        extents, strides = ([body.spread("i64", x) for x in each] for each in (extents, strides))
    if is_guarded(op):
        extents = _guarded_extents(body, op, view, extents)
    body.names[op.result] = (_lane_pointers(body, array, source, view), *extents, *strides)
    assert w.width == body.width


def _lane_axis(
    body: WideBody, view: _Lanes, kind: str, rest: Iterator[Value], extent: str, stride: str
) -> None:
    """One axis.  A slice is the same in all lanes; ``coalesce`` refuses others."""
    w, whole = body.writer, f"<{body.width} x i64>"
    if view.ragged or kind == "i":
        limit, by = (x if view.ragged else body.spread("i64", x) for x in (extent, stride))
        if kind == "f":
            view.kept.append((extent, stride))
            view.index.append("zeroinitializer")
            return
        start = body.wide_extend(next(rest))
        view.own.append(w.ins(f"icmp ult {whole} {start}, {limit}"))
        view.moves.append(w.ins(f"mul {whole} {start}, {by}"))
        view.index.append(start)
        return
    axis = view_axis(body, kind, rest, extent, stride)
    assert axis.kept is not None
    view.kept.append(axis.kept)
    view.index.append(body.spread("i64", axis.offender))
    if axis.holds is not None:
        view.shared.append(axis.holds)
    if axis.start != "0":
        move = w.ins(f"mul i64 {axis.start}, {stride}")
        view.moves.append(body.spread("i64", move))


def _lane_pointers(body: WideBody, array: Value, source: ArrayNames, view: _Lanes) -> str:
    w, whole = body.writer, f"<{body.width} x i64>"
    if not view.moves:
        return source.pointer
    total = reduce(lambda a, b: w.ins(f"add {whole} {a}, {b}"), view.moves)
    if body.has_lane_pointers(array):
        base = f"<{body.width} x ptr> {source.pointer}"
    else:
        base = f"ptr {source.pointer}"
    return w.ins(f"getelementptr i8, {base}, {whole} {total}")


def _guarded_extents(body: WideBody, op: Op, view: _Lanes, extents: Sequence[str]) -> list[str]:
    """The extents, 0 in the lanes that would leave the array."""
    w, mask = body.writer, body.mask_type
    lanes = [*view.own, *(body.spread("i1", name) for name in view.shared)]
    fine = reduce(lambda a, b: w.ins(f"and {mask} {a}, {b}"), lanes)
    whole = f"<{body.width} x i64>"

    def fail() -> list[str]:
        bad = body.both(body.mask, body.inverted(fine))
        assert bad is not None
        limits = body.lane_extents(op.operands[0], body.array(op.operands[0]))
        record(body, op, bad, FaultKind.BOUNDS, view.index, limits)
        return [body.chosen(fine, whole, x, "zeroinitializer") for x in extents]

    types = [whole if body.is_ragged(op.result) else "i64"] * len(extents)
    return list(checked(body, op, body.all_active(fine), lambda: list(extents), fail, types))
