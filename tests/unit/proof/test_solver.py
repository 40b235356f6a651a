"""Effort is counted in steps: what answers depend on, whatever the clock says."""

from __future__ import annotations

from itertools import combinations

import pytest

from heald.proof.solver import Effort, Solver
from heald.proof.terms import INT, Terms

pytest.importorskip("z3")


def test_a_question_spends_steps_of_the_effort_that_solvers_share() -> None:
    terms, effort = Terms(), Effort()
    x, y = (terms.symbol(name, INT, 0, 9) for name in "xy")
    left = [effort.left]
    for _ in range(2):
        solver = Solver(terms, effort=effort)
        assert solver.check([terms.less(x, y), terms.less(y, x)]).status == "unsat"
        left.append(effort.left)
    assert left[0] > left[1] > left[2]
    assert left[0] - left[1] == left[1] - left[2]


def test_without_effort_nothing_is_known() -> None:
    terms = Terms()
    x = terms.symbol("x", INT, 0, 9)
    solver = Solver(terms, effort=Effort(left=0))
    assert solver.check([terms.less(x, terms.integer(10))]).status == "unknown"
    assert solver.check([terms.false]).status == "unsat"


def test_a_question_that_needs_more_steps_than_it_may_take_is_left_open() -> None:
    terms = Terms()
    pigeons = [terms.symbol("hole", INT, 0, 8) for _ in range(10)]
    question = [terms.negate(terms.same(x, y)) for x, y in combinations(pigeons, 2)]
    found = []
    for _ in range(2):
        effort = Effort()
        solver = Solver(terms, rlimit=20_000, effort=effort)
        found.append((solver.check(question).status, effort.left))
    assert found[0][0] == "unknown"
    assert found[0] == found[1]
