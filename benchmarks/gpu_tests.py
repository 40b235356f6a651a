"""The tests that need a GPU, counted for the report of ``--suite gpu``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TESTS = (
    "tests/gpu",
    "tests/blocks",
    "tests/errors/everyday/test_gpu.py",
    "tests/unit/api/test_devices.py",
    "tests/unit/cli/test_doctor.py",
    "tests/unit/ops/test_lower_gpu.py",
)
"""Where they are; collecting all others too would take longer than they do."""


def run_tests(workers: int) -> dict[str, Any]:
    """Counts, and the names of tests that failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", *TESTS, "-n", str(workers)]
        options = [f"--junitxml={report}", "-o", "filterwarnings=default", "--tb=short"]
        subprocess.run(command + options, cwd=ROOT, check=False)
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    kinds = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    counts: dict[str, Any] = {"passed": 0, "failed": 0, "skipped": 0}
    failed = []
    for case in cases:
        (kind,) = {kinds[c.tag] for c in case if c.tag in kinds} or {"passed"}
        counts[kind] += 1
        if kind == "failed":
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return {**counts, "names of failed tests": failed}
