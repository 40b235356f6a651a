"""Integer arithmetic: two's complement, wrapping, at every width."""

from __future__ import annotations

from typing import Any

import numpy as np

from heald.ir import Effect, Op
from heald.ops import lowering
from heald.ops.carriers import as_signed, as_unsigned, choose, operand_type, quiet, result_type
from heald.ops.definition import (
    Emit,
    Evaluate,
    Lower,
    NoAdjoint,
    OpDef,
    define,
    encoded_as,
)
from heald.ops.rules import SIGNED, UNSIGNED, uniform
from heald.types import INTEGERS, Scalar, b1


def _define(
    name: str,
    doc: str,
    accepted: tuple[Scalar, ...],
    evaluate: Evaluate,
    lower: str | Lower,
    arity: int = 2,
    effects: Effect = Effect.PURE,
) -> None:
    """One record: what all integer arithmetic has in common is said here."""
    define(
        OpDef(
            name=name,
            doc=doc,
            arity=arity,
            effects=effects,
            type_rule=uniform(arity, accepted),
            evaluate=quiet(evaluate),
            lower=lower,
            smt=encoded_as(name),
            adjoint=NoAdjoint("integers carry no gradient"),
        )
    )


_define("iadd", "Sum of two integers; wraps.", INTEGERS, lambda _, a, b: a + b, "add {T} {0}, {1}")
_define(
    "isub",
    "Difference of two integers; wraps.",
    INTEGERS,
    lambda _, a, b: a - b,
    "sub {T} {0}, {1}",
)
_define(
    "imul", "Product of two integers; wraps.", INTEGERS, lambda _, a, b: a * b, "mul {T} {0}, {1}"
)
_define(
    "ineg",
    "Negated integer; wraps, so the lowest signed number stays itself.",
    INTEGERS,
    lambda _, a: np.negative(a),
    "sub {T} zeroinitializer, {0}",
    arity=1,
)


# -- division --------------------------------------------------------------------------------------


def _divisor(b: Any, *avoided: int) -> Any:
    """``b``, or 1 where it is one of ``avoided``."""
    bad = b == b.dtype.type(avoided[0])
    for number in avoided[1:]:
        bad = bad | (b == b.dtype.type(number))
    return choose(bad, b.dtype.type(1), b)


def _idiv(_: Op, a: Any, b: Any) -> Any:
    d = _divisor(b, 0, -1)
    quotient = (a - np.fmod(a, d)) // d
    quotient = choose(b == b.dtype.type(-1), np.negative(a), quotient)
    return choose(b == b.dtype.type(0), b.dtype.type(0), quotient)


