"""What the threads of a launch printed: from the bytes of a print buffer to records in a fixed
order."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from heald.artifact import PrintFormat, PrintRecord, abi
from heald.diagnostics import InternalError
from heald.runtime.memory import Allocation, allocate
from heald.types import BY_NAME, bf16
from heald.types.descriptors import from_bfloat16

CAPACITY = 1 << 20
"""Bytes of records that one launch may print."""

_WORD = 8
_HEADER = struct.Struct("<qqq")
_HEAD = struct.Struct("<qqq")
_UNWRITTEN = -1
_OP_MASK = (1 << abi.PRINT_LAUNCH_SHIFT) - 1


@dataclass(frozen=True, slots=True)
class PrintOutput:
    """Everything that one launch printed, by thread and then by sequence; ``dropped`` records did
    not fit."""

    records: tuple[PrintRecord, ...] = ()
    dropped: int = 0

    @property
    def note(self) -> str:
        """A line that says what is missing; empty where nothing is."""
        if not self.dropped:
            return ""
        lines = "line" if self.dropped == 1 else "lines"
        return (
            f"... {self.dropped:,} more {lines} printed by the kernel did not fit the print buffer"
        )


def new_buffer(capacity: int = CAPACITY) -> Allocation:
    """An empty print buffer with room for ``capacity`` bytes of records."""
    memory = allocate(abi.PRINT_DATA + capacity)
    # Threads reserve room before they write, so a record that did not fit leaves a hole; all ones
    # mark it.
    memory.buffer[:] = 0xFF
    _HEADER.pack_into(memory.buffer.data, abi.PRINT_CAPACITY, capacity, 0, 0)
    return memory


def read_buffer(buffer: Allocation, formats: Mapping[int, PrintFormat]) -> PrintOutput:
    """The records of a buffer to which one launch has printed.

    Raises:
        InternalError: the buffer holds a record of an op without a format.
    """
    return read_launches(buffer, lambda _: formats)[0]


def read_launches(
    buffer: Allocation, formats_of: Callable[[int], Mapping[int, PrintFormat]]
) -> dict[int, PrintOutput]:
    """The records of a buffer that no thread writes any more, by launch number, in ascending order.

    What did not fit counts for the last launch, for launch 0 where nothing did.

    Raises:
        InternalError: the buffer holds a record of an op without a format.
    """
    data = buffer.buffer.data
    capacity, used, dropped = _HEADER.unpack_from(data, abi.PRINT_CAPACITY)
    found: dict[int, list[PrintRecord]] = {}
    at, end = abi.PRINT_DATA, abi.PRINT_DATA + min(capacity, used)
    while at + abi.PRINT_RECORD_HEAD <= end:
        thread, sequence, word = _HEAD.unpack_from(data, at)
        if thread == _UNWRITTEN:
            break
        op_id, launch = word & _OP_MASK, word >> abi.PRINT_LAUNCH_SHIFT & _OP_MASK
        formats = formats_of(launch)
        if op_id not in formats:
            raise InternalError(f"a print record names op {op_id}, which prints nothing")
        kinds = formats[op_id].kinds
        at += abi.PRINT_RECORD_HEAD
        words = struct.unpack_from(f"<{len(kinds)}Q", data, at)
        at += _WORD * len(kinds)
        values = tuple(_value(kind, word) for kind, word in zip(kinds, words, strict=True))
        found.setdefault(launch, []).append(PrintRecord(thread, sequence, op_id, values))
    last = max(found, default=0)
    return {
        launch: PrintOutput(
            tuple(sorted(records, key=lambda record: (record.thread, record.sequence))),
            dropped if launch == last else 0,
        )
        for launch, records in sorted((found or {0: []}).items())
    }


def _value(kind: str, word: int) -> bool | int | float:
    """The number of scalar type ``kind`` in the low bytes of a payload word."""
    t = BY_NAME[kind]
    low = np.frombuffer(word.to_bytes(_WORD, "little")[: max(1, t.bits // 8)], t.carrier)[0]
    number: bool | int | float = (from_bfloat16(low) if t is bf16 else low).item()
    return number
