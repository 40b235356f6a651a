"""Faults as a device or the interpreter reports them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class FaultKind(IntEnum):
    """What went wrong; the numbers are part of the launch ABI.

    A GPU has 3 bits for them: from 8 on they are what only the interpreter finds (``RACE``), or
    only a CPU (``MEMORY``).
    """

    BOUNDS = 1
    DIVISION = 2
    STEP = 3
    ASSERT = 4
    HANDLE = 5
    UNINITIALISED = 6
    DIVERGENCE = 7
    RACE = 8
    MEMORY = 9


@dataclass(frozen=True, slots=True)
class Fault:
    """The first fault of the lowest faulting thread, and how many threads faulted.

    Attributes:
        kind: what went wrong.
        op: id of the op, a key of ``Artifact.sites``; ``abi.NO_OP`` where it is none.
        thread: linear thread index, row-major over the launch dims.
        index: the offending index on every axis (``BOUNDS``), or the bytes wanted (``MEMORY``).
        shape: the extents it was checked against (``BOUNDS``).
        count: number of threads that faulted.
    """

    kind: FaultKind
    op: int
    thread: int
    index: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    count: int = 1
