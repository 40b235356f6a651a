"""Blocks: where their threads meet, what they share, and what goes wrong there.

The lanes of a grid run in step, so a barrier orders nothing here; it is where the checks are.
Every thread of a block comes to it, or none does.  Between two barriers no thread uses what another
one has written to shared memory, nor writes what another one uses; that all write the same bits is
no race, and neither is that all use atomics.

A loop in which threads meet is left by all of them: a thread that has faulted runs a ``for`` to its
end, and a ``while`` ends for the whole block (or, where only warps meet in it, the warp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heald.artifact import FaultKind
from heald.interp.access import pick_array
from heald.interp.lanes import Group, only
from heald.interp.memory import ArrayValue, Lanes, Memory, c_strides
from heald.interp.shared import SharedMemory
from heald.interp.values import Datum, Mask, pick, spread
from heald.ir import Op
from heald.ops.threads import LANE_WIDTH
from heald.passes.phase_plan import free_values
from heald.types import Array, size_of

_ALIGNMENT = 16


def blocks_of(group: Group) -> Lanes:
    """For each lane the number of its block, counted from the first lane's."""
    return np.asarray((group.threads - group.threads[0]) // group.launch.block_dim)


def warps_of(group: Group) -> Lanes:
    """For each lane a number that the lanes of its warp share."""
    size = group.launch.block_dim
    each = -(-size // LANE_WIDTH)
    return np.asarray(blocks_of(group) * each + group.threads % size // LANE_WIDTH)


def any_of(team: Lanes, flags: Mask) -> Mask:
    """For each lane: does a lane of its team have its flag set?"""
    found = np.zeros(int(team[-1]) + 1, bool)
    found[team[flags]] = True
    return np.asarray(found[team])


# -- meetings --------------------------------------------------------------------------------------


def block_sync(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """All threads of each block are here, and have seen what the others did to shared memory."""
    _check_whole(group, op, mask)
    for watcher in group.watched:
        watcher.begin_interval(np.unique(blocks_of(group)[mask]))
    return ()


def _check_whole(group: Group, op: Op, mask: Mask) -> None:
    """Record a fault for blocks of which some lanes are here and others are not."""
    blocks = blocks_of(group)
    parted = mask & any_of(blocks, any_of(blocks, mask) & ~mask)
    if parted.any():
        group.fault(op, FaultKind.DIVERGENCE, np.flatnonzero(parted))


def vote(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """What the lanes of a team that are here say."""
    said = spread(only(args[0]), len(group)) & mask
    mode = op.attrs["mode"]
    if op.attrs.get("scope") == "block":
        block_sync(group, op, args, mask)
        team = blocks_of(group)
    else:
        team = warps_of(group)
    if mode == "ballot":
        lanes = group.threads % group.launch.block_dim % LANE_WIDTH
        bits = np.zeros(int(team[-1]) + 1, np.uint32)
        np.bitwise_or.at(
            bits, team[said], np.left_shift(np.uint32(1), lanes[said].astype(np.uint32))
        )
        return (bits[team],)
    return (any_of(team, said) if mode == "any" else ~any_of(team, mask & ~said),)


_SOURCES: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "index": lambda lane, by: by,
    "up": lambda lane, by: lane - by,
    "down": lambda lane, by: lane + by,
    "xor": lambda lane, by: lane ^ by,
}


def shuffle(group: Group, op: Op, args: Sequence[Datum], mask: Mask) -> tuple[Datum, ...]:
    """The operand of another lane of the warp, else the own one."""
    count, size = len(group), group.launch.block_dim
    value = spread(only(args[0]), count)
    within = group.threads % size
    lane = within % LANE_WIDTH
    source = _SOURCES[str(op.attrs["mode"])](lane, only(args[1]).astype(np.int64))
    place = np.arange(count) - lane + source
    there = (source >= 0) & (source < LANE_WIDTH) & (within - lane + source < size)
    there &= place < count
    place = np.where(there, place, 0)
    there &= mask[place]
    return (np.where(there, value[place], value),)


def leaves_loop(group: Group, op: Op, active: Mask) -> Mask:
    """Of the lanes in a loop those that leave it at its back edge because of a fault."""
    meeting = group.launch.meetings.get(op)
    if meeting is None:
        return active & group.faulted
    if op.name == "for":
        return np.zeros(len(group), bool)
    team = blocks_of(group) if meeting == "block" else warps_of(group)
    return active & any_of(team, active & group.faulted)


# -- shared memory ---------------------------------------------------------------------------------


class Crowd:
    """The threads of blocks, where lanes are blocks, while they run ``threads``.

    Attributes:
        group: the threads of the blocks of a mask.
    """

    __slots__ = ("_blocks", "_owner", "group")

    def __init__(self, blocks: Group, op: Op, mask: Mask) -> None:
        launch = blocks.launch
        first = blocks.threads[mask]
        stop = np.minimum(first + launch.block_dim, launch.threads)
        threads = np.concatenate([np.arange(a, b) for a, b in zip(first, stop, strict=True)])
        self._blocks = blocks
        self._owner = np.repeat(np.flatnonzero(mask), stop - first)
        self.group = group = Group(launch, blocks.journal, threads)
        values = list(dict.fromkeys(free_values(op.regions)))
        group.bind(values, [spread_to(self._owner, d) for d in blocks.read(values)])
        for lane, thread in enumerate(threads.tolist()):
            if thread in blocks.history:
                group.faulted[lane], group.sequence[lane] = blocks.history[thread]

    def end(self) -> None:
        """Back to the blocks, of which those have faulted that have a thread which has."""
        group = self.group
        for lane in np.flatnonzero(group.faulted | (group.sequence > 0)):
            known = bool(group.faulted[lane]), int(group.sequence[lane])
            self._blocks.history[int(group.threads[lane])] = known
        self._blocks.faulted[self._owner[group.faulted]] = True


def spread_to(owner: Lanes, datum: Datum) -> Datum:
    """What a block has, for each of its threads."""
    if isinstance(datum, tuple):
        parts = [spread_to(owner, p) for p in datum]
        return tuple(p for p in parts if not isinstance(p, tuple))
    return pick_array(datum, owner) if isinstance(datum, ArrayValue) else pick(datum, owner)


def allocate(group: Group, t: Array) -> ArrayValue:
    """A shared array for each block, of which nothing is initialised.

    It is watched, unless the kernel is a program of whole blocks, which knows what it does.
    """
    size = -(-max(1, size_of(t)) // _ALIGNMENT) * _ALIGNMENT
    blocks = blocks_of(group)
    count = int(blocks[-1]) + 1
    if group.launch.kernel.attrs.get("blocks") is True:
        memory = Memory(np.zeros(size * count, np.uint8))
    else:
        shared = SharedMemory(size, count)
        group.watched.append(shared)
        memory = shared.memory
    shape = t.shape or ()
    return ArrayValue(
        (memory,),
        np.zeros(1, np.int64),
        blocks * size,
        tuple(np.array([n], np.int64) for n in shape),
        tuple(np.array([s], np.int64) for s in c_strides(t.dtype, shape)),
        t.dtype,
    )
