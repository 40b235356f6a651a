"""Graphs: work of streams that was captured once and is launched as a whole."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import replace

from heald.diagnostics import DeviceError
from heald.runtime.cuda.devices import RELAXED, Gpu
from heald.runtime.cuda.memory import PinnedMemory
from heald.runtime.cuda.queue import (
    Queue,
    deliver,
    new_queue,
    queue_of,
    raise_pending,
    wait_for_event,
)
from heald.runtime.cuda.streams import (
    Event,
    Stream,
    cuda_device,
    current_stream,
    expect,
    not_capturable,
    other_device,
    outside_graph,
)
from heald.runtime.device import Device, DeviceLike, get_device
from heald.runtime.resources import Resource, ResourceArray, stale, table_of


class Capture:
    """What is being captured: the streams that take part, and what the graph will need.

    Attributes:
        queue: of the launches of the graph.
        is_active: has it not ended yet?
        pinned: memory of the host that the graph copies from or to.
        resources: what handles name from where the graph runs on.
        expected: those of which it may need the same before.
    """

    def __init__(self, stream: Stream) -> None:
        self.origin = stream
        self.queue = new_queue(stream.gpu, None)
        self.is_active = True
        self.pinned: set[PinnedMemory] = set()
        self.resources: dict[int, Resource] = {}
        self.expected: set[int] = set()
        self._streams = [stream]
        self._kept: list[object] = []

    def keep(self, what: object) -> None:
        """Keep something alive as long as the graph."""
        self._kept.append(what)

    def register(self, kind: int, found: Resource) -> int:
        """A handle for a resource that is there once the graph runs; until then it is empty."""
        nothing = [scalar.dtype.type(0) for scalar in found.scalars]
        empty = [ResourceArray(a.ptr, 0, a.stride, a.owner) for a in found.arrays]
        handle = table_of(self.origin.device).register(kind, nothing, empty)
        self.resources[handle] = replace(found, handle=handle)
        return handle

    def update(self, found: Resource) -> None:
        """Put something else behind a handle whenever the graph runs.

        Raises:
            DeviceError: launches of the graph may see it as it was before (H0811), or the handle
                is stale (H0406).
        """
        table = table_of(self.origin.device)
        before = self.resources.get(found.handle) or table.look_up(found.handle)
        if before is None:
            raise stale(found.handle)
        if self.queue.has_resources and not before.is_same(found):
            raise not_capturable(
                "building a hash grid with another radius or number of points behind launches of "
                "the same graph that query one"
            )
        if self.queue.has_resources and found.handle not in self.resources:
            self.expected.add(found.handle)
        self.resources[found.handle] = found

    def launched(self, what: object) -> None:
        """An entry has launched into it; ``what`` is all that it needs."""
        self.queue.keep_new()
        self._kept.append(what)

    def join(self, stream: Stream) -> None:
        """Another stream takes part from now on.

        Raises:
            DeviceError: it is of another device, or takes part in another capture (H0811).
        """
        if stream.capture is self:
            return
        if stream.capture is not None or stream.device != self.origin.device:
            raise not_capturable("work of another capture or device")
        stream.before = stream.record_event()  # a new one: marks move on
        _close(stream)
        stream.capture = self
        self._streams.append(stream)

    def begin(self) -> None:
        """Capture what is given to the first stream from now on."""
        stream, gpu = self.origin, self.origin.gpu
        stream.before = stream.record_event()  # a new one: marks move on
        _close(stream)
        # Before it begins, and after it has ended: memory that is freed meanwhile, in a finaliser
        # or by another thread, must not become part of it.
        with gpu.lock:
            gpu.captures += 1
        stream.capture = self
        try:
            with gpu.active() as call:
                call("cuStreamBeginCapture_v2", stream.handle, ctypes.c_int(RELAXED))
        except DeviceError:
            self._leave()
            self.queue.abandon()
            gpu.catch_up()
            raise
        self.queue.open_for(self, stream.cuda_stream)

    def end(self) -> Graph:
        """The graph of what was captured.

        Raises:
            DeviceError: the driver does not make one, as where a stream that took part is not
                waited for at the end (H0808).
        """
        gpu, graph = self.origin.gpu, ctypes.c_void_p()
        self.queue.open_for(None, 0)
        try:
            try:
                with gpu.active() as call:
                    call("cuStreamEndCapture", self.origin.handle, ctypes.byref(graph))
            finally:
                self._leave()
            return Graph(gpu, graph, self)
        except DeviceError:
            self.queue.abandon()
            raise
        finally:
            gpu.catch_up()

    def _leave(self) -> None:
        """Its streams do what they are given again."""
        self.is_active = False
        for stream in self._streams:
            stream.capture = stream.before = None
            queue = queue_of(stream)
            queue.open(True)
            stream.address = queue.address
        with self.origin.gpu.lock:
            self.origin.gpu.captures -= 1


def _close(stream: Stream) -> None:
    """Launch entries may not use its queue from now on."""
    queue_of(stream).open(False)
    stream.address = 0


class Graph:
    """Work that :func:`capture_launch` gives to a GPU as a whole.

    Its arrays live as long as it does, those that were made inside the capture too.

    Attributes:
        device: the GPU.
    """

    def __init__(self, gpu: Gpu, graph: ctypes.c_void_p, capture: Capture) -> None:
        self.device = gpu.device
        self._capture = capture  # keeps what the graph uses
        self.queue = queue = capture.queue
        self._done: Event | None = None
        self.handle = ctypes.c_void_p()
        with gpu.active() as call:
            try:
                flags = ctypes.c_ulonglong(0)
                call("cuGraphInstantiateWithFlags", ctypes.byref(self.handle), graph, flags)
            finally:
                call.attempt("cuGraphDestroy", graph)
        weakref.finalize(self, _forget, gpu, self.handle, queue).atexit = False

    def launch(self, stream: Stream) -> None:
        """Give it to a stream."""
        raise_pending(stream)
        queue, gpu, pinned = self.queue, stream.gpu, self._capture.pinned
        with queue.printing:
            if queue.has_printed:
                if self._done is not None:
                    wait_for_event(self._done)
                queue.show()
                if queue.is_raised and not gpu.captures:
                    deliver([queue])
            self._show_resources(stream)
            with gpu.active() as call:
                call("cuGraphLaunch", self.handle, stream.handle)
            queue.stream = stream.cuda_stream
        if queue.has_printed or queue.has_resources or pinned:
            self._done = stream.record_event(self._done)
            for memory in pinned:
                memory.in_use(self._done)

    def _show_resources(self, stream: Stream) -> None:
        """Before a launch: what its own builds leave behind handles, there and for others."""
        table, queue = table_of(self.device), self.queue
        for handle, found in self._capture.resources.items():
            before = table.look_up(handle)
            if before is None:
                continue
            if handle in self._capture.expected and not before.is_same(found):
                message = "the graph queries a hash grid that has another radius or number of "
                message += "points by now before it builds it"
                hint = "build it as it was before the capture, or capture the graph again"
                raise outside_graph(message, hint)
            table.update(found)
        if not queue.has_resources:
            return
        held = table.hold()
        try:
            if self._done is not None and not queue.knows(held):
                stream.wait_event(self._done)  # on another stream it may still read the old ones
            queue.resources(held, stream)
        finally:
            table.let_go(held)

    def __repr__(self) -> str:
        return f"<heald graph on {self.device}>"


def _forget(gpu: Gpu, handle: ctypes.c_void_p, queue: Queue) -> None:
    queue.abandon()
    if gpu.driver.is_usable:
        gpu.later(lambda: _destroy_now(gpu, handle))


def _destroy_now(gpu: Gpu, handle: ctypes.c_void_p) -> None:
    """It may be running still."""
    with gpu.active() as call:
        call.attempt("cuCtxSynchronize")
        call.attempt("cuGraphExecDestroy", handle)


def capture_begin(
    device: DeviceLike = None,
    stream: Stream | None = None,
    force_module_load: bool | None = None,
) -> None:
    """Record what is given to a stream into a graph from now on, instead of doing it.

    Code of kernels is compiled and loaded as always.  Arrays that are made meanwhile belong to the
    graph.  Streams that wait for an event of the captured stream are captured too.

    Args:
        device: the GPU; that of the stream, or the current device, by default.
        stream: what to capture; the current stream of the device by default.
        force_module_load: accepted, without effect: code may be loaded inside a capture.

    Raises:
        DeviceError: the device is no GPU (H0805) or not that of the stream (H0812), or the stream
            is being captured already (H0811).
        KernelFault: an earlier launch has failed.
    """
    chosen = _stream(device, stream)
    chosen.refuse_capture("a capture")
    raise_pending(chosen)
    Capture(chosen).begin()


def capture_end(device: DeviceLike = None, stream: Stream | None = None) -> Graph:
    """End what :func:`capture_begin` began; gives the graph.

    Args:
        device: as for :func:`capture_begin`.
        stream: as for :func:`capture_begin`.

    Raises:
        DeviceError: nothing is being captured there (H0811), the device is not that of the stream
            (H0812), or no graph can be made of it (H0808).
    """
    chosen = _stream(device, stream)
    capture = chosen.capture
    if capture is None or capture.origin is not chosen:
        message = f"nothing is being captured on {chosen!r}"
        hint = "capture_begin and capture_end take the same stream"
        raise outside_graph(message, hint)
    return capture.end()


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Give a graph to a stream, the current one of its device by default, and return at once.

    Raises:
        KernelFault: an earlier launch has failed; the graph was not launched.
        DeviceError: the stream is of another device (H0812) or being captured (H0811), or the graph
            would find another hash grid than it was captured with (H0811).
        TypingError: no graph or no stream (H0702).
    """
    expect(graph, Graph, "graph")
    chosen = current_stream(graph.device) if stream is None else expect(stream, Stream, "stream")
    if chosen.device != graph.device:
        raise other_device(f"a graph of '{graph.device}'", f"a stream of '{chosen.device}'")
    chosen.refuse_capture("the launch of a graph")
    graph.launch(chosen)


def _stream(device: DeviceLike, stream: Stream | None) -> Stream:
    if stream is None:
        return current_stream(cuda_device(device, "graphs are captured on GPUs"))
    found = expect(stream, Stream, "stream").device
    if device is not None and get_device(device) != found:
        raise other_device(f"a stream of '{found}'", f"device '{get_device(device)}'")
    return stream


class ScopedCapture:
    """Captures what is given to a stream inside a ``with``; ``graph`` is there afterwards.

    Args:
        device: as for :func:`capture_begin`.
        stream: as for :func:`capture_begin`.
        force_module_load: as for :func:`capture_begin`.

    Attributes:
        device: the GPU.
        graph: what was captured; None before, and where the block has failed.
    """

    def __init__(
        self,
        device: DeviceLike = None,
        stream: Stream | None = None,
        force_module_load: bool | None = None,
    ) -> None:
        self.stream = _stream(device, stream)
        self.device: Device = self.stream.device
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin(stream=self.stream)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.graph = capture_end(stream=self.stream)
            return
        try:
            capture_end(stream=self.stream)
        except DeviceError:
            return  # what went wrong inside is what the user should see
