"""Where the elements that several threads access lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from heald.codegen.body import ArrayNames
from heald.codegen.memory import Place, address, is_shared, moved
from heald.codegen.wide.body import WideBody, lane_constants
from heald.ir import Op, Value
from heald.types import Array, i32

_SCALES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Access:
    """The array and index of a memory op.

    Attributes:
        array: the array.
        names: names of its components.
        index: one value an axis.
        local: every lane has its own copy; element by element the copies lie side by side, so the
            strides are ``width`` times those of one copy.
    """

    array: Value
    names: ArrayNames
    index: tuple[Value, ...]
    local: bool

    @staticmethod
    def of(body: WideBody, op: Op) -> Access:
        """The access of a load, store or atomic."""
        array = op.operands[0]
        assert isinstance(array.type, Array)
        index = op.operands[1 : 1 + array.type.ndim]
        return Access(array, body.array(array), index, not is_shared(array))

    def is_shared_address(self, body: WideBody) -> bool:
        """Do all lanes access one and the same element?"""
        same = body.uniformity.are_uniform((self.array, *self.index))
        return same and not self.local and not body.is_ragged(self.array)

    def lane_step(self, body: WideBody) -> int | None:
        """By how many bytes the element moves from lane to lane, where that is a known number."""
        if body.has_lane_pointers(self.array) or body.is_ragged(self.array):
            return None
        total = 0
        for value, stride in zip(self.index, self.names.strides, strict=True):
            step = body.step(value)
            if step is None or (step and not _is_number(stride)):
                return None
            total += step * int(stride) if step else 0
        return total


def first_address(body: WideBody, access: Access, offset: int) -> str:
    """The address of the first lane's element, or of the leaf ``offset`` bytes into it."""
    if body.gpu:
        roots = [body.launch_index(value) for value in access.index]
        index = [Place(body.extend(root), more) for root, more in roots]
    else:
        index = [Place(body.position(value)) for value in access.index]
    return address(body, access.names, index, offset)


def lane_addresses(body: WideBody, access: Access, offset: int, lane_bytes: int = 0) -> str:
    """The addresses of the elements of all lanes, a vector of pointers.

    What is shared goes into the base.  Where all elements lie within 2^31 bytes the rest takes 32
    bits, which gather instructions are faster with.  ``lane_bytes`` is what the element of a lane
    lies behind that of the lane before, besides the index.
    """
    w = body.writer
    shared, varying = _terms(body, access)
    if body.has_lane_pointers(access.array):
        steps = [body.spread("i64", term) for term in shared]
        if lane_bytes:
            steps.append(lane_constants("i64", [k * lane_bytes for k in range(body.width)]))
        return _from_pointers(body, access, varying, steps, offset)
    base = moved(body, access.names.pointer, shared, offset)
    narrow = access.array in body.compact
    if narrow and len(varying) == 1 and not lane_bytes and int_or_none(varying[0][1]) in _SCALES:
        kind = f"<{body.width} x i32> {_narrow(body, varying[0][0])}"
        position = w.ins(f"sext {kind} to <{body.width} x i64>")
        unit = f"i{8 * int(varying[0][1])}"
        return w.ins(f"getelementptr {unit}, ptr {base}, <{body.width} x i64> {position}")
    total = _summed(body, access, varying, lane_bytes)
    return w.ins(f"getelementptr i8, ptr {base}, <{body.width} x i64> {total}")


def lane_places(body: WideBody, access: Access, offset: int, lane_bytes: int = 0) -> list[str]:
    """The same addresses one by one, for processors that do not gather.

    LLVM knows of each in which memory it lies, as it does not of vectors of pointers.
    """
    w, lanes = body.writer, range(body.width)
    if body.has_lane_pointers(access.array):
        pointers = lane_addresses(body, access, offset, lane_bytes)
        return [w.ins(f"extractelement <{body.width} x ptr> {pointers}, i64 {k}") for k in lanes]
    shared, varying = _terms(body, access)
    base = moved(body, access.names.pointer, shared, offset)
    total = _summed(body, access, varying, lane_bytes)
    steps = [w.ins(f"extractelement <{body.width} x i64> {total}, i64 {k}") for k in lanes]
    return [w.ins(f"getelementptr i8, ptr {base}, i64 {step}") for step in steps]


