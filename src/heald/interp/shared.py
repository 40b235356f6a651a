"""Memory that the threads of a block share, watched for races."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from heald.interp.memory import Lanes, Memory
from heald.interp.values import Mask
from heald.ir import Op

_NOBODY, _SEVERAL = -1, -2


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf of the elements that an op accesses."""

    op: Op
    leaf: int


class Watcher(Protocol):
    """Is told who accesses a memory, a row of ``places`` for each thread, and says who races."""

    memory: Memory

    def begin_interval(self, blocks: Lanes) -> None:
        """Blocks have come to a barrier."""

    def read(self, part: Part, threads: Lanes, places: Lanes) -> Mask:
        """Threads read bytes."""

    def update(self, part: Part, threads: Lanes, places: Lanes) -> Mask:
        """Threads change bytes by atomics."""

    def write(self, part: Part, threads: Lanes, places: Lanes, before: Lanes, new: Lanes) -> Mask:
        """Threads have written bytes, which were ``before`` and which they wanted to be ``new``."""


class SharedMemory:
    """The shared array of every block, and who has used which of its bytes since its last barrier.

    Attributes:
        memory: the bytes of all blocks, one block after the other.
        size: bytes of one block.
    """

    __slots__ = ("_reader", "_updater", "_writer", "memory", "size")

    def __init__(self, size: int, blocks: int) -> None:
        self.size = size
        total = size * blocks
        self.memory = Memory(np.zeros(total, np.uint8), np.zeros(total, bool))
        self._writer, self._reader, self._updater = (
            np.full(total, _NOBODY, np.int64) for _ in range(3)
        )

    def begin_interval(self, blocks: Lanes) -> None:
        """Blocks have come to a barrier."""
        for who in (self._writer, self._reader, self._updater):
            who.reshape(-1, self.size)[blocks] = _NOBODY

    def read(self, part: Part, threads: Lanes, places: Lanes) -> Mask:
        """Threads read bytes, a row of ``places`` each; which of them race?"""
        racing = _others(self._writer, threads, places) | _others(self._updater, threads, places)
        _note(self._reader, threads, places)
        return racing

    def update(self, part: Part, threads: Lanes, places: Lanes) -> Mask:
        """Threads change bytes by atomics; which of them race?"""
        racing = _others(self._writer, threads, places) | _others(self._reader, threads, places)
        _note(self._updater, threads, places)
        return racing

    def write(self, part: Part, threads: Lanes, places: Lanes, before: Lanes, new: Lanes) -> Mask:
        """Threads have written bytes, which were ``before`` and which they wanted to be ``new``;
        which of them race?"""
        racing = _others(self._reader, threads, places) | _others(self._updater, threads, places)
        overwritten = _others(self._writer, threads, places) & (before != new).any(axis=1)
        _note(self._writer, threads, places)
        lost = (self.memory.buffer[places] != new).any(axis=1)
        return np.asarray(racing | overwritten | lost)


def _others(who: Lanes, threads: Lanes, places: Lanes) -> Mask:
    found = who[places]
    return np.asarray(((found != _NOBODY) & (found != threads[:, None])).any(axis=1))


def _note(who: Lanes, threads: Lanes, places: Lanes) -> None:
    known = who[places]
    mixed = (known != _NOBODY) & (known != threads[:, None])
    who[places] = threads[:, None]
    mixed |= who[places] != threads[:, None]  # somebody else at the same time
    who[places[mixed]] = _SEVERAL
