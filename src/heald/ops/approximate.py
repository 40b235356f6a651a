"""Approximations that hardware has: what ``fast_math`` may use, and nothing else.

Each takes a value, computed by other ops, and what the hardware would compute it from.  Where there
is no such instruction (CPUs, the interpreter, the prover) the result is that value; elsewhere it is
the instruction's, and the code of the value falls away.  See ``docs/adr/0009-fast-math.md``.
"""

from __future__ import annotations

import numpy as np

from heald.ir import Effect
from heald.ops.definition import Lower, OpDef, define
from heald.ops.rules import uniform
from heald.types import f32


def _lower(instruction: str) -> Lower:
    return lambda emit, op, value, *operands: emit.approximate(instruction, value, *operands)


for _name, _instruction, _arity, _doc in (
    ("fexp2_approx", "ex2.approx.f32", 1, "2 to the power of the second operand"),
    ("flog2_approx", "lg2.approx.f32", 1, "the base-2 logarithm of the second operand"),
    ("fsin_approx", "sin.approx.f32", 1, "the sine of the second operand"),
    ("fcos_approx", "cos.approx.f32", 1, "the cosine of the second operand"),
    ("ftanh_approx", "tanh.approx.f32", 1, "the hyperbolic tangent of the second operand"),
    ("fsqrt_approx", "sqrt.approx.f32", 1, "the square root of the second operand"),
    ("frsqrt_approx", "rsqrt.approx.f32", 1, "one by the square root of the second operand"),
    ("fdiv_approx", "div.full.f32", 2, "the second operand by the third"),
):
    define(
        OpDef(
            name=_name,
            doc=f"The first operand, or on a GPU {_doc} by `{_instruction}`.",
            arity=1 + _arity,
            effects=Effect.PURE,
            type_rule=uniform(1 + _arity, (f32,)),
            evaluate=lambda op, *operands: np.broadcast_arrays(*operands)[0][()].copy(),
            lower=_lower(_instruction),
            smt=lambda encoding, op, value, *operands: value,
            adjoint=lambda b, g, op: (g, *(None for _ in op.operands[1:])),
        )
    )
