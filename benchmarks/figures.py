"""What the table is made of: figures with their limits, and how they print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Measured, PeerError, Way

Size = Literal["full", "quick", "tiny"]
Clock = Literal["wall", "processor"]
"""What decides: time on the wall, or processor time by thread, which the load of a shared machine
changes much less."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the table.

    Attributes:
        case: which case it belongs to.
        name: what it says.
        value: in ``unit``; None where it was skipped.
        unit: of the value; ``x`` for ratios.
        limit: what the issue asks for; None for a number without one.
        sense: which side of the limit is good.
        detail: what the number was made of.
        note: why it was skipped, or what else to know.
    """

    case: str
    name: str
    value: float | None
    unit: str
    limit: float | None
    sense: Literal[">=", "<="]
    detail: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def verdict(self) -> str:
        """``pass``, ``FAIL``, ``skip``, or nothing where there is no limit."""
        if self.value is None:
            return "skip"
        if self.limit is None:
            return ""
        holds = self.value >= self.limit if self.sense == ">=" else self.value <= self.limit
        return "pass" if holds else "FAIL"

    def row(self) -> str:
        """Its line of the table."""
        value = "" if self.value is None else f"{self.value:.3g} {self.unit}"
        limit = "" if self.limit is None else f"{self.sense} {self.limit:g}"
        return f"{self.case:14}{self.name:38}{value:>14}  {limit:8}{self.verdict:6}{self.note}"

    def record(self) -> dict[str, Any]:
        """As it stands in the report file."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of a way as a part of a peer's: time of the peer by time of the way."""

    way: str
    peer: str
    limit: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The ways it is about."""
        return self.way, self.peer

    def of(self, case: str, measured: Measured, clock: Clock) -> Figure:
        """The figure."""
        value, detail, note = _ratio(measured, self.peer, self.way, clock)
        title = f"{self.way} / {self.peer}"
        return Figure(case, title, value, "x", self.limit, ">=", detail, note)


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of a way by that of a cheaper one."""

    way: str
    base: str
    limit: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The ways it is about."""
        return self.way, self.base

    def of(self, case: str, measured: Measured, clock: Clock) -> Figure:
        """The figure."""
        value, detail, note = _ratio(measured, self.way, self.base, clock)
        title = f"time {self.way} / {self.base}"
        return Figure(case, title, value, "x", self.limit, "<=", detail, note)


@dataclass(frozen=True, slots=True)
class Duration:
    """Milliseconds of a way; on an idle machine the wall shows at most the processor time of all
    threads together."""

    way: str
    limit: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The ways it is about."""
        return (self.way,)

    def of(self, case: str, measured: Measured, clock: Clock) -> Figure:
        """The figure."""
        wall, processor = measured.wall(self.way) * 1e3, measured.processor(self.way) * 1e3
        value = wall if clock == "wall" else processor
        detail = {"wall_ms": wall, "processor_ms": processor}
        note = f"wall {wall:.3g}, processor {processor:.3g} ms"
        return Figure(case, self.way, value, "ms", self.limit, "<=", detail, note)


Reading = Speed | Cost | Duration


def _ratio(
    measured: Measured, over: str, under: str, clock: Clock
) -> tuple[float, dict[str, Any], str]:
    """Value, detail and note of a ratio of times."""
    ratios = {
        "wall": measured.wall_ratios(over, under),
        "processor": measured.idle_ratios(over, under),
    }
    detail: dict[str, Any] = {}
    for name, found in ratios.items():
        low, middle, high = (float(q) for q in np.quantile(found, [0.25, 0.5, 0.75]))
        detail[name] = {"median": middle, "quartiles": [low, high]}
    detail["wall_ms"] = {way: measured.wall(way) * 1e3 for way in (over, under)}
    detail["processor_ms"] = {way: measured.processor(way) * 1e3 for way in (over, under)}
    detail["threads"] = {way: measured.threads[way] for way in (over, under)}
    wall, processor = (detail[name] for name in ratios)
    low, high = wall["quartiles"]
    times = " : ".join(f"{t:.3g}" for t in detail["processor_ms"].values())
    note = (
        f"wall {wall['median']:.2f} [{low:.2f}, {high:.2f}], "
        f"processor {processor['median']:.2f} ({times} ms)"
    )
    return detail[clock]["median"], detail, note


@dataclass(frozen=True, slots=True)
class Work:
    """A case made ready for one size.

    Attributes:
        ways: what is timed.
        expected: what each way has to compute.
        readings: the figures to take from the times.
        reset: puts inputs that a way overwrites back, before a check.
        relative: tolerance of a value by the largest absolute value expected.
        different: the part of the values that may be outside it.
        held: what must live as long, such as a grid of which kernels take the handle only.
        failures: what peers said that do not work here.
    """

    ways: Mapping[str, Way]
    expected: npt.NDArray[Any]
    readings: tuple[Reading, ...]
    reset: Callable[[], object] = field(default=lambda: None)
    relative: float = 1e-5
    different: float = 0.0
    held: object = None
    failures: Mapping[str, str] = field(default_factory=dict)

    def timed(self) -> dict[str, Way]:
        """The ways that some figure is about."""
        needed = {name for reading in self.readings for name in reading.needs}
        return {name: way for name, way in self.ways.items() if name in needed}

    def read(self, case: str, measured: Measured, clock: Clock) -> Iterator[Figure]:
        """The figures; those of peers that are not there are skipped."""
        for reading in self.readings:
            missing = [name for name in reading.needs if name not in self.ways]
            if missing:
                title, note = (
                    " / ".join(reading.needs),
                    self.failures.get(missing[0], f"{missing[0]} is not there"),
                )
                yield Figure(case, title, None, "x", reading.limit, ">=", {}, note)
            else:
                yield reading.of(case, measured, clock)

    def checked(self) -> Work:
        """The same work without the peers that do not work here, once all results are right.

        Raises:
            ValueError: a way computes something else.
        """
        ways, failures = {}, {}
        for name, way in self.ways.items():
            self.reset()
            try:
                way.run()
                found = way.result()
            except PeerError as error:
                failures[name] = str(error)
                continue
            self._compare(name, found)
            ways[name] = way
        return replace(self, ways=ways, failures=failures)

    def _compare(self, name: str, found: npt.NDArray[Any]) -> None:
        if found.shape != self.expected.shape:
            raise ValueError(f"{name}: shape {found.shape}, not {self.expected.shape}")
        error = np.abs(found.astype(np.float64) - self.expected.astype(np.float64))
        scale = float(np.abs(self.expected.astype(np.float64)).max())
        wrong = float(np.mean(~(error <= self.relative * scale)))
        if wrong > self.different:
            worst = float(error.max()) / scale
            raise ValueError(f"{name}: {wrong:.2%} of the values are wrong, by up to {worst:.2g}")
