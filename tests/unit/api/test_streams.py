"""Streams, graphs, pools and pinned memory without a GPU: clear errors, or nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_cuda import Fake, fake_gpu

import heald as wp
from heald.diagnostics import DeviceError, HealdError, LaunchError
from heald.runtime import get_device
from heald.runtime.cuda import devices, streams

HOSTS = ("cpu", "sim")
OF_GPUS: dict[str, Callable[[str], object]] = {
    "stream": wp.Stream,
    "event": wp.Event,
    "get_stream": wp.get_stream,
    "set_stream": lambda device: wp.set_stream(None, device),
    "property": lambda device: get_device(device).stream,
    "begin": wp.capture_begin,
    "end": wp.capture_end,
    "scope": wp.ScopedCapture,
    "threshold": lambda device: wp.set_mempool_release_threshold(device, 1 << 20),
    "used": wp.get_mempool_used_mem_current,
    "high": wp.get_mempool_used_mem_high,
    "kept": wp.get_mempool_release_threshold,
    "pool": lambda device: wp.set_mempool_enabled(device, True),
    "peers": lambda device: (
        wp.set_peer_access_enabled(device, "cuda:0", True)
        if wp.is_cuda_available()
        else wp.Stream(device)
    ),
}


@wp.kernel
def one(a: wp.array(dtype=float)):
    a[wp.tid()] = 1.0


@pytest.mark.parametrize("device", HOSTS)
@pytest.mark.parametrize("what", OF_GPUS)
def test_what_only_gpus_have(what: str, device: str) -> None:
    with pytest.raises(DeviceError) as caught:
        OF_GPUS[what](device)
    assert caught.value.codes == ("H0805",)
    assert f"'{device}'" in str(caught.value)


@pytest.mark.parametrize("device", HOSTS)
def test_there_is_nothing_to_wait_for(device: str) -> None:
    a = wp.zeros(3, device=device)
    wp.launch(one, dim=3, inputs=[a], device=device, stream=None)
    wp.synchronize(device)
    wp.synchronize_device(device)
    wp.synchronize_stream(device)
    with wp.ScopedStream(None) as stream:
        assert stream is None
    assert a.list() == [1.0] * 3


@pytest.mark.parametrize("device", HOSTS)
def test_questions_have_answers_everywhere(device: str) -> None:
    found = get_device(device)
    assert not wp.is_mempool_supported(device)
    assert not wp.is_mempool_enabled(device)
    assert wp.is_peer_access_supported(device, device)
    assert wp.is_peer_access_enabled(device, device)
    assert wp.is_mempool_access_enabled(device, device)
    assert not wp.is_mempool_access_supported(device, device)
    assert not found.has_stream
    assert not found.is_capturing
    assert (found.arch, found.sm_count, found.total_memory, found.free_memory) == (0, 0, 0, 0)
    assert not wp.zeros(2, device=device).pinned


def test_a_stream_is_a_stream() -> None:
    a = wp.zeros(3, device="cpu")
    with pytest.raises(LaunchError, match="stream= is int 5") as caught:
        wp.launch(one, dim=3, inputs=[a], stream=5)  # type: ignore[call-overload]
    assert caught.value.codes == ("H0702",)
    with pytest.raises(DeviceError, match="a device is a name or a Device"):
        wp.synchronize(5)


NO_STREAM: dict[str, Callable[[Any], object]] = {
    "scope": wp.ScopedStream,
    "set_stream": wp.set_stream,
    "set_stream there": lambda x: wp.set_stream(x, "cuda:0"),
    "wait_stream": wp.wait_stream,
    "record_event": wp.record_event,
    "wait_event": wp.wait_event,
    "synchronize_event": wp.synchronize_event,
    "copy": lambda x: wp.copy(wp.zeros(2), wp.zeros(2), stream=x),
    "begin": lambda x: wp.capture_begin(stream=x),
    "end": lambda x: wp.capture_end(stream=x),
    "capture": lambda x: wp.ScopedCapture(stream=x),
    "graph": wp.capture_launch,
    "if": lambda x: wp.capture_if(wp.zeros(1, dtype=int), None, stream=x),
    "if part": lambda x: wp.capture_if(wp.ones(1, dtype=int), x),
    "if condition": lambda x: wp.capture_if(x, None),
    "while": lambda x: wp.capture_while(wp.zeros(1, dtype=int), None, stream=x),
    "times": lambda x: wp.get_event_elapsed_time(x, x),
    "stream of torch": lambda x: wp.Stream("cuda:0", cuda_stream=x),
    "event of others": lambda x: wp.Event("cuda:0", cuda_event=x),
    "stream records": lambda x: wp.Stream("cuda:0").record_event(x),
    "stream waits": lambda x: wp.Stream("cuda:0").wait_event(x),
    "stream waits for another": lambda x: wp.Stream("cuda:0").wait_stream(x),
    "graph on": lambda x: wp.capture_launch(graph(), x),
    "launch": lambda x: wp.launch(one, dim=3, inputs=[wp.zeros(3)], stream=x),
    "launch there": lambda x: wp.launch(one, dim=3, inputs=[wp.zeros(3)], stream=x, device="cpu"),
    "record": lambda x: wp.launch(one, dim=3, inputs=[wp.zeros(3)], stream=x, record_cmd=True),
    "command": lambda x: wp.launch(one, dim=3, inputs=[wp.zeros(3)], record_cmd=True).launch(x),
}


def graph() -> wp.Graph:
    with wp.ScopedCapture("cuda:0") as capture:
        pass
    return capture.graph


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A GPU beside the CPU."""
    fake, made = fake_gpu()
    monkeypatch.setattr(devices, "discover", lambda: devices.Discovery((made,)))
    monkeypatch.setattr(streams, "CHOSEN", streams.Chosen())
    return fake


