"""Timing ways to do the same thing side by side: interleaved rounds, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

SAMPLE = 0.008
"""Seconds that one sample should take at least: short calls are repeated within it."""
WARM_UPS = 3
"""Untimed calls before timing: a first launch compiles, a second makes the launch entry."""

Times = tuple[float, float]
"""Seconds on the wall, and of the processor (all threads of the process that works)."""


class PeerError(RuntimeError):
    """A peer does not work here; that is no reason to measure nothing."""


class Way(Protocol):
    """One way to do a thing."""

    @property
    def threads(self) -> int:
        """How many threads share its work."""

    def run(self) -> None:
        """Do it once."""

    def result(self) -> npt.NDArray[Any]:
        """What the last run computed."""

    def sample(self, repeats: int) -> Times:
        """Do it ``repeats`` times; the mean of these."""


def time_calls(run: Callable[[], object], repeats: int) -> Times:
    """Seconds a call: on the wall, and of the processor."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall / repeats, cpu / repeats


@dataclass(frozen=True, slots=True)
class Local:
    """A way that runs in this process.

    Attributes:
        call: does it once.
        output: what it computed, not a copy.
        before: makes ready for a series of calls, such as a setting that the way wants.
        threads: how many share its work.
    """

    call: Callable[[], object]
    output: Callable[[], npt.NDArray[Any]]
    before: Callable[[], object] = field(default=lambda: None)
    threads: int = 1

    def run(self) -> None:
        """Do it once."""
        self.before()
        self.call()

    def result(self) -> npt.NDArray[Any]:
        """What the last run computed."""
        return np.array(self.output())

    def sample(self, repeats: int) -> Times:
        """The mean of several calls."""
        self.before()
        self.call()
        return time_calls(self.call, repeats)


@dataclass(frozen=True, slots=True)
class Measured:
    """The samples of all ways of a case, one a round, in the order in which they were taken."""

    samples: Mapping[str, Sequence[Times]]
    threads: Mapping[str, int]

    def wall(self, way: str) -> float:
        """Median seconds on the wall."""
        return statistics.median(times[0] for times in self.samples[way])

    def processor(self, way: str) -> float:
        """Median seconds of the processor, of all threads together."""
        return statistics.median(times[1] for times in self.samples[way])

    def wall_ratios(self, over: str, under: str) -> list[float]:
        """Time of ``over`` by that of ``under``, each from samples of one round."""
        pairs = zip(self.samples[over], self.samples[under], strict=True)
        return [a[0] / max(b[0], 1e-12) for a, b in pairs]

    def idle_ratios(self, over: str, under: str) -> list[float]:
        """As :meth:`wall_ratios`, of processor time by thread: what the wall would show on an idle
        machine with a core for each thread, if they shared the work evenly."""
        share = self.threads[under] / self.threads[over]
        pairs = zip(self.samples[over], self.samples[under], strict=True)
        return [a[1] / max(b[1], 1e-12) * share for a, b in pairs]


def measure(ways: Mapping[str, Way], rounds: int, sample: float = SAMPLE) -> Measured:
    """Time every way in every round; who begins changes from round to round."""
    repeats = {}
    for name, way in ways.items():
        for _ in range(WARM_UPS):
            way.run()
        wall, _ = way.sample(1)
        repeats[name] = max(1, min(10_000, round(sample / max(wall, 1e-7))))
    samples: dict[str, list[Times]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            samples[name].append(ways[name].sample(repeats[name]))
    return Measured(samples, {name: way.threads for name, way in ways.items()})
