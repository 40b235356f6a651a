"""Every row of the tables in ``docs/language.md`` is shown by kernels, which are run."""

from __future__ import annotations

import linecache
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from docs.language_cases import CASES, NO_CASES, Case
from docs.pages import ROOT

import heald as wp
from heald.diagnostics import HealdError

PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
_CELL = re.compile(r"(?<!\\)\|")
_MEETING = "Where two types meet"  # tests/unit/frontend/test_promotion.py holds that one
_PATTERNS = "Functions"  # patterns of annotations, shown by the code below that table
_ROOM = 4
ALL = [
    pytest.param(case, id=f"{row[:30]}-{k}")
    for rows in CASES.values()
    for row, cases in rows.items()
    for k, case in enumerate(cases)
]


def tables() -> Iterator[tuple[str, str]]:
    """Section and first cell of every row of every table of the page."""
    section = ""
    for line in PAGE.splitlines():
        heading = re.match(r"#+ (.*)", line)
        section = heading[1] if heading else section
        if line.startswith("| ") and section not in (_MEETING, _PATTERNS):
            first = _CELL.split(line)[1].strip()
            if first and first not in ("type", "operators", "written", "refused"):
                yield section, first


def test_every_row_has_cases_and_every_case_a_row() -> None:
    shown = {(section, row) for section, rows in CASES.items() for row in rows}
    assert shown == {(s, row) for s, row in tables() if row not in NO_CASES}
    assert all(rows for rows in CASES.values())


def program(case: Case) -> str:
    """The case as a program that defines a kernel ``k``."""
    if case.whole:
        return textwrap.dedent(case.body).lstrip("\n")
    head = "@wp.kernel\ndef k(f: wp.array(dtype=float), n: wp.array(dtype=int)):\n"
    return f"{head}{textwrap.indent(case.body, '    ')}\n"


def run(case: Case, device: str) -> tuple[list[float], list[float]]:
    """What the arrays hold afterwards.

    Raises:
        HealdError: the program, the kernel or its launch is refused, or a thread faults.
    """
    text = program(case)
    linecache.cache["case.py"] = (len(text), None, text.splitlines(keepends=True), "case.py")
    names: dict[str, Any] = {"wp": wp, "__name__": "case"}
    exec(compile(text, "case.py", "exec"), names)
    f, n = (
        wp.array([*values, *[0] * (_ROOM - len(values))], dtype=dtype, device=device)
        for values, dtype in ((case.f, float), (case.n, int))
    )
    wp.launch(names["k"], dim=1, inputs=[f, n], device=device)
    return f.numpy().tolist(), n.numpy().tolist()


@pytest.mark.cpu
@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("case", ALL)
def test_a_case(case: Case, device: str) -> None:
    assert bool(case.gives) != bool(case.code)
    if case.code:
        with pytest.raises(HealdError) as refused:
            run(case, device)
        assert refused.value.codes == (case.code,)
        return
    f, n = run(case, device)
    found = f if isinstance(case.gives[0], float) else n
    assert found[: len(case.gives)] == np.array(case.gives, np.float32).tolist()
