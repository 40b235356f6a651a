"""Absolute value, extremes, sign, division and remainder in all their kinds, and square roots."""

from heald.library.language import (
    C,
    Float,
    Full,
    Half,
    Mat,
    N,
    R,
    Scalar,
    Signed,
    Unsigned,
    Vec,
    float32,
    float64,
    int64,
    m,
    static,
)
from heald.library.registry import Exact, NonZero, Ulp, builtin, helper

GROUP = "Scalar math"
INF = float("inf")
NAN = float("nan")


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.abs")
def abs(x: Float) -> Float:
    """The absolute value of ``x``; of a vector, component by component.

    The sign bit is cleared, so ``-0`` gives ``0`` and NaN stays NaN.  The most negative integer
    has no positive counterpart and stays itself.

    >>> wp.abs(-1.5)
    1.5
    """
    return m.fabs(x)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.abs")
def abs(x: Signed) -> Signed:
    return m.select(x < 0, -x, x)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.abs")
def abs(x: Unsigned) -> Unsigned:
    return x


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.abs")
def abs(x: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = x
    for i in static(range(len(x))):
        y[i] = abs(x[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def min(a: Float, b: Float) -> Float:
    """The smaller of ``a`` and ``b``, exactly ``b if b < a else a`` as in Python.

    So with a NaN the result is ``a``, and of ``0`` and ``-0`` too.  Of two vectors, component by
    component; of one vector, its smallest component, taken from the first to the last.

    >>> wp.min(2.0, 1.0)
    1.0
    """
    return m.fmin(a, b)


@builtin(group=GROUP, accuracy=Exact())
def min(a: Signed, b: Signed) -> Signed:
    return m.smin(a, b)


@builtin(group=GROUP, accuracy=Exact())
def min(a: Unsigned, b: Unsigned) -> Unsigned:
    return m.umin(a, b)


@builtin(group=GROUP, accuracy=Exact())
def min(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = a
    for i in static(range(len(a))):
        y[i] = min(a[i], b[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def min(a: Vec(Scalar, N)) -> Scalar:
    y = a[0]
    for i in static(range(1, len(a))):
        y = min(y, a[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def max(a: Float, b: Float) -> Float:
    """The larger of ``a`` and ``b``, exactly ``b if b > a else a`` as in Python.

    So with a NaN the result is ``a``, and of ``0`` and ``-0`` too.  Of two vectors, component by
    component; of one vector, its largest component, taken from the first to the last.

    >>> wp.max(2.0, 1.0)
    2.0
    """
    return m.fmax(a, b)


@builtin(group=GROUP, accuracy=Exact())
def max(a: Signed, b: Signed) -> Signed:
    return m.smax(a, b)


@builtin(group=GROUP, accuracy=Exact())
def max(a: Unsigned, b: Unsigned) -> Unsigned:
    return m.umax(a, b)


@builtin(group=GROUP, accuracy=Exact())
def max(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = a
    for i in static(range(len(a))):
        y[i] = max(a[i], b[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def max(a: Vec(Scalar, N)) -> Scalar:
    y = a[0]
    for i in static(range(1, len(a))):
        y = max(y, a[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """``x`` limited to the range from ``low`` to ``high``: ``min(max(x, low), high)``.

    NaN in ``x`` gives NaN, NaN in a limit is no limit.  Where ``low > high`` the result is
    ``high``.

    >>> wp.clamp(1.5, 0.0, 1.0)
    1.0
    """
    return min(max(x, low), high)


@builtin(group=GROUP, accuracy=Exact())
def sign(x: Scalar) -> Scalar:
    """-1 where ``x < 0``, else 1: also for zeros and NaN.  Of a vector, component by component.

    >>> wp.sign(-3.0)
    -1.0
    """
    one = type(x)(1)
    return m.select(x < 0, one - 2, one)


@builtin(group=GROUP, accuracy=Exact())
def sign(x: Unsigned) -> Unsigned:
    return type(x)(1)


@builtin(group=GROUP, accuracy=Exact())
def sign(x: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = x
    for i in static(range(len(x))):
        y[i] = sign(x[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def step(x: Scalar) -> Scalar:
    """1 where ``x < 0``, else 0: also for zeros and NaN.

    >>> wp.step(-3.0)
    1.0
    """
    return m.select(x < 0, type(x)(1), type(x)(0))


@builtin(group=GROUP, accuracy=Exact())
def nonzero(x: Scalar) -> Scalar:
    """0 where ``x`` is zero, of either sign, else 1: also for NaN.

    >>> wp.nonzero(0.5)
    1.0
    """
    return m.select(x != 0, type(x)(1), type(x)(0))


@builtin(group=GROUP, accuracy=Exact())
def copysign(x: Float, y: Float) -> Float:
    """The magnitude of ``x`` with the sign bit of ``y``.  A NaN in ``y`` counts as positive: its
    sign bit is none that every device agrees on.

    >>> wp.copysign(2.0, -0.0)
    -2.0
    """
    sign = m.select(m.fcmp(y, y, pred="oeq"), y, m.fabs(y))
    return m.copysign(x, sign)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.sqrt")
def sqrt(x: Float) -> Float:
    """The square root of ``x``, correctly rounded.

    ``-0`` stays ``-0``; other negative numbers give NaN.

    >>> wp.sqrt(2.25)
    1.5
    """
    return m.fsqrt(x)


@builtin(group=GROUP, accuracy=Ulp(1.5))
def rsqrt(x: Full) -> Full:
    """``1 / sqrt(x)``, both correctly rounded.

    ``0`` and ``-0`` give infinity of that sign, infinity gives 0, other negative numbers give NaN.

    >>> wp.rsqrt(4.0)
    0.5
    """
    return 1 / m.fsqrt(x)


@builtin(group=GROUP, accuracy=Ulp(1))
def rsqrt(x: Half) -> Half:
    return type(x)(rsqrt(float32(x)))


# -- division and remainder ------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Exact(), domain={"b": NonZero()})
def floordiv(a: Signed, b: Signed) -> Signed:
    """``a // b``: the quotient rounded towards minus infinity.

    Integers: a zero divisor is a fault and gives 0; the most negative number by -1 wraps.
    Floats: as Python computes it, from the exact remainder, so zero results have the sign of the
    quotient; a zero divisor gives ``a / b``.  Of two vectors, component by component.

    >>> wp.floordiv(-7, 2)
    -4
    """
    quotient = m.idiv(a, b)
    remainder = a - quotient * b
    down = (remainder != 0) & ((remainder ^ b) < 0) & (b != 0)
    return m.select(down, quotient - 1, quotient)


@builtin(group=GROUP, accuracy=Exact(), domain={"b": NonZero()})
def floordiv(a: Unsigned, b: Unsigned) -> Unsigned:
    return m.udiv(a, b)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.floor_divide")
def floordiv(a: Full, b: Full) -> Full:
    # The quotient of a - mod(a, b) is an integer but for rounding (CPython, float_floor_div).
    remainder = mod(a, b)
    quotient = (a - remainder) / b
    down = (remainder != 0) & ((remainder < 0) ^ (b < 0))
    quotient = m.select(down, quotient - 1, quotient)
    whole = m.floor(quotient)
    whole = m.select(quotient - whole > 0.5, whole + 1, whole)
    whole = m.select(quotient == 0, m.copysign(type(a)(0), a / b), whole)
    return m.select(b == 0, a / b, whole)


@builtin(group=GROUP, accuracy=Exact())
def floordiv(a: Half, b: Half) -> Half:
    return type(a)(floordiv(float32(a), float32(b)))


@builtin(group=GROUP, accuracy=Exact())
def floordiv(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = a
    for i in static(range(len(a))):
        y[i] = floordiv(a[i], b[i])
    return y


@builtin(group=GROUP, accuracy=Exact(), domain={"b": NonZero()})
def floormod(a: Signed, b: Signed) -> Signed:
    """``a % b``: what floor division leaves, with the sign of ``b``.

    Integers: a zero divisor is a fault and gives 0.  Floats: as in Python, exact but for the one
    rounding of ``remainder + b``; a zero result has the sign of ``b``; a zero divisor or an
    infinite ``a`` gives NaN.  Of two vectors, component by component.

    >>> wp.floormod(-7, 2)
    1
    """
    remainder = m.irem(a, b)
    down = (remainder != 0) & ((remainder ^ b) < 0)
    return m.select(down, remainder + b, remainder)


@builtin(group=GROUP, accuracy=Exact(), domain={"b": NonZero()})
def floormod(a: Unsigned, b: Unsigned) -> Unsigned:
    return m.urem(a, b)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.mod")
def floormod(a: Full, b: Full) -> Full:
    remainder = mod(a, b)
    other = (remainder < 0) ^ (b < 0)
    signed = m.select(other, remainder + b, remainder)
    return m.select(remainder == 0, m.copysign(type(a)(0), b), signed)


@builtin(group=GROUP, accuracy=Exact())
def floormod(a: Half, b: Half) -> Half:
    return type(a)(floormod(float32(a), float32(b)))


@builtin(group=GROUP, accuracy=Exact())
def floormod(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = a
    for i in static(range(len(a))):
        y[i] = floormod(a[i], b[i])
    return y


@builtin(group=GROUP, accuracy=Exact(), domain={"b": NonZero()})
def mod(a: Signed, b: Signed) -> Signed:
    """What truncating division leaves, with the sign of ``a``: C's ``%`` and ``fmod``.  Always
    exact.

    Python's ``%`` is :func:`floormod`.  Integers: a zero divisor is a fault and gives 0.  Floats:
    a zero divisor or an infinite ``a`` gives NaN, an infinite ``b`` gives ``a``.  Of two vectors,
    component by component.

    >>> wp.mod(-7.0, 2.0)
    -1.0
    """
    return m.irem(a, b)


@builtin(group=GROUP, accuracy=Exact(), domain={"b": NonZero()})
def mod(a: Unsigned, b: Unsigned) -> Unsigned:
    return m.urem(a, b)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.fmod")
def mod(a: float32, b: float32) -> float32:
    # Below 2^23 the rounded quotient is off by at most one, and x - q*y is exact in one fma.
    x = m.fabs(a)
    y = m.fabs(b)
    q = m.ftrunc(x / y)
    r = m.fma(-q, y, x)
    r = m.select(r < 0, r + y, r)
    if not (q < 8388608.0) or y == INF:
        r = float32(_remainder(float64(x), float64(y)))
    return m.copysign(r, a)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.fmod")
def mod(a: float64, b: float64) -> float64:
    x = m.fabs(a)
    y = m.fabs(b)
    q = m.ftrunc(x / y)
    r = m.fma(-q, y, x)
    r = m.select(r < 0, r + y, r)
    if not (q < 4503599627370496.0) or y == INF:
        r = _remainder(x, y)
    return m.copysign(r, a)


@builtin(group=GROUP, accuracy=Exact())
def mod(a: Half, b: Half) -> Half:
    return type(a)(mod(float32(a), float32(b)))


@builtin(group=GROUP, accuracy=Exact())
def mod(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    y = a
    for i in static(range(len(a))):
        y[i] = mod(a[i], b[i])
    return y


@helper
def _remainder(x: float64, y: float64) -> float64:
    """``x`` modulo ``y`` for non-negative arguments by long division, 50 bits of quotient a round.

    The significands are in [1, 2), so nothing overflows, underflows or rounds; at most 42 rounds.
    """
    if not (x < INF) or not (y > 0):
        return NAN
    if x < y:
        return x
    r, exponent_x = _normalised(x)
    divisor, exponent_y = _normalised(y)
    left = exponent_x - exponent_y
    if r >= divisor:
        r -= divisor
    while left > 0:
        bits = min(left, 50)
        scaled = m.fmul(r, _power_of_two(bits))
        q = m.ftrunc(scaled / divisor)
        r = m.fma(-q, divisor, scaled)
        r = m.select(r < 0, r + divisor, r)
        left -= bits
    half = exponent_y >> 1
    return m.fmul(m.fmul(r, _power_of_two(half)), _power_of_two(exponent_y - half))


@helper
def _normalised(x: float64):
    """Significand in [1, 2) and exponent of a positive finite ``x``, subnormals included."""
    tiny = x < 2.2250738585072014e-308
    scaled = m.select(tiny, m.fmul(x, 18014398509481984.0), x)
    bits = m.bitcast(scaled, int64)
    exponent = (bits >> 52) - 1023 - m.select(tiny, int64(54), int64(0))
    return m.bitcast((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000, float64), exponent


@helper
def _power_of_two(exponent: int64) -> float64:
    return m.bitcast((exponent + 1023) << 52, float64)


@builtin(group=GROUP, accuracy=Exact())
def div(a: Float, b: Float) -> Float:
    """``a / b``, correctly rounded; of a number and a vector, matrix or quaternion, either way,
    component by component.

    >>> wp.div(1.0, 8.0)
    0.125
    """
    return a / b


@builtin(group=GROUP, accuracy=Exact())
def div(a: Float, b: Vec(Float, N)) -> Vec(Float, N):
    y = b
    for i in static(range(len(b))):
        y[i] = a / b[i]
    return y


@builtin(group=GROUP, accuracy=Exact())
def div(a: Float, b: Mat(Float, R, C)) -> Mat(Float, R, C):
    y = b
    for i in static(range(type(b).rows)):
        for j in static(range(type(b).cols)):
            y[i, j] = a / b[i, j]
    return y
