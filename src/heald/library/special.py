"""The error functions, their inverses, and the cube root.

float64 is computed from polynomials of the two functions that are smooth over the whole line,
``erf(x) / x`` near zero and ``exp(x²) erfc(x)`` elsewhere (Shepherd and Laframboise, "Chebyshev
approximation of (1 + 2x) exp(x²) erfc(x)", Mathematics of Computation 36, 1981), with rounding
errors carried along; the coefficients are near-minimax fits as in ``exponential``.  float32 has
polynomials of its own: of ``log2(erfc(x))`` for erf, and of ``exp(x²) erfc(x)`` by powers of
``1 / (1 + 0.4 x)`` for erfc; the inverses are computed in float64.
"""

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
    _exp_tail32,
    _exp_tail64,
    _is_normal32,
    _scale32,
    _scale64,
    log,
)
from heald.library.language import Half, float32, float64, int32, int64, m, static
from heald.library.registry import Ulp, builtin, helper

GROUP = "Scalar math"
INF = float("inf")
NAN = float("nan")
HALF_SQRT_PI = 0.886226925452758
CBRT_SLOPE, CBRT_START = -5.086263172415784e-06, 12604578.0

# erf(x) / x - 1 by powers of x², for |x| <= 1.
NEAR_FIRST = 0.1283791670955126
NEAR = (
    6.684615836563969e-11,
    (
        -1.1830460332017383e-09,
        1.4786513982117005e-08,
        -1.63706330642085e-07,
        1.6463086593162611e-06,
        -1.492573847256115e-05,
        0.00012055337776491708,
        -0.0008548327189571041,
        0.005223977629095071,
        -0.026866170645619487,
        0.11283791670958743,
        -0.37612638903183876,
        0.1283791670955126,
    ),
)
# (1 + 2x) exp(x²) erfc(x) by powers of (x - 4) / (x + 4), for x from 0 to 27.3; the constant term
# stands apart.
FAR_FIRST = 1.2329951186255526
FAR = (
    1.2824789708108182e-09,
    (
        2.082881237174576e-09,
        -1.3643559679145676e-08,
        -1.823453554530986e-08,
        1.0869797240050393e-07,
        7.432069199668122e-08,
        -8.237915504718016e-07,
        2.9477085554443907e-07,
        5.708655128894218e-06,
        -1.1222942452711398e-05,
        -2.4398789339619498e-05,
        0.00015062214674374042,
        -0.000199256796291925,
        -0.0007577734349690548,
        0.0050319699921649,
        -0.016197734029945315,
        0.03716751553645108,
        -0.0663303658153641,
        0.09373283499837752,
        -0.10103906603611011,
        0.06809705425469295,
        0.01537965210261426,
        -0.13962111684056253,
    ),
)
# erfinv(x) / x by powers of x², for |x| <= 1/2, to 2e-13.
INVERSE_NEAR = (
    0.09647195908152673,
    (
        -0.01319328750862072,
        0.05110464699361857,
        0.04006827069758656,
        0.052048599123296374,
        0.06493774855170255,
        0.08655298792747053,
        0.1275561582832217,
        0.23201366666495463,
        0.8862269254525941,
    ),
)
# erfcinv(q) / s by powers of 1/s, s = sqrt(-log(q)): to 4e-9 for 1/s >= 1/3, to 6e-10 below.
INVERSE_FAR = (
    -0.019311577243346496,
    (
        0.16499311648052192,
        -0.6319853112377919,
        1.4385910214525524,
        -2.195820508211718,
        2.466018512249023,
        -2.27379130466746,
        1.8473524667835715,
        -1.0877190522637492,
        -0.07400193439892061,
        1.0023907081401482,
    ),
)
INVERSE_FARTHEST = (
    -2653642.2300308906,
    (
        7386232.98845416,
        -9394422.262179932,
        7236744.187032852,
        -3773758.551599153,
        1411058.1056343892,
        -391191.6634185551,
        82116.96682037057,
        -13251.221715450292,
        1670.939692322149,
        -170.4334333248532,
        16.046835015559765,
        -2.1414717858489243,
        -0.00912529935520842,
        1.0000368167150055,
    ),
)


