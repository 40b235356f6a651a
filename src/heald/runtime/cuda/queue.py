"""What launches of a stream leave behind besides memory: faults and prints.

Launches do not wait for their kernels.  A kernel that faults leaves a word in pinned memory of the
host, which is read wherever the host waits for the GPU and at every launch; prints are read where
the host waits.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import struct
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from heald.artifact import Fault, FaultKind, PrintFormat, abi
from heald.config import config
from heald.diagnostics import DeviceError, Diagnostic, KernelFault, Note
from heald.runtime.cuda.devices import Gpu, discover, gpu_of
from heald.runtime.cuda.memory import Bytes, release_pinned
from heald.runtime.cuda.streams import Event, Stream, expect, not_capturable, other_device
from heald.runtime.device import Device
from heald.runtime.launch import MAX_RANK
from heald.runtime.memory import Allocation
from heald.runtime.printing import CAPACITY, PrintOutput, new_buffer, read_launches
from heald.runtime.resources import Snapshot

if TYPE_CHECKING:
    from heald.runtime.cuda.graphs import Capture

_FAULT_HEAD = struct.Struct("<6q")
_SLOT = struct.Struct("<10q")
_NO_FAULT = struct.pack("<5q", abi.NO_THREAD, 0, 0, 0, 0)
_LOG = struct.Struct("<7q")
_PORTABLE_AND_MAPPED, _FLAG_SIZE = 3, 8
_LAST_NUMBER = (1 << 32) - 1
_EARLIER = "this is of an earlier launch: launches on a GPU do not wait for their threads"
_SWITCH = "wp.config.verify_cuda = True (HEALD_VERIFY_CUDA=1)"
_STOP_THERE = f"with {_SWITCH} every launch waits and raises its own faults"
_STOP_IN_GRAPH = f"launched without the graph and with {_SWITCH}, it waits and raises this itself"


class Source(Protocol):
    """Whoever launches: it knows what the numbers in faults and prints mean."""

    @property
    def formats(self) -> Mapping[int, PrintFormat]:
        """Its print statements, by op id."""

    def error(self, fault: Fault, dims: Sequence[int]) -> KernelFault:
        """The exception for a fault of a launch."""

    def show(self, printed: PrintOutput) -> None:
        """Write what a launch printed."""


_SOURCES: dict[int, Source] = {}
_NUMBERS = itertools.count(1)


def register(source: Source) -> int:
    """The number of a source, for :meth:`Queue.note`.  Sources are never forgotten."""
    number = next(_NUMBERS)
    _SOURCES[number] = source
    return number


class Queue:
    """Launch numbers, fault record, prints and resource table of one stream or graph.

    Attributes:
        words: what launch entries read (``abi.QUEUE_OPEN`` and on).
        address: of the words.
        stream: the driver's handle of the stream, for a graph of that it was launched on last;
            None where it is gone: another one may have the handle by now.
        capture: that makes the graph it is for, until it ends.
        is_abandoned: can nobody launch with it any more?
        term: how many streams and graphs it has served.
        has_printed: may there be something to show?
        printing: held from asking for the print buffer to the launch, and while prints are read:
            what another thread launches meanwhile would be lost.
        has_resources: has some launch used the resource table?
    """

    def __init__(self, gpu: Gpu, stream: int | None) -> None:
        self._gpu = gpu
        self.stream: int | None = None
        self.capture: Capture | None = None
        self.is_abandoned = False
        self.term = 0
        self._lock = Lock()
        self.printing = RLock()
        self._number = -1
        self._kept: dict[int, tuple[int, tuple[int, ...]]] | None
        self._faults = _new_memory(gpu, abi.GPU_FAULT_SIZE)
        self._prints = 0
        self.has_printed = False
        self._table = 0
        self.has_resources = False
        self._known: tuple[weakref.ref[Snapshot], int] | None = None
        self._records = self._others = 0
        self._flag = _new_flag(gpu)
        self._log = np.zeros((abi.LOG_RECORDS, abi.LOG_RECORD_SIZE // 8), np.int64)
        flag = struct.pack("<q", ctypes.addressof(self._flag))
        head = bytearray(abi.GPU_FAULT_HEAD)
        head[: len(_NO_FAULT)] = _NO_FAULT
        head[abi.GPU_FAULT_FLAG : abi.GPU_FAULT_FLAG + 8] = flag
        put(gpu, self._faults, bytes(head))
        self.words = np.zeros(abi.QUEUE_SIZE // 8, np.int64)
        self.address = self.words.ctypes.data
        call = gpu.driver
        for place, word in {
            abi.QUEUE_FLAG: ctypes.addressof(self._flag),
            abi.QUEUE_CONTEXT: gpu.context,
            abi.QUEUE_FAULT: self._faults,
            abi.QUEUE_LOG: self._log.ctypes.data,
            abi.QUEUE_LAUNCH: call.address("cuLaunchKernelEx"),
            abi.QUEUE_GET_CONTEXT: call.address("cuCtxGetCurrent"),
            abi.QUEUE_PUSH_CONTEXT: call.address("cuCtxPushCurrent_v2"),
            abi.QUEUE_POP_CONTEXT: call.address("cuCtxPopCurrent_v2"),
        }.items():
            self.words[place // 8] = word
        self.serve(stream)
        gpu.queues.append(self)

    def serve(self, stream: int | None) -> None:
        """Be the queue of a stream, or of a graph, which keeps all its launches."""
        self.stream = stream
        self.is_abandoned = False
        self.term += 1
        self._kept = {} if stream is None else None
        self._known, self.has_resources = None, False
        self._seen = int(self.words[abi.QUEUE_NUMBER // 8])
        self.words[abi.QUEUE_STREAM // 8] = stream or 0
        self.open(stream is not None)

    def abandon(self) -> None:
        """Its stream or graph is gone; what it launched may still run."""
        self.open(False)
        self.stream = None
        self.is_abandoned = True

    # ------------------------------------------------------------------------------- for launches

    @property
    def faults(self) -> int:
        """Device address of the fault record."""
        return self._faults

    def note(self, source: int, dims: Sequence[int]) -> int:
        """The number of a new launch, which is odd: entries count in even ones."""
        with self._lock:
            self._number += 2
            if self._number > _LAST_NUMBER:
                self._number = 1
            number = self._number
            if self._kept is not None:
                self._kept[number] = (source, tuple(dims))
            else:
                pads = (1,) * (MAX_RANK - len(dims))
                place = self._log[number % abi.LOG_RECORDS]
                place[:7] = (number, source, len(dims), *dims, *pads)
            return number

    def keep_new(self) -> None:
        """Remember the launches that entries have added, for a graph."""
        with self._lock:
            assert self._kept is not None
            last = int(self.words[abi.QUEUE_NUMBER // 8])
            while self._seen != last:
                self._seen = self._seen + 2 if self._seen + 2 <= _LAST_NUMBER else 2
                _, source, rank, *dims = _LOG.unpack_from(self._log[self._seen % abi.LOG_RECORDS])
                self._kept[self._seen] = (source, tuple(dims[:rank]))

    def print_buffer(self) -> int:
        """Device address of the print buffer; what was printed before is shown, but in a graph.

        Raises:
            KernelFault: a launch before has failed; not while something is captured.
        """
        if not self._prints:
            self._prints = _new_memory(self._gpu, abi.PRINT_DATA + CAPACITY)
            put(self._gpu, self._prints, new_buffer().buffer)
        elif self.has_printed and self._kept is None:
            if self._gpu.captures:
                wait_for(self._gpu, self.stream)
                self.show()
            else:
                deliver([self])
        self.has_printed = True
        return self._prints

    def resources(self, snapshot: Snapshot, stream: Stream) -> int:
        """Device address of the records of a resource table, as launches on ``stream`` see them."""
        self.has_resources = True
        if not self._table:
            size = abi.RESOURCE_CAPACITY * abi.RESOURCE_SIZE
            self._table = _new_memory(self._gpu, size)
            put(self._gpu, self._table, bytes(size))
            self.words[abi.QUEUE_RESOURCES // 8] = self._table
        if not self.knows(snapshot):
            self._records = max(self._records, 1 + max(snapshot.records, default=-1))
            used = snapshot.memory.buffer[: self._records * abi.RESOURCE_SIZE]
            data = np.ascontiguousarray(used)
            put(self._gpu, self._table, data, None if stream.capture else stream)
            self._known = (weakref.ref(snapshot), snapshot.revision)
        return self._table

    def knows(self, snapshot: Snapshot) -> bool:
        """Has the GPU the records of a resource table as they are?"""
        known = self._known
        if known is None:
            return False
        return known[0]() is snapshot and known[1] == snapshot.revision

    def forget(self) -> None:
        """In a forked child, which can use nothing of it and may not even have the pinned word."""
        self.open(False)
        self._flag = ctypes.c_int64(0)
        self.words[abi.QUEUE_FLAG // 8] = ctypes.addressof(self._flag)

    def open(self, is_open: bool) -> None:
        """Whether launch entries may use it; in a forked child never, where nobody else refuses
        them."""
        self.words[abi.QUEUE_OPEN // 8] = is_open and self._gpu.driver.is_usable

    def open_for(self, capture: Capture | None, stream: int) -> None:
        """Let entries launch into a stream that is captured; None ends that."""
        self.capture = capture
        self.words[abi.QUEUE_STREAM // 8] = stream
        self.open(capture is not None)

    # ------------------------------------------------------------------------------ for the host

    @property
    def is_raised(self) -> bool:
        """Has a launch that ran faulted?"""
        return self._flag.value != 0

    def collect(self) -> list[KernelFault]:
        """Show what was printed; gives the faults.  Its work has ended."""
        with self.printing:
            if self.has_printed:
                if self.stream is not None:
                    wait_for(self._gpu, self.stream)  # for what others have launched since
                self.show()
            return self._take_faults()

    def _take_faults(self) -> list[KernelFault]:
        """The faults so far, also of what other threads have launched since the wait.

        Entries start nothing while the flag is up, so it is taken down last.  Launches that had
        looked at it before may fail meanwhile: the record is read once more behind it.
        """
        found = []
        while self._flag.value:
            if self.stream is not None:
                wait_for(self._gpu, self.stream)  # threads go on writing behind the flag
            owner, key, count, used, others = self._read_record()
            more, self._others = others - self._others, others
            notes = []
            threads = "1 thread" if more == 1 else f"{more:,} threads"
            if more:
                notes.append(Note(f"{threads} of other launches faulted too, before it was told"))
            slots = min(used, abi.GPU_FAULT_SLOTS) * abi.GPU_FAULT_SLOT_SIZE
            data = _get(self._gpu, self._faults + abi.GPU_FAULT_HEAD, slots)
            if owner:  # else it is free, and another launch may have taken it by now
                put(self._gpu, self._faults, _NO_FAULT)
                found.append(self._error(owner, decode_fault(key, count, data.tobytes()), notes))
            elif more:
                found.append(KernelFault(f"{threads} of a launch faulted meanwhile"))
            self._flag.value = 0
            owner, *_, others = self._read_record()
            if owner or others != self._others:
                self._flag.value = 1
        return found

    def _read_record(self) -> tuple[int, int, int, int, int]:
        head = _get(self._gpu, self._faults, _FAULT_HEAD.size)
        key, count, used, owner, _, others = _FAULT_HEAD.unpack(head.tobytes())
        return owner, key, count, used, others

    def _error(self, number: int, fault: Fault, notes: Sequence[Note]) -> KernelFault:
        launch = self._launch(number)
        if launch is None:
            return KernelFault(f"a launch long ago has failed: {fault}")
        source, dims = launch
        return as_past(_SOURCES[source].error(fault, dims), notes, in_graph=self._kept is not None)

    def _launch(self, number: int) -> tuple[int, tuple[int, ...]] | None:
        if self._kept is not None:
            return self._kept.get(number)
        found, source, rank, *dims = _LOG.unpack_from(self._log[number % abi.LOG_RECORDS])
        return (source, tuple(dims[:rank])) if found == number else None

    def show(self) -> None:
        """Write what its launches have printed.  They have ended."""
        self.has_printed = self._kept is not None
        head = _get(self._gpu, self._prints, abi.PRINT_DATA)
        used = int(head.view(np.int64)[abi.PRINT_USED // 8])
        dropped = int(head.view(np.int64)[abi.PRINT_DROPPED // 8])
        if not used and not dropped:
            return
        data = _get(self._gpu, self._prints, abi.PRINT_DATA + min(used, CAPACITY))
        memory = Allocation(0, data.nbytes, data)
        empty = new_buffer().buffer[: data.nbytes]
        put(self._gpu, self._prints, np.ascontiguousarray(empty))
        for number, printed in read_launches(memory, self._formats).items():
            launch = self._launch(number)
            if launch is not None:
                _SOURCES[launch[0]].show(printed)

    def _formats(self, number: int) -> Mapping[int, PrintFormat]:
        launch = self._launch(number)
        return {} if launch is None else _SOURCES[launch[0]].formats


def as_past(error: KernelFault, notes: Sequence[Note], *, in_graph: bool) -> KernelFault:
    """The same error with more notes, which says that it is of an earlier launch and how to stop
    at that, unless launches are waited for; graphs never are."""
    if not error.diagnostics:
        return error
    first, *rest = error.diagnostics
    if in_graph or not config.verify_cuda:
        notes = (*notes, Note(_EARLIER))
        way = _STOP_IN_GRAPH if in_graph else _STOP_THERE
        first = replace(first, hint=f"{first.hint}; {way}" if first.hint else way)
    return type(error)(replace(first, notes=(*first.notes, *notes)), *rest)


def decode_fault(key: int, count: int, slots: bytes) -> Fault:
    """The fault of the lowest thread; without index and shape where it found no free slot."""
    kind = FaultKind(key & ((1 << abi.FAULT_KIND_BITS) - 1))
    op = key >> abi.FAULT_KIND_BITS & ((1 << abi.FAULT_OP_BITS) - 1)
    thread = key >> abi.FAULT_THREAD_SHIFT
    for found, rank, *words in _SLOT.iter_unpack(slots):
        if found == key:
            index, shape = words[:MAX_RANK], words[MAX_RANK:]
            return Fault(kind, op, thread, tuple(index[:rank]), tuple(shape[:rank]), count)
    return Fault(kind, op, thread, count=count)


# ---------------------------------------------------------------------------------------- memory of
# queues, which lives until the end of the process and is reached whatever is captured.


def _new_memory(gpu: Gpu, nbytes: int) -> int:
    address = ctypes.c_uint64()
    with gpu.despite_captures() as call:
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
    return address.value


def _new_flag(gpu: Gpu) -> ctypes.c_int64:
    """A word of pinned memory."""
    place = ctypes.c_void_p()
    with gpu.despite_captures() as call:
        size, flags = ctypes.c_size_t(_FLAG_SIZE), ctypes.c_uint(_PORTABLE_AND_MAPPED)
        call("cuMemHostAlloc", ctypes.byref(place), size, flags)
    assert place.value is not None
    word = ctypes.c_int64.from_address(place.value)
    word.value = 0
    return word


def put(gpu: Gpu, to: int, data: bytes | npt.NDArray[Any], stream: Stream | None = None) -> None:
    """Copy bytes of the host to a GPU, arrays without gaps: in the order of a stream, or at once,
    whatever is captured."""
    source = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    if not source.nbytes:
        return
    what = (ctypes.c_uint64(to), ctypes.c_void_p(source.ctypes.data))
    size = ctypes.c_size_t(source.nbytes)
    if stream is not None:
        with gpu.active() as call:
            call("cuMemcpyHtoDAsync_v2", *what, size, stream.handle)
        return
    with gpu.aside() as (call, aside):
        call("cuMemcpyHtoDAsync_v2", *what, size, aside)


def _get(gpu: Gpu, place: int, nbytes: int) -> Bytes:
    out = np.empty(nbytes, np.uint8)
    if nbytes:
        with gpu.aside() as (call, aside):
            to = ctypes.c_void_p(out.ctypes.data)
            size = ctypes.c_size_t(nbytes)
            call("cuMemcpyDtoHAsync_v2", to, ctypes.c_uint64(place), size, aside)
    return out


# ------------------------------------------------------------------------------------------ waiting


def queue_of(stream: Stream) -> Queue:
    """The queue of a stream; while it is captured, that of the graph."""
    if stream.capture is not None:
        return stream.capture.queue
    if stream.queue is None:
        with stream.gpu.lock:
            if stream.queue is None:
                made = new_queue(stream.gpu, stream.cuda_stream)
                weakref.finalize(stream, made.abandon).atexit = False
                stream.queue = made
                stream.address = made.address
    return stream.queue


def entry_queue(stream: Stream, is_direct: bool) -> Queue | None:
    """The queue that launch entries may use for a stream, if there is one.

    While a stream is captured they may only if they keep their arguments (``is_direct``).
    """
    capture = stream.capture
    if capture is None:
        return stream.queue
    return capture.queue if is_direct and capture.origin is stream else None


def has_resources(device: Device, address: int, snapshot: Snapshot) -> bool:
    """Does the queue at an address show its launches a resource table as it is?"""
    for queue in gpu_of(device).queues:
        if queue.address == address:
            return queue.knows(snapshot)
    return False


def new_queue(gpu: Gpu, stream: int | None) -> Queue:
    """A queue for a stream, or for a graph; one that was abandoned where there is one."""
    with gpu.lock:
        if not gpu.idle_queues:
            return Queue(gpu, stream)
        queue = gpu.idle_queues.pop()
        queue.serve(stream)
        gpu.queues.append(queue)
        return queue


def wait_for(gpu: Gpu, stream: int | None) -> None:
    """Wait for a stream by its handle, or for all of them."""
    with gpu.active() as call:
        if stream is None:
            call("cuCtxSynchronize")
        else:
            call("cuStreamSynchronize", ctypes.c_void_p(stream))


def wait_for_event(event: Event) -> None:
    """Wait for an event; what failed before it is left for later."""
    with gpu_of(event.device).active() as call:
        call("cuEventSynchronize", ctypes.c_void_p(event.cuda_event))


def deliver(queues: Iterable[Queue]) -> None:
    """Show what was printed and raise what failed; the work of the queues has ended.

    Raises:
        KernelFault: the first of them, with what else failed behind it.
    """
    errors = [error for queue in queues for error in queue.collect()]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise type(errors[0])(*(part for error in errors for part in error.parts))


def raise_pending(stream: Stream) -> None:
    """Raise what is known to have failed on a stream; not while something is captured.

    Raises:
        KernelFault: of a launch before.
    """
    queues = stream.queues
    if any(queue.is_raised for queue in queues) and not stream.gpu.captures:
        wait_for(stream.gpu, stream.cuda_stream)
        deliver(queues)


def synchronize_stream(stream: Stream) -> None:
    """Wait for everything given to a stream.

    Raises:
        KernelFault: a launch on it has failed.
        DeviceError: it is being captured (H0811), or the driver reports an error.
    """
    stream.refuse_capture("waiting for a stream")
    wait_for(stream.gpu, stream.cuda_stream)
    release_pinned()
    deliver(stream.queues)


def synchronize_event(event: Event) -> None:
    """Wait until everything before an event is done.

    What the launches of its stream have printed is shown, once they have all ended.

    Raises:
        KernelFault: a launch on the stream has failed; not while something is captured.
        DeviceError: the event belongs to a capture (H0811), or the driver reports an error.
        TypingError: it is no event (H0702).
    """
    if expect(event, Event, "event").capture is not None:
        raise not_capturable("waiting for an event of a graph")
    wait_for_event(event)
    gpu = gpu_of(event.device)
    if gpu.captures:
        return
    queues = [queue for queue, term in event.queues if queue.term == term]
    queues = [queue for queue in queues if queue.is_raised or queue.has_printed]
    if any(queue.stream is None for queue in queues):
        wait_for(gpu, None)  # what their stream was given behind the event may still run
    deliver(queues)


def get_event_elapsed_time(start: Event, end: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events made with ``enable_timing=True``.

    Args:
        start: the first.
        end: the second; of the same device.
        synchronize: wait for it first.

    Raises:
        KernelFault: as of :func:`synchronize_event`.
        DeviceError: an event without timing (H0805), of another device (H0812), of a capture
            (H0811), or not recorded (H0808).
        TypingError: they are no events (H0702).
    """
    if expect(start, Event, "start").device != expect(end, Event, "end").device:
        raise other_device(f"an event of '{start.device}'", f"one of '{end.device}'")
    if not (start.has_timing and end.has_timing):
        hint = "make both with wp.Event(enable_timing=True)"
        raise DeviceError(Diagnostic("H0805", "an event that keeps no time", hint=hint))
    elapsed = ctypes.c_float()
    one, two = ctypes.c_void_p(start.cuda_event), ctypes.c_void_p(end.cuda_event)
    if synchronize:
        synchronize_event(end)
    with gpu_of(start.device).active() as call:
        call("cuEventElapsedTime", ctypes.byref(elapsed), one, two)
    return elapsed.value


