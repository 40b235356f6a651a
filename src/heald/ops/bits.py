"""Bit operations on integers and, where they make sense, on b1."""

from __future__ import annotations

from typing import Any

import numpy as np

from heald.ir import Effect, Op
from heald.ops import lowering
from heald.ops.carriers import as_signed, as_unsigned, operand_type, quiet, result_type
from heald.ops.definition import Emit, Evaluate, Lower, NoAdjoint, OpDef, define, encoded_as
from heald.ops.rules import uniform
from heald.types import INTEGERS, Scalar, b1

_WITH_BOOL = (b1, *INTEGERS)


def _define(
    name: str,
    doc: str,
    arity: int,
    accepted: tuple[Scalar, ...],
    evaluate: Evaluate,
    lower: str | Lower,
) -> None:
    """One record: what all bit operations have in common is said here."""
    define(
        OpDef(
            name=name,
            doc=doc,
            arity=arity,
            effects=Effect.PURE,
            type_rule=uniform(arity, accepted),
            evaluate=quiet(evaluate),
            lower=lower,
            smt=encoded_as(name),
            adjoint=NoAdjoint("bits carry no gradient"),
        )
    )


def _lower_not(emit: Emit, op: Op, a: str) -> str:
    t = result_type(op)
    return lowering.binary(emit, "xor", t, a, lowering.all_ones(emit, t))


_define("iand", "Bitwise and.", 2, _WITH_BOOL, lambda _, a, b: a & b, "and {T} {0}, {1}")
_define("ior", "Bitwise or.", 2, _WITH_BOOL, lambda _, a, b: a | b, "or {T} {0}, {1}")
_define("ixor", "Bitwise exclusive or.", 2, _WITH_BOOL, lambda _, a, b: a ^ b, "xor {T} {0}, {1}")
_define("inot", "Every bit flipped.", 1, _WITH_BOOL, lambda _, a: ~a, _lower_not)


# -- shifts ----------------------------------------------------------------------------------------


def _count(op: Op, b: Any) -> Any:
    """The shift count modulo the width, never negative."""
    return b & b.dtype.type(result_type(op).bits - 1)


def _lshr(op: Op, a: Any, b: Any) -> Any:
    t = operand_type(op)
    shifted = as_unsigned(t, a) >> as_unsigned(t, _count(op, b))
    return as_signed(t, shifted) if t.kind == "i" else shifted


def _ashr(op: Op, a: Any, b: Any) -> Any:
    t = operand_type(op)
    shifted = as_signed(t, a) >> as_signed(t, _count(op, b))
    return as_unsigned(t, shifted) if t.kind == "u" else shifted


def _lower_shift(how: str) -> Lower:
    """LLVM's shifts are undefined from the width on, hence the mask."""

    def lower(emit: Emit, op: Op, a: str, b: str) -> str:
        t = result_type(op)
        count = lowering.binary(emit, "and", t, b, emit.splat(t, t.bits - 1))
        return lowering.binary(emit, how, t, a, count)

    return lower


_define(
    "shl",
    "Shift to the left by the second operand modulo the width; zeros come in.",
    2,
    INTEGERS,
    lambda op, a, b: a << _count(op, b),
    _lower_shift("shl"),
)
_define(
    "lshr",
    "Shift to the right by the second operand modulo the width; zeros come in.",
    2,
    INTEGERS,
    _lshr,
    _lower_shift("lshr"),
)
_define(
    "ashr",
    "Shift to the right by the second operand modulo the width; copies of the top bit come in.",
    2,
    INTEGERS,
    _ashr,
    _lower_shift("ashr"),
)


# -- counts ----------------------------------------------------------------------------------------


def _ones(x: Any) -> Any:
    """How many bits of a uint64 are set.

    Sums in fields of 2, 4 and 8 bits, then a product adds the bytes.  H. S. Warren, "Hacker's
    Delight", 2nd edition, section 5-1.
    """
    one, two, four = np.uint64(1), np.uint64(2), np.uint64(4)
    pairs, nibbles = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    x = x - ((x >> one) & pairs)
    x = (x & nibbles) + ((x >> two) & nibbles)
    x = (x + (x >> four)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return x * np.uint64(0x0101010101010101) >> np.uint64(56)


def _popcount(op: Op, a: Any) -> Any:
    return _ones(as_unsigned(operand_type(op), a).astype(np.uint64)).astype(a.dtype)


def _clz(op: Op, a: Any) -> Any:
    """Sets every bit below the highest; the rest are the leading zeros."""
    t = operand_type(op)
    x = as_unsigned(t, a).astype(np.uint64)
    for distance in (1, 2, 4, 8, 16, 32):
        x = x | (x >> np.uint64(distance))
    return (np.uint64(t.bits) - _ones(x)).astype(a.dtype)


_define(
    "popcount",
    "How many bits are set.",
    1,
    INTEGERS,
    _popcount,
    "call {T} @llvm.ctpop.{S}({T} {0})",
)
_define(
    "clz",
    "How many zero bits stand above the highest set bit; the width for 0.",
    1,
    INTEGERS,
    _clz,
    "call {T} @llvm.ctlz.{S}({T} {0}, i1 false)",
)
