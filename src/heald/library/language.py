"""What files in the kernel language import: types, patterns, ``static``, machine ops as ``m``."""

from typing import Any

from heald.frontend import machine as m
from heald.types import (
    BY_NAME,
    FLOAT,
    INT,
    MAX_LEAVES,
    SCALAR,
    Anything,
    Array,
    ArrayPattern,
    Matrix,
    MatrixPattern,
    Pattern,
    Quaternion,
    QuaternionPattern,
    Transform,
    TransformPattern,
    TypeClass,
    Vector,
    VectorPattern,
    as_concrete,
    as_type,
    b1,
    bf16,
    describe_type,
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
from heald.types import Scalar as ScalarType

bool_ = b1
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
float16, bfloat16, float32, float64 = f16, bf16, f32, f64

Float, Int, Scalar = FLOAT, INT, SCALAR
Signed = TypeClass("Signed", tuple(t for t in BY_NAME.values() if t.kind == "i"))
Unsigned = TypeClass("Unsigned", tuple(t for t in BY_NAME.values() if t.kind == "u"))
Half = TypeClass("Half", (f16, bf16))
"""The 16-bit floats: computed in float32 and rounded once."""
Full = TypeClass("Full", (f32, f64))
"""The floats that have an fma."""


N, R, C, K = "N", "R", "C", "K"
"""Extents of generic vectors and matrices; each is one number within a signature."""


def Vec(dtype: Any, length: Any) -> Pattern:  # noqa: N802 - reads as the type that it makes
    """A vector type, or a pattern where component type or length (``N``) is generic."""
    t = _component(dtype)
    if isinstance(t, ScalarType) and isinstance(length, int):
        return Vector(t, length)
    return VectorPattern(t, length)


def Mat(dtype: Any, rows: Any, cols: Any) -> Pattern:  # noqa: N802
    """A matrix type, or the pattern of one where something is generic.

    Raises:
        ValueError: no matrix has such or that many components.
    """
    t = _component(dtype)
    for extent in (rows, cols):
        if not isinstance(extent, (int, str)):
            raise ValueError("rows and columns are integers known at compile time")
    if isinstance(t, ScalarType) and isinstance(rows, int) and isinstance(cols, int):
        if (
            bool in (type(rows), type(cols))
            or not 1 <= min(rows, cols) <= rows * cols <= MAX_LEAVES
        ):
            raise ValueError(f"a matrix has 1 to {MAX_LEAVES} components, not {rows} x {cols}")
        return Matrix(t, rows, cols)
    return MatrixPattern(t, rows, cols)


def Quat(dtype: Any) -> Pattern:  # noqa: N802
    """A quaternion type or pattern.

    Raises:
        ValueError: no quaternion has such components.
    """
    t = _component(dtype, floats="a quaternion")
    return Quaternion(t) if isinstance(t, ScalarType) else QuaternionPattern(t)


def Xform(dtype: Any) -> Pattern:  # noqa: N802
    """A transform type or pattern.

    Raises:
        ValueError: no transform has such components.
    """
    t = _component(dtype, floats="a transformation")
    return Transform(t) if isinstance(t, ScalarType) else TransformPattern(t)


def _component(dtype: Any, floats: str = "") -> ScalarType | TypeClass:
    t = as_type(dtype)
    if not isinstance(t, (ScalarType, TypeClass)):
        raise ValueError("components are of a scalar type known at compile time")
    if floats and isinstance(t, ScalarType) and not t.is_float:
        raise ValueError(f"{floats} is of a float type, not {t.public}")
    return t


def reinterpreted(source: Any, dtype: Any) -> Any:
    """``dtype`` as a type of as many components and bits as ``source``.

    Raises:
        ValueError: it is none.
    """
    t = as_concrete(dtype)
    part = getattr(t, "dtype", t)
    if t is None or not isinstance(part, ScalarType) or isinstance(t, Array):
        raise ValueError("the bits are read as a type known at compile time")
    own = getattr(source, "dtype", source)
    if type(t) is not type(source) or getattr(t, "shape", ()) != getattr(source, "shape", ()):
        raise ValueError(f"{describe_type(source)} has another shape than {describe_type(t)}")
    if part.bits != own.bits:
        raise ValueError(f"{own.public} has {own.bits} bits and {part.public} {part.bits}")
    return t


def Arr(dtype: Any, ndim: int) -> Pattern:  # noqa: N802
    """The type of arrays of some rank, or the pattern where the element type is generic."""
    t = as_type(dtype)
    return Array(t, ndim) if isinstance(t, ScalarType) else ArrayPattern(t, ndim)


@m.intrinsic("static")
def static(value: Any) -> Any:
    """``for i in static(range(n))`` is unrolled; anything else is evaluated at compile time."""
    return value


@m.intrinsic("shared_array")
def shared_array(shape: Any, dtype: Any) -> Any:
    """An array of the block."""


@m.intrinsic("block_sync")
def block_sync() -> None:
    """A barrier."""


@m.intrinsic("block_threads")
def block_threads() -> Any:
    """How many threads the block has."""


__all__ = [
    "Anything",
    "Arr",
    "C",
    "Float",
    "Full",
    "Half",
    "Int",
    "K",
    "Mat",
    "N",
    "Quat",
    "R",
    "Scalar",
    "Signed",
    "Unsigned",
    "Vec",
    "Xform",
    "bfloat16",
    "block_sync",
    "block_threads",
    "bool_",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "m",
    "reinterpreted",
    "shared_array",
    "static",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
