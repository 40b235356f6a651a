"""The self-test of launch entries: launches of a probe, whose outcome is known."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from math import prod

from heald.artifact import Access, Lanes, Parameter, abi
from heald.codegen.entry_code import Enter, EntryCode
from heald.codegen.entry_gpu import (
    PROBE_ATTRIBUTE,
    PROBE_BLOCK,
    PROBE_CONFIG,
    PROBE_CONTEXT,
)
from heald.codegen.entry_layout import slot_offset
from heald.codegen.entry_table import (
    ArrayClass,
    ArrayTake,
    CpuCode,
    EntryTable,
    GpuCode,
    NumberTake,
)
from heald.codegen.entry_text import PROBE_FAULTS, REPORT_FAULT, REPORT_SIZE
from heald.types import Array, Scalar, Type, b1, f32, f64, i32, i64, parameter_layout, u8

_TYPES: tuple[Type, ...] = (Array(u8, 1), i64, f64, f32, i32, b1)
_NUMBERS = (-0.3, 1.1, -70000, True)
_SIGNATURE = 0x1234_5678_9ABC_DEF0
_READ_ONLY = 1
_CORES, _GRAIN = 3, 5
_PARALLEL = 100
_REPEATS = 50
_DRIVER = (
    abi.QUEUE_LAUNCH,
    abi.QUEUE_GET_CONTEXT,
    abi.QUEUE_PUSH_CONTEXT,
    abi.QUEUE_POP_CONTEXT,
)


class _Probe:
    """Stands for an array."""

    __slots__ = ("owner", "packed")

    owner: object
    packed: bytes


class _Other:
    """Stands for an object of another class."""

    __slots__ = ("owner", "packed")

    owner: object
    packed: bytes


def works(code: EntryCode) -> bool:
    """Does the code do on this interpreter what it should?"""
    packed_slot, owner_slot = slot_offset(_Probe, "packed"), slot_offset(_Probe, "owner")
    if packed_slot is None or owner_slot is None:
        return False
    offsets, size = parameter_layout(_TYPES)
    numbers = [
        NumberTake(offset, t)
        for offset, t in zip(offsets, _TYPES, strict=True)
        if isinstance(t, Scalar)
    ]
    table = EntryTable(
        rank=0,
        block_size=size,
        takes=(ArrayTake(0, _SIGNATURE, _READ_ONLY, 1, optional=False), *numbers),
        arrays=ArrayClass(_Probe, packed_slot, owner_slot),
        parameters=tuple(
            Parameter("", t, offset, Access.NONE) for t, offset in zip(_TYPES, offsets, strict=True)
        ),
        conditions=(),
        variants={0: CpuCode(code.probe, 1, _GRAIN)},
        launcher=code.probe_team,
        cores=_CORES,
        parallel=_PARALLEL,
    )
    return all(_trials(code.bind(table, ()), size)) and all(_gpu_trials(code, table))


def _trials(enter: Enter, size: int) -> Iterator[bool]:
    """Whether each of some launches does what it should."""
    memory = ctypes.create_string_buffer(abi.HEADER_SIZE + 16 + size)
    descriptor = struct.pack("<Qqq", ctypes.addressof(memory), len(memory), 1)
    probe, other, owner = _Probe(), _Other(), object()
    probe.packed = other.packed = struct.pack("<Q", _SIGNATURE | _READ_ONLY) + descriptor
    probe.owner = other.owner = owner
    held = [sys.getrefcount(x) for x in (owner, probe, probe.packed)]
    block = descriptor + struct.pack("<qdfi?", size, *_NUMBERS)
    head = struct.Struct("<4qi4xQ2Q2q")

    def shown(dims: tuple[int, ...], lo: int, hi: int) -> bool:
        *extents, threads, _, resources, prints, begin, end = head.unpack_from(memory)
        return (
            tuple(extents) == (*dims, *repeat(1, 4 - len(dims)))
            and (threads, resources, prints, begin, end) == (96, 77, 0, lo, hi)
            and memory.raw[head.size : head.size + len(block)] == block
        )

    for _ in range(_REPEATS):
        yield enter((2, 5), 96, [probe], (size, *_NUMBERS), 77) is None
        yield shown((2, 5), 0, 10)
        yield enter(_PARALLEL, 96, (probe, size), [*_NUMBERS], 77) is None
        yield shown((_PARALLEL,), _CORES + _GRAIN, _PARALLEL)
        report = enter([PROBE_FAULTS], 96, [probe, size, *_NUMBERS], (), 77)
        yield type(report) is bytes and len(report) == REPORT_SIZE
        yield struct.unpack_from("<6q", report) == (0, 1, PROBE_FAULTS, 1, 1, 1)
        record = struct.unpack_from("<3q", report, REPORT_FAULT)
        yield record == (0, PROBE_FAULTS, abi.NO_THREAD)
    memory.raw = bytes(len(memory))
    for wrong in (
        (4, 96, [other], [size, *_NUMBERS]),
        (4, 96, [probe, *_NUMBERS], []),
        (4, 96, [probe, 1.0], [*_NUMBERS]),
        (4, 96, iter([probe, size]), [*_NUMBERS]),
        (4.0, 96, [probe, size], [*_NUMBERS]),
        (4,),
    ):
        yield enter(*wrong) is NotImplemented
    yield not any(memory.raw)
    yield held == [sys.getrefcount(x) for x in (owner, probe, probe.packed)]


def _gpu_trials(code: EntryCode, table: EntryTable) -> Iterator[bool]:
    """Whether launches for a GPU reach the functions of its driver as they should."""
    memory = ctypes.create_string_buffer(PROBE_BLOCK + abi.HEADER_SIZE + table.block_size)
    where = ctypes.addressof(memory)
    function = GpuCode(where, 64, 5, Lanes(4, 8), 100, early=128)
    enter = code.bind(replace(table, variants={0: function}), ())
    flag, pushes = ctypes.c_int64(), ctypes.c_int64()
    log = (ctypes.c_int64 * (abi.LOG_RECORDS * abi.LOG_RECORD_SIZE // 8))()
    queue = (ctypes.c_int64 * (abi.QUEUE_SIZE // 8))()
    for place, word in (
        (abi.QUEUE_OPEN, 1),
        (abi.QUEUE_FLAG, ctypes.addressof(flag)),
        (abi.QUEUE_STREAM, 11),
        (abi.QUEUE_CONTEXT, PROBE_CONTEXT),
        (abi.QUEUE_FAULT, 33),
        (abi.QUEUE_RESOURCES, 44),
        (abi.QUEUE_LOG, ctypes.addressof(log)),
        *zip(_DRIVER, code.probe_gpu, strict=True),
    ):
        queue[place // 8] = word
    address = ctypes.addressof(queue)

    def launched() -> tuple[int, ...]:
        """Grid, block, shared memory, stream, number of attributes."""
        grid = struct.unpack_from("<7I", memory, PROBE_CONFIG)
        stream = struct.unpack_from("<Q", memory, PROBE_CONFIG + abi.CONFIG_STREAM)
        return (*grid, *stream, *struct.unpack_from("<I", memory, PROBE_CONFIG + abi.CONFIG_COUNT))

    probe, owner = _Probe(), object()
    descriptor = struct.pack("<Qqq", 1, 2, 3)
    probe.packed, probe.owner = struct.pack("<Q", _SIGNATURE) + descriptor, owner
    block = descriptor + struct.pack("<qdfi?", 9, *_NUMBERS)
    held = [sys.getrefcount(x) for x in (owner, probe, probe.packed)]
    for number in range(2, 2 * _REPEATS, 2):
        struct.pack_into("<q", memory, 0, abi.HEADER_SIZE + len(block))
        yield enter((5, 30), 96, [probe], (9, *_NUMBERS), address) is None
        yield launched() == (3, 1, 1, 64, 1, 1, 0, 11, 0)
        header = struct.unpack_from("<4qiI3q", memory, PROBE_BLOCK)
        yield header == (5, 30, 1, 1, 96, number, 33, 44, 0)
        yield memory.raw[PROBE_BLOCK + abi.HEADER_SIZE :][: len(block)] == block
        at = number * abi.LOG_RECORD_SIZE // 8
        yield list(log[at : at + 7]) == [number, 5, 2, 5, 30, 1, 1]
    queue[abi.QUEUE_CONTEXT // 8] = ctypes.addressof(pushes)
    yield enter(1, 96, [probe], (9, *_NUMBERS), address) is None and pushes.value == 1
    last = queue[abi.QUEUE_NUMBER // 8]
    flag.value = 1
    yield enter(1, 96, [probe], (9, *_NUMBERS), address) is NotImplemented
    flag.value = queue[abi.QUEUE_OPEN // 8] = 0
    yield enter(1, 96, [probe], (9, *_NUMBERS), address) is NotImplemented
    queue[abi.QUEUE_OPEN // 8] = 1
    yield enter(1, 96, [probe], (9, *_NUMBERS)) is NotImplemented
    yield enter((1 << 30, 1 << 10), 96, [probe], (9, *_NUMBERS), address) is NotImplemented
    yield queue[abi.QUEUE_NUMBER // 8] == last
    for threads, blocks, of_block, is_early in ((3, 1, 32, 1), (33, 1, 64, 1), (129, 3, 64, 0)):
        yield enter(threads, 96, [probe], (9, *_NUMBERS), address) is None
        yield launched() == (blocks, 1, 1, of_block, 1, 1, 0, 11, is_early)
        kind = struct.unpack_from("<i", memory, PROBE_ATTRIBUTE + abi.ATTRIBUTE_KIND)
        value = struct.unpack_from("<i", memory, PROBE_ATTRIBUTE + abi.ATTRIBUTE_VALUE)
        yield (*kind, *value) == (abi.ATTRIBUTE_EARLY, 1)
    large = (1 << 16, 1 << 17)
    for dims in ((7, 64), (7, 50), (13, 64), (20, 31), (20, 57), (13, 2, 64), 416, large):
        yield enter(dims, 64, [probe], (9, *_NUMBERS), address) is None
        extents = dims if isinstance(dims, tuple) else (dims,)
        threads = Lanes(4, 8).grid(extents, len(extents))
        threads = threads if threads >= 100 else prod(extents)
        yield launched()[0] == -(-threads // 64)
    for few, threads, is_taken in ((True, 99, True), (True, 100, False), (False, 100, True)):
        plain = replace(function, lanes=None, few=few)
        enter = code.bind(replace(table, variants={0: plain}), ())
        outcome = enter(threads, 64, [probe], (9, *_NUMBERS), address)
        yield outcome is (None if is_taken else NotImplemented)
        yield not is_taken or launched()[0] == 2
    enter = code.bind(replace(table, variants={0: replace(function, exact=True)}), ())
    yield enter(5, 64, [probe], (9, *_NUMBERS), address) is None
    yield enter(5, 65, [probe], (9, *_NUMBERS), address) is NotImplemented
    yield held == [sys.getrefcount(x) for x in (owner, probe, probe.packed)]
