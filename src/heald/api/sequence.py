"""``wp.verify_sequence``: may launches run at the same time?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from heald.api.command import Launch
from heald.api.scalars import describe
from heald.diagnostics import Diagnostic, LaunchError
from heald.driver.sequences import Planned, in_circle, judge_pair, unordered
from heald.driver.verify_issue import Issue, Verdict


@dataclass(frozen=True, slots=True)
class PairReport:
    """The answer about two launches.

    Attributes:
        first: number of one of them.
        second: number of the other one.
        issues: what stands against running them at the same time.
    """

    first: int
    second: int
    issues: tuple[Issue, ...]

    @property
    def verdict(self) -> Verdict:
        """Proved to keep apart, refuted, or unknown."""
        return max((i.verdict for i in self.issues), key=lambda v: v.rank, default=Verdict.PROVED)


@dataclass(frozen=True, slots=True)
class SequenceReport:
    """The answer about launches.

    Attributes:
        names: of their kernels.
        pairs: of launches that nothing orders.
    """

    names: tuple[str, ...]
    pairs: tuple[PairReport, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all pairs."""
        return max((p.verdict for p in self.pairs), key=lambda v: v.rank, default=Verdict.PROVED)

    @property
    def proved(self) -> bool:
        """Does every pair that is not ordered keep apart?"""
        return self.verdict is Verdict.PROVED

    def __str__(self) -> str:
        lines = [f"{len(self.names)} launches: {self.verdict.value}"]
        for pair in self.pairs:
            lines.append(
                f"  {self._name(pair.first)} and {self._name(pair.second)}: {pair.verdict.value}"
            )
            for issue in pair.issues:
                text = issue.diagnostic().render().split("\n")
                lines += ["", *(f"  {line}" if line else line for line in text)]
        return "\n".join(lines)

    def _name(self, number: int) -> str:
        return f"{number} ({self.names[number]})"

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "launches": list(self.names),
            "verdict": self.verdict.value,
            "pairs": [
                {
                    "launches": [pair.first, pair.second],
                    "verdict": pair.verdict.value,
                    "issues": [issue.message for issue in pair.issues],
                }
                for pair in self.pairs
            ],
        }


def verify_sequence(
    launches: Sequence[Launch],
    order: Sequence[tuple[int, int]] = (),
    *,
    streams: Sequence[Hashable] | None = None,
) -> SequenceReport:
    """Prove that launches which nothing orders touch no byte that another one changes.

    Launches that run one after another need no such proof: on the CPU all do, on a GPU those of one
    stream.  Those of several streams are ordered by events only.

    Args:
        launches: recorded with ``wp.launch(..., record_cmd=True)``; none of them runs.
        order: pairs ``(earlier, later)`` of numbers of launches that an event orders; what follows
            from several of them counts.
        streams: the stream of each launch, or a name for it: launches of one stream run in the
            order in which they stand in ``launches``.

    Raises:
        LaunchError: ``launches`` holds something else, as where a graph is given, which does not
            tell what it holds; ``order`` names no launches or orders them in a circle; or
            ``streams`` are not as many.
    """
    planned = [_planned(launch) for launch in _listed(launches)]
    if not isinstance(order, Iterable):
        raise _bad_order(order, len(planned))
    edges = [_edge(edge, len(planned)) for edge in order]
    edges += _along(streams, len(planned))
    if circle := in_circle(len(planned), edges):
        raise _refusal(f"the order of launches goes in a circle: {circle[0]} waits for itself", "")
    pairs = [
        PairReport(a, b, tuple(judge_pair(planned[a], planned[b])))
        for a, b in unordered(len(planned), edges)
    ]
    return SequenceReport(tuple(p.kernel.name for p in planned), tuple(pairs))


def _listed(launches: object) -> Iterable[object]:
    if isinstance(launches, Iterable) and not isinstance(launches, str):
        return launches
    raise _not_recorded(launches)


def _not_recorded(given: object) -> LaunchError:
    return _refusal(
        f"wp.verify_sequence takes recorded launches, not {describe(given)}",
        "record each with wp.launch(..., record_cmd=True), and say with order= and streams= what "
        "orders them",
    )


def _along(streams: Sequence[Hashable] | None, count: int) -> list[tuple[int, int]]:
    """From each launch to the next one of its stream."""
    if streams is None:
        return []
    if not isinstance(streams, Sequence):
        raise _refusal(f"streams is a list of streams or names, not {describe(streams)}", "")
    if len(streams) != count:
        raise _refusal(f"streams has {len(streams)} of them for {count} launches", "")
    last: dict[Hashable, int] = {}
    edges = []
    for number, stream in enumerate(streams):
        if not isinstance(stream, Hashable):
            raise _refusal(f"streams holds streams or names of them, not {describe(stream)}", "")
        if stream in last:
            edges.append((last[stream], number))
        last[stream] = number
    return edges


def _planned(launch: object) -> Planned:
    if not isinstance(launch, Launch):
        raise _not_recorded(launch)
    program, arguments = launch.recorded()
    return Planned(
        program.wir, launch.dim, arguments, launch.block_dim, on_host=not launch.device.is_cuda
    )


def _edge(edge: object, count: int) -> tuple[int, int]:
    match edge:
        case (int() as earlier, int() as later) if 0 <= earlier < count and 0 <= later < count:
            if earlier != later:
                return earlier, later
    raise _bad_order(edge, count)


def _bad_order(given: object, count: int) -> LaunchError:
    return _refusal(f"order holds pairs of numbers of {count} launches, not {given!r}", "")


def _refusal(message: str, hint: str) -> LaunchError:
    return LaunchError(Diagnostic("H0707", message, hint=hint))
