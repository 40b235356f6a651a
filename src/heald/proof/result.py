"""What the prover answers, as values that travel between processes and into caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heald.artifact import Apart, Symbol
from heald.artifact.serialise import from_plain, to_plain
from heald.proof.conditions import Clause

PROPERTIES = (
    "bounds",
    "division",
    "assertions",
    "handles",
    "overflow",
    "races",
    "aliasing",
    "divergence",
    "initialised",
    "contracts",
)
"""In the order in which reports show them."""

VERSION = 4
"""Of the prover; cached answers of another version are not used."""


@dataclass(frozen=True, slots=True)
class Content:
    """A number (or 0 and 1 for truth values) that a witness puts into an array parameter before
    the launch.
    """

    parameter: int
    leaf: int
    index: tuple[int, ...]
    element_leaf: int
    value: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A launch in which something may go wrong; a replay tells whether it does.

    Attributes:
        dims: of the launch.
        numbers: shapes and by-value integers, by symbol.
        contents: of arrays.
        threads: which threads to watch, by launch index.
    """

    dims: tuple[int, ...]
    numbers: tuple[tuple[Symbol, int], ...]
    contents: tuple[Content, ...]
    threads: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """How large the launch is, to try small ones first."""
        return max((*self.dims, *(abs(n) for _, n in self.numbers)))


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was not proved.

    Attributes:
        aspect: which property it is about.
        op: id of the op.
        other: id of the second op of a race, else -1.
        axis: of the array, or -1.
        reason: why it is not proved, a key of ``explain.REASONS``.
        sources: ids of ops that the answer depends on.
        suspects: launches worth a replay.
    """

    aspect: str
    op: int
    other: int = -1
    axis: int = -1
    reason: str = ""
    sources: tuple[int, ...] = ()
    suspects: tuple[Suspect, ...] = ()


@dataclass(frozen=True, slots=True)
class Live:
    """A by-value handle must name a live resource of a kind."""

    parameter: int
    leaf: int
    kind: int


@dataclass(frozen=True, slots=True)
class PropertyProof:
    """The answer about one property.

    Attributes:
        status: ``proved``, ``stated`` (proved under stated contracts) or ``open``.
        clauses: what a proof asks of sizes at the launch.
        live: handles that must be live.
        apart: arrays that must not overlap.
        findings: what is not proved.
        benign: pairs of writes by which threads may put one value into one element.
        faultless: whether it speaks of launches without faults only.
        contracts: which contracts the answer rests on: none, ``shapes``, or ``contents``, which
            stands for those in the body, too.
    """

    status: str
    clauses: tuple[Clause, ...] = ()
    live: tuple[Live, ...] = ()
    apart: Apart | None = None
    findings: tuple[Finding, ...] = ()
    benign: tuple[tuple[int, int], ...] = ()
    faultless: bool = False
    contracts: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer about a kernel.

    Attributes:
        properties: by name.
        given: what was assumed of the launch.
        obligations: how many there were, and how many the interval analysis settled.
        questions: how many the solver was asked.
        seconds: how long it took.
        beyond: why the kernel was not judged, with the id of the op.
    """

    properties: dict[str, PropertyProof]
    given: tuple[Clause, ...] = ()
    obligations: tuple[int, int] = (0, 0)
    questions: int = 0
    seconds: float = 0.0
    beyond: tuple[str, int] | None = None
    solver: str = ""
    encoding: str = "integers"


# -- JSON ------------------------------------------------------------------------------------------


def to_json(proof: Proof) -> list[Any]:
    """A proof as JSON values."""
    return [VERSION, to_plain(proof)]


def from_json(data: Any) -> Proof:
    """A proof from what :func:`to_json` gave, also after a round trip through JSON text.

    Raises:
        ValueError, TypeError: it is something else, or of another version.
    """
    version, plain = data
    if version != VERSION:
        raise ValueError(f"a proof of version {version}, not {VERSION}")
    found = from_plain(Proof, plain)
    assert isinstance(found, Proof)
    return found
