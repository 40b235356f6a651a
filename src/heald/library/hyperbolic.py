"""Hyperbolic functions."""

from heald.library.arithmetic import min
from heald.library.exponential import (
    LN2_HIGH,
    LN2_LOW,
    LOG2E_HIGH,
    ROUND64,
    ROUND64_BITS,
    _exp_tail64,
    _scale64,
    exp,
)
from heald.library.language import Half, float32, float64, int64, m
from heald.library.registry import Ulp, builtin, helper

GROUP = "Scalar math"


@builtin(group=GROUP, accuracy=Ulp(1.5), reference="mpmath.tanh")
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
    limited = min(magnitude, 10.0)
    far = 1.0 - 2.0 / (exp(limited + limited) + 1.0)
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


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.sinh")
def sinh(x: float32) -> float32:
    """The hyperbolic sine of ``x``; overflow gives infinity, zeros and NaN stay.

    float32 is computed in float64.

    >>> wp.sinh(0.0)
    0.0
    """
    e, _ = _expm1_pair(min(m.fabs(float64(x)), 100.0))
    return m.copysign(float32(m.fmul(e + e / (e + 1.0), 0.5)), x)


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


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.cosh")
def cosh(x: float32) -> float32:
    """The hyperbolic cosine of ``x``; overflow gives infinity, NaN stays.

    float32 is computed in float64.

    >>> wp.cosh(0.0)
    1.0
    """
    half, _ = _half_exp(min(m.fabs(float64(x)), 100.0))
    return float32(half + 0.25 / half)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.cosh")
def cosh(x: float64) -> float64:
    half, half_low = _half_exp(min(m.fabs(x), 711.0))
    return half + (half_low + 0.25 / half)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.cosh")
def cosh(x: Half) -> Half:
    return type(x)(cosh(float32(x)))


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
