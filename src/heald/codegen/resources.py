"""Reading the resource table.  A handle is good when the record that it names holds it."""

from __future__ import annotations

from collections.abc import Callable

from heald.artifact import FaultKind, abi
from heald.codegen.body import HEADER, Body, types_of, zeros_of
from heald.codegen.faults import checked, record_fault, require
from heald.codegen.memory import conjunction, load_scalar
from heald.codegen.writer import INVARIANT
from heald.ir import Op
from heald.passes.facts import is_guarded
from heald.types import Array, Scalar, size_of

_INDEX_MASK = (1 << abi.HANDLE_GENERATION_SHIFT) - 1


def emit_resource(body: Body, op: Op) -> None:
    """``resource_array`` and ``resource_scalar``; a bad handle gives an extent of 0, or 0."""
    if body.gpu and op.operands[0] in body.kernel.params and is_guarded(op):
        known, body.names[op.result] = _read_ahead(body, op)
        body.short.add(op.result)
        handle = (op.operands[0], op.attrs["kind"])
        if handle not in body.told:  # else a thread with a bad one has faulted before
            require(body, op, known, FaultKind.HANDLE)
            if op in body.kernel.body.ops:
                body.told.add(handle)
        return
    good, place = locate(body, op)
    _bind(body, op, good, lambda: read_slot(body, op, place))


def _bind(body: Body, op: Op, good: str | None, read: Callable[[], tuple[str, ...]]) -> None:
    """Name what the slot holds where the i1 ``good`` says that the handle is good."""
    if good is None:
        body.names[op.result] = read()
        return
    body.names[op.result] = checked(
        body,
        good,
        lambda: record_fault(body, op, FaultKind.HANDLE),
        read,
        nothing(op),
        types_of([op.result]),
    )


def _read_ahead(body: Body, op: Op) -> tuple[str, tuple[str, ...]]:
    """Whether a handle is good, and what the slot then holds, read when the thread begins.

    A bad handle names some record too, so reading harms nobody, and loops need not read again.
    """
    key = (op.operands[0], str(op.result.type), op.attrs["kind"], op.attrs["slot"])
    if key not in body.slots:
        w, mark = body.writer, len(body.writer.lines)
        good, place = locate(body, op)
        assert good is not None
        names = _chosen(body, op, good, read_slot(body, op, place))
        body.allocas += [line.strip() for line in w.lines[mark:]]
        del w.lines[mark:]
        body.slots[key] = good, names
    return body.slots[key]


def _chosen(body: Body, op: Op, good: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What a slot holds, or nothing; its arrays are dense (``api.resources``).

    They lie in global memory, which LLVM believes of pointers that were numbers: it takes casts
    from one space to another and back for nothing.
    """
    w = body.writer
    if isinstance(op.result.type, Array):
        number = w.ins(f"ptrtoint ptr {names[0]} to i64")
        there = w.ins(f"select i1 {good}, i64 {number}, i64 0")
        there = w.ins(f"inttoptr i64 {there} to ptr addrspace(1)")
        place = w.ins(f"addrspacecast ptr addrspace(1) {there} to ptr")
        extent = w.ins(f"select i1 {good}, i64 {names[1]}, i64 0")
        return place, extent, str(size_of(op.result.type.dtype))
    kinds = types_of([op.result])
    return tuple(
        w.ins(f"select i1 {good}, {kind} {name}, {kind} {zero}")
        for kind, name, zero in zip(kinds, names, nothing(op), strict=True)
    )


def locate(body: Body, op: Op) -> tuple[str | None, str]:
    """Whether the handle is good, an i1 (None where nobody asks), and the address of its record."""
    w = body.writer
    handle = body.name(op.operands[0])
    index = w.ins(f"and i64 {handle}, {_INDEX_MASK}")
    holds = []
    if is_guarded(op):
        kind = w.ins(f"lshr i64 {handle}, {abi.HANDLE_KIND_SHIFT}")
        plausible = conjunction(
            body,
            [
                w.ins(f"icmp eq i64 {kind}, {op.attrs['kind']}"),
                w.ins(f"icmp ult i64 {index}, {abi.RESOURCE_CAPACITY}"),
            ],
        )
        holds.append(plausible)
        index = w.ins(f"select i1 {plausible}, i64 {index}, i64 0")
    table = _field(body, HEADER, abi.HEADER_RESOURCES, "ptr")
    offset = w.ins(f"mul i64 {index}, {abi.RESOURCE_SIZE}")
    record = w.ins(f"getelementptr i8, ptr {table}, i64 {offset}")
    if not holds:
        return None, record
    held = _field(body, record, abi.RESOURCE_HANDLE, "i64")
    holds.append(w.ins(f"icmp eq i64 {held}, {handle}"))
    return conjunction(body, holds), record


def nothing(op: Op) -> list[str]:
    """What a bad handle gives."""
    t = op.result.type
    return zeros_of([t]) if isinstance(t, Scalar) else ["null", "0", "0"]


def read_slot(body: Body, op: Op, record: str) -> tuple[str, ...]:
    """What the slot of a record holds."""
    slot = op.attrs["slot"]
    assert isinstance(slot, int)
    t = op.result.type
    if isinstance(t, Scalar):
        at = abi.RESOURCE_SCALARS + slot * 8
        place = body.writer.ins(f"getelementptr i8, ptr {record}, i64 {at}")
        return (load_scalar(body, t, place, frozen=False, alignment=8, more=INVARIANT),)
    at = abi.RESOURCE_ARRAYS + slot * abi.RESOURCE_ARRAY_SIZE
    return tuple(
        _field(body, record, at + 8 * n, kind) for n, kind in enumerate(types_of([op.result]))
    )


def _field(body: Body, record: str, offset: int, kind: str) -> str:
    """A word of the header or the table; neither changes during a launch.

    Nor does a kernel write the table: copies do, behind which no grid begins early.  So it may be
    read ahead of the wait for the grid before (``grid``).
    """
    w = body.writer
    place = w.ins(f"getelementptr i8, ptr {record}, i64 {offset}")
    return w.ins(f"load {kind}, ptr {place}, align 8{INVARIANT}")
