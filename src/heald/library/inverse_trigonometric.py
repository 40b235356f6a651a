"""Inverse sines, cosines and tangents.

Each argument is brought to where an odd polynomial, a near-minimax fit of the relative error,
holds; float64 carries the rounding errors of the reduction.
"""

from heald.library.arithmetic import max, min
from heald.library.language import Full, Half, float32, float64, m
from heald.library.registry import Ulp, builtin, helper

GROUP = "Scalar math"
INF = float("inf")
HALF_PI32, HALF_PI32_LOW = 1.5707963705062866, -4.371138828673793e-08
HALF_PI, HALF_PI_LOW = 1.5707963267948966, 6.123233995736766e-17


# -- atan ----------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(1.7), reference="mpmath.atan")
def atan(x: float32) -> float32:
    """The angle in radians, from -π/2 to π/2, whose tangent is ``x``; zeros and NaN stay.

    >>> wp.atan(0.0)
    0.0
    """
    a = m.fabs(x)
    angle = _atan32(min(a, 1.0) / max(a, 1.0))
    other = (HALF_PI32 - angle) + HALF_PI32_LOW
    return m.copysign(m.select(a > 1, other, angle), x)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.atan")
def atan(x: float64) -> float64:
    a = m.fabs(x)
    infinite = a == INF
    top = m.select(infinite, 0.0, min(a, 1.0))
    bottom = m.select(infinite, 1.0, max(a, 1.0))
    high, low = _atan_pair(top, bottom)
    other = HALF_PI - high
    other_low = ((HALF_PI - other) - high) + (HALF_PI_LOW - low)
    return m.copysign(m.select(a > 1, other + other_low, high + low), x)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.atan")
