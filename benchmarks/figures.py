"""What the table is made of: figures with their limits, and how they print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Measured, PeerError, Way

Size = Literal["full", "quick", "tiny"]


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

    def of(self, case: str, measured: Measured) -> Figure:
        """The figure."""
        return _ratio(
            case, f"{self.way} / {self.peer}", measured, self.peer, self.way, self.limit, ">="
        )


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

    def of(self, case: str, measured: Measured) -> Figure:
        """The figure."""
        return _ratio(
            case, f"time {self.way} / {self.base}", measured, self.way, self.base, self.limit, "<="
        )


@dataclass(frozen=True, slots=True)
class Duration:
    """Milliseconds of a way."""

    way: str
    limit: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The ways it is about."""
        return (self.way,)

    def of(self, case: str, measured: Measured) -> Figure:
        """The figure."""
        wall = measured.median(self.way) * 1e3
        detail = {"processor_ms": measured.median(self.way, 1) * 1e3}
        return Figure(case, self.way, wall, "ms", self.limit, "<=", detail)


Reading = Speed | Cost | Duration


def _ratio(
    case: str,
    name: str,
    measured: Measured,
    over: str,
    under: str,
    limit: float | None,
    sense: Literal[">=", "<="],
) -> Figure:
    wall, cpu = (measured.ratios(over, under, clock) for clock in (0, 1))
    low, middle, high = np.quantile(wall, [0.25, 0.5, 0.75])
    detail = {
        "wall_quartiles": [float(low), float(high)],
        "processor_ratio": float(np.median(cpu)),
        "milliseconds": {way: measured.median(way) * 1e3 for way in (over, under)},
        "processor_milliseconds": {way: measured.median(way, 1) * 1e3 for way in (over, under)},
    }
    times = ", ".join(f"{measured.median(way) * 1e3:.3g}" for way in (over, under))
    note = f"[{low:.2f}, {high:.2f}]  cpu {np.median(cpu):.2f}  {times} ms"
    return Figure(case, name, float(middle), "x", limit, sense, detail, note)


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

    def read(self, case: str, measured: Measured) -> Iterator[Figure]:
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
                yield reading.of(case, measured)

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
            worst = float(np.nanmax(error)) / scale
            raise ValueError(f"{name}: {wrong:.2%} of the values are wrong, by up to {worst:.2g}")
