"""The self-test of launch entries: launches of a probe, whose outcome is known."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Iterator
from itertools import repeat

from heald.artifact import Access, Parameter, abi
from heald.codegen.entry_code import Enter, EntryCode
from heald.codegen.entry_layout import slot_offset
from heald.codegen.entry_table import ArrayClass, ArrayTake, EntryTable, NumberTake
from heald.codegen.entry_text import PROBE_FAULTS, REPORT_FAULT, REPORT_SIZE
from heald.types import Array, Scalar, Type, b1, f32, f64, i32, i64, parameter_layout, u8

_TYPES: tuple[Type, ...] = (Array(u8, 1), i64, f64, f32, i32, b1)
_NUMBERS = (-0.3, 1.1, -70000, True)
_SIGNATURE = 0x1234_5678_9ABC_DEF0
_READ_ONLY = 1
_CORES, _GRAIN = 3, 5
_PARALLEL = 100
_REPEATS = 50


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
        variants={0: (code.probe, 1, _GRAIN)},
        launcher=code.probe_team,
        cores=_CORES,
        parallel=_PARALLEL,
    )
    return all(_trials(code.bind(table, ()), size))


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
