"""The corpus: kernels in pairs that differ in one token, with what must come out of each.

The first line says the verdict (``# Proved`` or ``# Refuted: races``), the second one of which
launches (``# Where dim == a.shape``).
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from heald.api.kernel import Kernel as UserKernel
from heald.driver import verify as driver
from heald.driver.verify import Question, verify_program
from heald.driver.verify_names import Names
from heald.driver.verify_report import Report
from heald.ir import Kernel
from heald.proof import Clause, parse_clauses
from heald.proof.contracts import NOTHING, Promises

FOLDER = Path(__file__).parent
PASSING = sorted(FOLDER.glob("pass_*.py"))
FAILING = sorted(FOLDER.glob("fail_*.py"))


@dataclass(frozen=True)
class Entry:
    """One file of the corpus."""

    kernel: Kernel
    refuted: str
    given: tuple[Clause, ...]
    promises: Promises


@cache
def load(path: Path) -> Entry:
    """Import a file and read its first two lines."""
    spec = importlib.util.spec_from_file_location(f"proofs_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    (user,) = [v for v in vars(module).values() if isinstance(v, UserKernel)]
    program = user.program(user.concrete_types())
    kernel = program.wir
    verdict, launch = path.read_text(encoding="utf-8").splitlines()[:2]
    _, _, refuted = verdict.rstrip(".").partition(": ")
    given = parse_clauses(launch.removeprefix("# Where "), Names(kernel).symbols())
    return Entry(kernel, refuted, tuple(given), program.promises or NOTHING)


@cache
def verify(path: Path) -> Report:
    """The report on a file, made in this process."""
    entry = load(path)
    question = Question(
        entry.kernel, entry.kernel.name, entry.given, infer=False, promises=entry.promises
    )
    return verify_program(question, process=False)


def forget() -> None:
    """Forget what the prover answered, so that it is asked anew."""
    driver._ANSWERS_CACHE.clear()
