"""Arrays in symbolic execution: accesses and views, each with its obligation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from heald.ir import ATOMICS, Op
from heald.proof.records import Access, Beyond, Data, Indexing, Place, Root, View
from heald.proof.terms import INT, Term, Terms
from heald.types import Array, Scalar, leaves

if TYPE_CHECKING:
    from heald.proof.executor import Executor


def axis_of(op: Op) -> int:
    """The attribute ``axis``."""
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis


def whole(terms: Terms, root: Root, extents: tuple[Term, ...]) -> View:
    """All of an array."""
    one = terms.integer(1)
    places = tuple(Place(terms.integer(0), one, axis) for axis in range(len(extents)))
    return View(root, places, extents)


def root_index(terms: Terms, view: View, index: tuple[Term, ...]) -> tuple[Term, ...]:
    """The index in the root of an index in a view."""
    found = []
    for place in view.places:
        at = place.offset
        if place.step is not None:
            at = terms.add(at, terms.multiply(place.step, index[place.axis]))
        found.append(at)
    return tuple(found)


def _oblige_inside(ex: Executor, op: Op, index: Term, extent: Term, axis: int) -> None:
    terms = ex.terms
    ex.oblige(op, "bounds", terms.non_negative(index), (index, extent), axis)
    ex.oblige(op, "bounds", terms.less(index, extent), (index, extent), axis)


def access(ex: Executor, op: Op) -> None:
    """A load, store or atomic."""
    array = op.operands[0].type
    assert isinstance(array, Array)
    view = ex.view(op.operands[0])
    operands = op.operands[1 : 1 + array.ndim]
    index = tuple(ex.term(v) for v in operands)
    for axis, (number, extent) in enumerate(zip(index, view.extents, strict=True)):
        _oblige_inside(ex, op, number, extent, axis)
    ex.found.indexings.append(Indexing(op, ex.path, ex.known, index))
    kind = "atomic" if op.name in ATOMICS else "write" if op.name == "store" else "read"
    values = ex.read(op.operands[1 + array.ndim :])
    result: tuple[Term, ...] = ()
    for value in op.results:
        data = ex.unknown(value.type, _name(ex, op), op)
        ex.env[value] = data
        result = _flat(data)
    if view.root.kind == "local":
        return
    leaf = op.attrs.get("leaf")
    assert leaf is None or isinstance(leaf, int)
    place = root_index(ex.terms, view, index)
    ex.contents.visit(op, view.root, place, values, result)
    made = Access(
        op,
        kind,
        view.root,
        place,
        leaf,
        ex.path,
        ex.known,
        values,
        result,
        ex.depth > 0,
        ex.segments,
    )
    used = ex.used_leaves.get(op)
    if used is None or len(used) == len(result):
        ex.found.accesses.append(made)
    else:
        parts = (replace(made, leaf=k, result=(result[k],)) for k in sorted(used))
        ex.found.accesses += parts


def _name(ex: Executor, op: Op) -> str:
    return f"{ex.kernel.name_of(op.operands[0]) or 'array'}[]"


def _flat(data: Data) -> tuple[Term, ...]:
    if isinstance(data, tuple):
        return tuple(term for part in data for term in _flat(part))
    assert isinstance(data, Term)
    return (data,)


def alloc(ex: Executor, op: Op) -> None:
    """A local array, which no other thread sees, or one that a block shares."""
    t = op.result.type
    assert isinstance(t, Array)
    if t.space not in ("local", "shared"):
        raise Beyond(op, f"{t.space} memory")
    extents = tuple(ex.terms.integer(n) for n in t.shape or ())
    ex.env[op.result] = whole(ex.terms, Root(t.space, (op,)), extents)


def dim(ex: Executor, op: Op) -> None:
    """Extent on an axis."""
    extent = ex.view(op.operands[0]).extents[axis_of(op)]
    ex.env[op.result] = ex.narrow(extent, op.result.type, op)


def stride(ex: Executor, op: Op) -> None:
    """Byte stride on an axis: any number, the same for all threads where the array is whole."""
    view = ex.view(op.operands[0])
    parts = [part for place in view.places for part in (place.offset, place.step) if part]
    whole_view = all(ex.terms.is_shared(part) for part in (*parts, *view.extents))
    t = op.result.type
    assert isinstance(t, Scalar)
    ex.env[op.result] = ex.encoding.unknown(t, "stride", shared=whole_view)


def subview(ex: Executor, op: Op) -> None:
    """A view; every element of it must lie inside."""
    terms = ex.terms
    view = ex.view(op.operands[0])
    axes = op.attrs["axes"]
    assert isinstance(axes, str)
    operands = tuple([ex.term(v) for v in op.operands[1:]])
    numbers = iter(operands)
    extents: list[Term] = []
    inner: dict[int, Place] = {}
    for axis, letter in enumerate(axes):
        extent = view.extents[axis]
        if letter == "i":
            index = next(numbers)
            _oblige_inside(ex, op, index, extent, axis)
            inner[axis] = Place(index)
        elif letter == "f":
            inner[axis] = Place(terms.integer(0), terms.integer(1), len(extents))
            extents.append(extent)
        else:
            start, count, step = next(numbers), next(numbers), next(numbers)
            _oblige_stretch(ex, op, start, count, step, extent, axis)
            inner[axis] = Place(start, step, len(extents))
            extents.append(count)
    ex.found.indexings.append(Indexing(op, ex.path, ex.known, operands))
    places = tuple(_composed(terms, place, inner) for place in view.places)
    ex.env[op.result] = View(view.root, places, tuple(extents))


def _composed(terms: Terms, place: Place, inner: dict[int, Place]) -> Place:
    """Where a view of a view leads."""
    if place.step is None:
        return place
    then = inner[place.axis]
    offset = terms.add(place.offset, terms.multiply(place.step, then.offset))
    if then.step is None:
        return Place(offset)
    return Place(offset, terms.multiply(place.step, then.step), then.axis)


def _oblige_stretch(
    ex: Executor, op: Op, start: Term, count: Term, step: Term, extent: Term, axis: int
) -> None:
    """Nothing, or a positive number of elements of which the first and the last are inside."""
    terms = ex.terms
    last = terms.add(start, terms.multiply(terms.plus(count, -1), step))
    empty = terms.zero(count)
    numbers = (start, extent, count, step)
    ex.oblige(op, "bounds", terms.non_negative(count), numbers, axis)
    for end in (start, last):
        inside = terms.both(terms.non_negative(end), terms.less(end, extent))
        ex.oblige(op, "bounds", terms.either(empty, inside), numbers, axis)


def _handle(ex: Executor, op: Op) -> Term:
    handle = ex.term(op.operands[0])
    kind = op.attrs["kind"]
    live = ex.terms.apply(f"live {kind}", "bool", (handle,))
    ex.oblige(op, "handle", live, (handle,))
    return handle


def resource_array(ex: Executor, op: Op) -> None:
    """An array of a resource, the same for all threads that name the resource alike."""
    terms = ex.terms
    handle = _handle(ex, op)
    key = handle, op.attrs["kind"], op.attrs["slot"]
    found = ex.resources.get(key)
    if found is None:
        name = f"resource_extent {key[1]} {key[2]}"
        extent = terms.apply(name, INT, (handle,), 0, ex.limit)
        ex.found.sources[extent] = op
        found = ex.resources[key] = whole(terms, Root("resource", key), (extent,))
    ex.env[op.result] = found


def resource_scalar(ex: Executor, op: Op) -> None:
    """A number of a resource, which no thread changes."""
    handle = _handle(ex, op)
    t = op.result.type
    assert isinstance(t, Scalar)
    ex.env[op.result] = found = ex.encoding.opaque(op, handle)
    ex.found.sources[found] = op
    assert leaves(t) == (t,)
