"""Fused multiply-add in numpy: a * b + c with one rounding, as the hardware instruction gives it.

float32: the product is exact in float64; the sum is rounded to odd there and then to float32, which
is the same as one rounding.  float64: error-free product and sums, the small parts added with
rounding to odd (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved
algorithms using rounding to odd", 2008); operands so large or small that an intermediate could
overflow or lose bits go through exact rationals.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np

_SPLIT = 134217729.0  # 2^27 + 1 cuts a float64 into two halves of 26 bits
# Between these bounds no step of the float64 algorithm overflows, and the error of the product and
# every bit of the result stay far above the smallest float64, 2^-1074.
_FACTOR_MAX = 2.0**990
_SUM_MAX = 2.0**1020
_PRODUCT_MIN = 2.0**-900
_ADDEND_MIN = 2.0**-960


def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
    """a * b + c rounded once, for float32 or float64 arrays or numpy scalars of one dtype."""
    single = a.dtype == np.float32
    if a.ndim == b.ndim == c.ndim == 0:
        one = _single_scalar if single else _double_scalar
        return a.dtype.type(one(float(a), float(b), float(c)))
    if single:
        product = a.astype(np.float64) * b.astype(np.float64)
        return _add_to_odd(product, c.astype(np.float64)).astype(np.float32)
    return _double(a, b, c)


# -- arrays ----------------------------------------------------------------------------------------


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its error; exact (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded product and its error; exact (Dekker, Veltkamp)."""
    p = a * b
    s = _SPLIT * a
    a_high = s - (s - a)
    s = _SPLIT * b
    b_high = s - (s - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _add_to_odd(a: Any, b: Any) -> Any:
    """a + b in float64, where inexact the neighbour whose last bit is 1."""
    s, error = _two_sum(a, b)
    bits = s.view(np.int64)
    even = (error != 0) & (bits & 1 == 0) & np.isfinite(s)
    outward = (error > 0) == (s > 0)
    return np.where(even, np.where(outward, bits + 1, bits - 1), bits).view(np.float64)


def _is_safe(a: Any, b: Any, c: Any, product: Any) -> Any:
    """Do the error-free steps stay exact for these operands, neither factor being zero?"""
    size = abs(product)
    return (
        (abs(a) < _FACTOR_MAX)
        & (abs(b) < _FACTOR_MAX)
        & (abs(c) < _SUM_MAX)
        & (size < _SUM_MAX)
        & (size > _PRODUCT_MIN)
        & ((abs(c) > _ADDEND_MIN) | (c == 0))
    )


def _double(a: Any, b: Any, c: Any) -> Any:
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = _two_product(a, b)
    t_high, t_low = _two_sum(c, low)
    v_high, v_low = _two_sum(high, t_high)
    result = v_high + _add_to_odd(t_low, v_low)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    zero = (a == 0) | (b == 0)
    # The plain sum has the right sign of an exact zero, and is all there is to say of NaN and
    # infinity, except where a product of finite numbers overflows on its way to an infinite addend.
    result = np.where((result == 0) | zero | ~finite, a * b + c, result)
    result = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, result)
    for k in zip(*np.nonzero(finite & ~zero & ~_is_safe(a, b, c, high)), strict=True):
        result[k] = _exact(float(a[k]), float(b[k]), float(c[k]))
    return result


# -- one number ------------------------------------------------------------------------------------


def _nudge_to_odd(s: float, error: float) -> float:
    """``s`` rounded to nearest, moved to the odd neighbour on the side of a nonzero ``error``."""
    (bits,) = struct.unpack("<q", struct.pack("<d", s))
    if error == 0 or bits & 1 or not math.isfinite(s):
        return s
    return math.nextafter(s, math.copysign(math.inf, error))


def _single_scalar(a: float, b: float, c: float) -> float:
    return _nudge_to_odd(*_two_sum(a * b, c))


def _double_scalar(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return a * b + c
    if not math.isfinite(c):
        return c
    if not _is_safe(a, b, c, a * b):
        return _exact(a, b, c)
    high, low = _two_product(a, b)
    t_high, t_low = _two_sum(c, low)
    v_high, v_low = _two_sum(high, t_high)
    result: float = v_high + _nudge_to_odd(*_two_sum(t_low, v_low))
    return result if result != 0 else a * b + c


def _exact(a: float, b: float, c: float) -> float:
    """By rationals; all finite and the factors not zero.  An exact zero comes from cancellation."""
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        return 0.0
    try:
        rounded = value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return rounded if rounded != 0 else math.copysign(0.0, value.numerator)
