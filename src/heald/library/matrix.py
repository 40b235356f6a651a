"""Matrices: products, transpose, determinant, inverse, and ways to build them.

Matrices are row-major; a vector is a column where it stands right of a matrix and a row left of it.
"""

from heald.library.arithmetic import max
from heald.library.language import (
    C,
    Full,
    Half,
    K,
    Mat,
    N,
    R,
    Scalar,
    Vec,
    float32,
    float64,
    int32,
    int64,
    m,
    static,
)
from heald.library.registry import Exact, Scaled, builtin, helper

GROUP = "Matrix math"


# -- products ------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(4))
def mul(a: Mat(Scalar, R, K), b: Mat(Scalar, K, C)) -> Mat(Scalar, R, C):
    """``a * b``: of numbers, of a number with every component, or a product of matrices (also
    ``a @ b``), of a matrix and a column, of a row and a matrix, of quaternions (Hamilton's), of
    transforms (``b`` is applied first).

    Sums run from the first term to the last, each term an fma in float32 and float64.

    >>> wp.mul(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.vec2(1.0, 1.0))
    vec2f([3.0, 7.0])
    """
    dtype = type(a).dtype
    y = static(Mat(dtype, len(a), type(b).cols))()
    for i in static(range(type(a).rows)):
        for j in static(range(type(b).cols)):
            total = a[i, 0] * b[0, j]
            for k in static(range(1, type(a).cols)):
                total = total + a[i, k] * b[k, j]
            y[i, j] = total
    return y


@builtin(group=GROUP, accuracy=Scaled(4))
def mul(a: Mat(Scalar, R, K), b: Vec(Scalar, K)) -> Vec(Scalar, R):
    dtype = type(a).dtype
    y = static(Vec(dtype, len(a)))()
    for i in static(range(type(a).rows)):
        total = a[i, 0] * b[0]
        for k in static(range(1, type(a).cols)):
            total = total + a[i, k] * b[k]
        y[i] = total
    return y


@builtin(group=GROUP, accuracy=Scaled(4))
def mul(a: Vec(Scalar, K), b: Mat(Scalar, K, C)) -> Vec(Scalar, C):
    dtype = type(b).dtype
    cols = type(b).cols
    y = static(Vec(dtype, cols))()
    for j in static(range(type(b).cols)):
        total = a[0] * b[0, j]
        for k in static(range(1, type(b).rows)):
            total = total + a[k] * b[k, j]
        y[j] = total
    return y


@builtin(group=GROUP, accuracy=Scaled(16))
def ddot(a: Mat(Scalar, R, C), b: Mat(Scalar, R, C)) -> Scalar:
    """The sum of the products of all components, row by row.

    >>> wp.ddot(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.mat22(1.0, 1.0, 1.0, 1.0))
    10.0
    """
    total = type(a).dtype(0)
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            total = total + a[i, j] * b[i, j]
    return total


# -- parts and shapes ----------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Exact())
def transpose(a: Mat(Scalar, R, C)) -> Mat(Scalar, C, R):
    """Rows become columns.

    >>> wp.transpose(wp.mat22(1.0, 2.0, 3.0, 4.0))
    mat22f([[1.0, 3.0], [2.0, 4.0]])
    """
    dtype, cols = type(a).dtype, type(a).cols
    y = static(Mat(dtype, cols, len(a)))()
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y[j, i] = a[i, j]
    return y


@builtin(group=GROUP, accuracy=Scaled(4))
def trace(a: Mat(Scalar, N, N)) -> Scalar:
    """The sum of the diagonal, from the first component to the last.

    >>> wp.trace(wp.mat22(1.0, 2.0, 3.0, 4.0))
    5.0
    """
    total = a[0, 0]
    for i in static(range(1, type(a).rows)):
        total = total + a[i, i]
    return total


@builtin(group=GROUP, accuracy=Exact())
def diag(vec: Vec(Scalar, N)) -> Mat(Scalar, N, N):
    """The matrix with ``vec`` on its diagonal and zeros elsewhere.

    >>> wp.diag(wp.vec2(1.0, 2.0))
    mat22f([[1.0, 0.0], [0.0, 2.0]])
    """
    dtype = type(vec).dtype
    y = static(Mat(dtype, len(vec), len(vec)))()
    for i in static(range(len(vec))):
        y[i, i] = vec[i]
    return y


