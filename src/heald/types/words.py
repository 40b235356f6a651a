"""Types in the words of users."""

from __future__ import annotations

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
