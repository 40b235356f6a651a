"""Every wait of the host tells what failed and what was printed before it."""

from __future__ import annotations

import ctypes
import gc
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_cuda import BASE, Fake, fake_gpu
from unit.runtime.test_queue import Told, fault

import heald as wp
from heald.artifact import abi
from heald.once import once
from heald.runtime.cuda import devices, streams
from heald.runtime.cuda.devices import Gpu
from heald.runtime.cuda.queue import Queue, queue_of, register

GPU = "cuda:0"


@wp.kernel
def twice(a: wp.array(dtype=float)):
    a[wp.tid()] *= 2.0


class World:
    """A GPU of which one launch has failed, and what waits for it."""

    def __init__(self, driver: Fake, gpu: Gpu) -> None:
        self.driver, self.gpu = driver, gpu
        self.told = Told("one")
        self.there = wp.ones(3, device=GPU)
        self.other = wp.zeros(3, device=GPU)
        self.pinned, self.source = (wp.zeros(3, device="cpu", pinned=True) for _ in range(2))
        self.start, self.event = (wp.Event(GPU, enable_timing=True) for _ in range(2))

    def fail(self, stream: wp.Stream, *, prints: bool = False) -> Queue:
        """What a launch does, and a copy to pinned memory and an event behind it."""
        queue = queue_of(stream)
        number = queue.note(register(self.told), (9,))
        if prints:
            printed(queue, number)
        wp.copy(self.pinned, self.there, stream=stream)
        stream.record_event(self.event)
        fault(queue, number, 6)
        return queue

    def memory(self) -> tuple[bytes, bytes]:
        """What is in the array on the GPU and in the pinned one, without a wait."""
        there = bytes(self.driver.blocks[self.there.ptr])
        return there, ctypes.string_at(self.pinned.ptr, len(there))


def printed(queue: Queue, number: int) -> None:
    """What a launch does that prints the number 33."""
    record = struct.pack("<4q", 3, 0, number << abi.PRINT_LAUNCH_SHIFT | 7, 33)
    buffer = queue.print_buffer() - BASE
    ctypes.memmove(buffer + abi.PRINT_DATA, record, len(record))
    ctypes.memmove(buffer + abi.PRINT_USED, struct.pack("<q", len(record)), 8)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    fake, gpu = fake_gpu()
    monkeypatch.setattr(devices, "discover", once(lambda: devices.Discovery((gpu,))))
    devices.discover()
    monkeypatch.setattr("heald.runtime.cuda.queue.discover", devices.discover)
    monkeypatch.setattr(streams, "CHOSEN", streams.Chosen())
    made = World(fake, gpu)
    yield made
    vars(made).clear()  # what is pinned, while there is this GPU
    gc.collect()


def timed() -> None:
    """A timer that waits before it looks at the clock."""
    with wp.ScopedTimer("", print=False, synchronize=True):
        pass


OF_EVENTS: dict[str, Callable[[World], object]] = {
    "numpy": lambda w: w.pinned.numpy(),
    "element": lambda w: w.pinned[0],
    "assigned": lambda w: w.pinned.__setitem__(0, 1.0),
    "list": lambda w: w.pinned.list(),
    "text": lambda w: str(w.pinned),
    "copied on the host": lambda w: wp.copy(wp.zeros(3), w.pinned),
    "launch of the host": lambda w: wp.launch(twice, dim=3, inputs=[w.pinned], device="cpu"),
    "event": lambda w: wp.synchronize_event(w.event),
    "time": lambda w: wp.get_event_elapsed_time(w.start, w.event),
}
OF_STREAMS: dict[str, Callable[[World], object]] = {
    "stream": lambda w: wp.synchronize_stream(wp.get_stream(GPU)),
    "stream of device": lambda w: wp.synchronize_stream(GPU),
    "synchronize stream": lambda w: wp.synchronize(wp.get_stream(GPU)),
    "device": lambda w: wp.synchronize_device(GPU),
    "all": lambda w: wp.synchronize(),
    "numpy of the GPU": lambda w: w.there.numpy(),
    "element of the GPU": lambda w: w.there[0],
    "timer": lambda w: timed(),
}
WAITS = OF_EVENTS | OF_STREAMS
BEGUN: dict[str, Callable[[World], object]] = {
    "fill": lambda w: w.there.fill_(2.0),
    "zeros": lambda w: w.there.zero_(),
    "copy": lambda w: wp.copy(w.there, w.other),
    "copy of pinned memory": lambda w: wp.copy(w.there, w.source),
    "copy to pinned memory": lambda w: wp.copy(w.pinned, w.other),
    "copy of the host": lambda w: w.there.assign([4.0, 5.0, 6.0]),
}
"""What changes memory on a stream and does not wait."""


