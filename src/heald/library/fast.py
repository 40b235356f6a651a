"""What ``fast_math`` puts in the place of float32 functions, and never takes part without it.

Polynomials have fewer terms (near-minimax fits as in ``exponential``), and what a function gives
outside its domain has no meaning; on GPUs instructions take the place of polynomials, quotients and
roots.  A CPU and the interpreter still agree with each other, a GPU up to the tolerances below.
"""

from heald.library import arithmetic, exponential, hyperbolic, trigonometric
from heald.library.arithmetic import max, min
from heald.library.exponential import LOG2E_HIGH32, ROUND32
from heald.library.language import float32, int32, m
from heald.library.registry import Interval, Tolerance, fast, helper
from heald.library.trigonometric import ONE_OVER_PI32, PI32_A, PI32_B

LN2 = 0.6931471824645996
LOG10_2 = 0.3010300099849701
SMALLEST, LARGEST = 1.1754943508222875e-38, 3.4028234663852886e38
NORMAL = {"x": Interval(SMALLEST, LARGEST)}
NEAR = {"x": Interval(-1e4, 1e4)}


# -- quotients and roots ---------------------------------------------------------------------------


@fast(arithmetic.div, accuracy=Tolerance(2.0**-22, SMALLEST))
def div(a: float32, b: float32) -> float32:
    """On a CPU as without ``fast_math``; ``a / b`` of float32 in kernels and functions of users is
    this, too."""
    return m.fdiv_approx(m.fdiv(a, b), a, b)


@fast(arithmetic.sqrt, accuracy=Tolerance(2.0**-22, SMALLEST))
def sqrt(x: float32) -> float32:
    """On a CPU as without ``fast_math``."""
    return m.fsqrt_approx(m.fsqrt(x), x)


@fast(arithmetic.rsqrt, accuracy=Tolerance(2.0**-21), domain=NORMAL)
def rsqrt(x: float32) -> float32:
    """By the bits of ``x`` and two steps; 0 gives a large number on a CPU."""
    y = m.bitcast(0x5F375A86 - (m.bitcast(x, int32) >> 1), float32)
    e = m.fma(m.fmul(-x, y), y, 1.0)
    y = m.fma(m.fmul(y, e), m.fma(e, 0.375, 0.5), y)
    e = m.fma(m.fmul(-x, y), y, 1.0)
    return m.frsqrt_approx(m.fma(m.fmul(y, e), 0.5, y), x)


# -- exponentials and logarithms -------------------------------------------------------------------


@fast(exponential.exp2, accuracy=Tolerance(2.0**-18, 2.0**-125))
def exp2(x: float32) -> float32:
    """Results below 2^-125 may be 0 on a CPU."""
    z = min(max(x, -126.0), 128.0)
    shifted = z + ROUND32
    part = z - (shifted - ROUND32)
    # Twice the power of the fraction, so that half the scale is finite for every finite result.
    p = m.fma(part, 0.01916573941707611, 0.11181317269802094)
    p = m.fma(p, part, 0.48048198223114014)
    p = m.fma(p, part, 1.3862483501434326)
    scale = m.bitcast((m.bitcast(shifted, int32) << 23) + 0x3F000000, float32)
    return m.fexp2_approx(m.fmul(m.fma(p, part, 2.0), scale), x)


@fast(exponential.exp, accuracy=Tolerance(2.0**-17, 2.0**-125))
def exp(x: float32) -> float32:
    """2 to the power ``x / ln(2)``, which is rounded first."""
    return exp2(m.fmul(x, LOG2E_HIGH32))


@fast(exponential.log2, accuracy=Tolerance(2.0**-16, 2.0**-21), domain=NORMAL)
def log2(x: float32) -> float32:
    """Other arguments give numbers without a meaning on a CPU."""
    bits = m.bitcast(x, int32)
    k = (bits - 0x3F3504F3) >> 23
    f = m.bitcast(bits - (k << 23), float32) - 1.0
    p = m.fma(f, -0.2061469852924347, 0.3181806206703186)
    p = m.fma(p, f, -0.3664960563182831)
    p = m.fma(p, f, 0.47981390357017517)
    p = m.fma(p, f, -0.7212063074111938)
    p = m.fma(p, f, 1.4427015781402588)
    return m.flog2_approx(m.fma(p, f, float32(k)), x)