@builtin(group=GROUP, accuracy=Exact())
def get_diag(mat: Mat(Scalar, N, N)) -> Vec(Scalar, N):
    """The diagonal of a square matrix.

    >>> wp.get_diag(wp.mat22(1.0, 2.0, 3.0, 4.0))
    vec2f([1.0, 4.0])
    """
    dtype = type(mat).dtype
    y = static(Vec(dtype, len(mat)))()
    for i in static(range(len(mat))):
        y[i] = mat[i, i]
    return y


@builtin(group=GROUP, accuracy=Exact())
def identity(n, dtype=float32):
    """The ``n`` by ``n`` matrix with ones on the diagonal.

    In kernels ``n`` and ``dtype`` are known at compile time.

    >>> wp.identity(n=2)
    mat22f([[1.0, 0.0], [0.0, 1.0]])
    """
    y = static(Mat(dtype, n, n))()
    for i in static(range(n)):
        y[i, i] = 1
    return y


@builtin(group=GROUP, accuracy=Exact())
def skew(vec: Vec(Scalar, 3)) -> Mat(Scalar, 3, 3):
    """The matrix that multiplies a vector like ``cross(vec, ...)``.

    >>> wp.skew(wp.vec3(1.0, 2.0, 3.0)) * wp.vec3(0.0, 0.0, 1.0)
    vec3f([2.0, -1.0, 0.0])
    """
    dtype = type(vec).dtype
    zero = dtype(0)
    y = static(Mat(dtype, 3, 3))
    return y(zero, -vec[2], vec[1], vec[2], zero, -vec[0], -vec[1], vec[0], zero)


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_rows(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Mat(Scalar, 2, N):
    """The matrix with the given vectors, one to six, as rows.

    >>> wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    mat22f([[1.0, 2.0], [3.0, 4.0]])
    """
    return _rows((a, b))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_rows(a: Vec(Scalar, N)) -> Mat(Scalar, 1, N):
    return _rows((a,))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_rows(a: Vec(Scalar, N), b: Vec(Scalar, N), c: Vec(Scalar, N)) -> Mat(Scalar, 3, N):
    return _rows((a, b, c))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_rows(
    a: Vec(Scalar, N), b: Vec(Scalar, N), c: Vec(Scalar, N), d: Vec(Scalar, N)
) -> Mat(Scalar, 4, N):
    return _rows((a, b, c, d))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_rows(
    a: Vec(Scalar, N), b: Vec(Scalar, N), c: Vec(Scalar, N), d: Vec(Scalar, N), e: Vec(Scalar, N)
) -> Mat(Scalar, 5, N):
    return _rows((a, b, c, d, e))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_rows(
    a: Vec(Scalar, N),
    b: Vec(Scalar, N),
    c: Vec(Scalar, N),
    d: Vec(Scalar, N),
    e: Vec(Scalar, N),
    f: Vec(Scalar, N),
) -> Mat(Scalar, 6, N):
    return _rows((a, b, c, d, e, f))


@helper
def _rows(vectors):
    first = vectors[0]
    dtype, count = type(first).dtype, len(vectors)
    y = static(Mat(dtype, count, len(first)))()
    for i in static(range(count)):
        for j in static(range(len(first))):
            y[i, j] = vectors[i][j]
    return y


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_cols(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Mat(Scalar, N, 2):
    """The matrix with the given vectors, one to six, as columns.

    >>> wp.matrix_from_cols(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    mat22f([[1.0, 3.0], [2.0, 4.0]])
    """
    return transpose(matrix_from_rows(a, b))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_cols(a: Vec(Scalar, N)) -> Mat(Scalar, N, 1):
    return transpose(matrix_from_rows(a))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_cols(a: Vec(Scalar, N), b: Vec(Scalar, N), c: Vec(Scalar, N)) -> Mat(Scalar, N, 3):
    return transpose(matrix_from_rows(a, b, c))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_cols(
    a: Vec(Scalar, N), b: Vec(Scalar, N), c: Vec(Scalar, N), d: Vec(Scalar, N)
) -> Mat(Scalar, N, 4):
    return transpose(matrix_from_rows(a, b, c, d))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_cols(
    a: Vec(Scalar, N), b: Vec(Scalar, N), c: Vec(Scalar, N), d: Vec(Scalar, N), e: Vec(Scalar, N)
) -> Mat(Scalar, N, 5):
    return transpose(matrix_from_rows(a, b, c, d, e))


@builtin(group=GROUP, accuracy=Exact())
def matrix_from_cols(
    a: Vec(Scalar, N),
    b: Vec(Scalar, N),
    c: Vec(Scalar, N),
    d: Vec(Scalar, N),
    e: Vec(Scalar, N),
    f: Vec(Scalar, N),
) -> Mat(Scalar, N, 6):
    return transpose(matrix_from_rows(a, b, c, d, e, f))


# -- determinant and inverse ---------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Scaled(4))
def determinant(a: Mat(Full, 2, 2)) -> Full:
    """The determinant of a matrix of 2, 3 or 4 rows, expanded along rows.

    16-bit floats are computed in float32.

    >>> wp.determinant(wp.mat22(1.0, 2.0, 3.0, 4.0))
    -2.0
    """
    return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]


@builtin(group=GROUP, accuracy=Scaled(8))
def determinant(a: Mat(Full, 3, 3)) -> Full:
    x = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    y = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    z = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    return m.fma(a[0, 2], z, m.fma(a[0, 1], y, m.fmul(a[0, 0], x)))


@builtin(group=GROUP, accuracy=Scaled(16))
def determinant(a: Mat(Full, 4, 4)) -> Full:
    s, c = _minors(a)
    return _determinant_of_minors(s, c)


@builtin(group=GROUP, accuracy=Scaled(1))
def determinant(a: Mat(Half, N, N)) -> Half:
    rows = type(a).rows
    return type(a).dtype(determinant(static(Mat(float32, rows, rows))(a)))


@helper
def _minors(a: Mat(Full, 4, 4)):
    """The 2 by 2 minors of the upper two rows and of the lower two, columns 01 02 03 12 13 23."""
    dtype = type(a).dtype
    six = static(Vec(dtype, 6))
    s = six(
        a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0],
        a[0, 0] * a[1, 2] - a[0, 2] * a[1, 0],
        a[0, 0] * a[1, 3] - a[0, 3] * a[1, 0],
        a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1],
        a[0, 1] * a[1, 3] - a[0, 3] * a[1, 1],
        a[0, 2] * a[1, 3] - a[0, 3] * a[1, 2],
    )
    c = six(
        a[2, 0] * a[3, 1] - a[2, 1] * a[3, 0],
        a[2, 0] * a[3, 2] - a[2, 2] * a[3, 0],
        a[2, 0] * a[3, 3] - a[2, 3] * a[3, 0],
        a[2, 1] * a[3, 2] - a[2, 2] * a[3, 1],
        a[2, 1] * a[3, 3] - a[2, 3] * a[3, 1],
        a[2, 2] * a[3, 3] - a[2, 3] * a[3, 2],
    )
    return s, c


