"""The artifact record and its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from math import prod

from heald.artifact import abi
from heald.artifact.condition import LaunchCondition
from heald.diagnostics import Span
from heald.types import Type


class Access(Flag):
    """How a kernel uses the memory of a parameter."""

    NONE = 0
    READ = auto()
    WRITE = auto()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A launch parameter: its place in the packed block and how its arrays are used."""

    name: str
    type: Type
    offset: int
    access: Access


@dataclass(frozen=True, slots=True)
class Site:
    """An op that can fault or print: where it stands and what it works on."""

    op: str
    span: Span | None
    subject: str = ""


@dataclass(frozen=True, slots=True)
class PrintFormat:
    """A print statement: literal text pieces around converted values (see ``ops.printing``)."""

    text: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class PrintRecord:
    """One execution of a print statement by one thread.

    Attributes:
        thread: linear index of the thread.
        sequence: how many times it had printed before.
        op_id: id of the op, a key of ``Artifact.formats``.
        values: what it printed, as Python numbers.
    """

    thread: int
    sequence: int
    op_id: int
    values: tuple[bool | int | float, ...]


FEWEST_LANES = 4
"""With fewer of them a thread of a GPU is not given several."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """The threads of a launch that one thread of a GPU may run: how many, how far apart.

    Every ``spacing`` threads of the grid take ``width * spacing`` neighbouring threads of a row.
    """

    width: int
    spacing: int

    @staticmethod
    def fewest(least: int) -> int:
        """Threads that a launch has at least where a grid of :meth:`grid` has ``least``: there
        are ``FEWEST_LANES`` for each, and at ends of rows an eighth less."""
        return least * FEWEST_LANES * 7 // 8

    @property
    def stretch(self) -> int:
        """The threads of a row that go together."""
        return self.width * self.spacing

    def grid(self, dims: Sequence[int], rank: int) -> int:
        """Threads of a grid that runs a launch this way, or 0 where it does not.

        The kernel reads the first ``rank`` of ``dims``.  At ends of rows threads have nothing to
        do; where that is more than every eighth, each thread of the launch had better run alone.
        """
        total = prod(dims)
        if total > abi.MAX_NARROW or any(extent != 1 for extent in dims[rank:]):
            return 0
        last = dims[rank - 1]
        stretches = -(-last // self.stretch)
        if 8 * last < 7 * stretches * self.stretch:
            return 0
        return total // last * stretches * self.spacing


@dataclass(frozen=True, slots=True)
class Artifact:
    """Compiled code of one variant of a kernel.

    Attributes:
        target: ``cpu`` or ``cuda``.
        code: object bytes or PTX text.
        entry: symbol of ``void (const Header*, const void* args, i64 lo, i64 hi)`` (CPU).
        parameters: in order; ``block_size`` bytes in all.
        rank: launch dimensions that the kernel reads.
        condition: must hold for this variant to be right.
        sites: by op id.
        formats: print statements by op id.
        work: rough instructions a thread, for the serial threshold.
        lanes: how grids smaller than the launch run it, where they can.
        grain: how many threads a core should take at a time, or a multiple of that, where some may
            have much more to do than others; 0 where all do as much.
        blocks: threads of a block meet or share memory, so they have to run together.
        waits: GPU: every thread first waits for the grid before, so the grid may begin early.
        few: GPU: lanes were left out, as launches that do not fill a GPU have no use for them.
    """

    target: str
    code: bytes
    entry: str
    parameters: tuple[Parameter, ...]
    block_size: int
    rank: int
    condition: LaunchCondition = field(default_factory=LaunchCondition)
    sites: dict[int, Site] = field(default_factory=dict)
    formats: dict[int, PrintFormat] = field(default_factory=dict)
    work: int = 0
    lanes: Lanes | None = None
    grain: int = 0
    blocks: bool = False
    waits: bool = False
    few: bool = False
