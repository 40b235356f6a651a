"""Index lists: plain indices, slices, and the views that they make of arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from heald.frontend.conversions import convert
from heald.frontend.operands import Literal, Operand, Several, Static, describe
from heald.frontend.session import Session
from heald.ir import Value
from heald.types import (
    Array,
    IndexedArray,
    Scalar,
    array_like,
    as_indexed,
    describe_type,
    i64,
    indexed_array,
)
from heald.types.promotion import index_type


@dataclass(frozen=True, slots=True)
class Stretch:
    """A slice of one axis: first index, extent and step, all i64."""

    start: Value
    extent: Value
    step: Value


Index = Value | Stretch


def index_nodes(node: ast.Subscript) -> list[ast.expr]:
    """The parts between the brackets."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def array_indices(
    s: Session, node: ast.AST, array: Value, parts: Sequence[ast.expr]
) -> list[Index]:
    """Lower the indices of an array, left to right, each once."""
    t = array_like(array.type)
    assert t is not None
    operands: list[tuple[ast.expr, Operand]] = []
    for part in parts:
        if isinstance(part, ast.Slice):
            operands.append((part, Static(None)))
            continue
        operand = s.expression(part)
        items = operand.items if isinstance(operand, Several) else (operand,)
        operands += [(part, item) for item in items]
    if len(operands) > t.ndim:
        raise s.refuse(
            node,
            "H0209",
            f"{len(operands)} indices for an array of {t.ndim} dimension{'s' * (t.ndim != 1)}",
            f"this is {describe_type(array.type)}",
        )
    return [
        _stretch(s, part, array, axis)
        if isinstance(part, ast.Slice)
        else array_index(s, part, array, axis, s.as_number(part, operand))
        for axis, (part, operand) in enumerate(operands)
    ]


def element_at(
    s: Session, array: Value, indices: Sequence[Value]
) -> tuple[Value, tuple[Value, ...]]:
    """The plain array, and the indices in it, of an element of an array, plain or indexed."""
    indexed = as_indexed(array.type)
    if indexed is None:
        return array, tuple(indices)
    data = s.builder.extract(array, 0)
    return data, tuple(_picked(s, array, indexed, *each) for each in enumerate(indices))


def _picked(s: Session, array: Value, indexed: IndexedArray, axis: int, index: Value) -> Value:
    """The index of the data that an index of an indexed array stands for.

    One that is out of bounds stands for -1, which is out of bounds too: nothing is written.
    """
    t = indexed.indices[axis]
    if t is None:
        return index
    indices = s.builder.extract(array, indexed.leaf(axis))
    (found,) = s.builder.emit("load", (indices, index), (t,))
    extent = extent_of(s, indices, 0)
    if index.type is not extent.type:
        index, extent = (x if x.type is i64 else s.op("sext", x, type=i64) for x in (index, extent))
    inside = s.op("icmp", index, extent, pred="ult")
    return s.op("select", inside, found, s.const(t, -1))


def array_index(
    s: Session, node: ast.AST, array: Value, axis: int, operand: Value | Literal
) -> Value:
    """One index.  A negative literal counts from the end, a negative runtime index is out of
    bounds."""
    with s.at(node):
        if isinstance(operand, Literal):
            if isinstance(operand.value, bool) or not isinstance(operand.value, int):
                raise _not_an_index(s, node, operand)
            if operand.value >= 0:
                return s.const(_type_for(s, operand.value), operand.value)
            extent = extent_of(s, array, axis)
            t = extent.type
            assert isinstance(t, Scalar)
            return s.op("iadd", extent, s.const(t, operand.value))
        return runtime_index(s, node, operand)


def runtime_index(s: Session, node: ast.AST, operand: Value) -> Value:
    """An integer value as an i32 or i64 index."""
    t = index_type(operand.type) if isinstance(operand.type, Scalar) else None
    if t is None:
        raise _not_an_index(s, node, operand)
    return convert(s, node, operand, t)


def _type_for(s: Session, value: int) -> Scalar:
    return s.options.index if value <= s.options.index.highest else i64


def _not_an_index(s: Session, node: ast.AST, operand: Operand) -> Exception:
    hint = "write int(...) if truncation is meant" if isinstance(operand, Value) else ""
    return s.refuse(
        node, "H0209", f"{describe(operand)} cannot be an index", "an integer is needed", hint=hint
    )


