"""Exponentials, logarithms and powers.

Every function is IEEE arithmetic with explicit fma, so its bits do not depend on the device. What
few arguments need (results that are no normal numbers) stands in a branch. The polynomials are
near-minimax fits of the *relative* error of the result (Lawson-weighted least squares in 200-bit
arithmetic, coefficients rounded one after another and the rest fitted again). Rounding to an
integer adds 1.5 * 2^23 (2^52 in float64) and reads the integer off the low bits.
"""

from heald.library.arithmetic import max, min
from heald.library.language import Full, Half, float32, float64, int32, int64, m
from heald.library.registry import Ulp, builtin, helper

GROUP = "Scalar math"
INF = float("inf")
NAN = float("nan")

ROUND32 = 12582912.0
ROUND64 = 6755399441055744.0
ROUND64_BITS = 0x4338000000000000

LN2_HIGH32, LN2_LOW32 = 0.6931471824645996, -1.9046542121259336e-09
LN2_SHORT32, LN2_REST32 = 0.693145751953125, 1.428606765330187e-06  # 15 bits, so e * it is exact
LOG2E_HIGH32 = 1.4426950216293335
LOG10_2_SHORT32, LOG10_2_REST32 = 0.301025390625, 4.605039066518657e-06

NORMAL_EXP32 = 0x42AE0000  # bits of 87: e to the power of what is smaller is a normal number
NORMAL_EXP2_32 = 0x42FB0000  # bits of 125.5: the same for powers of 2

LN2_HIGH, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
LN2_SHORT, LN2_REST = 0.6931471805598903, 5.497923018708371e-14  # 42 bits, so e * it is exact
LOG2E_HIGH, LOG2E_LOW = 1.4426950408889634, 2.0355273740931033e-17
LOG10E_HIGH, LOG10E_LOW = 0.4342944819032518, 1.098319650216765e-17
LOG10_2_SHORT, LOG10_2_REST = 0.30102999566395283, 2.8363394551044964e-14


# -- exp -------------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(1.1), reference="mpmath.exp")
def exp(x: float32) -> float32:
    """e to the power ``x``.

    Overflow gives infinity, underflow goes through the subnormals to 0, ``-inf`` gives 0, NaN
    stays.

    >>> wp.exp(0.0)
    1.0
    """
    shifted = m.fma(x, LOG2E_HIGH32, ROUND32)
    n = shifted - ROUND32
    r = m.fma(n, -LN2_LOW32, m.fma(n, -LN2_HIGH32, x))
    y = m.fma(m.fmul(r, r), _exp_tail32(r), r) + 1.0
    result = _shift32(y, shifted)
    if m.bitcast(m.fabs(x), int32) > NORMAL_EXP32:
        result = _beyond32(x, -104.0, 89.0, _scale32(y, shifted))
    return result


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.exp")
def exp(x: float64) -> float64:
    return _exp_pair(min(max(x, -746.0), 710.0), 0.0)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.exp")
