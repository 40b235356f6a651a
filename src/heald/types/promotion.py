"""How scalar types meet (DESIGN section 4): literals adapt, wider wins, lossy joins need a cast."""

from __future__ import annotations

import math

import numpy as np

from heald.types.descriptors import Scalar, b1, bf16, f16, f32, f64, i32, i64, u32, u64

_SMALL_INTEGERS = 16
_MOST_BITS = 1024  # integers with more are beyond every float


def join(a: Scalar, b: Scalar) -> Scalar | None:
    """The type in which two operands meet, or None where the user must cast.

    Widths of one kind meet in the wider; bool and 8/16-bit integers join float32 and float64;
    32-bit integers join float32 (the one lossy join) and float64.  Signed with unsigned, 64-bit
    integers with float32, integers with 16-bit floats and float16 with bfloat16 do not meet.
    """
    if a is b:
        return a
    if a.kind == b.kind:
        if a.bits == b.bits:
            return None
        return a if a.bits > b.bits else b
    if b.is_float:
        a, b = b, a
    if a.is_float:
        if b is b1:
            return a if a in (f32, f64) else None
        if a is f64:
            return f64
        if a is f32 and b.bits <= 32:
            return f32
        return None
    if b1 in (a, b):
        return b if a is b1 else a
    return None


def can_widen(source: Scalar, target: Scalar) -> bool:
    """Does ``source`` convert to ``target`` without being asked?"""
    return join(source, target) is target


def literal_type(value: object) -> Scalar:
    """The type that a Python number takes when nothing else decides."""
    if isinstance(value, bool):
        return b1
    return i32 if isinstance(value, int) else f32


def fits(value: bool | int | float, t: Scalar) -> bool:
    """May the literal ``value`` become a ``t``?  A float literal rounds, an integer is exact."""
    if isinstance(value, bool):
        return t is b1
    if t is b1:
        return False
    if isinstance(value, int):
        if t.is_integer:
            return t.lowest <= value <= t.highest
        return _exact_in_float(value, t)
    if t.is_float:
        return not math.isfinite(value) or _finite_in_float(value, t)
    return False


def _exact_in_float(value: int, t: Scalar) -> bool:
    mantissa = {f16: 11, bf16: 8, f32: 24, f64: 53}[t]
    magnitude = abs(value)
    if magnitude.bit_length() > _MOST_BITS:
        return False
    trailing = (magnitude & -magnitude).bit_length() - 1 if magnitude else 0
    return magnitude.bit_length() - trailing <= mantissa and _finite_in_float(float(value), t)


def _finite_in_float(value: float, t: Scalar) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(t(value)))


def index_type(t: Scalar) -> Scalar | None:
    """The signed type in which an integer is used as an index: i32, or i64 if i32 is too small."""
    if not t.is_integer:
        return None
    return i32 if t is i32 or t.bits <= _SMALL_INTEGERS else i64 if t in (u32, i64, u64) else None
