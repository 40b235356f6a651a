"""The page of everyday errors lists what the tests here provoke."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from errors.everyday.checks import PAGES

ROWS = re.findall(
    r"^\| (.+) \| \[(H\d{4})\]\(\2\.md\) \| (.+) \|$",
    (PAGES / "everyday.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
TESTS = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("test_*.py"))


def test_there_are_at_least_27() -> None:
    assert len(ROWS) >= 27


@pytest.mark.parametrize("code", sorted({code for _, code, _ in ROWS}))
def test_listed_codes_are_provoked_and_have_pages(code: str) -> None:
    assert (PAGES / f"{code}.md").exists()
    assert code in TESTS or (code == "H0401" and "OutOfBoundsError" in TESTS)


def test_provoked_codes_are_listed() -> None:
    assert set(re.findall(r"H\d{4}", TESTS)) - {code for _, code, _ in ROWS} == {"H0805"}
