"""One element type of each sort, and values of them, for tests of arrays."""

from heald import types
from heald.api import values as wp
from heald.api.struct import struct
from heald.types import Matrix, Quaternion, Transform, Vector


@struct
class Body:
    mass: float
    at: wp.vec2
    fixed: bool


ELEMENTS = [
    *types.SCALARS,
    Vector(types.f32, 3),
    Vector(types.u8, 4),
    Vector(types.b1, 2),
    Vector(types.bf16, 2),
    Matrix(types.f64, 2, 3),
    Quaternion(types.f16),
    Transform(types.f32),
    Body.__heald_type__,
]


def sample(t, seed=0):
    """Some host value of an element type, exact in it."""
    if t is types.b1:
        return bool(seed % 2)
    if isinstance(t, types.Scalar):
        return float(seed) + 0.5 if t.is_float else seed + 1
    if isinstance(t, types.Struct):
        return Body(mass=seed + 0.5, at=(seed, 2), fixed=True)
    if t.dtype is types.b1:
        return wp.value_class(t)(True, False)
    return wp.value_class(t)([seed + k for k in range(len(types.leaves(t)))])
