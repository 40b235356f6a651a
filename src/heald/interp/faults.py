"""What a run leaves behind besides memory: its faults and what it printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from heald.artifact import Fault, FaultKind, PrintRecord
from heald.interp.memory import Lanes


class Stopped(Exception):
    """The run ends at its first fault."""


@dataclass(slots=True)
class Journal:
    """Faults and print records of a run, while it runs.

    Attributes:
        unchecked: ``guard=False`` on array accesses means "not checked", not "proved".
        stop_on_fault: raise :class:`Stopped` at the first fault.
        fault: the first fault of the lowest thread so far.
        count: threads that faulted.
        printed: in the order of execution.
    """

    unchecked: bool
    stop_on_fault: bool
    fault: Fault | None = None
    count: int = 0
    printed: list[PrintRecord] = field(default_factory=list)

    def record(
        self,
        op_id: int,
        kind: FaultKind,
        threads: Lanes,
        index: Sequence[Lanes] = (),
        shape: Sequence[Lanes] = (),
    ) -> None:
        """Threads fault for the first time, ascending; ``index`` and ``shape`` are of the first.

        Raises:
            Stopped: the run is to end here.
        """
        self.count += len(threads)
        if self.fault is None or threads[0] < self.fault.thread:
            at, extents = (tuple(int(np.ravel(x)[0]) for x in xs) for xs in (index, shape))
            self.fault = Fault(kind, op_id, int(threads[0]), at, extents)
        if self.stop_on_fault:
            raise Stopped
