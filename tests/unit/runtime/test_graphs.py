"""What graphs have to do with the host besides their launch: with a driver that keeps a record."""
# ruff: noqa: N802 - the driver has the names of the real one

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from fake_cuda import BASE, Fake, fake_gpu

import heald as wp
from heald.api import resources
from heald.artifact import abi
from heald.diagnostics import DeviceError, Diagnostic
from heald.runtime import table_of
from heald.runtime.cuda import devices, streams
from heald.runtime.cuda.devices import Discovery, Gpu

KIND = 200
WAITS = ("cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize")


class Noted(Fake):
    """Notes the calls that tests look at, and knows which streams it still has."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []
        self.gone: set[int] = set()
        self.capturing: set[int] = set()
        self.captured: set[int] = set()
        self.meanwhile: Callable[[], object] = lambda: None
        self.waits: Callable[[Any], object] | None = None
        self.gpu: Gpu

    def cuMemAllocAsync(self, place: Any, size: Any, stream: Any) -> None:
        assert stream.value not in self.capturing
        self.cuMemAlloc_v2(place, size)

    def cuMemFreeAsync(self, address: Any, stream: Any) -> None:
        assert stream.value not in self.capturing
        self.calls.append(("cuMemFreeAsync", stream.value))
        self.cuMemFree_v2(address)

    def cuStreamBeginCapture_v2(self, stream: Any, mode: Any) -> None:
        self.capturing.add(stream.value)
        self.meanwhile()

    def cuStreamIsCapturing(self, stream: Any, state: Any) -> None:
        state._obj.value = stream.value in self.capturing

    def cuStreamEndCapture(self, stream: Any, graph: Any) -> None:
        self.meanwhile()
        self.capturing.clear()
        self.captured.clear()

    def cuEventSynchronize(self, event: Any) -> None:
        if self.waits is not None:
            self.waits(event)

    def cuEventRecord(self, event: Any, stream: Any) -> None:
        change = self.captured.add if stream.value in self.capturing else self.captured.discard
        change(event.value)

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: Any) -> None:
        if event.value in self.captured:
            self.capturing.add(stream.value)

    def __call__(self, name: str, *arguments: Any) -> None:
        if name in ("cuEventSynchronize", "cuStreamSynchronize", "cuStreamDestroy_v2"):
            handle = arguments[0].value
            assert handle not in self.gone, f"{name} of a stream that was destroyed"
            self.calls.append((name, handle))
            if name == "cuStreamDestroy_v2":
                self.gone.add(handle)
        elif name in ("cuStreamWaitEvent", "cuEventRecord"):
            self.calls.append((name, tuple(a.value for a in arguments[:2])))
        elif name == "cuMemcpyHtoDAsync_v2":
            self.calls.append((name, arguments[3].value))
        elif name == "cuGraphLaunch":
            self.calls.append((name, arguments[1].value))
        super().__call__(name, *arguments)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Noted:
    monkeypatch.setattr("fake_cuda.Fake", Noted)
    made, gpu = fake_gpu()
    assert isinstance(made, Noted)
    made.gpu = gpu
    monkeypatch.setattr(devices, "discover", lambda: Discovery((gpu,)))
    monkeypatch.setattr(streams, "CHOSEN", streams.Chosen())
    monkeypatch.setattr("heald.runtime.resources._TABLES", {})
    return made


def array(*values: int) -> wp.array:
    return wp.array(np.array(values, np.int32), device="cuda:0")


def query() -> None:
    """What a captured launch that takes handles does."""
    stream = streams.get_stream("cuda:0")
    assert stream.capture is not None
    table = table_of(stream.device)
    held = table.hold()
    stream.capture.queue.resources(held, stream)
    table.let_go(held)


def seen(queue: Any, handle: int) -> tuple[int, int, int]:
    """The first scalar, and address and extent of the first array, that kernels of a graph find."""
    index = handle & 0xFFFFFFFF
    start = int(queue.words[abi.QUEUE_RESOURCES // 8]) - BASE + index * abi.RESOURCE_SIZE
    record = np.frombuffer(ctypes.string_at(start, abi.RESOURCE_SIZE), np.uint8)
    words = record.view(np.int64)
    assert int(record[:8].view(np.uint64)[0]) == handle
    arrays = abi.RESOURCE_ARRAYS // 8
    return int(words[1]), int(words[arrays]), int(words[arrays + 1])


def capture(*actions: Any) -> wp.Graph:
    with wp.ScopedCapture("cuda:0") as made:
        for action in actions:
            action()
    assert made.graph is not None
    return made.graph


def content(number: int, a: wp.array) -> tuple[list[Any], Sequence[wp.array]]:
    return [np.int32(number)], [a]


def put(device: wp.Device, handle: int, *what: Any) -> None:
    resources.update(device, resources.describe(handle, *what))


def test_a_graph_shows_its_kernels_what_it_builds(driver: Noted) -> None:
    """Whatever is built elsewhere meanwhile; and afterwards the others see what it has built."""
    device, one, two, three = wp.get_device("cuda:0"), array(1), array(1, 2), array(1, 2, 3)
    handle = resources.register(device, KIND, *content(1, one))
    graphs = [
        capture(
            lambda x=x, k=k: put(device, handle, *content(k, x)),
            query,
        )
        for k, x in ((2, two), (3, three))
    ]
    assert table_of(device).live()[handle & 0xFFFF].scalars == (1,), "nothing has run yet"
    for k, graph, x in ((2, graphs[0], two), (3, graphs[1], three), (2, graphs[0], two)):
        wp.capture_launch(graph)
        assert seen(graph.queue, handle) == (k, x.ptr, len(x))
        (found,) = table_of(device).live().values()
        assert (found.scalars, found.arrays[0].extent) == ((k,), len(x))
    put(device, handle, *content(1, one))
    wp.capture_launch(graphs[1])
    assert seen(graphs[1].queue, handle) == (3, three.ptr, 3)


def test_what_is_first_built_in_a_graph_is_empty_until_it_runs(driver: Noted) -> None:
    device, a, made = wp.get_device("cuda:0"), array(1, 2), []
    graph = capture(
        lambda: made.append(resources.register(device, KIND, *content(5, a))),
        query,
    )
    (found,) = table_of(device).live().values()
    assert (found.scalars, found.arrays[0].extent) == ((0,), 0)
    wp.capture_launch(graph)
    assert seen(graph.queue, made[0]) == (5, a.ptr, 2)


def test_launches_of_a_graph_see_one_content_of_a_resource(driver: Noted) -> None:
    device, a, b = wp.get_device("cuda:0"), array(1), array(2)
    handle = resources.register(device, KIND, *content(1, a))
    with wp.ScopedCapture("cuda:0"):
        put(device, handle, *content(2, b))
        query()
        put(device, handle, *content(2, b))
        other = resources.register(device, KIND, *content(1, a))
        for changed, number, x in ((handle, 3, b), (handle, 2, a), (other, 2, a)):
            with pytest.raises(DeviceError, match="cannot be captured") as caught:
                put(device, changed, *content(number, x))
            assert caught.value.codes == ("H0811",)
        resources.release(device, handle)
        with pytest.raises(DeviceError) as caught:
            put(device, 77, *content(2, b))
        assert caught.value.codes == ("H0406",)
    with wp.ScopedCapture("cuda:0"):  # whatever a graph before has looked at
        put(device, other, *content(2, a))


def test_what_a_graph_looks_at_before_it_builds_it_is_as_it_was(driver: Noted) -> None:
    """At every launch, since the host may have built something else meanwhile."""
    device, a, b = wp.get_device("cuda:0"), array(1), array(2)
    handle = resources.register(device, KIND, *content(1, a))
    graph = capture(query, lambda: put(device, handle, *content(1, a)), query)
    wp.capture_launch(graph)
    put(device, handle, *content(2, b))
    launches = [name for name, _ in driver.calls].count("cuGraphLaunch")
    with pytest.raises(DeviceError, match="another radius or number of points") as caught:
        wp.capture_launch(graph)
    assert caught.value.codes == ("H0811",)
    assert [name for name, _ in driver.calls].count("cuGraphLaunch") == launches
    put(device, handle, *content(1, a))
    wp.capture_launch(graph)
    assert seen(graph.queue, handle) == (1, a.ptr, 1)


def test_a_graph_runs_without_what_it_built_when_that_is_gone(driver: Noted) -> None:
    device, a = wp.get_device("cuda:0"), array(1)
    handle = resources.register(device, KIND, *content(1, a))
    graph = capture(lambda: put(device, handle, *content(2, a)))
    resources.release(device, handle)
    wp.capture_launch(graph)
    assert table_of(device).live() == {}


def test_new_contents_wait_for_the_graph_on_the_stream_before(driver: Noted) -> None:
    device, a = wp.get_device("cuda:0"), array(1)
    handle = resources.register(device, KIND, *content(1, a))
    graph = capture(query)
    one, two = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    wp.capture_launch(graph, one)
    (done,) = [what for name, what in driver.calls[-1:] if name == "cuEventRecord"]
    put(device, handle, *content(2, a))
    driver.calls.clear()
    wp.capture_launch(graph, two)
    assert driver.calls == [
        ("cuStreamWaitEvent", (two.cuda_stream, done[0])),
        ("cuMemcpyHtoDAsync_v2", two.cuda_stream),
        ("cuGraphLaunch", two.cuda_stream),
        ("cuEventRecord", (done[0], two.cuda_stream)),
    ]


@pytest.mark.parametrize("foreign", [None, 4444])
def test_prints_of_a_graph_are_shown_when_its_stream_is_gone(
    foreign: int | None, driver: Noted
) -> None:
    def printing() -> None:
        streams.get_stream("cuda:0").capture.queue.print_buffer()  # type: ignore[union-attr]

    graph = capture(printing)
    passing = wp.Stream("cuda:0", cuda_stream=foreign)
    twin = wp.Stream("cuda:0", cuda_stream=passing.cuda_stream) if foreign else None
    wp.capture_launch(graph, passing)
    handle = passing.cuda_stream
    del passing
    gc.collect()
    if twin is not None:
        assert graph.queue.stream == handle, "there is another object for it"
        del twin
        gc.collect()
    assert (handle in driver.gone) is (foreign is None)
    assert graph.queue.stream is None, "another stream may get this handle"
    driver.calls.clear()
    wp.capture_launch(graph)
    assert next(name for name, _ in driver.calls if name in WAITS) == "cuEventSynchronize"


def test_the_host_waits_for_graphs_that_use_pinned_memory(driver: Noted) -> None:
    there = wp.zeros(3, device="cuda:0")
    come, go = (wp.zeros(3, device="cpu", pinned=True) for _ in range(2))
    graph = capture(lambda: wp.copy(there, come), lambda: wp.copy(go, there))
    for pinned in (come, go):
        driver.calls.clear()
        pinned.numpy()
        assert "cuEventSynchronize" not in dict(driver.calls), "it has not run yet"
    for _ in range(2):
        wp.capture_launch(graph)
        wp.capture_launch(graph)
        for pinned in (come, go):
            driver.calls.clear()
            pinned.numpy()
            assert "cuEventSynchronize" in dict(driver.calls)


def test_pinned_memory_outlives_the_graph_that_uses_it(
    driver: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[bool] = []
    running = True
    monkeypatch.setattr(Noted, "ask", lambda *_, **__: not running)
    monkeypatch.setattr(Noted, "cuMemFreeHost", lambda *_: freed.append(running), raising=False)
    pinned = wp.zeros(3, device="cpu", pinned=True)
    graph = capture(lambda p=pinned: wp.copy(wp.zeros(3, device="cuda:0"), p))
    del pinned
    wp.capture_launch(graph)
    del graph
    gc.collect()
    assert not freed
    running = False
    wp.synchronize("cuda:0")
    assert freed == [False]


@pytest.mark.parametrize("streams_before", [0, 1])
def test_memory_that_is_freed_while_a_capture_begins_or_ends_is_no_part_of_it(
    streams_before: int, driver: Noted
) -> None:
    """The driver refuses: a finaliser may run at any moment, and another thread too."""
    driver.gpu.has_pools = driver.gpu.uses_pool = True
    others = [wp.Stream("cuda:0") for _ in range(streams_before)]
    arrays = [wp.zeros(3, device="cuda:0") for _ in range(4)]

    def free_and_allocate() -> None:
        del arrays[-1]
        arrays.insert(0, wp.empty(5, device="cuda:0"))
        del arrays[-1]

    driver.meanwhile = free_and_allocate
    graph = capture()
    freed = [stream for name, stream in driver.calls if name == "cuMemFreeAsync"]
    assert len(freed) == 4
    assert wp.get_stream("cuda:0").cuda_stream not in freed
    assert len(others) == streams_before
    wp.capture_launch(graph)


def test_memory_that_is_freed_inside_a_capture_of_two_streams_is_no_part_of_it(
    driver: Noted,
) -> None:
    driver.gpu.has_pools = driver.gpu.uses_pool = True
    main, side = wp.get_stream("cuda:0"), wp.Stream("cuda:0")
    arrays = [wp.zeros(3, device="cuda:0") for _ in range(2)]
    graph = capture(
        lambda: side.wait_stream(main),
        arrays.pop,
        lambda: main.wait_stream(side),
        arrays.pop,
    )
    freed = [stream for name, stream in driver.calls if name == "cuMemFreeAsync"]
    assert len(freed) == 2
    wp.capture_launch(graph)


def test_memory_is_freed_later_while_the_legacy_stream_cannot_be_asked(
    driver: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another library captures: CUDA then says nothing of the legacy stream."""
    driver.gpu.has_pools = driver.gpu.uses_pool = True
    foreign = wp.Stream("cuda:0", cuda_stream=1)
    array, refused = wp.zeros(3, device="cuda:0"), [True]

    def ask(stream: Any, state: Any) -> None:
        if refused[0]:
            raise DeviceError(Diagnostic("H0808", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"))
        state._obj.value = 0

    monkeypatch.setattr(driver, "cuStreamIsCapturing", ask, raising=False)

    def freed() -> int:
        return sum(name == "cuMemFreeAsync" for name, _ in driver.calls)

    del array
    wp.synchronize("cuda:0")
    assert freed() == 0
    refused[0] = False
    wp.synchronize("cuda:0")
    assert freed() == 1
    assert foreign.is_foreign


def test_a_capture_that_cannot_begin_leaves_its_stream_as_it_was(driver: Noted) -> None:
    def refuse() -> None:
        raise DeviceError(Diagnostic("H0808", "not now"))

    driver.meanwhile = refuse
    with pytest.raises(DeviceError, match="not now"):
        wp.capture_begin("cuda:0")
    driver.capturing.clear()
    driver.meanwhile = lambda: None
    stream = wp.get_stream("cuda:0")
    assert stream.capture is None
    assert stream.address
    assert driver.gpu.captures == 0
    wp.synchronize("cuda:0")
    wp.capture_launch(capture())


def test_a_capture_that_ends_in_a_forked_child_opens_nothing(
    driver: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries ask nobody whose process it is."""
    stream = wp.get_stream("cuda:0")
    capture()
    assert stream.queue is not None
    assert stream.queue.words[abi.QUEUE_OPEN // 8] == 1
    capture(lambda: monkeypatch.setattr(driver, "is_usable", False))
    assert stream.queue.words[abi.QUEUE_OPEN // 8] == 0


def test_tables_are_there_for_launches_inside_a_capture(driver: Noted) -> None:
    """Copied aside: nothing of it is captured, and nobody is waited for."""
    table, device, found = wp.constant(np.arange(3.0)), wp.get_device("cuda:0"), []
    driver.gpu.has_pools = driver.gpu.uses_pool = True
    capture(driver.calls.clear, lambda: found.append(table.on(device)))
    assert wp.get_stream("cuda:0").cuda_stream not in [
        stream for name, stream in driver.calls if name == "cuMemcpyHtoDAsync_v2"
    ]
    assert found[0].list() == [0.0, 1.0, 2.0]
    assert table.on(device) is found[0]
    with wp.ScopedCapture("cuda:0"), pytest.raises(DeviceError) as caught:
        table.assign([4.0, 5.0, 6.0])
    assert caught.value.codes == ("H0811",)
    assert table.numpy().tolist() == found[0].list()


def test_a_stream_that_is_made_inside_a_capture_is_not_part_of_it(driver: Noted) -> None:
    with wp.ScopedCapture("cuda:0"):
        before = wp.get_stream("cuda:0").before
        assert before is not None
        driver.calls.clear()
        made = wp.Stream("cuda:0")
        assert ("cuStreamWaitEvent", (made.cuda_stream, before.cuda_event)) in driver.calls
        assert made.capture is None


def test_all_threads_wait_for_copies_of_pinned_memory(driver: Noted) -> None:
    """Also where one of them waits already: the event is not taken from the others."""
    pinned = wp.zeros(3, device="cpu", pinned=True)
    wp.copy(wp.zeros(3, device="cuda:0"), pinned)
    seen = []

    def meanwhile(event: Any) -> None:
        driver.waits = None
        before = len(driver.calls)
        pinned.numpy()
        seen.append([name for name, _ in driver.calls[before:]])

    driver.waits = meanwhile
    pinned.numpy()
    assert seen == [["cuEventSynchronize"]]


def test_a_stream_that_its_owner_captures_draws_nothing_into_its_graph(driver: Noted) -> None:
    driver.capturing.add(4444)
    theirs = wp.Stream("cuda:0", cuda_stream=4444)
    assert 4444 not in [what[0] for name, what in driver.calls if name == "cuStreamWaitEvent"]
    del theirs
    gc.collect()
    assert driver.capturing == {4444}
