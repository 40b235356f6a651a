"""Quaternions, stored x, y, z, w with the real part last, as rotations.

A quaternion of length one rotates; products apply the right factor first.
"""

from heald.library.inverse_trigonometric import atan2
from heald.library.language import Float, Mat, Quat, Vec, float32, m, static
from heald.library.registry import Exact, Scaled, Unit, builtin
from heald.library.trigonometric import cos, sin
from heald.library.vector import cross, dot, length, normalize

GROUP = "Quaternion math"


@builtin(group=GROUP, accuracy=Exact())
def quat_identity(dtype=float32):
    """The quaternion (0, 0, 0, 1), which rotates nothing.

    >>> wp.quat_identity()
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return static(Quat(dtype))(0, 0, 0, 1)


@builtin(group=GROUP, accuracy=Scaled(4))
def mul(a: Quat(Float), b: Quat(Float)) -> Quat(Float):
    return type(a)(
        (a.w * b.x + b.w * a.x) + (a.y * b.z - a.z * b.y),
        (a.w * b.y + b.w * a.y) + (a.z * b.x - a.x * b.z),
        (a.w * b.z + b.w * a.z) + (a.x * b.y - a.y * b.x),
        (a.w * b.w - a.x * b.x) - (a.y * b.y + a.z * b.z),
    )


@builtin(group=GROUP, accuracy=Scaled(4))
def dot(a: Quat(Float), b: Quat(Float)) -> Float:
    total = a[0] * b[0]
    for i in static(range(1, 4)):
        total = total + a[i] * b[i]
    return total


@builtin(group=GROUP, accuracy=Scaled(4))
def length_sq(a: Quat(Float)) -> Float:
    return dot(a, a)


@builtin(group=GROUP, accuracy=Scaled(4))
def length(a: Quat(Float)) -> Float:
    return m.fsqrt(dot(a, a))


@builtin(group=GROUP, accuracy=Scaled(4))
def normalize(a: Quat(Float)) -> Quat(Float):
    """A quaternion of length 0 gives the identity (0, 0, 0, 1); the squared length must be 0 or a
    normal number."""
    size = length(a)
    valid = size > 0
    zero = type(size)(0)
    return type(a)(
        m.select(valid, a.x / size, zero),
        m.select(valid, a.y / size, zero),
        m.select(valid, a.z / size, zero),
        m.select(valid, a.w / size, type(size)(1)),
    )


@builtin(group=GROUP, accuracy=Exact())
def quat_inverse(quat: Quat(Float)) -> Quat(Float):
    """The conjugate (-x, -y, -z, w), which is the inverse of a quaternion of length one.

    >>> wp.quat_inverse(wp.quat(1.0, 2.0, 3.0, 4.0))
    quatf([-1.0, -2.0, -3.0, 4.0])
    """
    return type(quat)(-quat.x, -quat.y, -quat.z, quat.w)


@builtin(group=GROUP, accuracy=Scaled(8), domain={"quat": Unit()})
def quat_rotate(quat: Quat(Float), vec: Vec(Float, 3)) -> Vec(Float, 3):
    """``vec`` rotated by ``quat``, which must have length one.

    >>> wp.quat_rotate(wp.quat_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
    axis = type(vec)(quat.x, quat.y, quat.z)
    once = cross(axis, vec)
    twice = once + once
    return (vec + twice * quat.w) + cross(axis, twice)


@builtin(group=GROUP, accuracy=Scaled(8), domain={"quat": Unit()})
def quat_rotate_inv(quat: Quat(Float), vec: Vec(Float, 3)) -> Vec(Float, 3):
    """``vec`` rotated by the inverse of ``quat``, which must have length one.

    >>> wp.quat_rotate_inv(wp.quat_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
    return quat_rotate(quat_inverse(quat), vec)


@builtin(group=GROUP, accuracy=Scaled(4), domain={"axis": Unit()})
def quat_from_axis_angle(axis: Vec(Float, 3), angle: Float) -> Quat(Float):
    """The rotation by ``angle`` radians about ``axis``, which must have length one: right-handed.

    >>> wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    half = m.fmul(angle, 0.5)
    s = sin(half)
    dtype = type(angle)
    return static(Quat(dtype))(axis[0] * s, axis[1] * s, axis[2] * s, cos(half))


@builtin(group=GROUP, accuracy=Scaled(8))
def quat_to_axis_angle(quat: Quat(Float)):
    """``(axis, angle)`` of the rotation that ``quat`` stands for, of whatever length.

    The angle is from 0 to π radians.  Where it is 0 the axis is the zero vector.  The squared
    length of the vector part must be 0 or a normal number.

    >>> axis, angle = wp.quat_to_axis_angle(wp.quat(0.0, 0.0, 1.0, 0.0))
    >>> axis
    vec3f([0.0, 0.0, 1.0])
    """
    dtype = type(quat.x)
    v = static(Vec(dtype, 3))(quat.x, quat.y, quat.z)
    v = -v if quat.w < 0 else v
    half = atan2(length(v), m.fabs(quat.w))
    return normalize(v), half + half


@builtin(group=GROUP, accuracy=Scaled(8), domain={"quat": Unit()})
def quat_to_matrix(quat: Quat(Float)) -> Mat(Float, 3, 3):
    """The 3 by 3 matrix that rotates columns as ``quat``, which must have length one, does.

    >>> wp.quat_to_matrix(wp.quat_identity())
    mat33f([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    x, y, z, w = quat.x, quat.y, quat.z, quat.w
    dtype = type(x)
    return static(Mat(dtype, 3, 3))(
        1 - 2 * (y * y + z * z),
        2 * (x * y - z * w),
        2 * (x * z + y * w),
        2 * (x * y + z * w),
        1 - 2 * (x * x + z * z),
        2 * (y * z - x * w),
        2 * (x * z - y * w),
        2 * (y * z + x * w),
        1 - 2 * (x * x + y * y),
    )


@builtin(group=GROUP, accuracy=Scaled(8))
def quat_from_matrix(mat: Mat(Float, 3, 3)) -> Quat(Float):
    """The rotation that ``mat``, orthonormal with determinant 1, applies to columns.

    The largest component is computed first, from the diagonal (Shepperd), so no division is by a
    small number; the result is normalised.  Of a 4 by 4 matrix the upper left block is taken.

    >>> wp.quat_from_matrix(wp.quat_to_matrix(wp.quat_identity()))
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    xx, yy, zz = mat[0, 0], mat[1, 1], mat[2, 2]
    xy, xz, yz = mat[1, 0] + mat[0, 1], mat[0, 2] + mat[2, 0], mat[2, 1] + mat[1, 2]
    xw, yw, zw = mat[2, 1] - mat[1, 2], mat[0, 2] - mat[2, 0], mat[1, 0] - mat[0, 1]
    total = xx + yy + zz
    x, y, z, w = xw, yw, zw, total + 1
    if total < xx or total < yy or total < zz:
        if xx >= yy and xx >= zz:
            x, y, z, w = xx - yy - zz + 1, xy, xz, xw
        elif yy >= zz:
            x, y, z, w = xy, yy - xx - zz + 1, yz, yw
        else:
            x, y, z, w = xz, yz, zz - xx - yy + 1, zw
    dtype = type(x)
    return normalize(static(Quat(dtype))(x, y, z, w))


@builtin(group=GROUP, accuracy=Scaled(8))
def quat_from_matrix(mat: Mat(Float, 4, 4)) -> Quat(Float):
    dtype = type(mat).dtype
    block = static(Mat(dtype, 3, 3))()
    for i in static(range(3)):
        for j in static(range(3)):
            block[i, j] = mat[i, j]
    return quat_from_matrix(block)


@builtin(group=GROUP, accuracy=Scaled(8))
def quat_rpy(roll: Float, pitch: Float, yaw: Float) -> Quat(Float):
    """The rotation by ``roll`` about x, then ``pitch`` about y, then ``yaw`` about z, axes fixed.

    >>> wp.quat_rpy(0.0, 0.0, 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    roll, pitch, yaw = m.fmul(roll, 0.5), m.fmul(pitch, 0.5), m.fmul(yaw, 0.5)
    sr, cr, sp, cp = sin(roll), cos(roll), sin(pitch), cos(pitch)
    sy, cy = sin(yaw), cos(yaw)
    dtype = type(roll)
    return static(Quat(dtype))(
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


@builtin(group=GROUP, accuracy=Scaled(16), domain={"a": Unit()})
def quat_slerp(a: Quat(Float), b: Quat(Float), t: Float) -> Quat(Float):
    """The rotation at ``t`` on the shortest arc from ``a`` (0) to ``b`` (1), at a constant rate.

    ``a`` must have length one; ``b`` is normalised.  Where the arc is so short that its sine is
    below 10^-3 the result is the normalised straight blend, whose difference is far below rounding.

    >>> wp.quat_slerp(wp.quat_identity(), wp.quat_identity(), 0.5)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    unit = normalize(b)
    near = -unit if dot(a, unit) < 0 else unit
    half = atan2(length(a - near), length(a + near))
    angle = half + half
    size = sin(angle)
    straight = size < 0.001
    divisor = m.select(straight, type(t)(1), size)
    rest = 1 - t
    wa = m.select(straight, rest, sin(m.fmul(rest, angle)) / divisor)
    wb = m.select(straight, t, sin(m.fmul(t, angle)) / divisor)
    return normalize(a * wa + near * wb)
