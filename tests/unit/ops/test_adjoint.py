"""``adjoint`` of every float op: the ops it builds, evaluated, against difference quotients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.ops.cases import ALL, Case, to_bits

from heald.ir import Builder, Op, Value
from heald.ops import TABLE, NoAdjoint
from heald.types import Scalar, b1, bf16, f16, f32, f64
from heald.types.rounding import narrow, widen

DIFFERENTIABLE = [
    c for c in ALL if c.target.is_float and not isinstance(TABLE[c.op.name].adjoint, NoAdjoint)
]


def run(ops: list[Op], known: dict[Value, Any]) -> None:
    """Evaluate straight-line ops."""
    for op in ops:
        if op.name == "const":
            t = op.result.type
            assert isinstance(t, Scalar)
            known[op.result] = number(t, op.attrs["value"])
        else:
            operands = [known[v] for v in op.operands]
            known[op.result] = TABLE[op.name].evaluate(op, *operands)


def number(t: Scalar, value: Any) -> Any:
    """A number in the carrier of its type."""
    if not t.is_float:
        return t.carrier.type(value)
    return narrow(t, np.float64(value).astype(np.float64 if t is f64 else np.float32))


def real(t: Scalar, value: Any) -> float:
    return float(widen(t, value)) if t.is_float else float(value)


def gradients(case: Case, operands: tuple[float, ...], seed: float) -> list[float | None]:
    """What the adjoint sends to each operand when ``seed`` arrives at the result."""
    builder = Builder(TABLE)
    builder.open()
    arriving = Value(case.target)
    adjoint = TABLE[case.op.name].adjoint
    assert not isinstance(adjoint, NoAdjoint)
    leaving = adjoint(builder, arriving, case.op)
    assert len(leaving) == len(case.op.operands)
    numbers = [number(t, x) for t, x in zip(case.sources, operands, strict=True)]
    known = dict(zip(case.op.operands, numbers, strict=True))
    known[case.op.result] = TABLE[case.op.name].evaluate(case.op, *known.values())
    known[arriving] = number(case.target, seed)
    run(builder.pop(), known)
    for value, operand in zip(leaving, case.op.operands, strict=True):
        assert value is None or value.type is operand.type
    return [None if v is None else real(v.type, known[v]) for v in leaving]


def difference(case: Case, operands: tuple[float, ...], k: int, step: float) -> float:
    """The symmetric difference quotient on operand ``k``."""
    ends = []
    for sign in (1, -1):
        moved = list(operands)
        moved[k] += sign * step
        carried = [number(t, x) for t, x in zip(case.sources, moved, strict=True)]
        ends.append(real(case.target, TABLE[case.op.name].evaluate(case.op, *carried)))
    return (ends[0] - ends[1]) / (2 * step)


POINTS = (0.375, 2.625, 1.625, -0.875, 3.125, -2.375)
"""Away from every kink, exact in all float types, and further apart than the steps."""


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradients_are_derivatives(case: Case) -> None:
    coarse = any(t in (f16, bf16) for t in (*case.sources, case.target))
    single = f32 in (*case.sources, case.target)
    step, tolerance = (2**-4, 0.12) if coarse else (2**-8, 2e-3) if single else (2**-16, 1e-7)
    for shift in range(len(POINTS)):
        operands = tuple(POINTS[(shift + k) % len(POINTS)] for k in range(len(case.sources)))
        if case.op.name == "fsqrt":
            operands = (abs(operands[0]) + 1,)
        operands = tuple(
            float(x > 0) if t is b1 else float(int(4 * abs(x))) if t.is_integer else x
            for t, x in zip(case.sources, operands, strict=True)
        )
        seed = (1.5, -0.75)[shift % 2]
        found = gradients(case, operands, seed)
        for k, (t, gradient) in enumerate(zip(case.sources, found, strict=True)):
            if not t.is_float:
                assert gradient is None
                continue
            expected = seed * difference(case, operands, k, step)
            if gradient is None:
                assert expected == 0
            assert (gradient or 0.0) == pytest.approx(expected, rel=tolerance, abs=tolerance)


def case_of(name: str, t: Scalar = f64) -> Case:
    return next(c for c in DIFFERENTIABLE if c.op.name == name and c.target is t)


def test_ties_send_the_gradient_to_what_was_taken() -> None:
    for name in ("fmin", "fmax"):
        assert gradients(case_of(name), (2.0, 2.0), 3.0) == [3.0, 0.0]
        assert gradients(case_of(name), (np.nan, 2.0), 3.0) == [3.0, 0.0]
        assert gradients(case_of(name), (2.0, np.nan), 3.0) == [3.0, 0.0]
    assert gradients(case_of("fabs"), (0.0,), 3.0) == [3.0]
    assert gradients(case_of("fabs"), (-0.0,), 3.0) == [3.0]


def test_a_choice_lets_nothing_pass_to_the_other_side() -> None:
    """Not even an infinite gradient, which a product with zero would make NaN."""
    assert gradients(case_of("select"), (1.0, 5.0, 6.0), np.inf) == [None, np.inf, 0.0]
    assert gradients(case_of("select"), (0.0, 5.0, 6.0), np.inf) == [None, 0.0, np.inf]


def test_the_adjoint_of_a_fused_sum_is_not_fused() -> None:
    builder = Builder(TABLE)
    builder.open()
    for case in DIFFERENTIABLE:
        adjoint = TABLE[case.op.name].adjoint
        assert not isinstance(adjoint, NoAdjoint)
        adjoint(builder, Value(case.target), case.op)
    assert {op.name for op in builder.pop()} == {
        "const", "copysign", "fcmp", "fdiv", "fmul", "fneg", "fpext", "fptrunc", "select",
    }  # fmt: skip


def test_gradients_of_zero_derivatives_are_left_out() -> None:
    for name in ("floor", "ceil", "ftrunc", "rint", "sitofp", "uitofp"):
        assert gradients(case_of(name), (3.0,), 1.0) == [None]
    assert gradients(case_of("copysign"), (3.0, -2.0), 1.0) == [-1.0, None]


def test_numbers_of_the_test_itself() -> None:
    """POINTS are exact in bfloat16, else the differences above would be of other points."""
    for x in POINTS:
        assert real(bf16, number(bf16, x)) == x
        assert to_bits(bf16, number(bf16, x)).shape == ()
