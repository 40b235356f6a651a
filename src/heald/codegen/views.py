"""Views: another description of the memory of an array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heald.artifact import FaultKind
from heald.codegen.body import Body
from heald.codegen.faults import checked, record_fault
from heald.codegen.memory import Place, address, conjunction
from heald.ir import Op, Value
from heald.passes.facts import is_guarded


@dataclass(frozen=True, slots=True)
class Axis:
    """What a view does with one axis of its array; all names are i64, ``holds`` is i1.

    Attributes:
        start: the index at which it begins.
        kept: extent and byte stride of the axis in the view, or None where it drops the axis.
        holds: the condition under which it stays inside, or None where it always does.
        offender: the index to report where it does not.
    """

    start: str
    kept: tuple[str, str] | None
    holds: str | None = None
    offender: str = "0"


def emit_subview(body: Body, op: Op) -> None:
    """``subview``; where it would leave the array it has extent 0 on every axis.

    Every axis is checked by itself: an index must lie inside, and so must the first and last
    element of a stretch unless its extent is 0.
    """
    source = body.array(op.operands[0])
    kinds = op.attrs["axes"]
    assert isinstance(kinds, str)
    rest = iter(op.operands[1:])
    axes = [
        view_axis(body, kind, rest, extent, stride)
        for kind, extent, stride in zip(kinds, source.extents, source.strides, strict=True)
    ]
    kept = [axis.kept for axis in axes if axis.kept is not None]
    extents = [extent for extent, _ in kept]
    if is_guarded(op):
        good = conjunction(body, [axis.holds for axis in axes if axis.holds is not None])
        index = [axis.offender for axis in axes]
        extents = list(
            checked(
                body,
                good,
                lambda: record_fault(body, op, FaultKind.BOUNDS, index, source.extents),
                lambda: extents,
                ["0"] * len(kept),
                ["i64"] * len(kept),
            )
        )
    place = address(body, source, [Place(axis.start) for axis in axes])
    body.names[op.result] = (place, *extents, *(stride for _, stride in kept))
    if op.operands[0] in body.compact:
        body.compact.add(op.result)


def view_axis(body: Body, kind: str, operands: Iterator[Value], extent: str, stride: str) -> Axis:
    """Read the operands of one axis.  Conditions that nobody asks for cost nothing in the end."""
    w = body.writer
    if kind == "f":
        return Axis("0", (extent, stride))
    start = body.extend(next(operands))
    begins = w.ins(f"icmp ult i64 {start}, {extent}")
    if kind == "i":
        return Axis(start, None, begins, start)
    count, step = body.extend(next(operands)), body.extend(next(operands))
    kept = (count, stride if step == "1" else w.ins(f"mul i64 {stride}, {step}"))
    some = w.ins(f"icmp sgt i64 {count}, 0")
    less = w.ins(f"sub i64 {count}, 1")
    length, length_wraps = _with_overflow(body, "smul", less, step)
    last, last_wraps = _with_overflow(body, "sadd", start, length)
    wraps = w.ins(f"or i1 {length_wraps}, {last_wraps}")
    exact = w.ins(f"xor i1 {wraps}, true")
    ends = w.ins(f"icmp ult i64 {last}, {extent}")
    filled = conjunction(body, [some, begins, exact, ends])
    holds = w.ins(f"or i1 {w.ins(f'icmp eq i64 {count}, 0')}, {filled}")
    return Axis(start, kept, holds, w.ins(f"select i1 {begins}, i64 {last}, i64 {start}"))


def _with_overflow(body: Body, how: str, lhs: str, rhs: str) -> tuple[str, str]:
    """The wrapped result of a signed operation and whether it wrapped."""
    w = body.writer
    pair = w.ins(f"call {{i64, i1}} @llvm.{how}.with.overflow.i64(i64 {lhs}, i64 {rhs})")
    value = w.ins(f"extractvalue {{i64, i1}} {pair}, 0")
    return value, w.ins(f"extractvalue {{i64, i1}} {pair}, 1")
