"""The page of everyday errors lists what the tests here provoke."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from errors.everyday.checks import PAGES

PAGE = (PAGES / "everyday.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (.+) \| \[(H\d{4})\]\(\2\.md\) \| (.+) \|$",
    PAGE,
    re.MULTILINE,
)
WITHOUT_CODE = {
    "memory is used after it was freed": "test_nothing_is_used_after_it_was_freed",
    "memory is freed twice": "test_each_array_over_an_address_frees_it_once",
    "a stream is not waited for before its results are read": (
        "test_a_stream_that_is_not_waited_for_before_its_results_are_read"
    ),
    "a tensor with gaps": "test_memory_with_gaps_and_of_another_stream",
    "a tensor of another stream": "test_memory_with_gaps_and_of_another_stream",
    "nvJitLink is not found": "test_nvjitlink_is_not_found",
}
TESTS = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("test_*.py"))


def test_there_are_at_least_27() -> None:
    assert len(ROWS) >= 27


@pytest.mark.parametrize("code", sorted({code for _, code, _ in ROWS}))
def test_listed_codes_are_provoked_and_have_pages(code: str) -> None:
    assert (PAGES / f"{code}.md").exists()
    assert code in TESTS or (code == "H0401" and "OutOfBoundsError" in TESTS)


def test_provoked_codes_are_listed() -> None:
    assert set(re.findall(r"H\d{4}", TESTS)) - {code for _, code, _ in ROWS} == {"H0805"}


def test_a_test_shows_what_happens_where_there_is_no_code() -> None:
    _, _, rest = PAGE.partition("## What has no code")
    shown = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", rest, re.MULTILINE)
    assert shown[1:] == list(WITHOUT_CODE)
    for name in WITHOUT_CODE.values():
        assert f"def {name}(" in TESTS
