"""``evaluate`` of every op at every type against exact arithmetic in Python."""

from __future__ import annotations

import numpy as np
import pytest
from unit.ops.cases import ALL, FUNCTIONS, Case, arguments, check_same, operands, to_bits
from unit.ops.reference import REFERENCE

from heald.ops import TABLE

SIGN_OPS = {"fneg", "fabs", "copysign", "select", "fmin", "fmax", "bitcast"}
"""Ops that hand on the bits of a NaN, or change its sign only."""


def test_every_function_has_a_reference() -> None:
    assert set(REFERENCE) == set(FUNCTIONS)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_evaluate_is_exact(case: Case) -> None:
    columns = operands(case, 2400)
    function = REFERENCE[case.op.name]
    expected = [function(case.op, *map(int, row)) for row in zip(*columns, strict=True)]
    arrays = arguments(case, columns)
    found = TABLE[case.op.name].evaluate(case.op, *arrays)
    exact = case.op.name in SIGN_OPS
    check_same(
        case, columns, to_bits(case.target, found), np.array(expected, np.uint64), exact=exact
    )


@pytest.mark.parametrize("case", ALL, ids=str)
def test_scalars_and_broadcasting_agree_with_arrays(case: Case) -> None:
    evaluate = TABLE[case.op.name].evaluate
    columns = [c[:: max(1, len(c) // 24)] for c in operands(case, 300)]
    arrays = arguments(case, columns)
    whole = to_bits(case.target, evaluate(case.op, *arrays))
    for k in range(len(whole)):
        one = evaluate(case.op, *(a[k] for a in arrays))
        assert isinstance(one, np.generic)
        row = [c[k : k + 1] for c in columns]
        check_same(case, row, to_bits(case.target, one)[None], whole[k : k + 1], exact=False)
    if len(arrays) > 1:
        spread = evaluate(case.op, arrays[0][3], *(a[:, None] for a in arrays[1:]))
        again = evaluate(case.op, np.full_like(arrays[0], arrays[0][3]), *arrays[1:])
        row = [np.full_like(columns[0], columns[0][3]), *columns[1:]]
        found = to_bits(case.target, spread[:, 0])
        check_same(case, row, found, to_bits(case.target, again), exact=False)


def test_evaluate_leaves_its_operands_alone() -> None:
    for case in ALL:
        columns = operands(case, 40)
        arrays = arguments(case, columns)
        for array in arrays:
            array.flags.writeable = False
        result = TABLE[case.op.name].evaluate(case.op, *arrays)
        assert result.shape == arrays[0].shape
