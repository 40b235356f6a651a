"""Rigid transformations: a rotation ``q`` of length one, then a translation ``p``."""

from heald.library.language import Float, Mat, Quat, Vec, Xform, float32, static
from heald.library.matrix import mul
from heald.library.quaternion import quat_from_matrix, quat_inverse, quat_rotate, quat_to_matrix
from heald.library.registry import Exact, Scaled, Unit, builtin, helper
from heald.library.vector import length

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


# -- changing a part -----------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Exact(), updates=("xform",))
def transform_set_translation(xform: Xform(Float), p: Vec(Float, 3)):
    """Give the variable ``xform`` the translation ``p``; the same as ``xform.p = p``.

    >>> x = wp.transform_identity()
    >>> wp.transform_set_translation(x, wp.vec3(1.0, 2.0, 3.0))
    >>> x.p
    vec3f([1.0, 2.0, 3.0])
    """
    return (type(xform)(p, xform.q),)


@builtin(group=GROUP, accuracy=Exact(), updates=("xform",))
def transform_set_rotation(xform: Xform(Float), q: Quat(Float)):
    """Give the variable ``xform`` the rotation ``q``, as it is; the same as ``xform.q = q``.

    >>> x = wp.transform_identity()
    >>> wp.transform_set_rotation(x, wp.quat(1.0, 0.0, 0.0, 0.0))
    >>> x.q
    quatf([1.0, 0.0, 0.0, 0.0])
    """
    return (type(xform)(xform.p, q),)


@builtin(group=GROUP, accuracy=Exact())
def transform_set_translation_copy(xform: Xform(Float), p: Vec(Float, 3)) -> Xform(Float):
    """``xform`` with the translation ``p``.

    >>> x = wp.transform_set_translation_copy(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    >>> x.p
    vec3f([1.0, 2.0, 3.0])
    """
    return type(xform)(p, xform.q)


@builtin(group=GROUP, accuracy=Exact())
def transform_set_rotation_copy(xform: Xform(Float), q: Quat(Float)) -> Xform(Float):
    """``xform`` with the rotation ``q``, as it is.

    >>> x = wp.transform_set_rotation_copy(wp.transform_identity(), wp.quat(1.0, 0.0, 0.0, 0.0))
    >>> x.q
    quatf([1.0, 0.0, 0.0, 0.0])
    """
    return type(xform)(xform.p, q)


@builtin(group=GROUP, accuracy=Exact())
def transform_expand(t: Vec(Float, 7)) -> Xform(Float):
    """The transform of seven numbers: x, y, z of the translation, then x, y, z, w of the rotation.
    A transform stays as it is.

    >>> wp.transform_expand(wp.transform_identity()).q
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    dtype = type(t).dtype
    return static(Xform(dtype))(t[0], t[1], t[2], t[3], t[4], t[5], t[6])


@builtin(group=GROUP, accuracy=Exact())
def transform_expand(t: Xform(Float)) -> Xform(Float):
    return t


# -- matrices ------------------------------------------------------------------------------------


@helper
def _affine(r: Mat(Float, 3, 3), p: Vec(Float, 3)) -> Mat(Float, 4, 4):
    """The matrix that multiplies by ``r``, then adds ``p``."""
    dtype = type(r).dtype
    y = static(Mat(dtype, 4, 4))()
    for i in static(range(3)):
        for j in static(range(3)):
            y[i, j] = r[i, j]
        y[i, 3] = p[i]
    y[3, 3] = 1
    return y


@builtin(group=GROUP, accuracy=Scaled(8), domain={"xform": Unit()})
def transform_to_matrix(xform: Xform(Float)) -> Mat(Float, 4, 4):
    """The 4 by 4 matrix of a transform, for columns: its rotation, its translation in the last
    column, and ``(0, 0, 0, 1)`` in the last row.

    >>> wp.get_diag(wp.transform_to_matrix(wp.transform_identity()))
    vec4f([1.0, 1.0, 1.0, 1.0])
    """
    return _affine(quat_to_matrix(xform.q), xform.p)


@builtin(group=GROUP, accuracy=Scaled(8))
def transform_from_matrix(mat: Mat(Float, 4, 4)) -> Xform(Float):
    """The transform of a 4 by 4 matrix made of a rotation and a translation; the last row is not
    looked at.

    >>> wp.transform_from_matrix(wp.transform_to_matrix(wp.transform_identity())).q
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    dtype = type(mat).dtype
    p = static(Vec(dtype, 3))(mat[0, 3], mat[1, 3], mat[2, 3])
    return static(Xform(dtype))(p, quat_from_matrix(mat))


@builtin(group=GROUP, accuracy=Scaled(8), domain={"rotation": Unit()})
def transform_compose(position: Vec(Float, 3), rotation: Quat(Float), scale: Vec(Float, 3)) -> Mat(
    Float, 4, 4
):
    """The 4 by 4 matrix that scales columns along the axes, then rotates, then translates them.

    >>> one = wp.vec3(1.0, 2.0, 3.0)
    >>> wp.get_diag(wp.transform_compose(one, wp.quat_identity(), one))
    vec4f([1.0, 2.0, 3.0, 1.0])
    """
    r = quat_to_matrix(rotation)
    for i in static(range(3)):
        for j in static(range(3)):
            r[i, j] = r[i, j] * scale[j]
    return _affine(r, position)


@builtin(group=GROUP, accuracy=Scaled(16))
def transform_decompose(m: Mat(Float, 4, 4)):
    """``(position, rotation, scale)`` from which :func:`transform_compose` makes the matrix.

    Scales are lengths of columns, so they are not negative: of a matrix that mirrors, the rotation
    means nothing.  A column of zeros has scale 0.  Squared scales must be normal numbers.

    >>> one = wp.vec3(1.0, 2.0, 3.0)
    >>> p, q, s = wp.transform_decompose(wp.transform_compose(one, wp.quat_identity(), one))
    >>> s
    vec3f([1.0, 2.0, 3.0])
    """
    dtype = type(m).dtype
    vector = static(Vec(dtype, 3))
    position, scale = vector(m[0, 3], m[1, 3], m[2, 3]), vector()
    r = static(Mat(dtype, 3, 3))()
    for j in static(range(3)):
        size = length(vector(m[0, j], m[1, j], m[2, j]))
        scale[j] = size
        divisor = dtype(1) if size == 0 else size
        for i in static(range(3)):
            r[i, j] = m[i, j] / divisor
    return position, quat_from_matrix(r), scale
