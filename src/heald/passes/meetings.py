"""Where the threads of a block or of a warp meet."""

from __future__ import annotations

from heald.ir import LOOPS, Kernel, Op, Region, walk
from heald.ops.threads import SYNCHRONISING, synchronises_block
from heald.types import Array


def meeting_of(*regions: Region) -> str:
    """Which threads meet inside regions: ``block``, ``warp``, or an empty string for none."""
    ops = [op for region in regions for op in walk(region) if op.name in SYNCHRONISING]
    if any(synchronises_block(op) for op in ops):
        return "block"
    return "warp" if ops else ""


def meetings_of(kernel: Kernel) -> dict[Op, str]:
    """The loops in which threads meet, each with what :func:`meeting_of` says of it.

    A thread that has faulted does not leave such a loop by itself: the others wait for it.
    """
    loops = [op for op in walk(kernel.body) if op.name in LOOPS]
    found = {op: meeting_of(*op.regions) for op in loops}
    return {op: meeting for op, meeting in found.items() if meeting}


def shares_block(kernel: Kernel) -> bool:
    """Do threads of a block meet or share memory, so that they have to run together?"""
    return any(op.name in SYNCHRONISING or is_shared_alloc(op) for op in walk(kernel.body))


def is_shared_alloc(op: Op) -> bool:
    """Does ``op`` allocate an array of the block?"""
    if op.name != "alloc":
        return False
    t = op.results[0].type
    return isinstance(t, Array) and t.space == "shared"
