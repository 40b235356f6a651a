"""``--suite verify``: how much of the corpus in ``tests/proofs`` is judged right, and how fast.

Each kernel, and each sequence of launches, is judged anew, replays included, in this process.
``python -m benchmarks.run --suite verify`` writes the report.
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import sys
import time
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import heald as wp
from benchmarks.figures import Figure, Size

CORPUS = Path(__file__).parent.parent / "tests" / "proofs" / "corpus.py"
EVERY = {"full": 1, "quick": 6, "tiny": 80}
"""One of so many pairs is judged."""
LIMITS = {"proved": 0.95, "refuted": 0.9, "median": 0.3, "p99": 10.0, "condition": 100.0}
COUNTS = {"full": 5000, "quick": 2000, "tiny": 200}
"""Launches of one sample."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One file of the corpus and what came out."""

    name: str
    expected: str
    verdict: str
    refuted: bool
    wall: float
    processor: float


def judge(size: Size) -> list[Judged]:
    """Judge the corpus, or a part of it."""
    corpus = _corpus()
    count = EVERY[size]
    files = [*corpus.PASSING[::count], *corpus.FAILING[::count]]
    files += [*corpus.PASSING_LAUNCHES[::count], *corpus.FAILING_LAUNCHES[::count]]
    corpus.judge(files[0])  # z3 and the language are loaded by the first
    return [_judge(corpus, path) for path in files]


def _corpus() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proof_corpus", CORPUS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _judge(corpus: Any, path: Path) -> Judged:
    corpus.import_file(path)
    wall, processor = time.perf_counter(), time.process_time()
    verdict, broken = corpus.judge(path)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    refuted = broken is not None and broken.value == "refuted"
    expected = "refuted" if corpus.expected(path) else "proved"
    return Judged(path.stem, expected, verdict.value, refuted, wall, processor)


def figures(size: Size, clock: str = "wall") -> Iterator[Figure]:
    """The figures of the suite."""
    judged = judge(size)
    right = [j for j in judged if j.expected == "proved"]
    wrong = [j for j in judged if j.expected == "refuted"]
    proved = [j for j in right if j.verdict.startswith("proved")]
    alarms = [j for j in right if j.verdict == "refuted"]
    unsafe = [j for j in wrong if j.verdict.startswith("proved")]
    found = [j for j in wrong if j.refuted]
    kernels = [j for j in judged if "_launches_" not in j.name]
    times = sorted(j.wall if clock == "wall" else j.processor for j in kernels)
    late = times[min(len(times) - 1, round(0.99 * len(times)))]
    detail = {j.name: [j.verdict, round(j.wall, 3), round(j.processor, 3)] for j in judged}

    def names(some: list[Judged]) -> str:
        return ", ".join(j.name for j in some)

    yield Figure("corpus", "kernels", len(kernels), "", None, ">=", detail)
    launches = len(judged) - len(kernels)
    yield Figure("corpus", "sequences of launches", launches, "", None, ">=")
    yield Figure("corpus", "faulty called safe", len(unsafe), "", 0, "<=", note=names(unsafe))
    yield Figure("corpus", "false alarms", len(alarms), "", 0, "<=", note=names(alarms))
    yield _share("correct proved", len(proved), len(right), LIMITS["proved"])
    yield _share("faulty refuted with replay", len(found), len(wrong), LIMITS["refuted"])
    yield Figure("time", "median a kernel", statistics.median(times), "s", LIMITS["median"], "<=")
    yield Figure("time", "99th percentile", late, "s", LIMITS["p99"], "<=")
    yield condition_figure(size)


def condition_figure(size: Size) -> Figure:
    """What evaluating a launch condition costs: launches with one, and of unchecked code."""
    a, b, c = (wp.zeros(16) for _ in range(3))
    ways = [
        wp.launch(wp.kernel(add, safety=safety), dim=16, inputs=[a, b, c], record_cmd=True)
        for safety in ("auto", "unchecked")
    ]
    best = [math.inf, math.inf]
    number = COUNTS[size]
    for way in ways:
        for _ in range(5):
            way.launch()
    for _ in range(40):
        for k, way in enumerate(ways):
            took = timeit.timeit(way.launch, timer=time.thread_time, number=number) / number
            best[k] = min(best[k], took)
    detail = {"with condition": round(best[0] * 1e9), "unchecked": round(best[1] * 1e9)}
    cost = (best[0] - best[1]) * 1e9
    return Figure(
        "launch", "condition of three arrays", cost, "ns", LIMITS["condition"], "<=", detail
    )


def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)) -> None:
    """Three arrays, of which the launch condition speaks."""
    i = wp.tid()
    c[i] = a[i] + b[i]


def _share(name: str, part: int, total: int, limit: float) -> Figure:
    return Figure("corpus", name, part / total, "", limit, ">=", note=f"{part} of {total}")


def main() -> None:
    """Print the table."""
    for figure in figures("full"):
        print(figure.row(), flush=True)


if __name__ == "__main__":
    main()
