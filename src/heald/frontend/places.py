"""Places: names, array elements, and parts of either, that can be read, assigned and updated in
place."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from heald.frontend.captures import captured, operand_of, read_name
from heald.frontend.conversions import widen
from heald.frontend.indexing import (
    Stretch,
    array_indices,
    element_at,
    extent_of,
    index_nodes,
    make_view,
    runtime_index,
)
from heald.frontend.operands import (
    Binding,
    Literal,
    Operand,
    Refused,
    Several,
    Shape,
    Static,
    describe,
)
from heald.frontend.session import Session, near_miss
from heald.ir import Value
from heald.types import (
    Array,
    Dense,
    IndexedArray,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    array_like,
    as_indexed,
    describe_type,
    i64,
    leaves,
)


@dataclass(frozen=True, slots=True)
class NameRoot:
    """A local variable that holds a value."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class ElementRoot:
    """An element of an array, its indices evaluated."""

    array: Value
    indices: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a root: some of its leaves, seen as one value of ``type``.

    ``dynamic`` are runtime component indices into the leaves, for ``v[i]`` with ``i`` not known at
    compile time.
    """

    root: NameRoot | ElementRoot
    type: Type
    leaves: tuple[int, ...]
    dynamic: tuple[Value, ...] = ()


# -- parts of composites ---------------------------------------------------------------------------


def part(t: Type, name: str) -> tuple[Type, tuple[int, ...]] | None:
    """Type and leaves of a named component or field."""
    match t:
        case Vector() | Quaternion():
            k = "xyzw".find(name) if len(name) == 1 else -1
            return (t.dtype, (k,)) if 0 <= k < min(len(leaves(t)), 4) else None
        case Transform():
            if name == "p":
                return Vector(t.dtype, 3), (0, 1, 2)
            return (Quaternion(t.dtype), (3, 4, 5, 6)) if name == "q" else None
        case Struct() if as_indexed(t) is None:
            field = t.field(name)
            if field is None:
                return None
            start, stop = t.leaf_range(name)
            return field, tuple(range(start, stop))
    return None


def part_names(t: Type) -> list[str]:
    """What may follow the dot of a value of this type."""
    match t:
        case Vector() | Quaternion():
            return list("xyzw"[: min(len(leaves(t)), 4)])
        case Transform():
            return ["p", "q"]
        case Array():
            return ["shape", "ndim", "size", "dtype"]
        case Struct() if as_indexed(t):
            return ["shape", "ndim", "size", "dtype", "data"]
        case Struct():
            return [n for n, _ in t.fields]
    return []


def no_part(s: Session, node: ast.Attribute, t: Type) -> Refused:
    """The error for an unknown component."""
    near = near_miss(node.attr, part_names(t))
    names = ", ".join(part_names(t))
    hint = f"did you mean {near}?" if near else f"it has {names}" if names else ""
    return s.refuse(
        node,
        "H0303",
        f"{describe_type(t)} has no attribute '{node.attr}'",
        "no such name",
        hint=hint,
    )


_Index = tuple[ast.expr, Value | Literal | None]
"""One index of a composite with its operand; a slice has none."""


def component_indices(s: Session, t: Dense, node: ast.Subscript) -> list[_Index]:
    """Lower the indices of a composite, left to right, each once."""
    nodes = index_nodes(node)
    if len(nodes) > len(t.shape):
        raise s.refuse(
            node,
            "H0209",
            f"{len(nodes)} indices for {describe_type(t)}",
            f"it has {len(t.shape)}",
        )
    return [(n, None if isinstance(n, ast.Slice) else s.number(n)) for n in nodes]


def static_selection(s: Session, t: Dense, indices: list[_Index]) -> _Selection | None:
    """Leaves selected by indices known at compile time (numbers and slices), else None."""
    shape = t.shape
    axes: list[list[int] | int] = []
    for (node, known), extent in zip(indices, shape, strict=False):
        if isinstance(node, ast.Slice):
            bounds = [_slice_part(s, b) for b in (node.lower, node.upper, node.step)]
            axes.append(list(range(extent))[slice(*bounds)])
            continue
        assert known is not None
        value = s.static_int(known)
        if value is None:
            return None
        if isinstance(known, Literal) and value < 0:
            value += extent
        if not 0 <= value < extent:
            raise s.refuse(
                node,
                "H0209",
                f"component {s.static_int(known)} is outside {describe_type(t)}",
                f"valid are {-extent} to {extent - 1}",
            )
        axes.append(value)
    axes += [list(range(extent)) for extent in shape[len(indices) :]]
    return _select(t, axes)


_Selection = tuple[Type, tuple[int, ...]]


def _select(t: Dense, axes: list[list[int] | int]) -> _Selection:
    scalar = t.dtype
    kept = [a for a in axes if isinstance(a, list)]
    rows = axes[0] if isinstance(axes[0], list) else [axes[0]]
    if len(axes) == 1:
        positions = tuple(rows)
    else:
        cols = axes[1] if isinstance(axes[1], list) else [axes[1]]
        width = t.shape[1]
        positions = tuple(r * width + c for r in rows for c in cols)
    match [len(k) for k in kept]:
        case []:
            return scalar, positions
        case [n]:
            return Vector(scalar, n), positions
        case [r, c]:
            return Matrix(scalar, r, c), positions
    raise AssertionError("composites have one or two axes")


def _slice_part(s: Session, node: ast.expr | None) -> int | None:
    if node is None:
        return None
    value = s.static_int(s.expression(node))
    if value is None:
        raise s.refuse(
            node, "H0209", "a slice of a vector or matrix needs numbers known at compile time"
        )
    return value


def take(s: Session, value: Value, t: Type, positions: tuple[int, ...]) -> Value:
    """The part of a composite value."""
    parts = [s.builder.extract(value, k) for k in positions]
    return s.builder.compose(t, parts)


# -- reading ---------------------------------------------------------------------------------------


def attribute(s: Session, node: ast.Attribute) -> Operand:
    """``base.name`` as an expression."""
    base = s.expression(node.value)
    match base:
        case Static(obj):
            return _captured_attribute(s, node, obj)
        case Value(type=own) if (t := array_like(own)) is not None:
            match node.attr:
                case "shape":
                    return Shape(base)
                case "ndim":
                    return Literal(t.ndim)
                case "dtype":
                    return Static(t.dtype)
                case "size":
                    return _size(s, base, t)
                case "data" if isinstance(t, IndexedArray):
                    return s.builder.extract(base, 0)
        case Value():
            found = part(base.type, node.attr)
            if found is not None:
                return take(s, base, *found)
            if node.attr == "dtype" and not isinstance(base.type, (Scalar, Struct)):
                return Static(base.type.dtype)
            member = captured(s, node.value)
            if member and isinstance(member[0], enum.Enum):
                return _captured_attribute(s, node, member[0])
        case _:
            found = captured(s, node.value)
            if found:
                return _captured_attribute(s, node, found[0])
            raise s.refuse(node, "H0303", f"{describe(base)} has no attribute '{node.attr}'")
    raise no_part(s, node, base.type)


def _captured_attribute(s: Session, node: ast.Attribute, owner: Any) -> Operand:
    try:
        value = getattr(owner, node.attr)
    except AttributeError:
        name = getattr(owner, "__name__", type(owner).__name__)
        if isinstance(owner, ModuleType) and hasattr(owner, "__heald_hint__"):
            hint = owner.__heald_hint__(node.attr)
        else:
            near = near_miss(node.attr, dir(owner))
            hint = f"did you mean {near}?" if near else ""
        what = f"'{name}' has no attribute '{node.attr}'"
        raise s.refuse(node, "H0303", what, hint=hint) from None
    except Exception as error:  # noqa: BLE001 - a property may raise anything
        raise s.refuse(
            node, "H0303", f"'{node.attr}' cannot be read: {type(error).__name__}: {error}"
        ) from None
    return operand_of(s, node, value)


def _size(s: Session, array: Value, t: Array | IndexedArray) -> Value:
    total = convert_to_i64(s, extent_of(s, array, 0))
    for axis in range(1, t.ndim):
        total = s.op("imul", total, convert_to_i64(s, extent_of(s, array, axis)))
    return total


def convert_to_i64(s: Session, value: Value) -> Value:
    """An i32 or i64 as i64."""
    return value if value.type is i64 else s.op("sext", value, type=i64)


def subscript(s: Session, node: ast.Subscript) -> Operand:
    """``base[...]`` as an expression."""
    base = s.expression(node.value)
    nodes = index_nodes(node)
    match base:
        case Several(items):
            return _item(s, node, items)
        case Shape(array):
            t = array_like(array.type)
            assert t is not None
            position = s.static_int(s.expression(nodes[0])) if len(nodes) == 1 else None
            ndim = t.ndim
            if position is None or not -ndim <= position < ndim:
                raise s.refuse(
                    node,
                    "H0209",
                    "an axis of a shape is a number known at compile time",
                    f"valid are 0 to {ndim - 1}",
                )
            return extent_of(s, array, position % ndim)
        case Value(type=own) if array_like(own) is not None:
            indices = array_indices(s, node, base, nodes)
            return read_element(s, base, indices)
        case Value(type=Vector() | Matrix() | Quaternion() | Transform()):
            return _component(s, node, base)
        case Static():
            raise s.no_value(node.value, base)
    raise s.refuse(node.value, "H0209", f"{describe(base)} cannot be indexed")


def _item(s: Session, node: ast.Subscript, items: tuple[Operand, ...]) -> Operand:
    position = s.static_int(s.expression(node.slice))
    if position is None or not -len(items) <= position < len(items):
        raise s.refuse(
            node,
            "H0209",
            f"a tuple of {len(items)} needs an index known at compile time and inside it",
            hint="loop over the tuple itself, or make a table of numbers with wp.constant(array)"
            if position is None
            else "",
        )
    return items[position]


def read_element(s: Session, array: Value, indices: list[Value | Stretch]) -> Value:
    """An element where every axis has an index, else a view."""
    t = array_like(array.type)
    assert t is not None
    plain = [i for i in indices if isinstance(i, Value)]
    if len(plain) < t.ndim:
        return make_view(s, array, indices)
    data, at = element_at(s, array, plain)
    (value,) = s.builder.emit("load", (data, *at), (t.dtype,))
    return value


def _component(s: Session, node: ast.Subscript, base: Value) -> Value:
    t = _dense(base.type)
    indices = component_indices(s, t, node)
    selected = static_selection(s, t, indices)
    if selected is not None:
        return take(s, base, *selected)
    return _dynamic_read(s, base, _dynamic_indices(s, node, t, indices))


def _dynamic_indices(
    s: Session, node: ast.AST, t: Dense, indices: list[_Index]
) -> tuple[Value, ...]:
    """Runtime component indices; a literal among them counts from the end when negative."""
    out = []
    for (part_node, operand), extent in zip(indices, t.shape, strict=False):
        if operand is None:
            raise s.refuse(
                part_node, "H0209", "a slice next to a runtime index is not supported here"
            )
        if isinstance(operand, Literal):
            if isinstance(operand.value, bool) or not isinstance(operand.value, int):
                raise s.refuse(part_node, "H0209", f"{describe(operand)} cannot be an index")
            number = operand.value + extent if operand.value < 0 else operand.value
            out.append(s.const(s.options.index, number))
        else:
            out.append(runtime_index(s, part_node, operand))
    return tuple(out)


def _dense(t: Type) -> Dense:
    assert isinstance(t, (Vector, Matrix, Quaternion, Transform))
    return t


def _spill(s: Session, value: Value) -> Value:
    """A composite in a local array, so that it can be indexed at run time."""
    t = _dense(value.type)
    shape = t.shape
    (array,) = s.builder.emit("alloc", (), (Array(t.dtype, len(shape), "local", shape),))
    for k, x in enumerate(s.builder.parts(value)):
        where = [k] if len(shape) == 1 else [k // shape[1], k % shape[1]]
        at = [s.const(s.options.index, w) for w in where]
        s.builder.emit("store", (array, *at, x))
    return array


def _dynamic_read(s: Session, value: Value, indices: tuple[Value, ...]) -> Value:
    array = _spill(s, value)
    t = _dense(value.type)
    scalar = t.dtype
    if len(indices) == len(t.shape):
        (result,) = s.builder.emit("load", (array, *indices), (scalar,))
        return result
    assert isinstance(t, Matrix)
    row = []
    for c in range(t.cols):
        (x,) = s.builder.emit("load", (array, *indices, s.const(s.options.index, c)), (scalar,))
        row.append(x)
    return s.builder.compose(Vector(scalar, t.cols), row)


# -- places ----------------------------------------------------------------------------------------


def place_of(s: Session, node: ast.expr) -> Place | Value:
    """The place that an assignment target means; an array or view comes back as its value.

    Indices are evaluated here, once.
    """
    match node:
        case ast.Name():
            operand = read_name(s, node)
            if isinstance(operand, Value) and array_like(operand.type) is not None:
                return operand
            if isinstance(operand, Literal) or (
                isinstance(operand, Value) and node.id in s.frame.env
            ):
                value = s.as_number(node, operand)
                if isinstance(value, Value):
                    whole = tuple(range(len(leaves(value.type))))
                    return Place(NameRoot(node.id, value), value.type, whole)
        case ast.Attribute():
            base = place_of(s, node.value)
            if isinstance(base, Place):
                return _named_part(s, node, base)
            raise s.refuse(node, "H0109", f"'{node.attr}' of an array cannot be assigned")
        case ast.Subscript():
            with s.at(node):
                return _indexed_part(s, node, place_of(s, node.value))
    raise s.refuse(
        node, "H0109", "this cannot be assigned in a kernel", "not a local or an array element"
    )


def _named_part(s: Session, node: ast.Attribute, base: Place) -> Place | Value:
    found = part(base.type, node.attr)
    if found is None or base.dynamic:
        raise no_part(s, node, base.type)
    t, positions = found
    place = replace(base, type=t, leaves=tuple(base.leaves[k] for k in positions))
    return read_place(s, place) if isinstance(t, Array) else place


def _indexed_part(s: Session, node: ast.Subscript, base: Place | Value) -> Place | Value:
    nodes = index_nodes(node)
    if isinstance(base, Value):
        array = array_like(base.type)
        assert array is not None
        indices = array_indices(s, node, base, nodes)
        plain = tuple(i for i in indices if isinstance(i, Value))
        if len(plain) < array.ndim:
            return make_view(s, base, indices)
        root = ElementRoot(*element_at(s, base, plain))
        return Place(root, array.dtype, tuple(range(len(leaves(array.dtype)))))
    if base.dynamic and isinstance(base.type, Matrix) and len(base.dynamic) == 1:
        row = Vector(base.type.dtype, base.type.cols)
        column = _dynamic_indices(s, node, row, component_indices(s, row, node))
        return replace(base, dynamic=(*base.dynamic, *column))
    if not isinstance(base.type, (Vector, Matrix, Quaternion, Transform)) or base.dynamic:
        held = place_type(base)
        raise s.refuse(node.value, "H0109", f"{describe_type(held)} cannot be indexed")
    parts = component_indices(s, base.type, node)
    selected = static_selection(s, base.type, parts)
    if selected is not None:
        t, positions = selected
        return replace(base, type=t, leaves=tuple(base.leaves[k] for k in positions))
    return replace(base, dynamic=_dynamic_indices(s, node, base.type, parts))


def is_element(s: Session, node: ast.expr) -> bool:
    """Does this assignment target mean memory, rather than a part of a local variable?

    Asked before the target is lowered: where what the name holds is not known yet, the answer is
    no.
    """
    steps = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        steps.append(node)
        node = node.value
    entry = s.frame.env.get(node.id) if isinstance(node, ast.Name) else None
    operand = entry.operand if isinstance(entry, Binding) else None
    t = operand.type if isinstance(operand, Value) else None
    for step in reversed(steps):
        if t is None or array_like(t) is not None:
            break
        found = part(t, step.attr) if isinstance(step, ast.Attribute) else None
        t = None if found is None else found[0]
    return t is not None and array_like(t) is not None


def place_type(place: Place) -> Type:
    """The type of what a place holds; with runtime indices the component, or the row of a
    matrix."""
    if not place.dynamic:
        return place.type
    scalar = _dense(place.type).dtype
    if isinstance(place.type, Matrix) and len(place.dynamic) == 1:
        return Vector(scalar, place.type.cols)
    return scalar


def read_place(s: Session, place: Place) -> Value:
    """The value at a place."""
    whole = _read_static(s, place)
    return _dynamic_read(s, whole, place.dynamic) if place.dynamic else whole


def _read_static(s: Session, place: Place) -> Value:
    match place.root:
        case NameRoot(_, value):
            if place.type is value.type:
                return value
            return take(s, value, place.type, place.leaves)
        case ElementRoot(array, indices):
            assert isinstance(array.type, Array)
            if place.type is array.type.dtype:
                (value,) = s.builder.emit("load", (array, *indices), (place.type,))
                return value
            every = leaves(array.type.dtype)
            parts = [
                s.builder.emit("load", (array, *indices), (every[k],), leaf=k)[0]
                for k in place.leaves
            ]
            return (
                parts[0] if isinstance(place.type, Scalar) else s.builder.compose(place.type, parts)
            )


def write_place(s: Session, node: ast.AST, place: Place, operand: Operand, source: ast.AST) -> None:
    """Assign ``operand``, the value of ``source``, to a place: store into memory, or rebind the
    variable to an updated value."""
    with s.at(node):
        value = widen(s, source, s.as_number(source, operand), place_type(place))
        if place.dynamic:
            value = _dynamic_write(s, place, value)
        match place.root:
            case NameRoot(name, old):
                if place.type is not old.type:
                    parts = list(s.builder.parts(old))
                    for k, x in zip(place.leaves, s.builder.parts(value), strict=True):
                        parts[k] = x
                    value = s.builder.compose(old.type, parts)
                s.names.setdefault(value, name)
                s.frame.env[name] = Binding(value, s.span(node))
            case ElementRoot(array, indices):
                assert isinstance(array.type, Array)
                if place.type is array.type.dtype:
                    s.builder.emit("store", (array, *indices, value))
                    return
                for k, x in zip(place.leaves, s.builder.parts(value), strict=True):
                    s.builder.emit("store", (array, *indices, x), leaf=k)


def _dynamic_write(s: Session, place: Place, value: Value) -> Value:
    """The whole composite with the component at a runtime index replaced."""
    t = _dense(place.type)
    array = _spill(s, _read_static(s, replace(place, dynamic=())))
    parts = s.builder.parts(value)
    if isinstance(value.type, Scalar):
        s.builder.emit("store", (array, *place.dynamic, value))
    else:
        for c, x in enumerate(parts):
            s.builder.emit("store", (array, *place.dynamic, s.const(s.options.index, c), x))
    shape = t.shape
    out = []
    for k in range(len(leaves(t))):
        where = [k] if len(shape) == 1 else [k // shape[1], k % shape[1]]
        at = [s.const(s.options.index, w) for w in where]
        (x,) = s.builder.emit("load", (array, *at), (leaves(t)[k],))
        out.append(x)
    return s.builder.compose(t, out)


def update_atomically(s: Session, node: ast.AST, place: Place, kind: str, operand: Operand) -> None:
    """``a[i] op= v`` on shared memory, leaf by leaf; the right side was rounded before.

    It is atomic among the threads of its launch only.
    """
    root = place.root
    assert isinstance(root, ElementRoot)
    assert isinstance(root.array.type, Array)
    with s.at(node):
        value = widen(s, node, s.as_number(node, operand), place.type)
        name = f"atomic_{kind}"
        if place.type is root.array.type.dtype:
            at = (root.array, *root.indices, value)
            s.builder.emit(name, at, (place.type,), scope="launch")
            return
        for k, x in zip(place.leaves, s.builder.parts(value), strict=True):
            at = (root.array, *root.indices, x)
            s.builder.emit(name, at, (x.type,), leaf=k, scope="launch")
