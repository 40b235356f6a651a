"""Streams, graphs, pools and pinned memory without a GPU: clear errors, or nothing to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import heald as wp
from heald.diagnostics import DeviceError, LaunchError
from heald.runtime import get_device

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
