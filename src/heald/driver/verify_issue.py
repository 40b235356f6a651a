"""Answers about one property, and what stands against it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from heald.diagnostics import Diagnostic, Note, Span
from heald.driver.witness import Witness


class Verdict(Enum):
    """An answer about a property, from best to worst."""

    PROVED = "proved"
    CONDITIONAL = "proved under conditions"
    CONTRACTS = "proved under stated contracts"
    UNKNOWN = "unknown"
    REFUTED = "refuted"

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Verdict).index(self)

    @property
    def is_proof(self) -> bool:
        """Is it one of the kinds of proof?"""
        return self.rank < Verdict.UNKNOWN.rank


@dataclass(frozen=True, slots=True)
class Issue:
    """A bug that a replay showed, or something that is not proved.

    Attributes:
        aspect: which property it is about.
        verdict: ``REFUTED`` or ``UNKNOWN``.
        message: what is wrong, or what could not be shown.
        span: where.
        notes: further places, such as the second access of a race.
        hint: what would make it provable, or right.
        witness: the launch that goes wrong.
        key: issues with one key are about the same thing.
        reason: what stands in the way, in a few words without places.
    """

    aspect: str
    verdict: Verdict
    message: str
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    hint: str = ""
    witness: Witness | None = None
    key: tuple[int, int, int] = (-1, -1, -1)
    reason: str = ""

    @property
    def code(self) -> str:
        """The diagnostic code."""
        return _CODES[self.aspect][self.verdict is Verdict.UNKNOWN]

    def diagnostic(self) -> Diagnostic:
        """The issue as a diagnostic."""
        return Diagnostic(self.code, self.message, self.span, notes=self.notes, hint=self.hint)


_CODES = {
    "bounds": ("H0601", "H0606"),
    "division": ("H0602", "H0606"),
    "assertions": ("H0603", "H0606"),
    "handles": ("H0606", "H0606"),
    "overflow": ("H0604", "H0606"),
    "races": ("H0605", "H0606"),
    "aliasing": ("H0605", "H0606"),
    "contracts": ("H0608", "H0606"),
    "divergence": ("H0609", "H0606"),
    "initialised": ("H0610", "H0606"),
}


@dataclass(frozen=True, slots=True)
class PropertyReport:
    """The answer about one property.

    Attributes:
        demands: what a proof asks of the launch, readably.
        notes: facts worth knowing, such as benign races.
        contracts: those that a proof rests on, readably.
        accepted: why it need not be proved; empty where nobody said so.
    """

    name: str
    verdict: Verdict
    demands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    contracts: tuple[str, ...] = ()
    accepted: str = ""

    @property
    def condition(self) -> str:
        """What a proof asks of the launch, in one text; empty where it asks nothing."""
        return " and ".join(self.demands)