@helper
def _determinant_of_minors(s: Vec(Full, 6), c: Vec(Full, 6)) -> Full:
    """Laplace's expansion along the upper two rows."""
    total = m.fma(s[3], c[2], m.fma(s[2], c[3], m.fmul(s[0], c[5])))
    return m.fma(s[5], c[0], total) - m.fma(s[4], c[1], m.fmul(s[1], c[4]))


@builtin(group=GROUP, accuracy=Scaled(16))
def inverse(a: Mat(Full, 2, 2)) -> Mat(Full, 2, 2):
    """The inverse of a square matrix; up to 4 rows the adjugate times the reciprocal determinant.

    A determinant of zero gives zeros.  The error grows with the condition number of ``a``.  Up to 4
    rows, each row and each column may be of any size: they are scaled by powers of two.  16-bit
    floats are computed in float32.

    >>> wp.inverse(wp.mat22(2.0, 0.0, 0.0, 4.0))
    mat22f([[0.5, -0.0], [-0.0, 0.25]])
    """
    d = determinant(a)
    if _is_usual(a, d):
        return _adjugate2(a) * (1 / d)
    a, rows, columns = _balanced(a)
    return _scaled_back(_adjugate2(a) * _reciprocal(determinant(a)), rows, columns)


@builtin(group=GROUP, accuracy=Scaled(32))
def inverse(a: Mat(Full, 3, 3)) -> Mat(Full, 3, 3):
    d = determinant(a)
    if _is_usual(a, d):
        return _adjugate3(a) * (1 / d)
    a, rows, columns = _balanced(a)
    return _scaled_back(_adjugate3(a) * _reciprocal(determinant(a)), rows, columns)


