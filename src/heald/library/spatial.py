"""Spatial vectors of six components: a twist is (angular velocity, linear velocity), a wrench is
(torque, force).
"""

from heald.library.language import Float, Mat, Vec, Xform, static
from heald.library.quaternion import quat_rotate
from heald.library.registry import Exact, Scaled, Unit, builtin, helper
from heald.library.vector import cross, dot

GROUP = "Spatial math"


@helper
def _spatial(w: Vec(Float, 3), v: Vec(Float, 3)) -> Vec(Float, 6):
    dtype = type(w).dtype
    return static(Vec(dtype, 6))(w[0], w[1], w[2], v[0], v[1], v[2])


@builtin(group=GROUP, accuracy=Exact())
def spatial_top(svec: Vec(Float, 6)) -> Vec(Float, 3):
    """The first three components: angular velocity, or torque.

    >>> wp.spatial_top(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    vec3f([1.0, 2.0, 3.0])
    """
    dtype = type(svec).dtype
    return static(Vec(dtype, 3))(svec[0], svec[1], svec[2])


@builtin(group=GROUP, accuracy=Exact())
def spatial_bottom(svec: Vec(Float, 6)) -> Vec(Float, 3):
    """The last three components: linear velocity, or force.

    >>> wp.spatial_bottom(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    vec3f([4.0, 5.0, 6.0])
    """
    dtype = type(svec).dtype
    return static(Vec(dtype, 3))(svec[3], svec[4], svec[5])


@builtin(group=GROUP, accuracy=Scaled(4))
def spatial_dot(a: Vec(Float, 6), b: Vec(Float, 6)) -> Float:
    """The sum of the products of components; of a wrench and a twist, the power.

    >>> one = wp.spatial_vector(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    >>> wp.spatial_dot(one, one)
    6.0
    """
    return dot(a, b)


@builtin(group=GROUP, accuracy=Scaled(8))
def spatial_cross(a: Vec(Float, 6), b: Vec(Float, 6)) -> Vec(Float, 6):
    """The cross product of two twists: ``(w_a x w_b, v_a x w_b + w_a x v_b)``.

    >>> a = wp.spatial_vector(0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    >>> b = wp.spatial_vector(0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    >>> wp.spatial_cross(a, b)
    spatial_vectorf([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    """
    wa, va, wb, vb = spatial_top(a), spatial_bottom(a), spatial_top(b), spatial_bottom(b)
    return _spatial(cross(wa, wb), cross(va, wb) + cross(wa, vb))


@builtin(group=GROUP, accuracy=Scaled(8))
def spatial_cross_dual(a: Vec(Float, 6), b: Vec(Float, 6)) -> Vec(Float, 6):
    """The cross product of a twist ``(w, v)`` and a wrench ``(n, f)``: ``(w x n + v x f, w x f)``.

    >>> a = wp.spatial_vector(0.0, 0.0, 1.0, 1.0, 0.0, 0.0)
    >>> b = wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    >>> wp.spatial_cross_dual(a, b)
    spatial_vectorf([0.0, 0.0, 1.0, -1.0, 0.0, 0.0])
    """
    w, v, n, f = spatial_top(a), spatial_bottom(a), spatial_top(b), spatial_bottom(b)
    return _spatial(cross(w, n) + cross(v, f), cross(w, f))


@builtin(group=GROUP, accuracy=Exact())
def spatial_adjoint(r: Mat(Float, 3, 3), s: Mat(Float, 3, 3)) -> Mat(Float, 6, 6):
    """The 6 by 6 matrix of the blocks ``[[r, 0], [s, r]]``.

    With the rotation ``r`` of a transform and ``s = skew(p) * r`` it maps twists.

    >>> one = wp.diag(wp.vec3(1.0, 1.0, 1.0))
    >>> wp.get_diag(wp.spatial_adjoint(one, one))
    spatial_vectorf([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    dtype = type(r).dtype
    y = static(Mat(dtype, 6, 6))()
    for i in static(range(3)):
        for j in static(range(3)):
            y[i, j] = r[i, j]
            y[i + 3, j] = s[i, j]
            y[i + 3, j + 3] = r[i, j]
    return y


@builtin(group=GROUP, accuracy=Scaled(4))
def velocity_at_point(qd: Vec(Float, 6), r: Vec(Float, 3)) -> Vec(Float, 3):
    """The velocity ``v + w x r`` of the point at ``r`` of a body that moves with the twist ``qd``.

    >>> spin = wp.spatial_vector(0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    >>> wp.velocity_at_point(spin, wp.vec3(1.0, 0.0, 0.0))
    vec3f([0.0, 1.0, 0.0])
    """
    return spatial_bottom(qd) + cross(spatial_top(qd), r)


@builtin(group=GROUP, accuracy=Scaled(16), domain={"t": Unit()})
def transform_twist(t: Xform(Float), x: Vec(Float, 6)) -> Vec(Float, 6):
    """A twist ``(w, v)`` seen from the frame that ``t`` leads to: ``(R w, R v + p x R w)``.

    >>> wp.transform_twist(wp.transform_identity(), wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    spatial_vectorf([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    """
    w = quat_rotate(t.q, spatial_top(x))
    return _spatial(w, quat_rotate(t.q, spatial_bottom(x)) + cross(t.p, w))


@builtin(group=GROUP, accuracy=Scaled(16), domain={"t": Unit()})
def transform_wrench(t: Xform(Float), x: Vec(Float, 6)) -> Vec(Float, 6):
    """A wrench ``(n, f)`` seen from the frame that ``t`` leads to: ``(R n + p x R f, R f)``.

    >>> one = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    >>> wp.transform_wrench(wp.transform_identity(), one)
    spatial_vectorf([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    """
    f = quat_rotate(t.q, spatial_bottom(x))
    return _spatial(quat_rotate(t.q, spatial_top(x)) + cross(t.p, f), f)
