"""The cores of a shared machine that nobody else uses just now.

A virtual machine is lent halves of cores.  On those whose other half a neighbour keeps busy, plain
Python takes 1.7 times as long; which these are changes within seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

_STEPS = 60_000


@contextmanager
def quiet(count: int) -> Iterator[None]:
    """This thread and the processes it starts run on ``count`` cores: those that are quickest now.

    Where the system cannot keep a thread on a core it runs where it likes.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, quietest(before, count))
        yield
    finally:
        os.sched_setaffinity(0, before)


def quietest(cores: set[int], count: int) -> set[int]:
    """Those of ``cores`` on which a loop of plain Python takes least time; moves this thread."""
    times = {}
    for core in cores:
        os.sched_setaffinity(0, {core})
        times[core] = _loop()
    return set(sorted(cores, key=times.__getitem__)[:count])


def _loop() -> float:
    """Seconds of some plain Python."""
    total, start = 0, time.perf_counter()
    for k in range(_STEPS):
        total += k * k
    return time.perf_counter() - start
