"""Arithmetic of WIR on Python numbers, for host calls: the bits that the ops' records give.

A float of any type is held as the Python float of its value, an integer as an ``int`` inside its
range, b1 as a ``bool``.  Sums, products, quotients and square roots of float16, bfloat16 and
float32 numbers may be formed in float64 and rounded again: 53 bits are more than twice 24 bits plus
two, so the two roundings are one (Figueroa, "When is double rounding innocuous?", 1995).
"""

from __future__ import annotations

import math
import struct
from ctypes import c_float

NAN = math.nan
INF = math.inf

_HALF = struct.Struct("<e")
_SINGLE = struct.Struct("<f")
_WORD = struct.Struct("<I")
_SPLIT_HIGH = 2.0**128 - 2.0**103
"""Halfway from the largest float32 to the next number it has no room for."""
_INTEGRAL = 2.0**52
"""From here on every float64 is an integer."""


def round_half(x: float) -> float:
    """A float64 rounded to float16."""
    try:
        rounded: float = _HALF.unpack(_HALF.pack(x))[0]
    except OverflowError:
        return math.copysign(INF, x)
    return rounded


def round_brain(x: float) -> float:
    """A float64 rounded to float32 and that to bfloat16."""
    x = c_float(x).value
    if not math.isfinite(x):
        return x
    (bits,) = _WORD.unpack(_SINGLE.pack(x))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    value: float = _SINGLE.unpack(_WORD.pack(bits))[0]
    return value


def divide(a: float, b: float) -> float:
    """The IEEE quotient."""
    if b:
        return a / b
    if a != a or a == 0.0 or b != b:
        return NAN
    return math.copysign(INF, a) * math.copysign(1.0, b)


def root(x: float) -> float:
    """The IEEE square root."""
    return math.sqrt(x) if x >= 0.0 else NAN


def fuse_single(a: float, b: float, c: float) -> float:
    """float32 a * b + c, rounded once.

    The product is exact, the sum is within half a unit of float64.  Rounding that to float32 is
    wrong only where it lies halfway between two float32 numbers and the exact sum does not.
    """
    product = a * b
    total = product + c
    near = c_float(total).value
    step = total - near
    if step == 0.0 or step != step:
        return near
    if step - step != 0.0:  # `near` overflowed
        if abs(total) != _SPLIT_HIGH:
            return near
    elif c_float(near + 2.0 * step).value != near + 2.0 * step:
        return near
    shift = total - product
    error = (product - (total - shift)) + (c - shift)
    if error == 0.0:
        return near
    return c_float(math.nextafter(total, math.copysign(INF, error))).value


def fuse_double(a: float, b: float, c: float) -> float:
    """float64 a * b + c, rounded once: exact integers, whose quotient Python rounds correctly."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (a_top, a_low), (b_top, b_low) = a.as_integer_ratio(), b.as_integer_ratio()
    c_top, c_low = c.as_integer_ratio()
    top, low = a_top * b_top * c_low + c_top * a_low * b_low, a_low * b_low * c_low
    if not top:  # nothing was rounded, and of the sum of two zeros the sign is right
        return a * b + c
    try:
        return top / low
    except OverflowError:
        return INF if top > 0 else -INF


def round_down(x: float) -> float:
    """The largest integer that is not larger."""
    return math.copysign(float(math.floor(x)), x) if abs(x) < _INTEGRAL else x


def round_up(x: float) -> float:
    """The smallest integer that is not smaller."""
    return math.copysign(float(math.ceil(x)), x) if abs(x) < _INTEGRAL else x


def round_toward_zero(x: float) -> float:
    """The integer part."""
    return math.copysign(float(math.trunc(x)), x) if abs(x) < _INTEGRAL else x


def round_to_even(x: float) -> float:
    """The nearest integer, of two the even one."""
    return math.copysign(float(round(x)), x) if abs(x) < _INTEGRAL else x


def saturate(x: float, low: int, high: int) -> int:
    """The integer part, kept within bounds; 0 for NaN."""
    if x != x:
        return 0
    return low if x <= low else high if x >= high else int(x)


def quotient(a: int, b: int) -> int:
    """Quotient rounded toward zero; ``b`` is not 0."""
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


def remainder(a: int, b: int) -> int:
    """What ``quotient`` leaves, with the sign of ``a``; ``b`` is not 0."""
    return -(abs(a) % abs(b)) if a < 0 else a % abs(b)
