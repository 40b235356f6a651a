"""Decompositions of small matrices: QR, singular values, eigenvalues.

All are computed in float64 on the matrix scaled by a power of two, by Jacobi rotations and
Gram-Schmidt steps (Golub and Van Loan, "Matrix Computations", 4th edition, sections 5.2, 8.5 and
8.6), and rounded once.  The factors are orthogonal, and their product is the matrix, up to 4 units
of rounding of its norm, for every finite matrix whose norm is a normal number: repeated, zero and
nearly zero values included.  Infinities and NaN give NaN.
"""

from heald.library.arithmetic import max
from heald.library.language import (
    Float,
    Mat,
    Vec,
    float64,
    int32,
    int64,
    m,
    static,
)
from heald.library.registry import Scaled, builtin, helper
from heald.library.vector import cross, dot, length

GROUP = "Matrix math"
VEC, MAT = Vec(float64, 3), Mat(float64, 3, 3)
PAIR = Vec(float64, 2)
SWEEPS = 6


# -- steps that all of them share ----------------------------------------------------------------


@helper
def _scale_of(largest: float64):
    """``(down, up)``: powers of two; ``down`` brings a number of this magnitude near 1."""
    exponent = (m.bitcast(largest, int64) >> 52) - 1023
    exponent = m.smin(m.smax(exponent, int64(-1000)), int64(1000))
    down = m.bitcast((1023 - exponent) << 52, float64)
    return down, m.bitcast((1023 + exponent) << 52, float64)


@helper
def _largest(a: MAT) -> float64:
    y = float64(0)
    for i in static(range(3)):
        for j in static(range(3)):
            y = max(y, m.fabs(a[i, j]))
    return y


@helper
def _column(a: MAT, j) -> VEC:
    return VEC(a[0, j], a[1, j], a[2, j])


