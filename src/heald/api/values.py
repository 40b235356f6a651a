"""The named classes of host values, and the factories for every other one.

A factory called with something generic (``Any``, ``Float``) gives the pattern for annotations
instead.
"""

from __future__ import annotations

import typing
from typing import Any

from heald.api.host_value import HostValue, set_operators, value_class
from heald.api.scalars import describe
from heald.diagnostics import Diagnostic, TypingError
from heald.types import (
    FLOATS,
    MAX_LEAVES,
    Matrix,
    MatrixPattern,
    Quaternion,
    QuaternionPattern,
    Scalar,
    Transform,
    TransformPattern,
    TypeClass,
    Vector,
    VectorPattern,
    as_type,
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


def vector(length: Any, dtype: Any) -> Any:
    """The class of vectors of ``length`` numbers of ``dtype``; with ``Any`` or a type class, the
    pattern.

    Raises:
        TypingError: ``length`` is no positive integer, or ``dtype`` no scalar type (H0207).
    """
    element, extent = _scalar(dtype, "vector"), _extent(length, "length")
    if isinstance(element, Scalar) and isinstance(extent, int):
        return value_class(Vector(element, extent))
    return VectorPattern(element, extent)


def matrix(shape: Any, dtype: Any) -> Any:
    """The class of matrices of ``shape`` (rows, columns); with something generic, the pattern.

    Raises:
        TypingError: ``shape`` is no pair of positive integers, or ``dtype`` no scalar type (H0207).
    """
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise _bad(f"a matrix has a shape (rows, columns), not {describe(shape)}")
    element = _scalar(dtype, "matrix")
    rows, cols = (_extent(extent, "extent of a matrix") for extent in shape)
    if isinstance(element, Scalar) and isinstance(rows, int) and isinstance(cols, int):
        return value_class(Matrix(element, rows, cols))
    return MatrixPattern(element, rows, cols)


def quaternion(dtype: Any) -> Any:
    """The class of quaternions (x, y, z, w) of a float type; with something generic, the pattern.

    Raises:
        TypingError: ``dtype`` is no float type (H0207).
    """
    element = _float(dtype, "quaternion")
    if isinstance(element, Scalar):
        return value_class(Quaternion(element))
    return QuaternionPattern(element)


def transformation(dtype: Any) -> Any:
    """The class of transformations (p, q) of a float type; with something generic, the pattern.

    Raises:
        TypingError: ``dtype`` is no float type (H0207).
    """
    element = _float(dtype, "transformation")
    if isinstance(element, Scalar):
        return value_class(Transform(element))
    return TransformPattern(element)


vec = vector
mat = matrix


def _scalar(dtype: Any, what: str) -> Any:
    t = as_type(dtype)
    if isinstance(t, (Scalar, TypeClass)) or (t is typing.Any and dtype is typing.Any):
        return t
    raise _bad(
        f"a {what} is of a scalar type, not {describe(dtype)}",
        "use bool, int, float, or one of wp.int8 to wp.float64",
    )


def _float(dtype: Any, what: str) -> Any:
    t = _scalar(dtype, what)
    if isinstance(t, Scalar) and t not in FLOATS:
        raise _bad(f"a {what} is of a float type, not {t.public}", "use float or wp.float64")
    return t


def _extent(extent: Any, what: str) -> Any:
    if extent is typing.Any or isinstance(extent, str):
        return extent
    if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
        raise _bad(f"the {what} is a positive integer, not {describe(extent)}")
    if extent > MAX_LEAVES:
        raise _bad(
            f"the {what} is at most {MAX_LEAVES}, not {extent}",
            "use an array; vectors and matrices are values that live in registers",
        )
    return extent


def _bad(message: str, hint: str = "") -> TypingError:
    return TypingError(Diagnostic("H0207", message, hint=hint))


vec2h = value_class(Vector(f16, 2))
vec2f = value_class(Vector(f32, 2))
vec2d = value_class(Vector(f64, 2))
vec2b = value_class(Vector(i8, 2))
vec2ub = value_class(Vector(u8, 2))
vec2s = value_class(Vector(i16, 2))
vec2us = value_class(Vector(u16, 2))
vec2i = value_class(Vector(i32, 2))
vec2ui = value_class(Vector(u32, 2))
vec2l = value_class(Vector(i64, 2))
vec2ul = value_class(Vector(u64, 2))
vec3h = value_class(Vector(f16, 3))
vec3f = value_class(Vector(f32, 3))
vec3d = value_class(Vector(f64, 3))
vec3b = value_class(Vector(i8, 3))
vec3ub = value_class(Vector(u8, 3))
vec3s = value_class(Vector(i16, 3))
vec3us = value_class(Vector(u16, 3))
vec3i = value_class(Vector(i32, 3))
vec3ui = value_class(Vector(u32, 3))
vec3l = value_class(Vector(i64, 3))
vec3ul = value_class(Vector(u64, 3))
vec4h = value_class(Vector(f16, 4))
vec4f = value_class(Vector(f32, 4))
vec4d = value_class(Vector(f64, 4))
vec4b = value_class(Vector(i8, 4))
vec4ub = value_class(Vector(u8, 4))
vec4s = value_class(Vector(i16, 4))
vec4us = value_class(Vector(u16, 4))
vec4i = value_class(Vector(i32, 4))
vec4ui = value_class(Vector(u32, 4))
vec4l = value_class(Vector(i64, 4))
vec4ul = value_class(Vector(u64, 4))
mat22h = value_class(Matrix(f16, 2, 2))
mat22f = value_class(Matrix(f32, 2, 2))
mat22d = value_class(Matrix(f64, 2, 2))
mat33h = value_class(Matrix(f16, 3, 3))
mat33f = value_class(Matrix(f32, 3, 3))
mat33d = value_class(Matrix(f64, 3, 3))
mat44h = value_class(Matrix(f16, 4, 4))
mat44f = value_class(Matrix(f32, 4, 4))
mat44d = value_class(Matrix(f64, 4, 4))
quath = value_class(Quaternion(f16))
quatf = value_class(Quaternion(f32))
quatd = value_class(Quaternion(f64))
transformh = value_class(Transform(f16))
transformf = value_class(Transform(f32))
transformd = value_class(Transform(f64))
spatial_vectorh = value_class(Vector(f16, 6))
spatial_vectorf = value_class(Vector(f32, 6))
spatial_vectord = value_class(Vector(f64, 6))
spatial_matrixh = value_class(Matrix(f16, 6, 6))
spatial_matrixf = value_class(Matrix(f32, 6, 6))
spatial_matrixd = value_class(Matrix(f64, 6, 6))

# Without a suffix: float32, as in Warp.
vec2 = vec2f
vec3 = vec3f
vec4 = vec4f
mat22 = mat22f
mat33 = mat33f
mat44 = mat44f
quat = quatf
transform = transformf
spatial_vector = spatial_vectorf
spatial_matrix = spatial_matrixf

__all__ = [
    "HostValue",
    "mat",
    "mat22",
    "mat22d",
    "mat22f",
    "mat22h",
    "mat33",
    "mat33d",
    "mat33f",
    "mat33h",
    "mat44",
    "mat44d",
    "mat44f",
    "mat44h",
    "matrix",
    "quat",
    "quatd",
    "quaternion",
    "quatf",
    "quath",
    "set_operators",
    "spatial_matrix",
    "spatial_matrixd",
    "spatial_matrixf",
    "spatial_matrixh",
    "spatial_vector",
    "spatial_vectord",
    "spatial_vectorf",
    "spatial_vectorh",
    "transform",
    "transformation",
    "transformd",
    "transformf",
    "transformh",
    "value_class",
    "vec",
    "vec2",
    "vec2b",
    "vec2d",
    "vec2f",
    "vec2h",
    "vec2i",
    "vec2l",
    "vec2s",
    "vec2ub",
    "vec2ui",
    "vec2ul",
    "vec2us",
    "vec3",
    "vec3b",
    "vec3d",
    "vec3f",
    "vec3h",
    "vec3i",
    "vec3l",
    "vec3s",
    "vec3ub",
    "vec3ui",
    "vec3ul",
    "vec3us",
    "vec4",
    "vec4b",
    "vec4d",
    "vec4f",
    "vec4h",
    "vec4i",
    "vec4l",
    "vec4s",
    "vec4ub",
    "vec4ui",
    "vec4ul",
    "vec4us",
    "vector",
]
