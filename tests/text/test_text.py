"""The text corpus: kernels that print as they are written, and texts with marked errors.

A file holds kernels between lines ``;----``.  Where a section has ``; error: <text>`` comments, it
must be refused with exactly one error on each such line, whose report has the text in it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from heald.diagnostics import CompileError
from heald.ir import STRUCTURAL, check, equal, parse, to_text, walk
from heald.ops import TABLE

HERE = Path(__file__).parent
DIVIDER = ";----"
MARK = re.compile(r"; error: (.*)")


@dataclass(frozen=True)
class Section:
    """One kernel of a file; blank lines before it keep its line numbers those of the file."""

    name: str
    text: str

    @property
    def marks(self) -> list[tuple[int, str]]:
        lines = enumerate(self.text.splitlines(), 1)
        return [(n, found[1].strip()) for n, line in lines if (found := MARK.search(line))]

    @property
    def printed(self) -> str:
        lines = self.text.splitlines()
        return "".join(f"{line}\n" for line in lines if line and not line.startswith(";"))


def sections() -> list[Section]:
    found = []
    for path in sorted(HERE.glob("*.wir")):
        lines = path.read_text(encoding="utf-8").splitlines()
        starts = [0, *(n + 1 for n, line in enumerate(lines) if line == DIVIDER)]
        for start, stop in zip(starts, [*(s - 1 for s in starts[1:]), len(lines)], strict=True):
            text = "\n" * start + "\n".join(lines[start:stop]) + "\n"
            found.append(Section(f"{path.stem}:{start + 1}", text))
    return found


GOOD = [s for s in sections() if not s.marks]
BAD = [s for s in sections() if s.marks]


@pytest.mark.parametrize("section", GOOD, ids=lambda s: s.name)
def test_kernel_prints_as_written(section: Section) -> None:
    kernel = parse(section.text, TABLE)
    check(kernel, TABLE)
    spans = "\n!0 = " in section.text
    assert to_text(kernel, spans=spans) == section.printed
    assert equal(kernel, parse(to_text(kernel), TABLE))


@pytest.mark.parametrize("section", BAD, ids=lambda s: s.name)
def test_errors_are_where_they_are_marked(section: Section) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(section.text, TABLE, file="<corpus>", locate=True), TABLE)
    found = {d.span.line: d for d in caught.value.diagnostics if d.span}
    reports = {line: f"{d.message} | {d.label}" for line, d in found.items()}
    assert len(found) == len(caught.value.diagnostics)
    assert sorted(reports) == [line for line, _ in section.marks]
    lines = section.text.splitlines()
    for line, text in section.marks:
        assert text in reports[line]
        assert lines[line - 1] in found[line].render()  # carets under the user's own characters


def test_corpus_has_every_structural_op() -> None:
    used = {op.name for s in GOOD for op in walk(parse(s.text, TABLE).body)}
    assert used >= set(STRUCTURAL)
