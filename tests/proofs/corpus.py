"""The corpus: kernels in pairs that differ in one token, with what must come out of each.

The first line says the verdict (``# Proved`` or ``# Refuted: races``), the second one of which
launches (``# Where dim == a.shape``).  Files ``pass_launches_*.py`` and ``fail_launches_*.py`` hold
several kernels and a function ``sequence`` that gives what ``wp.verify_sequence`` says of launches
of them; their second line tells what the launches do.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from heald.api.kernel import Kernel as UserKernel
from heald.api.sequence import SequenceReport
from heald.driver import verify as driver
from heald.driver.verify import Question, verify_program
from heald.driver.verify_issue import Verdict
from heald.driver.verify_names import Names
from heald.driver.verify_report import Report
from heald.ir import Kernel
from heald.proof import Clause, parse_clauses
from heald.proof.contracts import NOTHING, Promises

FOLDER = Path(__file__).parent
PASSING_LAUNCHES = sorted(FOLDER.glob("pass_launches_*.py"))
FAILING_LAUNCHES = sorted(FOLDER.glob("fail_launches_*.py"))
PASSING = sorted({*FOLDER.glob("pass_*.py")} - {*PASSING_LAUNCHES})
FAILING = sorted({*FOLDER.glob("fail_*.py")} - {*FAILING_LAUNCHES})


@dataclass(frozen=True)
class Entry:
    """One kernel of the corpus."""

    kernel: Kernel
    refuted: str
    given: tuple[Clause, ...]
    promises: Promises


def expected(path: Path) -> str:
    """The property that a file breaks; empty where it breaks none."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    return first.rstrip(".").partition(": ")[2]


@cache
def import_file(path: Path) -> ModuleType:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location(f"proofs_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@cache
def load(path: Path) -> Entry:
    """Import the file of a kernel and read its first two lines."""
    module = import_file(path)
    (user,) = [v for v in vars(module).values() if isinstance(v, UserKernel)]
    program = user.program(user.concrete_types())
    kernel = program.wir
    launch = path.read_text(encoding="utf-8").splitlines()[1]
    given = parse_clauses(launch.removeprefix("# Where "), Names(kernel).symbols())
    return Entry(kernel, expected(path), tuple(given), program.promises or NOTHING)


@cache
def verify(path: Path) -> Report:
    """The report on a file, made in this process."""
    entry = load(path)
    question = Question(
        entry.kernel, entry.kernel.name, entry.given, infer=False, promises=entry.promises
    )
    return verify_program(question, process=False)


@cache
def verify_launches(path: Path) -> SequenceReport:
    """The report on the launches of a file."""
    report = import_file(path).sequence()
    assert isinstance(report, SequenceReport)
    return report


def judge(path: Path) -> tuple[Verdict, Verdict | None]:
    """The verdict on a file, judged anew, and that on the property that it breaks."""
    forget()
    broken = expected(path)
    if path in (*PASSING_LAUNCHES, *FAILING_LAUNCHES):
        verdict = verify_launches.__wrapped__(path).verdict
        return verdict, verdict if broken else None
    report = verify.__wrapped__(path)
    return report.verdict, report[broken].verdict if broken else None


def forget() -> None:
    """Forget what the prover answered, so that it is asked anew."""
    driver._ANSWERS_CACHE.clear()