def exp(x: Half) -> Half:
    return type(x)(exp(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.exp2")
def exp2(x: float32) -> float32:
    """2 to the power ``x``; exact for integers.

    Overflow gives infinity, underflow goes through the subnormals to 0, ``-inf`` gives 0, NaN
    stays.

    >>> wp.exp2(3.0)
    8.0
    """
    shifted = x + ROUND32
    part = x - (shifted - ROUND32)
    y = m.fma(part, _exp2_slope32(part), 1.0)
    result = _shift32(y, shifted)
    if m.bitcast(m.fabs(x), int32) > NORMAL_EXP2_32:
        result = _beyond32(x, -151.0, 129.0, _scale32(y, shifted))
    return result


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.exp2")
def exp2(x: float64) -> float64:
    clamped = min(max(x, -1076.0), 1025.0)
    shifted = clamped + ROUND64
    part = clamped - (shifted - ROUND64)
    r = m.fmul(part, LN2_HIGH)
    low = m.fma(part, LN2_LOW, m.fma(part, LN2_HIGH, -r))
    return _scale64(_exp_sum(r, low), m.bitcast(shifted, int64) - ROUND64_BITS)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.exp2")
def exp2(x: Half) -> Half:
    return type(x)(exp2(float32(x)))


@helper
def _exp_tail32(r: float32) -> float32:
    """(exp(r) - 1 - r) / r² for ``|r| <= ln(2) / 2``."""
    p = m.fma(r, 0.0013938631163910031, 0.00836966186761856)
    p = m.fma(p, r, 0.0416664257645607)
    p = m.fma(p, r, 0.16666512191295624)
    return m.fma(p, r, 0.5)


@helper
def _exp2_slope32(x: float32) -> float32:
    """(2^x - 1) / x for ``|x| <= 1/2``."""
    p = m.fma(x, 0.00015328907466027886, 0.0013390976237133145)
    p = m.fma(p, x, 0.009618500247597694)
    p = m.fma(p, x, 0.05550359562039375)
    p = m.fma(p, x, 0.24022647738456726)
    return m.fma(p, x, 0.6931471824645996)


@helper
def _exp_tail64(r: float64) -> float64:
    """(exp(r) - 1 - r) / r² for ``|r| <= ln(2) / 2``, pairwise (Estrin)."""
    r2 = m.fmul(r, r)
    r4 = m.fmul(r2, r2)
    a = m.fma(r, 0.16666666666666685, 0.5)
    b = m.fma(r, 0.008333333333315639, 0.0416666666666667)
    c = m.fma(r, 0.00019841269899934863, 0.0013888888888865345)
    d = m.fma(r, 2.755723125534262e-06, 2.4801587365036317e-05)
    e = m.fma(r, 2.5113307121901736e-08, 2.7557238540058406e-07)
    a = m.fma(b, r2, a)
    c = m.fma(d, r2, c)
    e = m.fma(r2, 2.0925767816991216e-09, e)
    return m.fma(m.fma(e, r4, c), r4, a)


@helper
def _exp_sum(r: float64, low: float64) -> float64:
    """exp(r + low) for ``|r| <= ln(2) / 2``; sums carry their errors, so about 0.53 ulp."""
    q = m.fma(m.fmul(r, r), _exp_tail64(r), low)
    e = r + q
    e_low = (r - e) + q
    y = e + 1.0
    return y + (((1.0 - y) + e) + e_low)


@helper
def _exp_pair(high: float64, low: float64) -> float64:
    """exp(high + low) for ``high`` from -746 to 710."""
    shifted = m.fma(high, LOG2E_HIGH, ROUND64)
    n = shifted - ROUND64
    first = m.fma(n, -LN2_HIGH, high)  # exact
    rest = m.fma(n, -LN2_LOW, low)
    r = first + rest
    r_low = (first - r) + rest
    return _scale64(_exp_sum(r, r_low), m.bitcast(shifted, int64) - ROUND64_BITS)


@helper
def _shift32(y: float32, shifted: float32) -> float32:
    """``y * 2^k`` for ``shifted = k + ROUND32``, where that is a normal number."""
    return m.bitcast(m.bitcast(y, int32) + (m.bitcast(shifted, int32) << 23), float32)


@helper
def _scale32(y: float32, shifted: float32) -> float32:
    """``y * 2^k`` for ``shifted = k + ROUND32``, rounded once: the first of the two products is
    exact."""
    bits = m.bitcast(shifted, int32)  # of which << 23 keeps those of k only, halved or not
    half = bits >> 1
    once = m.fmul(y, m.bitcast((half << 23) + 0x3F800000, float32))
    return m.fmul(once, m.bitcast(((bits - half) << 23) + 0x3F800000, float32))


@helper
def _beyond32(x: float32, least: float32, most: float32, power: float32) -> float32:
    """``power``, replaced by 0 where ``x`` is below ``least`` and by infinity above ``most``."""
    return m.select(x > most, INF, m.select(x < least, float32(0), power))


@helper
def _scale64(y: float64, k: int64) -> float64:
    """``y * 2^k``, rounded once: the first of the two products is exact."""
    half = k >> 1
    once = m.fmul(y, m.bitcast((half + 1023) << 52, float64))
    return m.fmul(once, m.bitcast((k - half + 1023) << 52, float64))


# -- log -------------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.log")
def log(x: float32) -> float32:
    """The natural logarithm of ``x``.

    ``0`` and ``-0`` give ``-inf``, other negative numbers give NaN, infinity and NaN stay.

    >>> wp.log(1.0)
    0.0
    """
    f, e = _reduce32(x)
    rest = m.fma(e, LN2_REST32, _log_cubic32(f))
    rest = m.fma(m.fmul(f, f), -0.5, rest)
    return m.fma(e, LN2_SHORT32, f + rest)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.log")
def log(x: float64) -> float64:
    f, e = _reduce64(x)
    s = f / (f + 2.0)
    half_square = m.fmul(m.fmul(f, f), 0.5)
    # log(1 + f) = f - f²/2 + s (f²/2 + R(s²)), as in fdlibm: the large terms are exact or small.
    rest = m.fma(s, half_square + _log_tail64(m.fmul(s, s)), m.fmul(e, LN2_REST))
    return _log_special(x, m.fma(e, LN2_SHORT, f - (half_square - rest)))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.log")
def log(x: Half) -> Half:
    return type(x)(log(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.log2")
def log2(x: float32) -> float32:
    """The logarithm of ``x`` to base 2; exact for powers of two.

    ``0`` and ``-0`` give ``-inf``, other negative numbers give NaN, infinity and NaN stay.

    >>> wp.log2(8.0)
    3.0
    """
    f, e = _reduce32(x)
    p = m.fma(f, -0.09785883128643036, 0.17370203137397766)
    p = m.fma(p, f, -0.19062885642051697)
    p = m.fma(p, f, 0.20693926513195038)
    p = m.fma(p, f, -0.23989082872867584)
    p = m.fma(p, f, 0.2884126901626587)
    p = m.fma(p, f, -0.3606821596622467)
    p = m.fma(p, f, 0.48090222477912903)
    p = m.fma(p, f, -0.7213475108146667)
    return m.fma(f, m.fma(p, f, 1.4426950216293335), e)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.log2")
def log2(x: float64) -> float64:
    f, e = _reduce64(x)
    log_high, log_low = _log_pair64(f)
    high = m.fmul(log_high, LOG2E_HIGH)
    low = m.fma(log_low, LOG2E_HIGH, m.fma(log_high, LOG2E_LOW, m.fma(log_high, LOG2E_HIGH, -high)))
    total = e + high
    return _log_special(x, total + (((e - total) + high) + low))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.log2")
def log2(x: Half) -> Half:
    return type(x)(log2(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.log10")
def log10(x: float32) -> float32:
    """The logarithm of ``x`` to base 10.

    ``0`` and ``-0`` give ``-inf``, other negative numbers give NaN, infinity and NaN stay.

    >>> wp.log10(1000.0)
    3.0
    """
    f, e = _reduce32(x)
    p = m.fma(f, -0.04908624291419983, 0.06295405328273773)
    p = m.fma(p, f, -0.05385018512606621)
    p = m.fma(p, f, 0.06002071127295494)
    p = m.fma(p, f, -0.07241229712963104)
    p = m.fma(p, f, 0.08698103576898575)
    p = m.fma(p, f, -0.10857265442609787)
    p = m.fma(p, f, 0.1447620838880539)
    p = m.fma(p, f, -0.21714724600315094)
    rest = m.fma(e, LOG10_2_REST32, m.fmul(f, m.fma(p, f, 0.4342944920063019)))
    return m.fma(e, LOG10_2_SHORT32, rest)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.log10")
def log10(x: float64) -> float64:
    f, e = _reduce64(x)
    log_high, log_low = _log_pair64(f)
    high = m.fmul(log_high, LOG10E_HIGH)
    low = m.fma(
        log_low, LOG10E_HIGH, m.fma(log_high, LOG10E_LOW, m.fma(log_high, LOG10E_HIGH, -high))
    )
    exponent = m.fmul(e, LOG10_2_SHORT)
    total = exponent + high
    low = m.fma(e, LOG10_2_REST, low)
    return _log_special(x, total + (((exponent - total) + high) + low))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.log10")
def log10(x: Half) -> Half:
    return type(x)(log10(float32(x)))


@helper
def _reduce32(x: float32):
    """``(f, e)`` with ``x = (1 + f) * 2^e`` and 1 + f from sqrt(1/2) to sqrt(2); f is exact.

    Where ``x`` has no such form, f is 0 and e is the logarithm: an infinity or NaN.
    """
    bits = m.bitcast(x, int32)
    k = (bits - 0x3F3504F3) >> 23
    f, e = m.bitcast(bits - (k << 23), float32) - 1.0, float32(k)
    if not _is_normal32(x):
        bits = m.bitcast(m.fmul(x, 8388608.0), int32)
        k = (bits - 0x3F3504F3) >> 23
        subnormal = (x > 0) & (x < 1.0)
        f = m.select(subnormal, m.bitcast(bits - (k << 23), float32) - 1.0, float32(0))
        e = m.select(subnormal, float32(k - 23), _log_special(x, x))
    return f, e


@helper
def _is_normal32(x: float32):
    """Is ``x`` positive, finite and no subnormal number?"""
    return m.icmp(m.bitcast(x, int32) - 0x00800000, 0x7F000000, pred="ult")


@helper
def _reduce64(x: float64):
    """``(f, e)`` with ``x = (1 + f) * 2^e`` and 1 + f from sqrt(1/2) to sqrt(2); f is exact."""
    tiny = x < 2.2250738585072014e-308
    bits = m.bitcast(m.select(tiny, m.fmul(x, 4503599627370496.0), x), int64)
    e = (bits - 0x3FE6A09E667F3BCD) >> 52
    f = m.bitcast(bits - (e << 52), float64) - 1.0
    return f, float64(e - m.select(tiny, int64(52), int64(0)))


@helper
def _log_cubic32(f: float32) -> float32:
    """log(1 + f) - f + f²/2."""
    p = m.fma(f, -0.0762506052851677, 0.12759536504745483)
    p = m.fma(p, f, -0.1316242218017578)
    p = m.fma(p, f, 0.14202053844928741)
    p = m.fma(p, f, -0.16623182594776154)
    p = m.fma(p, f, 0.2000122219324112)
    p = m.fma(p, f, -0.2500082552433014)
    p = m.fma(p, f, 0.3333333134651184)
    return m.fmul(m.fmul(m.fmul(f, f), f), p)


@helper
def _log_tail64(u: float64) -> float64:
    """(2 atanh(s) - 2 s) / s as a function of ``u = s²``, pairwise (Estrin)."""
    u2 = m.fmul(u, u)
    u4 = m.fmul(u2, u2)
    a = m.fma(u, 0.40000000000004926, 0.6666666666666666)
    b = m.fma(u, 0.2222222260728769, 0.28571428569409624)
    c = m.fma(u, 0.1538699041447123, 0.1818177832405621)
    d = m.fma(u, 0.13235151645922907, 0.13252109496686143)
    return m.fmul(u, m.fma(m.fma(d, u2, c), u4, m.fma(b, u2, a)))


@helper
def _log_pair64(f: float64):
    """``(high, low)`` with about 100 good bits: log(1 + f) = 2 atanh(s), s = f / (f + 2).

    s, s² and the first two terms of the series are carried in two parts; the tail is a polynomial.
    """
    d = f + 2.0
    d_low = f - (d - 2.0)
    s = f / d
    s_low = m.fma(-s, d_low, m.fma(-s, d, f)) / d
    u = m.fmul(s, s)
    u_low = m.fma(s + s, s_low, m.fma(s, s, -u))
    u2 = m.fmul(u, u)
    p = m.fma(
        m.fma(
            m.fma(u, 0.10946677925453908, 0.10432662126001929),
            u2,
            m.fma(u, 0.11768068941516854, 0.13333261057762968),
        ),
        m.fmul(u2, u2),
        m.fma(
            m.fma(u, 0.15384616332957193, 0.1818181817445168),
            u2,
            m.fma(u, 0.22222222222252874, 0.2857142857142852),
        ),
    )
    tail = m.fmul(u, p)
    a = tail + 0.4
    a_low = ((0.4 - a) + tail) - 2.2204460492503132e-17
    v = m.fmul(u, a)
    v_low = m.fma(u_low, a, m.fma(u, a_low, m.fma(u, a, -v)))
    b = v + 0.6666666666666666
    b_low = (((0.6666666666666666 - b) + v) + v_low) + 3.700743415417188e-17
    c = m.fmul(s, u)
    c_low = m.fma(s_low, u, m.fma(s, u_low, m.fma(s, u, -c)))
    w = m.fmul(c, b)
    w_low = m.fma(c_low, b, m.fma(c, b_low, m.fma(c, b, -w)))
    twice = s + s
    high = twice + w
    return high, ((twice - high) + w) + ((s_low + s_low) + w_low)


@helper
def _log_special(x: Full, y: Full) -> Full:
    """``y``, replaced where ``x`` is zero, negative, infinite or NaN."""
    y = m.select(x == 0, type(x)(-INF), y)
    y = m.select(x < 0, type(x)(NAN), y)
    return m.select(x < INF, y, x)


# -- pow -------------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.power")
def pow(x: float32, y: float32) -> float32:
    """``x`` to the power ``y``, with the special cases of C's ``pow``.

    ``pow(x, 0)`` and ``pow(1, y)`` are 1, even for NaN; a negative finite ``x`` with a ``y`` that
    is no integer gives NaN; zeros and infinities keep the sign of ``x`` where ``y`` is an odd
    integer. Computed in float64, so almost always correctly rounded.

    >>> wp.pow(2.0, 10.0)
    1024.0
    """
    f, e = _reduce32(m.fabs(x))
    f64 = float64(f)
    s = f64 / (f64 + 2.0)
    log_m = m.fma(s, _log_tail64(m.fmul(s, s)), s + s)
    z = m.fmul(float64(y), m.fma(log_m, LOG2E_HIGH, float64(e)))
    z = min(max(z, -200.0), 200.0)
    shifted = z + ROUND64
    r = m.fmul(z - (shifted - ROUND64), LN2_HIGH)
    power = m.fma(m.fmul(r, r), _exp_tail48(r), r) + 1.0
    scale = m.bitcast((m.bitcast(shifted, int64) - ROUND64_BITS + 1023) << 52, float64)
    result = float32(m.fmul(power, scale))
    if not (_is_normal32(x) & (m.fabs(y) < INF)):
        result = _pow_special(x, y, result)
    return result


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.power")
def pow(x: float64, y: float64) -> float64:
    f, e = _reduce64(m.fabs(x))
    log_high, log_low = _log_pair64(f)
    exponent = m.fmul(e, LN2_SHORT)
    first = exponent + log_high
    rest = m.fma(e, LN2_REST, ((exponent - first) + log_high) + log_low)
    high = first + rest
    low = (first - high) + rest
    z = m.fmul(y, high)
    z_low = m.fma(y, low, m.fma(y, high, -z))
    inside = m.fabs(z) < 800.0
    power = _exp_pair(min(max(z, -746.0), 710.0), m.select(inside, z_low, 0.0))
    return _pow_special(x, y, power)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.power")
def pow(x: Half, y: Half) -> Half:
    return type(x)(pow(float32(x), float32(y)))


@helper
def _exp_tail48(r: float64) -> float64:
    """(exp(r) - 1 - r) / r² to about 48 bits, enough for a float32 result."""
    r2 = m.fmul(r, r)
    r4 = m.fmul(r2, r2)
    a = m.fma(r, 0.16666666666605376, 0.5000000000000017)
    b = m.fma(r, 0.008333333373867784, 0.04166666666646911)
    c = m.fma(r, 0.0001984118091685067, 0.0013888888960753387)
    d = m.fma(r, 2.763690514953669e-06, 2.4801474977599175e-05)
    a = m.fma(b, r2, a)
    c = m.fma(d, r2, c)
    return m.fma(m.fma(r4, 2.763672002004666e-07, c), r4, a)


@helper
def _pow_special(x: Full, y: Full, power: Full) -> Full:
    """``power`` of ``|x|``, made the power of ``x``: C Annex F.10.4.4."""
    zero = type(x)(0)
    infinity = type(x)(INF)
    magnitude = m.fabs(x)
    positive = y > 0
    power = m.select(magnitude == 0, m.select(positive, zero, infinity), power)
    power = m.select(magnitude == INF, m.select(positive, infinity, zero), power)
    grows = (magnitude > 1) ^ (y < 0)
    beyond = m.select(magnitude == 1, type(x)(1), m.select(grows, infinity, zero))
    power = m.select(m.fabs(y) == INF, beyond, power)
    half = m.fmul(y, 0.5)
    whole = m.rint(y) == y
    odd = whole & (m.rint(half) != half)
    power = m.select(odd, m.copysign(power, x), power)
    power = m.select((x < 0) & (x > -INF) & (power == power) & ~whole, type(x)(NAN), power)
    power = m.select((x != x) | (y != y), x + y, power)
    return m.select((y == 0) | (x == 1), type(x)(1), power)
