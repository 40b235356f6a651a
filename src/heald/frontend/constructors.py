"""Calling a type: scalar casts, vectors, matrices, quaternions, transforms and structs."""

from __future__ import annotations

from heald.frontend.conversions import convert, widen
from heald.frontend.intrinsics import Arguments
from heald.frontend.operands import Literal, Operand, Refused, describe
from heald.frontend.session import Session, near_miss
from heald.ir import Value
from heald.types import (
    Array,
    Composite,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    array_leaves,
    describe_type,
    leaves,
    part_names,
)


def construct(s: Session, arguments: Arguments, t: Type) -> Operand:
    """A value of type ``t`` from arguments."""
    match t:
        case Scalar():
            return _scalar(s, arguments, t)
        case Struct():
            return _struct(s, arguments, t)
        case Array():
            raise s.refuse(
                arguments.node,
                "H0102",
                "arrays cannot be made in a kernel",
                hint="wp.zeros(shape=8, dtype=float) makes a small array local to the thread",
            )
        case Vector() | Matrix() | Quaternion() | Transform():
            return _dense(s, arguments, t)


def _scalar(s: Session, arguments: Arguments, t: Scalar) -> Value:
    operands = arguments.only_positional(s)
    if not operands:
        return s.const(t, 0)
    if len(operands) != 1:
        raise s.refuse(arguments.node, "H0305", f"{describe_type(t)} takes one number")
    place = arguments.at(operands[0])
    return convert(s, place, s.as_number(place, operands[0]), t)


def _dense(s: Session, arguments: Arguments, t: Vector | Matrix | Quaternion | Transform) -> Value:
    """Zeros, one number for all components, every component, or another value of the same shape."""
    node = arguments.node
    if isinstance(t, Transform) and arguments.named:
        return _rigid(s, arguments, t)
    operands = [s.as_number(arguments.at(o), o) for o in arguments.ordered(s, part_names(t))]
    count = len(leaves(t))
    if not operands:
        return s.builder.zero(t)
    if len(operands) == 1:
        (only,) = operands
        if isinstance(only, Literal) or isinstance(only.type, Scalar):
            if not isinstance(t, Quaternion):
                one = _component(s, arguments, only, t.dtype)
                return s.builder.compose(t, [one] * count)
        elif type(only.type) is type(t) and len(leaves(only.type)) == count:
            converted = [convert(s, node, x, t.dtype) for x in s.builder.parts(only)]
            return s.builder.compose(t, converted)
    parts = _flattened(s, arguments, t, operands)
    if len(parts) != count:
        raise _wrong_components(s, arguments, t, operands)
    return s.builder.compose(t, [_component(s, arguments, x, t.dtype) for x in parts])


def _rigid(s: Session, arguments: Arguments, t: Transform) -> Value:
    """A transform of ``p`` and ``q`` by name; what is left out is zero, or no rotation."""
    bound = arguments.bind(s, ("p", "q"), 0)
    parts: list[Value] = []
    for name, length in (("p", 3), ("q", 4)):
        if name not in bound:
            identity = [0, 0, 0, 1] if name == "q" else [0] * length
            parts += [s.const(t.dtype, x) for x in identity]
            continue
        place = arguments.at(bound[name])
        given = s.as_number(place, bound[name])
        shape = None if isinstance(given, Literal) else given.type
        fits = isinstance(shape, Quaternion if name == "q" else Vector)
        if isinstance(given, Literal) or not fits or len(leaves(given.type)) != length:
            what = "a quaternion" if name == "q" else "a vector of 3"
            raise s.refuse(
                place, "H0206", f"'{name}' of {describe_type(t)} is {what}, not {describe(given)}"
            )
        parts += [_component(s, arguments, x, t.dtype) for x in s.builder.parts(given)]
    return s.builder.compose(t, parts)


def _flattened(
    s: Session,
    arguments: Arguments,
    t: Vector | Matrix | Quaternion | Transform,
    operands: list[Value | Literal],
) -> list[Value | Literal]:
    """Components in order: numbers, or (vec3, w) for quaternions, (p, q) for transforms, and two
    vectors of 3 for spatial vectors."""
    shapes = [None if isinstance(o, Literal) else o.type for o in operands]
    match t, shapes:
        case Quaternion(), [Vector(length=3), None | Scalar()]:
            pass
        case Transform(), [Vector(length=3), Quaternion()]:
            pass
        case Transform(), [Vector(length=3)]:  # no rotation
            rotation: list[Value | Literal] = [s.const(t.dtype, x) for x in (0, 0, 0, 1)]
            (position,) = operands
            return [*s.builder.parts(position), *rotation] if isinstance(position, Value) else []
        case Vector(length=6), [Vector(length=3), Vector(length=3)]:
            pass
        case _:
            if any(shape is not None and not isinstance(shape, Scalar) for shape in shapes):
                raise _wrong_components(s, arguments, t, operands)
    out: list[Value | Literal] = []
    for operand in operands:
        out += [operand] if isinstance(operand, Literal) else s.builder.parts(operand)
    return out


def _component(s: Session, arguments: Arguments, operand: Value | Literal, t: Scalar) -> Value:
    """A component given to a constructor: floats round as the name of the type says, anything else
    must widen."""
    place = arguments.at(operand)
    own = s.type_of(operand)
    rounds = isinstance(own, Scalar) and own.is_float and t.is_float
    if rounds or (isinstance(operand, Literal) and t.is_float):
        return convert(s, place, operand, t)
    return widen(s, place, operand, t)


def _wrong_components(
    s: Session, arguments: Arguments, t: Composite, operands: list[Value | Literal]
) -> Refused:
    count = len(leaves(t))
    hint = {
        Vector: f"give {count} numbers, one number for all, or nothing for zeros",
        Matrix: f"give {count} numbers row by row, one number for all, or nothing for zeros; "
        "wp.matrix_from_rows and wp.matrix_from_cols take vectors",
        Quaternion: "give x, y, z, w, or a vector of 3 and w",
        Transform: "give a position of 3 and a quaternion, 7 numbers, one number for all, or "
        "nothing for zeros",
    }[type(t)]
    given = ", ".join(describe(o) for o in operands)
    return s.refuse(
        arguments.node, "H0206", f"{describe_type(t)} cannot be made of ({given})", hint=hint
    )


def _struct(s: Session, arguments: Arguments, t: Struct) -> Value:
    """Fields by position or name; what is not given is zero."""
    names = [n for n, _ in t.fields]
    if len(arguments.positional) > len(names):
        raise s.refuse(arguments.node, "H0206", f"{t.name} has {len(names)} fields")
    given: dict[str, Operand] = dict(zip(names, arguments.positional, strict=False))
    for name, operand in arguments.named.items():
        if name not in names or name in given:
            near = near_miss(name, names) if name not in names else ""
            raise s.refuse(
                arguments.at(operand),
                "H0303",
                f"{t.name} has no field '{name}'"
                if name not in names
                else f"field '{name}' of {t.name} is given twice",
                hint=f"did you mean {near}?" if near else f"it has {', '.join(names)}",
            )
        given[name] = operand
    parts: list[Value] = []
    for name, field in t.fields:
        if name in given:
            place = arguments.at(given[name])
            number = s.as_number(place, given[name])
            parts += s.builder.parts(widen(s, place, number, field))
        elif array_leaves(field):
            raise s.refuse(
                arguments.node,
                "H0206",
                f"field '{name}' of {t.name} is an array and has no default",
                hint=f"give it: {t.name}({name}=...)",
            )
        else:
            parts += s.builder.parts(s.builder.zero(field))
    return s.builder.compose(t, parts)