def atan(x: Half) -> Half:
    return type(x)(atan(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.atan2")
def atan2(y: float32, x: float32) -> float32:
    """The angle in radians, from -π to π, of the point ``(x, y)``: C's ``atan2``.

    The signs of zeros count: ``atan2(0, -0)`` is π and ``atan2(-0, -0)`` is -π.  Of two infinities
    the result is an odd multiple of π/4.  NaN in either argument gives NaN.

    >>> wp.atan2(0.0, 1.0)
    0.0
    """
    top, bottom = _legs(m.fabs(y), m.fabs(x))
    angle = _atan32(top / bottom)
    angle = m.select(m.fabs(y) > m.fabs(x), (HALF_PI32 - angle) + HALF_PI32_LOW, angle)
    left = m.copysign(float32(1), x) < 0
    angle = m.select(left, (2 * HALF_PI32 - angle) + 2 * HALF_PI32_LOW, angle)
    return m.select((x != x) | (y != y), x + y, m.copysign(angle, y))


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.atan2")
def atan2(y: float64, x: float64) -> float64:
    top, bottom = _legs(m.fabs(y), m.fabs(x))
    huge = bottom > 1e300
    top = m.select(huge, m.fmul(top, 8.673617379884035e-19), top)  # 2^-60
    bottom = m.select(huge, m.fmul(bottom, 8.673617379884035e-19), bottom)
    high, low = _atan_pair(top, bottom)
    other = HALF_PI - high
    other_low = ((HALF_PI - other) - high) + (HALF_PI_LOW - low)
    steep = m.fabs(y) > m.fabs(x)
    high, low = m.select(steep, other, high), m.select(steep, other_low, low)
    left = m.copysign(float64(1), x) < 0
    other = 2 * HALF_PI - high
    other_low = ((2 * HALF_PI - other) - high) + (2 * HALF_PI_LOW - low)
    angle = m.select(left, other + other_low, high + low)
    return m.select((x != x) | (y != y), x + y, m.copysign(angle, y))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.atan2")
def atan2(y: Half, x: Half) -> Half:
    return type(x)(atan2(float32(y), float32(x)))


@helper
def _legs(y: Full, x: Full):
    """Smaller and larger of two magnitudes, with finite numbers of the same ratio for 0 and inf."""
    top, bottom = min(y, x), max(y, x)
    one, zero = type(x)(1), type(x)(0)
    infinite = bottom == INF
    top = m.select(infinite, m.select(top == INF, one, zero), top)
    return top, m.select(infinite | (bottom == 0), one, bottom)


@helper
def _atan32(t: float32) -> float32:
    """atan(t) for ``t`` from 0 to 1."""
    u = m.fmul(t, t)
    p = m.fma(u, -0.001788701512850821, 0.010892421007156372)
    p = m.fma(p, u, -0.03113616444170475)
    p = m.fma(p, u, 0.05791537091135979)
    p = m.fma(p, u, -0.08400959521532059)
    p = m.fma(p, u, 0.10951324552297592)
    p = m.fma(p, u, -0.14264075458049774)
    p = m.fma(p, u, 0.1999853253364563)
    p = m.fma(p, u, -0.33333298563957214)
    return m.fma(m.fmul(u, t), p, t)


@helper
def _atan_pair(top: float64, bottom: float64):
    """atan(top / bottom) in two parts, for ``0 <= top <= bottom``, by way of π/4 above 7/16."""
    far = top > m.fmul(bottom, 0.4375)
    shift = m.select(far, bottom, 0.0)
    numerator = top - shift
    part = numerator - top
    numerator_low = (top - (numerator - part)) - (shift + part)
    addend = m.select(far, top, 0.0)
    denominator = bottom + addend
    denominator_low = (bottom - denominator) + addend
    s = numerator / denominator
    rest = m.fma(-s, denominator, numerator) + m.fma(-s, denominator_low, numerator_low)
    s_low = rest / denominator
    u = m.fmul(s, s)
    tail = m.fma(m.fmul(u, s), _atan_tail64(u), m.fma(-u, s_low, s_low))
    base = m.select(far, float64(0.5 * HALF_PI), 0.0)
    base_low = m.select(far, float64(0.5 * HALF_PI_LOW), 0.0)
    high = base + s
    low = ((base - high) + s) + (base_low + tail)
    total = high + low
    return total, (high - total) + low


@helper
def _atan_tail64(u: float64) -> float64:
    """(atan(s) - s) / s³ as a function of ``u = s²`` for ``|s| <= 7/16``, pairwise (Estrin)."""
    u2 = m.fmul(u, u)
    u4 = m.fmul(u2, u2)
    a = m.fma(u, 0.19999999999991722, -0.3333333333333331)
    b = m.fma(u, 0.11111111048969231, -0.1428571428470566)
    c = m.fma(u, 0.07692255195232053, -0.09090906833684245)
    d = m.fma(u, 0.05873547110130641, -0.06665847172373503)
    e = m.fma(u, 0.044235800781860755, -0.051974510630369015)
    f = m.fma(u, 0.013520537278196324, -0.03172385522120945)
    a = m.fma(b, u2, a)
    c = m.fma(d, u2, c)
    e = m.fma(f, u2, e)
    return m.fma(m.fma(e, u4, c), u4, a)


# -- asin and acos -------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.asin")
def asin(x: float32) -> float32:
    """The angle in radians, from -π/2 to π/2, whose sine is ``x``.

    ``x`` is clamped to the range from -1 to 1 first; zeros and NaN stay.

    >>> wp.asin(0.0)
    0.0
    """
    far, s, rest = _asin_parts32(min(m.fabs(x), 1.0))
    twice = m.fma(rest, 2.0, s + s)
    return m.copysign(m.select(far, (HALF_PI32 - twice) + HALF_PI32_LOW, s + rest), x)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.asin")
def asin(x: float64) -> float64:
    far, s, rest = _asin_parts64(min(m.fabs(x), 1.0))
    twice = s + s
    high = HALF_PI - twice
    low = ((HALF_PI - high) - twice) + (HALF_PI_LOW - (rest + rest))
    return m.copysign(m.select(far, high + low, s + rest), x)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.asin")
def asin(x: Half) -> Half:
    return type(x)(asin(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(1.5), reference="mpmath.acos")
def acos(x: float32) -> float32:
    """The angle in radians, from 0 to π, whose cosine is ``x``.

    ``x`` is clamped to the range from -1 to 1 first; NaN stays.

    >>> wp.acos(1.0)
    0.0
    """
    far, s, rest = _asin_parts32(min(m.fabs(x), 1.0))
    # near: π/2 - asin(x); far: 2 asin(s), or what it lacks to π.
    angle = m.copysign(s + rest, x)
    twice = m.fma(rest, 2.0, s + s)
    beyond = m.select(x < 0, (2 * HALF_PI32 - twice) + 2 * HALF_PI32_LOW, twice)
    return m.select(far, beyond, (HALF_PI32 - angle) + HALF_PI32_LOW)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.acos")
def acos(x: float64) -> float64:
    far, s, rest = _asin_parts64(min(m.fabs(x), 1.0))
    # near: π/2 - asin(x); far: 2 asin(s), and for negative x what it lacks to π.
    s, rest = m.select(far, s + s, s), m.select(far, rest + rest, rest)
    negative = x < 0
    base = m.select(far, float64(2 * HALF_PI), float64(HALF_PI))
    base_low = m.select(far, float64(2 * HALF_PI_LOW), float64(HALF_PI_LOW))
    plus = negative ^ far
    base = m.select(far & ~negative, 0.0, base)
    base_low = m.select(far & ~negative, 0.0, base_low)
    s, rest = m.select(plus, s, -s), m.select(plus, rest, -rest)
    high = base + s
    return high + (((base - high) + s) + (base_low + rest))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.acos")
def acos(x: Half) -> Half:
    return type(x)(acos(float32(x)))


@helper
def _asin_parts32(a: float32):
    """``(far, s, rest)`` for ``a`` from 0 to 1.

    asin(a) is s + rest up to a half, and π/2 - 2 (s + rest) beyond (``far``), where s is the
    square root of (1 - a) / 2.
    """
    far = a > 0.5
    u = m.select(far, m.fma(a, -0.5, 0.5), m.fmul(a, a))
    s = m.select(far, m.fsqrt(u), a)
    p = m.fma(u, 0.042158305644989014, 0.024184778332710266)
    p = m.fma(p, u, 0.04546914994716644)
    p = m.fma(p, u, 0.074953094124794)
    p = m.fma(p, u, 0.16666752099990845)
    return far, s, m.fmul(m.fmul(s, u), p)


@helper
def _asin_parts64(a: float64):
    """The same, with the rounding error of the root in ``rest``."""
    far = a > 0.5
    u = m.select(far, m.fmul(1 - a, 0.5), m.fmul(a, a))
    root = m.fsqrt(u)
    s = m.select(far, root, a)
    lacking = m.fma(-root, root, u) / (root + root)
    lacking = m.select(far & (u != 0), lacking, 0.0)
    return far, s, m.fma(m.fmul(s, u), _asin_tail64(u), lacking)


@helper
def _asin_tail64(u: float64) -> float64:
    """(asin(s) - s) / s³ as a function of ``u = s²`` for ``|s| <= 1/2``."""
    u2 = m.fmul(u, u)
    u4 = m.fmul(u2, u2)
    a = m.fma(u, 0.07499999999970856, 0.1666666666666676)
    b = m.fma(u, 0.030381942708487333, 0.04464285717457997)
    c = m.fma(u, 0.017351611702397275, 0.02237221498753201)
    d = m.fma(u, 0.0113988278392245, 0.0139808276950935)
    e = m.fma(u, 0.0037036203835994447, 0.010780862016360512)
    f = m.fma(u, -0.02101179072332696, 0.021715360421836676)
    a = m.fma(b, u2, a)
    c = m.fma(d, u2, c)
    e = m.fma(m.fma(u2, 0.03263750327249015, f), u2, e)
    return m.fma(m.fma(e, u4, c), u4, a)
