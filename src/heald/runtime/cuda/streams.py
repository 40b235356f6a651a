"""Streams and events of GPUs, and the current stream of each thread.

Streams made here wait for the legacy stream of CUDA and it for them, so work of other libraries
that do not use streams is ordered with ours.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from heald.diagnostics import DeviceError, Diagnostic, TypingError
from heald.diagnostics.spans import calling_span
from heald.forks import ForkSafeLock
from heald.runtime.cuda.devices import Gpu, gpu_of
from heald.runtime.device import Device, DeviceLike, current_device, get_device, use_device

if TYPE_CHECKING:
    from heald.runtime.cuda.graphs import Capture
    from heald.runtime.cuda.queue import Queue

_NO_TIMING, _INTERPROCESS = 2, 4
_NOT_READY = 600


def cuda_device(device: DeviceLike, what: str) -> Device:
    """A device that must be a GPU.

    Raises:
        DeviceError: it is none (H0805), or as :func:`get_device`.
    """
    found = get_device(device)
    if not found.is_cuda:
        message = f"{what}: '{found}' is no GPU, and everything on it is done when a call returns"
        hint = "name a device such as 'cuda:0'"
        raise DeviceError(Diagnostic("H0805", message, hint=hint))
    return found


_T = TypeVar("_T")


def expect(given: object, kind: type[_T], name: str) -> _T:
    """An argument that must be a stream, an event or a graph.

    Raises:
        TypingError: it is something else (H0702).
    """
    if isinstance(given, kind):
        return given
    noun = kind.__name__.lower()
    message = f"{name} is {_shown(given)}, which is no {noun}"
    hint = "wp.ScopedCapture makes graphs" if noun == "graph" else f"make one: wp.{kind.__name__}()"
    raise TypingError(Diagnostic("H0702", message, hint=hint))


def _shown(given: object) -> str:
    """A value in an error message; what an array holds is on its device."""
    plain = isinstance(given, (str, int, float))
    kind = type(given).__name__
    return f"{kind} {given!r:.40}" if plain else f"an object of type {kind}"


def _handle(given: object, name: str) -> int:
    """A handle of the driver as a number.

    Raises:
        TypingError: it is none (H0702).
    """
    try:
        found = index(given)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if not 0 <= found < 1 << 64:
        message = f"{name} is {_shown(given)}, which is no handle"
        hint = "handles of the driver are addresses, whole numbers"
        raise TypingError(Diagnostic("H0702", message, hint=hint))
    return found


def _priority(given: object) -> int:
    """The priority of a stream that an integer stands for.

    Raises:
        TypingError: it is none (H0702).
    """
    try:
        return max(-1, min(0, index(given)))  # type: ignore[arg-type]
    except TypeError:
        message = f"priority is {_shown(given)}, which is no integer"
        hint = "-1 is high, 0 is normal"
        raise TypingError(Diagnostic("H0702", message, hint=hint)) from None


class Event:
    """A point in the work of a stream, which streams and the host can wait for.

    Args:
        device: the GPU; the current device by default.
        cuda_event: a handle of the driver that somebody else owns and keeps.
        enable_timing: whether :func:`get_event_elapsed_time` takes it.
        interprocess: whether other processes may share it; then without timing.

    Attributes:
        device: the GPU.
        cuda_event: the driver's handle.
        queues: of the stream that it was recorded on, each with the number of its term.

    Raises:
        DeviceError: the device is no GPU (H0805).
        TypingError: ``cuda_event`` is no handle (H0702).
    """

    def __init__(
        self,
        device: DeviceLike = None,
        cuda_event: int | None = None,
        enable_timing: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = cuda_device(device, "events are for GPUs")
        self.capture: Capture | None = None
        self.queues: tuple[tuple[Queue, int], ...] = ()
        self.has_timing = enable_timing or cuda_event is not None
        gpu = gpu_of(self.device)
        if cuda_event is not None:
            self.cuda_event = _handle(cuda_event, "cuda_event")
            return
        if enable_timing and interprocess:
            message = "an event that processes share has no timing"
            raise DeviceError(Diagnostic("H0805", message, hint="leave out one of the two"))
        flags = (0 if enable_timing else _NO_TIMING) | (_INTERPROCESS if interprocess else 0)
        handle = ctypes.c_void_p()
        with gpu.active() as call:
            call("cuEventCreate", ctypes.byref(handle), ctypes.c_uint(flags))
        assert handle.value is not None
        self.cuda_event = handle.value
        weakref.finalize(self, _destroy, gpu, "cuEventDestroy_v2", handle.value).atexit = False

    @property
    def is_complete(self) -> bool:
        """Is everything done that came before it?  Also where it was never recorded."""
        return _is_done(gpu_of(self.device), "cuEventQuery", self.cuda_event)

    def __repr__(self) -> str:
        return f"<heald event on {self.device}>"


class Stream:
    """Work of a GPU that is done in the order in which it was given.

    Args:
        device: the GPU; the current device by default.
        priority: -1 for high, 0 for normal; other integers are taken as the nearer of the two.
        cuda_stream: a handle of the driver that somebody else owns and keeps, longer than this
            object.

    Attributes:
        device: the GPU.
        cuda_stream: the driver's handle.
        handle: the same as the driver takes it.
        is_foreign: does somebody else own the handle?
        address: of the queue that launch entries use; 0 where they may not.
        before: while it is captured, what it was given before.

    Raises:
        DeviceError: the device is no GPU (H0805).
        TypingError: ``cuda_stream`` is no handle, or ``priority`` no integer (H0702).
    """

    def __init__(
        self, device: DeviceLike = None, priority: int = 0, cuda_stream: int | None = None
    ) -> None:
        self.device = cuda_device(device, "streams are for GPUs")
        wanted = _priority(priority)
        gpu = gpu_of(self.device)
        default = default_stream(self.device)
        self._start(gpu, cuda_stream, wanted)
        with gpu.lock:
            gpu.has_many_streams = True
        # Memory allocated in the order of the default stream must be there for this one; a graph
        # of somebody else, which runs later, takes no event from outside.
        if not (self.is_foreign and self.is_capturing):
            self.wait_event(default.before or default.mark())

    def _start(self, gpu: Gpu, given: int | None, priority: int) -> None:
        self.capture: Capture | None = None
        self.queue: Queue | None = None
        self.address = 0
        self.gpu = gpu
        self._mark: Event | None = None
        self.before: Event | None = None
        if given is None:
            self.cuda_stream = _make(gpu, priority)
        else:
            self.cuda_stream = _handle(given, "cuda_stream")
        self.handle = ctypes.c_void_p(self.cuda_stream)
        with gpu.lock:
            gpu.streams.add(self)
        self.is_foreign = given is not None
        is_own = given is None
        weakref.finalize(self, _retire, gpu, self.cuda_stream, is_own).atexit = False

    @classmethod
    def default(cls, gpu: Gpu) -> Stream:
        """The stream that work goes to where no other is chosen."""
        made = object.__new__(cls)
        made.device = gpu.device
        made._start(gpu, None, 0)
        return made

    @property
    def queues(self) -> list[Queue]:
        """Its queue, and those of the graphs that it ran last."""
        return [queue for queue in self.gpu.queues if queue.stream == self.cuda_stream]

    @property
    def priority(self) -> int:
        """-1 for high, 0 for normal."""
        found = ctypes.c_int()
        with self.gpu.active() as call:
            call("cuStreamGetPriority", self.handle, ctypes.byref(found))
        return max(-1, min(0, found.value))

    @property
    def is_complete(self) -> bool:
        """Is everything done that was given to it?

        Raises:
            DeviceError: it is being captured (H0811).
        """
        self.refuse_capture("whether a stream is done")
        return _is_done(self.gpu, "cuStreamQuery", self.cuda_stream)

    @property
    def is_capturing(self) -> bool:
        """Is its work recorded into a graph instead of being done?"""
        state = ctypes.c_int()
        with self.gpu.active() as call:
            call("cuStreamIsCapturing", self.handle, ctypes.byref(state))
        return bool(state.value)

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event after everything given so far; gives the event, a new one by default.

        Raises:
            DeviceError: the event is of another device (H0812).
            TypingError: it is no event (H0702).
        """
        event = Event(self.device) if event is None else expect(event, Event, "event")
        if event.device != self.device:
            raise other_device(f"an event of '{event.device}'", f"a stream of '{self.device}'")
        with self.gpu.active() as call:
            call("cuEventRecord", ctypes.c_void_p(event.cuda_event), self.handle)
        event.capture = self.capture
        event.queues = tuple((queue, queue.term) for queue in self.queues)
        return event

    def wait_event(self, event: Event) -> None:
        """What is given to it from now on waits for the event, which may be of another device.

        Raises:
            DeviceError: one of the two belongs to a capture, the other does not (H0811).
            TypingError: it is no event (H0702).
        """
        joined = expect(event, Event, "event").capture
        if joined is not None and joined.is_active:
            joined.join(self)
        elif self.capture is not None:
            raise not_capturable("waiting for what was given to a stream before the capture")
        with self.gpu.active() as call:
            mark = ctypes.c_void_p(event.cuda_event)
            call("cuStreamWaitEvent", self.handle, mark, ctypes.c_uint(0))

    def wait_stream(self, other: Stream, event: Event | None = None) -> None:
        """What is given to it from now on waits for everything given to the other stream so far.

        ``event`` is recorded there; by default one of the other stream's own.

        Raises:
            DeviceError: as of :meth:`record_event` and :meth:`wait_event`.
            TypingError: they are no stream and event (H0702).
        """
        expect(other, Stream, "other")
        self.wait_event(other.mark() if event is None else other.record_event(event))

    def mark(self) -> Event:
        """An event of its own, recorded now."""
        if self._mark is None:
            self._mark = Event(self.device)
        return self.record_event(self._mark)

    def lend(self) -> None:
        """Another library uses its handle from now on, and may do so longer than we do: torch marks
        the stream when it frees memory used there, and ends the process where it is gone."""
        if not self.is_foreign and self.cuda_stream not in self.gpu.lent:
            self.gpu.lent[self.cuda_stream] = self.priority

    def refuse_capture(self, what: str) -> None:
        """Raise where the stream is being captured.

        Raises:
            DeviceError: H0811.
        """
        if self.capture is not None:
            raise not_capturable(what)

    def __repr__(self) -> str:
        return f"<heald stream {self.cuda_stream:#x} on {self.device}>"


