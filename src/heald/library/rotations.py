"""Rotations from and to angles, and their parts about an axis.

Angles are in radians; quaternions must have length one where nothing else is said.
"""

from heald.library.arithmetic import clamp
from heald.library.inverse_trigonometric import asin, atan2
from heald.library.language import Float, Full, Half, Quat, Vec, float32, int32, m, static
from heald.library.quaternion import mul
from heald.library.registry import Scaled, Unit, builtin, helper
from heald.library.trigonometric import cos, sin
from heald.library.vector import cross, dot, length, normalize

GROUP = "Quaternion math"
HALF_PI = 1.5707963267948966


# -- Euler angles --------------------------------------------------------------------------------


@helper
def _component(v: Vec(Float, 3), k: int32) -> Float:
    """Component ``k``; 2 for any other than 0 and 1."""
    return m.select(k == 0, v[0], m.select(k == 1, v[1], v[2]))


@helper
def _about(axis: int32, angle: Float):
    """The rotation by ``angle`` about a coordinate axis."""
    half = m.fmul(angle, 0.5)
    s, zero = sin(half), type(half)(0)
    dtype = type(half)
    return static(Quat(dtype))(
        m.select(axis == 0, s, zero),
        m.select(axis == 1, s, zero),
        m.select((axis != 0) & (axis != 1), s, zero),
        cos(half),
    )


@builtin(group=GROUP, accuracy=Scaled(8))
def quat_from_euler(e: Vec(Float, 3), i: int32, j: int32, k: int32) -> Quat(Float):
    """The rotation by ``e[i]`` about axis ``i``, then ``e[j]`` about ``j``, then ``e[k]`` about
    ``k``, the axes fixed in space.

    Axes are 0, 1 and 2 for x, y and z; any other number counts as 2.  ``e`` is indexed by axis: of
    a sequence that ends with the axis it began with (``i == k``), ``e[i]`` is used twice.

    >>> wp.quat_from_euler(wp.vec3(0.0, 0.0, 0.0), 0, 1, 2)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    first = _about(i, _component(e, i))
    second = _about(j, _component(e, j))
    third = _about(k, _component(e, k))
    return mul(third, mul(second, first))


@builtin(group=GROUP, accuracy=Scaled(16), domain={"q": Unit()})
def quat_to_euler(q: Quat(Float), i: int32, j: int32, k: int32) -> Vec(Float, 3):
    """The angles about the axes ``i``, ``j``, ``k``, fixed in space and taken in this order, that
    make up the rotation ``q``.

    Axes are 0, 1 and 2; ``j`` differs from both others, or the angles mean nothing.  For three
    different axes the angles are indexed by axis, so that :func:`quat_from_euler` gives the
    rotation back, the second is from -π/2 to π/2, and where it is at an end (gimbal lock) the first
    is 0.  For ``i == k`` component ``i`` is the first angle, component ``j`` the second, from 0 to
    π, and the remaining one the third.  First and third angles are from -2π to 2π.

    The half angles come from ``atan2`` alone (after Bernardes and Viollet, "Quaternion to Euler
    angles conversion", PLoS ONE 17(11), 2022), so they stay accurate near gimbal lock.

    >>> half_turn = wp.quat(0.0, 0.0, 1.0, 0.0)
    >>> wp.quat_to_euler(half_turn, 0, 1, 2)[2] == wp.radians(180.0)
    True
    """
    dtype = type(q.x)
    v = static(Vec(dtype, 3))(q.x, q.y, q.z)
    proper = i == k
    last = m.select(proper, 3 - i - j, k)
    parity = dtype((i - j) * (j - last) * (last - i)) * 0.5
    qi, qj, qk = _component(v, i), _component(v, j), m.fmul(_component(v, last), parity)
    zero = dtype(0)
    a = q.w - m.select(proper, zero, qj)
    b = qi + m.select(proper, zero, qk)
    c = qj + m.select(proper, zero, q.w)
    d = qk - m.select(proper, zero, qi)
    outer, inner = m.fsqrt(a * a + b * b), m.fsqrt(c * c + d * d)
    second = 2 * atan2(inner, outer)
    plus, minus = atan2(b, a), atan2(d, c)
    small = dtype(0.000001)
    first, third = plus - minus, plus + minus
    if inner <= small * outer:
        first, third = zero, plus + plus
    elif outer <= small * inner:
        first, third = zero, minus + minus
    second = m.select(proper, second, second - HALF_PI)
    third = m.select(proper, third, m.fmul(third, parity))
    y = type(v)()
    for axis in static(range(3)):
        y[axis] = m.select(i == axis, first, m.select(j == axis, second, third))
    return y


@builtin(group=GROUP, accuracy=Scaled(16), domain={"q": Unit()})
def quat_to_rpy(q: Quat(Float)) -> Vec(Float, 3):
    """Roll, pitch and yaw of ``q``, the angles that :func:`quat_rpy` takes.

    Roll and yaw are from -π to π, pitch from -π/2 to π/2.  Where the pitch is near ±π/2 rounding
    spoils the angles; :func:`quat_to_euler` does better there.

    >>> wp.quat_to_rpy(wp.quat_identity())
    vec3f([0.0, 0.0, 0.0])
    """
    x, y, z, w = q.x, q.y, q.z, q.w
    dtype = type(x)
    roll = atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = asin(clamp(2 * (w * y - z * x), -1, 1))
    yaw = atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return static(Vec(dtype, 3))(roll, pitch, yaw)


# -- twist ---------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(8), domain={"axis": Unit(), "q": Unit()})
def quat_twist(axis: Vec(Float, 3), q: Quat(Float)) -> Quat(Float):
    """The part of ``q`` that turns about ``axis``, which must have length one.

    ``q`` is this twist after or before a swing about an axis perpendicular to it.  A half turn
    about a perpendicular axis has no twist: the result is the identity, or spoilt by rounding.

    >>> wp.quat_twist(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 0.0, 1.0))
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    size = dot(axis, type(axis)(q.x, q.y, q.z))
    return normalize(type(q)(axis[0] * size, axis[1] * size, axis[2] * size, q.w))


