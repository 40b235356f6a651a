"""Vectors: products, lengths, and component-wise operations."""

from heald.library.arithmetic import sqrt
from heald.library.language import (
    C,
    Float,
    Full,
    Half,
    Mat,
    N,
    R,
    Scalar,
    Vec,
    float32,
    m,
    static,
    uint32,
)
from heald.library.registry import Exact, Scaled, builtin

GROUP = "Vector math"


@builtin(group=GROUP, accuracy=Scaled(4))
def dot(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Scalar:
    """The sum of the products of components.

    Summed from the first component to the last, each product and sum rounded once (fma in float32
    and float64).  Quaternions count as vectors of 4.

    >>> wp.dot(wp.vec3(1.0, 2.0, 3.0), wp.vec3(1.0, 1.0, 1.0))
    6.0
    """
    total = a[0] * b[0]
    for i in static(range(1, len(a))):
        total = total + a[i] * b[i]
    return total


@builtin(group=GROUP, accuracy=Scaled(2))
def cross(a: Vec(Scalar, 3), b: Vec(Scalar, 3)) -> Vec(Scalar, 3):
    """The cross product of two vectors of 3; exactly zero for equal arguments.

    >>> wp.cross(wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
    vec3f([0.0, 0.0, 1.0])
    """
    return type(a)(
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@builtin(group=GROUP, accuracy=Scaled(4))
def length_sq(a: Vec(Scalar, N)) -> Scalar:
    """The square of the length: ``dot(a, a)``.

    >>> wp.length_sq(wp.vec2(3.0, 4.0))
    25.0
    """
    return dot(a, a)


@builtin(group=GROUP, accuracy=Scaled(4))
def length(a: Vec(Full, N)) -> Full:
    """The Euclidean length: ``sqrt(dot(a, a))``.

    The square overflows for components beyond the square root of the largest number and underflows
    below that of the smallest.  16-bit floats are computed in float32.

    >>> wp.length(wp.vec2(3.0, 4.0))
    5.0
    """
    return sqrt(dot(a, a))


@builtin(group=GROUP, accuracy=Scaled(1))
def length(a: Vec(Half, N)) -> Half:
    return type(a[0])(length(static(Vec(float32, len(a)))(a)))


@builtin(group=GROUP, accuracy=Scaled(4))
def normalize(a: Vec(Full, N)) -> Vec(Full, N):
    """``a / length(a)``; a vector of length 0 gives zeros.

    The squared length must be a normal number: float32 components below 1e-19 or above 1e19 give
    what :func:`length` makes of them.

    >>> wp.normalize(wp.vec2(0.0, 2.0))
    vec2f([0.0, 1.0])
    """
    size = length(a)
    y = type(a)()
    for i in static(range(len(a))):
        y[i] = m.select(size > 0, a[i] / size, type(size)(0))
    return y


@builtin(group=GROUP, accuracy=Scaled(2))
def normalize(a: Vec(Half, N)) -> Vec(Half, N):
    return type(a)(normalize(static(Vec(float32, len(a)))(a)))


@builtin(group=GROUP, accuracy=Exact())
def outer(a: Vec(Scalar, R), b: Vec(Scalar, C)) -> Mat(Scalar, R, C):
    """The matrix of all products: row ``i``, column ``j`` is ``a[i] * b[j]``.

    >>> wp.outer(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    mat22f([[3.0, 4.0], [6.0, 8.0]])
    """
    dtype = type(a).dtype
    y = static(Mat(dtype, len(a), len(b)))()
    for i in static(range(len(a))):
        for j in static(range(len(b))):
            y[i, j] = a[i] * b[j]
    return y


@builtin(group=GROUP, accuracy=Exact())
def cw_mul(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    """The product component by component, of vectors or matrices.

    >>> wp.cw_mul(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    vec2f([3.0, 8.0])
    """
    y = a
    for i in static(range(len(a))):
        y[i] = a[i] * b[i]
    return y


@builtin(group=GROUP, accuracy=Exact())
def cw_mul(a: Mat(Scalar, R, C), b: Mat(Scalar, R, C)) -> Mat(Scalar, R, C):
    y = a
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y[i, j] = a[i, j] * b[i, j]
    return y


@builtin(group=GROUP, accuracy=Exact())
def cw_div(a: Vec(Float, N), b: Vec(Float, N)) -> Vec(Float, N):
    """The quotient component by component, of vectors or matrices of floats.

    >>> wp.cw_div(wp.vec2(1.0, 2.0), wp.vec2(2.0, 4.0))
    vec2f([0.5, 0.5])
    """
    y = a
    for i in static(range(len(a))):
        y[i] = a[i] / b[i]
    return y


@builtin(group=GROUP, accuracy=Exact())
def cw_div(a: Mat(Float, R, C), b: Mat(Float, R, C)) -> Mat(Float, R, C):
    y = a
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y[i, j] = a[i, j] / b[i, j]
    return y


@builtin(group=GROUP, accuracy=Exact())
def argmin(a: Vec(Scalar, N)) -> uint32:
    """The position of the smallest component, the first of equal ones.

    Components are compared from the first to the last, so NaN is never smaller.

    >>> wp.argmin(wp.vec3(2.0, 1.0, 3.0))
    1
    """
    least, position = a[0], uint32(0)
    for i in static(range(1, len(a))):
        smaller = a[i] < least
        least, position = m.select(smaller, a[i], least), m.select(smaller, uint32(i), position)
    return position


@builtin(group=GROUP, accuracy=Exact())
def argmax(a: Vec(Scalar, N)) -> uint32:
    """The position of the largest component, the first of equal ones.

    Components are compared from the first to the last, so NaN is never larger.

    >>> wp.argmax(wp.vec3(2.0, 1.0, 3.0))
    2
    """
    most, position = a[0], uint32(0)
    for i in static(range(1, len(a))):
        larger = a[i] > most
        most, position = m.select(larger, a[i], most), m.select(larger, uint32(i), position)
    return position