def _udiv(_: Op, a: Any, b: Any) -> Any:
    return choose(b == b.dtype.type(0), b.dtype.type(0), a // _divisor(b, 0))


def _safe_divisor(emit: Emit, t: Scalar, name: str) -> str:
    """The divisor, or 1 where LLVM's division is undefined for some dividend."""
    bad = lowering.binary(emit, "icmp eq", t, name, emit.splat(t, 0))
    if t.kind == "i":
        minus = lowering.binary(emit, "icmp eq", t, name, emit.splat(t, -1))
        bad = lowering.binary(emit, "or", b1, bad, minus)
    return lowering.choose(emit, bad, t, emit.splat(t, 1), name)


def _lower_quotient(how: str) -> Lower:
    """Safe for all operands whatever ``guard`` says: idle lanes of a wide body divide too."""

    def lower(emit: Emit, op: Op, a: str, b: str) -> str:
        t = result_type(op)
        quotient = emit.divide(how, t, a, _safe_divisor(emit, t, b))
        if t.kind == "i":
            minus = lowering.binary(emit, "icmp eq", t, b, emit.splat(t, -1))
            negated = lowering.binary(emit, "sub", t, emit.splat(t, 0), a)
            quotient = lowering.choose(emit, minus, t, negated, quotient)
        zero = lowering.binary(emit, "icmp eq", t, b, emit.splat(t, 0))
        return lowering.choose(emit, zero, t, emit.splat(t, 0), quotient)

    return lower


def _lower_remainder(how: str) -> Lower:
    """Any number leaves 0 when divided by 1, which is what divisors 0 and -1 are to give."""

    def lower(emit: Emit, op: Op, a: str, b: str) -> str:
        t = result_type(op)
        return emit.divide(how, t, a, _safe_divisor(emit, t, b))

    return lower


_define(
    "idiv",
    "Quotient of signed integers, truncated.  Divisor 0 gives 0 and is a fault; lowest / -1 wraps.",
    SIGNED,
    _idiv,
    _lower_quotient("sdiv"),
    effects=Effect.FAULT,
)
_define(
    "irem",
    "Remainder of the truncated quotient of signed integers, with the sign of the dividend.  "
    "Divisor 0 gives 0 and is a fault.",
    SIGNED,
    lambda _, a, b: np.fmod(a, _divisor(b, 0, -1)),
    _lower_remainder("srem"),
    effects=Effect.FAULT,
)
_define(
    "udiv",
    "Quotient of unsigned integers, rounded down.  Divisor 0 gives 0 and is a fault.",
    UNSIGNED,
    _udiv,
    _lower_quotient("udiv"),
    effects=Effect.FAULT,
)
_define(
    "urem",
    "Remainder of unsigned integers.  Divisor 0 gives 0 and is a fault.",
    UNSIGNED,
    lambda _, a, b: a % _divisor(b, 0),
    _lower_remainder("urem"),
    effects=Effect.FAULT,
)


# -- minimum and maximum ---------------------------------------------------------------------------

for _prefix, _kind, _accepted in (("s", "signed", SIGNED), ("u", "unsigned", UNSIGNED)):
    _define(
        f"{_prefix}min",
        f"The smaller of two {_kind} integers.",
        _accepted,
        lambda _, a, b: np.minimum(a, b),
        f"call {{T}} @llvm.{_prefix}min.{{S}}({{T}} {{0}}, {{T}} {{1}})",
    )
    _define(
        f"{_prefix}max",
        f"The larger of two {_kind} integers.",
        _accepted,
        lambda _, a, b: np.maximum(a, b),
        f"call {{T}} @llvm.{_prefix}max.{{S}}({{T}} {{0}}, {{T}} {{1}})",
    )


# -- upper half of a product -----------------------------------------------------------------------


def _high_product(t: Scalar, a: Any, b: Any) -> Any:
    """The upper half of the product of two unsigned integers."""
    if t.bits < 64:
        product = a.astype(np.uint64) * b.astype(np.uint64)
        return (product >> np.uint64(t.bits)).astype(a.dtype)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    # No sum overflows: (2^32 - 1)^2 leaves room for two more 32-bit numbers below 2^64.
    middle = a_high * b_low + (a_low * b_low >> half)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> half) + (other >> half)


def _smulhi(op: Op, a: Any, b: Any) -> Any:
    """As unsigned, a negative ``a`` counts 2^n too much, which adds ``b`` to the upper half."""
    t = operand_type(op)
    a_bits, b_bits = as_unsigned(t, a), as_unsigned(t, b)
    zero = a_bits.dtype.type(0)
    excess = choose(a < 0, b_bits, zero) + choose(b < 0, a_bits, zero)
    return as_signed(t, _high_product(t, a_bits, b_bits) - excess)


def _lower_high_product(extend: str) -> Lower:
    def lower(emit: Emit, op: Op, a: str, b: str) -> str:
        bits = result_type(op).bits
        narrow, wide = emit.type(result_type(op)), lowering.integer_type(emit, 2 * bits)
        lhs, rhs = (emit.ins(f"{extend} {narrow} {name} to {wide}") for name in (a, b))
        product = emit.ins(f"mul {wide} {lhs}, {rhs}")
        count = lowering.integer_constant(emit, 2 * bits, bits)
        high = emit.ins(f"lshr {wide} {product}, {count}")
        return emit.ins(f"trunc {wide} {high} to {narrow}")

    return lower


_define(
    "smulhi",
    "Upper half of the double-width product of two signed integers.",
    SIGNED,
    _smulhi,
    _lower_high_product("sext"),
)
_define(
    "umulhi",
    "Upper half of the double-width product of two unsigned integers.",
    UNSIGNED,
    lambda op, a, b: _high_product(operand_type(op), a, b),
    _lower_high_product("zext"),
)
