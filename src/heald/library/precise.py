"""float32 functions by way of float64, rounded once: for where 2 ulp are too many."""

from heald.library.arithmetic import rsqrt
from heald.library.exponential import exp, exp2, log, log2, log10
from heald.library.hyperbolic import cosh, sinh, tanh
from heald.library.inverse_trigonometric import acos, asin, atan, atan2
from heald.library.language import float32, float64
from heald.library.registry import Ulp, builtin
from heald.library.special import cbrt, erf, erfc, erfcinv, erfinv
from heald.library.trigonometric import cos, sin, tan

GROUP = "Precise math"
ROUNDED = Ulp(0.501)
"""A rounding, and what float64 is off by before it."""


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.sin")
def precise_sin(x: float32) -> float32:
    """The sine of ``x`` radians, as :func:`sin` but rounded only once.

    >>> wp.precise_sin(0.0)
    0.0
    """
    return float32(sin(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.cos")
def precise_cos(x: float32) -> float32:
    """The cosine of ``x`` radians, as :func:`cos` but rounded only once.

    >>> wp.precise_cos(0.0)
    1.0
    """
    return float32(cos(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.tan")
def precise_tan(x: float32) -> float32:
    """The tangent of ``x`` radians, as :func:`tan` but rounded only once.

    >>> wp.precise_tan(0.0)
    0.0
    """
    return float32(tan(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.asin")
def precise_asin(x: float32) -> float32:
    """The angle in radians whose sine is ``x``, as :func:`asin` but rounded only once.

    >>> wp.precise_asin(0.0)
    0.0
    """
    return float32(asin(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.acos")
def precise_acos(x: float32) -> float32:
    """The angle in radians whose cosine is ``x``, as :func:`acos` but rounded only once.

    >>> wp.precise_acos(1.0)
    0.0
    """
    return float32(acos(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.atan")
def precise_atan(x: float32) -> float32:
    """The angle in radians whose tangent is ``x``, as :func:`atan` but rounded only once.

    >>> wp.precise_atan(0.0)
    0.0
    """
    return float32(atan(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.sinh")
def precise_sinh(x: float32) -> float32:
    """The hyperbolic sine of ``x``, as :func:`sinh` but rounded only once.

    >>> wp.precise_sinh(0.0)
    0.0
    """
    return float32(sinh(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.cosh")
def precise_cosh(x: float32) -> float32:
    """The hyperbolic cosine of ``x``, as :func:`cosh` but rounded only once.

    >>> wp.precise_cosh(0.0)
    1.0
    """
    return float32(cosh(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.tanh")
def precise_tanh(x: float32) -> float32:
    """The hyperbolic tangent of ``x``, as :func:`tanh` but rounded only once.

    >>> wp.precise_tanh(0.0)
    0.0
    """
    return float32(tanh(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.exp")
def precise_exp(x: float32) -> float32:
    """e to the power ``x``, as :func:`exp` but rounded only once.

    >>> wp.precise_exp(0.0)
    1.0
    """
    return float32(exp(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.exp2")
def precise_exp2(x: float32) -> float32:
    """2 to the power ``x``, as :func:`exp2` but rounded only once.

    >>> wp.precise_exp2(3.0)
    8.0
    """
    return float32(exp2(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.log")
def precise_log(x: float32) -> float32:
    """The natural logarithm of ``x``, as :func:`log` but rounded only once.

    >>> wp.precise_log(1.0)
    0.0
    """
    return float32(log(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.log2")
def precise_log2(x: float32) -> float32:
    """The logarithm of ``x`` to base 2, as :func:`log2` but rounded only once.

    >>> wp.precise_log2(8.0)
    3.0
    """
    return float32(log2(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.log10")
def precise_log10(x: float32) -> float32:
    """The logarithm of ``x`` to base 10, as :func:`log10` but rounded only once.

    >>> wp.precise_log10(1000.0)
    3.0
    """
    return float32(log10(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.erf")
def precise_erf(x: float32) -> float32:
    """The error function of ``x``, as :func:`erf` but rounded only once.

    >>> wp.precise_erf(0.0)
    0.0
    """
    return float32(erf(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.erfc")
def precise_erfc(x: float32) -> float32:
    """The complementary error function of ``x``, as :func:`erfc` but rounded only once.

    >>> wp.precise_erfc(0.0)
    1.0
    """
    return float32(erfc(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.erfinv")
def precise_erfinv(x: float32) -> float32:
    """The number whose :func:`erf` is ``x``, as :func:`erfinv` but rounded only once.

    >>> wp.precise_erfinv(0.0)
    0.0
    """
    return float32(erfinv(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED)
def precise_erfcinv(x: float32) -> float32:
    """The number whose :func:`erfc` is ``x``, as :func:`erfcinv` but rounded only once.

    >>> wp.precise_erfcinv(1.0)
    0.0
    """
    return float32(erfcinv(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED)
def precise_cbrt(x: float32) -> float32:
    """The cube root of ``x``, as :func:`cbrt` but rounded only once.

    >>> wp.precise_cbrt(-8.0)
    -2.0
    """
    return float32(cbrt(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED)
def precise_rsqrt(x: float32) -> float32:
    """``1 / sqrt(x)``, as :func:`rsqrt` but rounded only once.

    >>> wp.precise_rsqrt(4.0)
    0.5
    """
    return float32(rsqrt(float64(x)))


@builtin(group=GROUP, accuracy=ROUNDED, reference="mpmath.atan2")
def precise_atan2(y: float32, x: float32) -> float32:
    """The angle in radians of the point ``(x, y)``, as :func:`atan2` but rounded only once.

    >>> wp.precise_atan2(0.0, 1.0)
    0.0
    """
    return float32(atan2(float64(y), float64(x)))
