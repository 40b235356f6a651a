"""What a project accepts in its pyproject.toml: marked everywhere, and no longer than it is so."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from heald.cli.app import app

runner = CliRunner()

KERNELS = """
import heald as wp

@wp.kernel
def double(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + a[i]

@wp.kernel
def early(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i - 1]

@wp.kernel
def vague(a: wp.array(dtype=float), n: int):
    if int(a[0]) * int(a[0]) % 7 == 5:
        a[0] = float(7 % (int(a[0]) - n))
"""
VAGUE = {"kernel": "va_kernels.py::vague", "property": "division", "reason": "n is 9, always"}
EARLY = {
    "kernel": "va_kernels.py::early",
    "property": "bounds",
    "verdict": "refuted",
    "reason": "threads begin at 1",
}


def entries(*tables: dict[str, object]) -> str:
    lines = []
    for table in tables:
        lines.append("[[tool.heald.verify.accepted]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "va_kernels.py").write_text(KERNELS, encoding="utf-8")
    return tmp_path


def verify(folder: Path, *options: str, target: str = "va_kernels.py"):
    return runner.invoke(app, ["verify", str(folder / target), *options])


def accept(folder: Path, *tables: dict[str, object]) -> None:
    (folder / "pyproject.toml").write_text(entries(*tables), encoding="utf-8")


def test_what_is_accepted_is_no_failure(folder) -> None:
    assert verify(folder, "--strict").exit_code == 1
    accept(folder, VAGUE)
    assert verify(folder).exit_code == 1
    accept(folder, VAGUE, EARLY)
    for options in ((), ("--strict",)):
        found = verify(folder, *options)
        assert found.exit_code == 0, found.output
        assert "vague: accepted as unknown (" in found.output
        assert "division     accepted as unknown: n is 9, always" in found.output
        assert "error[" not in found.output
        total = "3 kernels: 1 proved under conditions, 1 accepted as unknown, 1 accepted as refuted"
        assert total in found.output


def test_every_format_says_so(folder) -> None:
    accept(folder, VAGUE, EARLY)

    def shown(form: str) -> str:
        return verify(folder, "--strict", "--format", form).stdout

    parts = {
        (kernel["kernel"], part["name"]): part["accepted"]
        for kernel in json.loads(shown("json"))
        for part in kernel["properties"]
    }
    assert parts["vague", "division"] == "n is 9, always"
    assert parts["vague", "bounds"] is None
    results = json.loads(shown("sarif"))["runs"][0]["results"]
    reasons = {r["ruleId"]: r["suppressions"][0]["justification"] for r in results}
    assert reasons == {"H0601": "threads begin at 1", "H0606": "n is 9, always"}
    assert {r["suppressions"][0]["kind"] for r in results} == {"external"}
    root = ElementTree.fromstring(shown("junit").split("\n", 1)[1])
    assert not list(root.iter("failure"))
    assert [case.attrib["message"] for case in root.iter("skipped")] == [
        "accepted as refuted: threads begin at 1",
        "accepted as unknown: n is 9, always",
    ]
    lines = shown("github").splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::notice", "::notice"]
    assert lines[1].endswith("vague: division accepted as unknown: n is 9, always")
    assert "| accepted as refuted | bounds refuted: " in shown("markdown")
    assert "; accepted: threads begin at 1 |" in shown("markdown")


def test_a_bug_is_accepted_only_as_one(folder) -> None:
    accept(folder, VAGUE, {**EARLY, "verdict": "unknown"})
    found = verify(folder)
    assert found.exit_code == 1
    assert "early: refuted" in found.output


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({**VAGUE, "property": "bounds"}, "bounds of 'vague' is proved under conditions"),
        ({**VAGUE, "verdict": "refuted"}, 'write verdict = "unknown"'),
        ({**VAGUE, "kernel": "va_kernels.py::vogue"}, "there is no kernel 'vogue'"),
    ],
    ids=["proved", "better", "gone"],
)
def test_what_no_longer_holds_is_an_error(folder, table: dict[str, object], why: str) -> None:
    accept(folder, VAGUE, table) if table["property"] == "bounds" else accept(folder, table)
    found = verify(folder)
    assert found.exit_code == 2
    (line,) = [line for line in found.output.splitlines() if line.startswith("heald: ")]
    assert why in line
    assert "pyproject.toml: entry " in line


def test_files_that_are_gone_are_missed_by_whoever_looks_at_their_folder(folder) -> None:
    accept(folder, VAGUE, EARLY, {**VAGUE, "kernel": "va_other.py::vague"})
    assert verify(folder).exit_code == 0
    found = verify(folder, target="")
    assert found.exit_code == 2
    assert "there is no kernel 'vague' in " in found.output


def test_nothing_is_said_of_what_was_not_looked_at(folder) -> None:
    accept(folder, VAGUE, EARLY)
    assert verify(folder, target="va_kernels.py::double").exit_code == 0
    assert verify(folder, "--property", "races").exit_code == 0


def test_a_file_that_fails_to_import_has_lost_no_kernel(folder) -> None:
    (folder / "va_broken.py").write_text("import heald as wp\n@wp.kernel\ndef f(:\n")
    accept(folder, VAGUE, EARLY, {**VAGUE, "kernel": "va_broken.py::f"})
    found = verify(folder, target="")
    assert found.exit_code == 2
    assert "there is no kernel" not in found.output


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"reason": " "}, "reason is a text that is not empty"),
        ({"kernel": "vague"}, "kernel is 'file.py::name', not 'vague'"),
        ({"property": "speed"}, "no property 'speed'; they are bounds, "),
        ({"property": []}, "property is a name or a list of names"),
        ({"verdict": "proved"}, "verdict is 'unknown' or 'refuted', not 'proved'"),
        ({"since": 3}, "no key 'since'; the keys are kernel, property, verdict, reason"),
    ],
)
def test_bad_entries_are_one_line_each(folder, change: dict[str, object], why: str) -> None:
    accept(folder, EARLY, {**VAGUE, **change})
    found = verify(folder)
    assert found.exit_code == 2
    (line,) = [line for line in found.output.splitlines() if line.startswith("heald: ")]
    assert "entry 2 of tool.heald.verify.accepted: " in line
    assert why in line
    assert "early: accepted as refuted" in found.output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool.heald", "pyproject.toml: "),
        ("[tool.heald.verify]\naccepted = 3\n", "is no list of tables"),
        ("[tool]\nheald = 3\n", "is no list of tables"),
        (entries(VAGUE, VAGUE), "division of 'vague' is accepted twice"),
    ],
    ids=["no TOML", "a number", "another table", "twice"],
)
def test_a_file_that_cannot_be_read_is_one_line(folder, text: str, why: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    found = verify(folder, target="va_kernels.py::double")
    assert found.exit_code == 2
    (line,) = [line for line in found.output.splitlines() if line.startswith("heald: ")]
    assert why in line


def test_entries_are_written_for_what_is_open(folder) -> None:
    accept(folder, VAGUE)
    text = verify(folder, "--format", "accepted").stdout
    assert 'kernel = "va_kernels.py::early"\nproperty = "bounds"\nverdict = "refuted"' in text
    assert "vague" not in text
    (folder / "pyproject.toml").write_text(
        entries(VAGUE) + text.replace('reason = ""', 'reason = "known"'), encoding="utf-8"
    )
    assert verify(folder, "--strict").exit_code == 0
