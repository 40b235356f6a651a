"""``heald migrate``: read files, and say what is found in them."""

from __future__ import annotations

import json
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heald.cli.migration import Finding, Kind, scan_source

FORMATS = ("text", "json")
_PAGE = "migrate.md"
_SKIPPED = {"__pycache__", "node_modules", "site-packages"}


@dataclass(slots=True)
class Migration:
    """What is to be done in some files.

    Attributes:
        files: every file that uses Warp, with its findings.
        others: how many files were read that do not.
        errors: file, line (0 where there is none), and why it could not be read.
    """

    files: dict[str, list[Finding]] = field(default_factory=dict)
    others: int = 0
    errors: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def counts(self) -> Counter[Kind]:
        """How many findings of each kind."""
        return Counter(f.construct.kind for found in self.files.values() for f in found)

    @property
    def exit_code(self) -> int:
        """0: only spellings to change, 1: more than that, 2: a file could not be read."""
        if self.errors:
            return 2
        return int(bool(self.counts[Kind.DIFFERS] or self.counts[Kind.UNSUPPORTED]))


def migrate_paths(paths: Sequence[str]) -> Migration:
    """Look at files, and at every Python file in folders.  Nothing is imported or changed."""
    result = Migration()
    for path in paths:
        place = Path(path)
        if place.is_dir():
            files = [f for f in sorted(place.rglob("*.py")) if not _is_skipped(f, place)]
            if not files:
                result.errors.append((path, 0, "no Python files here"))
        else:
            files = [place]
        for file in files:
            _read(file, result)
    return result


def _is_skipped(file: Path, root: Path) -> bool:
    """Is it in a hidden folder, a virtual environment or the like?"""
    inner = file.relative_to(root).parent
    if any(part.startswith(".") or part in _SKIPPED for part in inner.parts):
        return True
    folders = [root / Path(*inner.parts[:k]) for k in range(1, len(inner.parts) + 1)]
    return not file.is_file() or any((folder / "pyvenv.cfg").exists() for folder in folders)


def _read(file: Path, result: Migration) -> None:
    name = str(file)
    if name in result.files:
        return
    try:
        with tokenize.open(name) as opened:
            text = opened.read()
        found = scan_source(text)
    except OSError as error:
        result.errors.append((name, 0, error.strerror or str(error)))
    except SyntaxError as error:  # also an encoding that is declared and unknown
        result.errors.append((name, error.lineno or 0, f"no valid Python: {error.msg}"))
    except UnicodeDecodeError as error:
        result.errors.append((name, 0, f"not in the encoding that it declares: {error.reason}"))
    except ValueError as error:
        result.errors.append((name, 0, f"no valid Python: {error}"))
    except (RecursionError, MemoryError):
        result.errors.append((name, 0, "nested too deeply to be read"))
    else:
        if found is None:
            result.others += 1
        else:
            result.files[name] = found


# -- showing ---------------------------------------------------------------------------------------


def text_lines(result: Migration) -> Iterator[str]:
    """One line for each finding, errors, and a summary."""
    for file, found in result.files.items():
        for f in found:
            kind = f.construct.kind.value
            yield f"{file}:{f.line}:{f.column}: {kind} [{f.construct.key}] {f.what}"
            yield f"    {f.construct.remedy}"
    for file, line, why in result.errors:
        place = f"{file}:{line}" if line else file
        yield f"{place}: error: {why}"
    yield _summary(result)


def _summary(result: Migration) -> str:
    if not result.files:
        return "no file here imports warp" if not result.errors else "no file could be looked at"
    counts = result.counts
    parts = [f"{counts[kind]} {kind.value}" for kind in reversed(Kind) if counts[kind]]
    number = len(result.files)
    files = "1 file uses" if number == 1 else f"{number} files use"
    return f"{files} warp: {', '.join(parts)}"


def json_text(result: Migration) -> str:
    """Everything, for other programs."""
    findings = [_record(file, f) for file, found in result.files.items() for f in found]
    errors = [{"file": f, "line": line or None, "message": why} for f, line, why in result.errors]
    counts = {kind.value: result.counts[kind] for kind in Kind}
    summary = {"files": len(result.files), "other_files": result.others, **counts}
    return json.dumps({"findings": findings, "errors": errors, "summary": summary}, indent=2)


def _record(file: str, finding: Finding) -> dict[str, Any]:
    construct = finding.construct
    return {
        "file": file,
        "line": finding.line,
        "column": finding.column,
        "kind": construct.kind.value,
        "construct": construct.key,
        "what": finding.what,
        "why": construct.why,
        "remedy": construct.remedy,
        "docs": f"{_PAGE}#{construct.key}",
    }
