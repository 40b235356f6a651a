"""Running kernels: the reference meaning of WIR.

Two interpreters share every op that is not control flow.  :func:`run` takes the whole grid at once,
op by op, each op over its lanes in ascending order; :func:`run_serial` takes thread after thread. A
launch whose threads touch no memory that another one writes, or only by atomics whose order cannot
be seen (integers, old values unread), gives the same bits in both.  Faults and print records are
the same in both for such launches.

A very large grid is cut into chunks of ascending threads that run one after another, so memory
stays bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heald.artifact import Fault, PrintRecord
from heald.diagnostics import Diagnostic, HealdError
from heald.interp.control import run_grid, spread_datum
from heald.interp.faults import Journal, Stopped
from heald.interp.lanes import Group, Launch, prepare
from heald.interp.memory import Lanes
from heald.interp.resources import Resources
from heald.interp.serial import run_thread
from heald.interp.values import Datum
from heald.ir import Kernel, walk
from heald.types import Array, leaves, size_of

FUEL = 10_000_000
"""Loop iterations that lanes which run together may take, unless the caller says otherwise."""

_CHUNK_BYTES = 1 << 28
_CHUNK_LEAST, _CHUNK_MOST = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a launch left behind besides memory.

    Attributes:
        faults: empty, or the first fault of the lowest thread that faulted, with the number of
            them.
        results: those of a kernel that has some, each an array with one carrier entry for each
            thread, or for a composite the tuple of its leaves.  Empty when the run was stopped.
        printed: by thread and sequence.
    """

    faults: tuple[Fault, ...]
    results: tuple[Any, ...]
    printed: tuple[PrintRecord, ...]


def run(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[object],
    *,
    block_dim: int = 256,
    resources: Resources | None = None,
    fuel: int = FUEL,
    stop_on_fault: bool = False,
    unchecked: bool = False,
    chunk: int | None = None,
) -> Outcome:
    """Run a kernel on the whole grid at once.

    Args:
        kernel: what to run.
        dims: launch extents, four at most.
        args: one for each parameter: a number, an ``ArrayView``, or the tuple of the leaves of a
            composite.
        block_dim: threads of a block.
        resources: the resource table, by index.
        fuel: loop iterations (of all lanes that run together, counted once) before the run is given
            up.
        stop_on_fault: end at the first op at which a thread faults; other threads end where they
            are.
        unchecked: ``guard=False`` on an array access means that its check was left out
            (``safety="unchecked"``), so its failure is a fault like any other rather than a broken
            proof.
        chunk: lanes that run together at most; by default as many as fit into about 256 MiB.

    Raises:
        LaunchError: dims or arguments do not suit the kernel.
        HealdError: out of fuel.
        InternalError: the kernel is malformed, or an op with ``guard=False`` failed its check.
    """
    launch = prepare(kernel, dims, args, block_dim, resources, fuel)
    journal = Journal(unchecked, stop_on_fault)
    size = chunk or chunk_size(kernel)
    if launch.shares:  # whole blocks
        size = max(1, size // block_dim) * block_dim
    pieces: list[list[Datum]] = []
    with np.errstate(all="ignore"):
        try:
            for start in range(0, launch.threads, size):
                stop = min(start + size, launch.threads)
                threads = np.arange(start, stop, launch.step, dtype=np.int64)
                pieces.append(run_grid(Group(launch, journal, threads)))
        except Stopped:
            pieces = []
    return _outcome(launch, journal, pieces)


def run_serial(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[object],
    *,
    block_dim: int = 256,
    resources: Resources | None = None,
    fuel: int = FUEL,
    stop_on_fault: bool = False,
    unchecked: bool = False,
) -> Outcome:
    """Run a kernel thread after thread (``schedule="serial"``); slow.

    Arguments and errors are those of :func:`run`, but for ``fuel``: each thread has its own.

    Raises:
        HealdError: threads of a block meet or share memory: one alone cannot go on.
    """
    launch = prepare(kernel, dims, args, block_dim, resources, fuel)
    if launch.shares:
        raise HealdError(
            Diagnostic("H0709", f"the threads of {kernel.name} do not run one after the other")
        )
    journal = Journal(unchecked, stop_on_fault)
    pieces: list[list[Datum]] = []
    with np.errstate(all="ignore"):
        try:
            for thread in range(launch.threads):
                values = run_thread(Group(launch, journal, np.array([thread], np.int64)))
                pieces.append([spread_datum(v, 1) for v in values])
        except Stopped:
            pieces = []
    return _outcome(launch, journal, pieces)


def chunk_size(kernel: Kernel) -> int:
    """Lanes for which the values of a kernel and its local arrays stay within bounds."""
    each = 64
    for op in walk(kernel.body):
        for value in (*op.results, *(a for region in op.regions for a in region.args)):
            t = value.type
            each += size_of(t) if isinstance(t, Array) and t.space == "local" else 0
            each += 8 * len(leaves(t))
    return max(_CHUNK_LEAST, min(_CHUNK_MOST, _CHUNK_BYTES // each))


def _outcome(launch: Launch, journal: Journal, pieces: list[list[Datum]]) -> Outcome:
    faults: tuple[Fault, ...] = ()
    if journal.fault is not None:
        f = journal.fault
        faults = (Fault(f.kind, f.op, f.thread, f.index, f.shape, journal.count),)
    printed = sorted(journal.printed, key=lambda r: (r.thread, r.sequence))
    results = tuple(_join(list(part)) for part in zip(*pieces, strict=True))
    return Outcome(faults, results if launch.kernel.results else (), tuple(printed))


def _join(parts: list[Datum]) -> Lanes | tuple[Lanes, ...]:
    """The same result of consecutive chunks as one."""
    if isinstance(parts[0], tuple):
        leaf_parts = zip(*(p for p in parts if isinstance(p, tuple)), strict=True)
        return tuple(
            np.concatenate([x for x in leaf if isinstance(x, np.ndarray)]) for leaf in leaf_parts
        )
    return np.concatenate([p for p in parts if isinstance(p, np.ndarray)])