@builtin(group=GROUP, accuracy=Scaled(64))
def inverse(a: Mat(Full, 4, 4)) -> Mat(Full, 4, 4):
    y, d = _adjugate4(a)
    if _is_usual(a, d):
        return y * (1 / d)
    a, rows, columns = _balanced(a)
    y, d = _adjugate4(a)
    return _scaled_back(y * _reciprocal(d), rows, columns)


@builtin(group=GROUP, accuracy=Scaled(64))
def inverse(a: Mat(Full, N, N)) -> Mat(Full, N, N):
    """Matrices of other sizes are inverted by Gauss and Jordan's elimination with partial
    pivoting; a pivot of zero gives zeros."""
    size = type(a).rows
    dtype = type(a).dtype
    y = static(Mat(dtype, size, size))()
    for i in static(range(size)):
        y[i, i] = 1
    regular = True
    for k in static(range(size)):
        for i in static(range(k + 1, size)):
            larger = m.fabs(a[i, k]) > m.fabs(a[k, k])
            for j in static(range(size)):
                a[k, j], a[i, j] = (
                    m.select(larger, a[i, j], a[k, j]),
                    m.select(larger, a[k, j], a[i, j]),
                )
                y[k, j], y[i, j] = (
                    m.select(larger, y[i, j], y[k, j]),
                    m.select(larger, y[k, j], y[i, j]),
                )
        regular = regular & (a[k, k] != 0)
        pivot = a[k, k]
        for j in static(range(size)):
            a[k, j], y[k, j] = a[k, j] / pivot, y[k, j] / pivot
        for i in static([i for i in range(size) if i != k]):
            factor = a[i, k]
            for j in static(range(size)):
                a[i, j] = m.fma(-factor, a[k, j], a[i, j])
                y[i, j] = m.fma(-factor, y[k, j], y[i, j])
    return y if regular else type(y)()


@builtin(group=GROUP, accuracy=Scaled(4))
def inverse(a: Mat(Half, N, N)) -> Mat(Half, N, N):
    rows = type(a).rows
    return type(a)(inverse(static(Mat(float32, rows, rows))(a)))


@helper
def _adjugate2(a: Mat(Full, 2, 2)) -> Mat(Full, 2, 2):
    return type(a)(a[1, 1], -a[0, 1], -a[1, 0], a[0, 0])


@helper
def _adjugate3(a: Mat(Full, 3, 3)) -> Mat(Full, 3, 3):
    return type(a)(
        a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1],
        a[0, 2] * a[2, 1] - a[0, 1] * a[2, 2],
        a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1],
        a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2],
        a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0],
        a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2],
        a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0],
        a[0, 1] * a[2, 0] - a[0, 0] * a[2, 1],
        a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0],
    )