def not_capturable(what: str) -> DeviceError:
    """The error of something that cannot be part of a graph."""
    hint = "do it before capture_begin or after capture_end"
    return outside_graph(f"{what} cannot be captured into a graph", hint)


def outside_graph(message: str, hint: str = "") -> DeviceError:
    """An error of graphs, which shows the call that it is about."""
    return DeviceError(Diagnostic("H0811", message, calling_span(), hint=hint))


def other_device(one: str, other: str) -> DeviceError:
    """The error of things that belong to different devices."""
    hint = "make both on one device, such as wp.Stream('cuda:0') and wp.Event('cuda:0')"
    return DeviceError(Diagnostic("H0812", f"{one} does not go with {other}", hint=hint))


def _is_done(gpu: Gpu, query: str, handle: int) -> bool:
    with gpu.active() as call:
        return call.ask(query, ctypes.c_void_p(handle), no=_NOT_READY)


def _make(gpu: Gpu, priority: int) -> int:
    """The handle of a stream: one that had to stay, else a new one."""
    with gpu.lock:
        for handle in gpu.spare:
            if gpu.lent[handle] == priority:
                gpu.spare.remove(handle)
                return handle
    made, flags = ctypes.c_void_p(), ctypes.c_uint(0)
    with gpu.active() as call:
        call("cuStreamCreateWithPriority", ctypes.byref(made), flags, ctypes.c_int(priority))
    return made.value or 0


