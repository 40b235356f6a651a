"""``docs/proofs.md`` lists every kernel of Heald with its verdict; ``--bless`` writes the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from heald.cli.verify import verify_targets
from heald.driver.verify_formats import to_markdown

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proofs.md"
SLOW = re.compile("not judged: (more than|the prover process ended)")
"""What stands for a kernel on a machine too busy to judge it, or out of memory; such rows prove
nothing.
"""
START, END = "<!-- table -->\n", "<!-- end of table -->"


def test_the_page_lists_every_kernel_of_heald(request: pytest.FixtureRequest) -> None:
    outcome = verify_targets([str(ROOT / "src" / "heald")], (), Console(stderr=True))
    assert not outcome.errors
    assert outcome.exit_code(strict=True) == 0 or SLOW.search(to_markdown(outcome.reports))
    table = to_markdown(outcome.reports) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    found, _, after = rest.partition(END)
    if found != table and not SLOW.search(table) and request.config.getoption("--bless"):
        PAGE.write_text(f"{before}{START}{table}{END}{after}", encoding="utf-8")
        return
    late = {name_of(row) for row in table.splitlines() if SLOW.search(row)}
    shown, made = ([r for r in t.splitlines() if name_of(r) not in late] for t in (found, table))
    assert shown == made


def name_of(row: str) -> str:
    """The kernel that a row is about."""
    return row.split("|")[1] if row.startswith("|") else ""
