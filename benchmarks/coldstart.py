"""Start-up times: importing Heald, compiling a first kernel, finding it again in the cache.

``python -m benchmarks.coldstart`` prints a table.  Every number is the median over fresh processes,
of processor time (user and system) so that the load of the machine does not decide; the time on the
wall is shown beside it.  Each process checks the result of its kernel before it says a number.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

STEPS = 199
"""Statements of the long kernel; with its first line and ``tid`` it has 200 lines."""

CLOCK = """
import time
started = {}

def start(name):
    started[name] = (time.process_time(), time.perf_counter())

def stop(name):
    cpu, wall = started[name]
    found[name] = (time.process_time() - cpu, time.perf_counter() - wall)

found = {}
"""

IMPORT = (
    CLOCK
    + """
start("numpy")
import numpy
stop("numpy")
start("import heald")
import heald as wp
stop("import heald")
start("names")
for name in "kernel func struct launch array zeros vec3 float32 tid".split():
    getattr(wp, name)
stop("names")
assert wp.vec3(1.0, 2.0, 3.0)[2] == 3.0
"""
)

PREPARE = (
    CLOCK
    + """
import numpy as np
import heald as wp

for name in "kernel func struct launch array zeros float32 tid".split():
    getattr(wp, name)
start("llvmlite")
import llvmlite.binding
stop("llvmlite")
"""
)

SMALL = """
@wp.kernel
def small(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32), n: int):
    i = wp.tid()
    if i < n:
        b[i] = a[i] * SEED + wp.sin(a[i])
"""

# n is one more than the arrays have, so the launch condition does not hold and guards stay.
LAUNCH_SMALL = """
x = np.linspace(-3.0, 3.0, 1000, dtype=np.float32)
start("first launch")
a, b = wp.array(x), wp.zeros(1000, dtype=wp.float32)
wp.launch(small, dim=1000, inputs=[a, b, 1001])
stop("first launch")
assert np.allclose(b.numpy(), SEED * x + np.sin(x), rtol=1e-6, atol=1e-6)
start("second launch")
wp.launch(small, dim=1000, inputs=[a, b, 1001])
stop("second launch")
"""

LAUNCH_LONG = """
x = np.linspace(-1.0, 1.0, 1000, dtype=np.float32)
start("first launch")
a, b = wp.array(x), wp.zeros(1000, dtype=wp.float32)
wp.launch(long, dim=1000, inputs=[a, b])
stop("first launch")
assert np.allclose(b.numpy(), expected(x), rtol=1e-4, atol=1e-5)
"""

LOAD = """
from heald.codegen import load
from heald.driver import cache

loaded = cache.ProgramCache.artifact

def timed(self, recipe):
    start("artifact load")
    artifact = loaded(self, recipe)
    load(artifact)
    stop("artifact load")
    return artifact

cache.ProgramCache.artifact = timed
"""


def long_kernel(steps: int) -> str:
    """A kernel of many lines and its meaning in numpy: sums, products, branches, a loop, arrays."""
    body, meaning = [], []
    for n in range(steps):
        source, target = f"x{n}", f"x{n + 1}"
        gain = 1.0 + (n % 7) / 64.0
        match n % 5:
            case 0:
                body.append(f"{target} = {source} * {gain} + 0.125")
                meaning.append(f"{target} = {source} * {gain} + 0.125")
            case 1:
                body.append(f"{target} = wp.max({source} - 0.25, 0.0 - {source})")
                meaning.append(f"{target} = np.maximum({source} - 0.25, -{source})")
            case 2:
                body.append(f"{target} = {source} if {source} < 2.0 else {source} * 0.5")
                meaning.append(f"{target} = np.where({source} < 2.0, {source}, {source} * 0.5)")
            case 3:
                body.append(f"{target} = {source} / (1.0 + {source} * {source})")
                meaning.append(f"{target} = {source} / (1.0 + {source} * {source})")
            case 4:
                body.append(f"{target} = {source} + 0.5 * a[i]")
                meaning.append(f"{target} = {source} + 0.5 * x")
    lines = ["@wp.kernel", "def long(a: wp.array(dtype=float), b: wp.array(dtype=float)):"]
    lines += ["    i = wp.tid()", "    x0 = a[i] * SEED", *(f"    {line}" for line in body)]
    lines += [f"    b[i] = x{steps}", "", "def expected(x):", "    x0 = x * SEED"]
    lines += [*(f"    {line}" for line in meaning), f"    return x{steps}", ""]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the table: seconds of processor time and on the wall, and the limit."""

    name: str
    cpu: float
    wall: float
    limit: float

    @property
    def holds(self) -> bool:
        """Is it within the limit?"""
        return self.cpu <= self.limit