def _destroy(gpu: Gpu, function: str, handle: int) -> None:
    if gpu.driver.is_usable:
        with gpu.active() as call:
            call.attempt(function, ctypes.c_void_p(handle))


def _retire(gpu: Gpu, stream: int, is_own: bool) -> None:
    """Let a stream go.  Memory that its work uses is freed after that work."""
    if not gpu.driver.is_usable:
        return
    with gpu.lock:
        is_gone = is_own or all(other.cuda_stream != stream for other in gpu.streams)
        for queue in gpu.queues if is_gone else ():
            if queue.stream == stream:
                queue.stream = None
    handle, event, state = ctypes.c_void_p(stream), ctypes.c_void_p(), ctypes.c_int()
    with gpu.active() as call:
        call.attempt("cuStreamIsCapturing", handle, ctypes.byref(state))
        if state.value:
            return  # by its owner, who keeps what it uses; an event would draw others into it
        call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(_NO_TIMING))
        call.attempt("cuEventRecord", event, handle)
        call.attempt("cuStreamWaitEvent", gpu.own_stream("free"), event, ctypes.c_uint(0))
        call.attempt("cuEventDestroy_v2", event)
        if is_own and stream not in gpu.lent:
            call.attempt("cuStreamDestroy_v2", handle)
    if is_own and stream in gpu.lent:
        with gpu.lock:
            gpu.spare.append(stream)


# ------------------------------------------------------------------------------- current streams


class _OfThread(threading.local):
    """The streams that this thread uses, by device."""

    def __init__(self) -> None:
        self.streams: dict[str, Stream] = {}


