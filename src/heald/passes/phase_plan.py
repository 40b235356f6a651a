"""What ``split_phases`` makes of a kernel before it writes it: phases, and what stands between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from heald.ir import Op, Region, Value


@dataclass(slots=True, eq=False)
class Mask:
    """Which threads run phases: those of ``outer`` whose ``condition`` is ``wanted``.

    ``phase`` is the one that finds them out; it runs for every thread.
    """

    outer: Mask | None
    condition: Value
    wanted: bool
    phase: Phase = field(init=False)

    def __post_init__(self) -> None:
        self.phase = Phase(None)
        self.phase.asked.append(self.condition)


@dataclass(slots=True, eq=False)
class Phase:
    """Ops that each thread runs without meeting another one.

    Attributes:
        mask: the threads that run it; None for all of the block.
        ops: what they run.  A shuffle or vote among them is the reading of what was exchanged.
        left: shuffles and votes whose operand each thread leaves at the end.
        moves: what each thread stores at the end, (the value whose array it is, the value).
        asked: values that are needed besides.
    """

    mask: Mask | None
    ops: list[Op] = field(default_factory=list)
    left: list[Op] = field(default_factory=list)
    moves: list[tuple[Value, Value]] = field(default_factory=list)
    asked: list[Value] = field(default_factory=list)

    def uses(self) -> Iterator[Value]:
        """The values that the phase reads and does not define, some more than once."""
        defined: set[Value] = set()
        for op in self.ops:
            yield from (v for v in _read(op) if v not in defined)
            defined.update(op.results)
        rest = [op.operands[0] for op in self.left] + [v for _, v in self.moves] + self.asked
        yield from (v for v in rest if v not in defined)


def _read(op: Op) -> list[Value]:
    """What an op reads; of a shuffle or vote only what says where from."""
    if op.name in ("shuffle", "vote"):
        return list(op.operands[1:])
    return [*op.operands, *free_values(op.regions)]


def free_values(regions: Sequence[Region]) -> Iterator[Value]:
    """What regions read of what stands around them."""
    for region in regions:
        defined = set(region.args)
        for op in region.ops:
            yield from (v for v in op.operands if v not in defined)
            yield from (v for v in free_values(op.regions) if v not in defined)
            defined.update(op.results)


@dataclass(slots=True, eq=False)
class Meeting:
    """Between two phases: a vote is counted."""

    op: Op
    mask: Mask | None


@dataclass(slots=True, eq=False)
class Ending:
    """What a region yields, and the values that this becomes."""

    targets: Sequence[Value]
    values: tuple[Value, ...] = ()


@dataclass(slots=True, eq=False)
class Branch:
    """An ``if`` in which threads meet; with ``masks`` it parts them."""

    op: Op
    masks: list[Mask]
    arms: list[list[Item]]
    endings: list[Ending]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop in which threads meet; with ``active`` they leave it one by one."""

    op: Op
    active: Mask | None
    test: list[Item]
    body: list[Item]
    ending: Ending


Item = Phase | Meeting | Branch | Loop | Op
"""A phase, something between two of them, or an op that the block runs once."""
