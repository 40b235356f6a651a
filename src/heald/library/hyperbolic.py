"""Hyperbolic functions."""

from heald.library.arithmetic import min
from heald.library.exponential import (
    LN2_HIGH,
    LN2_HIGH32,
    LN2_LOW,
    LN2_LOW32,
    LOG2E_HIGH,
    LOG2E_HIGH32,
    ROUND32,
    ROUND64,
    ROUND64_BITS,
    _exp2_slope32,
    _exp_tail64,
    _scale64,
)
from heald.library.language import Half, float32, float64, int32, int64, m
from heald.library.registry import Ulp, builtin, helper

GROUP = "Scalar math"


@builtin(group=GROUP, accuracy=Ulp(1.7), reference="mpmath.tanh")
def tanh(x: float32) -> float32:
    """The hyperbolic tangent of ``x``; ±1 at the infinities, zeros and NaN stay.

    >>> wp.tanh(0.0)
    0.0
    """
    u = m.fmul(x, x)
    p = m.fma(u, 0.002145308069884777, -0.008182975463569164)
    p = m.fma(p, u, 0.021704532206058502)
    p = m.fma(p, u, -0.05394785478711128)
    p = m.fma(p, u, 0.13333219289779663)
    p = m.fma(p, u, -0.3333333134651184)
    near = m.fma(m.fmul(u, x), p, x)
    magnitude = m.fabs(x)
    # exp(2a) = 2^z, which is 2^26 at most
    z = m.fmul(min(magnitude, 9.2), 2.885390043258667)
    shifted = z + ROUND32
    part = z - (shifted - ROUND32)
    scale = m.bitcast((m.bitcast(shifted, int32) << 23) + 0x3F800000, float32)
    grown = m.fma(m.fmul(part, _exp2_slope32(part)), scale, scale)
    far = 1.0 - 2.0 / (grown + 1.0)
    return m.copysign(m.select(magnitude < 0.6, near, far), x)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.tanh")
def tanh(x: float64) -> float64:
    limited = min(m.fabs(x), 22.0)
    e, e_low = _expm1_pair(limited + limited)
    # (exp(2a) - 1) / (exp(2a) + 1), the quotient corrected by its remainder.
    d, d_low = _two_sum(e, 2.0)
    q = e / d
    rest = m.fma(-q, d_low + e_low, m.fma(-q, d, e) + e_low)
    return m.copysign(q + rest / d, x)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.tanh")
def tanh(x: Half) -> Half:
    return type(x)(tanh(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.sinh")
def sinh(x: float32) -> float32:
    """The hyperbolic sine of ``x``; overflow gives infinity, zeros and NaN stay.

    >>> wp.sinh(0.0)
    0.0
    """
    sine, cosine, c, s = _hyperbolic_parts32(m.fabs(x))
    return m.copysign(m.fma(sine, c, m.fmul(cosine, s)) + s, x)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.sinh")
def sinh(x: float64) -> float64:
    magnitude = m.fabs(x)
    # (E + E / (E + 1)) / 2 with E = exp(a) - 1, both terms in two parts: nothing cancels.
    e, e_low = _expm1_pair(min(magnitude, 40.0))
    d, d_low = _two_sum(e, 1.0)
    q = e / d
    rest = m.fma(-q, d_low + e_low, m.fma(-q, d, e) + e_low)
    total = e + q
    near = m.fmul(total + (((e - total) + q) + (e_low + rest / d)), 0.5)
    half, half_low = _half_exp(min(magnitude, 711.0))
    far = half + half_low
    return m.copysign(m.select(magnitude < 30.0, near, far), x)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.sinh")
def sinh(x: Half) -> Half:
    return type(x)(sinh(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.cosh")
def cosh(x: float32) -> float32:
    """The hyperbolic cosine of ``x``; overflow gives infinity, NaN stays.

    >>> wp.cosh(0.0)
    1.0
    """
    sine, cosine, c, s = _hyperbolic_parts32(m.fabs(x))
    return m.fma(cosine, c, m.fmul(sine, s)) + c


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.cosh")
def cosh(x: float64) -> float64:
    half, half_low = _half_exp(min(m.fabs(x), 711.0))
    return half + (half_low + 0.25 / half)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.cosh")
def cosh(x: Half) -> Half:
    return type(x)(cosh(float32(x)))


@helper
def _hyperbolic_parts32(a: float32):
    """``(sinh(r), cosh(r) - 1, cosh(n ln(2)), sinh(n ln(2)))`` with ``a = r + n ln(2)``, for ``a``
    from 0: the addition theorems need no more, and nothing cancels.

    ``n`` is 128 at most, up to which half its power of two is finite; so ``|r|`` is at most 0.7.
    """
    limited = min(a, 90.0)
    shifted = min(m.fma(limited, LOG2E_HIGH32, ROUND32), ROUND32 + 128.0)
    n = shifted - ROUND32
    r = m.fma(n, -LN2_LOW32, m.fma(n, -LN2_HIGH32, limited))
    u = m.fmul(r, r)
    p = m.fma(m.fma(u, 0.00020109247998334467, 0.008332551456987858), u, 0.16666673123836517)
    sine = m.fma(m.fmul(u, r), p, r)
    q = m.fma(m.fma(u, 0.0014123664004728198, 0.04165999963879585), u, 0.500000536441803)
    k = m.bitcast(shifted, int32) << 23
    grown = m.bitcast(k + 0x3F000000, float32)
    shrunk = m.bitcast(m.smax(0x3F000000 - k, int32(0)), float32)
    return sine, m.fmul(u, q), grown + shrunk, grown - shrunk


@helper
def _two_sum(a: float64, b: float64):
    """The rounded sum and its error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@helper
def _reduced_exp(a: float64):
    """``(e, e_low, k)`` with exp(a) = 2^k (1 + e + e_low), for ``a`` from 0 to 711."""
    shifted = m.fma(a, LOG2E_HIGH, ROUND64)
    n = shifted - ROUND64
    first = m.fma(n, -LN2_HIGH, a)  # exact
    rest = m.fmul(n, -LN2_LOW)
    r = first + rest
    q = m.fma(m.fmul(r, r), _exp_tail64(r), (first - r) + rest)
    e = r + q
    return e, (r - e) + q, m.bitcast(shifted, int64) - ROUND64_BITS


@helper
def _expm1_pair(a: float64):
    """exp(a) - 1 in two parts, for ``a`` from 0 to 200."""
    e, e_low, k = _reduced_exp(a)
    scale = m.bitcast((k + 1023) << 52, float64)
    scaled = m.fmul(e, scale)
    whole = scale - 1.0
    high = whole + scaled
    low = ((whole - high) + scaled) + m.fmul(e_low, scale)
    total = high + low
    return total, (high - total) + low


@helper
def _half_exp(a: float64):
    """exp(a) / 2 in two parts, for ``a`` from 0 to 711."""
    e, e_low, k = _reduced_exp(a)
    y = e + 1.0
    low = ((1.0 - y) + e) + e_low
    return _scale64(y, k - 1), _scale64(low, k - 1)
