"""Every error code has a page whose example provokes it and shows what is said.

Codes of proofs (H06) are no exceptions: their examples print a report.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from docs.pages import ROOT, answer, bless, blocks

from heald.diagnostics import CODES

FOLDER = ROOT / "docs" / "errors"

# Codes that a few lines on any machine cannot provoke; their pages show no code.
NO_EXAMPLE = {
    "H0606": "what cannot be proved changes with the prover",
    "H0708": "ten million iterations take minutes",
    "H0709": "nothing on the public surface reaches it",
    "H0803": "thousands of resources",
    "H0804": "needs another processor",
    "H0807": "needs an old driver",
    "H0808": "needs a GPU",
    "H0809": "needs a GPU",
    "H0810": "needs a machine without ptxas",
    "H0811": "needs a GPU",
    "H0812": "needs a GPU",
    "H0902": "needs a file of another version",
}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {p.stem for p in FOLDER.glob("H*.md")} == set(CODES)


@pytest.mark.usefixtures("no_driver")  # what a page shows is said on such a machine
@pytest.mark.parametrize("code", CODES)
def test_page(code: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{code}.md"
    title, *_ = path.read_text(encoding="utf-8").splitlines()
    assert title == f"# {code}: {CODES[code].title}"
    shown = [b for b in blocks(path) if b.language != "text"]
    if code in NO_EXAMPLE:
        assert not shown, "a page without example shows no code"
        return
    assert {b.language for b in shown} <= {"python", "wir"}
    first, *rest = shown
    text, codes = answer(first, {})
    if code.startswith("H06") and not codes:
        codes = tuple(re.findall(r"(?:error|note|warning)\[(H\d{4})\]", text))
    assert set(codes) == {code} or (code == "H0210" and codes[0] == code), text
    if text != first.output and request.config.getoption("--bless"):
        bless(path, first, text)
        return
    assert text == first.output
    for block in rest:
        text, codes = answer(block, {})
        assert not codes, text


def test_index_lists_every_code() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    rows: dict[str, Any] = dict(re.findall(r"^\| \[(H\d{4})\]\(\1\.md\) \| (.*) \|$", index, re.M))
    assert rows == {code: row.title for code, row in CODES.items()}
