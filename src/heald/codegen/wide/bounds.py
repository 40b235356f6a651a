"""Whether the elements that several threads access lie inside their arrays.

Accesses of which the indices differ by constants are looked at together: of `u[i, j - 1]`,
`u[i, j]` and `u[i, j + 1]` the first and the last lie inside, so all do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from heald.codegen.memory import conjunction
from heald.codegen.wide.body import WideBody
from heald.codegen.wide.checks import escape_unless
from heald.codegen.wide.places import Access
from heald.ir import Op, Region, Value
from heald.passes.guards_ahead import guards_ahead
from heald.types import Scalar, i32

_HALF = 1 << 31


@dataclass(slots=True)
class Stretch:
    """Indices on one axis of an array: a value plus each of the constants from low to high.

    Where both ends lie inside so does what is between: the ends are less than 2^17 apart, so no
    index wraps between them.
    """

    access: Access
    axis: int
    root: Value
    low: int = 0
    high: int = 0


@dataclass(slots=True)
class Conditions:
    """What must hold: i1 of the whole vector of threads, and masks of the lanes where it does."""

    shared: list[str]
    lanes: list[str]

    def good(self, body: WideBody) -> str:
        """Does it hold in every lane that runs?  An i1."""
        parts = list(self.shared)
        if self.lanes:
            w, mask = body.writer, body.mask_type
            both = reduce(lambda a, b: w.ins(f"and {mask} {a}, {b}"), self.lanes)
            parts.append(body.all_active(both))
        return conjunction(body, parts)


def conditions_of(body: WideBody, stretches: Iterable[Stretch]) -> Conditions:
    """Conditions under which stretches lie inside, those that all threads of a row share first."""
    found = Conditions([], [])
    even: list[str] = []
    launched: dict[Value, list[Stretch]] = {}
    for one in stretches:
        step = body.step(one.root)
        if body.is_ragged(one.access.array) or step is None or (step and body.mask is not None):
            found.lanes += _lane_conditions(body, one)
        elif step and one.root in body.uniformity.exact:
            launched.setdefault(one.root, []).append(one)
        elif step:
            even += _even_conditions(body, one, step)
        else:
            found.shared += _shared_conditions(body, one)
    for root, group in launched.items():
        found.shared = [_launch_condition(body, root, group, found.shared)]
    found.shared += even
    return found


def bounds_of(body: WideBody, access: Access) -> Conditions:
    """Conditions under which an access lies inside."""
    return conditions_of(body, [Stretch(access, k, v) for k, v in enumerate(access.index)])


def lanes_inside(body: WideBody, access: Access) -> str:
    """The mask of lanes whose index is inside."""
    parts = []
    for axis, value in enumerate(access.index):
        parts += _lane_conditions(body, Stretch(access, axis, value))
    return reduce(lambda a, b: body.writer.ins(f"and {body.mask_type} {a}, {b}"), parts)


def fault_words(body: WideBody, access: Access) -> tuple[list[str], list[str]]:
    """Index and extents as a fault record shows them, vectors of i64."""
    index = [body.wide_extend(value) for value in access.index]
    return index, list(body.lane_extents(access.array, access.names))


# -- conditions ------------------------------------------------------------------------------------


def _shared_conditions(body: WideBody, one: Stretch) -> list[str]:
    extent = one.access.names.extents[one.axis]
    return [
        body.writer.ins(f"icmp ult i64 {_moved(body, one.root, offset)}, {extent}")
        for offset in sorted({one.low, one.high})
    ]


def _moved(body: WideBody, root: Value, offset: int) -> str:
    """A value of the first lane plus a constant, as i64; wraps as wide as the value is."""
    known = body.constants.get(root)
    if known is not None:
        return str(int(known) + offset)
    if not offset:
        return body.extend(root)
    w, kind = body.writer, "i32" if root.type is i32 else "i64"
    moved = w.ins(f"add {kind} {body.name(root)}, {offset}")
    return moved if kind == "i64" else w.ins(f"sext i32 {moved} to i64")


def _even_conditions(body: WideBody, one: Stretch, step: int) -> list[str]:
    """Of an index that grows evenly: the least and the greatest of all lanes."""
    w, extent = body.writer, one.access.names.extents[one.axis]
    reach = step * (body.width - 1)
    offsets = (one.low + min(reach, 0), one.high + max(reach, 0))
    ends = (_moved(body, one.root, offset) for offset in offsets)
    return [w.ins(f"icmp ult i64 {end}, {extent}") for end in ends]


def _launch_condition(
    body: WideBody, root: Value, stretches: Iterable[Stretch], others: Sequence[str]
) -> str:
    """One comparison for all indices that are the launch index plus constants, and ``others``.

    With low the least of the constants, the index must be at least -low and less than each extent
    minus its greatest constant.  Moved by low it must be less, as an unsigned number, than the
    least of those moved too; that is 0 where ``others`` fail.  It is the same for a whole row, so
    it is computed before its loop.
    """
    w = body.writer
    step = body.step(root)
    assert step is not None
    low, limits = 0, []
    for one in stretches:
        low = min(low, one.low)
        last = one.high + step * (body.width - 1)
        limits.append(w.ins(f"sub i64 {one.access.names.extents[one.axis]}, {last}"))
    least = reduce(lambda a, b: w.ins(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})"), limits)
    room = w.ins(f"add i64 {least}, {low}")
    room = w.ins(f"call i64 @llvm.smax.i64(i64 {room}, i64 0)")
    if others:
        room = w.ins(f"select i1 {conjunction(body, others)}, i64 {room}, i64 0")
    place = body.extend(root)
    if low:
        place = w.ins(f"add i64 {place}, {low}")
    return w.ins(f"icmp ult i64 {place}, {room}")


def _lane_conditions(body: WideBody, one: Stretch) -> list[str]:
    w, t = body.writer, one.root.type
    assert isinstance(t, Scalar)
    ragged = body.is_ragged(one.access.array)
    extent = one.access.names.extents[one.axis]
    whole = f"<{body.width} x {'i32' if t is i32 else 'i64'}>"
    index = body.vector(one.root)
    narrow = t is i32 and not ragged
    if narrow:  # as unsigned numbers, negative indices are 2^31 or more
        least = w.ins(f"call i64 @llvm.umin.i64(i64 {extent}, i64 {_HALF})")
        limit = body.spread("i32", w.ins(f"trunc i64 {least} to i32"))
    else:
        limit = extent if ragged else body.spread("i64", extent)
    found = []
    for offset in sorted({one.low, one.high}):
        place = index
        if offset:
            kind = "i32" if t is i32 else "i64"
            place = w.ins(f"add {whole} {index}, splat ({kind} {offset})")
        if t is i32 and not narrow:
            place = w.ins(f"sext {whole} {place} to <{body.width} x i64>")
        size = whole if narrow else f"<{body.width} x i64>"
        found.append(w.ins(f"icmp ult {size} {place}, {limit}"))
    return found


# -- before the first effect -----------------------------------------------------------------------


def check_ahead(body: WideBody, region: Region, position: int) -> None:
    """Look at all guards of a region from ``position`` on whose indices follow from what is there.

    A guard that fails before the kernel's first effect starts the threads anew, and those of a
    region run certainly (or the threads end before), so it is not too early.
    """
    for op in region.ops[position:]:
        if op.name == "const":
            body.constant(op)
    found: dict[tuple[Value, int, Value], Stretch] = {}
    for op in guards_ahead(region, position, body.ahead, body.root_of):
        body.ahead.add(op)
        for one in _stretches(body, op):
            known = found.setdefault((one.access.array, one.axis, one.root), one)
            known.low, known.high = min(known.low, one.low), max(known.high, one.high)
    conditions = conditions_of(body, found.values())
    if conditions.shared or conditions.lanes:
        escape_unless(body, conditions.good(body))


def _stretches(body: WideBody, op: Op) -> list[Stretch]:
    access = Access.of(body, op)
    found = []
    for axis, value in enumerate(access.index):
        root, offset = body.root_of(value)
        found.append(Stretch(access, axis, root, offset, offset))
    return found
