"""The streams that threads use: what one chooses is nothing to the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cuda import use_fake_gpu

import heald as wp
from heald.api.command import Launch
from heald.config import config
from heald.runtime import get_device
from heald.runtime.cuda import streams

GPU = "cuda:0"


@wp.kernel
def nothing():
    pass


@pytest.fixture
def default(monkeypatch: pytest.MonkeyPatch) -> wp.Stream:
    use_fake_gpu(monkeypatch)
    return wp.get_stream(GPU)


def test_the_default_stream_is_that_of_every_thread(default: wp.Stream) -> None:
    assert streams.CHOSEN.sole == {GPU: default}
    with ThreadPoolExecutor(1) as other:
        assert other.submit(wp.get_stream, GPU).result() is default
        wp.set_stream(default)
        wp.set_stream(None, GPU)
        other.submit(wp.set_stream, default).result()
    assert streams.CHOSEN.sole == {GPU: default}, "nobody has chosen another one"


@pytest.mark.parametrize("has_asked", [True, False])
def test_a_choice_holds_in_its_thread(default: wp.Stream, has_asked: bool) -> None:
    chosen = wp.Stream(GPU)
    with ThreadPoolExecutor(1) as other:
        if has_asked:
            assert other.submit(wp.get_stream, GPU).result() is default
        wp.set_stream(chosen)
        assert not streams.CHOSEN.sole
        assert other.submit(wp.get_stream, GPU).result() is default
        assert wp.get_stream(GPU) is chosen
        other.submit(wp.set_stream, chosen).result()
        wp.set_stream(None, GPU)
        assert wp.get_stream(GPU) is default
        assert other.submit(wp.get_stream, GPU).result() is chosen
    assert not streams.CHOSEN.sole


def test_a_thread_may_choose_before_any_has_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_gpu(monkeypatch)
    chosen = wp.Stream(GPU)
    with wp.ScopedStream(chosen):
        with ThreadPoolExecutor(1) as other:
            default = other.submit(wp.get_stream, GPU).result()
        assert default is not chosen
        assert wp.get_stream(GPU) is chosen
    assert wp.get_stream(GPU) is default


def test_a_choice_between_asking_and_telling(
    default: wp.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread chooses while this one makes the default stream."""
    chosen = wp.Stream(GPU)
    monkeypatch.setattr(streams, "CHOSEN", streams.Chosen())

    def meanwhile(_device: object) -> wp.Stream:
        with ThreadPoolExecutor(1) as other:
            other.submit(streams.CHOSEN.choose, chosen).result()
        return default

    monkeypatch.setattr(streams, "default_stream", meanwhile)
    assert wp.get_stream(GPU) is default
    assert not streams.CHOSEN.sole


class Handled(dict[str, wp.Stream]):
    """A dictionary whose changes are interrupted by the handler of a signal."""

    def __init__(self, handler: Callable[[], object]) -> None:
        super().__init__()
        self.handler: Callable[[], object] | None = handler

    def interrupt(self) -> None:
        handler, self.handler = self.handler, None
        if handler is not None:
            handler()

    def __setitem__(self, key: str, value: wp.Stream) -> None:
        self.interrupt()
        super().__setitem__(key, value)

    def pop(self, key: str, *default: Any) -> Any:
        self.interrupt()
        try:
            return super().pop(key, *default)
        finally:
            self.interrupt()


@pytest.mark.parametrize("chooses", [False, True])
@pytest.mark.parametrize("was_known", [False, True])
def test_a_signal_while_a_stream_is_chosen(
    default: wp.Stream, was_known: bool, chooses: bool
) -> None:
    """Its handler launches something, or chooses a stream itself."""
    chosen, other = wp.Stream(GPU), wp.Stream(GPU)

    def handler() -> None:
        if chooses:
            wp.set_stream(other)
        seen.append(wp.get_stream(GPU))

    seen: list[wp.Stream] = []
    handled = Handled(handler)
    if was_known:
        dict.__setitem__(handled, GPU, default)
    streams.CHOSEN.sole = handled
    streams.CHOSEN.choose(chosen)
    assert seen == [other if chooses else default]
    assert wp.get_stream(GPU) is chosen
    with wp.ScopedStream(other):
        assert wp.get_stream(GPU) is other
    assert wp.get_stream(GPU) is chosen
    assert not streams.CHOSEN.sole


@pytest.mark.parametrize("chooses", [False, True])
def test_a_signal_while_the_default_stream_is_found(default: wp.Stream, chooses: bool) -> None:
    other = wp.Stream(GPU)
    handler = partial(wp.set_stream, other) if chooses else partial(wp.get_stream, GPU)
    streams.CHOSEN.sole = handled = Handled(handler)
    assert streams.CHOSEN.add_default(default) is (other if chooses else default)
    assert handled.handler is None
    assert wp.get_stream(GPU) is (other if chooses else default)
    with wp.ScopedStream(other):
        assert wp.get_stream(GPU) is other


@pytest.mark.parametrize("has_chosen", [False, True])
def test_launches_take_the_stream_of_their_device(
    default: wp.Stream, monkeypatch: pytest.MonkeyPatch, has_chosen: bool
) -> None:
    """By the quick path, which finds it in place."""
    one, two = SimpleNamespace(address=11), SimpleNamespace(address=22)
    places: dict[str, Any] = {"cuda:1": two, GPU: one}
    if has_chosen:
        streams.CHOSEN.sole.clear()
        streams.CHOSEN.of_thread.streams.update(places)
    else:
        streams.CHOSEN.sole = places
    found: list[int] = []

    def call(*how: Any) -> None:
        found.append(how[-1])

    device = get_device(GPU)
    entry = SimpleNamespace(device=device, alias=GPU, is_queued=True, tables=(), call=call)
    monkeypatch.setattr(nothing, "entries", (config.revision, (entry,)))
    wp.launch(nothing, dim=1, device=GPU)
    state = SimpleNamespace(revision=config.revision, on_host=None, call=call)
    recorded = Launch.__new__(Launch)
    for name, value in (("device", device), ("_alias", GPU), ("_is_queued", True)):
        setattr(recorded, name, value)
    recorded._stream, recorded._state = None, state  # type: ignore[assignment]
    recorded.launch()
    assert found == [11, 11]
