"""Launch entries: compiled functions that Python calls with the arguments of a launch.

The code reads objects of CPython directly.  Where they keep things is measured, then the code is
tried on launches whose outcome is known.  Where anything is not as expected (another interpreter, a
free-threaded build, a subinterpreter) there are no entries, and launches go through ctypes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from heald.codegen.binding import LOCK
from heald.codegen.entry_check import works
from heald.codegen.entry_code import Enter, EntryCode, compile_entry
from heald.codegen.entry_layout import measure_objects
from heald.codegen.entry_table import EntryTable
from heald.codegen.entry_text import REPORT_FAULT


@dataclass(frozen=True, slots=True)
class Report:
    """What an entry tells of a launch in which a thread faulted.

    Attributes:
        mask: of the variant that ran.
        dims: of the launch.
        fault: the fault record.
    """

    mask: int
    dims: tuple[int, ...]
    fault: bytes

    @classmethod
    def decode(cls, data: bytes) -> Report:
        """The report in the bytes that an entry returned."""
        mask, rank, *dims = struct.unpack_from("<6q", data)
        return cls(mask, tuple(dims[:rank]), data[REPORT_FAULT:])


def make_entry(table: EntryTable, keepalive: Sequence[object]) -> Enter | None:
    """The entry of a table, or None where this interpreter has no entries.

    It keeps ``keepalive`` as long as it lives or runs: whatever the addresses in the table need.

    Raises:
        InternalError: the table cannot be encoded.
    """
    code = _entry_code()
    return None if code is None else code.bind(table, keepalive)


def has_entries() -> bool:
    """Does this interpreter have launch entries?  The first call finds out."""
    return _entry_code() is not None


class _State:
    """The code of this interpreter, once it was asked for."""

    def __init__(self) -> None:
        self.is_known = False
        self.code: EntryCode | None = None


_STATE = _State()


def _entry_code() -> EntryCode | None:
    if not _STATE.is_known:
        with LOCK:
            if not _STATE.is_known:
                _STATE.code = _find_entry_code()
                _STATE.is_known = True
    return _STATE.code


def _find_entry_code() -> EntryCode | None:
    layout = measure_objects()
    if layout is None:
        return None
    try:
        code = compile_entry(layout)
    except AttributeError:
        return None
    return code if works(code) else None
