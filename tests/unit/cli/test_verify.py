"""``heald verify`` and ``heald replay``, run as users run them but in this process."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import sys
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import heald as wp
from heald.cli.app import app
from heald.cli.verify import load_module, show, verify_targets
from heald.proof import PROPERTIES

runner = CliRunner()

GOOD = """
import heald as wp

@wp.kernel
def double(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + a[i]
"""
BAD = """
import heald as wp

@wp.kernel
def early(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i - 1]
"""
OPEN = """
import heald as wp

@wp.kernel
def vague(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i == 0:
        k = int(a[0])
        while k * k * k > n:
            k = k - 1
        if k * k * k * k == 7:
            a[0] = float(7 % (k * k - n))
"""
GENERIC = """
from typing import Any
import heald as wp

@wp.kernel
def scale(a: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    a[i] = a[i] * s
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in {"good": GOOD, "bad": BAD, "generic": GENERIC}.items():
        (tmp_path / f"vf_{name}.py").write_text(text)
    (tmp_path / "vf_none.py").write_text("x = 1\n")
    (tmp_path / "vf_broken.py").write_text("import heald as wp\n@wp.kernel\ndef f(:\n")
    return tmp_path


def verify(*arguments: str):
    return runner.invoke(app, ["verify", *map(str, arguments)])


def test_exit_codes_follow_the_worst_verdict(folder) -> None:
    assert verify(folder / "vf_good.py").exit_code == 0
    found = verify(folder / "vf_bad.py")
    assert found.exit_code == 1
    assert "error[H0601]: index -1 is outside 'a'" in found.output
    assert "b[i] = a[i - 1]" in found.output


def test_one_kernel_can_be_chosen(folder) -> None:
    assert "double" in verify(f"{folder / 'vf_good.py'}::double").output
    missing = verify(f"{folder / 'vf_good.py'}::nothing")
    assert missing.exit_code == 2
    assert "no kernel 'nothing'" in missing.output


def test_bad_targets_are_one_line_each_and_the_rest_is_verified(folder) -> None:
    found = verify(folder / "vf_none.py", folder / "vf_broken.py", folder / "vf_good.py", "no_mod")
    assert found.exit_code == 2
    lines = [line for line in found.output.splitlines() if line.startswith("heald: ")]
    assert len(lines) == 3
    assert "vf_none.py: no kernels" in lines[0]
    assert "vf_broken.py" in lines[1]
    assert "no_mod" in lines[2]
    assert "double: proved under conditions" in found.output


def test_a_folder_is_searched(folder) -> None:
    (folder / "vf_broken.py").unlink()
    found = verify(folder)
    assert found.exit_code == 1
    assert "3 kernels: 2 proved under conditions, 1 refuted" in found.output


def test_generic_kernels_are_judged_for_an_example(folder) -> None:
    found = verify(folder / "vf_generic.py")
    assert found.exit_code == 0
    assert "scale: proved" in found.output


def test_formats(folder) -> None:
    bad = folder / "vf_bad.py"
    data = json.loads(verify(bad, "--format", "json").stdout)
    assert data[0]["kernel"] == "early"
    assert data[0]["verdict"] == "refuted"
    log = json.loads(verify(bad, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    assert log["runs"][0]["results"][0]["ruleId"] == "H0601"
    assert "<testsuite" in verify(bad, "--format", "junit").stdout
    assert verify(bad, "--format", "github").stdout.startswith("::error file=")
    assert verify(bad, "--format", "yaml").exit_code == 2


def test_a_sarif_log_has_what_the_standard_requires(folder) -> None:
    """Sections 3.13, 3.14, 3.20, 3.27 and 3.30 of SARIF 2.1.0."""
    found = verify(folder / "vf_bad.py", folder / "vf_none.py", "--format", "sarif")
    log = json.loads(found.stdout)
    assert (log["version"], list(log)) == ("2.1.0", ["$schema", "version", "runs"])
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    assert run["columnKind"] == "unicodeCodePoints"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (told,) = invocation["toolExecutionNotifications"]
    assert "vf_none.py: no kernels" in told["message"]["text"]
    assert run["results"]
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["ruleId"] in ids
        for place in (*result["locations"], *result["relatedLocations"]):
            physical = place["physicalLocation"]
            assert urlsplit(physical["artifactLocation"]["uri"]).scheme in ("", "file")
            region = physical["region"]
            assert min(region.values()) >= 1
            assert region["startLine"] <= region["endLine"]
    assert run["results"][0]["properties"]["witness"][0].startswith("dim = ")
    done = json.loads(verify(folder / "vf_good.py", "--format", "sarif").stdout)["runs"][0]
    assert done["invocations"][0]["executionSuccessful"] is True


def test_junit_counts_and_github_names_what_could_not_be_verified(folder) -> None:
    targets = folder / "vf_bad.py", folder / "vf_none.py"
    root = ElementTree.fromstring(verify(*targets, "--format", "junit").stdout.split("\n", 1)[1])
    kernel, files = root
    assert [kernel.get(n) for n in ("failures", "errors", "skipped")] == ["1", "0", "0"]
    assert kernel.get("tests") == str(len(PROPERTIES))
    assert (files.get("tests"), files.get("errors")) == ("1", "1")
    lines = verify(*targets, "--format", "github").stdout.splitlines()
    assert lines[-1].startswith("::error::")
    assert lines[-1].endswith("vf_none.py: no kernels")


def test_annotations_stand_in_the_users_file(tmp_path) -> None:
    path = tmp_path / "vf_open.py"
    path.write_text(OPEN)  # the division is code of the library
    (line,) = verify(path, "--property", "division", "--format", "github").stdout.splitlines()
    assert "vf_open.py,line=12," in line
    (run,) = json.loads(verify(path, "--property", "division", "--format", "sarif").stdout)["runs"]
    (place,) = run["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"].endswith("vf_open.py")


def test_files_may_have_the_names_of_other_modules(folder) -> None:
    other = folder / "other"
    other.mkdir()
    for name in ("types", "numpy", "queue", "vf_good"):
        (other / f"{name}.py").write_text(GOOD)
    found = verify(other, folder / "vf_good.py")
    assert found.exit_code == 0
    assert "5 kernels: 5 proved under conditions" in found.output
    assert np.float32 is sys.modules["numpy"].float32


def test_modules_that_print_or_exit_spoil_no_report(folder) -> None:
    loud = folder / "vf_loud.py"
    loud.write_text("print('noise')\n" + GOOD)
    found = verify(loud, "--format", "json")
    assert [kernel["kernel"] for kernel in json.loads(found.stdout)] == ["double"]
    (folder / "vf_exits.py").write_text(GOOD + "\nraise SystemExit(0)\n")
    (folder / "vf_raises.py").write_text(GOOD + "\nint('x')\n")
    found = verify(folder / "vf_exits.py", folder / "vf_raises.py", loud)
    assert found.exit_code == 2
    for name, why in (("vf_exits.py", "SystemExit: 0"), ("vf_raises.py", "ValueError: invalid")):
        assert re.search(rf"cannot import '.*{name}': {why}", found.output)
    assert "double: proved" in found.output


def test_a_terminal_shows_colours_and_no_markup(folder) -> None:
    screen = io.StringIO()
    console = Console(
        file=screen,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        markup=False,
        soft_wrap=True,
    )
    outcome = verify_targets([str(folder / "vf_bad.py")], (), Console(file=io.StringIO()))
    show(outcome, "text", console, strict=False)
    shown = screen.getvalue()
    assert "\x1b[31mrefuted\x1b[0m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain == f"{outcome.reports[0]}\n"


def test_properties(folder) -> None:
    assert verify(folder / "vf_bad.py", "--property", "races").exit_code == 0
    wrong = verify(folder / "vf_bad.py", "--property", "speed")
    assert wrong.exit_code == 2
    assert "no property 'speed'" in wrong.output


def test_unknown_is_an_error_only_when_strict(tmp_path) -> None:
    path = tmp_path / "vf_open.py"
    path.write_text(OPEN)
    found = verify(path, "--property", "division")
    assert found.exit_code == 0
    assert "vague: unknown" in found.output
    assert "hint: " in found.output
    assert verify(path, "--property", "division", "--strict").exit_code == 1


def test_a_stored_witness_is_replayed(folder) -> None:
    module = load_module(str(folder / "vf_bad.py"))
    report = wp.verify(module.early)
    path = folder / "case.npz"
    report.witness.save(path)
    found = runner.invoke(app, ["replay", str(path)])
    assert found.exit_code == 1
    assert "index -1 is outside 'a'" in found.output
    assert "has changed" not in found.output


def test_the_kernel_of_a_witness_is_the_stored_one(folder) -> None:
    source, path = folder / "vf_bad.py", folder / "case.npz"
    wp.verify(load_module(str(source)).early).witness.save(path)
    source.write_text(GOOD)
    os.utime(source, (2**31 - 1, 2**31 - 1))
    found = runner.invoke(app, ["replay", str(path)])
    assert found.exit_code == 1
    assert "index -1 is outside 'a'" in found.output
    assert "note: the file of the kernel has changed since" in found.output


def test_damaged_witnesses_are_refused_in_one_line(folder) -> None:
    module = load_module(str(folder / "vf_bad.py"))
    path = folder / "case.npz"
    wp.verify(module.early).witness.save(path)
    whole = path.read_bytes()
    chance = random.Random(5)
    for _ in range(60):
        damaged = bytearray(whole[: chance.randrange(1, len(whole))])
        if chance.random() < 0.8:
            damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        found = runner.invoke(app, ["replay", str(path)])
        assert found.exception is None or isinstance(found.exception, SystemExit)
        if found.exit_code == 2:
            assert len(found.output.strip().splitlines()) == 1
            assert "pickle" not in found.output


@pytest.mark.parametrize("what", ["missing", "text", "other"])
def test_what_is_no_witness_is_refused_in_one_line(tmp_path, what: str) -> None:
    path = tmp_path / "case.npz"
    if what == "text":
        path.write_text("nothing")
    if what == "other":
        np.savez(path, a=np.zeros(2))
    found = runner.invoke(app, ["replay", str(path)])
    assert found.exit_code == 2
    assert len(found.output.strip().splitlines()) == 1


def test_files_of_packages_are_imported_as_such(folder, monkeypatch) -> None:
    package = folder / "vf_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tools.py").write_text("N = 3\n")
    text = GOOD.replace("import heald as wp", "import heald as wp\nfrom . import tools")
    (package / "kernels.py").write_text(text)
    assert verify(package / "kernels.py").exit_code == 0
    shutil.rmtree(package)


def test_a_copy_that_python_imports_instead_must_be_the_same(tmp_path, monkeypatch) -> None:
    for place in ("installed", "sources"):
        package = tmp_path / place / "vf_twice"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "helpers.py").write_text("scale = 2.0\n")
        (package / "kernels.py").write_text(BAD)
    monkeypatch.syspath_prepend(tmp_path / "installed")
    installed = load_module(str(tmp_path / "installed" / "vf_twice" / "kernels.py"))
    asked = tmp_path / "sources" / "vf_twice" / "kernels.py"
    (tmp_path / "sources" / "pyproject.toml").write_text(
        "[[tool.heald.verify.accepted]]\nkernel = 'vf_twice/kernels.py::early'\n"
        "property = 'bounds'\nverdict = 'refuted'\nreason = 'a test'\n"
    )
    assert load_module(str(asked)) is installed
    outcome = verify_targets([str(asked)], ["bounds"], Console())
    assert (outcome.errors, outcome.exit_code(strict=True)) == ([], 0)
    assert [report.span.file for report in outcome.reports] == [str(asked)]
    (asked.parent / "helpers.py").write_text("scale = 3.0\n")
    changed = verify_targets([str(asked)], ["bounds"], Console())
    (error,) = changed.errors
    assert "is not what Python imports as 'vf_twice.kernels'" in error
    assert (changed.reports, changed.exit_code(strict=False)) == ([], 2)


def test_modules_are_found_where_the_command_runs(tmp_path, monkeypatch) -> None:
    package = tmp_path / "vf_here"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    found = verify("vf_here.kernels")
    assert found.exit_code == 0
    assert "double: proved under conditions" in found.output


MADE = """
import heald as wp

def make(n):
    @wp.kernel
    def shift(a: wp.array(dtype=float)):
        i = wp.tid()
        if i + n < a.shape[0]:
            a[i + n] = 1.0
    return shift

class Kernels:
    @wp.kernel
    def inner(a: wp.array(dtype=float)):
        a[wp.tid()] = 1.0

by_size = {n: [make(n)] for n in (0, -1)}
by_size["all"] = by_size
"""


def test_kernels_in_lists_and_classes_are_found(tmp_path) -> None:
    path = tmp_path / "vf_made.py"
    path.write_text(MADE)
    found = verify(path)
    assert found.exit_code == 1
    assert "index -1 is outside 'a'" in found.output
    assert "3 kernels: 2 proved under conditions, 1 refuted" in found.output
    assert "1 refuted" not in verify(f"{path}::inner").output


STATED = """
import heald as wp

@wp.kernel
def gather(idx: wp.array(dtype=int, shape=("n",), elem=wp.index("m")), a: wp.array(dtype=float,
           shape=("m",)), b: wp.array(dtype=float, shape=("n",))):
    i = wp.tid()
    b[i] = a[idx[i]]
"""
IMPOSSIBLE = """
import heald as wp

@wp.kernel
def never(idx: wp.array(dtype=int, elem=wp.within(1, 0))):
    idx[wp.tid()] = 0
"""


def test_what_rests_on_contracts_is_told_in_every_format(tmp_path) -> None:
    path = tmp_path / "vf_stated.py"
    path.write_text(STATED)
    found = verify(path, "--strict")
    assert found.exit_code == 0
    assert "gather: proved under stated contracts" in found.output
    (data,) = json.loads(verify(path, "--format", "json").stdout)
    assert "idx: elem=wp.index('m')" in data["contracts"]
    (result,) = json.loads(verify(path, "--format", "sarif").stdout)["runs"][0]["results"]
    assert result["kind"] == "informational"
    assert "proved under stated contracts: " in verify(path, "--format", "junit").stdout
    assert verify(path, "--format", "github").stdout.startswith("::notice file=")
    assert "under b.shape[0] == n" in verify(path, "--format", "markdown").stdout


def test_contracts_that_nobody_can_keep_are_an_error(tmp_path) -> None:
    path = tmp_path / "vf_impossible.py"
    path.write_text(IMPOSSIBLE)
    found = verify(path)
    assert found.exit_code == 2
    assert "error[H0607]: no launch of kernel 'never' keeps all of its contracts" in found.output
