"""The integer and the bit encoding of every op against exact arithmetic.

A result that the reference gives must be possible (or proofs would be wrong), and where the
encoding claims to know the op, no other result may be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.ops.cases import ALL, Case, operands
from unit.ops.reference import REFERENCE

from heald.ir import Op
from heald.proof.bits import Bits
from heald.proof.integers import Integers
from heald.proof.solver import Solver
from heald.proof.terms import BOOL, Term, Terms
from heald.proof.vector_terms import VectorTerms
from heald.types import Scalar, b1

CASES = [case for case in ALL if not any(t.is_float for t in (*case.sources, case.target))]
DIVISIONS = {"idiv", "irem", "udiv", "urem"}
OPAQUE = {"popcount", "clz", "smulhi", "umulhi"}
"""Ops of which both encodings know a range only."""


def number(t: Scalar, bits: int) -> int:
    """The number that bits stand for."""
    return bits - (1 << t.bits) if t.kind == "i" and bits >> (t.bits - 1) else bits


def rows(case: Case, count: int) -> list[tuple[int, ...]]:
    columns = operands(case, 400)
    picks = np.linspace(0, len(columns[0]) - 1, count).astype(int)
    return [tuple(int(c[k]) for c in columns) for k in picks]


def encoding_of(kind: str) -> Integers:
    if kind == "bits":
        return Bits(VectorTerms())
    made: list[Integers] = []

    def fit(op: Op, exact: Term, t: Scalar) -> Term:
        return made[0].wrapped(exact, t)[0]

    made.append(Integers(Terms(), fit))
    return made[0]


def equals(e: Any, t: Scalar, term: Term, bits: int) -> Term:
    if term.sort == BOOL:
        return term if bits else e.terms.negate(term)
    return e.terms.same(term, e.terms.integer(number(t, bits)))


@pytest.mark.parametrize("kind", ["integers", "bits"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_encoding_gives_the_reference_and_nothing_else(case: Case, kind: str) -> None:
    e = encoding_of(kind)
    symbols = [e.unknown(t, "x") for t in case.sources]
    found = e.encode(case.op, *symbols)
    solver = Solver(e.terms, exact=True)  # one for all rows: making it costs more than they do
    for row in rows(case, 5):
        if case.op.name in DIVISIONS and row[1] == 0:
            continue  # a fault: what comes after is not judged
        known = [
            equals(e, t, x, bits) for t, x, bits in zip(case.sources, symbols, row, strict=True)
        ]
        expected = REFERENCE[case.op.name](case.op, *row)
        right = equals(e, case.target, found, expected)
        assert solver.check([*known, right]).status == "sat", row
        if case.op.name in OPAQUE or e.approximated:
            continue
        assert solver.check([*known, e.terms.negate(right)]).status == "unsat", row


@pytest.mark.parametrize("kind", ["integers", "bits"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_constants_fold_to_the_reference(case: Case, kind: str) -> None:
    for row in rows(case, 5):
        if case.op.name in DIVISIONS and row[1] == 0:
            continue
        e = encoding_of(kind)
        terms = [
            e.constant(t, bool(bits) if t is b1 else number(t, bits))
            for t, bits in zip(case.sources, row, strict=True)
        ]
        found = e.encode(case.op, *terms)
        expected = REFERENCE[case.op.name](case.op, *row)
        right = equals(e, case.target, found, expected)
        if right is e.terms.true:
            continue  # there is nothing left to ask
        solver = Solver(e.terms, exact=True)
        assert solver.check([right]).status == "sat", row
        if case.op.name not in OPAQUE and not e.approximated:
            assert solver.check([e.terms.negate(right)]).status == "unsat", row


@pytest.mark.parametrize("kind", ["integers", "bits"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_result_lies_in_the_range_that_terms_give(case: Case, kind: str) -> None:
    e = encoding_of(kind)
    symbols = [e.unknown(t, "x") for t in case.sources]
    found = e.encode(case.op, *symbols)
    if found.sort == BOOL:
        return
    low, high = e.terms.range(found)
    for row in rows(case, 24):
        if case.op.name in DIVISIONS and row[1] == 0:
            continue
        expected = number(case.target, REFERENCE[case.op.name](case.op, *row))
        if kind == "bits" and case.target.bits == 64 and case.target.kind == "u":
            continue  # 64 bits without a sign are read by whoever compares them
        assert low <= expected <= high
