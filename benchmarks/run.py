"""``python -m benchmarks.run --suite cpu``: every figure, its limit, and whether it holds.

The exit code is 0 whatever the figures say, unless ``--strict``; wrong results always fail.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
ROUNDS = {"full": 15, "quick": 5, "tiny": 1}
SUITES = ("cpu", "gpu", "library", "verify")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the report; 1 where ``--strict`` and a figure fails."""
    options = _parser().parse_args(arguments)
    _settle_threads(options.threads)
    started = _environment(options)
    figures = []
    for figure in _figures(options, started):
        print(figure.row(), flush=True)
        figures.append(figure)
    if options.suite == "gpu" and not options.no_tests:
        from benchmarks.gpu_tests import run_tests  # noqa: PLC0415

        started["tests"] = run_tests(min(options.threads, 16))
    started["load_average_after"] = os.getloadavg()
    report = {**started, "figures": [figure.record() for figure in figures]}
    path = options.out or RESULTS / f"{options.suite}.json"
    _write(path, report)
    verdicts = [figure.verdict for figure in figures]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in ("pass", "FAIL", "skip"))
    print(f"\n{counts}; wrote {path}")
    return int(options.strict and "FAIL" in verdicts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--suite", choices=SUITES, default="cpu")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a case")
    parser.add_argument("--quick", dest="size", action="store_const", const="quick", default="full")
    parser.add_argument("--tiny", dest="size", action="store_const", const="tiny", help="a test")
    parser.add_argument("--rounds", type=int, help="samples of each way")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="what decides: the wall, or on a shared machine processor time by thread",
    )
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with numba and warp-lang")
    parser.add_argument("--no-tests", action="store_true", help="gpu: figures only")
    parser.add_argument("--commit", default=None, help="where the tree is no checkout")
    parser.add_argument("--no-cpp", action="store_true", help="without C++")
    parser.add_argument("--out", type=Path, help="where the report goes")
    parser.add_argument("--strict", action="store_true", help="fail where a figure does")
    return parser


def _settle_threads(count: int) -> None:
    """All runtimes of this process and its children use so many threads and wait passively.

    They read this when they are loaded, so nothing that loads one is imported before.
    """
    os.environ.update(
        OMP_NUM_THREADS=str(count),
        OMP_WAIT_POLICY="passive",
        OMP_DYNAMIC="false",
        KMP_BLOCKTIME="0",
        HEALD_NUM_THREADS=str(count),
    )


def _environment(options: argparse.Namespace) -> dict[str, Any]:
    packages = ("heald", "numpy", "llvmlite")
    return {
        "suite": options.suite,
        "size": options.size,
        "threads": options.threads,
        "clock": options.clock,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": options.commit or _git("rev-parse", "HEAD"),
        "changed_files": _changed_files() if options.commit is None else [],
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
        },
        "load_average_before": os.getloadavg(),
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in packages},
        },
        "peers": {},
    }


def _changed_files() -> list[str]:
    return _git("status", "--porcelain", "--", "src").splitlines()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed, on the path"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return done.stdout.rstrip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _figures(options: argparse.Namespace, started: dict[str, Any]) -> Iterator[Any]:
    """The figures of the suite, one after another; what is known of the peers into ``started``."""
    if options.suite == "verify":
        from benchmarks import verify  # noqa: PLC0415 - it loads what reads the settings above

        yield from verify.figures(options.size, options.clock)
        return
    if options.suite == "gpu":
        from benchmarks import gpu  # noqa: PLC0415

        yield from gpu.figures(options.size, options.only, started)
        return
    # They load what reads the settings above.
    from benchmarks import costs, cpu, library  # noqa: PLC0415
    from benchmarks.timing import SAMPLE, measure  # noqa: PLC0415

    cases = cpu.CASES if options.suite == "cpu" else library.CASES
    known = [*cases, *(costs.COSTS if options.suite == "cpu" else ())]
    chosen = options.only or known
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise SystemExit(f"no case {unknown[0]!r}; the cases are {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="heald-bench-") as folder:
        compiled, python = _peers(options, Path(folder), started["peers"])
        with closing(python) if python else nullcontext():
            bench = cpu.Bench(options.size, options.threads, compiled, python)
            rounds = options.rounds or ROUNDS[options.size]
            for name in chosen:
                if name in cases:
                    work = cases[name](bench).checked()
                    shortest = 0.0 if options.size == "tiny" else SAMPLE
                    measured = measure(work.timed(), rounds, shortest)
                    yield from work.read(name, measured, options.clock)
                else:
                    yield from costs.COSTS[name](options.size)


def _peers(options: argparse.Namespace, folder: Path, said: dict[str, str]) -> tuple[Any, Any]:
    from benchmarks.peers import FLAGS, Cpp, PythonPeers  # noqa: PLC0415

    compiled = python = None
    if options.no_cpp:
        said["c++"] = "left out"
    else:
        try:
            compiled = Cpp(folder, options.threads)
            said["c++"] = f"{compiled.version}; {' '.join(FLAGS)}"
        except FileNotFoundError as error:
            said["c++"] = str(error)
    if options.peers is None:
        said["python"] = "numba and warp-lang skipped: --peers names no interpreter"
    else:
        python = PythonPeers(options.peers, folder, options.threads)
        said.update(python.versions)
    for name, what in said.items():
        print(f"{name}: {what}")
    return compiled, python


def _write(path: Path, report: dict[str, Any]) -> None:
    """The report, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
