"""``wp.vector``, ``wp.matrix``, ``wp.quaternion`` and ``wp.transformation`` in kernels: their type
follows from their arguments."""

from __future__ import annotations

from dataclasses import replace

from heald.frontend.constructors import construct
from heald.frontend.conversions import composite_scalar
from heald.frontend.intrinsics import Arguments, Intrinsic
from heald.frontend.operands import Literal, Operand, Refused, Several, Static, describe
from heald.frontend.session import Session
from heald.ir import Value
from heald.types import (
    Matrix,
    Quaternion,
    Scalar,
    Transform,
    Type,
    Vector,
    as_concrete,
    f32,
    join,
    literal_type,
    part_names,
)


def _construct(s: Session, arguments: Arguments, t: Type) -> Operand:
    return construct(s, replace(arguments, named={}), t)


def _vector(s: Session, arguments: Arguments) -> Operand:
    """``wp.vector(x, y, length=2, dtype=t)``: components, one number for all, nothing, or a vector
    to convert."""
    named = _named(s, arguments, ("length", "dtype"))
    dtype = _dtype(s, arguments, named)
    given = arguments.positional
    if "length" in named:
        length = _extent(s, arguments, named["length"], "length")
    elif len(given) == 1 and isinstance(own := getattr(given[0], "type", None), Vector):
        length = own.length
    elif given:
        length = len(given)
    else:
        raise s.refuse(arguments.node, "H0305", f"{arguments.callee} misses 'length'")
    return _construct(s, arguments, Vector(dtype, length))


def _matrix(s: Session, arguments: Arguments) -> Operand:
    """``wp.matrix(a, b, c, d, shape=(2, 2), dtype=t)``: components row by row, one number for all,
    nothing, or a matrix to convert."""
    named = _named(s, arguments, ("shape", "dtype"))
    dtype = _dtype(s, arguments, named)
    given = arguments.positional
    if "shape" in named:
        shape = named["shape"]
        if not isinstance(shape, Several) or len(shape.items) != 2:
            raise s.refuse(arguments.at(shape), "H0206", "the shape of a matrix is (rows, columns)")
        rows, cols = (_extent(s, arguments, item, "shape") for item in shape.items)
    elif len(given) == 1 and isinstance(own := getattr(given[0], "type", None), Matrix):
        rows, cols = own.shape
    else:
        raise s.refuse(
            arguments.node,
            "H0305",
            f"{arguments.callee} misses 'shape'",
            hint="wp.matrix_from_rows and wp.matrix_from_cols take vectors",
        )
    return _construct(s, arguments, Matrix(dtype, rows, cols))


def _quaternion(s: Session, arguments: Arguments) -> Operand:
    """``wp.quaternion(x, y, z, w, dtype=t)``, also of a vector and w, of a quaternion, or zeros."""
    named = {k: o for k, o in arguments.named.items() if k == "dtype"}
    others = {k: o for k, o in arguments.named.items() if k != "dtype"}
    parts = Arguments(arguments.node, arguments.positional, others)
    operands = parts.ordered(s, part_names(Quaternion(f32)))
    places = tuple(arguments.at(o) for o in operands)
    given = Arguments(arguments.node, operands, {}, places)
    return construct(s, given, Quaternion(_float(s, given, named)))


def _transformation(s: Session, arguments: Arguments) -> Operand:
    """``wp.transformation(p, q, dtype=t)``, also of 7 numbers; without ``q`` nothing is rotated."""
    named = _named(s, arguments, ("p", "q", "dtype"))
    parts = arguments.positional + tuple(named[k] for k in ("p", "q") if k in named)
    given = replace(arguments, positional=parts)
    t = Transform(_float(s, given, named))
    if len(parts) == 1 and isinstance(getattr(parts[0], "type", None), Vector):
        unit = (Literal(0.0), Literal(0.0), Literal(0.0), Literal(1.0))
        q = construct(s, Arguments(arguments.node, unit, {}), Quaternion(t.dtype))
        given = replace(given, positional=(parts[0], q))
    return _construct(s, given, t)


def _named(s: Session, arguments: Arguments, names: tuple[str, ...]) -> dict[str, Operand]:
    """The keyword arguments, which must be among ``names``."""
    keywords = replace(
        arguments, positional=(), places=arguments.places[len(arguments.positional) :]
    )
    return keywords.bind(s, names, 0)


def _dtype(s: Session, arguments: Arguments, named: dict[str, Operand]) -> Scalar:
    """The scalar type that is named, else the one in which all components meet."""
    if "dtype" in named:
        operand = named["dtype"]
        t = as_concrete(operand.object) if isinstance(operand, Static) else None
        if isinstance(t, Scalar):
            return t
        what = f"{describe(operand)} is no scalar type"
        raise s.refuse(arguments.at(operand), "H0207", what, hint="write dtype=wp.float32")
    types, literals = [], []
    for operand in arguments.positional:
        if isinstance(operand, Value):
            own = operand.type
            t = own if isinstance(own, Scalar) else composite_scalar(own)
            if t is None:
                raise _no_number(s, arguments, operand)
            types.append(t)
        elif isinstance(operand, Literal):
            literals.append(literal_type(operand.value))
        else:
            raise _no_number(s, arguments, operand)
    found: Scalar | None = None
    for t in types or literals:
        found = t if found is None else join(found, t)
        if found is None:
            raise s.refuse(
                arguments.node,
                "H0201",
                f"the components of {arguments.callee} have no type in common",
                hint="give dtype=, or convert them",
            )
    return found or f32


def _float(s: Session, arguments: Arguments, named: dict[str, Operand]) -> Scalar:
    t = _dtype(s, arguments, named)
    if "dtype" not in named and t.is_integer:
        return f32
    if not t.is_float:
        raise s.refuse(
            arguments.node, "H0207", f"{arguments.callee} is of a float type, not {t.public}"
        )
    return t


def _extent(s: Session, arguments: Arguments, operand: Operand, name: str) -> int:
    extent = s.static_int(operand)
    if extent is None or extent < 1:
        raise s.refuse(
            arguments.at(operand),
            "H0107",
            f"'{name}' is made of positive integers known at compile time",
            describe(operand),
        )
    return extent


def _no_number(s: Session, arguments: Arguments, operand: Operand) -> Refused:
    return s.refuse(
        arguments.at(operand), "H0206", f"{describe(operand)} is no component of a value"
    )


GENERIC: dict[str, Intrinsic] = {
    "vector": _vector,
    "matrix": _matrix,
    "quaternion": _quaternion,
    "transformation": _transformation,
}
"""Intrinsics by name."""