@pytest.mark.parametrize("what", ["cuda:0", "cpu", "", 5.5, object, [1]], ids=repr)
@pytest.mark.parametrize("name", NO_STREAM)
def test_what_is_no_stream_is_refused(gpu: Fake, name: str, what: object) -> None:
    """Known by its code, also once a launch has been seen and its quick way is open."""
    if name == "if part" and callable(what):
        what = "cuda:0"
    for _ in range(2):
        with pytest.raises(HealdError) as caught:
            NO_STREAM[name](what)
        assert caught.value.codes == ("H0702",)
        wp.launch(one, dim=3, inputs=[wp.zeros(3)])


@pytest.mark.parametrize("priority", ["high", None, -1.0, [1], object], ids=repr)
def test_priorities_are_integers(gpu: Fake, priority: Any) -> None:
    with pytest.raises(HealdError, match=r"priority is .*no integer") as caught:
        wp.Stream("cuda:0", priority=priority)
    assert caught.value.codes == ("H0702",)


@pytest.mark.parametrize("device", HOSTS)
def test_a_captured_stream_names_its_device(gpu: Fake, device: str) -> None:
    stream = wp.Stream("cuda:0")
    for act in (wp.capture_begin, wp.capture_end, wp.ScopedCapture):
        with pytest.raises(DeviceError) as caught:
            act(device, stream)
        assert caught.value.codes == ("H0812",)
    assert not stream.is_capturing
    for named in (None, "cuda:0"):
        with wp.ScopedCapture(named, stream) as capture:
            assert stream.capture is not None
        assert capture.device == "cuda:0"


def test_what_stays_the_same_is_asked_once(gpu: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    device = get_device("cuda:0")
    asked: list[str] = []
    act = Fake.__call__

    def noted(self: Fake, name: str, *arguments: Any) -> None:
        asked.append(name)
        act(self, name, *arguments)

    monkeypatch.setattr(Fake, "__call__", noted)
    for name in ("total_memory", "sm_count", "arch", "name", "is_mempool_supported"):
        first = getattr(device, name)
        asked.clear()
        assert getattr(device, name) == first
        assert asked == [], name
    assert device.free_memory == 0
    assert "cuMemGetInfo_v2" in asked


def test_a_recorded_launch_keeps_to_its_device(gpu: Fake) -> None:
    command = wp.launch(one, dim=3, inputs=[wp.zeros(3)], record_cmd=True)
    with pytest.raises(DeviceError) as caught:
        command.launch(wp.Stream("cuda:0"))
    assert caught.value.codes == ("H0812",)


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        (-1, "H0805"),
        (float("nan"), "H0805"),
        (float("inf"), "H0805"),
        (1 << 70, "H0805"),
        ("1", "H0702"),
        (None, "H0702"),
    ],
)
def test_thresholds_are_bytes_or_shares(gpu: Fake, threshold: Any, code: str) -> None:
    with pytest.raises(HealdError) as caught:
        wp.set_mempool_release_threshold("cuda:0", threshold)
    assert caught.value.codes == (code,)


@pytest.mark.usefixtures("no_driver")
def test_pinned_memory_needs_a_gpu() -> None:
    for make in (
        lambda: wp.zeros(3, device="cpu", pinned=True),
        lambda: wp.array([1.0], device="cpu", pinned=True),
        lambda: wp.zeros(3).clone(pinned=True),
        lambda: wp.empty_like(wp.zeros(3), pinned=True),
    ):
        with pytest.raises(DeviceError) as caught:
            make()
        assert caught.value.codes == ("H0806",)


@wp.kernel
def count_down(n: wp.array(dtype=int), steps: wp.array(dtype=int)):
    n[0] = n[0] - 1
    steps[0] = steps[0] + 1


def test_conditions_are_looked_at_by_the_host() -> None:
    assert not wp.is_conditional_graph_supported()
    n, steps = wp.array([5], dtype=int), wp.zeros(1, dtype=int)

    def down(m: wp.array) -> None:
        wp.launch(count_down, dim=1, inputs=[m, steps])

    wp.capture_while(n, down, m=n)
    assert (n.list(), steps.list()) == ([0], [5])
    taken: list[str] = []
    for value in (0, 3, 0):
        n.fill_(value)
        wp.capture_if(n, lambda: taken.append("yes"), lambda: taken.append("no"))
        wp.capture_if(n)
    assert taken == ["no", "yes", "no"]
