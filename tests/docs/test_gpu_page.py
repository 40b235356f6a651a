"""The page about GPUs shows the last result of the suite that ran on one."""

import json

from docs.pages import ROOT

RESULT = ROOT / "benchmarks" / "results" / "gpu.json"
PAGE = ROOT / "docs" / "gpu.md"


def table(result: dict) -> str:
    rows = [
        ("device", f"{result['device']}, CUDA {result['driver'] / 1000:g}, {result['date']}"),
        ("tests", f"{result['tests']['passed']} passed, {result['tests']['failed']} failed"),
        *((name, f"{value:g}") for name, value in result["figures"].items()),
    ]
    return "".join(f"| {name} | {value} |\n" for name, value in rows)


def test_the_page_shows_the_result() -> None:
    shown = table(json.loads(RESULT.read_text()))
    assert shown in PAGE.read_text(), f"docs/gpu.md should show\n{shown}"


def test_nothing_failed() -> None:
    result = json.loads(RESULT.read_text())
    assert result["failed"] == []
    assert result["tests"]["passed"] > 300
