"""What is measured while nobody else uses the core.

A virtual machine is lent halves of cores.  On those whose other half a neighbour keeps busy, plain
Python takes up to twice as long; which these are changes within seconds.  A loop of plain Python
tells, whatever it is that is measured.  Where the system cannot keep a thread on a core it runs
where it likes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

_STEPS = 6000
_SLOW = 1.1
"""Of the shortest time that the loop ever took: then a core is not quiet."""


def least_disturbed(
    take: Callable[[], float], *, wanted: int = 30, rounds: int = 400
) -> list[float]:
    """What ``take`` gives in those ``wanted`` of its ``rounds`` that were disturbed least.

    These are the rounds before and after which the loop took least time.  Where a core is not quiet
    the next round is on another one.
    """
    found = []
    best = float("inf")
    with _kept() as cores:
        turn = cycle(cores)
        for _ in range(rounds):
            found.append(beside_loop(take))
            best = min(best, found[-1][0])
            if found[-1][0] > _SLOW * best:
                _keep([next(turn)])
    return [value for _, value in sorted(found)[:wanted]]


def beside_loop(take: Callable[[], float]) -> tuple[float, float]:
    """Seconds of the loop, the longer of before and after, and what ``take`` gives between."""
    before, value, after = _loop(), take(), _loop()
    return max(before, after), value


def pace() -> float:
    """Microseconds of a thousand steps of the loop on a quiet core: how quick the host is."""
    with quiet(1):
        return min(_loop() for _ in range(100)) / _STEPS * 1e9


@contextmanager
def quiet(count: int) -> Iterator[None]:
    """This thread and the processes it starts run on ``count`` cores: the quickest just now."""
    times = {}
    with _kept() as cores:
        for core in cores:
            _keep([core])
            times[core] = sum(_loop() for _ in range(3))
        _keep(sorted(cores, key=times.__getitem__)[:count])
        yield


@contextmanager
def _kept() -> Iterator[list[int]]:
    """The cores on which this thread may run; it is given all of them back."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    try:
        yield cores
    finally:
        _keep(cores)


def _keep(cores: list[int]) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def _loop() -> float:
    """Seconds of some plain Python."""
    total, start = 0, time.perf_counter()
    for k in range(_STEPS):
        total += k * k
    return time.perf_counter() - start
