"""Leaves of one element that are accessed together.

The pass ``scalarise`` splits an access to a vector or struct into one for each leaf.  Elements of
neighbouring lanes lie side by side, so all leaves of all lanes are one stretch of memory: it moves
as one long vector, which shuffles take apart or put together.
"""

from __future__ import annotations

from collections.abc import Sequence

from heald.codegen.memory import element
from heald.codegen.spelling import intrinsic_suffix, memory_type
from heald.codegen.wide.body import WideBody
from heald.codegen.wide.places import Access, first_address, lane_offsets
from heald.ir import Op
from heald.types import Array, Scalar, b1, leaves, size_of, u8

_LOW, _HIGH = (0, 4, 1, 5), (2, 6, 3, 7)
_FIRST, _SECOND = (0, 1, 4, 5), (2, 3, 6, 7)
"""Interleaving two quadruples of numbers, by ones and by pairs: the two steps of transposing."""
_MOST_LEAVES = 16
"""Beyond, shuffling costs more than moving leaf by leaf."""


def suffix(t: Scalar) -> str:
    """The overload suffix of one element in memory."""
    return intrinsic_suffix(u8 if t is b1 else t)


def _packed_leaf(body: WideBody, access: Access) -> tuple[Scalar, int] | None:
    """Type and number of the leaves of elements that form one stretch, or None."""
    array = access.array.type
    assert isinstance(array, Array)
    parts = leaves(array.dtype)
    first = parts[0]
    if not isinstance(first, Scalar) or first is b1 or not 1 < len(parts) <= _MOST_LEAVES:
        return None
    size = len(parts) * size_of(first)
    if any(part is not first for part in parts) or size != size_of(array.dtype):
        return None
    step = None if access.local else access.lane_step(body)
    return (first, len(parts)) if step == size else None


def load_packed(body: WideBody, group: Sequence[Op], access: Access) -> list[str] | None:
    """The leaves of a group out of one long vector; None where that is not possible."""
    packed = _packed_leaf(body, access)
    if packed is None or body.mask is not None or 2 * len(group) < packed[1]:
        return None
    t, count = packed
    w, kind = body.writer, memory_type(t)
    whole = f"<{count * body.width} x {kind}>"
    more = body.notes(access.array)
    stretch = w.ins(f"load {whole}, ptr {first_address(body, access, 0)}, align 1{more}")
    found = []
    for op in group:
        leaf = op.attrs["leaf"]
        lanes = ", ".join(f"i32 {k * count + int(str(leaf))}" for k in range(body.width))
        part = w.ins(
            f"shufflevector {whole} {stretch}, {whole} poison, <{body.width} x i32> <{lanes}>"
        )
        if op.result in body.deciding:
            part = w.ins(f"freeze <{body.width} x {kind}> {part}")
        found.append(part)
    return found


def gather_packed(body: WideBody, group: Sequence[Op], access: Access) -> list[str] | None:
    """The leaves of scattered elements; None where that is not possible or does not pay.

    An element comes as a whole, in one load for each lane, and transposing takes the lanes apart.
    Lanes that do not run load the array's first element, which is there since some lane runs.
    """
    packed = _small_leaf(access)
    if packed is None or 2 * len(group) <= packed[1]:
        return None
    t, count = packed
    w, width, kind = body.writer, body.width, memory_type(t)
    offsets = lane_offsets(body, access)
    if offsets is None:
        return None
    base, moved = offsets
    whole = f"<{width} x i64>"
    if body.mask is not None:
        moved = body.chosen(body.mask, whole, moved, "zeroinitializer")
    quad, more = f"<4 x {kind}>", body.notes(access.array)
    lanes = []
    bits = ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(4))
    for k in range(width):
        offset = w.ins(f"extractelement {whole} {moved}, i64 {k}")
        place = w.ins(f"getelementptr i8, ptr {base}, i64 {offset}")
        if count == 4:
            lanes.append(w.ins(f"load {quad}, ptr {place}, align 1{more}"))
        else:
            arguments = f"ptr {place}, i32 1, <4 x i1> <{bits}>, {quad} zeroinitializer"
            name = f"llvm.masked.load.v4{suffix(t)}.p0"
            lanes.append(w.ins(f"call {quad} @{name}({arguments}){more}"))
    columns = _transposed(body, kind, lanes)
    found = []
    for op in group:
        part = columns[int(str(op.attrs["leaf"]))]
        if op.result in body.deciding:
            part = w.ins(f"freeze <{width} x {kind}> {part}")
        found.append(part)
    return found


