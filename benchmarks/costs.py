"""The other benchmarks of this folder as cases of the table: start-up, launches, memory, soak."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks import coldstart, launch, memory
from benchmarks.figures import Figure, Size

ROOT = Path(__file__).parent.parent


def start_up(size: Size) -> Iterator[Figure]:
    """``benchmarks.coldstart``; processor time."""
    with tempfile.TemporaryDirectory(prefix="heald-coldstart-") as folder:
        bench = coldstart.Bench(Path(folder), 7 if size == "full" else 1)
        for found in coldstart.figures(bench):
            limit = None if found.limit == float("inf") else found.limit * 1e3
            detail = {"wall_ms": found.wall * 1e3}
            name = found.name.strip()
            yield Figure("start-up", name, found.cpu * 1e3, "ms", limit, "<=", detail)


def launches(size: Size) -> Iterator[Figure]:
    """``benchmarks.launch``, in a process of its own; processor time of the launching thread."""
    with tempfile.TemporaryDirectory(prefix="heald-launch-") as folder:
        path = Path(folder) / "launch.json"
        _run("benchmarks.launch", "--json", str(path))
        rows = json.loads(path.read_text())
    kernel, _ = rows["kernel alone"]
    for name, limit in launch.FIGURES.items():
        best, median = (t - kernel for t in rows[f"{name}, 8 arrays"])
        detail = {"median_ns": median, "rows_ns": rows}
        note = "the best of 25; over the kernel alone"
        yield Figure("launch", f"{name}, 8 arrays", best, "ns", limit, "<=", detail, note)


def kernel_memory(size: Size) -> Iterator[Figure]:
    """``benchmarks.memory``."""
    with tempfile.TemporaryDirectory(prefix="heald-memory-") as folder:
        for row in memory.ROWS:
            used = memory.measure(Path(folder), row, 500 if size == "full" else 60)
            yield Figure("memory", row.name, used, "KiB", row.limit, "<=")


def soak(size: Size) -> Iterator[Figure]:
    """``benchmarks.soak_launch`` with the 100,000 launches of the figure; 10^6 are its default."""
    said = _run("benchmarks.soak_launch", "--launches", "100000" if size == "full" else "20000")
    grown = said.split("memory grew by ")[1].split(" KiB")[0].replace(",", "")
    note = said.splitlines()[0]
    yield Figure("soak", "growth", float(grown), "KiB", 1024.0, "<=", {}, note)


def _run(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


COSTS: Mapping[str, Callable[[Size], Iterator[Figure]]] = {
    "start-up": start_up,
    "launch": launches,
    "memory": kernel_memory,
    "soak": soak,
}