@fast(exponential.log, accuracy=Tolerance(2.0**-16, 2.0**-21), domain=NORMAL)
def log(x: float32) -> float32:
    """Other arguments give numbers without a meaning on a CPU."""
    return m.fmul(log2(x), LN2)


@fast(exponential.log10, accuracy=Tolerance(2.0**-16, 2.0**-21), domain=NORMAL)
def log10(x: float32) -> float32:
    """Other arguments give numbers without a meaning on a CPU."""
    return m.fmul(log2(x), LOG10_2)


@fast(
    exponential.pow,
    accuracy=Tolerance(2.0**-12),
    domain={"x": Interval(0.0625, 16.0), "y": Interval(-4.0, 4.0)},
)
def pow(x: float32, y: float32) -> float32:
    """``exp2(y * log2(x))``; the error grows with the exponent of the result."""
    return exp2(m.fmul(y, log2(x)))


# -- trigonometric and hyperbolic functions --------------------------------------------------------


@fast(trigonometric.sin, accuracy=Tolerance(0.0, 2.0**-19), domain=NEAR)
def sin(x: float32) -> float32:
    """Good to 2^-19 up to 10^4 in size; beyond, the error grows with the argument."""
    r, half_turns = _reduced(x)
    return _flip(m.fsin_approx(_sine(r), r), half_turns)


@fast(trigonometric.cos, accuracy=Tolerance(0.0, 2.0**-19), domain=NEAR)
def cos(x: float32) -> float32:
    """Good to 2^-19 up to 10^4 in size; beyond, the error grows with the argument."""
    r, half_turns = _reduced(x)
    return _flip(m.fcos_approx(_cosine(r), r), half_turns)


@fast(trigonometric.tan, accuracy=Tolerance(2.0**-14, 2.0**-18), domain={"x": Interval(-1.5, 1.5)})
def tan(x: float32) -> float32:
    """Sine by cosine, so the relative error grows towards the poles."""
    r, _ = _reduced(x)
    return div(m.fsin_approx(_sine(r), r), m.fcos_approx(_cosine(r), r))


@fast(hyperbolic.tanh, accuracy=Tolerance(2.0**-10.5, 2.0**-18))
def tanh(x: float32) -> float32:
    """By ``exp2``; near 0 the error is absolute."""
    e = exp2(m.fmul(min(max(x, -10.0), 10.0), 2.885390043258667))
    return m.ftanh_approx(1.0 - div(2.0, e + 1.0), x)


@helper
def _reduced(x: float32):
    """``(r, n)`` with ``x = r + n · π``, ``|r|`` to just over π/2; of ``n`` the lowest bits."""
    shifted = m.fma(x, ONE_OVER_PI32, ROUND32)
    n = shifted - ROUND32
    return m.fma(n, -PI32_B, m.fma(n, -PI32_A, x)), m.bitcast(shifted, int32)


@helper
def _sine(r: float32) -> float32:
    """sin(r) for ``|r|`` up to just over π/2."""
    u = m.fmul(r, r)
    p = m.fma(m.fma(u, -0.00018484110478311777, 0.008312110789120197), u, -0.16665662825107574)
    return m.fma(m.fmul(u, r), p, r)


@helper
def _cosine(r: float32) -> float32:
    """cos(r) for ``|r|`` up to just over π/2."""
    u = m.fmul(r, r)
    p = m.fma(m.fma(u, 2.3101430997485295e-05, -0.0013851160183548927), u, 0.04166319966316223)
    return m.fma(m.fma(p, u, -0.49999886751174927), u, 0.9999999403953552)


@helper
def _flip(y: float32, n: int32) -> float32:
    """``y`` with its sign flipped where ``n`` is odd."""
    return m.bitcast(m.bitcast(y, int32) ^ (n << 31), float32)
