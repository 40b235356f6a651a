"""What there is one of, when two threads ask for it first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import pytest

from heald.once import once

pytestmark = pytest.mark.cpu


def test_threads_that_ask_at_once_get_the_same() -> None:
    gate = Barrier(4)

    @once
    def make(name: str) -> list[str]:
        sleep(0.02)
        return [name]

    def ask(name: str) -> list[str]:
        gate.wait()
        return make(name)

    with ThreadPoolExecutor(4) as pool:
        first, second, third, other = pool.map(ask, ("a", "a", "a", "b"))
    assert first is second is third
    assert other == ["b"]


def test_what_fails_is_tried_again() -> None:
    answers = iter([ValueError("not now"), 3])

    @once
    def make() -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    with pytest.raises(ValueError, match="not now"):
        make()
    assert not make.is_made
    assert (make(), make(), make.is_made) == (3, 3, True)


def test_it_is_called_as_the_function() -> None:
    @once
    def make() -> None:
        """Text."""

    assert (make.__name__, make.__doc__) == ("make", "Text.")


def test_a_handler_of_a_signal_may_ask_meanwhile() -> None:
    """Whatever a thread is inside of; the first result stays."""
    asked: list[str] = []

    @once
    def make(name: str) -> list[str]:
        asked.append(name)
        if asked == ["a"]:  # as a handler would
            inner.extend((make("b"), make("a")))
        return [name]

    inner: list[list[str]] = []
    assert make("a") is inner[1] is make("a")
    assert make("b") is inner[0]
