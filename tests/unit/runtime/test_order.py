"""Who waits for whom: what functions for streams and events ask of the driver."""

from __future__ import annotations

from typing import Any

import pytest
from fake_cuda import Fake, fake_gpu

import heald as wp
from heald.once import once
from heald.runtime.cuda import devices, streams

GPU = "cuda:0"
_NO_TIMING, _INTERPROCESS = 2, 4
PLACES = {
    "cuEventCreate": 1,
    "cuEventSynchronize": 0,
    "cuStreamSynchronize": 0,
    "cuStreamBeginCapture_v2": 0,
    "cuStreamEndCapture": 0,
    "cuGraphLaunch": 1,
}


class Noted(Fake):
    """Notes who was given what: a number, or for events a pair of event and stream."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []

    def __call__(self, name: str, *arguments: Any) -> None:
        if name == "cuEventRecord":
            self.calls.append(("record", (arguments[0].value, arguments[1].value)))
        elif name == "cuStreamWaitEvent":
            self.calls.append(("wait", (arguments[1].value, arguments[0].value)))
        elif name == "cuCtxSynchronize":
            self.calls.append((name, None))
        elif name in PLACES:
            self.calls.append((name, arguments[PLACES[name]].value))
        super().__call__(name, *arguments)

    def since(self) -> list[tuple[str, Any]]:
        """The calls, which are forgotten."""
        calls, self.calls = self.calls, []
        return calls

    def pairs(self) -> list[tuple[int, int]]:
        """Of streams: who waits, and for whom."""
        calls = [call for call in self.since() if call[0] != "cuEventCreate"]
        found = []
        assert [name for name, _ in calls] == ["record", "wait"] * (len(calls) // 2)
        for (_, (event, other)), (_, (awaited, waiting)) in zip(
            calls[::2], calls[1::2], strict=True
        ):
            assert event == awaited
            found.append((waiting, other))
        return found


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Noted:
    monkeypatch.setattr("fake_cuda.Fake", Noted)
    made, gpu = fake_gpu()
    assert isinstance(made, Noted)
    monkeypatch.setattr(devices, "discover", once(lambda: devices.Discovery((gpu,))))
    devices.discover()
    monkeypatch.setattr(streams, "CHOSEN", streams.Chosen())
    return made


@pytest.fixture
def two(driver: Noted) -> tuple[wp.Stream, wp.Stream]:
    """The default stream, and another one."""
    made = wp.get_stream(GPU), wp.Stream(GPU)
    driver.since()
    return made


@pytest.mark.parametrize("current", [GPU, "cpu"])
def test_the_current_stream_waits_for_another(
    driver: Noted, two: tuple[wp.Stream, wp.Stream], current: str
) -> None:
    main, side = two
    with wp.ScopedDevice(current):
        wp.wait_stream(side)
        assert driver.pairs() == [(main.cuda_stream, side.cuda_stream)]
        event = wp.Event(GPU)
        driver.since()
        wp.wait_stream(side, event)
        assert driver.since() == [
            ("record", (event.cuda_event, side.cuda_stream)),
            ("wait", (event.cuda_event, main.cuda_stream)),
        ]


@pytest.mark.parametrize("current", [GPU, "cpu"])
def test_the_current_stream_waits_for_an_event(
    driver: Noted, two: tuple[wp.Stream, wp.Stream], current: str
) -> None:
    main, side = two
    event = wp.Event(GPU)
    driver.since()
    with wp.ScopedDevice(current):
        assert wp.record_event(event) is event
        wp.wait_event(event)
        with wp.ScopedStream(side, sync_enter=False):
            wp.wait_event(event)
    assert driver.since() == [
        ("record", (event.cuda_event, main.cuda_stream)),
        ("wait", (event.cuda_event, main.cuda_stream)),
        ("wait", (event.cuda_event, side.cuda_stream)),
    ]


@pytest.mark.parametrize("sync_exit", [None, False, True])
@pytest.mark.parametrize("sync_enter", [None, False, True])
def test_scopes_of_streams_wait_as_they_say(
    driver: Noted,
    two: tuple[wp.Stream, wp.Stream],
    sync_enter: bool | None,
    sync_exit: bool | None,
) -> None:
    """At the start unless told not to, at the end only if told to."""
    main, side = two
    given = {"sync_enter": sync_enter, "sync_exit": sync_exit}
    with wp.ScopedStream(side, **{k: v for k, v in given.items() if v is not None}):
        entered = [] if sync_enter is False else [(side.cuda_stream, main.cuda_stream)]
        assert driver.pairs() == entered
        assert wp.get_stream(GPU) is side
    assert driver.pairs() == ([(main.cuda_stream, side.cuda_stream)] if sync_exit else [])
    assert wp.get_stream(GPU) is main


def test_a_stream_that_is_set_waits_if_told_to(
    driver: Noted, two: tuple[wp.Stream, wp.Stream]
) -> None:
    main, side = two
    wp.set_stream(side)
    assert driver.pairs() == []
    wp.set_stream(main, GPU, sync=True)
    assert driver.pairs() == [(main.cuda_stream, side.cuda_stream)]
    wp.set_stream(side, sync=True)
    assert driver.pairs() == [(side.cuda_stream, main.cuda_stream)]
    wp.set_stream(side, sync=True)
    assert driver.pairs() == [], "it need not wait for itself"
    wp.set_stream(None, GPU, sync=True)
    assert driver.pairs() == [(main.cuda_stream, side.cuda_stream)]
    assert wp.get_stream(GPU) is main


def test_the_host_waits_for_what_it_names(driver: Noted, two: tuple[wp.Stream, wp.Stream]) -> None:
    main, side = two
    event = side.record_event()
    driver.since()
    for wait, calls in (
        (lambda: wp.synchronize_device(GPU), [("cuCtxSynchronize", None)]),
        (lambda: wp.synchronize(GPU), [("cuCtxSynchronize", None)]),
        (wp.synchronize, [("cuCtxSynchronize", None)]),
        (lambda: wp.synchronize_device("cpu"), []),
        (lambda: wp.synchronize_stream(side), [("cuStreamSynchronize", side.cuda_stream)]),
        (lambda: wp.synchronize_stream(GPU), [("cuStreamSynchronize", main.cuda_stream)]),
        (lambda: wp.synchronize(side), [("cuStreamSynchronize", side.cuda_stream)]),
        (lambda: wp.synchronize_event(event), [("cuEventSynchronize", event.cuda_event)]),
    ):
        wait()
        assert driver.since() == calls
    with wp.ScopedDevice(GPU):
        wp.synchronize_device()
        assert driver.since() == [("cuCtxSynchronize", None)]


@pytest.mark.parametrize("way", ["functions", "scope"])
def test_the_stream_that_is_named_is_captured(
    driver: Noted, two: tuple[wp.Stream, wp.Stream], way: str
) -> None:
    main, side = two
    if way == "functions":
        wp.capture_begin(stream=side)
        assert (main.capture, side.capture is None) == (None, False)
        graph = wp.capture_end(stream=side)
    else:
        with wp.ScopedCapture(stream=side) as capture:
            assert (main.capture, side.capture is None) == (None, False)
        graph = capture.graph
    assert side.capture is None
    calls = [(name, who) for name, who in driver.since() if "Capture" in name]
    ends = ("cuStreamBeginCapture_v2", "cuStreamEndCapture")
    assert calls == [(name, side.cuda_stream) for name in ends]
    for stream in (None, main, side):
        wp.capture_launch(graph, stream)
        assert ("cuGraphLaunch", (stream or main).cuda_stream) in driver.since()


def test_events_are_made_as_they_are_asked_for(driver: Noted) -> None:
    for flags, given in (
        (_NO_TIMING, {}),
        (0, {"enable_timing": True}),
        (_NO_TIMING | _INTERPROCESS, {"interprocess": True}),
    ):
        event = wp.Event(GPU, **given)
        assert driver.since() == [("cuEventCreate", flags)]
        assert event.has_timing is ("enable_timing" in given)
    with pytest.raises(wp.HealdError) as caught:
        wp.Event(GPU, enable_timing=True, interprocess=True)
    assert caught.value.codes == ("H0805",)
    assert driver.since() == []


@pytest.mark.parametrize("synchronize", [None, True, False])
def test_the_time_between_events_waits_as_it_is_told(
    driver: Noted, synchronize: bool | None
) -> None:
    start, end = (wp.record_event(wp.Event(GPU, enable_timing=True)) for _ in range(2))
    driver.since()
    given = {} if synchronize is None else {"synchronize": synchronize}
    assert wp.get_event_elapsed_time(start, end, **given) == 0.0
    waits = [] if synchronize is False else [("cuEventSynchronize", end.cuda_event)]
    assert driver.since() == waits


@pytest.mark.parametrize(("given", "taken"), [(-7, -1), (-1, -1), (0, 0), (5, 0)])
def test_priorities_are_high_or_normal(
    driver: Noted, monkeypatch: pytest.MonkeyPatch, given: int, taken: int
) -> None:
    """Whatever other ones the driver has, which it also gives to streams of others."""

    def create(place: Any, flags: Any, priority: Any) -> None:
        driver.calls.append(("priority", priority.value))
        driver._new(place)

    def tell(stream: Any, place: Any) -> None:
        place._obj.value = given

    wp.get_stream(GPU)
    monkeypatch.setattr(driver, "cuStreamCreateWithPriority", create)
    monkeypatch.setattr(driver, "cuStreamGetPriority", tell, raising=False)
    driver.since()
    stream = wp.Stream(GPU, priority=given)
    assert ("priority", taken) in driver.since()
    assert stream.priority == taken


def test_a_scope_of_a_stream_is_one_of_its_device(two: tuple[wp.Stream, wp.Stream]) -> None:
    _, side = two
    with wp.ScopedDevice("sim"):
        with wp.ScopedStream(side):
            assert wp.get_device() == GPU
            assert wp.get_stream() is side
            with wp.ScopedStream(None):
                assert wp.get_device() == GPU
        assert wp.get_device() == "sim"