@helper
def _columns(a: VEC, b: VEC, c: VEC) -> MAT:
    return MAT(a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@helper
def _times(a: MAT, v: VEC) -> VEC:
    return VEC(
        m.fma(a[0, 2], v[2], m.fma(a[0, 1], v[1], m.fmul(a[0, 0], v[0]))),
        m.fma(a[1, 2], v[2], m.fma(a[1, 1], v[1], m.fmul(a[1, 0], v[0]))),
        m.fma(a[2, 2], v[2], m.fma(a[2, 1], v[1], m.fmul(a[2, 0], v[0]))),
    )


@helper
def _rotation(alpha: float64, beta: float64, gamma: float64):
    """Sine and cosine of the smaller angle that makes the matrix [[alpha, gamma], [gamma, beta]]
    diagonal."""
    none = gamma == 0.0
    zeta = (beta - alpha) / m.select(none, 1.0, gamma + gamma)
    t = m.copysign(1.0 / (m.fabs(zeta) + m.fsqrt(m.fma(zeta, zeta, 1.0))), zeta)
    t = m.select(none, 0.0, t)
    c = 1.0 / m.fsqrt(m.fma(t, t, 1.0))
    return m.fmul(t, c), c


@helper
def _turned(p: VEC, q: VEC, s: float64, c: float64):
    return p * c - q * s, p * s + q * c


@helper
def _unit(v: VEC) -> VEC:
    """``v / |v|``, with one more step of Newton's method for the length."""
    y = v / length(v)
    excess = m.fma(y[2], y[2], m.fma(y[1], y[1], m.fma(y[0], y[0], -1.0)))
    return y - y * m.fmul(excess, 0.5)


@helper
def _second(first: VEC, y: VEC) -> VEC:
    """A vector of length one at a right angle to ``first``, in the plane that ``y`` spans with it;
    any where ``y`` spans none."""
    w = y - first * dot(y, first)
    for _ in static(range(2)):
        size = length(w)
        w = w / m.select(size > 0.0, size, 1.0)
        w = w - first * dot(w, first)
        w = _any_second(first) if length(w) < 0.001 else w
    return _unit(w - first * dot(w, first))


@helper
def _any_second(first: VEC) -> VEC:
    """The coordinate axis farthest from ``first``, brought to a right angle with it."""
    x, y, z = m.fabs(first[0]), m.fabs(first[1]), m.fabs(first[2])
    axis = VEC(0, 0, 1)
    if x <= y and x <= z:
        axis = VEC(1, 0, 0)
    elif y <= z:
        axis = VEC(0, 1, 0)
    return axis - first * dot(axis, first)


@helper
def _first(x: VEC) -> VEC:
    """The direction of ``x``; the x axis where it has none."""
    size = length(x)
    y = x / m.select(size == 0.0, 1.0, size)
    y = VEC(1, 0, 0) if size == 0.0 else y
    return _unit(y)


# -- QR --------------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(8))
def qr3(A: Mat(Float, 3, 3)):  # noqa: N803 - the name is NVIDIA Warp's
    """``(Q, R)`` with ``A = Q * R``: ``Q`` orthogonal with determinant 1, ``R`` upper triangular.

    The first two diagonal entries of ``R`` are not negative; the last has the sign of the
    determinant of ``A``.  Where columns of ``A`` depend on each other, one of the possible ``Q`` is
    chosen.

    >>> q, r = wp.qr3(wp.diag(wp.vec3(1.0, 2.0, -3.0)))
    >>> wp.get_diag(r)
    vec3f([1.0, 2.0, -3.0])
    """
    down, up = _scale_of(_largest(MAT(A)))
    a = MAT(A) * down
    x, y, z = _column(a, 0), _column(a, 1), _column(a, 2)
    first = _first(x)
    second = _second(first, y)
    second = -second if dot(second, y) < 0.0 else second
    third = _unit(cross(first, second))
    r = MAT(
        dot(first, x), dot(first, y), dot(first, z), 0, dot(second, y), dot(second, z), 0, 0,
        dot(third, z),
    )  # fmt: skip
    return type(A)(_columns(first, second, third)), type(A)(r * up)


# -- singular values -------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(8))
def svd3(A: Mat(Float, 3, 3)):  # noqa: N803
    """``(U, sigma, V)`` with ``A = U * diag(sigma) * transpose(V)``, and ``U`` and ``V`` orthogonal
    with determinant 1.

    ``sigma`` falls in magnitude; its first two components are not negative, the last has the sign
    of the determinant of ``A``.  Where magnitudes are equal, one of the possible ``U`` and ``V`` is
    chosen.

    >>> u, sigma, v = wp.svd3(wp.diag(wp.vec3(1.0, 3.0, -2.0)))
    >>> sigma
    vec3f([3.0, 2.0, -1.0])
    """
    down, up = _scale_of(_largest(MAT(A)))
    a = MAT(A) * down
    x, y, z = _column(a, 0), _column(a, 1), _column(a, 2)
    p, q, r = VEC(1, 0, 0), VEC(0, 1, 0), VEC(0, 0, 1)
    for _ in range(SWEEPS):
        x, y, p, q = _larger_first(x, y, p, q)
        y, z, q, r = _larger_first(y, z, q, r)
        s, c = _rotation(dot(x, x), dot(y, y), dot(x, y))
        x, y = _turned(x, y, s, c)
        p, q = _turned(p, q, s, c)
        s, c = _rotation(dot(x, x), dot(z, z), dot(x, z))
        x, z = _turned(x, z, s, c)
        p, r = _turned(p, r, s, c)
        s, c = _rotation(dot(y, y), dot(z, z), dot(y, z))
        y, z = _turned(y, z, s, c)
        q, r = _turned(q, r, s, c)
    x, y, p, q = _larger_first(x, y, p, q)
    y, z, q, r = _larger_first(y, z, q, r)
    x, y, p, q = _larger_first(x, y, p, q)
    p = _unit(p)
    q = _second(p, q)
    r = _unit(cross(p, q))
    x, y, z = _times(a, p), _times(a, q), _times(a, r)
    first = _first(x)
    second = _second(first, y)
    third = _unit(cross(first, second))
    # Rounding may have made equal or vanishing values fall out of order.
    s0, s1, s2 = dot(first, x), dot(second, y), dot(third, z)
    s1, s2, second, third, q, r = _in_order(s1, s2, second, third, q, r)
    s0, s1, first, second, p, q = _in_order(s0, s1, first, second, p, q)
    s1, s2, second, third, q, r = _in_order(s1, s2, second, third, q, r)
    s0, s2, first, third = _positive(s0, s2, first, third)
    s1, s2, second, third = _positive(s1, s2, second, third)
    vector = static(Vec(type(A).dtype, 3))
    sigma = vector(VEC(s0, s1, s2) * up)
    return type(A)(_columns(first, second, third)), sigma, type(A)(_columns(p, q, r))


@helper
def _in_order(a: float64, b: float64, x: VEC, y: VEC, p: VEC, q: VEC):
    """Two values with their vectors, the larger first; a quarter turn keeps the determinants."""
    swap = m.fabs(a) < m.fabs(b)
    high, low = (b if swap else a), (a if swap else b)
    u, v = (y if swap else x), (-x if swap else y)
    return high, low, u, v, (q if swap else p), (-p if swap else q)


@helper
def _positive(a: float64, b: float64, x: VEC, y: VEC):
    """The signs of two values changed, with those of their left vectors, so that the first is not
    negative."""
    flip = a < 0.0
    return (-a if flip else a), (-b if flip else b), (-x if flip else x), (-y if flip else y)


@helper
def _larger_first(x: VEC, y: VEC, p: VEC, q: VEC):
    """Both pairs in the order in which ``x`` is not shorter than ``y``."""
    swap = dot(x, x) < dot(y, y)
    first, other = (y if swap else x), (x if swap else y)
    return first, other, (q if swap else p), (p if swap else q)


@builtin(group=GROUP, accuracy=Scaled(8))
def svd2(A: Mat(Float, 2, 2)):  # noqa: N803
    """``(U, sigma, V)`` with ``A = U * diag(sigma) * transpose(V)``: ``U`` and ``V`` orthogonal,
    ``sigma`` falling and not negative.

    The determinant of ``V`` is 1, that of ``U`` has the sign of the determinant of ``A``.

    >>> u, sigma, v = wp.svd2(wp.mat22(3.0, 0.0, 0.0, -5.0))
    >>> sigma
    vec2f([5.0, 3.0])
    """
    a = static(Mat(float64, 2, 2))(A)
    largest = max(max(m.fabs(a[0, 0]), m.fabs(a[0, 1])), max(m.fabs(a[1, 0]), m.fabs(a[1, 1])))
    down, up = _scale_of(largest)
    a = a * down
    p = PAIR(1, 0)
    for _ in static(range(2)):
        x, y = _times2(a, p), _times2(a, PAIR(-p[1], p[0]))
        s, c = _rotation(dot(x, x), dot(y, y), dot(x, y))
        p = PAIR(m.fma(p[0], c, m.fmul(p[1], s)), m.fma(p[1], c, -m.fmul(p[0], s)))
        p = _unit2(p)
    x, y = _times2(a, p), _times2(a, PAIR(-p[1], p[0]))
    p = PAIR(-p[1], p[0]) if dot(x, x) < dot(y, y) else p
    q = PAIR(-p[1], p[0])
    x, y = _times2(a, p), _times2(a, q)
    size = length(x)
    first = PAIR(1, 0) if size == 0.0 else x / m.select(size == 0.0, 1.0, size)
    first = _unit2(first)
    other = PAIR(-first[1], first[0])
    second = dot(other, y)
    other = -other if second < 0.0 else other
    dtype = type(A).dtype
    sigma = PAIR(dot(first, x), m.fabs(second)) * up
    return (
        type(A)(static(Mat(float64, 2, 2))(first[0], other[0], first[1], other[1])),
        static(Vec(dtype, 2))(sigma),
        type(A)(static(Mat(float64, 2, 2))(p[0], q[0], p[1], q[1])),
    )


@helper
def _unit2(v: PAIR) -> PAIR:
    """``v / |v|``, with one more step of Newton's method for the length."""
    y = v / length(v)
    excess = m.fma(y[1], y[1], m.fma(y[0], y[0], -1.0))
    return y - y * m.fmul(excess, 0.5)


@helper
def _times2(a: Mat(float64, 2, 2), v: PAIR) -> PAIR:
    return PAIR(
        m.fma(a[0, 1], v[1], m.fmul(a[0, 0], v[0])), m.fma(a[1, 1], v[1], m.fmul(a[1, 0], v[0]))
    )


# -- eigenvalues -----------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(8))
def eig3(A: Mat(Float, 3, 3)):  # noqa: N803
    """``(Q, d)`` with ``A = Q * diag(d) * transpose(Q)`` for a symmetric ``A``: ``Q`` orthogonal
    with determinant 1, its columns the eigenvectors of the eigenvalues ``d``.

    The eigenvalues come in no particular order.  Of ``A`` only the diagonal and what is above it
    is read.

    >>> q, d = wp.eig3(wp.diag(wp.vec3(1.0, 3.0, -2.0)))
    >>> d
    vec3f([1.0, 3.0, -2.0])
    """
    down, up = _scale_of(_largest(MAT(A)))
    a = MAT(A) * down
    a = MAT(a[0, 0], a[0, 1], a[0, 2], a[0, 1], a[1, 1], a[1, 2], a[0, 2], a[1, 2], a[2, 2])
    p, q, r = _diagonalised(a, VEC(1, 0, 0), VEC(0, 1, 0), VEC(0, 0, 1), SWEEPS)
    p, q, r = _diagonalised(a, p, q, r, 1)
    d = VEC(dot(p, _times(a, p)), dot(q, _times(a, q)), dot(r, _times(a, r))) * up
    vector = static(Vec(type(A).dtype, 3))
    return type(A)(_columns(p, q, r)), vector(d)


@helper
def _diagonalised(a: MAT, p: VEC, q: VEC, r: VEC, sweeps: int32):
    """The orthonormal axes p, q, r turned so that they make ``a`` diagonal."""
    ap, aq, ar = _times(a, p), _times(a, q), _times(a, r)
    xx, yy, zz = dot(p, ap), dot(q, aq), dot(r, ar)
    xy, xz, yz = dot(p, aq), dot(p, ar), dot(q, ar)
    for _ in range(sweeps):
        s, c = _rotation(xx, yy, xy)
        xx, yy, xy, xz, yz = _similar(xx, yy, xy, xz, yz, s, c)
        p, q = _turned(p, q, s, c)
        s, c = _rotation(xx, zz, xz)
        xx, zz, xz, xy, yz = _similar(xx, zz, xz, xy, yz, s, c)
        p, r = _turned(p, r, s, c)
        s, c = _rotation(yy, zz, yz)
        yy, zz, yz, xy, xz = _similar(yy, zz, yz, xy, xz, s, c)
        q, r = _turned(q, r, s, c)
    p = _unit(p)
    q = _second(p, q)
    return p, q, _unit(cross(p, q))


@helper
def _similar(
    xx: float64, yy: float64, xy: float64, xo: float64, yo: float64, s: float64, c: float64
):
    """The entries after a rotation of the axes x and y that makes ``xy`` vanish; ``xo`` and ``yo``
    belong to the other axis."""
    t = s / c
    return xx - t * xy, yy + t * xy, 0.0, c * xo - s * yo, s * xo + c * yo
