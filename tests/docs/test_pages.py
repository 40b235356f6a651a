"""Everything that the documentation shows in code is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from docs.pages import ROOT, answer, bless, blocks

PAGES = sorted(
    p
    for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not (p.parent.name == "errors" and p.name.startswith("H"))
)
# Shell commands change the machine, and WIR is held to the code by tests of its own.
NOT_PYTHON = {"", "sh", "text", "toml", "wir", "yaml"}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_of_a_page_runs_and_prints_what_is_shown(
    path: Path, request: pytest.FixtureRequest
) -> None:
    """The blocks of a page are run one after another and share their names.  ``--bless`` shows what
    they print now."""
    names: dict[str, Any] = {}
    for block in blocks(path):
        if block.language != "python":
            assert block.language in NOT_PYTHON, f"{path.name}:{block.line}: {block.language}"
            continue
        text, codes = answer(block, names)
        if block.output is None:
            assert not codes, f"{path.name}:{block.line}: {text}"
        elif text != block.output and request.config.getoption("--bless"):
            bless(path, block, text)
        else:
            assert text == block.output, f"{path.name}:{block.line}"
