"""Lowering helpers: LLVM text that several ops share, at any width.

The two 16-bit floats are computed on in float32 and rounded once: float32 keeps enough bits that
sum, difference, product, quotient and square root come out correctly rounded.  Conversions that a
target has no exact instruction for are spelled out, since its library calls are neither fast nor
the same everywhere.
"""

from __future__ import annotations

from heald.ir import Op
from heald.ops.carriers import operand_type, result_type
from heald.ops.definition import Emit, Lower, OpDef
from heald.types import Scalar, b1, bf16, f16, f32, f64, u16, u32, u64


def lower_op(record: OpDef, emit: Emit, op: Op, *names: str) -> str:
    """Append a value op whose operands have ``names``; gives the name of its result."""
    if isinstance(record.lower, str):
        return emit.ins(expand(record.lower, emit, op, *names))
    return record.lower(emit, op, *names)


def expand(template: str, emit: Emit, op: Op, *names: str) -> str:
    """The text of a one-instruction template; :class:`OpDef` lists the placeholders."""
    source, target = operand_type(op), result_type(op)
    return template.format(
        *names,
        T=emit.type(target),
        A=emit.type(source),
        C=emit.type(b1),
        S=emit.suffix(target),
        AS=emit.suffix(source),
        **op.attrs,
    )


def integer_type(emit: Emit, bits: int) -> str:
    """The LLVM integer type of any width, which ``Scalar`` may not have, at the current width."""
    return emit.type(u64).replace("i64", f"i{bits}")


def is_vector(emit: Emit) -> bool:
    """Is the current width more than one?"""
    return emit.type(u64).startswith("<")


def integer_constant(emit: Emit, bits: int, value: int) -> str:
    """A constant of ``integer_type(emit, bits)``."""
    return f"splat (i{bits} {value})" if is_vector(emit) else str(value)


def all_ones(emit: Emit, t: Scalar) -> str:
    """The constant of an integer type or b1 with every bit set."""
    return emit.splat(t, True if t is b1 else -1 if t.kind == "i" else t.highest)


def cast(emit: Emit, how: str, source: Scalar, name: str, target: Scalar) -> str:
    """An LLVM conversion instruction."""
    return emit.ins(f"{how} {emit.type(source)} {name} to {emit.type(target)}")


def binary(emit: Emit, how: str, t: Scalar, lhs: str, rhs: str) -> str:
    """An LLVM instruction with two operands of one type."""
    return emit.ins(f"{how} {emit.type(t)} {lhs}, {rhs}")


def call(emit: Emit, intrinsic: str, t: Scalar, *names: str) -> str:
    """An LLVM intrinsic whose operands and result have one type."""
    whole = emit.type(t)
    operands = ", ".join(f"{whole} {name}" for name in names)
    return emit.ins(f"call {whole} @llvm.{intrinsic}.{emit.suffix(t)}({operands})")


def choose(emit: Emit, condition: str, t: Scalar, then: str, other: str) -> str:
    """An LLVM select."""
    whole = emit.type(t)
    return emit.ins(f"select {emit.type(b1)} {condition}, {whole} {then}, {whole} {other}")


# -- 16-bit floats ---------------------------------------------------------------------------------


def computed_in(t: Scalar) -> Scalar:
    """The float type in which values of ``t`` are computed on."""
    return f64 if t is f64 else f32


def widen(emit: Emit, t: Scalar, name: str) -> str:
    """A float as one of ``computed_in(t)``; exact."""
    if t is f16:
        return cast(emit, "fpext", f16, name, f32)
    if t is bf16:
        bits = cast(emit, "zext", u16, name, u32)
        high = binary(emit, "shl", u32, bits, emit.splat(u32, 16))
        return cast(emit, "bitcast", u32, high, f32)
    return name


def narrow(emit: Emit, t: Scalar, name: str) -> str:
    """A value of ``computed_in(t)`` as a ``t``, rounded to nearest even."""
    if t is f16:
        return cast(emit, "fptrunc", f32, name, f16)
    return _float32_to_bfloat16(emit, name) if t is bf16 else name


def _float32_to_bfloat16(emit: Emit, name: str) -> str:
    """Adds half a unit in the last place, less one where a tie would go to odd; NaN stays NaN."""
    bits = cast(emit, "bitcast", f32, name, u32)
    high = binary(emit, "lshr", u32, bits, emit.splat(u32, 16))
    odd = binary(emit, "and", u32, high, emit.splat(u32, 1))
    bias = binary(emit, "add", u32, odd, emit.splat(u32, 0x7FFF))
    sum_ = binary(emit, "add", u32, bits, bias)
    rounded = binary(emit, "lshr", u32, sum_, emit.splat(u32, 16))
    nan = binary(emit, "or", u32, high, emit.splat(u32, 0x40))
    is_nan = binary(emit, "fcmp uno", f32, name, name)
    return cast(emit, "trunc", u32, choose(emit, is_nan, u32, nan, rounded), u16)


def from_float64(emit: Emit, t: Scalar, name: str) -> str:
    """A double as a narrower float, rounded once to nearest even."""
    if t is f32:
        return cast(emit, "fptrunc", f64, name, f32)
    return narrow(emit, t, _float64_to_float32_odd(emit, name))


def _float64_to_float32_odd(emit: Emit, name: str) -> str:
    """Rounds to odd, as ``carriers.to_float32_odd`` explains."""
    near = cast(emit, "fptrunc", f64, name, f32)
    back = cast(emit, "fpext", f32, near, f64)
    bits = cast(emit, "bitcast", f32, near, u32)
    inexact = binary(emit, "fcmp one", f64, back, name)
    last = binary(emit, "and", u32, bits, emit.splat(u32, 1))
    even = binary(emit, "icmp eq", u32, last, emit.splat(u32, 0))
    fix = binary(emit, "and", b1, inexact, even)
    far, true = call(emit, "fabs", f64, back), call(emit, "fabs", f64, name)
    outward = binary(emit, "fcmp ogt", f64, far, true)
    step = choose(emit, outward, u32, emit.splat(u32, 0xFFFFFFFF), emit.splat(u32, 1))
    moved = binary(emit, "add", u32, bits, step)
    return cast(emit, "bitcast", u32, choose(emit, fix, u32, moved, bits), f32)


# -- makers of ``lower`` hooks ---------------------------------------------------------------------


def rounded_instruction(how: str) -> Lower:
    """An LLVM float instruction; on 16-bit floats in float32, rounded once."""

    def lower(emit: Emit, op: Op, *names: str) -> str:
        t = result_type(op)
        operands = ", ".join(widen(emit, t, name) for name in names)
        return narrow(emit, t, emit.ins(f"{how} {emit.type(computed_in(t))} {operands}"))

    return lower


def rounded_intrinsic(intrinsic: str) -> Lower:
    """An LLVM float intrinsic; on 16-bit floats in float32, rounded once."""

    def lower(emit: Emit, op: Op, *names: str) -> str:
        t = result_type(op)
        operands = [widen(emit, t, name) for name in names]
        return narrow(emit, t, call(emit, intrinsic, computed_in(t), *operands))

    return lower