class Chosen:
    """The streams that threads use, by device.

    Attributes:
        sole: the default streams of devices on which no thread has ever chosen another one.  Every
            launch asks, and what belongs to a thread takes four times as long to find.
        of_thread: the streams of this thread on the other devices, as far as it has used them.
    """

    __slots__ = ("_lock", "_many", "of_thread", "sole")

    def __init__(self) -> None:
        self.sole: dict[str, Stream] = {}
        self.of_thread = _OfThread()
        self._many: set[str] = set()
        self._lock = ForkSafeLock(reentrant=True)

    def add_default(self, stream: Stream) -> Stream:
        """Let a thread that has not chosen use the default stream; gives it."""
        alias = stream.device.alias
        with self._lock:
            if alias not in self._many:
                self.sole[alias] = stream
                if alias not in self._many:
                    return stream
                del self.sole[alias]  # the handler of a signal has chosen meanwhile
        return self.of_thread.streams.setdefault(alias, stream)

    def choose(self, stream: Stream) -> None:
        """Make a stream the one that this thread uses on its device."""
        alias = stream.device.alias
        if alias not in self._many or alias in self.sole:
            if stream is self.sole.get(alias):
                return
            with self._lock:
                self._many.add(alias)
                self.sole.pop(alias, None)
        self.of_thread.streams[alias] = stream


CHOSEN = Chosen()


def default_stream(device: Device) -> Stream:
    """The default stream of a GPU, made when it is first asked for."""
    gpu = gpu_of(device)
    if gpu.default is None:
        with gpu.lock:
            if gpu.default is None:
                gpu.default = Stream.default(gpu)
    return gpu.default


def current_stream(device: Device) -> Stream:
    """The stream of a GPU that this thread uses where none is named."""
    alias = device.alias
    found = CHOSEN.sole.get(alias) or CHOSEN.of_thread.streams.get(alias)
    return found or CHOSEN.add_default(default_stream(device))


def use_stream(stream: Stream) -> Stream:
    """Make a stream the one that this thread uses on its device; gives the one used so far."""
    before = current_stream(stream.device)
    CHOSEN.choose(stream)
    return before


def get_stream(device: DeviceLike = None) -> Stream:
    """The stream of a GPU that this thread uses where none is named.

    Raises:
        DeviceError: the device is no GPU (H0805), or unknown.
    """
    return current_stream(cuda_device(device, "streams are for GPUs"))


def set_stream(stream: Stream | None, device: DeviceLike = None, sync: bool = False) -> None:
    """Make a stream the one that this thread uses on its device; None is the default stream.

    Args:
        stream: what to use from now on.
        device: where; needed only where it is not the device of the stream.
        sync: let it wait for what was given to the stream used so far.

    Raises:
        DeviceError: the stream is of another device (H0812), or the device is no GPU (H0805).
        TypingError: it is no stream (H0702).
    """
    if stream is not None and device is None:
        place = expect(stream, Stream, "stream").device
    else:
        place = cuda_device(device, "streams are for GPUs")
    if stream is not None and expect(stream, Stream, "stream").device != place:
        raise other_device(f"a stream of '{stream.device}'", f"device '{place}'")
    before = current_stream(place)
    chosen = default_stream(place) if stream is None else stream
    if sync and chosen is not before:
        chosen.wait_stream(before)
    CHOSEN.choose(chosen)


def record_event(event: Event | None = None) -> Event:
    """Put an event after everything given to the current stream; gives the event."""
    device = current_device() if event is None else expect(event, Event, "event").device
    return get_stream(device).record_event(event)


def wait_event(event: Event) -> None:
    """Let the current stream wait for an event."""
    expect(event, Event, "event")
    get_stream(event.device if not current_device().is_cuda else None).wait_event(event)


def wait_stream(other: Stream, event: Event | None = None) -> None:
    """Let the current stream wait for everything given to another one."""
    expect(other, Stream, "other")
    place = current_device() if current_device().is_cuda else other.device
    current_stream(place).wait_stream(other, event)


class ScopedStream:
    """Makes a stream the current one of its device, and its device the current one, in a ``with``.

    Args:
        stream: the stream; None changes nothing.
        sync_enter: let it wait at the start for what was given to the stream used before.
        sync_exit: let the stream used before wait at the end for what was given to this one.

    Raises:
        TypingError: it is no stream (H0702).
    """

    __slots__ = ("_before", "_enter", "_exit", "stream")

    def __init__(
        self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False
    ) -> None:
        self.stream = None if stream is None else expect(stream, Stream, "stream")
        self._enter = sync_enter
        self._exit = sync_exit
        self._before: list[tuple[Device, Stream]] = []

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            device = self.stream.device
            self._before.append((current_device(), current_stream(device)))
            set_stream(self.stream, device, self._enter)
            use_device(device)
        return self.stream

    def __exit__(self, *_: Any) -> None:
        if self.stream is not None:
            device, before = self._before.pop()
            set_stream(before, self.stream.device, self._exit)
            use_device(device)