@builtin(group=GROUP, accuracy=Scaled(8), domain={"axis": Unit(), "q": Unit()})
def quat_twist_angle(axis: Vec(Float, 3), q: Quat(Float)) -> Float:
    """The magnitude of the angle by which ``q`` turns about ``axis``, which must have length one.

    It is from 0 to π where ``q.w >= 0``, and above that up to 2π otherwise.

    >>> wp.quat_twist_angle(wp.vec3(0.0, 0.0, 1.0), wp.quat_identity())
    0.0
    """
    half = atan2(m.fabs(dot(axis, type(axis)(q.x, q.y, q.z))), q.w)
    return half + half


@builtin(group=GROUP, accuracy=Scaled(8), domain={"axis": Unit(), "q": Unit()})
def quat_twist_angle_signed(axis: Vec(Float, 3), q: Quat(Float)) -> Float:
    """The angle by which ``q`` turns about ``axis``, which must have length one: right-handed.

    It is from -π to π where ``q.w >= 0``, and from -2π to 2π otherwise.

    >>> wp.quat_twist_angle_signed(wp.vec3(0.0, 0.0, 1.0), wp.quat_identity())
    0.0
    """
    half = atan2(dot(axis, type(axis)(q.x, q.y, q.z)), q.w)
    return half + half


# -- between vectors -----------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(16))
def quat_between_vectors(a: Vec(Full, 3), b: Vec(Full, 3)) -> Quat(Full):
    """The shortest rotation that turns the direction of ``a`` into that of ``b``, of whatever
    lengths.

    Of opposite vectors it is a half turn about some perpendicular axis; where one is zero, the
    identity.  16-bit floats are computed in float32.

    >>> wp.quat_between_vectors(wp.vec3(1.0, 0.0, 0.0), wp.vec3(2.0, 0.0, 0.0))
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    u, v = normalize(a), normalize(b)
    dtype = type(a).dtype
    quaternion = static(Quat(dtype))
    middle = normalize(u + v)
    axis = cross(u, middle)
    cosine = dot(u, middle)
    if dot(u, v) < 0:
        # u - v is long here: sine and cosine of half the angle are half of |u - v| and |u + v|
        apart = normalize(u - v)
        axis = normalize(cross(u, v))
        axis = axis - apart * dot(axis, apart)
        axis = _perpendicular(apart) if length(axis) < 0.5 else normalize(axis)
        axis = axis * m.fmul(length(u - v), 0.5)
        cosine = m.fmul(length(u + v), 0.5)
    if length(u) == 0 or length(v) == 0:
        axis, cosine = type(a)(), dtype(1)
    return normalize(quaternion(axis[0], axis[1], axis[2], cosine))


@builtin(group=GROUP, accuracy=Scaled(2))
def quat_between_vectors(a: Vec(Half, 3), b: Vec(Half, 3)) -> Quat(Half):
    dtype = type(a).dtype
    wide = static(Vec(float32, 3))
    return static(Quat(dtype))(quat_between_vectors(wide(a), wide(b)))


@helper
def _perpendicular(v: Vec(Full, 3)) -> Vec(Full, 3):
    """A vector of length one at a right angle to ``v``: the cross product with the coordinate axis
    that it is farthest from."""
    x, y, z = m.fabs(v[0]), m.fabs(v[1]), m.fabs(v[2])
    other = type(v)(0, 0, 1)
    if x <= y and x <= z:
        other = type(v)(1, 0, 0)
    elif y <= z:
        other = type(v)(0, 1, 0)
    return normalize(cross(v, other))