Times = Mapping[str, tuple[float, float]]


class Bench:
    """Runs scripts in fresh processes, with compiled Python files and a kernel cache of their own.

    Python's own compiled files count as there: whoever imports Heald twice has them.
    """

    def __init__(self, folder: Path, rounds: int) -> None:
        self._folder = folder
        self._rounds = rounds
        self._seeds = itertools.count(1)
        self._environment = {
            **os.environ,
            "PYTHONPYCACHEPREFIX": str(folder / "pycache"),
            "HEALD_CACHE_DIR": str(folder / "kernels"),
        }
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._environment.pop("HEALD_CHECK", None)

    def run(self, name: str, text: str, seed: int = 0) -> Times:
        """The times that one process measured.

        Raises:
            RuntimeError: it failed, or its kernel gave wrong results.
        """
        script = self._folder / f"{name}.py"
        text = text.replace("SEED", f"{2 + seed / 64}")
        script.write_text(text + "\nimport json\nprint(json.dumps(found))\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            env=self._environment,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        found: Times = json.loads(done.stdout.splitlines()[-1])
        return found

    def warm(self, name: str, text: str) -> list[Times]:
        """Several processes after one that filled every cache."""
        self.run(name, text)
        return [self.run(name, text) for _ in range(self._rounds)]

    def cold(self, name: str, text: str) -> list[Times]:
        """Several processes that each compile a kernel of their own; Heald's helpers are cached."""
        self.run(name, text)
        return [self.run(name, text, next(self._seeds)) for _ in range(self._rounds)]

    def moved(self, name: str, text: str) -> list[Times]:
        """Several processes that each find the kernel one line further down than the last did."""
        self.run(name, text)
        return [self.run(name, "\n" * n + text) for n in range(1, self._rounds + 1)]


def figures(bench: Bench) -> Iterable[Figure]:
    """Every number of the table."""
    imports = bench.warm("imports", IMPORT)
    yield _figure("import heald, beyond numpy", imports, ("import heald", "names"), 0.150)
    yield _figure("  before a name of it is used", imports, ("import heald",), float("inf"))
    small = PREPARE + SMALL + LAUNCH_SMALL
    ready = PREPARE + "wp.init()\n" + SMALL + LAUNCH_SMALL
    yield _figure(
        "cold small kernel, guarded", bench.cold("ready", ready), ("first launch",), 0.060
    )
    first = bench.cold("small", small)
    yield _figure("  where wp.init() was not called", first, ("first launch",), float("inf"))
    moved = bench.moved("moved", small)
    yield _figure("  where it only moved in its file", moved, ("first launch",), float("inf"))
    long = PREPARE + long_kernel(STEPS) + LAUNCH_LONG
    yield _figure("cold kernel of 200 lines", bench.cold("long", long), ("first launch",), 0.400)
    warm = bench.warm("small", small)
    both = ("first launch", "second launch")
    yield _figure("warm path, beyond one llvmlite import", warm, both, 0.015)
    yield _figure("the llvmlite import, for comparison", warm, ("llvmlite",), float("inf"))
    load = bench.warm("load", PREPARE + LOAD + SMALL + LAUNCH_SMALL)
    yield _figure("cached artifact load", load, ("artifact load",), 0.005)
    warm_long = bench.warm("long", long)
    yield _figure("warm path of 200 lines", warm_long, ("first launch",), float("inf"))


def _figure(name: str, runs: list[Times], parts: tuple[str, ...], limit: float) -> Figure:
    cpu, wall = (
        statistics.median(sum(run[part][clock] for part in parts) for run in runs)
        for clock in (0, 1)
    )
    return Figure(name, cpu, wall, limit)


def main() -> int:
    """Print the table; 1 where a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="processes for each number")
    rounds = parser.parse_args().rounds
    worst = 0
    print(f"{'':40}{'ms':>9}{'limit':>9}{'wall ms':>10}")
    with tempfile.TemporaryDirectory(prefix="heald-coldstart-") as folder:
        for figure in figures(Bench(Path(folder), rounds)):
            limit = "" if figure.limit == float("inf") else f"{figure.limit * 1e3:.0f}"
            verdict = "" if not limit else "  ok" if figure.holds else "  MISSED"
            worst |= not figure.holds
            print(
                f"{figure.name:40}{figure.cpu * 1e3:9.1f}{limit:>9}{figure.wall * 1e3:10.1f}"
                f"{verdict}"
            )
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
