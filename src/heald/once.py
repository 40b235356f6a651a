"""What there is one of in a process, for each key, whoever asks for it first."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, TypeVar, TypeVarTuple

from heald.forks import ForkSafeLock

T = TypeVar("T")
Key = TypeVarTuple("Key")


class once(Generic[*Key, T]):  # noqa: N801 - a decorator, like ``functools.cache``
    """As :func:`functools.cache`, which of two first calls at once makes two results.

    For results that are compared by identity or own something.  Where the function raises, the next
    call tries again.
    """

    __wrapped__: Callable[[*Key], T]

    def __init__(self, make: Callable[[*Key], T]) -> None:
        self._made: dict[tuple[Any, ...], T] = {}
        self._lock = ForkSafeLock(reentrant=True)
        update_wrapper(self, make)

    def __call__(self, *key: *Key) -> T:
        """The one result for this key."""
        try:
            return self._made[key]
        except KeyError:
            pass
        with self._lock:
            if key not in self._made:
                made = self.__wrapped__(*key)
                self._made.setdefault(key, made)  # a handler of a signal may have made it meanwhile
        return self._made[key]

    @property
    def is_made(self) -> bool:
        """Has anybody got a result?"""
        return bool(self._made)
