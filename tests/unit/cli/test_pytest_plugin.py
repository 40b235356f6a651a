"""``pytest --heald-verify``, run as users run it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGIN = "heald.cli.pytest_plugin"
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

def test_plain():
    assert True
"""


def outcomes(folder: Path, *options: str) -> dict[str, str]:
    """The outcome of every test, by its name."""
    installed = [e.value for e in entry_points(group="pytest11", name="heald")]
    plugin = [] if PLUGIN in installed else ["-p", PLUGIN]
    command = [sys.executable, "-m", "pytest", *plugin, "-v", "-p", "no:cacheprovider", *options]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line.split() for line in run.stdout.splitlines() if line.startswith("test_it.py::")]
    assert lines, run.stdout + run.stderr
    return {line[0].removeprefix("test_it.py::"): line[1] for line in lines}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "test_other.py").write_text("from test_it import early\n", encoding="utf-8")
    return tmp_path


def test_kernels_are_tests_where_pytest_is_asked_to_verify(folder: Path) -> None:
    assert outcomes(folder) == {"test_plain": "PASSED"}
    found = outcomes(folder, "--heald-verify")
    assert found == {
        "double[verify]": "PASSED",
        "early[verify]": "FAILED",
        "vague[verify]": "SKIPPED",
        "test_plain": "PASSED",
    }
    strict = outcomes(folder, "--heald-verify-strict")
    assert strict == {**found, "vague[verify]": "FAILED"}
