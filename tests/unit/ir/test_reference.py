"""``docs/wir.md`` says what the code says."""

import re
from pathlib import Path

import pytest

from heald.ir import MAX_NESTING, OBLIGATIONS, STRUCTURAL, check, file, parse, to_text
from heald.ops import TABLE
from heald.types import MAX_LEAVES, SCALARS

PAGE = (Path(__file__).parents[3] / "docs/wir.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```wir\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^#|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", STRUCTURAL)
def test_every_structural_op_has_its_section(name: str) -> None:
    op = STRUCTURAL[name]
    assert f"```text\n{op.form}\n```" in SECTIONS[name]
    assert words(op.doc) in words(SECTIONS[name])


def test_there_are_no_other_sections() -> None:
    assert set(SECTIONS) == set(STRUCTURAL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_prints_as_it_stands(number: int) -> None:
    text = "".join(
        line for line in EXAMPLES[number].splitlines(keepends=True) if not line.startswith(";")
    )
    kernel = parse(EXAMPLES[number], TABLE)
    check(kernel, TABLE)
    assert to_text(kernel, spans="\n!0 = " in text) == text


def test_examples_are_there() -> None:
    assert len(EXAMPLES) >= 3


def test_limits_and_lists_are_those_of_the_code() -> None:
    assert f"at most {MAX_LEAVES} leaves" in words(PAGE)
    assert f"nested at most {MAX_NESTING} deep" in words(PAGE)
    assert f"at most {file.MAX_SIZE >> 20} MiB" in PAGE
    assert "`" + file.MAGIC.hex(" ").upper() + "`" in PAGE
    assert "This is format {}.{}.".format(*file.FORMAT) in PAGE
    rows = re.findall(r"^\| (`[^|]+) \|[^|]+\|[^|]+\|$", PAGE, flags=re.MULTILINE)
    listed = set(re.findall(r"[\w*]+", " ".join(rows)))
    assert {str(t) for t in SCALARS} <= listed
    assert {name for name in OBLIGATIONS if not name.startswith("atomic_")} <= listed