@pytest.mark.parametrize("prints", [False, True])
@pytest.mark.parametrize("what", WAITS)
def test_every_wait_tells(world: World, what: str, prints: bool) -> None:
    world.fail(wp.get_stream(GPU), prints=prints)
    with pytest.raises(wp.KernelFault, match=r"one \(9,\) thread 6"):
        WAITS[what](world)
    assert world.told.shown == [(3, 33)] * prints
    WAITS[what](world)


@pytest.mark.parametrize("what", WAITS)
def test_prints_are_shown_without_a_fault(world: World, what: str) -> None:
    queue = queue_of(wp.get_stream(GPU))
    printed(queue, queue.note(register(world.told), (9,)))
    wp.copy(world.pinned, world.there)
    wp.record_event(world.event)
    WAITS[what](world)
    assert world.told.shown == [(3, 33)]


@pytest.mark.parametrize("what", OF_EVENTS)
def test_the_streams_of_others_are_not_asked(world: World, what: str) -> None:
    one, two = wp.Stream(GPU), wp.Stream(GPU)
    world.fail(two)
    mine = World(world.driver, world.gpu)
    wp.copy(mine.pinned, mine.there, stream=one)
    one.record_event(mine.event)
    WAITS[what](mine)
    with pytest.raises(wp.KernelFault):
        WAITS[what](world)


@pytest.mark.parametrize("what", OF_EVENTS)
def test_faults_of_a_stream_that_is_gone_are_told(world: World, what: str) -> None:
    """When everything has ended: what it was given behind the event may be writing them."""
    stream = wp.Stream(GPU)
    world.fail(stream)
    del stream
    gc.collect()
    waited = world.driver.waited
    with pytest.raises(wp.KernelFault, match="thread 6"):
        WAITS[what](world)
    assert world.driver.waited >= waited + 2, "for the event, and for the GPU"


@pytest.mark.parametrize("what", OF_EVENTS)
def test_a_queue_that_serves_again_says_nothing_of_before(world: World, what: str) -> None:
    stream = wp.Stream(GPU)
    queue = world.fail(stream)
    del stream
    gc.collect()
    with pytest.raises(wp.KernelFault):
        wp.synchronize(GPU)
    other = wp.Stream(GPU)
    assert queue_of(other) is queue
    fault(queue, queue.note(register(world.told), (5,)), 1)
    WAITS[what](world)
    with pytest.raises(wp.KernelFault, match=r"one \(5,\)"):
        wp.synchronize(other)


@pytest.mark.parametrize("what", OF_EVENTS)
def test_faults_wait_for_the_end_of_captures(world: World, what: str) -> None:
    """A stream that is captured can be asked for nothing."""
    stream = wp.get_stream(GPU)
    with wp.ScopedCapture(GPU):
        queue = stream.queue
        assert queue is not None
    world.fail(stream)
    number = queue.note(register(world.told), (9,))
    queue._flag.value = 0
    with wp.ScopedCapture(GPU):
        fault(queue, number, 6)
        WAITS[what](world)
    with pytest.raises(wp.KernelFault, match="thread 6"):
        WAITS[what](world)


