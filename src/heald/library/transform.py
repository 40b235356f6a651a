"""Rigid transformations: a rotation ``q`` of length one, then a translation ``p``."""

from heald.library.language import Float, Mat, Quat, Vec, Xform, float32, static
from heald.library.matrix import mul
from heald.library.quaternion import quat_inverse, quat_rotate
from heald.library.registry import Exact, Scaled, Unit, builtin

GROUP = "Transformations"


@builtin(group=GROUP, accuracy=Exact())
def transform_identity(dtype=float32):
    """The transform that leaves everything in place.

    >>> wp.transform_get_translation(wp.transform_identity())
    vec3f([0.0, 0.0, 0.0])
    """
    return static(Xform(dtype))(0, 0, 0, 0, 0, 0, 1)


@builtin(group=GROUP, accuracy=Exact())
def transform_get_translation(xform: Xform(Float)) -> Vec(Float, 3):
    """The translation ``xform.p``.

    >>> wp.transform_get_translation(wp.transform_identity())
    vec3f([0.0, 0.0, 0.0])
    """
    return xform.p


@builtin(group=GROUP, accuracy=Exact())
def transform_get_rotation(xform: Xform(Float)) -> Quat(Float):
    """The rotation ``xform.q``, as stored.

    >>> wp.transform_get_rotation(wp.transform_identity())
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return xform.q


@builtin(group=GROUP, accuracy=Scaled(8), domain={"a": Unit(), "b": Unit()})
def mul(a: Xform(Float), b: Xform(Float)) -> Xform(Float):
    return type(a)(quat_rotate(a.q, b.p) + a.p, mul(a.q, b.q))


@builtin(group=GROUP, accuracy=Scaled(8), domain={"a": Unit(), "b": Unit()})
def transform_multiply(a: Xform(Float), b: Xform(Float)) -> Xform(Float):
    """The transform that applies ``b`` first and then ``a``; also written ``a * b``.

    >>> shift = wp.transform(wp.vec3(1.0, 0.0, 0.0), wp.quat_identity())
    >>> wp.transform_get_translation(wp.transform_multiply(shift, shift))
    vec3f([2.0, 0.0, 0.0])
    """
    return mul(a, b)


@builtin(group=GROUP, accuracy=Scaled(8), domain={"xform": Unit()})
def transform_inverse(xform: Xform(Float)) -> Xform(Float):
    """The transform that undoes ``xform``, whose rotation must have length one.

    >>> wp.transform_get_rotation(wp.transform_inverse(wp.transform_identity()))
    quatf([-0.0, -0.0, -0.0, 1.0])
    """
    back = quat_inverse(xform.q)
    return type(xform)(-quat_rotate(back, xform.p), back)


@builtin(group=GROUP, accuracy=Scaled(8), domain={"xform": Unit()})
def transform_point(xform: Xform(Float), point: Vec(Float, 3)) -> Vec(Float, 3):
    """``point`` rotated, then translated.  A 4 by 4 matrix multiplies the column (point, 1) and
    the first three components are the result, without a division.

    >>> wp.transform_point(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
    return quat_rotate(xform.q, point) + xform.p


@builtin(group=GROUP, accuracy=Scaled(4))
def transform_point(mat: Mat(Float, 4, 4), point: Vec(Float, 3)) -> Vec(Float, 3):
    y = point
    for i in static(range(3)):
        total = mat[i, 0] * point[0]
        total = total + mat[i, 1] * point[1]
        total = total + mat[i, 2] * point[2]
        y[i] = total + mat[i, 3]
    return y


@builtin(group=GROUP, accuracy=Scaled(8), domain={"xform": Unit()})
def transform_vector(xform: Xform(Float), vec: Vec(Float, 3)) -> Vec(Float, 3):
    """``vec`` rotated, not translated.  A 4 by 4 matrix multiplies the column (vec, 0) and the
    first three components are the result.

    >>> wp.transform_vector(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
    return quat_rotate(xform.q, vec)


@builtin(group=GROUP, accuracy=Scaled(4))
def transform_vector(mat: Mat(Float, 4, 4), vec: Vec(Float, 3)) -> Vec(Float, 3):
    y = vec
    for i in static(range(3)):
        total = mat[i, 0] * vec[0]
        total = total + mat[i, 1] * vec[1]
        y[i] = total + mat[i, 2] * vec[2]
    return y
