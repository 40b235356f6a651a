"""The suite that measures builtins runs on tiny sizes, gets right values, and is reported whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.library import CASES, MAPS

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.cpu


def test_cases_are_measured_and_limits_are_those_of_the_design(tmp_path: Path) -> None:
    chosen = ["sin", "log", "pow", "inverse33", "svd33"]
    command = [sys.executable, "-m", "benchmarks.run", "--suite", "library", "--tiny"]
    only = [word for case in chosen for word in ("--only", case)]
    done = subprocess.run(
        [*command, *only, "--threads", "2", "--out", str(tmp_path / "library.json")],
        cwd=ROOT,
        env={**os.environ, "HEALD_CHECK": "0"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "library.json").read_text())
    assert report["suite"] == "library"
    figures = {(f["case"], f["name"]): f for f in report["figures"]}
    limits = {key: f["limit"] for key, f in figures.items() if f["limit"] is not None}
    assert limits == {
        ("sin", "heald / c++"): 3.0,
        ("sin", "heald / c++ -ffast-math"): 0.8,
        ("log", "heald / c++"): 3.0,
        ("log", "heald / c++ -ffast-math"): 0.5,
        ("pow", "heald / c++"): 2.0,
        ("pow", "heald / c++ -ffast-math"): 0.8,
        ("inverse33", "heald / warp"): 1.2,
        ("inverse33", "heald, all threads / heald"): 1.6,
        ("svd33", "heald / warp"): 1.2,
        ("svd33", "heald, all threads / heald"): 1.6,
    }
    for (case, name), figure in figures.items():
        skipped = name == "heald / warp" or ("c++" in name and not shutil.which("g++"))
        assert (figure["value"] is None) == skipped, (case, name)


def test_every_mapped_function_has_a_peer_in_cpp() -> None:
    source = (ROOT / "benchmarks" / "cpp" / "peers.cpp").read_text()
    assert MAPS.keys() <= CASES.keys()
    assert not [name for name in MAPS if f"({name})" not in source]
