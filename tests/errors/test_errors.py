"""The error corpus: files of mistakes, each marked where it is reported and shown as users see it.

A statement at the top of a file is run on its own, so one mistake does not hide the next; every
kernel that it defines is lowered.  ``#~ H0201`` marks a line with the codes reported there,
``#~^ H0201`` the line above.  The texts are in ``expected/<file>.txt``.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.frontend.harness import lower

import heald as wp
import heald.frontend
from heald.artifact import Site, fault_error
from heald.diagnostics import CODES, Diagnostic, HealdError
from heald.frontend.session import Session
from heald.interp import ArrayView, run
from heald.ir import walk

HERE = Path(__file__).parent
FILES = sorted(p for p in HERE.glob("*.py") if not p.name.startswith("test_"))
MARK = re.compile(r"#~(\^*)((?: H\d{4})+)")


@dataclass(frozen=True)
class Report:
    """What one statement or kernel was refused with."""

    line: int
    diagnostics: tuple[Diagnostic, ...]
    text: str


def reports(path: Path) -> Iterator[Report]:
    """Everything that a file of mistakes is refused with, in order."""
    linecache.checkcache(str(path))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": f"errors.{path.stem}", "__file__": str(path)}
    seen: set[int] = set()
    for statement in tree.body:
        try:
            exec(compile(ast.Module([statement], []), str(path), "exec"), names)
            for value in list(names.values()):
                if isinstance(value, wp.Kernel) and id(value) not in seen:
                    seen.add(id(value))
                    lower_one(value)
        except HealdError as error:
            text = str(error).replace(f"{path.parent}/", "")
            yield Report(statement.lineno, error.diagnostics, text)


def lower_one(kernel: wp.Kernel) -> None:
    if not kernel.is_generic:
        lower(kernel)


def marked(path: Path) -> Counter[tuple[int, str]]:
    """Lines and codes as marked."""
    found: Counter[tuple[int, str]] = Counter()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for up, codes in MARK.findall(line):
            found.update((number - len(up), code) for code in codes.split())
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_mistakes_are_reported_where_they_are_marked(path: Path, golden: Any) -> None:
    found: Counter[tuple[int, str]] = Counter()
    texts = []
    for report in reports(path):
        for d in report.diagnostics:
            assert d.span is None or d.span.file == str(path), d.render()
            found[d.span.line if d.span else report.line, d.code] += 1
        texts.append(report.text)
    golden(f"{path.stem}.txt", "\n\n".join(texts))
    expected = marked(path)
    assert sorted(found - expected) == [], "reported, but not marked"
    assert sorted(expected - found) == [], "marked, but not reported"


# Codes that no user's Python source provokes, and where they are provoked instead.
ELSEWHERE = {
    "unit/runtime": ("H0801", "H0802", "H0803", "H0806", "H0807", "H0808", "H0809", "H0810"),
    "unit/codegen": ("H0804", "H0805"),
    "gpu": ("H0811", "H0812"),
    "errors/test_errors.py": ("H0405",),  # below
    "unit/interp": ("H0708", "H0709"),
    "unit/ir": ("H0901", "H0902", "H0903", "H0904"),
    "unit/driver/test_hints.py": ("H1001", "H1002", "H1003"),
}


def test_every_code_is_provoked() -> None:
    provoked = {d.code for path in FILES for r in reports(path) for d in r.diagnostics}
    elsewhere = {code for codes in ELSEWHERE.values() for code in codes}
    for folder, codes in ELSEWHERE.items():
        root = HERE.parent / folder
        found = [root] if root.is_file() else root.rglob("*.*")
        files = [p for p in found if "__pycache__" not in p.parts]
        texts = [p.read_text(encoding="utf-8") for p in files]
        missing = [code for code in codes if not any(code in text for text in texts)]
        assert not missing, f"{folder} provokes no {missing}"
    reported = {code for code in CODES if code.startswith("H06")}  # by proofs, not raised
    assert sorted(set(CODES) - provoked - elsewhere - reported) == []
    assert sorted(provoked & elsewhere) == []


@wp.kernel
def copy(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i]


def test_reading_what_was_never_written() -> None:
    wir = lower(copy)
    a = ArrayView.allocate(wir.params[0].type.dtype, (2,))
    a = replace(a, written=np.arange(8) < 4)
    b = ArrayView.allocate(a.dtype, (2,))
    (fault,) = run(wir, (2,), [a, b]).faults
    (load,) = [op for op in walk(wir.body) if op.name == "load"]
    error = fault_error(fault, Site("load", load.span, "a"), "thread 1 of kernel 'copy'")
    assert error.codes == ("H0405",)
    assert "element 1 of 'a' is read but was never written" in str(error)
    assert "b[i] = a[i]" in str(error)


@wp.kernel
def halve(n: wp.array(dtype=int), k: int):
    n[0] = n[0] // k


def test_what_happens_in_a_builtin_is_shown_where_it_is_called() -> None:
    (division,) = [op for op in walk(lower(halve).body) if op.name == "idiv"]
    assert division.span is not None
    assert Path(division.span.file).parent.name == "library"
    text = Diagnostic("H0402", "integer division by zero", division.span).render()
    assert "n[0] // k" in text
    assert "heald/library" not in text


# ------------------------------------------------------------------- every message of the front end


@dataclass(frozen=True)
class CallSite:
    """A call in the front end that makes a diagnostic."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}"


def sites() -> list[CallSite]:
    """Every ``...refuse(...)`` and ``Diagnostic(...)`` of the front end."""
    found = []
    for path in sorted(Path(heald.frontend.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            if called in ("refuse", "Diagnostic"):
                assert node.end_lineno is not None
                found.append(CallSite(path.name, node.lineno, node.end_lineno))
    return found


# Messages for mistakes in library code, which no user writes, and for sources that need a larger
# stack (tests/unit/frontend/test_depth.py).
NOT_FOR_KERNELS = ("machine_calls.py", "nesting.py")


def test_every_message_of_the_front_end_is_provoked(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[tuple[str, int]] = set()

    def note() -> None:
        frame = inspect.currentframe()
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if file.parent.name == "frontend":
                reached.add((file.name, frame.f_lineno))
            frame = frame.f_back

    refuse, make = Session.refuse, Diagnostic.__post_init__
    monkeypatch.setattr(Session, "refuse", lambda *a, **k: (note(), refuse(*a, **k))[1])
    monkeypatch.setattr(Diagnostic, "__post_init__", lambda self: (note(), make(self))[1])
    for path in FILES:
        list(reports(path))
    missed = [
        str(site)
        for site in sites()
        if site.file not in NOT_FOR_KERNELS
        and not any((site.file, line) in reached for line in range(site.first, site.last + 1))
    ]
    assert not missed, missed
