"""Arrays: addresses, guards, loads and stores, local arrays, views.

An element lies at ``pointer + sum(index * byte stride)``, in i64.  Arrays come from foreign owners
too, so on CPUs nothing is assumed of alignment; GPUs need the natural one, which launches check.
What is loaded from shared memory is frozen: a racing thread may change it between two reads, and an
index that passed its guard must be the one that is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from heald.artifact import FaultKind
from heald.artifact.abi import MAX_BLOCK_DIM
from heald.codegen.body import ArrayNames, Body, zeros_of
from heald.codegen.faults import checked, record_fault
from heald.codegen.spelling import bits_type, memory_type, scalar_type
from heald.diagnostics import CompileError, Diagnostic, InternalError
from heald.ir import Op, Value
from heald.passes.facts import is_guarded
from heald.types import Array, Scalar, b1, i32, leaf_offsets, leaves, size_of

LOCAL_BYTES = 256 * 1024
"""What the local arrays of one thread may take of the stack; a worker may have 2 MiB."""
BLOCK_BYTES = 16 * 1024 * 1024
"""What shared arrays, and values that live across barriers, may take on a CPU."""
STACK_BYTES = 128 * 1024
"""What of that is on the stack of a worker, which may be a small one; the rest is allocated."""
SCRATCH = "%scratch"
"""Where the rest is."""
ALIGNMENT = 64
_SHARED_ALIGNMENT = 16


# -- elements --------------------------------------------------------------------------------------


def element(op: Op) -> tuple[Scalar, int]:
    """The scalar that a memory op works on and its byte offset in the array element."""
    array = op.operands[0].type
    assert isinstance(array, Array)
    leaf = op.attrs.get("leaf", 0)
    assert isinstance(leaf, int)
    found = leaves(array.dtype)
    if "leaf" not in op.attrs and not isinstance(array.dtype, Scalar):
        raise InternalError(f"{op.name} of a whole {array.dtype}: scalarise first")
    scalar = found[leaf]
    assert isinstance(scalar, Scalar)
    return scalar, leaf_offsets(array.dtype)[leaf]


@dataclass(frozen=True, slots=True)
class Place:
    """An index on one axis: an i64 name and a constant that comes on top."""

    position: str
    more: int = 0


def indices_of(body: Body, op: Op) -> list[str]:
    """The index of a memory op on every axis, as i64."""
    array = op.operands[0].type
    assert isinstance(array, Array)
    return [body.extend(v) for v in op.operands[1 : 1 + array.ndim]]


def places_of(body: Body, op: Op) -> list[Place]:
    """Where a memory op that is inside its array works.

    GPUs add constants to addresses for nothing, so those stay apart from the launch index, of which
    no neighbour inside an array lies around the end of the numbers.
    """
    array = op.operands[0].type
    assert isinstance(array, Array)
    index = op.operands[1 : 1 + array.ndim]
    if not body.gpu:
        return [Place(body.extend(v)) for v in index]
    return [Place(body.extend(root), more) for root, more in map(body.launch_index, index)]


def address(body: Body, array: ArrayNames, index: Sequence[Place], offset: int = 0) -> str:
    """The address of an element, or of the leaf ``offset`` bytes into it."""
    w = body.writer
    terms = []
    for place, stride in zip(index, array.strides, strict=True):
        by = narrowed(body, stride) if body.gpu and array.compact else stride
        position, more = place.position, place.more
        if more and by.startswith("%"):
            position, more = w.ins(f"add i64 {position}, {more}"), 0
        if more:
            offset += more * int(by)
        if position != "0":
            terms.append(w.ins(f"mul i64 {position}, {by}"))
    return moved(body, array.pointer, terms, offset)


def narrowed(body: Body, stride: str) -> str:
    """A stride whose upper half is known: GPUs multiply numbers of 32 bits, and add, at once."""
    if not stride.startswith("%"):
        return stride
    return body.writer.ins(f"sext i32 {body.writer.ins(f'trunc i64 {stride} to i32')} to i64")


def moved(body: Body, pointer: str, terms: Sequence[str], offset: int) -> str:
    """A pointer moved by the i64 ``terms`` and a number of bytes."""
    w = body.writer
    parts = list(terms)
    if offset and not body.gpu:
        parts.append(str(offset))
    if parts:
        total = reduce(lambda a, b: w.ins(f"add i64 {a}, {b}"), parts)
        pointer = w.ins(f"getelementptr i8, ptr {pointer}, i64 {total}")
    if offset and body.gpu:
        pointer = w.ins(f"getelementptr i8, ptr {pointer}, i64 {offset}")
    return pointer


def inside(body: Body, op: Op, extents: Sequence[str]) -> str:
    """Is 0 <= index < extent on every axis?  One unsigned comparison each.

    GPUs compare numbers of 32 bits, where no more are needed, in half the instructions.  An array
    within 2^31 bytes may need more: an axis of stride 0 has any extent.
    """
    w, array = body.writer, op.operands[0]
    index = op.operands[1 : 1 + len(extents)]
    short = body.gpu and (body.narrow or array in body.short)
    parts = []
    for value, extent in zip(index, extents, strict=True):
        if short and value.type is i32 and value not in body.constants:
            parts.append(w.ins(f"icmp ult i32 {body.name(value)}, {_low(body, extent)}"))
        else:
            parts.append(w.ins(f"icmp ult i64 {body.extend(value)}, {extent}"))
    return conjunction(body, parts)


def _low(body: Body, extent: str) -> str:
    return body.writer.ins(f"trunc i64 {extent} to i32") if extent.startswith("%") else extent


def conjunction(body: Body, parts: Sequence[str]) -> str:
    """The i1 that all ``parts`` hold."""
    w = body.writer
    return reduce(lambda a, b: w.ins(f"and i1 {a}, {b}"), parts) if parts else "true"


# -- loads and stores ------------------------------------------------------------------------------


def companions(op: Op, following: Sequence[Op]) -> list[Op]:
    """The accesses right behind ``op`` that differ from it in their leaf (and value) only."""
    found: list[Op] = []
    place = op.operands if op.name == "load" else op.operands[:-1]
    seen = {op.attrs.get("leaf")}
    for other in following:
        leaf = other.attrs.get("leaf")
        own = other.operands if other.name == "load" else other.operands[:-1]
        same = other.name == op.name and own == place and leaf is not None and leaf not in seen
        if not same or other.attrs.get("guard") != op.attrs.get("guard"):
            break
        seen.add(leaf)
        found.append(other)
    return found


def _group(body: Body, op: Op, following: Sequence[Op]) -> list[Op]:
    """An access with those that its guard holds for too, on GPUs, where branches cost most."""
    group = [op]
    if body.gpu and is_guarded(op):
        group += companions(op, following)
        body.grouped.update(group[1:])
    return group


def emit_load(body: Body, op: Op, following: Sequence[Op] = ()) -> None:
    """``load``; behind a guard that fails it gives zero.

    ``following`` ops may be written with it (:func:`companions`).
    """
    group, array = _group(body, op, following), body.array(op.operands[0])
    shared = is_shared(op.operands[0])
    parts = [element(o) for o in group]

    def run() -> tuple[str, ...]:
        where = places_of(body, op)
        found = []
        for scalar, offset in parts:
            place, more = address(body, array, where, offset), body.notes(op.operands[0])
            found.append(load_scalar(body, scalar, place, frozen=shared, more=more))
        return tuple(found)

    names = guarded(body, op, array, run, [scalar for scalar, _ in parts])
    for o, name in zip(group, names, strict=True):
        body.names[o.result] = (name,)


def emit_store(body: Body, op: Op, following: Sequence[Op] = ()) -> None:
    """``store``; behind a guard that fails it does nothing.  ``following`` is as for loads."""
    group, array = _group(body, op, following), body.array(op.operands[0])

    def run() -> tuple[()]:
        where, notes = places_of(body, op), body.notes(op.operands[0])
        for o in group:
            scalar, offset = element(o)
            place = address(body, array, where, offset)
            store_scalar(body, scalar, body.name(o.operands[-1]), place, notes)
        return ()

    guarded(body, op, array, run, [])


def guarded(
    body: Body,
    op: Op,
    array: ArrayNames,
    run: Callable[[], tuple[str, ...]],
    results: Sequence[Scalar],
) -> tuple[str, ...]:
    """``run`` at an index that is inside the array; outside record a fault and give zeros."""
    if not is_guarded(op):
        return run()

    def record() -> None:
        record_fault(body, op, FaultKind.BOUNDS, indices_of(body, op), array.extents)

    good = inside(body, op, array.extents)
    types = [scalar_type(t) for t in results]
    return checked(body, good, record, run, zeros_of(results), types)


def load_scalar(
    body: Body, t: Scalar, place: str, *, frozen: bool, alignment: int = 0, more: str = ""
) -> str:
    """A value from memory; ``frozen`` where others may write it at the same time.

    ``alignment`` is known of the place, 0 where it is any element of an array.
    """
    w = body.writer
    alignment = alignment or element_alignment(body, t)
    name = w.ins(f"load {memory_type(t)}, ptr {place}, align {alignment}{more}")
    if frozen:
        name = w.ins(f"freeze {memory_type(t)} {name}")
    return w.ins(f"icmp ne i8 {name}, 0") if t is b1 else name


def store_scalar(body: Body, t: Scalar, name: str, place: str, more: str = "") -> None:
    """A value to memory."""
    w = body.writer
    if t is b1:
        name = w.ins(f"zext i1 {name} to i8")
    alignment = element_alignment(body, t)
    w.do(f"store {memory_type(t)} {name}, ptr {place}, align {alignment}{more}")


def element_alignment(body: Body, t: Scalar) -> int:
    """What is known of the address of an element."""
    return size_of(t) if body.gpu else 1


def to_bits(body: Body, t: Scalar, name: str) -> str:
    """A value as the integer that memory holds."""
    if t is b1:
        return body.writer.ins(f"zext i1 {name} to i8")
    return _bitcast(body, scalar_type(t), name, bits_type(t))


def from_bits(body: Body, t: Scalar, name: str) -> str:
    """The integer that memory holds as a value."""
    if t is b1:
        return body.writer.ins(f"icmp ne i8 {name}, 0")
    return _bitcast(body, bits_type(t), name, scalar_type(t))


def _bitcast(body: Body, source: str, name: str, target: str) -> str:
    return name if source == target else body.writer.ins(f"bitcast {source} {name} to {target}")


def is_shared(array: Value) -> bool:
    """May other threads see the array?"""
    assert isinstance(array.type, Array)
    return array.type.space != "local"


# -- local arrays ----------------------------------------------------------------------------------


def emit_alloc(body: Body, op: Op) -> None:
    """``alloc``: room at the head of the function, zeroed at each execution."""
    t = op.result.type
    assert isinstance(t, Array)
    total = size_of(t)
    # Those of the function that runs a block have a row for each thread, which phases make zero.
    if t.space == "shared" or body.run_phase is not None:
        body.names[op.result] = _shared(body, op, t).components
        return
    body.local_bytes += total
    if body.local_bytes > LOCAL_BYTES:
        raise CompileError(
            Diagnostic(
                "H0407",
                f"the local arrays of this kernel take more than {LOCAL_BYTES // 1024} KiB",
                op.span,
                f"{total} bytes here, {body.local_bytes} so far",
                hint="pass a global array with a row for each thread",
            )
        )
    body.names[op.result] = allocate(body, t, 1).components


def _shared(body: Body, op: Op, t: Array) -> ArrayNames:
    """Room for an array of the block: on CPUs on the stack of the function that runs it, as far
    as that goes."""
    total = max(1, size_of(t))
    body.shared_bytes += total
    if body.gpu:
        name = f"@heald_shared{len(body.globals)}"
        body.globals.append(
            f"{name} = internal addrspace(3) global [{total} x i8] undef, align {_SHARED_ALIGNMENT}"
        )
        place = f"addrspacecast (ptr addrspace(3) {name} to ptr)"
    else:
        if body.shared_bytes > BLOCK_BYTES:
            raise CompileError(
                Diagnostic(
                    "H0410",
                    "what the threads of a block keep across barriers takes more than "
                    f"{BLOCK_BYTES // MAX_BLOCK_DIM // 1024} KiB a thread",
                    op.span,
                    hint="keep less alive across wp.block_sync(), or use several kernels",
                )
            )
        place = body.writer.reserve()
        if body.shared_bytes <= STACK_BYTES:
            body.allocas.append(f"{place} = alloca [{total} x i8], align {ALIGNMENT}")
        else:
            start = body.scratch_bytes
            body.allocas.append(f"{place} = getelementptr i8, ptr {SCRATCH}, i64 {start}")
            body.scratch_bytes += -(-total // ALIGNMENT) * ALIGNMENT
    return ArrayNames(place, *_dense(t, size_of(t.dtype)))


def _dense(t: Array, step: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Extents and byte strides of an array whose elements lie ``step`` bytes apart, row-major."""
    assert t.shape is not None
    strides = []
    for extent in reversed(t.shape):
        strides.append(str(step))
        step *= extent
    return tuple(map(str, t.shape)), tuple(reversed(strides))


def allocate(body: Body, t: Array, copies: int) -> ArrayNames:
    """Zeroed room for ``copies`` of a local array, those of an element side by side."""
    w, total = body.writer, size_of(t) * copies
    place = w.reserve()
    body.allocas.append(f"{place} = alloca [{total} x i8], align {ALIGNMENT}")
    w.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {total}, i1 false)")
    return ArrayNames(place, *_dense(t, size_of(t.dtype) * copies))


# -- shape -----------------------------------------------------------------------------------------


def emit_dim(body: Body, op: Op) -> None:
    """``dim``: an extent."""
    body.shrink(op.result, body.array(op.operands[0]).extents[axis_of(op)])


def emit_stride(body: Body, op: Op) -> None:
    """``stride``: a byte stride."""
    body.names[op.result] = (body.array(op.operands[0]).strides[axis_of(op)],)


def axis_of(op: Op) -> int:
    """The attribute ``axis``."""
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis
