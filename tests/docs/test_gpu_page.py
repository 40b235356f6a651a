"""The page about GPUs shows the last result of the suite that ran on one."""

import json
from typing import Any

from docs.pages import ROOT

RESULT = ROOT / "benchmarks" / "results" / "gpu.json"
PAGE = ROOT / "docs" / "gpu.md"


def result() -> dict[str, Any]:
    return json.loads(RESULT.read_text(encoding="utf-8"))


def table(found: dict[str, Any]) -> str:
    rows = []
    for figure in found["figures"]:
        limit, verdict = "", figure["verdict"] or ""
        if figure["limit"] is not None:
            limit = f"{figure['sense']} {figure['limit']:g}"
        shown = "" if figure["value"] is None else f"{figure['value']:.3g} {figure['unit']}"
        rows.append(f"| {figure['case']}: {figure['name']} | {shown} | {limit} | {verdict} |\n")
    return "".join(rows)


def test_the_page_shows_the_result() -> None:
    found = result()
    device, tests = found["device"], found["tests"]
    lines = (
        f"{device['name']}, CUDA {device['driver'] / 1000:g}, {found['date'][:10]}, commit "
        f"{found['commit']}: {tests['passed']} tests passed, {tests['failed']} failed, "
        f"{tests['skipped']} skipped (they need two GPUs).\n"
    )
    text = PAGE.read_text(encoding="utf-8")
    assert lines in text, f"docs/gpu.md should say\n{lines}"
    assert table(found) in text, f"docs/gpu.md should show\n{table(found)}"


def test_nothing_failed() -> None:
    tests = result()["tests"]
    assert tests["failed"] == 0
    assert tests["names of failed tests"] == []
    assert tests["passed"] > 600
