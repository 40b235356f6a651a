"""Sharing the threads of a launch among Python threads, where the process has no OpenMP runtime.

Compiled code runs without the GIL, so Python threads are cores; waking one costs tens of
microseconds.  Who runs which threads of the launch never changes what it computes.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

GRANULE = 64
"""A share begins at a multiple of so many threads, so that two cores do not write to one cache line
and widened kernels have whole vectors."""
_MANY = 16
_PIECES = 16
"""Pieces that each core takes one after the other where the threads of a launch are uneven."""

RunRange = Callable[[int, int], None]


def split(total: int, count: int) -> list[tuple[int, int]]:
    """At most ``count`` ranges that cover [0, total) once, in order, of nearly equal length.

    They begin at multiples of 64 unless that would leave cores without work.
    """
    step = GRANULE if total // count >= _MANY * GRANULE else 1
    ends = [total * k // count // step * step for k in range(count)] + [total]
    return [(lo, hi) for lo, hi in itertools.pairwise(ends) if lo < hi]


def cut(total: int, cores: int, grain: int) -> list[tuple[int, int]]:
    """Ranges that cover [0, total) once, in order: a sixteenth of an even share each, in whole
    grains."""
    piece = max(1, -(-(total // (cores * _PIECES)) // grain)) * grain
    return [(lo, min(lo + piece, total)) for lo in range(0, total, piece)]


class _Job:
    """Ranges that somebody has to run; whoever is free takes the next one.

    Whoever takes a range has joined before and leaves afterwards, so that once no range is left to
    take, all have been run when as many have left as have joined.
    """

    __slots__ = ("_bell", "_joined", "_keepalive", "_left", "_ranges", "_run")

    def __init__(self, run: RunRange, ranges: list[tuple[int, int]], keepalive: object) -> None:
        self._run = run
        self._ranges = deque(ranges)
        self._keepalive = keepalive
        self._joined: deque[None] = deque()
        self._left: deque[None] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()

    def help(self) -> None:
        """Run ranges, as one of the helpers."""
        self._joined.append(None)
        try:
            self.work()
        finally:
            self._left.append(None)
            self._bell.put(None)

    def work(self) -> None:
        """Run ranges until none is left."""
        while self._ranges:
            try:
                lo, hi = self._ranges.popleft()
            except IndexError:
                return
            self._run(lo, hi)

    def wait(self) -> None:
        """Wait for the ranges that helpers have taken."""
        while len(self._left) < len(self._joined):
            self._bell.get()

    def close(self) -> None:
        """Let go of what nobody needs any more; helpers that come late find no range."""
        self._run = _run_nothing
        self._keepalive = None


def _run_nothing(lo: int, hi: int) -> None:
    """What a closed job would run."""


class Team:
    """Python threads that help whoever launches.  Several may launch at once.

    In a forked child it starts again with threads of its own.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._size = 0

    def run(
        self,
        run: RunRange,
        total: int,
        cores: int,
        keepalive: object = None,
        *,
        grain: int = 0,
    ) -> None:
        """Call ``run(lo, hi)`` for ranges that cover [0, total) and return when all have ended.

        Args:
            run: releases the GIL while it works; raises nothing.
            total: how many threads.
            cores: most cores to use; 0 for all of this process.
            keepalive: what ``run`` needs; kept until every helper has let go of it.
            grain: where it is not 0, cut more ranges than cores, as some may take longer, of so
                many threads or a multiple of them.

        Raises:
            KeyboardInterrupt: when everything has ended.
        """
        most = cores or core_count()
        ranges = cut(total, most, grain) if grain else split(total, most)
        job = _Job(run, ranges, keepalive)
        helpers = min(len(ranges), most) - 1
        interrupted: KeyboardInterrupt | None = None
        while True:
            try:
                while helpers > 0:
                    helpers -= 1
                    self._hire(job)
                job.work()
                job.wait()
                job.close()
                break
            except KeyboardInterrupt as error:
                interrupted = error
        if interrupted is not None:
            raise interrupted

    def _hire(self, job: _Job) -> None:
        with self._lock:
            if self._size < core_count() - 1:
                self._size += 1
                threading.Thread(
                    target=_serve, args=(self._jobs,), name="heald-worker", daemon=True
                ).start()
        if self._jobs.qsize() < self._size:
            self._jobs.put(job)


def _serve(jobs: SimpleQueue[_Job]) -> None:
    while True:
        jobs.get().help()


def core_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


TEAM = Team()
"""The team of this process; its threads start when they are first needed."""
os.register_at_fork(after_in_child=TEAM._forget)
