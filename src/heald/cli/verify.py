"""``heald verify`` and ``heald replay``: find kernels, prove them, show what came out."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import Progress

from heald.api.kernel import Kernel
from heald.cli.accepted import Scope, accept, to_entries
from heald.cli.dump import kernels_of, load_target
from heald.cli.pages import SUFFIX, run_page
from heald.diagnostics import CompileError, HealdError
from heald.driver import Program
from heald.driver.cache_store import open_store
from heald.driver.verify import Question, contract_error, verify_program
from heald.driver.verify_formats import (
    to_github,
    to_json,
    to_junit,
    to_markdown,
    to_markup,
    to_sarif,
    verdict_words,
)
from heald.driver.verify_issue import Verdict
from heald.driver.verify_names import Names
from heald.driver.verify_report import Report
from heald.driver.verify_text import describe_misbehaviour
from heald.driver.witness import Witness, load_witness
from heald.proof import PROPERTIES
from heald.proof.contracts import NOTHING
from heald.types import (
    Anything,
    Array,
    ArrayPattern,
    Element,
    IndexedPattern,
    Pattern,
    Scalar,
    Type,
    TypeClass,
    as_concrete,
    f32,
    i32,
    u32,
    usual_type,
)

_EXAMPLES = (f32, i32, u32)
FORMATS = ("text", "json", "sarif", "junit", "github", "markdown", "accepted")
_HAS_KERNEL = re.compile(r"@(?:\w+\.)*kernel\b")


@dataclass(slots=True)
class Outcome:
    """Everything that a run of ``heald verify`` found.

    Attributes:
        errors: one line each, about targets that could not be verified, and what is accepted.
        scopes: what was looked at.
        skipped: files with kernels that could not be verified.
        copies: for files that Python imports from elsewhere, the same ones that were asked for.
    """

    reports: list[Report] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    copies: dict[Path, Path] = field(default_factory=dict)

    def settle(self) -> None:
        """Mark what is accepted in pyproject.toml."""
        self.reports = [self._as_asked(report) for report in self.reports]
        self.reports, errors = accept(self.reports, self.scopes, self.skipped)
        self.errors += errors

    def _as_asked(self, report: Report) -> Report:
        """The report of a kernel, which names the file that was asked for."""
        span = report.span
        asked = self.copies.get(Path(span.file).resolve()) if span else None
        return replace(report, span=replace(span, file=str(asked))) if span and asked else report

    def exit_code(self, *, strict: bool) -> int:
        """0: nothing wrong, 1: something refuted (or, if strict, open), 2: errors."""
        if self.errors:
            return 2
        worst = max((r.open_verdict.rank for r in self.reports), default=0)
        limit = Verdict.UNKNOWN if strict else Verdict.REFUTED
        return 1 if worst >= limit.rank else 0


def verify_targets(targets: Sequence[str], properties: Sequence[str], console: Console) -> Outcome:
    """Verify every kernel of files, folders, modules, Markdown pages, or ``file.py::kernel``."""
    outcome = Outcome()
    wanted = tuple(p for p in PROPERTIES if p in properties) if properties else PROPERTIES
    kernels: list[tuple[str, Kernel]] = []
    for target in targets:
        kernels += _kernels(target, outcome)
    if not kernels and not outcome.errors:
        outcome.errors.append(f"{', '.join(targets)}: no kernels")
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("verifying", total=len(kernels))
        for place, kernel in kernels:
            progress.update(task, description=kernel.key)
            verify_kernel(place, kernel, outcome, wanted)
            progress.advance(task)
    outcome.settle()
    return outcome


def verify_kernel(
    place: str, kernel: Kernel, outcome: Outcome, properties: tuple[str, ...] = PROPERTIES
) -> None:
    """Verify every instance of a kernel; ``place`` begins the line of an error."""
    try:
        if not kernel.is_generic:
            kernel.program(kernel.concrete_types())
        programs = kernel.programs() or _examples(kernel)
        if not programs:
            outcome.errors.append(f"{place}: kernel '{kernel.key}' is generic: use wp.overload")
        for program in programs:
            question = Question(
                program.wir,
                kernel.key,
                properties=properties,
                promises=program.promises or NOTHING,
            )
            report = verify_program(question, store=open_store())
            wrong = contract_error(report)
            if wrong is not None:
                raise wrong
            outcome.reports.append(report)
    except HealdError as error:
        outcome.errors.append(f"{place}: {str(error).splitlines()[0]}")
        outcome.skipped.append(Path(place).resolve())


def _examples(kernel: Kernel) -> list[Program]:
    """A generic kernel for the first scalar type that it takes, and arrays of one axis."""
    for scalar in _EXAMPLES:
        types = [_example(pattern, scalar) for _, pattern in kernel.parameters]
        known = [t for t in types if t is not None]
        if len(known) < len(types):
            return []
        try:
            return [kernel.program(known)]
        except CompileError:
            continue
    return []


def _example(pattern: Pattern, scalar: Scalar) -> Type | None:
    match pattern:
        case ArrayPattern():
            element = _example(pattern.dtype, scalar)
            ndim = pattern.ndim if isinstance(pattern.ndim, int) else 1
            return Array(element, ndim) if isinstance(element, Element) else None
        case IndexedPattern():
            element = _example(pattern.dtype, scalar)
            ndim = pattern.ndim if isinstance(pattern.ndim, int) else 1
            return usual_type(IndexedPattern(element, ndim))
        case TypeClass():
            return scalar if scalar in pattern.members else pattern.members[0]
        case _ if pattern is Anything:
            return scalar
        case _:
            return as_concrete(pattern)


# -- finding kernels -------------------------------------------------------------------------------


def _kernels(target: str, outcome: Outcome) -> list[tuple[str, Kernel]]:
    place, separator, name = target.partition("::")
    found: list[tuple[str, Kernel]] = []
    bad = len(outcome.errors)
    for file in _places(place):
        with redirect_stdout(sys.stderr):  # what a module prints is no part of the report
            path, kernels, error = _load(file, outcome)
        found += [(file, k) for k in kernels if not separator or k.key == name]
        if error:
            outcome.errors.append(" ".join(error.split()))
            outcome.skipped.append(path)
        else:
            outcome.scopes.append(Scope(path, name))
    if Path(place).is_dir():
        outcome.scopes.append(Scope(Path(place).resolve()))
    may_lack = _is_page(place) and not separator  # docs/*.md names pages of all kinds
    if not found and not may_lack and len(outcome.errors) == bad:
        what = f"no kernel '{name}'" if separator else "no kernels"
        outcome.errors.append(f"{place}: {what}")
    return found


def _load(place: str, outcome: Outcome) -> tuple[Path, list[Kernel], str]:
    """The file behind a module, its kernels, and what ended it before its end."""
    path = Path(place).resolve()
    try:
        if _is_page(place):
            if not path.is_file():
                raise ValueError(f"no file '{place}'")
            page = run_page(Path(place))
            return path, page.kernels, page.error
        module = load_module(place)
        imported = Path(module.__file__ or place).resolve()
        if path.is_file() and imported != path:
            _hold_same(path, imported, module.__name__)
            outcome.copies[imported] = path
    except ValueError as error:
        return path, [], str(error)
    return path if path.is_file() else imported, kernels_of(module), ""


def _hold_same(asked: Path, imported: Path, name: str) -> None:
    """Hold the package of a file to the one that Python has imported instead.

    Raises:
        ValueError: files differ, so that judging one says nothing of the other.
    """
    depth = name.count(".") + (asked.name == "__init__.py")
    ours, others = asked.parents[depth - 1], imported.parents[depth - 1]
    for file in sorted(ours.rglob("*.py")):
        other = others / file.relative_to(ours)
        if not other.is_file() or other.read_bytes() != file.read_bytes():
            raise ValueError(
                f"'{asked}' is not what Python imports as '{name}': that is '{imported}', "
                f"and '{other}' differs; put the folder above '{ours}' into PYTHONPATH, or "
                "install it with pip install -e"
            )


def _is_page(place: str) -> bool:
    return Path(place).suffix == SUFFIX


def _places(place: str) -> Iterator[str]:
    path = Path(place)
    if not path.is_dir():
        yield place
        return
    for file in sorted(path.rglob("*.py")):
        if _HAS_KERNEL.search(file.read_text(encoding="utf-8", errors="replace")):
            yield str(file)


def load_module(place: str) -> ModuleType:
    """A module by dotted name or file; a file of a package is imported as part of it.

    Raises:
        ValueError: it cannot be found, or fails while it is imported.
    """
    path = Path(place)
    if path.suffix != ".py" or not path.is_file():
        return load_target(place)
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.resolve().parent
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        folder = folder.parent
    if len(parts) < 2 and path.name != "__init__.py":
        return load_target(place)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return load_target(".".join(reversed(parts)))


# -- showing ---------------------------------------------------------------------------------------


def show(outcome: Outcome, kind: str, console: Console, *, strict: bool) -> None:
    """Print what was found in a format."""
    match kind:
        case "json":
            print(json.dumps([to_json(r) for r in outcome.reports], indent=2))
        case "sarif":
            print(json.dumps(to_sarif(outcome.reports, outcome.errors), indent=2))
        case "junit":
            print(to_junit(outcome.reports, outcome.errors, strict=strict))
        case "markdown":
            print(to_markdown(outcome.reports))
        case "accepted":
            print(to_entries(outcome.reports))
        case "github":
            text = to_github(outcome.reports, outcome.errors)
            if text:
                print(text)
        case _:
            for report in outcome.reports:
                if console.is_terminal:
                    console.print(to_markup(report), markup=True)
                else:
                    console.print(str(report))
            if len(outcome.reports) > 1:
                console.print(_summary(outcome.reports))
    errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for error in outcome.errors:
        errors.print(f"heald: {error}")


def _summary(reports: Sequence[Report]) -> str:
    ordered = sorted(reports, key=lambda r: r.verdict.rank)
    counts = Counter(map(verdict_words, ordered))
    parts = ", ".join(f"{n} {words}" for words, n in counts.items())
    return f"{len(reports)} kernels: {parts}"


def replay_file(path: str, console: Console) -> bool:
    """Run a stored witness; does it still go wrong?

    Raises:
        HealdError: the file is no witness, or the interpreter cannot run it.
        OSError: it cannot be read.
    """
    witness = load_witness(path)
    names = Names(witness.kernel)
    seen = witness.replay()
    console.print(f"{witness.kernel.name}: dim = {witness.dims}")
    for misbehaviour in seen:
        if misbehaviour.aspect == witness.seen.aspect:
            issue = describe_misbehaviour(misbehaviour, names)
            console.print(issue.diagnostic().render())
    if _is_newer(witness, Path(path)):
        console.print(
            "note: the file of the kernel has changed since; what ran is the stored kernel"
        )
    found = any(m.aspect == witness.seen.aspect for m in seen)
    if not found:
        console.print("nothing goes wrong")
    return found


def _is_newer(witness: Witness, path: Path) -> bool:
    """Is the source of a kernel, of which lines are shown, younger than its witness?"""
    file = Path(witness.kernel.span.file) if witness.kernel.span else path
    try:
        return file.stat().st_mtime_ns > path.stat().st_mtime_ns
    except OSError:
        return False  # another machine: no lines are shown
