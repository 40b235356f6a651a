"""Types in the words of users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heald.types.descriptors import (
    Array,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from heald.types.indexed import as_indexed

_SUFFIX = {f32: "", f64: "d", f16: "h", i32: "i", i64: "l", i16: "s", i8: "b", u8: "ub", u16: "us"}
_SPATIAL = 6
_SUFFIX |= {u32: "ui", u64: "ul"}


def describe_type(t: Type) -> str:
    """A type as users write it: ``float32``, ``vec3``, ``array(dtype=vec3, ndim=2)``."""
    match t:
        case Scalar():
            return t.public
        case Vector(dtype, length) if 2 <= length <= 4 and dtype in _SUFFIX:
            return f"vec{length}{_SUFFIX[dtype]}"
        case Matrix(dtype, rows, cols) if 2 <= rows <= 4 and rows == cols and dtype in _SUFFIX:
            return f"mat{rows}{cols}{_SUFFIX[dtype]}"
        case Quaternion(dtype) | Transform(dtype) if dtype in _SUFFIX:
            return ("quat" if isinstance(t, Quaternion) else "transform") + _SUFFIX[dtype]
        case Struct(name):
            indexed = as_indexed(t)
            return name if indexed is None else indexed.spell(describe_type(indexed.dtype))
        case Array(dtype, ndim, space):
            kind = "array" if space == "global" else f"{space} array"
            return f"{kind}(dtype={describe_type(dtype)}, ndim={ndim})"
    return repr(t).removeprefix("heald.")


def part_names(t: Type) -> tuple[tuple[str, ...], ...]:
    """What the parts are called of which a value can be made by name; NVIDIA Warp's names."""
    if isinstance(t, Quaternion):
        return ("x", "y", "z", "w"), ("ijk", "real"), ("quat",)
    if isinstance(t, Vector) and t.length == _SPATIAL:
        return ("w", "v"), ("wx", "wy", "wz", "vx", "vy", "vz")
    return ()


def ordered_parts(
    orders: Sequence[tuple[str, ...]], positional: int, named: Iterable[str]
) -> tuple[str, ...] | str:
    """The names in the order of the parts that follow those by position, or why there is none."""
    given = set(named)
    for names in orders:
        rest = names[positional:]
        if given == set(rest):
            return rest
    for names in orders:
        missing = [name for name in names[positional:] if name not in given]
        if given < set(names[positional:]):
            return f"misses '{missing[0]}'"
    return f"has no parameter '{next(iter(named))}'"