def extent_of(s: Session, array: Value, axis: int) -> Value:
    """``a.shape[axis]`` in the index type of this specialisation."""
    indexed = as_indexed(array.type)
    if indexed is not None:
        if indexed.indices[axis] is not None:
            return extent_of(s, s.builder.extract(array, indexed.leaf(axis)), 0)
        array = s.builder.extract(array, 0)
    t = array.type
    assert isinstance(t, Array)
    shape = t.shape or s.shapes.get(array)
    if shape is not None:
        return s.const(s.options.index, shape[axis])
    (extent,) = s.builder.emit("dim", (array,), (s.options.index,), axis=axis)
    return extent


def _stretch(s: Session, node: ast.Slice, array: Value, axis: int) -> Stretch:
    """A slice as in Python: literal negatives count from the end, what lies beyond the end is cut
    off.

    Everything is computed in 64 bit.  A negative runtime bound is out of bounds (never wrapped): it
    makes a negative extent, which fails the check of the view.
    """
    step = 1
    if node.step is not None:
        known = s.expression(node.step)
        if not (isinstance(known, Literal) and isinstance(known.value, int) and known.value):
            raise s.refuse(
                node.step, "H0209", "the step of a slice must be a literal integer other than 0"
            )
        step = known.value
    with s.at(node):
        extent = convert(s, node, extent_of(s, array, axis), i64)
        one = s.const(i64, 1)
        last = extent if step > 0 else s.op("isub", extent, one)
        least = s.const(i64, 0 if step > 0 else -1)
        wild: list[Value] = []
        start = _bound(s, node.lower, extent, least, wild) or (least if step > 0 else last)
        stop = _bound(s, node.upper, extent, least, wild) or (last if step > 0 else least)
        if step > 0:
            stop = s.op("smin", stop, extent)
            distance = s.op("isub", stop, start)
        else:
            start = s.op("smin", start, last)
            distance = s.op("isub", start, stop)
        if abs(step) != 1:
            rounded = s.op("iadd", distance, s.const(i64, abs(step) - 1))
            distance = s.op("idiv", rounded, s.const(i64, abs(step)))
        count = s.op("smax", distance, s.const(i64, 0))
        for value in reversed(wild):  # a fault shows the start, so it becomes the bound that is bad
            below = s.op("icmp", value, s.const(i64, 0), pred="slt")
            count = s.op("select", below, s.const(i64, -1), count)
            if value is not start:
                start = s.op("select", below, value, start)
        return Stretch(start, count, s.const(i64, step))


def _bound(
    s: Session, node: ast.expr | None, extent: Value, least: Value, wild: list[Value]
) -> Value | None:
    """One end of a slice, or None.  Runtime values are added to ``wild``."""
    if node is None:
        return None
    operand = s.number(node)
    if isinstance(operand, Literal):
        if isinstance(operand.value, bool) or not isinstance(operand.value, int):
            raise _not_an_index(s, node, operand)
        value = s.const(i64, operand.value)
        if operand.value >= 0:
            return value
        return s.op("smax", s.op("iadd", extent, value), least)
    wild.append(convert(s, node, runtime_index(s, node, operand), i64))
    return wild[-1]


def make_view(s: Session, array: Value, indices: Sequence[Index]) -> Value:
    """The view that fewer indices than dimensions, or slices, make."""
    indexed = as_indexed(array.type)
    if indexed is None:
        return _view(s, array, indices)
    chosen: list[Index | None] = []
    kept: list[Scalar | None] = []
    parts: list[Value] = []
    rest = (None,) * (indexed.ndim - len(indices))
    for axis, (index, t) in enumerate(zip((*indices, *rest), indexed.indices, strict=True)):
        if isinstance(index, Value):
            chosen.append(_picked(s, array, indexed, axis, index))
            continue
        kept.append(t)
        chosen.append(index if t is None else None)
        if t is not None:
            own = s.builder.extract(array, indexed.leaf(axis))
            parts.append(own if index is None else _view(s, own, (index,)))
    data = s.builder.extract(array, 0)
    if any(index is not None for index in chosen):
        data = _view(s, data, chosen)
    return s.builder.compose(indexed_array(indexed.dtype, tuple(kept)), [data, *parts])


def _view(s: Session, array: Value, indices: Sequence[Index | None]) -> Value:
    """The view of a plain array; None stands for a whole axis."""
    t = array.type
    assert isinstance(t, Array)
    operands: list[Value] = []
    axes = ""
    for index in indices:
        if index is None:
            axes += "f"
        elif isinstance(index, Stretch):
            operands += [index.start, index.extent, index.step]
            axes += "s"
        else:
            operands.append(index)
            axes += "i"
    axes += "f" * (t.ndim - len(indices))
    kept = sum(letter != "i" for letter in axes)
    result = Array(t.dtype, kept, t.space)
    (view,) = s.builder.emit("subview", (array, *operands), (result,), axes=axes)
    return view
