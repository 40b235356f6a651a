"""``docs/proofs.md`` lists every kernel of Heald and of its pages with its verdict; ``--bless``
writes the tables.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proofs.md"
SLOW = re.compile("not judged: (more than|the prover process ended)")
"""What stands for a kernel on a machine too busy to judge it, or out of memory; such rows prove
nothing.
"""
END = "<!-- end of table -->"


SLOW_PAGES = ("docs/tutorial/5-particles.md",)
"""A minute of proofs, all of them of hash grids, as those of the demo in ``src/heald``."""


def test_the_page_lists_every_kernel_of_heald(request: pytest.FixtureRequest) -> None:
    compare("src/heald", ["src/heald"], (), bless=request.config.getoption("--bless"))


@pytest.mark.parametrize("left_out", [SLOW_PAGES, pytest.param((), marks=pytest.mark.nightly)])
def test_the_page_lists_every_kernel_of_the_pages(
    left_out: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    patterns = "README.md", "docs/*.md", "docs/tutorial/*.md"
    pages = [page for pattern in patterns for page in sorted(ROOT.glob(pattern))]
    targets = [page.relative_to(ROOT).as_posix() for page in pages]
    compare("the pages", targets, left_out, bless=request.config.getoption("--bless"))


def compare(what: str, targets: list[str], left_out: tuple[str, ...], *, bless: bool) -> None:
    """Hold a table to what is found now; rows of files that are left out stay as they are."""
    judged = [t for t in targets if t not in left_out]
    heald = [sys.executable, "-c", "import heald.cli; heald.cli.main()"]
    command = [*heald, "verify", *judged, "--strict", "--format", "markdown"]
    # A process of its own: generic kernels have instances wherever other tests have called them.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0 or (done.returncode == 1 and SLOW.search(done.stdout)), done.stderr
    page = PAGE.read_text(encoding="utf-8")
    before, start, rest = page.partition(f"<!-- kernels of {what} -->\n")
    table, _, after = rest.partition(END)
    found, made = table.splitlines(), done.stdout.splitlines()
    if left_out:
        kept = [row for row in found if file_of(row) in left_out]
        made[2:] = sorted([*made[2:], *kept], key=lambda row: targets.index(file_of(row)))
    late = {name_of(row) for row in made if SLOW.search(row)}
    if found != made and not late and bless:
        text = "".join(f"{row}\n" for row in made)
        PAGE.write_text(f"{before}{start}{text}{END}{after}", encoding="utf-8")
        return
    shown, now = ([row for row in rows if name_of(row) not in late] for rows in (found, made))
    assert shown == now


def name_of(row: str) -> str:
    """The kernel that a row is about, and its file."""
    return "|".join(row.split("|")[1:3])


def file_of(row: str) -> str:
    """The file of the kernel that a row is about."""
    return row.split("|")[2].strip()
