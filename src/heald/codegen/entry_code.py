"""The compiled function of launch entries, and how it becomes a Python function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from heald.codegen.compile import compile_helper
from heald.codegen.entry_gpu import PROBE_GPU
from heald.codegen.entry_layout import ObjectLayout
from heald.codegen.entry_table import EntryTable
from heald.codegen.entry_text import (
    ENTRY,
    FUNCTIONS,
    OBJECTS,
    PROBE,
    PROBE_TEAM,
    entry_text,
)
from heald.codegen.jit import load_object
from heald.codegen.target import host_target

Enter = Callable[..., Any]
"""``(dim, block_dim, inputs, outputs[, place]) -> None | bytes | NotImplemented``; see
``entry_text``."""

_METH_FASTCALL = 0x0080


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@dataclass(frozen=True, slots=True, eq=False)
class EntryCode:
    """The compiled function, which serves every table.

    Attributes:
        address: of the function.
        probe: of a kernel that shows what it was given; see ``entry_check``.
        probe_team: of a launcher that calls it as one range from 1 on.
        probe_gpu: of functions that stand for those of a GPU's driver.
        keepalive: keeps them loaded.
    """

    address: int
    probe: int
    probe_team: int
    probe_gpu: tuple[int, ...]
    keepalive: object

    def bind(self, table: EntryTable, keepalive: Sequence[object]) -> Enter:
        """A Python function: the code with a table."""
        method = _MethodDef(b"launch", self.address, _METH_FASTCALL, None)
        # CPython lets the object that a function is bound to keep the definition alive.
        bound = (table.encode(), method, self.keepalive, tuple(keepalive))
        made: Enter = _new_function()(ctypes.byref(method), bound, None)
        return made


@cache
def _new_function() -> Callable[..., Any]:
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p
    )
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


def compile_entry(layout: ObjectLayout) -> EntryCode:
    """Machine code for an interpreter with this layout of objects.

    Optimised, which saves 0.1 us of every launch and costs 80 ms once: the object cache on disk
    keeps it.  Level 2 takes half as long again, for nothing.

    Raises:
        AttributeError: the interpreter lacks a function that CPython has.
    """
    target = host_target()
    code = compile_helper(target.header + entry_text(layout), target, level=1)
    imports = {f"py_{name}": id(one) for name, one in OBJECTS.items()}
    for name in FUNCTIONS:
        function = getattr(ctypes.pythonapi, name)
        imports[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    names = (ENTRY, PROBE, PROBE_TEAM, *PROBE_GPU)
    (entry, probe, team, *gpu), keepalive = load_object(code, names, imports)
    return EntryCode(entry, probe, team, tuple(gpu), keepalive)