@helper
def _adjugate4(a: Mat(Full, 4, 4)):
    """The adjugate, and the determinant."""
    s, c = _minors(a)
    y = type(a)(
        _three(a[1, 1], c[5], -a[1, 2], c[4], a[1, 3], c[3]),
        _three(-a[0, 1], c[5], a[0, 2], c[4], -a[0, 3], c[3]),
        _three(a[3, 1], s[5], -a[3, 2], s[4], a[3, 3], s[3]),
        _three(-a[2, 1], s[5], a[2, 2], s[4], -a[2, 3], s[3]),
        _three(-a[1, 0], c[5], a[1, 2], c[2], -a[1, 3], c[1]),
        _three(a[0, 0], c[5], -a[0, 2], c[2], a[0, 3], c[1]),
        _three(-a[3, 0], s[5], a[3, 2], s[2], -a[3, 3], s[1]),
        _three(a[2, 0], s[5], -a[2, 2], s[2], a[2, 3], s[1]),
        _three(a[1, 0], c[4], -a[1, 1], c[2], a[1, 3], c[0]),
        _three(-a[0, 0], c[4], a[0, 1], c[2], -a[0, 3], c[0]),
        _three(a[3, 0], s[4], -a[3, 1], s[2], a[3, 3], s[0]),
        _three(-a[2, 0], s[4], a[2, 1], s[2], -a[2, 3], s[0]),
        _three(-a[1, 0], c[3], a[1, 1], c[1], -a[1, 2], c[0]),
        _three(a[0, 0], c[3], -a[0, 1], c[1], a[0, 2], c[0]),
        _three(-a[3, 0], s[3], a[3, 1], s[1], -a[3, 2], s[0]),
        _three(a[2, 0], s[3], -a[2, 1], s[1], a[2, 2], s[0]),
    )
    return y, _determinant_of_minors(s, c)


@helper
def _is_usual(a: Mat(Full, N, N), d: Full) -> bool:
    """Does nothing that counts overflow or vanish in the adjugate of ``a``, whose determinant is
    ``d``?  Elements are below 2^20 then, and up to 4 rows every minor by which the determinant
    changes is far from the ends of float32."""
    return m.fabs(d) > 2.0**-60 and ddot(a, a) < 2.0**40


@helper
def _balanced(a: Mat(Full, N, N)):
    """``(b, r, c)`` with ``b[i, j] = r[i] * a[i, j] * c[j]``; ``r`` and ``c`` are powers of two
    and the largest magnitude of each column of ``b`` is 1 or between 1 and 2.

    Rows are brought to 2^63 (float32; 2^511) first, not to 1, so that what columns differ by is not
    lost among subnormal numbers.
    """
    size = static(range(type(a).rows))
    dtype = type(a).dtype
    rows = static(Vec(dtype, type(a).rows))()
    columns = rows
    lift = dtype(static(2.0**-511 if type(a).dtype is float64 else 2.0**-63))
    for i in size:
        largest = m.fabs(a[i, 0])
        for j in size:
            largest = max(largest, m.fabs(a[i, j]))
        rows[i] = _towards_one(largest * lift)
        for j in size:
            a[i, j] *= rows[i]
    for j in size:
        largest = m.fabs(a[0, j])
        for i in size:
            largest = max(largest, m.fabs(a[i, j]))
        columns[j] = _towards_one(largest)
        for i in size:
            a[i, j] *= columns[j]
    return a, rows, columns


@helper
def _towards_one(x: Full) -> Full:
    """The power of two that brings ``x``, without a sign, to 1 or between 1 and 2, as far as it is
    a normal number."""
    bits, digits = static((int64, 52) if type(x) is float64 else (int32, 23))
    bias = static(1023 if type(x) is float64 else 127)
    exponent = m.bitcast(x, bits) >> digits
    power = m.smin(m.smax(2 * bias - exponent, bits(1)), bits(2 * bias))
    return m.bitcast(power << digits, type(x))


@helper
def _scaled_back(y: Mat(Full, N, N), rows: Vec(Full, N), columns: Vec(Full, N)) -> Mat(Full, N, N):
    """The inverse of a matrix from that of what ``_balanced`` made of it."""
    infinity = type(y).dtype(static(float("inf")))
    for i in static(range(type(y).rows)):
        for j in static(range(type(y).rows)):
            scale = columns[i] * rows[j]  # first, as either alone may be too small for y
            far = y[i, j] * columns[i] * rows[j]
            y[i, j] = m.select(scale < infinity, y[i, j] * scale, far)
    return y


@helper
def _reciprocal(d: Full) -> Full:
    """1 / d, or 0 where ``d`` is 0, so that a singular matrix has the inverse zero."""
    return m.select(d == 0, type(d)(0), 1 / d)


@helper
def _three(a: Full, x: Full, b: Full, y: Full, c: Full, z: Full) -> Full:
    return m.fma(c, z, m.fma(b, y, m.fmul(a, x)))