def lane_offsets(body: WideBody, access: Access) -> tuple[str, str] | None:
    """A shared address and what the lanes' elements lie behind it in bytes, a vector of i64.

    None where the lanes have no address in common.
    """
    if body.has_lane_pointers(access.array) or body.is_ragged(access.array):
        return None
    shared, varying = _terms(body, access)
    base = moved(body, access.names.pointer, shared, 0)
    return base, _summed(body, access, varying)


def _terms(body: WideBody, access: Access) -> tuple[list[str], list[tuple[Value, str]]]:
    """What the place of all lanes' elements is made of: bytes that they share, and indices that
    they don't, with the strides of these."""
    shared, varying = [], []
    for value, stride in zip(access.index, access.names.strides, strict=True):
        if body.is_uniform(value) and not body.is_ragged(access.array):
            position = body.position(value)
            if position != "0":
                shared.append(body.writer.ins(f"mul i64 {position}, {stride}"))
        else:
            varying.append((value, stride))
    return shared, varying


def _summed(
    body: WideBody, access: Access, varying: Sequence[tuple[Value, str]], lane_bytes: int = 0
) -> str:
    """What indices that differ make of bytes, a vector of i64."""
    w = body.writer
    narrow = access.array in body.compact
    kind = "i32" if narrow else "i64"
    terms = [_scaled(body, value, stride, narrow) for value, stride in varying]
    if lane_bytes:
        terms.append(lane_constants(kind, [k * lane_bytes for k in range(body.width)]))
    total = reduce(lambda a, b: w.ins(f"add <{body.width} x {kind}> {a}, {b}"), terms)
    if narrow:
        total = w.ins(f"sext <{body.width} x i32> {total} to <{body.width} x i64>")
    return total


def _from_pointers(
    body: WideBody,
    access: Access,
    varying: Sequence[tuple[Value, str]],
    moved: Sequence[str],
    offset: int,
) -> str:
    w, whole = body.writer, f"<{body.width} x i64>"
    ragged = body.is_ragged(access.array)
    terms = list(moved)
    for value, stride in varying:
        by = stride if ragged else body.spread("i64", stride)
        terms.append(w.ins(f"mul {whole} {body.wide_extend(value)}, {by}"))
    if offset:
        terms.append(f"splat (i64 {offset})")
    if not terms:
        return access.names.pointer
    total = reduce(lambda a, b: w.ins(f"add {whole} {a}, {b}"), terms)
    pointers = f"<{body.width} x ptr>"
    return w.ins(f"getelementptr i8, {pointers} {access.names.pointer}, {whole} {total}")


def _narrow(body: WideBody, value: Value) -> str:
    """An index as a vector of i32; one that lies inside fits."""
    whole = body.vector(value)
    if value.type is i32:
        return whole
    return body.writer.ins(f"trunc <{body.width} x i64> {whole} to <{body.width} x i32>")


def _scaled(body: WideBody, value: Value, stride: str, narrow: bool) -> str:
    w = body.writer
    if not narrow:
        by = body.spread("i64", stride)
        return w.ins(f"mul <{body.width} x i64> {body.wide_extend(value)}, {by}")
    by = stride if _is_number(stride) else w.ins(f"trunc i64 {stride} to i32")
    by = body.spread("i32", by)
    return w.ins(f"mul <{body.width} x i32> {_narrow(body, value)}, {by}")


def _is_number(name: str) -> bool:
    return not name.startswith("%")


def int_or_none(name: str) -> int | None:
    """The number that a name is, if it is one."""
    return int(name) if _is_number(name) else None
