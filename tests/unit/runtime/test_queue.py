"""What the host does with the faults and prints that launches of a GPU leave behind."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cuda import BASE, fake_gpu

from heald.artifact import Fault, FaultKind, PrintFormat, abi
from heald.config import config
from heald.diagnostics import Diagnostic, KernelFault
from heald.runtime import PrintOutput
from heald.runtime.cuda import launch_cuda, streams
from heald.runtime.cuda.queue import Queue, deliver, new_queue, queue_of, register


class Told:
    """A kernel whose faults and prints are looked at."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.formats = {7: PrintFormat("%d", ("i32",))}
        self.shown: list[Any] = []

    def error(self, fault: Fault, dims: Sequence[int]) -> KernelFault:
        text = f"{self.name} {tuple(dims)} thread {fault.thread} at {fault.index} x{fault.count}"
        return KernelFault(Diagnostic("H0401", text))

    def show(self, printed: PrintOutput) -> None:
        self.shown += [(r.thread, *r.values) for r in printed.records]


def fault(
    queue: Queue, number: int, thread: int, *, others: int = 0, last: int = 0, op: int = 5
) -> None:
    """What a kernel does: the record of launch ``number``, and the word for the host."""
    key = thread << abi.FAULT_THREAD_SHIFT | op << abi.FAULT_KIND_BITS | FaultKind.BOUNDS
    key = key if number else abi.NO_THREAD
    place = queue.faults - BASE
    ctypes.memmove(place, struct.pack("<6q", key, 3, 1, number, last, others), 48)
    slot = struct.pack("<10q", key, 1, 44, 0, 0, 0, 40, 0, 0, 0)
    ctypes.memmove(place + abi.GPU_FAULT_HEAD, slot, len(slot))
    flag = ctypes.c_int64.from_address(int(queue.words[abi.QUEUE_FLAG // 8]))
    flag.value = number or last


def by_entry(queue: Queue, source: int, dims: Sequence[int]) -> int:
    """What a launch entry does: the next even number, and its record in the log."""
    number = int(queue.words[abi.QUEUE_NUMBER // 8]) + 2
    queue.words[abi.QUEUE_NUMBER // 8] = number
    at = queue.words[abi.QUEUE_LOG // 8] + number % abi.LOG_RECORDS * abi.LOG_RECORD_SIZE
    pads = (1,) * (4 - len(dims))
    ctypes.memmove(int(at), struct.pack("<7q", number, source, len(dims), *dims, *pads), 56)
    return number


@pytest.fixture
def queue() -> Queue:
    driver, gpu = fake_gpu()
    made = Queue(gpu, 17)
    made.driver = driver  # type: ignore[attr-defined]
    return made


def test_the_launch_that_failed_is_named_whoever_made_it(queue: Queue) -> None:
    one, two = register(Told("one")), register(Told("two"))
    careful = [queue.note(one, (40, k)) for k in range(1, 4)]
    entries = [by_entry(queue, two, (k,)) for k in range(1, 4)]
    assert not set(careful) & set(entries)
    for number, said in ((careful[1], "one (40, 2)"), (entries[2], "two (3,)")):
        assert not queue.is_raised
        fault(queue, number, 44)
        assert queue.is_raised
        with pytest.raises(KernelFault, match="H0401") as caught:
            deliver([queue])
        assert f"{said} thread 44 at (44,) x3" in str(caught.value)
        deliver([queue])


def test_other_launches_are_counted_once(queue: Queue) -> None:
    number = queue.note(register(Told("one")), (9,))
    fault(queue, number, 2, others=5, last=7)
    (error,) = queue.collect()
    assert "5 threads of other launches" in str(error)
    fault(queue, number, 2, others=5)
    (error,) = queue.collect()
    assert "other launches" not in str(error)
    fault(queue, 0, 0, others=6, last=9)
    (error,) = queue.collect()
    assert "1 thread of a launch faulted meanwhile" in str(error)
    assert queue.collect() == []


@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("moment", ["read", "cleared", "taken down"])
def test_faults_that_come_while_others_are_told(queue: Queue, moment: str, others: int) -> None:
    """Of launches of other threads: none is lost, and none is told before it is whole."""
    source = register(Told("one"))
    first, second = queue.note(source, (1,)), queue.note(source, (2,))
    driver: Any = queue.driver  # type: ignore[attr-defined]
    fetch, send = driver.cuMemcpyDtoHAsync_v2, driver.cuMemcpyHtoDAsync_v2
    calls: list[str] = []

    def come(which: str) -> None:
        calls.append(which)
        if calls.count(which) != 1 or which != moment:
            return
        words = (ctypes.c_int64 * 6).from_address(queue.faults - BASE)
        if words[3] == 0:
            fault(queue, second, 7, others=words[5])
        else:
            words[4], words[5] = second, words[5] + 1
            flag = ctypes.c_int64.from_address(int(queue.words[abi.QUEUE_FLAG // 8]))
            flag.value = second

    def fetching(host: Any, ptr: Any, size: Any, stream: Any) -> None:
        if size.value == 48 and calls and "cleared" in calls:
            come("taken down")
        fetch(host, ptr, size, stream)
        if size.value == 48 and not calls:
            come("read")

    def sending(*arguments: Any) -> None:
        send(*arguments)
        come("cleared")

    driver.cuMemcpyDtoHAsync_v2, driver.cuMemcpyHtoDAsync_v2 = fetching, sending
    fault(queue, first if not others else 0, 3, others=others, last=others)
    text = "\n".join(str(error) for error in queue.collect())
    if not others:
        assert "one (1,) thread 3" in text
    else:
        assert "2 threads of a launch faulted meanwhile" in text
    if moment == "read" or not others:
        told = "one (2,) thread 7" in text or "1 thread of a launch faulted meanwhile" in text
        assert told, text
    assert not queue.is_raised
    assert queue.collect() == []


def test_a_record_is_read_when_its_stream_has_ended(queue: Queue) -> None:
    """Whoever waits for all streams looks at those of other threads, which launch meanwhile."""
    number = queue.note(register(Told("one")), (9,))
    fault(queue, number, 6)
    words = (ctypes.c_int64 * 6).from_address(queue.faults - BASE)
    key, words[0] = words[0], abi.NO_THREAD
    driver: Any = queue.driver  # type: ignore[attr-defined]
    driver.cuStreamSynchronize = lambda stream: (
        words.__setitem__(0, key) if stream.value == 17 else None
    )
    (error,) = queue.collect()
    assert "one (9,) thread 6 at (44,)" in str(error)


def test_a_launch_that_is_long_gone_is_told_without_a_name(queue: Queue) -> None:
    source = register(Told("one"))
    number = by_entry(queue, source, (5,))
    for _ in range(abi.LOG_RECORDS):
        by_entry(queue, source, (6,))
    fault(queue, number, 3)
    (error,) = queue.collect()
    assert "a launch long ago" in str(error)


def test_a_graph_forgets_none_of_its_launches() -> None:
    _, gpu = fake_gpu()
    queue = new_queue(gpu, None)
    one, two = register(Told("one")), register(Told("two"))
    numbers = []
    for k in range(abi.LOG_RECORDS):
        numbers.append((queue.note(one, (k,)), "one", k))
        numbers.append((by_entry(queue, two, (k,)), "two", k))
        queue.keep_new()
    for number, name, k in numbers[::1000]:
        for _ in range(2):
            fault(queue, number, 1)
            (error,) = queue.collect()
            assert f"{name} ({k},) thread 1" in str(error)


def test_several_queues_are_told_together(queue: Queue) -> None:
    _, gpu = fake_gpu()
    other = Queue(gpu, 18)
    for q, name in ((queue, "one"), (other, "two")):
        fault(q, q.note(register(Told(name)), (4,)), 1)
    with pytest.raises(KernelFault, match=r"(?s)one.*two"):
        deliver([queue, other])


def test_prints_of_a_graph_come_by_launch_and_thread() -> None:
    _, gpu = fake_gpu()
    queue = new_queue(gpu, None)
    told = [Told("one"), Told("two")]
    numbers = [queue.note(register(t), (4,)) for t in told]
    buffer = queue.print_buffer() - BASE
    records = [(1, numbers[1], 11), (2, numbers[0], 22), (0, numbers[0], 20), (0, numbers[1], 10)]
    data = b"".join(
        struct.pack("<4q", thread, 0, number << abi.PRINT_LAUNCH_SHIFT | 7, value)
        for thread, number, value in records
    )
    ctypes.memmove(buffer + abi.PRINT_DATA, data, len(data))
    ctypes.memmove(buffer + abi.PRINT_USED, struct.pack("<q", len(data)), 8)
    for _ in range(2):  # the second time nothing is left
        assert queue.collect() == []
    assert [t.shown for t in told] == [[(0, 20), (2, 22)], [(0, 10), (1, 11)]]


def test_a_queue_serves_again_when_its_stream_is_gone() -> None:
    _, gpu = fake_gpu()
    queue = new_queue(gpu, 5)
    queue.abandon()
    assert queue.words[abi.QUEUE_OPEN // 8] == 0
    gpu.queues.remove(queue)
    gpu.idle_queues.append(queue)
    assert new_queue(gpu, 6) is queue
    assert (queue.stream, queue.words[abi.QUEUE_STREAM // 8]) == (6, 6)
    assert queue.words[abi.QUEUE_OPEN // 8] == 1
    assert np.count_nonzero(queue.words) > 4


def test_prints_are_not_read_while_another_thread_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They would be lost: the buffer is emptied when it was read."""
    driver, gpu = fake_gpu()
    stream = streams.Stream.default(gpu)
    told, read = Told("one"), threading.Event()
    source = register(told)

    def collect() -> None:
        queue_of(stream).collect()
        read.set()

    def launched(*_: Any) -> None:
        other.start()
        assert not read.wait(0.1)
        record = struct.pack("<4q", 3, 0, number[0] << abi.PRINT_LAUNCH_SHIFT | 7, 33)
        buffer = queue_of(stream).print_buffer() - BASE
        ctypes.memmove(buffer + abi.PRINT_DATA, record, len(record))
        ctypes.memmove(buffer + abi.PRINT_USED, struct.pack("<q", len(record)), 8)

    other, number = threading.Thread(target=collect), []
    note = Queue.note
    monkeypatch.setattr(Queue, "note", lambda *a: number.append(note(*a)) or number[0])
    monkeypatch.setattr(type(driver), "cuLaunchKernelEx", launched, raising=False)
    kernel: Any = SimpleNamespace(
        block_size=0, formats=told.formats, blocks=True, lanes=None, rank=1, sites={}
    )
    code: Any = SimpleNamespace(function=1, threads=1024, least=1, early=0)
    launch_cuda(stream, code, kernel, source, b"", (32,), 32)
    other.join()
    assert told.shown == [(3, 33)]


def test_a_fault_says_that_its_launch_was_an_earlier_one(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph fails as a whole, whether launches are waited for or not."""
    _, gpu = fake_gpu()
    source = register(Told("one"))
    for verify in (False, True):
        monkeypatch.setattr(config, "verify_cuda", verify)
        for q in (queue, Queue(gpu, None)):
            fault(q, q.note(source, (9,)), 1)
            with pytest.raises(KernelFault) as caught:
                deliver([q])
            text, in_graph = str(caught.value), q is not queue
            assert ("earlier launch" in text) == (in_graph or not verify)
            assert ("every launch waits" in text) == (not in_graph and not verify)
            assert ("launched without the graph" in text) == in_graph
