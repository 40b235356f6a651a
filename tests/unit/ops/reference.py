"""What each value op means, in exact Python: whole numbers, fractions, no numpy and no float.

``REFERENCE[name](op, *bits) -> bits``: every value is its bits as a non-negative ``int``.  Floats
are decoded to fractions, computed on exactly, and rounded by the one function :func:`encode`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from heald.ir import Op
from heald.types import Scalar, b1, bf16, f16, f32, f64

FORMATS = {f16: (5, 10), bf16: (8, 7), f32: (8, 23), f64: (11, 52)}
"""Bits of exponent and of fraction."""


@dataclass(frozen=True)
class Float:
    """A number with its sign, or an infinity, or NaN."""

    negative: bool
    size: Fraction | str  # not negative, or "inf", or "nan"

    @property
    def is_nan(self) -> bool:
        return self.size == "nan"

    @property
    def is_inf(self) -> bool:
        return self.size == "inf"

    @property
    def is_finite(self) -> bool:
        return not isinstance(self.size, str)

    @property
    def is_zero(self) -> bool:
        return self.size == 0

    @property
    def value(self) -> Fraction:
        assert isinstance(self.size, Fraction)
        return -self.size if self.negative else self.size


NAN = Float(False, "nan")
ZERO = Fraction(0)


def sign_bit(t: Scalar) -> int:
    return 1 << (t.bits - 1)


def infinity(t: Scalar) -> int:
    exponent, fraction = FORMATS[t]
    return ((1 << exponent) - 1) << fraction


def decode(t: Scalar, bits: int) -> Float:
    exponent, fraction = FORMATS[t]
    negative = bool(bits & sign_bit(t))
    power = (bits >> fraction) & ((1 << exponent) - 1)
    rest = bits & ((1 << fraction) - 1)
    if power == (1 << exponent) - 1:
        return Float(negative, "nan" if rest else "inf")
    lowest = 2 - (1 << (exponent - 1)) - fraction  # power of two of the last bit of a subnormal
    if power:
        rest += 1 << fraction
    return Float(negative, rest * Fraction(2) ** (lowest + max(power, 1) - 1))


def encode(t: Scalar, x: Float) -> int:
    """Round to nearest even.  Bits of consecutive floats are consecutive, so a carry just adds."""
    exponent, fraction = FORMATS[t]
    sign = sign_bit(t) if x.negative else 0
    if x.is_nan:
        return infinity(t) | 1 << (fraction - 1)
    if x.is_inf:
        return infinity(t) | sign
    assert isinstance(x.size, Fraction)
    if x.size == 0:
        return sign
    smallest = 2 - (1 << (exponent - 1))
    power = max(smallest, _floor_log2(x.size))
    units = x.size / Fraction(2) ** (power - fraction)
    return min(infinity(t), ((power - smallest) << fraction) + _nearest_even(units)) | sign


def _floor_log2(q: Fraction) -> int:
    guess = q.numerator.bit_length() - q.denominator.bit_length()
    return guess if Fraction(2) ** guess <= q else guess - 1


def _nearest_even(q: Fraction) -> int:
    whole, rest = divmod(q.numerator, q.denominator)
    twice = 2 * rest
    if twice > q.denominator or (twice == q.denominator and whole & 1):
        return whole + 1
    return whole


def finite(q: Fraction | int, zero_is_negative: bool = False) -> Float:
    q = Fraction(q)
    return Float(q < 0 or (q == 0 and zero_is_negative), abs(q))


# -- integers --------------------------------------------------------------------------------------


def signed(t: Scalar, bits: int) -> int:
    return bits - (1 << t.bits) if bits & sign_bit(t) else bits


def number(t: Scalar, bits: int) -> int:
    return signed(t, bits) if t.kind == "i" else bits


def wrap(t: Scalar, n: int) -> int:
    return n & ((1 << t.bits) - 1)


def _type(op: Op) -> Scalar:
    t = op.operands[0].type
    assert isinstance(t, Scalar)
    return t


def _result(op: Op) -> Scalar:
    t = op.results[0].type
    assert isinstance(t, Scalar)
    return t


def _integer(function: Callable[..., int]) -> Callable[..., int]:
    """From a function of numbers to one of bits."""

    def reference(op: Op, *bits: int) -> int:
        t = _type(op)
        return wrap(t, function(*(number(t, b) for b in bits)))

    return reference


def _truncated(a: int, b: int) -> tuple[int, int]:
    """Quotient towards zero and its remainder; zeros for divisor 0."""
    if b == 0:
        return 0, 0
    q = abs(a) // abs(b)
    q = q if (a < 0) == (b < 0) else -q
    return q, a - q * b


def _high(op: Op, a: int, b: int) -> int:
    t = _type(op)
    return wrap(t, (number(t, a) * number(t, b)) >> t.bits)


def _shift_right(op: Op, a: int, b: int) -> int:
    t = _type(op)
    return wrap(t, signed(t, a) >> (b % t.bits))


def _compare(a: object, b: object, relation: str) -> bool:
    return {
        "eq": lambda: a == b,
        "ne": lambda: a != b,
        "lt": lambda: a < b,  # type: ignore[operator]
        "le": lambda: a <= b,  # type: ignore[operator]
        "gt": lambda: a > b,  # type: ignore[operator]
        "ge": lambda: a >= b,  # type: ignore[operator]
    }[relation]()


def _icmp(op: Op, a: int, b: int) -> int:
    pred, t = str(op.attrs["pred"]), _type(op)
    if pred.startswith("s"):
        a, b = signed(t, a), signed(t, b)
    return int(_compare(a, b, pred if pred in ("eq", "ne") else pred[1:]))


# -- floats ----------------------------------------------------------------------------------------


def _float(function: Callable[..., Float]) -> Callable[..., int]:
    """From a function of exact numbers to one of bits, rounded once."""

    def reference(op: Op, *bits: int) -> int:
        t = _type(op)
        return encode(_result(op), function(*(decode(t, b) for b in bits)))

    return reference


def _add(a: Float, b: Float) -> Float:
    if a.is_nan or b.is_nan or (a.is_inf and b.is_inf and a.negative != b.negative):
        return NAN
    if a.is_inf or b.is_inf:
        return a if a.is_inf else b
    total = a.value + b.value
    return finite(total, zero_is_negative=a.negative and b.negative)


def _negate(a: Float) -> Float:
    return Float(not a.negative, a.size)


def _multiply(a: Float, b: Float) -> Float:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.is_inf and b.is_zero) or (a.is_zero and b.is_inf):
        return NAN
    if a.is_inf or b.is_inf:
        return Float(negative, "inf")
    return Float(negative, abs(a.value * b.value))


def _divide(a: Float, b: Float) -> Float:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.is_inf and b.is_inf) or (a.is_zero and b.is_zero):
        return NAN
    if a.is_inf or b.is_zero:
        return Float(negative, "inf")
    return Float(negative, ZERO if b.is_inf else abs(a.value / b.value))


def _square_root(a: Float) -> Float:
    if a.is_nan or (a.negative and not a.is_zero):
        return NAN
    if a.is_inf or a.is_zero:
        return a
    # 200 bits below the point and one that says "not exact": far more than a rounding looks at.
    n, d = a.value.numerator, a.value.denominator
    scaled = n * d << 400 + 4 * d.bit_length()
    root = math.isqrt(scaled)
    sticky = 0 if root * root == scaled else 1
    return finite(Fraction(2 * root + sticky, d << 201 + 2 * d.bit_length()))


def _fused(a: Float, b: Float, c: Float) -> Float:
    return _add(_multiply(a, b), c)


def _whole(rounding: Callable[[Fraction], int]) -> Callable[..., int]:
    def function(a: Float) -> Float:
        return Float(a.negative, Fraction(abs(rounding(a.value)))) if a.is_finite else a

    return _float(function)


def _half_even(q: Fraction) -> int:
    return _nearest_even(abs(q)) * (-1 if q < 0 else 1)


def _less(a: Float, b: Float) -> bool:
    if a.is_nan or b.is_nan:
        return False
    return _rank(a) < _rank(b)


def _rank(a: Float) -> tuple[int, Fraction]:
    """Orders all but NaN; the zeros are equal."""
    if a.is_inf:
        return (-1 if a.negative else 1), ZERO
    return 0, a.value


def _minimum(op: Op, a: int, b: int) -> int:
    t = _type(op)
    return b if _less(decode(t, b), decode(t, a)) else a


def _maximum(op: Op, a: int, b: int) -> int:
    t = _type(op)
    return b if _less(decode(t, a), decode(t, b)) else a


def _fcmp(op: Op, a: int, b: int) -> int:
    t, pred = _type(op), str(op.attrs["pred"])
    x, y = decode(t, a), decode(t, b)
    if x.is_nan or y.is_nan:
        return int(pred == "une")
    return int(_compare(_rank(x), _rank(y), pred[1:]))


# -- conversions -----------------------------------------------------------------------------------


def _to_float(op: Op, a: int) -> int:
    return encode(_result(op), finite(number(_type(op), a)))


def _saturate(op: Op, a: int) -> int:
    t, x = _result(op), decode(_type(op), a)
    if x.is_nan:
        return 0
    if x.is_inf:
        return wrap(t, t.lowest if x.negative else t.highest)
    return wrap(t, max(t.lowest, min(t.highest, math.trunc(x.value))))


def _flip_all(op: Op, a: int) -> int:
    t = _type(op)
    return a ^ ((1 << t.bits) - 1)


REFERENCE: dict[str, Callable[..., int]] = {
    "iadd": _integer(lambda a, b: a + b),
    "isub": _integer(lambda a, b: a - b),
    "imul": _integer(lambda a, b: a * b),
    "ineg": _integer(lambda a: -a),
    "idiv": _integer(lambda a, b: _truncated(a, b)[0]),
    "irem": _integer(lambda a, b: _truncated(a, b)[1]),
    "udiv": _integer(lambda a, b: _truncated(a, b)[0]),
    "urem": _integer(lambda a, b: _truncated(a, b)[1]),
    "smin": _integer(lambda a, b: b if b < a else a),
    "smax": _integer(lambda a, b: b if b > a else a),
    "umin": _integer(lambda a, b: b if b < a else a),
    "umax": _integer(lambda a, b: b if b > a else a),
    "smulhi": _high,
    "umulhi": _high,
    "iand": lambda op, a, b: a & b,
    "ior": lambda op, a, b: a | b,
    "ixor": lambda op, a, b: a ^ b,
    "inot": _flip_all,
    "shl": lambda op, a, b: wrap(_type(op), a << (b % _type(op).bits)),
    "lshr": lambda op, a, b: a >> (b % _type(op).bits),
    "ashr": _shift_right,
    "popcount": lambda op, a: a.bit_count(),
    "clz": lambda op, a: _type(op).bits - a.bit_length(),
    "icmp": _icmp,
    "fcmp": _fcmp,
    "select": lambda op, c, a, b: a if c else b,
    "fadd": _float(_add),
    "fsub": _float(lambda a, b: _add(a, _negate(b))),
    "fmul": _float(_multiply),
    "fdiv": _float(_divide),
    "fsqrt": _float(_square_root),
    "fma": _float(_fused),
    "fneg": lambda op, a: a ^ sign_bit(_type(op)),
    "fabs": lambda op, a: a & ~sign_bit(_type(op)),
    "copysign": lambda op, a, b: (a & ~sign_bit(_type(op))) | (b & sign_bit(_type(op))),
    "fmin": _minimum,
    "fmax": _maximum,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "ftrunc": _whole(math.trunc),
    "rint": _whole(_half_even),
    "sext": lambda op, a: wrap(_result(op), signed(_type(op), a)),
    "zext": lambda op, a: a,
    "trunc": lambda op, a: wrap(_result(op), a),
    "fpext": _float(lambda a: a),
    "fptrunc": _float(lambda a: a),
    "sitofp": _to_float,
    "uitofp": _to_float,
    "fptosi_sat": _saturate,
    "fptoui_sat": _saturate,
    "bitcast": lambda op, a: a,
    **dict.fromkeys(
        (
            "fexp2_approx",
            "flog2_approx",
            "fsin_approx",
            "fcos_approx",
            "ftanh_approx",
            "fsqrt_approx",
            "frsqrt_approx",
            "fdiv_approx",
        ),
        lambda op, value, *operands: value,
    ),
}


def is_nan(t: Scalar, bits: int) -> bool:
    return t.is_float and t is not b1 and decode(t, bits).is_nan