def synchronize_gpu(gpu: Gpu) -> None:
    """Wait until a GPU has finished everything that was given to it.

    Raises:
        KernelFault: a launch on it has failed.
        DeviceError: a stream of it is being captured (H0811), or the driver reports an error.
    """
    if not gpu.is_in_use:
        return
    if gpu.captures:
        raise not_capturable("waiting for a device")
    # Other threads may go on: what a queue abandoned later has launched is not done after the wait.
    gone = {queue for queue in list(gpu.queues) if queue.is_abandoned}
    wait_for(gpu, None)
    gpu.catch_up()
    release_pinned()
    with gpu.lock:
        known = gpu.queues
        gpu.queues = [queue for queue in known if queue not in gone]
    try:
        deliver(known)
    finally:
        with gpu.lock:
            gpu.idle_queues += gone.intersection(known)


def report_rest() -> None:
    """At the end of the process: what nobody has waited for."""
    if not discover.is_made:
        return
    for gpu in discover().gpus:
        if gpu.is_in_use and gpu.driver.is_usable and not gpu.captures:
            try:
                synchronize_gpu(gpu)
            except (KernelFault, DeviceError) as error:
                sys.stderr.write(f"Heald: nobody waited for a launch that failed: {error}\n")


def _forget_all() -> None:
    for gpu in discover().gpus if discover.is_made else ():
        for queue in (*gpu.queues, *gpu.idle_queues):
            queue.forget()


atexit.register(report_rest)
os.register_at_fork(after_in_child=_forget_all)
