"""Sines, cosines and tangents.

Reduction modulo π/2 (modulo π for sine and cosine of float32, which then need one polynomial)
subtracts n times it in three parts with fma while n is small; beyond that it multiplies the
significand by the right stretch of the bits of 2/π (Payne and Hanek), good for every finite
argument.  Polynomials are near-minimax fits of the relative error of the result.
"""

from heald.library.arithmetic import min
from heald.library.exponential import ROUND32, ROUND64
from heald.library.language import Half, float32, float64, int32, int64, m, uint64
from heald.library.registry import Ulp, builtin, helper

GROUP = "Scalar math"
INF = float("inf")
NAN = float("nan")

TWO_OVER_PI = 0.6366197723675814
ONE_OVER_PI32 = 0.31830987334251404
PI32_A, PI32_B, PI32_C = 3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15
HALF_PI_A, HALF_PI_B = 1.5707963267948966, 6.123233995736766e-17
HALF_PI_C = -1.4973849048591698e-33
LARGE32_BITS = 0x47CE4780  # of 105615
LARGE_TAN32 = 4096.0  # beyond, quotients would be off by so much that r exceeds π/4 too far
LARGE64 = 1048576.0


@builtin(group=GROUP, accuracy=Ulp(1.8), reference="mpmath.sin")
def sin(x: float32) -> float32:
    """The sine of ``x`` radians, for every finite ``x``; infinities and NaN give NaN, ``-0`` stays.

    >>> wp.sin(0.0)
    0.0
    """
    size = m.fabs(x)
    shifted = m.fma(size, ONE_OVER_PI32, ROUND32)
    r = _less_multiple_of_pi32(size, shifted - ROUND32)
    half_turns = m.bitcast(shifted, int32)
    if m.bitcast(size, int32) > LARGE32_BITS:
        r, half_turns = _half_turns32(size, _phase32(size))
    return _sine32(r, (half_turns << 31) ^ m.bitcast(x, int32))


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.sin")
def sin(x: float64) -> float64:
    r, low, quadrant = _reduce64(x)
    return m.select(x == 0, x, _sine64(r, low, quadrant))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.sin")