def _transposed(body: WideBody, kind: str, lanes: Sequence[str]) -> list[str]:
    """From a vector of four leaves for each lane to a vector of all lanes for each leaf."""
    w, width = body.writer, body.width
    rows = []
    for first in range(4):  # lanes first, first + 4, ... side by side
        row, size = list(lanes[first::4]), 4
        while len(row) > 1:
            both = ", ".join(f"i32 {n}" for n in range(2 * size))
            half = f"<{size} x {kind}>"
            row = [
                w.ins(f"shufflevector {half} {a}, {half} {b}, <{2 * size} x i32> <{both}>")
                for a, b in zip(row[::2], row[1::2], strict=True)
            ]
            size *= 2
        rows.append(row[0])
    whole = f"<{width} x {kind}>"

    def mixed(a: str, b: str, order: Sequence[int]) -> str:
        places = [
            n % 4 + 4 * block + (width if n >= 4 else 0)
            for block in range(width // 4)
            for n in order
        ]
        numbers = ", ".join(f"i32 {n}" for n in places)
        return w.ins(f"shufflevector {whole} {a}, {whole} {b}, <{width} x i32> <{numbers}>")

    a, b = (mixed(rows[n], rows[n + 1], _LOW) for n in (0, 2))
    c, d = (mixed(rows[n], rows[n + 1], _HIGH) for n in (0, 2))
    return [mixed(*pair, order) for pair in ((a, b), (c, d)) for order in (_FIRST, _SECOND)]


def _small_leaf(access: Access) -> tuple[Scalar, int] | None:
    """Type and number of the leaves of elements of three or four 4-byte numbers, or None."""
    array = access.array.type
    assert isinstance(array, Array)
    parts = leaves(array.dtype)
    first = parts[0]
    if access.local or not isinstance(first, Scalar) or first.bits != 32:
        return None
    count = len(parts)
    packed = all(part is first for part in parts) and size_of(array.dtype) == 4 * count
    return (first, count) if packed and count in (3, 4) else None


def store_packed(body: WideBody, group: Sequence[Op], access: Access) -> bool:
    """All leaves of a group as one long vector; False where that is not possible."""
    packed = _packed_leaf(body, access)
    if packed is None or body.mask is not None or len(group) != packed[1]:
        return False
    t, count = packed
    w, kind, width = body.writer, memory_type(t), body.width
    values = {element(op)[1] // size_of(t): body.vector(op.operands[-1]) for op in group}
    parts, size = [values[leaf] for leaf in range(count)], width
    while len(parts) > 1:  # side by side: pairs, then pairs of pairs
        if len(parts) % 2:
            parts.append("poison")
        both = ", ".join(f"i32 {n}" for n in range(2 * size))
        half, whole = f"<{size} x {kind}>", f"<{2 * size} x i32>"
        parts = [
            w.ins(f"shufflevector {half} {a}, {half} {b}, {whole} <{both}>")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        size *= 2
    order = ", ".join(f"i32 {leaf * width + k}" for k in range(width) for leaf in range(count))
    joined, whole = f"<{size} x {kind}>", f"<{count * width} x {kind}>"
    mixed = w.ins(
        f"shufflevector {joined} {parts[0]}, {joined} poison, <{count * width} x i32> <{order}>"
    )
    place = first_address(body, access, 0)
    w.do(f"store {whole} {mixed}, ptr {place}, align 1{body.notes(access.array)}")
    return True
