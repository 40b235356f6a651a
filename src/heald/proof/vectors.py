"""The exact encoding: integers as bit-vectors, floats as SMT-LIB floating point, b1 as Bool.

Every op has its full meaning here, wrap-around and rounding included, so a proof holds for the
machine and a model is a real value.  It is the encoding for rewrite rules and for obligations with
bit operations; obligations of plain index arithmetic are better off with integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from heald.diagnostics import HealdError
from heald.ir import Op
from heald.ops import TABLE, Handled
from heald.types import Scalar, Type, b1, bf16, f16, f32, f64
from heald.types.descriptors import to_bfloat16

Term = Any
"""A z3 expression."""

_FORMATS = {f16: (5, 11), bf16: (8, 8), f32: (8, 24), f64: (11, 53)}


class NotExpressible(HealdError):
    """An op or type that an encoding has no meaning for; what depends on it stays unproved."""


def _scalar(t: Type) -> Scalar:
    if not isinstance(t, Scalar):
        raise NotExpressible(f"values of type {t} have no bit-vector encoding")
    return t


def _operand(op: Op) -> Scalar:
    return _scalar(op.operands[0].type)


def _result(op: Op) -> Scalar:
    return _scalar(op.result.type)


class Vectors:
    """Implements the ``Smt`` protocol of the ops over z3.

    The language leaves the bits and the sign of a NaN open, and so does this encoding.  ``facts``
    ties the unknowns that stand for them to the terms: assert them together with any formula that
    uses terms made here.
    """

    def __init__(self) -> None:
        import z3

        self.z3: ModuleType = z3
        self.nearest: Term = z3.RNE()
        self.facts: list[Term] = []
        self._bits: dict[int, tuple[Term, Term]] = {}

    def __getattr__(self, name: str) -> Callable[..., Term]:
        meaning = _MEANINGS.get(name)
        if meaning is not None:
            return partial(meaning, self)
        if name in TABLE:
            raise NotExpressible(f"{name} has no bit-vector encoding")
        raise AttributeError(name)

    def sort(self, t: Type) -> Any:
        """The z3 sort of a scalar type.

        Raises:
            NotExpressible: ``t`` is an array or a composite.
        """
        t = _scalar(t)
        if t is b1:
            return self.z3.BoolSort()
        return self.z3.FPSort(*_FORMATS[t]) if t.is_float else self.z3.BitVecSort(t.bits)

    def variable(self, t: Type, name: str) -> Term:
        """An unknown value of a scalar type.

        Raises:
            NotExpressible: ``t`` is an array or a composite.
        """
        return self.z3.Const(name, self.sort(t))

    def constant(self, t: Type, value: bool | int | float) -> Term:
        """A number, rounded to its type as a ``const`` is.

        Raises:
            NotExpressible: ``t`` is an array or a composite.
        """
        t = _scalar(t)
        if t is b1:
            return self.z3.BoolVal(bool(value))
        if t.is_integer:
            return self.z3.BitVecVal(int(value), t.bits)
        with np.errstate(over="ignore"):
            number = to_bfloat16(value) if t is bf16 else t.carrier.type(value)
        return self.from_bits(t, int(number.view(f"u{t.bits // 8}")))

    def from_bits(self, t: Type, bits: int) -> Term:
        """The number of an integer or float type that has these bits.

        Raises:
            NotExpressible: ``t`` is an array or a composite.
        """
        t = _scalar(t)
        vector = self.z3.BitVecVal(bits, t.bits)
        if not t.is_float:
            return vector
        return self.z3.simplify(self.z3.fpBVToFP(vector, self.sort(t)))

    def bits_of(self, t: Scalar, x: Term) -> Term:
        """The bits of a float ``x``: unknown ones that stand for ``x``.

        A variable is one value and has the same bits each time.  Other terms get new ones, since
        two values that were computed the same way may still be different NaNs.
        """
        known = self._bits.get(x.get_id())
        if known is not None:
            return known[1]
        bits = self.z3.FreshConst(self.z3.BitVecSort(t.bits), "bits")
        self.facts.append(self.z3.fpBVToFP(bits, x.sort()) == x)
        if self.z3.is_const(x) and x.decl().kind() == self.z3.Z3_OP_UNINTERPRETED:
            self._bits[x.get_id()] = (x, bits)  # x stays alive, so its id stays its own
        return bits

    def encode(self, op: Op, *terms: Term) -> Term:
        """The result of a value op from the terms of its operands.

        Raises:
            NotExpressible: the op is more than a function of its operands.
        """
        hook = TABLE[op.name].smt
        if isinstance(hook, Handled):
            raise NotExpressible(f"{op.name} has no bit-vector encoding: {hook.why}")
        return hook(self, op, *terms)


# -- meanings that take more than a line -----------------------------------------------------------


def _quotient(v: Vectors, divide: Callable[[Term, Term], Term], a: Term, b: Term) -> Term:
    """Quotient or remainder; 0 where the divisor is."""
    zero = v.z3.BitVecVal(0, b.size())
    return v.z3.If(b == zero, zero, divide(a, b))


def _high_product(extend: Callable[[int, Term], Term], v: Vectors, a: Term, b: Term) -> Term:
    width = a.size()
    return v.z3.Extract(2 * width - 1, width, extend(width, a) * extend(width, b))


def _count(b: Term) -> Term:
    """A shift count modulo the width."""
    return b & (b.size() - 1)


def _popcount(v: Vectors, _: Op, a: Term) -> Term:
    width = a.size()
    ones = v.z3.BitVecVal(0, width)
    for k in range(width):
        ones = ones + v.z3.ZeroExt(width - 1, v.z3.Extract(k, k, a))
    return ones


def _clz(v: Vectors, _: Op, a: Term) -> Term:
    width = a.size()
    zeros = v.z3.BitVecVal(width, width)
    for k in range(width):  # the highest bit comes last and so is the outermost choice
        here = v.z3.BitVecVal(width - 1 - k, width)
        zeros = v.z3.If(v.z3.Extract(k, k, a) == 1, here, zeros)
    return zeros


def _copysign(v: Vectors, op: Op, a: Term, b: Term) -> Term:
    t = _operand(op)
    sign = v.z3.Extract(t.bits - 1, t.bits - 1, v.bits_of(t, b)) == 1
    size = v.z3.fpAbs(a)
    return v.z3.If(sign, v.z3.fpNeg(size), size)


def _one_bit(v: Vectors, a: Term) -> Term:
    """A Bool as one bit; a vector as it is."""
    return v.z3.If(a, v.z3.BitVecVal(1, 1), v.z3.BitVecVal(0, 1)) if v.z3.is_bool(a) else a


def _resize(v: Vectors, op: Op, a: Term) -> Term:
    return v.z3.fpFPToFP(v.nearest, a, v.sort(op.result.type))


def _saturate(convert: Callable[..., Term], v: Vectors, op: Op, a: Term) -> Term:
    """float64 holds every float and the bounds of every integer, the upper one plus 1."""
    t, double = _result(op), v.sort(f64)
    whole = v.z3.fpRoundToIntegral(v.z3.RTZ(), v.z3.fpFPToFP(v.nearest, a, double))
    below = v.z3.fpLT(whole, v.z3.FPVal(t.lowest, double))
    above = v.z3.fpGEQ(whole, v.z3.FPVal(t.highest + 1, double))
    number = convert(v.z3.RTZ(), whole, v.z3.BitVecSort(t.bits))
    for condition, value in ((v.z3.fpIsNaN(a), 0), (below, t.lowest), (above, t.highest)):
        number = v.z3.If(condition, v.z3.BitVecVal(value, t.bits), number)
    return number


def _bitcast(v: Vectors, op: Op, a: Term) -> Term:
    source, target = _operand(op), _result(op)
    bits = v.bits_of(source, a) if source.is_float else a
    return v.z3.fpBVToFP(bits, v.sort(target)) if target.is_float else bits


_RELATIONS: Mapping[str, Callable[[Vectors, Term, Term], Term]] = {
    "eq": lambda v, a, b: a == b,
    "ne": lambda v, a, b: a != b,
    "slt": lambda v, a, b: a < b,
    "sle": lambda v, a, b: a <= b,
    "sgt": lambda v, a, b: a > b,
    "sge": lambda v, a, b: a >= b,
    "ult": lambda v, a, b: v.z3.ULT(a, b),
    "ule": lambda v, a, b: v.z3.ULE(a, b),
    "ugt": lambda v, a, b: v.z3.UGT(a, b),
    "uge": lambda v, a, b: v.z3.UGE(a, b),
    "oeq": lambda v, a, b: v.z3.fpEQ(a, b),
    "une": lambda v, a, b: v.z3.Not(v.z3.fpEQ(a, b)),
    "olt": lambda v, a, b: v.z3.fpLT(a, b),
    "ole": lambda v, a, b: v.z3.fpLEQ(a, b),
    "ogt": lambda v, a, b: v.z3.fpGT(a, b),
    "oge": lambda v, a, b: v.z3.fpGEQ(a, b),
}


def _compare(v: Vectors, op: Op, a: Term, b: Term) -> Term:
    return _RELATIONS[str(op.attrs["pred"])](v, a, b)


# -- every op that has a meaning -------------------------------------------------------------------

_MEANINGS: Mapping[str, Callable[..., Term]] = {
    "iadd": lambda v, _, a, b: a + b,
    "isub": lambda v, _, a, b: a - b,
    "imul": lambda v, _, a, b: a * b,
    "ineg": lambda v, _, a: -a,
    "idiv": lambda v, _, a, b: _quotient(v, lambda x, y: x / y, a, b),
    "irem": lambda v, _, a, b: _quotient(v, v.z3.SRem, a, b),
    "udiv": lambda v, _, a, b: _quotient(v, v.z3.UDiv, a, b),
    "urem": lambda v, _, a, b: _quotient(v, v.z3.URem, a, b),
    "smin": lambda v, _, a, b: v.z3.If(b < a, b, a),
    "smax": lambda v, _, a, b: v.z3.If(b > a, b, a),
    "umin": lambda v, _, a, b: v.z3.If(v.z3.ULT(b, a), b, a),
    "umax": lambda v, _, a, b: v.z3.If(v.z3.UGT(b, a), b, a),
    "smulhi": lambda v, _, a, b: _high_product(v.z3.SignExt, v, a, b),
    "umulhi": lambda v, _, a, b: _high_product(v.z3.ZeroExt, v, a, b),
    "iand": lambda v, _, a, b: v.z3.And(a, b) if v.z3.is_bool(a) else a & b,
    "ior": lambda v, _, a, b: v.z3.Or(a, b) if v.z3.is_bool(a) else a | b,
    "ixor": lambda v, _, a, b: v.z3.Xor(a, b) if v.z3.is_bool(a) else a ^ b,
    "inot": lambda v, _, a: v.z3.Not(a) if v.z3.is_bool(a) else ~a,
    "shl": lambda v, _, a, b: a << _count(b),
    "lshr": lambda v, _, a, b: v.z3.LShR(a, _count(b)),
    "ashr": lambda v, _, a, b: a >> _count(b),
    "popcount": _popcount,
    "clz": _clz,
    "icmp": _compare,
    "fcmp": _compare,
    "select": lambda v, _, c, a, b: v.z3.If(c, a, b),
    "fadd": lambda v, _, a, b: v.z3.fpAdd(v.nearest, a, b),
    "fsub": lambda v, _, a, b: v.z3.fpSub(v.nearest, a, b),
    "fmul": lambda v, _, a, b: v.z3.fpMul(v.nearest, a, b),
    "fdiv": lambda v, _, a, b: v.z3.fpDiv(v.nearest, a, b),
    "fsqrt": lambda v, _, a: v.z3.fpSqrt(v.nearest, a),
    "fma": lambda v, _, a, b, c: v.z3.fpFMA(v.nearest, a, b, c),
    "fneg": lambda v, _, a: v.z3.fpNeg(a),
    "fabs": lambda v, _, a: v.z3.fpAbs(a),
    "copysign": _copysign,
    "fmin": lambda v, _, a, b: v.z3.If(v.z3.fpLT(b, a), b, a),
    "fmax": lambda v, _, a, b: v.z3.If(v.z3.fpGT(b, a), b, a),
    "floor": lambda v, _, a: v.z3.fpRoundToIntegral(v.z3.RTN(), a),
    "ceil": lambda v, _, a: v.z3.fpRoundToIntegral(v.z3.RTP(), a),
    "ftrunc": lambda v, _, a: v.z3.fpRoundToIntegral(v.z3.RTZ(), a),
    "rint": lambda v, _, a: v.z3.fpRoundToIntegral(v.nearest, a),
    "sext": lambda v, op, a: v.z3.SignExt(_result(op).bits - a.size(), a),
    "zext": lambda v, op, a: v.z3.ZeroExt(_result(op).bits - _operand(op).bits, _one_bit(v, a)),
    "trunc": lambda v, op, a: v.z3.Extract(_result(op).bits - 1, 0, a),
    "fpext": _resize,
    "fptrunc": _resize,
    "sitofp": lambda v, op, a: v.z3.fpSignedToFP(v.nearest, a, v.sort(op.result.type)),
    "uitofp": lambda v, op, a: v.z3.fpUnsignedToFP(
        v.nearest, _one_bit(v, a), v.sort(op.result.type)
    ),
    "fptosi_sat": lambda v, op, a: _saturate(v.z3.fpToSBV, v, op, a),
    "fptoui_sat": lambda v, op, a: _saturate(v.z3.fpToUBV, v, op, a),
    "bitcast": _bitcast,
}