def sin(x: Half) -> Half:
    return type(x)(sin(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(1.9), reference="mpmath.cos")
def cos(x: float32) -> float32:
    """The cosine of ``x`` radians, for every finite ``x``; infinities and NaN give NaN.

    >>> wp.cos(0.0)
    1.0
    """
    # cos(x) = -sin(x - h π) for h = 1/2, and h + 1 flips the sign.
    size = m.fabs(x)
    shifted = m.fma(size, ONE_OVER_PI32, -0.5) + ROUND32
    r = _less_multiple_of_pi32(size, (shifted - ROUND32) + 0.5)
    half_turns = m.bitcast(shifted, int32) + 1
    if m.bitcast(size, int32) > LARGE32_BITS:
        r, half_turns = _half_turns32(size, m.iadd(_phase32(size), uint64(1) << 62))
    return _sine32(r, half_turns << 31)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.cos")
def cos(x: float64) -> float64:
    r, low, quadrant = _reduce64(x)
    return _sine64(r, low, quadrant + 1)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.cos")
def cos(x: Half) -> Half:
    return type(x)(cos(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(1.9), reference="mpmath.tan")
def tan(x: float32) -> float32:
    """The tangent of ``x`` radians, for every finite ``x``; infinities and NaN give NaN.

    Zeros keep their sign.

    >>> wp.tan(0.0)
    0.0
    """
    shifted = m.fma(x, TWO_OVER_PI, ROUND32)
    n = m.fmul(shifted - ROUND32, 0.5)
    quadrant = m.bitcast(shifted, int32)
    first = m.fma(n, -PI32_A, x)  # exact
    product = m.fmul(n, PI32_B)
    r = first - product
    low = m.fma(n, -PI32_C, ((first - r) - product) - m.fma(n, PI32_B, -product))
    if m.fabs(x) > LARGE_TAN32:
        r, low, quadrant = _quadrants32(x)
    u = m.fmul(r, r)
    p = m.fma(u, 0.004383586347103119, 7.76875313022174e-05)
    p = m.fma(p, u, 0.010842228308320045)
    p = m.fma(p, u, 0.021281201392412186)
    p = m.fma(p, u, 0.054059699177742004)
    p = m.fma(p, u, 0.1333267092704773)
    p = m.fma(p, u, 0.33333349227905273)
    t = m.fma(m.fmul(u, r), p, m.fma(low, u, low)) + r
    y = m.select((quadrant & 1) != 0, -1.0 / t, t)
    return m.select(x == 0, x, y)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.tan")
def tan(x: float64) -> float64:
    r, low, quadrant = _reduce64(x)
    s, s_low, c, c_low = _sine_cosine64(r, low)
    odd = (quadrant & 1) != 0
    top, top_low = m.select(odd, c, s), m.select(odd, c_low, s_low)
    bottom, bottom_low = m.select(odd, -s, c), m.select(odd, -s_low, c_low)
    q = top / bottom
    rest = m.fma(-q, bottom_low, m.fma(-q, bottom, top) + top_low)
    y = q + rest / bottom
    return m.select(x == 0, x, y)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.tan")
def tan(x: Half) -> Half:
    return type(x)(tan(float32(x)))


# -- sine of a reduced argument ------------------------------------------------------------------


@helper
def _sine32(r: float32, flips: int32) -> float32:
    """sin(r) for ``|r|`` up to just over π/2, negated where the sign bit of ``flips`` is set."""
    size = m.fabs(r)
    u = m.fmul(r, r)
    p = m.fma(u, 2.60572824117844e-06, -0.00019809654622804374)
    p = m.fma(p, u, 0.00833306834101677)
    p = m.fma(p, u, -0.16666659712791443)
    y = min(m.fma(m.fmul(u, size), p, size), 1.0)
    return m.copysign(y, m.bitcast(m.bitcast(r, int32) ^ flips, float32))


@helper
def _sine64(r: float64, low: float64, quadrant: int64) -> float64:
    """sin(r + low + quadrant · π/2) for ``|r| <= π/4``."""
    s, _, c, _ = _sine_cosine64(r, low)
    v = m.select((quadrant & 1) != 0, c, s)
    return m.bitcast(m.bitcast(v, int64) ^ ((quadrant & 2) << 62), float64)


@helper
def _sine_cosine64(r: float64, low: float64):
    """Sine and cosine of ``r + low`` for ``|r| <= π/4``, each rounded and what it lacks."""
    u = m.fmul(r, r)
    u2 = m.fmul(u, u)
    u4 = m.fmul(u2, u2)
    p = m.fma(
        m.fma(u, -2.5052071689851827e-08, 2.7557319076951213e-06),
        u2,
        m.fma(u, -0.00019841269840967804, 0.008333333333333045),
    )
    q = m.fma(u, -7.393822582011591e-13, 1.6054405129826343e-10)
    p = m.fma(m.fmul(u4, u), q, m.fma(p, u, -0.16666666666666666))
    s_rest = m.fma(m.fmul(u, r), p, low)
    s = r + s_rest
    q = m.fma(
        m.fma(u, -1.146700462782265e-11, 2.0876723194850243e-09),
        u2,
        m.fma(u, -2.755731906542261e-07, 2.480158730118986e-05),
    )
    q = m.fma(u4, 4.5993511236850173e-14, q)
    q = m.fma(q, u2, m.fma(u, -0.0013888888888888395, 0.041666666666666664))
    half = m.fmul(u, 0.5)
    first = 1.0 - half
    c_rest = ((1.0 - first) - half) + m.fma(u2, q, m.fmul(-r, low))
    c = first + c_rest
    return s, (r - s) + s_rest, c, (first - c) + c_rest


# -- reduction modulo π and π/2 -------------------------------------------------------------------


@helper
def _less_multiple_of_pi32(x: float32, n: float32) -> float32:
    """``x - n π``; the first difference is exact."""
    return m.fma(n, -PI32_C, m.fma(n, -PI32_B, m.fma(n, -PI32_A, x)))


@helper
def _half_turns32(x: float32, phase: uint64):
    """``(r, half_turns)`` of a phase of which one turn is 2^64; ``r`` is NaN where ``x`` is
    infinite or NaN."""
    half_turns = m.iadd(phase, uint64(1) << 62) >> 63
    fraction = m.bitcast(m.isub(phase, half_turns << 63), int64)
    r = float32(m.fmul(float64(fraction), 3.4061215800865545e-19))  # π · 2^-63
    return m.select(m.fabs(x) < INF, r, NAN), int32(half_turns)


@helper
def _quadrants32(x: float32):
    """``(r, low, quadrant)`` with ``x = r + low + quadrant · π/2``; NaN where ``x`` is infinite."""
    phase = _phase32(x)
    quadrant = m.iadd(phase, uint64(1) << 61) >> 62
    fraction = m.bitcast(m.isub(phase, quadrant << 62), int64)
    wide = m.fmul(float64(fraction), 3.4061215800865545e-19)  # π · 2^-63
    wide = m.select(x < 0, -wide, wide)
    r = float32(wide)
    low = float32(wide - float64(r))
    return m.select(m.fabs(x) == INF, NAN, r), low, int32(quadrant)


@helper
def _phase32(x: float32) -> uint64:
    """``|x|`` modulo 2π, one turn being 2^64: 64 bits of ``|x| · 2/π`` modulo 4 from 96 bits of
    2/π."""
    bits = m.bitcast(x, int32)
    exponent = ((bits >> 23) & 255) - 150  # of the last place of the significand
    significand = uint64((bits & 0x7FFFFF) | 0x800000)
    # 32-bit words of 2/π after one word of zeros; the stretch starts at bit `position`.
    position = exponent + 30
    word = position >> 5
    four, two, one = (word & 4) != 0, (word & 2) != 0, (word & 1) != 0
    zero = uint64(0)
    w0 = m.select(four, uint64(0xF534DDC0), zero)
    w1 = m.select(four, uint64(0xDB629599), uint64(0xA2F9836E))
    w2 = m.select(four, uint64(0x3C439041), uint64(0x4E441529))
    w3 = m.select(four, uint64(0xFE5163AB), uint64(0xFC2757D1))
    w4, w5, w6 = uint64(0xF534DDC0), uint64(0xDB629599), uint64(0x3C439041)
    w0, w1, w2 = m.select(two, w2, w0), m.select(two, w3, w1), m.select(two, w4, w2)
    w3, w4 = m.select(two, w5, w3), m.select(two, w6, w4)
    w0, w1 = m.select(one, w1, w0), m.select(one, w2, w1)
    w2, w3 = m.select(one, w3, w2), m.select(one, w4, w3)
    right = uint64(32 - (position & 31))
    mask = uint64(0xFFFFFFFF)
    a = (((w0 << 32) | w1) >> right) & mask
    b = (((w1 << 32) | w2) >> right) & mask
    c = (((w2 << 32) | w3) >> right) & mask
    sum_c = significand * c
    sum_b = m.iadd(m.imul(significand, b), sum_c >> 32)
    sum_a = m.iadd(m.imul(significand, a), sum_b >> 32)
    return (sum_a << 32) | (sum_b & mask)


@helper
def _reduce64(x: float64):
    """``(r, low, quadrant)`` with ``x = r + low + quadrant · π/2``, ``|r|`` to just over π/4.

    ``r`` is NaN where ``x`` is infinite.
    """
    shifted = m.fma(x, TWO_OVER_PI, ROUND64)
    n = shifted - ROUND64
    quadrant = m.bitcast(shifted, int64)
    r0 = m.fma(n, -HALF_PI_A, x)  # exact
    # r0 - n * B with the errors of both operations: near a multiple of π/2 all of r0 cancels.
    product = m.fmul(n, HALF_PI_B)
    product_low = m.fma(n, HALF_PI_B, -product)
    r1 = r0 - product
    taken = r1 - r0
    r1_low = (r0 - (r1 - taken)) - (product + taken)
    rest = m.fma(n, -HALF_PI_C, r1_low - product_low)
    r = r1 + rest
    low = (r1 - r) + rest
    if m.fabs(x) > LARGE64:
        r, low, quadrant = _reduce_large64(x)
    return r, low, quadrant


@helper
def _reduce_large64(x: float64):
    """The same by integers: 128 bits of ``x · 2/π`` modulo 4 from 192 bits of 2/π."""
    bits = m.bitcast(x, int64)
    exponent = ((bits >> 52) & 2047) - 1075  # of the last place of the significand
    significand = m.bitcast((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000, uint64)
    # The stretch of 2/π starts at bit `position`, after one word of zeros.
    position = exponent + 62
    w0, w1, w2, w3 = _two_over_pi_words(position >> 6)
    left = m.bitcast(position & 63, uint64)
    a = (w0 << left) | ((w1 >> 1) >> (63 - left))
    b = (w1 << left) | ((w2 >> 1) >> (63 - left))
    c = (w2 << left) | ((w3 >> 1) >> (63 - left))
    middle = m.imul(significand, b)
    lowest = m.iadd(middle, m.umulhi(significand, c))
    carry = m.select(lowest < middle, uint64(1), uint64(0))
    highest = m.iadd(m.iadd(m.imul(significand, a), m.umulhi(significand, b)), carry)
    # highest:lowest has 2 bits before the point and 126 after.
    quadrant = (highest + (uint64(1) << 61)) >> 62
    highest = highest - (quadrant << 62)
    below = m.bitcast(highest, int64) < 0
    lowest_negated = ~lowest + 1
    highest_negated = ~highest + m.select(lowest_negated == 0, uint64(1), uint64(0))
    lowest = m.select(below, lowest_negated, lowest)
    highest = m.select(below, highest_negated, highest)
    # Normalise, then two floats hold the first 117 bits.
    empty = highest == 0
    highest = m.select(empty, lowest, highest)
    lowest = m.select(empty, uint64(0), lowest)
    zeros = m.clz(highest)
    highest = (highest << zeros) | ((lowest >> 1) >> (63 - zeros))
    lowest = lowest << zeros
    scale_bits = 1023 - 51 - m.bitcast(zeros, int64) - m.select(empty, int64(64), int64(0))
    scale = m.bitcast(scale_bits << 52, float64)
    high = m.fmul(float64(highest >> 11), scale)
    rest = float64((highest << 53) | (lowest >> 11))
    low = m.fmul(m.fmul(rest, 5.421010862427522e-20), scale)  # 2^-64
    first = m.fmul(high, HALF_PI_A)
    second = m.fma(low, HALF_PI_A, m.fma(high, HALF_PI_B, m.fma(high, HALF_PI_A, -first)))
    r = first + second
    rest = (first - r) + second
    r = m.select(m.fabs(x) == INF, NAN, r)
    signed = m.bitcast(quadrant, int64)
    negative = x < 0
    flip = negative ^ below
    return (
        m.select(flip, -r, r),
        m.select(flip, -rest, rest),
        m.select(negative, -signed, signed),
    )


@helper
def _two_over_pi_words(word: int64):
    """Four successive 64-bit words of 2/π, the first being ``word`` (0, the word of zeros, to 16).

    The constants are shifted into place by powers of two, so no memory is read.
    """
    sixteen, eight = (word & 16) != 0, (word & 8) != 0
    four, two, one = (word & 4) != 0, (word & 2) != 0, (word & 1) != 0
    w0 = m.select(sixteen, uint64(0x7527BAC7EBE5F17B), uint64(0))
    w1 = m.select(sixteen, uint64(0x3D0739F78A5292EA), uint64(0xA2F9836E4E441529))
    w2 = m.select(sixteen, uint64(0x6BFB5FB11F8D5D08), uint64(0xFC2757D1F534DDC0))
    w3 = m.select(sixteen, uint64(0x56033046FC7B6BAB), uint64(0xDB6295993C439041))
    w4 = uint64(0xFE5163ABDEBBC561)
    w5 = uint64(0xB7246E3A424DD2E0)
    w6 = uint64(0x6492EEA09D1921C)
    w7 = uint64(0xFE1DEB1CB129A73E)
    w8 = uint64(0xE88235F52EBB4484)
    w9 = uint64(0xE99C7026B45F7E41)
    w10 = uint64(0x3991D639835339F4)
    w11 = uint64(0x9C845F8BBDF9283B)
    w12 = uint64(0x1FF897FFDE05980F)
    w13 = uint64(0xEF2F118B5A0A6D1F)
    w14 = uint64(0x6D367ECF27CB09B7)
    w15 = uint64(0x4F463F669E5FEA2D)
    w16 = uint64(0x7527BAC7EBE5F17B)
    w17 = uint64(0x3D0739F78A5292EA)
    w18 = uint64(0x6BFB5FB11F8D5D08)
    w0 = m.select(eight, w8, w0)
    w1 = m.select(eight, w9, w1)
    w2 = m.select(eight, w10, w2)
    w3 = m.select(eight, w11, w3)
    w4 = m.select(eight, w12, w4)
    w5 = m.select(eight, w13, w5)
    w6 = m.select(eight, w14, w6)
    w7 = m.select(eight, w15, w7)
    w8 = m.select(eight, w16, w8)
    w9 = m.select(eight, w17, w9)
    w10 = m.select(eight, w18, w10)
    w0 = m.select(four, w4, w0)
    w1 = m.select(four, w5, w1)
    w2 = m.select(four, w6, w2)
    w3 = m.select(four, w7, w3)
    w4 = m.select(four, w8, w4)
    w5 = m.select(four, w9, w5)
    w6 = m.select(four, w10, w6)
    w0 = m.select(two, w2, w0)
    w1 = m.select(two, w3, w1)
    w2 = m.select(two, w4, w2)
    w3 = m.select(two, w5, w3)
    w4 = m.select(two, w6, w4)
    w0 = m.select(one, w1, w0)
    w1 = m.select(one, w2, w1)
    w2 = m.select(one, w3, w2)
    w3 = m.select(one, w4, w3)
    return w0, w1, w2, w3
