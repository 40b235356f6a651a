"""Every kernel case of the table runs on tiny sizes, gets right values, and is reported whole.

Nothing here looks at a time.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
CASES = {
    "saxpy": {"heald / c++"},
    "triad": {"heald / c++"},
    "stencil": {"heald / c++"},
    "nbody": {"heald / c++", "heald / c++ -ffast-math"},
    "sinexp": {"heald / c++ -ffast-math", "heald, 1 thread / numpy"},
    "mandelbrot": {"heald / c++"},
    "density": {"heald / warp", "heald", "hash grid build"},
    "scan": {"heald / c++", "heald / numpy"},
    "sort": {"heald / c++", "heald / numpy"},
    "matvec": {"heald / c++"},
    "guard stream": {"time guarded / unchecked"},
    "guard star": {"time guarded / unchecked"},
    "guard nbody": {"time guarded / unchecked"},
    "guard gather": {"time guarded / unchecked"},
    "guard sph": {"time guarded / unchecked"},
    "demo sph": {"step"},
}
NEEDS_CPP = {"heald / c++", "heald / c++ -ffast-math"}

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "cpu.json"
    command = [sys.executable, "-m", "benchmarks.run", "--suite", "cpu", "--tiny"]
    only = [word for case in CASES for word in ("--only", case)]
    done = subprocess.run(
        [*command, *only, "--out", str(path)],
        cwd=ROOT,
        env={**os.environ, "HEALD_CHECK": "0"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


def test_report_says_how_it_was_made(report):
    assert report["suite"] == "cpu"
    assert report["size"] == "tiny"
    assert report["clock"] == "wall"
    assert report["machine"].keys() == {"processor", "cores", "system"}
    assert report["versions"].keys() == {"python", "heald", "numpy", "llvmlite"}
    assert report["versions"]["numpy"] == np.__version__
    assert "no interpreter" in report["peers"]["python"]
    for name in ("date", "commit", "changed_files", "load_average_before", "load_average_after"):
        assert name in report


@pytest.mark.parametrize("case", CASES)
def test_case_gives_its_figures(report, case):
    figures = {f["name"]: f for f in report["figures"] if f["case"] == case}
    assert figures.keys() >= CASES[case]
    for name in CASES[case]:
        figure = figures[name]
        is_there = name != "heald / warp" and (shutil.which("g++") or name not in NEEDS_CPP)
        assert (figure["value"] is not None) == bool(is_there)
        if is_there:
            assert figure["value"] > 0
            assert figure["unit"] in ("x", "ms")
            assert {"wall_ms", "processor_ms"} <= figure["detail"].keys()
        else:
            assert figure["verdict"] == "skip"
            assert "not there" in figure["note"]


def test_unknown_case_is_named():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", "--tiny", "--no-cpp", "--only", "no such case"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no case 'no such case'; the cases are saxpy, triad" in done.stderr