@pytest.mark.parametrize("what", OF_EVENTS)
def test_faults_of_a_graph_on_the_stream_are_told(world: World, what: str) -> None:
    """Its launches have a queue of their own, beside that of the stream."""
    stream = wp.Stream(GPU)
    own = queue_of(stream)
    with wp.ScopedCapture(stream=stream) as capture:
        queue = queue_of(stream)
        number = queue.note(register(world.told), (9,))
        wp.copy(world.pinned, world.there, stream=stream)
    assert queue is not own
    wp.capture_launch(capture.graph, stream)
    stream.record_event(world.event)
    fault(queue, number, 6)
    with pytest.raises(wp.KernelFault, match=r"one \(9,\) thread 6"):
        WAITS[what](world)
    WAITS[what](world)


@pytest.mark.parametrize("what", ["event", "time"])
def test_events_of_a_graph_are_not_waited_for(world: World, what: str) -> None:
    """Of which run of the graph it would be is not said."""
    waited = world.driver.waited
    with wp.ScopedCapture(GPU) as capture:
        wp.record_event(world.event)
        with pytest.raises(wp.DeviceError, match="H0811"):
            WAITS[what](world)
    wp.capture_launch(capture.graph)
    with pytest.raises(wp.DeviceError, match="waiting for an event of a graph"):
        WAITS[what](world)
    assert world.driver.waited == waited
    wp.record_event(world.event)
    WAITS[what](world)


@pytest.mark.parametrize("what", OF_EVENTS)
def test_a_stream_that_is_gone_and_left_nothing_is_not_waited_for(world: World, what: str) -> None:
    stream = wp.Stream(GPU)
    assert queue_of(stream)
    wp.copy(world.pinned, world.there, stream=stream)
    stream.record_event(world.event)
    del stream
    gc.collect()
    waited = world.driver.waited
    WAITS[what](world)
    assert world.driver.waited == waited + 1, "for the event, and not for the GPU"


@pytest.mark.parametrize("name", BEGUN)
def test_nothing_is_begun_behind_a_fault(world: World, name: str) -> None:
    world.fail(wp.get_stream(GPU))
    before = world.memory()
    with pytest.raises(wp.KernelFault, match="thread 6"):
        BEGUN[name](world)
    assert world.memory() == before
    BEGUN[name](world)
    assert world.memory() != before


def test_a_launch_that_shows_prints_tells_what_failed_before(world: World) -> None:
    queue = queue_of(wp.get_stream(GPU))
    number = queue.note(register(world.told), (9,))
    printed(queue, number)
    fault(queue, number, 6)
    with pytest.raises(wp.KernelFault, match="thread 6"):
        queue.print_buffer()
    assert world.told.shown == [(3, 33)]
    assert queue.print_buffer()


def test_a_graph_that_shows_prints_tells_what_failed_before(world: World) -> None:
    """It was launched on another stream."""
    with wp.ScopedCapture(GPU) as capture:
        queue: Any = queue_of(wp.get_stream(GPU))
        number = queue.note(register(world.told), (9,))
        printed(queue, number)
    graph = capture.graph
    wp.capture_launch(graph, wp.Stream(GPU))
    fault(queue, number, 6)
    with pytest.raises(wp.KernelFault, match="thread 6"):
        wp.capture_launch(graph)
    wp.capture_launch(graph)


@pytest.mark.parametrize("what", ["launch", "graph"])
def test_prints_are_shown_and_faults_wait_while_something_is_captured(
    world: World, what: str
) -> None:
    """Elsewhere; a launch that needs an empty print buffer has to go on all the same."""
    stream = wp.get_stream(GPU)
    with wp.ScopedCapture(GPU) as capture:
        queue: Any = queue_of(stream)
        number = queue.note(register(world.told), (9,))
        printed(queue, number)
    if what == "launch":
        queue = queue_of(stream)
        number = queue.note(register(world.told), (9,))
        printed(queue, number)
    else:
        wp.capture_launch(capture.graph)
    with wp.ScopedCapture(stream=wp.Stream(GPU)):
        fault(queue, number, 6)
        if what == "launch":
            assert queue.print_buffer()
        else:
            wp.capture_launch(capture.graph)
        assert world.told.shown == [(3, 33)]
    with pytest.raises(wp.KernelFault, match="thread 6"):
        wp.synchronize_stream(stream)