@helper
def _polynomial(x: float64, coefficients) -> float64:
    """Horner's rule; ``coefficients`` are the highest one and the others, in descending order."""
    highest, others = coefficients
    y = float64(highest)
    for c in others:
        y = m.fma(y, x, c)
    return y


# -- erf and erfc ----------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(1.5), reference="mpmath.erf")
def erf(x: float32) -> float32:
    """The error function of ``x``: 2/√π times the integral of exp(-t²) from 0 to ``x``.

    ±1 at the infinities, zeros and NaN stay.

    >>> wp.erf(0.0)
    0.0
    """
    magnitude = m.fabs(x)
    near = _erf_near32(magnitude)
    a = min(magnitude, 4.0)
    z = m.fma(a, 0.00028597397613339126, -0.004422598518431187)  # log2(erfc(a))
    z = m.fma(z, a, 0.03219415619969368)
    z = m.fma(z, a, -0.15020447969436646)
    z = m.fma(z, a, -0.9189620614051819)
    z = m.fma(z, a, -1.6270675659179688)
    z = m.fma(z, a, -0.0002401211968390271)
    shifted = z + ROUND32
    part = z - (shifted - ROUND32)
    scale = m.bitcast((m.bitcast(shifted, int32) << 23) + 0x3F800000, float32)
    far = 1.0 - m.fmul(m.fma(part, _exp2_slope32(part), 1.0), scale)
    return m.copysign(m.select(magnitude > 1.0, far, near), x)


@builtin(group=GROUP, accuracy=Ulp(1), reference="mpmath.erf")
def erf(x: float64) -> float64:
    magnitude = m.fabs(x)
    high, low = _erf_near(m.select(magnitude < 1.0, magnitude, 1.0))
    y, y_low, k = _erfc_parts(m.select(magnitude < 7.0, magnitude, 7.0))
    scale = m.bitcast((k + 1023) << 52, float64)
    far = 1.0 - m.fmul(y + y_low, scale)
    near = m.select(magnitude < 2.2250738585072014e-308, m.fma(x, NEAR_FIRST, x), high + low)
    found = m.copysign(m.select(magnitude < 1.0, near, far), x)
    return m.select(x == x, found, x)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.erf")
