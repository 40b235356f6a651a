"""Mutants of the corpus: nothing that is proved of them is seen to happen when they run.

``HEALD_MUTANTS`` says how many; 200 where ``CI`` is set, fewer elsewhere, and 3000 with
``-m nightly``.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from heald.driver.verify import Question, verify_program

from .corpus import FAILING, PASSING, load
from .mutants import contradictions, mutate

CI = os.environ.get("CI", "").lower() in ("1", "true")
ASKED = int(os.environ.get("HEALD_MUTANTS") or 0)
COUNT = ASKED or (200 if CI else 40)
NIGHTLY = ASKED or 3000
FILES = [*PASSING, *FAILING]
STRIDE = 67  # relatively prime to the number of files: neighbours are of different kinds
PARTS = 8
NIGHTLY_PARTS = 50


@cache
def judge(number: int, infer: bool) -> tuple[bool, int, list[str]]:
    """Whether a mutant is one, how many launches were run, and what contradicted a proof."""
    path = FILES[number * STRIDE % len(FILES)]
    mutant = mutate(path, number)
    if mutant is None:
        return False, 0, []
    given = () if infer else load(path).given
    question = Question(mutant.kernel, mutant.kernel.name, given, infer, promises=mutant.promises)
    report = verify_program(question, process=False)
    shapes = tuple(promise.clause for promise in mutant.promises.shapes)  # each launch keeps them
    proved = {
        part.name: (*given, *shapes, *report.proof.properties[part.name].clauses)
        for part in report.properties
        if part.verdict.is_proof and part.name != "aliasing"
    }
    ran, wrong = contradictions(mutant.kernel, proved, number, 6, mutant.promises)
    shown = [f"{mutant.name}\n{mutant.source}\n{seen}\n{case}" for seen, case in wrong]
    return True, ran, shown


@pytest.mark.parametrize("infer", [False, True], ids=["given", "inferred"])
@pytest.mark.parametrize("part", range(PARTS))
def test_no_proof_about_a_mutant_is_contradicted(part: int, infer: bool) -> None:
    for number in range(part, COUNT // 2, PARTS):
        _, _, wrong = judge(number, infer)
        assert not wrong, wrong[0]


@pytest.mark.nightly
@pytest.mark.parametrize("infer", [False, True], ids=["given", "inferred"])
@pytest.mark.parametrize("part", range(NIGHTLY_PARTS))
def test_no_proof_about_thousands_of_mutants_is_contradicted(part: int, infer: bool) -> None:
    for number in range(part, NIGHTLY // 2, NIGHTLY_PARTS):
        _, _, wrong = judge(number, infer)
        assert not wrong, wrong[0]


def test_most_mutants_are_kernels_and_run() -> None:
    judged = [judge(number, infer) for number in range(COUNT // 2) for infer in (False, True)]
    kernels = [ran for is_kernel, ran, _ in judged if is_kernel]
    assert len(kernels) > COUNT / 4
    assert sum(ran > 0 for ran in kernels) > len(kernels) / 2
