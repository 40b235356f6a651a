"""The cases of the language: for each row of its tables, the kernels that the tests run."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATH = "language-cases.md"
_CASES = Path(__file__).parents[2] / "tests" / "docs" / "language_cases.py"
_INTRODUCTION = """\
# The language, case by case

For every row of the tables in [the kernel language](language.md), kernels that show what it says.
The tests run each of them on the CPU and in the interpreter. `f` is an array of floats and `n` one
of ints; in the launch there is one thread."""


def language_pages() -> dict[str, str]:
    """Path to Markdown: the one page."""
    lines = [_INTRODUCTION, ""]
    for section, rows in _cases().items():
        lines += [f"## {section}", ""]
        for row, cases in rows.items():
            lines += [f"### {row}", ""]
            for case in cases:
                lines += [*_case(case), ""]
    return {PATH: "\n".join(lines)}


def _cases() -> dict[str, dict[str, list[Any]]]:
    """The table beside the tests."""
    name = "language_cases"
    spec = importlib.util.spec_from_file_location(name, _CASES)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot read {_CASES}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    cases: dict[str, dict[str, list[Any]]] = module.CASES
    return cases


def _case(case: Any) -> Iterator[str]:
    yield "```python"
    yield textwrap.dedent(case.body).strip("\n")
    yield "```"
    yield ""
    if case.code:
        yield f"Refused or failed: [{case.code}](errors/{case.code}.md)"
        return
    before = [f"`{name} = {list(v)}`" for name, v in (("f", case.f), ("n", case.n)) if v]
    name = "f" if isinstance(case.gives[0], float) else "n"
    given = f"{' and '.join(before)} gives " if before else ""
    yield f"{given}`{name} = {list(case.gives)}`"
