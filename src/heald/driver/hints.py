"""``HEALD_HINTS=1``: what launches could do better, said once each as a Python warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from heald.diagnostics import Diagnostic, Hint
from heald.driver.arguments import Argument, ArrayArgument, thread_count
from heald.runtime import PARALLEL_WORK, Device

if TYPE_CHECKING:
    from heald.driver.program import Program

MANY = 1000
"""Launches of one kernel, each shorter than it takes to wake a second core."""

_INSIDE = (__name__.partition(".")[0], "contextlib")
_making = local()
_small: WeakKeyDictionary[Program, int] = WeakKeyDictionary()


def add_making_time(seconds: float) -> None:
    """Tell the launch that this thread is about to make that code for it took so long."""
    if hasattr(_making, "seconds"):
        _making.seconds += seconds


@contextmanager
def launch_hints(
    dims: Sequence[int], arguments: Sequence[Argument], device: Device, block_dim: int
) -> Iterator[list[Program]]:
    """Around one launch, which appends its program to the list: say afterwards what could be
    better."""
    _making.seconds = 0.0
    programs: list[Program] = []
    try:
        yield programs
        seconds = _making.seconds
    finally:
        del _making.seconds
    for program in programs:
        if seconds:
            _give(_made_late(program, seconds))
        if block_dim > 1 and len(dims) == 1 and _counts_blocks(dims[0], arguments, block_dim):
            _give(_blocks(program, dims[0], block_dim))
        if _is_small(program, dims, device):
            _small[program] = _small.get(program, 0) + 1
            if _small[program] == MANY:
                _give(_storm(program, device))


def _is_small(program: Program, dims: Sequence[int], device: Device) -> bool:
    return not device.is_sim and program.work * thread_count(dims) < PARALLEL_WORK


def _counts_blocks(extent: int, arguments: Sequence[Argument], block_dim: int) -> bool:
    """Is the launch as many threads as the longest array has blocks of elements?"""
    lengths = [
        leaf.shape[0] for a in arguments for leaf in a.leaves if isinstance(leaf, ArrayArgument)
    ]
    return extent > 1 and extent == -(-max(lengths, default=0) // block_dim)


def _made_late(program: Program, seconds: float) -> Diagnostic:
    return Diagnostic(
        "H1002",
        f"kernel '{program.name}' had its code made during a launch, which took "
        f"{1000 * seconds:.0f} ms",
        hint="call kernel.prepare() before the first frame; later processes find the code on disk",
    )


def _blocks(program: Program, extent: int, block_dim: int) -> Diagnostic:
    return Diagnostic(
        "H1003",
        f"kernel '{program.name}' runs {extent} threads on arrays of {extent} blocks of "
        f"{block_dim}",
        hint="dim counts threads, not blocks: pass the number of elements",
    )


def _storm(program: Program, device: Device) -> Diagnostic:
    way = "capture them in a graph (wp.ScopedCapture)"
    if not device.is_cuda:
        way = "record them (wp.launch(..., record_cmd=True))"
    return Diagnostic(
        "H1001",
        f"kernel '{program.name}' was launched {MANY} times for less work than a core does in "
        "50 us",
        hint=f"do more in each launch, or {way}",
    )


def _give(diagnostic: Diagnostic) -> None:
    """Warn at the line that launched."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(Hint(diagnostic), stacklevel=level)
