"""``[[tool.heald.verify.accepted]]`` of pyproject.toml: what is not proved, known, and why.

Such a list can only shrink: an entry that no longer says what the prover says is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from heald.driver.verify_issue import Verdict
from heald.driver.verify_report import Report
from heald.proof import PROPERTIES

CONFIG = "pyproject.toml"
TABLE = "tool.heald.verify.accepted"
_KEYS = ("kernel", "property", "verdict", "reason")
_VERDICTS = {v.value: v for v in (Verdict.UNKNOWN, Verdict.REFUTED)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One property of one kernel that need not be proved.

    Attributes:
        place: file and number of the entry, for errors.
        file: where the kernel is defined.
        kernel: its name.
        property: which one.
        verdict: what the prover says of it.
        reason: why that is accepted.
    """

    place: str
    file: Path
    kernel: str
    property: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The entries of a pyproject.toml, and one line for each that cannot be read."""

    entries: tuple[Entry, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """A target of a run whose kernels are all judged.

    Attributes:
        path: a file, or a folder with everything in it.
        kernel: the only one that is looked at; empty for all.
    """

    path: Path
    kernel: str = ""

    def covers(self, entry: Entry) -> bool:
        """Is the kernel of an entry looked at, if it is there?"""
        inside = self.path == entry.file or self.path in entry.file.parents
        return inside and self.kernel in ("", entry.kernel)


# -- reading ---------------------------------------------------------------------------------------


def config_of(path: Path) -> Path | None:
    """The nearest pyproject.toml above a file, or in a folder or above it."""
    folders = (path, *path.parents) if path.is_dir() else path.parents
    return next((f / CONFIG for f in folders if (f / CONFIG).is_file()), None)


@cache
def _read(config: Path, _changed: int) -> Accepted:
    try:
        data: Any = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Accepted(errors=(f"{config}: {' '.join(str(error).split())}",))
    for part in TABLE.split("."):
        if not isinstance(data, Mapping):
            return Accepted(errors=(f"{config}: {TABLE} is no list of tables",))
        data = data.get(part, {})
    if data == {}:
        return Accepted()
    if not isinstance(data, list):
        return Accepted(errors=(f"{config}: {TABLE} is no list of tables: [[{TABLE}]]",))
    entries: dict[tuple[Path, str, str], Entry] = {}
    errors = []
    for number, table in enumerate(data, 1):
        place = f"{config}: entry {number} of {TABLE}"
        try:
            for entry in _entries(place, config.parent, table):
                if entries.setdefault((entry.file, entry.kernel, entry.property), entry) != entry:
                    raise ValueError(f"{entry.property} of '{entry.kernel}' is accepted twice")
        except ValueError as error:
            errors.append(f"{place}: {error}")
    return Accepted(tuple(entries.values()), tuple(errors))


def read(config: Path) -> Accepted:
    """What a pyproject.toml accepts."""
    return _read(config, config.stat().st_mtime_ns)


def _entries(place: str, folder: Path, table: object) -> Iterator[Entry]:
    """The entries that a table stands for: one for each property.

    Raises:
        ValueError: a sentence that says what is wrong.
    """
    if not isinstance(table, Mapping):
        raise ValueError("is no table")
    for key in table:
        if key not in _KEYS:
            raise ValueError(f"no key '{key}'; the keys are {', '.join(_KEYS)}")
    kernel, reason = _text(table, "kernel"), _text(table, "reason")
    file, separator, name = kernel.rpartition("::")
    if not separator or not file or not name:
        raise ValueError(f"kernel is 'file.py::name', not '{kernel}'")
    word = table.get("verdict", Verdict.UNKNOWN.value)
    if word not in _VERDICTS:
        raise ValueError(f"verdict is {' or '.join(map(repr, _VERDICTS))}, not {word!r}")
    names = table.get("property")
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not names:
        raise ValueError("property is a name or a list of names")
    for one in names:
        if one not in PROPERTIES:
            raise ValueError(f"no property {one!r}; they are {', '.join(PROPERTIES)}")
        path = (folder / file).resolve()
        yield Entry(place, path, name, one, _VERDICTS[word], reason)


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key, "")
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise ValueError(f"{key} is a text that is not empty")
    return text


# -- applying --------------------------------------------------------------------------------------


def file_of(report: Report) -> Path | None:
    """Where the kernel of a report is defined."""
    return Path(report.span.file).resolve() if report.span else None


def accept(
    reports: Sequence[Report], scopes: Sequence[Scope], skipped: Sequence[Path] = ()
) -> tuple[list[Report], list[str]]:
    """Mark in reports what is accepted; one line for each entry that is wrong or out of date.

    Args:
        reports: of kernels, several of one where it has several instances.
        scopes: what was looked at; where a kernel is not in there, nothing is said of its entries.
        skipped: files whose kernels could not be judged.
    """
    files = [f for f in map(file_of, reports) if f is not None]
    configs = dict.fromkeys(map(config_of, [*files, *(scope.path for scope in scopes)]))
    read_in = [read(config) for config in configs if config is not None]
    errors = [line for found in read_in for line in found.errors]
    entries = {(e.file, e.kernel, e.property): e for found in read_in for e in found.entries}
    marked = [_mark(report, entries) for report in reports]
    judged: dict[tuple[Path | None, str], list[Report]] = {}
    for report in marked:
        judged.setdefault((file_of(report), report.kernel), []).append(report)
    for entry in entries.values():
        found = judged.get((entry.file, entry.kernel))
        if found is not None:
            errors += _out_of_date(entry, found)
        elif entry.file not in skipped and any(scope.covers(entry) for scope in scopes):
            errors.append(f"{entry.place}: there is no kernel '{entry.kernel}' in {entry.file}")
    return marked, errors


def _mark(report: Report, entries: Mapping[tuple[Path, str, str], Entry]) -> Report:
    file = file_of(report)
    if file is None:
        return report
    parts = []
    for part in report.properties:
        entry = entries.get((file, report.kernel, part.name))
        if entry and Verdict.UNKNOWN.rank <= part.verdict.rank <= entry.verdict.rank:
            part = replace(part, accepted=entry.reason)  # noqa: PLW2901 - the same, marked
        parts.append(part)
    return replace(report, properties=tuple(parts))


def _out_of_date(entry: Entry, reports: Sequence[Report]) -> list[str]:
    """A line where no instance of the kernel is as bad as an entry says."""
    verdicts = [p.verdict for r in reports for p in r.properties if p.name == entry.property]
    worst = max(verdicts, key=lambda v: v.rank, default=entry.verdict)  # it may not be asked for
    if worst.rank >= entry.verdict.rank or any(r.proof.beyond is not None for r in reports):
        return []  # of what the prover gave up on, nothing is known
    change = "remove the entry" if worst.is_proof else f'write verdict = "{worst.value}"'
    what = f"{entry.property} of '{entry.kernel}' is {worst.value}, not {entry.verdict.value}"
    return [f"{entry.place}: {what}: {change}"]


# -- writing ---------------------------------------------------------------------------------------


def to_entries(reports: Sequence[Report]) -> str:
    """Entries for everything that is open, with reasons to be written."""
    made: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        file = file_of(report)
        if file is None:
            continue
        config = config_of(file)
        folder = config.parent if config else Path.cwd()
        place = file.relative_to(folder).as_posix() if folder in file.parents else str(file)
        for part in report.properties:
            if not part.verdict.is_proof and not part.accepted:
                names = made.setdefault((f"{place}::{report.kernel}", part.verdict.value), [])
                names += [part.name] if part.name not in names else []
    lines = []
    for (kernel, verdict), names in made.items():
        listed = ", ".join(f'"{name}"' for name in names)
        lines += [
            f"[[{TABLE}]]",
            f'kernel = "{kernel}"',
            f"property = [{listed}]" if len(names) > 1 else f"property = {listed}",
            f'verdict = "{verdict}"',
            'reason = ""',
            "",
        ]
    return "\n".join(lines).rstrip()