def erf(x: Half) -> Half:
    return type(x)(erf(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(2), reference="mpmath.erfc")
def erfc(x: float32) -> float32:
    """The complementary error function ``1 - erf(x)``, without the cancellation for large ``x``.

    0 at infinity (from about 10.06 in float32 and 27.23 in float64), 2 at minus infinity, NaN
    stays.

    >>> wp.erfc(0.0)
    1.0
    """
    a = min(m.fabs(x), 10.5)
    d = m.fma(a, 0.4, 1.0)
    t = 1.0 / d
    t_low = m.fmul(m.fma(-t, d, 1.0) - m.fmul(t, m.fma(a, 0.4, 1.0 - d)), t)
    rest = m.fmul(t_low, m.fma(m.fmul(t, t), 2.4, 0.22))  # by the derivative, to 15 %
    v = t - 0.5
    p = m.fma(v, 0.06026540324091911, 0.020175566896796227)  # exp(a²) erfc(a) / t, for a from 1/2
    p = m.fma(p, v, -0.12225253880023956)
    p = m.fma(p, v, -0.1072610542178154)
    p = m.fma(p, v, 0.18147063255310059)
    p = m.fma(p, v, 0.54799884557724)
    p = m.fma(p, v, 0.726263165473938)
    p = m.fma(p, v, 0.6437215209007263)
    w = m.fmul(p, v)
    p = w + 0.4216127395629883
    p_low = ((0.4216127395629883 - p) + w) - 7.076017993767891e-09
    rest = m.fma(p_low, t, rest)
    square = m.fmul(a, a)
    square_low = m.fma(a, a, -square)
    shifted = m.fma(square, -LOG2E_HIGH32, ROUND32)
    n = shifted - ROUND32
    first = m.fma(n, -LN2_HIGH32, -square)  # exact
    second = m.fma(n, -LN2_LOW32, -square_low)
    r = first + second
    scaled = m.fma(p, t, rest)
    rest = m.fma(scaled, (first - r) + second, m.fma(p, t, -scaled) + rest)
    y = m.fma(scaled, m.fma(m.fmul(r, r), _exp_tail32(r), r), rest) + scaled
    y = _scale32(y, shifted)
    far = m.select(x < 0.0, 2.0 - y, y)
    return m.select(m.fabs(x) < 0.5, 1.0 - _erf_near32(x), far)


@builtin(group=GROUP, accuracy=Ulp(1.5), reference="mpmath.erfc")
def erfc(x: float64) -> float64:
    magnitude = m.fabs(x)
    high, low = _erf_near(m.select(magnitude < 0.75, x, 0.0))
    y, y_low, k = _erfc_parts(m.select(magnitude < 27.3, magnitude, 27.3))
    small = _scale64(y + y_low, k)
    far = m.select(x < 0.0, 2.0 - small, small)
    near = (1.0 - high) - low
    return m.select(x == x, m.select(magnitude < 0.75, near, far), x)


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.erfc")
def erfc(x: Half) -> Half:
    return type(x)(erfc(float32(x)))


@helper
def _erf_near32(x: float32) -> float32:
    """erf(x) for ``|x| <= 1``."""
    u = m.fmul(x, x)
    p = m.fma(u, 7.806903158780187e-05, -0.0007997853099368513)
    p = m.fma(p, u, 0.005187162198126316)
    p = m.fma(p, u, -0.026853347197175026)
    p = m.fma(p, u, 0.11283578723669052)
    p = m.fma(p, u, -0.3761262595653534)
    return m.fma(x, m.fma(p, u, 0.12837916612625122), x)


@helper
def _erf_near(x: float64):
    """erf(x) in two parts, for ``|x| <= 1``."""
    rest = m.fmul(x, _polynomial(m.fmul(x, x), NEAR))
    high = x + rest
    return high, (x - high) + rest


@helper
def _scaled_erfc(x: float64):
    """exp(x²) erfc(x) in two parts, for ``x`` from 0 to 27.3."""
    t = (x - 4.0) / (x + 4.0)
    rest = m.fmul(t, _polynomial(t, FAR))
    p = rest + FAR_FIRST
    p_low = (FAR_FIRST - p) + rest
    d = m.fma(2.0, x, 1.0)
    d_low = m.fma(2.0, x, 1.0 - d)
    y = p / d
    return y, (m.fma(-y, d_low, m.fma(-y, d, p)) + p_low) / d


@helper
def _erfc_parts(x: float64):
    """``(y, y_low, k)`` with erfc(x) = (y + y_low) 2^k, for ``x`` from 0 to 27.3."""
    square = m.fmul(x, x)
    square_low = m.fma(x, x, -square)
    shifted = m.fma(-square, LOG2E_HIGH, ROUND64)
    n = shifted - ROUND64
    first = m.fma(n, -LN2_HIGH, -square)  # exact
    rest = m.fma(n, -LN2_LOW, -square_low)
    r = first + rest
    q = m.fma(m.fmul(r, r), _exp_tail64(r), (first - r) + rest)
    e = r + q
    power = e + 1.0
    power_low = ((1.0 - power) + e) + ((r - e) + q)
    s, s_low = _scaled_erfc(x)
    y = m.fmul(power, s)
    y_low = m.fma(power, s_low, m.fma(power_low, s, m.fma(power, s, -y)))
    return y, y_low, m.bitcast(shifted, int64) - ROUND64_BITS


# -- their inverses --------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(0.6), reference="mpmath.erfinv")
def erfinv(x: float32) -> float32:
    """The number whose :func:`erf` is ``x``.

    ±infinity at ±1, NaN beyond; zeros and NaN stay.  float32 is computed in float64.

    >>> wp.erfinv(0.0)
    0.0
    """
    y = float64(x)
    magnitude = m.fabs(y)
    near = m.fmul(y, _polynomial(m.fmul(y, y), INVERSE_NEAR))
    far = m.copysign(_first_guess(m.select(magnitude < 1.0, 1.0 - magnitude, 0.5)), y)
    return float32(_erfinv_special(y, m.select(magnitude <= 0.5, near, far)))


@builtin(group=GROUP, accuracy=Ulp(1.5), reference="mpmath.erfinv")
def erfinv(x: float64) -> float64:
    magnitude = m.fabs(x)
    inside = m.select(magnitude < 1.0, magnitude, 0.75)
    found = m.select(inside <= 0.5, _erfinv_near(inside), _erfcinv_far(1.0 - inside))
    return _erfinv_special(x, m.copysign(found, x))


@builtin(group=GROUP, accuracy=Ulp(0.51), reference="mpmath.erfinv")
def erfinv(x: Half) -> Half:
    return type(x)(erfinv(float32(x)))


@builtin(group=GROUP, accuracy=Ulp(0.6))
def erfcinv(x: float32) -> float32:
    """The number whose :func:`erfc` is ``x``.

    Infinity at 0, minus infinity at 2, NaN outside; NaN stays.  float32 is computed in float64.

    >>> wp.erfcinv(1.0)
    0.0
    """
    y = float64(x)
    rest = 1.0 - y
    near = m.fmul(rest, _polynomial(m.fmul(rest, rest), INVERSE_NEAR))
    q = m.select(y < 1.0, y, 2.0 - y)
    far = m.copysign(_first_guess(m.select(q > 0.0, q, 0.5)), rest)
    return float32(_erfcinv_special(y, m.select(m.fabs(rest) <= 0.5, near, far)))


@builtin(group=GROUP, accuracy=Ulp(1.5))
def erfcinv(x: float64) -> float64:
    rest = 1.0 - x
    q = m.select(x < 1.0, x, 2.0 - x)
    near = m.fabs(rest) <= 0.5
    middle = _erfinv_near(m.select(near, m.fabs(rest), 0.25))
    far = _erfcinv_far(m.select(near | (q <= 0.0), 0.25, q))
    return _erfcinv_special(x, m.copysign(m.select(near, middle, far), rest))


@builtin(group=GROUP, accuracy=Ulp(0.51))
def erfcinv(x: Half) -> Half:
    return type(x)(erfcinv(float32(x)))


@helper
def _erfinv_near(x: float64) -> float64:
    """erfinv(x) for ``x`` from 0 to 1/2: a guess and one step of Newton's method."""
    guess = m.fmul(x, _polynomial(m.fmul(x, x), INVERSE_NEAR))
    high, low = _erf_near(guess)
    residual = (x - high) - low
    # 1 / erf'(guess) = √π/2 exp(guess²), to the few digits that the small step needs
    u = m.fmul(guess, guess)
    slope = m.fma(u, m.fma(u, m.fma(u, 0.1666, 0.5), 1.0), 1.0)
    return m.fma(residual, m.fmul(slope, HALF_SQRT_PI), guess)


@helper
def _first_guess(q: float64) -> float64:
    """erfcinv(q) to 4e-9, for ``q`` from the smallest number to 1/2."""
    s = m.fsqrt(-log(q))
    v = 1.0 / s
    return m.fmul(
        s,
        m.select(v < 0.3333, _polynomial(v, INVERSE_FARTHEST), _polynomial(v, INVERSE_FAR)),
    )


@helper
def _erfcinv_far(q: float64) -> float64:
    """erfcinv(q) for ``q`` up to 1/2: a guess and one step of Halley's method on ratios, so that
    nothing underflows."""
    guess = _first_guess(q)
    y, y_low, k = _erfc_parts(guess)
    relative = ((y - _scale_up(q, -k)) + y_low) / y
    s, _ = _scaled_erfc(guess)
    step = m.fmul(m.fmul(relative, s), HALF_SQRT_PI)
    return guess + step / m.fma(-step, guess, 1.0)


@helper
def _scale_up(q: float64, k: int64) -> float64:
    """``q * 2^k`` for ``k`` from 0 to 1080, exact."""
    half = k >> 1
    once = m.fmul(q, m.bitcast((half + 1023) << 52, float64))
    return m.fmul(once, m.bitcast((k - half + 1023) << 52, float64))


@helper
def _erfinv_special(x: float64, y: float64) -> float64:
    y = m.select(m.fabs(x) == 1.0, m.copysign(float64(INF), x), y)
    y = m.select(m.fabs(x) > 1.0, float64(NAN), y)
    return m.select(x == x, y, x)


@helper
def _erfcinv_special(x: float64, y: float64) -> float64:
    y = m.select(x == 0.0, float64(INF), y)
    y = m.select(x == 2.0, float64(-INF), y)
    y = m.select((x < 0.0) | (x > 2.0), float64(NAN), y)
    return m.select(x == x, y, x)


# -- cube root -------------------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Ulp(1.1))
def cbrt(x: float32) -> float32:
    """The cube root of ``x``, of negative numbers too.

    Zeros, infinities and NaN stay.

    >>> wp.cbrt(-8.0)
    -2.0
    """
    y = _cbrt_normal32(m.fabs(x))
    if not _is_normal32(m.fabs(x)):
        small = m.fmul(_cbrt_normal32(m.fmul(m.fabs(x), 16777216.0)), 0.00390625)  # 2^24, 2^-8
        y = m.select(m.fabs(x) < 1.0, small, x)
        y = m.select(x == 0, x, y)
    return m.copysign(y, x)


@builtin(group=GROUP, accuracy=Ulp(0.51))
def cbrt(x: float64) -> float64:
    t, f, q = _cbrt_reduced(x)
    # t + (f - t³) / (3 t²), the cube carried in two parts
    square = m.fmul(t, t)
    cube = m.fmul(square, t)
    low = m.fma(m.fma(t, t, -square), t, m.fma(square, t, -cube))
    root = t + ((f - cube) - low) / m.fmul(square, 3.0)
    return _cbrt_special(x, m.fmul(root, m.bitcast((q + 1023) << 52, float64)))


@builtin(group=GROUP, accuracy=Ulp(0.51))
def cbrt(x: Half) -> Half:
    return type(x)(cbrt(float32(x)))


@helper
def _cbrt_normal32(a: float32) -> float32:
    """The cube root of a positive normal number, by way of its inverse ``s``."""
    # The exponent by -1/3, with 7 bits of the significand; 5 % off at most.
    shifted = m.fma(float32(m.bitcast(a, int32)), CBRT_SLOPE, CBRT_START)
    s = m.bitcast(m.bitcast(shifted, int32) << 16, float32)
    t = m.fmul(m.fmul(a, s), s)
    e = m.fma(-t, s, 1.0)
    s = m.fma(m.fmul(s, e), m.fma(e, 0.2222222238779068, 0.3333333432674408), s)
    t = m.fmul(m.fmul(a, s), s)
    t = m.fma(m.fmul(t, m.fma(-t, s, 1.0)), 0.6666666865348816, t)
    rest = m.fma(-m.fmul(t, t), t, a)
    return m.fma(m.fmul(rest, 0.3333333432674408), m.fmul(s, s), t)


@helper
def _cbrt_reduced(x: float64):
    """``(t, f, q)``: ``|x| = f * 2^(3q)`` with f in [1, 8), and t its cube root to 40 bits."""
    tiny = m.fabs(x) < 2.2250738585072014e-308
    bits = m.bitcast(m.fabs(m.select(tiny, m.fmul(x, 18014398509481984.0), x)), int64)
    exponent = (bits >> 52) - 1023 - m.select(tiny, int64(54), int64(0))
    q = ((exponent + 1200) * 21846 >> 16) - 400  # a third, rounded down
    f = m.bitcast((bits & 0xFFFFFFFFFFFFF) | ((exponent - 3 * q + 1023) << 52), float64)
    # A cubic good to 0.6 %, and two steps of Halley's method.
    t = m.fma(m.fma(m.fma(f, 0.00231347, -0.04331389), f, 0.36454439), f, 0.68166474)
    for _ in static(range(2)):
        cube = m.fmul(m.fmul(t, t), t)
        t = m.fmul(t, (cube + (f + f)) / ((cube + cube) + f))
    return t, f, q


@helper
def _cbrt_special(x: float64, y: float64) -> float64:
    unchanged = (x == 0.0) | ~(m.fabs(x) < INF)
    return m.select(unchanged, x, m.copysign(y, x))
