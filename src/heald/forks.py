"""What a fork leaves behind: a child has one thread, and its parent's locks as they were."""

from __future__ import annotations

import os
from threading import Lock, RLock
from types import TracebackType
from weakref import WeakSet


class ForkSafeLock:
    """A lock that is open in a forked child, whoever held it in the parent.

    For data that a holder changes in one last step: where the fork came before it, the child makes
    them anew.  The thread that forks must not hold one itself.

    Args:
        reentrant: may a thread take it again, as the handler of a signal does that comes while the
            thread holds it?
    """

    __slots__ = ("__weakref__", "_lock", "_new")

    def __init__(self, *, reentrant: bool = False) -> None:
        self._new = RLock if reentrant else Lock
        self.open()
        _LOCKS.add(self)

    def acquire(self, *, blocking: bool = True) -> bool:
        """Take it; False where somebody else has it and ``blocking`` is false."""
        return self._lock.acquire(blocking)

    def release(self) -> None:
        """Give it back."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def open(self) -> None:
        """In a child: without the parent's holder."""
        self._lock = self._new()


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()


def _open_locks() -> None:
    for lock in _LOCKS:
        lock.open()


os.register_at_fork(after_in_child=_open_locks)
