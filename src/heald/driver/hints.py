"""``HEALD_HINTS=1``: what launches could do better, said once each as a Python warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import local
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from heald.diagnostics import Diagnostic, Hint
from heald.driver.arguments import Argument, ArrayArgument, thread_count
from heald.runtime import PARALLEL_WORK, Device

if TYPE_CHECKING:
    from heald.driver.program import Program
    from heald.passes.array_roots import Root

MANY = 1000
"""Launches of one kernel, each shorter than it takes to wake a second core."""

MANY_BLOCKS = 16
"""Blocks of elements that are too many for a launch of one block: programs may well use the first
elements only of somewhat longer arrays."""

_INSIDE = (__name__.partition(".")[0], "contextlib")
_making = local()
_by_thread: WeakKeyDictionary[Program, frozenset[Root]] = WeakKeyDictionary()
_small: WeakKeyDictionary[Program, int] = WeakKeyDictionary()


def add_making_time(seconds: float) -> None:
    """Tell the launch that this thread is about to make that code for it took so long."""
    if hasattr(_making, "seconds"):
        _making.seconds += seconds


@contextmanager
def launch_hints(
    dims: Sequence[int], device: Device, block_dim: int
) -> Iterator[list[tuple[Program, Sequence[Argument]]]]:
    """Around one launch, which appends its program and arguments to the list: say afterwards what
    could be better."""
    _making.seconds = 0.0
    programs: list[tuple[Program, Sequence[Argument]]] = []
    try:
        yield programs
        seconds = _making.seconds
    finally:
        del _making.seconds
    for program, arguments in programs:
        if seconds:
            _give(_made_late(program, seconds))
        hint_at_dim(program, dims, arguments, block_dim)
        if _is_small(program, dims, device):
            _small[program] = _small.get(program, 0) + 1
            if _small[program] == MANY:
                _give(_storm(program, device))


def _is_small(program: Program, dims: Sequence[int], device: Device) -> bool:
    return not device.is_sim and program.work * thread_count(dims) < PARALLEL_WORK


def hint_at_dim(
    program: Program, dims: Sequence[int], arguments: Sequence[Argument], block_dim: int
) -> None:
    """Say where a launch has as many threads as its arrays have blocks, or as one block has, while
    each thread uses elements of its own only: a thread for each part of an array loops over it."""
    if block_dim == 1 or len(dims) != 1 or dims[0] < 2:
        return
    (extent,) = dims
    lengths = {
        (n, leaf): array.shape[0]
        for n, argument in enumerate(arguments)
        for leaf, array in enumerate(argument.leaves)
        if isinstance(array, ArrayArgument)
    }
    if not any(_is_few(extent, length, block_dim) for length in lengths.values()):
        return  # as nearly always: the kernel need not be looked at
    if program not in _by_thread:
        passes = import_module("heald.passes.thread_elements")  # which loads the compiler
        _by_thread[program] = passes.arrays_by_thread(program.wir)
    shortest = min((lengths[root] for root in _by_thread[program] if root in lengths), default=0)
    if _is_few(extent, shortest, block_dim):
        _give(_too_few(program, extent, shortest, block_dim))


def _is_few(extent: int, length: int, block_dim: int) -> bool:
    return extent == -(-length // block_dim) or (
        extent == block_dim and length >= MANY_BLOCKS * block_dim
    )


def _made_late(program: Program, seconds: float) -> Diagnostic:
    return Diagnostic(
        "H1002",
        f"kernel '{program.name}' had its code made during a launch, which took "
        f"{1000 * seconds:.0f} ms",
        hint="call kernel.prepare() before the first frame; later processes find the code on disk",
    )


def _too_few(program: Program, extent: int, length: int, block_dim: int) -> Diagnostic:
    where = f"arrays of {extent} blocks of {block_dim}"
    hint = "dim counts threads, not blocks: pass the number of elements"
    if extent != -(-length // block_dim):
        where = f"arrays of {length:,} elements: one block"
        hint = "dim counts all threads, not those of a block, which are block_dim: pass the number "
        hint += "of elements"
    message = f"kernel '{program.name}' runs {extent} threads on {where}"
    return Diagnostic("H1003", message, hint=hint)


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
