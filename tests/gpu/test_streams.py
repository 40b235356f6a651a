"""Streams and events of a GPU."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import DeviceError, OutOfBoundsError

pytestmark = pytest.mark.gpu
GPU = "cuda:0"


@wp.kernel
def steps(x: wp.array(dtype=wp.float32), n: int):
    i = wp.tid()
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[i] = v


@wp.kernel
def add(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32)):
    i = wp.tid()
    b[i] = a[i] + 1.0


def timed(streams: list[wp.Stream], arrays: list[wp.array], n: int) -> float:
    start, end = wp.Event(GPU, enable_timing=True), wp.Event(GPU, enable_timing=True)
    main = wp.get_stream(GPU)
    main.record_event(start)
    for stream, x in zip(streams, arrays, strict=True):
        stream.wait_event(start)
        wp.launch(steps, dim=len(x), inputs=[x, n], stream=stream)
        main.wait_stream(stream)
    main.record_event(end)
    return wp.get_event_elapsed_time(start, end)


def test_two_streams_overlap() -> None:
    one, two = wp.Stream(GPU), wp.Stream(GPU)
    arrays = [wp.zeros(256, device=GPU) for _ in range(2)]
    wp.synchronize(GPU)
    timed([one, two], arrays, 1000)
    together = timed([one, two], arrays, 500_000)
    after_another = timed([one, one], arrays, 500_000)
    assert together < 0.75 * after_another
    assert (arrays[0].numpy() == 2).all()


def test_events_order_streams() -> None:
    n = 1 << 20
    one, two = wp.Stream(GPU), wp.Stream(GPU, priority=-1)
    assert (one.priority, two.priority) == (0, -1)
    a, b = wp.zeros(n, device=GPU), wp.zeros(n, device=GPU)
    wp.synchronize(GPU)
    for k in range(20):
        wp.launch(steps, dim=n, inputs=[a, 2000], stream=one)
        two.wait_event(one.record_event())
        wp.launch(add, dim=n, inputs=[a, b], stream=two)
        one.wait_stream(two)
        with wp.ScopedStream(one):
            a.fill_(float(k))
    wp.synchronize(two)
    assert (b.numpy() == 3).all()
    wp.synchronize_stream(one)
    with wp.ScopedStream(one):
        assert (a.numpy() == 19).all()


def test_the_current_stream() -> None:
    default = wp.get_stream(GPU)
    assert wp.get_device(GPU).stream is default
    other = wp.Stream(GPU)
    with wp.ScopedStream(other) as inside:
        assert inside is other
        assert wp.get_stream() is other
        with wp.ScopedStream(None):
            assert wp.get_stream() is other
    assert wp.get_stream(GPU) is default
    wp.set_stream(other, GPU)
    assert wp.get_stream(GPU) is other
    wp.set_stream(None, GPU)
    assert wp.get_stream(GPU) is default


def by_scope(side: wp.Stream) -> None:
    with wp.ScopedStream(side, sync_exit=True):
        pass


def by_setting(side: wp.Stream) -> None:
    wp.set_stream(side, GPU)
    wp.set_stream(None, GPU, sync=True)


ORDERED = {
    "stream": wp.wait_stream,
    "stream and event": lambda side: wp.wait_stream(side, wp.Event(GPU)),
    "event": lambda side: wp.wait_event(side.record_event()),
    "event of processes": lambda side: wp.wait_event(
        side.record_event(wp.Event(GPU, interprocess=True))
    ),
    "scope": by_scope,
    "set": by_setting,
    "host, stream": wp.synchronize_stream,
    "host, event": lambda side: wp.synchronize_event(side.record_event()),
    "host, device": lambda side: wp.synchronize_device(GPU),
}


@pytest.mark.parametrize("how", ORDERED)
def test_the_current_stream_comes_after_another(how: str) -> None:
    n = 1 << 16
    main, side = wp.get_stream(GPU), wp.Stream(GPU)
    a, b = wp.zeros(n, device=GPU), wp.zeros(n, device=GPU)
    wp.synchronize(GPU)
    with wp.ScopedDevice(GPU):
        for _ in range(3):
            a.zero_()
            side.wait_stream(main)
            wp.launch(steps, dim=n, inputs=[a, 100_000], stream=side)
            ORDERED[how](side)
            wp.launch(add, dim=n, inputs=[a, b])
            assert (b.numpy() == 3).all()


def test_the_stream_that_is_named_is_captured() -> None:
    side, a = wp.Stream(GPU), wp.zeros(10, device=GPU)
    with wp.ScopedCapture(stream=side) as capture:
        wp.launch(add, dim=10, inputs=[a, a], stream=side)
        wp.launch(add, dim=10, inputs=[a, a], device=GPU)  # this one is done
    assert (a.numpy() == 1).all()
    wp.capture_launch(capture.graph)
    assert (a.numpy() == 2).all()
    wp.capture_begin(stream=side)
    wp.launch(add, dim=10, inputs=[a, a], stream=side)
    wp.capture_launch(wp.capture_end(stream=side), side)
    wp.synchronize(side)
    assert (a.numpy() == 3).all()


def test_events_keep_time() -> None:
    start, end = wp.Event(GPU, enable_timing=True), wp.Event(GPU, enable_timing=True)
    x = wp.zeros(1024, device=GPU)
    with wp.ScopedDevice(GPU):
        wp.record_event(start)
        wp.launch(steps, dim=1024, inputs=[x, 200_000])
        wp.record_event(end)
    wp.synchronize_event(end)
    assert end.is_complete
    assert wp.get_event_elapsed_time(start, end) > 0.1
    with pytest.raises(DeviceError) as caught:
        wp.get_event_elapsed_time(start, wp.Event(GPU))
    assert caught.value.codes == ("H0805",)


def test_memory_goes_between_streams() -> None:
    """What one stream has dropped is not given to another one that comes too early."""
    one, two = wp.Stream(GPU), wp.Stream(GPU)
    results = []
    for k in range(50):
        with wp.ScopedStream(one):
            x = wp.full(1 << 18, float(k), device=GPU)
            wp.launch(steps, dim=len(x), inputs=[x, 500], device=GPU)
            y = wp.empty(1 << 18, device=GPU)
            wp.launch(add, dim=len(x), inputs=[x, y], device=GPU)
            del x
        with wp.ScopedStream(two, sync_enter=False):
            z = wp.full(1 << 18, -1.0, device=GPU)
            results.append((y, z))
            if len(results) > 4:
                results.pop(0)
    wp.synchronize()
    for y, z in results:
        assert (y.numpy() == 3).all()
        assert (z.numpy() == -1).all()


def test_a_fault_belongs_to_its_stream() -> None:
    one, two = wp.Stream(GPU), wp.Stream(GPU)
    a, b = wp.zeros(10, device=GPU), wp.zeros(5, device=GPU)
    wp.launch(add, dim=10, inputs=[a, b], stream=one)
    wp.launch(add, dim=5, inputs=[a, b], stream=two)
    wp.synchronize(two)
    with pytest.raises(OutOfBoundsError, match="thread 5 of kernel 'add'"):
        wp.synchronize(one)
    wp.launch(add, dim=10, inputs=[a, b], stream=two)
    del two
    gc.collect()
    with pytest.raises(OutOfBoundsError, match="thread 5 of kernel 'add'"):
        wp.synchronize(GPU)
    wp.synchronize(GPU)


def test_faults_are_told_by_events_and_pinned_copies() -> None:
    a, b, x = (wp.zeros(n, device=GPU) for n in (10, 5, 256))
    pinned = wp.zeros(5, device="cpu", pinned=True)
    start, end = (wp.Event(GPU, enable_timing=True) for _ in range(2))
    for wait in (
        lambda: wp.synchronize_event(end),
        lambda: wp.get_event_elapsed_time(start, end),
        pinned.numpy,
        lambda: pinned[0],
        pinned.list,
        lambda: wp.launch(add, dim=5, inputs=[pinned, pinned], device="cpu"),
    ):
        stream = wp.Stream(GPU)
        stream.wait_stream(wp.get_stream(GPU))
        stream.record_event(start)
        wp.launch(steps, dim=256, inputs=[x, 500_000], stream=stream)
        wp.launch(add, dim=10, inputs=[a, b], stream=stream)
        wp.copy(pinned, b, stream=stream)
        stream.record_event(end)
        with pytest.raises(OutOfBoundsError, match="thread 5 of kernel 'add'"):
            wait()
        assert (pinned.numpy() == 1).all()


def test_streams_of_another_device_are_refused() -> None:
    stream = wp.Stream(GPU)
    a = wp.zeros(3, device="cpu")
    with pytest.raises(DeviceError) as caught:
        wp.launch(add, dim=3, inputs=[a, a], device="cpu", stream=stream)
    assert caught.value.codes == ("H0812",)


def test_many_streams_come_and_go() -> None:
    a = wp.zeros(100, device=GPU)
    for _ in range(100):
        stream = wp.Stream(GPU)
        wp.launch(steps, dim=100, inputs=[a, 1], stream=stream)
        wp.get_stream(GPU).wait_stream(stream)
        del stream
    wp.synchronize(GPU)
    np.testing.assert_allclose(a.numpy(), 2.0)


def test_copies_on_a_stream() -> None:
    n = 1 << 20
    stream = wp.Stream(GPU)
    a, b = wp.zeros(n, device=GPU), wp.zeros(n, device=GPU)
    back = wp.zeros(n, device="cpu", pinned=True)
    stream.wait_stream(wp.get_stream(GPU))
    wp.launch(steps, dim=n, inputs=[a, 3000], stream=stream)
    wp.copy(b, a, stream=stream)
    wp.copy(back, b, stream=stream)
    assert (back.numpy() == 2).all()
    assert wp.get_stream(GPU) is not stream
