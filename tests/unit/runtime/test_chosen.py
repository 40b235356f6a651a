"""The streams that threads use: what one chooses is nothing to the others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from fake_cuda import use_fake_gpu

import heald as wp
from heald.runtime.cuda import streams

GPU = "cuda:0"


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
