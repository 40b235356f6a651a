"""Correct kernels are proved, faulty ones refuted by a launch that goes wrong in the simulator."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest

from heald.artifact import Symbol
from heald.driver.verify_issue import Verdict
from heald.driver.witness import load_witness

from .corpus import (
    FAILING,
    FAILING_LAUNCHES,
    PASSING,
    PASSING_LAUNCHES,
    expected,
    load,
    verify,
    verify_launches,
)

CORRECT = [*PASSING, *PASSING_LAUNCHES]
FAULTY = [*FAILING, *FAILING_LAUNCHES]


def name(path: Path) -> str:
    return path.stem.partition("_")[2]


def tokens(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    kept = (t for t in tokenize.generate_tokens(io.StringIO(text).readline))
    return [t.string for t in kept if t.type != tokenize.COMMENT]


def test_every_file_has_a_faulty_twin_that_differs_in_one_token() -> None:
    assert [name(p) for p in CORRECT] == [name(p) for p in FAULTY]
    assert not any(map(expected, CORRECT))
    assert all(map(expected, FAULTY))
    for passing, failing in zip(CORRECT, FAULTY, strict=True):
        pairs = list(zip(tokens(passing), tokens(failing), strict=False))
        assert 1 <= sum(a != b for a, b in pairs) <= len(pairs)
        first = next(k for k, (a, b) in enumerate(pairs) if a != b)
        rest = len(tokens(passing)) - first, len(tokens(failing)) - first
        ends = tokens(passing)[-min(rest) + 1 :], tokens(failing)[-min(rest) + 1 :]
        assert ends[0] == ends[1], name(passing)
        second = [p.read_text(encoding="utf-8").splitlines()[1] for p in (passing, failing)]
        assert second[0] == second[1], name(passing)


@pytest.mark.parametrize("path", PASSING, ids=name)
def test_correct_kernels_are_proved(path: Path) -> None:
    report = verify(path)
    assert report.proved, str(report)


@pytest.mark.parametrize("path", FAILING, ids=name)
def test_faulty_kernels_are_refuted_by_a_launch_that_goes_wrong(path: Path, tmp_path: Path) -> None:
    entry, report = load(path), verify(path)
    assert report[entry.refuted].verdict is Verdict.REFUTED, str(report)
    for part in report.properties:
        for issue in part.issues:
            if issue.witness is None:
                continue
            numbers = issue.witness.numbers()
            for axis, extent in enumerate(issue.witness.dims):
                numbers[Symbol("dim", axis=axis)] = extent
            assert all(clause.holds(numbers.__getitem__) for clause in entry.given)
            issue.witness.save(tmp_path / "case.npz")
            again = load_witness(tmp_path / "case.npz").replay()
            assert part.name in {seen.aspect for seen in again}


@pytest.mark.parametrize("path", PASSING_LAUNCHES, ids=name)
def test_launches_that_keep_apart_are_proved(path: Path) -> None:
    report = verify_launches(path)
    assert report.proved, str(report)


@pytest.mark.parametrize("path", FAILING_LAUNCHES, ids=name)
def test_launches_that_meet_are_refuted_by_two_threads(path: Path) -> None:
    report = verify_launches(path)
    assert report.verdict is Verdict.REFUTED, str(report)
    worst = [issue for pair in report.pairs for issue in pair.issues]
    assert {issue.aspect for issue in worst} == {expected(path)}
    assert any(issue.message.startswith("a race between launches: thread ") for issue in worst)
