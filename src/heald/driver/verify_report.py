"""Reports: what was proved of a kernel, what was refuted, what is open, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heald.diagnostics import Span
from heald.driver import verify_formats
from heald.driver.verify_issue import Issue, PropertyReport, Verdict
from heald.driver.witness import Witness
from heald.proof import Proof


@dataclass(frozen=True, slots=True)
class Report:
    """The answer about a kernel.

    ``str`` shows it as text, a terminal in colours, a notebook as a table.

    Attributes:
        kernel: its name.
        span: where it is defined.
        properties: in the order in which they are shown.
        given: what was assumed of launches.
        proof: the prover's own answer.
    """

    kernel: str
    span: Span | None
    properties: tuple[PropertyReport, ...]
    given: tuple[str, ...]
    proof: Proof

    @property
    def verdict(self) -> Verdict:
        """The worst of all properties."""
        return max((p.verdict for p in self.properties), key=lambda v: v.rank)

    @property
    def open_verdict(self) -> Verdict:
        """The worst of the properties that are not accepted as they are."""
        found = (p.verdict for p in self.properties if not p.accepted)
        return max(found, key=lambda v: v.rank, default=Verdict.PROVED)

    @property
    def proved(self) -> bool:
        """Is every property proved, perhaps under conditions on the launch or contracts?"""
        return self.verdict.is_proof

    @property
    def condition(self) -> str:
        """What the proofs ask of the launch, readably; empty where they ask nothing."""
        return " and ".join(dict.fromkeys(d for p in self.properties for d in p.demands))

    @property
    def contracts(self) -> tuple[str, ...]:
        """The contracts that proofs rest on, as they were written; empty where they need none."""
        return tuple(dict.fromkeys(text for p in self.properties for text in p.contracts))

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Everything that is refuted or unknown, bugs first; what several properties say, once."""
        return tuple(issue for issue, _ in self.findings)

    @property
    def findings(self) -> tuple[tuple[Issue, str], ...]:
        """Every issue with the reason for which it is accepted; empty where it is not."""
        found: dict[object, tuple[Issue, str]] = {}
        for part in sorted(self.properties, key=lambda p: bool(p.accepted)):
            for issue in part.issues:
                found.setdefault((issue.code, issue.message, issue.span), (issue, part.accepted))
        return tuple(sorted(found.values(), key=lambda pair: -pair[0].verdict.rank))

    @property
    def witness(self) -> Witness | None:
        """The first launch that goes wrong, or None."""
        return next((issue.witness for issue in self.issues if issue.witness), None)

    def __getitem__(self, name: str) -> PropertyReport:
        """The answer about a property by its name."""
        for part in self.properties:
            if part.name == name:
                return part
        raise KeyError(name)

    def __str__(self) -> str:
        return verify_formats.to_text(self)

    def _repr_html_(self) -> str:
        return verify_formats.to_html(self)

    def __rich__(self) -> str:
        return verify_formats.to_markup(self)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return verify_formats.to_json(self)

    def to_sarif(self) -> dict[str, Any]:
        """The report as a SARIF 2.1.0 log."""
        return verify_formats.to_sarif([self])
