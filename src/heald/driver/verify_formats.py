"""Reports as text, tables, HTML, JSON, SARIF, JUnit and GitHub annotations."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from heald.diagnostics import CODES, Span
from heald.driver.verify_issue import Issue, PropertyReport, Verdict
from heald.driver.verify_names import Names

if TYPE_CHECKING:
    from heald.driver.verify_report import Report

_COLOURS = {
    Verdict.PROVED: "green",
    Verdict.CONDITIONAL: "green",
    Verdict.CONTRACTS: "cyan",
    Verdict.UNKNOWN: "yellow",
    Verdict.REFUTED: "red",
}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def headline(report: Report) -> str:
    """One line: kernel, verdict, place."""
    place = f" ({report.span.file}:{report.span.line})" if report.span else ""
    return f"{report.kernel}: {verdict_words(report)}{place}"


def verdict_words(report: Report) -> str:
    """The verdict, and whether that is accepted."""
    accepted = report.open_verdict.is_proof and not report.proved
    return f"accepted as {report.verdict.value}" if accepted else report.verdict.value


def _property_line(part: PropertyReport) -> str:
    return f"{part.name:<12} {_verdict(part)}"


def _verdict(part: PropertyReport) -> str:
    """A verdict with what it asks and what it rests on."""
    if part.accepted:
        return f"accepted as {part.verdict.value}: {part.accepted}"
    if not part.verdict.is_proof:
        return part.verdict.value
    text = f"proved if {part.condition}" if part.condition else "proved"
    if part.contracts:
        text += f" under {', '.join(part.contracts)}"
    return text


def to_text(report: Report) -> str:
    """The whole report for people."""
    lines = [headline(report)]
    if report.given:
        lines.append(f"  given        {' and '.join(report.given)}")
    for part in report.properties:
        lines.append(f"  {_property_line(part)}")
        lines += [f"               {note}" for note in part.notes]
    for issue in _shown(report):
        lines += ["", *(_indented(issue.diagnostic().render()))]
        if issue.witness is not None:
            lines += [f"  witness: {line}" for line in describe_witness(issue)]
    return "\n".join(lines)


def _shown(report: Report) -> list[Issue]:
    """What people have to look at: nothing that is accepted."""
    return [issue for issue, accepted in report.findings if not accepted]


def _indented(text: str) -> list[str]:
    return [f"  {line}" if line else line for line in text.split("\n")]


def describe_witness(issue: Issue) -> list[str]:
    """The launch of a witness in a line or two."""
    witness = issue.witness
    assert witness is not None
    names = Names(witness.kernel)
    sizes = [f"dim = {witness.dims}"]
    sizes += [f"{names.symbol(symbol)} = {n}" for symbol, n in witness.numbers().items()]
    lines = [", ".join(sizes)]
    contents = witness.case.suspect.contents
    if contents and not witness.case.memory:
        shown = [
            f"{names.argument(c.parameter, c.leaf)}{list(c.index)} = {c.value}"
            for c in contents[:6]
        ]
        lines.append(", ".join(shown))
    return lines


def to_markup(report: Report) -> str:
    """The report in colours, as markup that rich understands."""
    lines = [_coloured(headline(report), report.verdict, bold=True)]
    for part in report.properties:
        word, separator, rest = _verdict(part).partition(":" if part.accepted else " ")
        text = f"{_coloured(word, part.verdict)}{separator}{_literal(rest)}"
        lines.append(f"  {part.name:<12} {text}".rstrip())
        lines += [f"               {_literal(note)}" for note in part.notes]
    for issue in _shown(report):
        lines += ["", *map(_literal, _indented(issue.diagnostic().render()))]
        if issue.witness is not None:
            lines += [_literal(f"  witness: {line}") for line in describe_witness(issue)]
    return "\n".join(lines)


def _coloured(text: str, verdict: Verdict, *, bold: bool = False) -> str:
    return f"[{'bold ' if bold else ''}{_COLOURS[verdict]}]{_literal(text)}[/]"


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[")


def to_html(report: Report) -> str:
    """The report as a table for notebooks."""
    rows = []
    for part in report.properties:
        colour = {"yellow": "darkorange"}.get(_COLOURS[part.verdict], _COLOURS[part.verdict])
        accepted = f"accepted: {part.accepted}" if part.accepted else ""
        facts = (part.condition, ", ".join(part.contracts), *part.notes, accepted)
        text = "<br>".join(html.escape(t) for t in facts if t)
        rows.append(
            f"<tr><td>{part.name}</td><td style='color:{colour}'>{part.verdict.value}</td>"
            f"<td>{text}</td></tr>"
        )
    issues = "".join(
        f"<pre>{html.escape(issue.diagnostic().render())}</pre>" for issue in _shown(report)
    )
    return f"<b>{html.escape(headline(report))}</b><table>{''.join(rows)}</table>{issues}"


# -- for programs ----------------------------------------------------------------------------------


def to_json(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "kernel": report.kernel,
        "place": _place(report.span),
        "verdict": report.verdict.value,
        "given": list(report.given),
        "condition": report.condition,
        "contracts": list(report.contracts),
        "properties": [
            {
                "name": part.name,
                "verdict": part.verdict.value,
                "condition": part.condition,
                "contracts": list(part.contracts),
                "notes": list(part.notes),
                "accepted": part.accepted or None,
                "issues": [_issue_json(issue) for issue in part.issues],
            }
            for part in report.properties
        ],
        "seconds": round(report.proof.seconds, 3),
        "questions": report.proof.questions,
        "encoding": report.proof.encoding,
    }


def _issue_json(issue: Issue) -> dict[str, Any]:
    return {
        "verdict": issue.verdict.value,
        "code": issue.code,
        "message": issue.message,
        "place": _place(issue.span),
        "notes": [{"text": note.text, "place": _place(note.span)} for note in issue.notes],
        "hint": issue.hint,
        "witness": describe_witness(issue) if issue.witness else None,
    }


def _place(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "file": span.file,
        "line": span.line,
        "column": span.col + 1,
        "end_line": span.end_line,
        "end_column": span.end_col + 1,
    }


def to_sarif(reports: Iterable[Report], errors: Sequence[str] = ()) -> dict[str, Any]:
    """Reports as a SARIF 2.1.0 log: errors are bugs, warnings are not proved.

    ``errors`` are about targets that could not be verified: the run has not succeeded then.

    What is accepted is suppressed, with its reason (section 3.35 of the standard).
    """
    results, codes = [], {}
    for report in reports:
        for issue, accepted in report.findings:
            codes[issue.code] = CODES[issue.code].title
            results.append(_sarif_result(report, issue, accepted))
        results += [_sarif_proof(report, p) for p in report.properties if p.contracts]
    rules = [{"id": code, "shortDescription": {"text": title}} for code, title in codes.items()]
    driver = {"name": "heald verify", "rules": rules}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": not errors,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": error}} for error in errors
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _sarif_result(report: Report, issue: Issue, accepted: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": issue.code,
        "level": "error" if issue.verdict is Verdict.REFUTED else "warning",
        "message": {"text": _sentence(report, issue)},
        "locations": [_sarif_place(issue.span)] if issue.span else [],
        "relatedLocations": [
            {**_sarif_place(note.span), "message": {"text": note.text}}
            for note in issue.notes
            if note.span is not None
        ],
    }
    if issue.witness is not None:
        result["properties"] = {"witness": describe_witness(issue)}
    if accepted:
        why = {"kind": "external", "status": "accepted", "justification": accepted}
        result["suppressions"] = [why]
    return result


def _sentence(report: Report, issue: Issue) -> str:
    hint = f" (hint: {issue.hint})" if issue.hint else ""
    return f"{report.kernel}: {issue.message}{hint}"


def _sarif_proof(report: Report, part: PropertyReport) -> dict[str, Any]:
    """A result without a fault, which says what a proof rests on."""
    text = f"{report.kernel}: {part.name} {part.verdict.value}: {', '.join(part.contracts)}"
    return {
        "kind": "informational",
        "level": "none",
        "message": {"text": text},
        "locations": [_sarif_place(report.span)] if report.span else [],
    }


def _sarif_place(place: Span) -> dict[str, Any]:
    span = place.in_user_code
    region = {
        "startLine": span.line,
        "startColumn": span.col + 1,
        "endLine": span.end_line,
        "endColumn": span.end_col + 1,
    }
    uri = {"uri": _uri(span.file)}
    return {"physicalLocation": {"artifactLocation": uri, "region": region}}


def _uri(file: str) -> str:
    """A file as a reference: relative where it lies below the current folder."""
    path = _nearby(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _nearby(file: str) -> Path:
    path, here = Path(file), Path.cwd()
    return path.relative_to(here) if here in path.parents else path


def to_junit(reports: Sequence[Report], errors: Sequence[str], *, strict: bool) -> str:
    """Reports as JUnit XML: a case for each kernel and property."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        suite = ElementTree.SubElement(root, "testsuite", name=report.kernel)
        span = report.span
        place = {"file": str(_nearby(span.file)), "line": str(span.line)} if span else {}
        for part in report.properties:
            about = {"name": part.name, "classname": report.kernel, **place}
            case = ElementTree.SubElement(suite, "testcase", about)
            if part.contracts:
                text = f"{part.verdict.value}: {', '.join(part.contracts)}"
                ElementTree.SubElement(case, "system-out").text = text
            text = "\n".join(issue.diagnostic().render() for issue in part.issues)
            bad = part.verdict is Verdict.REFUTED or (strict and part.verdict is Verdict.UNKNOWN)
            if part.accepted:
                ElementTree.SubElement(case, "skipped", message=_verdict(part))
            elif bad:
                ElementTree.SubElement(case, "failure", message=part.verdict.value).text = text
            elif part.verdict is Verdict.UNKNOWN:
                ElementTree.SubElement(case, "skipped", message=part.verdict.value).text = text
    if errors:
        suite = ElementTree.SubElement(root, "testsuite", name="files")
        for error in errors:
            case = ElementTree.SubElement(suite, "testcase", name=error.split(":")[0])
            ElementTree.SubElement(case, "error", message=error)
    for suite in root:
        suite.set("tests", str(len(suite)))
        for kind in ("failure", "error", "skipped"):
            name = kind if kind == "skipped" else f"{kind}s"
            suite.set(name, str(sum(1 for _ in suite.iter(kind))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def to_github(reports: Iterable[Report], errors: Sequence[str] = ()) -> str:
    """Reports as workflow commands, which GitHub shows beside the code; then what went wrong."""
    lines = []
    for report in reports:
        for issue in _shown(report):
            level = "error" if issue.verdict is Verdict.REFUTED else "warning"
            span = issue.span.in_user_code if issue.span else None
            column = f",col={span.col + 1}" if span else ""
            lines.append(_github(level, span, column, _sentence(report, issue)))
        for part in report.properties:
            if part.accepted:
                text = f"{report.kernel}: {part.name} {_verdict(part)}"
                lines.append(_github("notice", report.span, "", text))
        if report.proved and report.contracts:
            text = f"{report.kernel}: {report.verdict.value}: {', '.join(report.contracts)}"
            lines.append(_github("notice", report.span, "", text))
    lines += [_github("error", None, "", error) for error in errors]
    return "\n".join(lines)


def _github(level: str, span: Span | None, column: str, text: str) -> str:
    place = ""
    if span is not None:
        file = _escaped(_nearby(span.file).as_posix()).replace(":", "%3A").replace(",", "%2C")
        place = f" file={file},line={span.line}{column}"
    return f"::{level}{place}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def to_markdown(reports: Iterable[Report]) -> str:
    """Reports as a table: what is proved, what is asked of the launch, what is open and why.

    Lines are left out, so that the table changes with verdicts only.
    """
    lines = ["| kernel | file | verdict | asks of the launch, or is open |", "|---|---|---|---|"]
    for report in reports:
        text = " under ".join(t for t in (report.condition, ", ".join(report.contracts)) if t)
        if not report.proved:
            open_ = [p for p in report.properties if p.issues]
            texts = [f"{p.name} {p.verdict.value}: {_reasons(p)}" for p in open_]
            texts += dict.fromkeys(f"accepted: {p.accepted}" for p in open_ if p.accepted)
            text = "; ".join(texts)
        file = _nearby(report.span.file).as_posix() if report.span else ""
        cells = f"`{report.kernel}`", file, verdict_words(report), text
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _reasons(part: PropertyReport) -> str:
    """Why a property is open, each reason once."""
    found = dict.fromkeys(issue.reason or issue.message for issue in part.issues)
    return ", ".join(found)
