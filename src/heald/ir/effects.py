"""What an op may do besides computing its results."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto

from heald.ir.core import Op, Region
from heald.ir.structure import STRUCTURAL, ValueOps


class Effect(Flag):
    """A set of effects.

    ``FAULT``: may record a fault, so it is never executed where the source would not execute it;
    when nobody reads its result it may be deleted, and its fault with it.  ``EXIT``: leaves the
    enclosing region.  ``LOOP``: may run forever.
    """

    PURE = 0
    READ = auto()
    WRITE = auto()
    FAULT = auto()
    SYNC = auto()
    PRINT = auto()
    EXIT = auto()
    LOOP = auto()


_STRUCTURAL: Mapping[str, Effect] = {
    "load": Effect.READ | Effect.FAULT,
    "store": Effect.WRITE | Effect.FAULT,
    "subview": Effect.FAULT,
    "alloc": Effect.WRITE,
    "block_sync": Effect.SYNC,
    "for": Effect.FAULT,
    "while": Effect.LOOP,
    "break": Effect.EXIT,
    "continue": Effect.EXIT,
    "return": Effect.EXIT,
    "unreachable": Effect.EXIT,
}
_ATOMIC = Effect.READ | Effect.WRITE | Effect.FAULT


def effects_of(op: Op, table: ValueOps) -> Effect:
    """The effects of an op and of everything inside its regions."""
    if op.name in STRUCTURAL:
        own = _ATOMIC if op.name.startswith("atomic_") else _STRUCTURAL.get(op.name, Effect.PURE)
    else:
        own = table[op.name].effects
    for region in op.regions:
        own |= region_effects(region, table) & ~_caught(op.name)
    return own


def region_effects(region: Region, table: ValueOps) -> Effect:
    """The union of the effects of a region's ops."""
    total = Effect.PURE
    for op in region.ops:
        total |= effects_of(op, table)
    return total


def _caught(name: str) -> Effect:
    """A scope ends the exits of its body; a loop does not, as a return passes through it."""
    return Effect.EXIT if name == "scope" else Effect.PURE
