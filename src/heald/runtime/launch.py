"""Running machine code on the host: header, fault record and print buffer of one launch, and the
call.

Several Python threads may launch at once: every launch has memory of its own, and the calls release
the GIL.
"""

from __future__ import annotations

import ctypes
import operator
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Protocol

import numpy as np

from heald.artifact import Artifact, Fault, FaultKind, abi
from heald.diagnostics import Diagnostic, InternalError, LaunchError
from heald.runtime.device import CPU
from heald.runtime.printing import PrintOutput, new_buffer, read_buffer
from heald.runtime.resources import ResourceTable, table_of
from heald.runtime.workers import TEAM

MAX_RANK = 4
MAX_THREADS = 1 << 62
MAX_BLOCK_DIM = abi.MAX_BLOCK_DIM
PARALLEL_WORK = 150_000
"""Instructions that take one core about 50 us, below which waking other cores costs more than it
saves."""

_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
_LAUNCHER = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, *[ctypes.c_int32] * 2)
_HEADER = struct.Struct("<4qi4xQQQ")
_FAULT = struct.Struct("<14q")
_NO_FAULT = (0,) * 11
_FAULT_AT = abi.HEADER_SIZE
_ARGS = abi.HEADER_SIZE + abi.FAULT_SIZE

assert (_HEADER.size, _FAULT.size) == (abi.HEADER_SIZE, abi.FAULT_SIZE)


@dataclass(frozen=True, slots=True)
class Share:
    """What is shared among cores.

    Attributes:
        total: threads of the launch.
        cores: most cores to use, 0 for as many as there are.
        grain: see ``Artifact.grain``.
    """

    total: int
    cores: int = 0
    grain: int = 0


class Sharing(Protocol):
    """A way to share the threads of a launch among cores."""

    @property
    def is_usable(self) -> bool:
        """May this process use it?"""

    def run(self, entry: int, header: int, args: int, share: Share, keepalive: object) -> None:
        """Call ``entry(header, args, lo, hi)`` for disjoint ranges that cover the threads of
        ``share``, and return when all have ended.

        ``keepalive`` is what the addresses refer to.
        """


@dataclass(frozen=True, slots=True)
class ParallelLauncher:
    """Machine code that shares the threads of a launch among cores.

    Attributes:
        address: of ``void launch(entry, const Header*, const void* args, i64 total, i32 cores, i32
            grain)``, which does what :meth:`Sharing.run` says.
        survives_fork: may a child process use it after its parent did?  libgomp hangs there.
        process: the process that made it.
    """

    address: int
    survives_fork: bool = False
    process: int = field(default_factory=os.getpid)

    @property
    def is_usable(self) -> bool:
        """May this process call it?"""
        return self.survives_fork or os.getpid() == self.process

    def run(self, entry: int, header: int, args: int, share: Share, keepalive: object) -> None:
        """See :class:`Sharing`; returns only when no core uses ``keepalive`` any more."""
        call = _launcher(self.address)
        call(entry, header, args, share.total, share.cores, share.grain)


@dataclass(frozen=True, slots=True)
class ThreadSharing:
    """Python threads share the threads of a launch, for processes without an OpenMP runtime."""

    @property
    def is_usable(self) -> bool:
        """Always: a child process has a team of its own."""
        return True

    def run(self, entry: int, header: int, args: int, share: Share, keepalive: object) -> None:
        """See :class:`Sharing`."""
        call = _entry(entry)

        def run_range(lo: int, hi: int) -> None:
            call(header, args, lo, hi)

        TEAM.run(run_range, share.total, share.cores, keepalive, grain=share.grain)


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """What a finished launch left behind besides memory."""

    fault: Fault | None = None
    printed: PrintOutput = field(default_factory=PrintOutput)


def check_dims(dim: object) -> tuple[int, ...]:
    """Launch extents, given as an integer or one to four of them, as a tuple.

    Raises:
        LaunchError: they are something else, negative, or more than 2**62 threads (H0706).
    """
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    extents = []
    for entry in given:
        extent = _integer(entry)
        if extent is None:
            raise _refusal(f"dim is an integer or a tuple of integers, not {dim!r}")
        if extent < 0:
            raise _refusal(f"dim={dim!r} has a negative extent")
        extents.append(extent)
    if not 1 <= len(extents) <= MAX_RANK:
        raise _refusal(f"a launch has 1 to {MAX_RANK} dimensions, not {len(extents)}")
    if prod(max(1, extent) for extent in extents) > MAX_THREADS:
        raise _refusal(f"dim={dim!r} is more than 2**62 threads")
    return tuple(extents)


def check_block_dim(block_dim: object) -> int:
    """Threads a block, 1 to 1024.

    Raises:
        LaunchError: it is something else (H0706).
    """
    count = _integer(block_dim)
    if count is None or not 1 <= count <= MAX_BLOCK_DIM:
        message = f"block_dim is an integer from 1 to {MAX_BLOCK_DIM}, not {block_dim!r}"
        raise _refusal(message, "blocks of 256 threads suit most kernels; dim may be any size")
    return count


def launch(
    code_address: int,
    artifact: Artifact,
    packed_args: bytes | bytearray | memoryview,
    dims: Sequence[int],
    block_dim: int = 256,
    *,
    parallel: Sharing | None = None,
    threads: int = 0,
    resources: ResourceTable | None = None,
    keepalive: object = None,
) -> LaunchOutcome:
    """Run every thread of a launch and return when the last has ended.

    Args:
        code_address: of ``artifact.entry``, loaded; its code must stay loaded meanwhile.
        artifact: of that code; says how large the parameter block is and what it prints.
        packed_args: the parameter block (``packing.Packer``).  The caller keeps alive what it
            points to.
        dims: as :func:`check_dims` gives them.  With an extent of 0 nothing runs.
        block_dim: threads a block, which kernels can ask for.
        parallel: shares the work among cores; None runs it all on this one.
        threads: most cores to use, 0 for all.
        resources: what handles refer to; None for the table of the CPU.
        keepalive: what code and parameter block need.

    Raises:
        InternalError: the parameter block is not of the artifact's size.
    """
    if len(packed_args) != artifact.block_size:
        raise InternalError(f"{len(packed_args)} bytes of parameters, not {artifact.block_size}")
    total = prod(dims)
    if total == 0:
        return LaunchOutcome()
    table = resources or table_of(CPU)
    printing = new_buffer() if artifact.formats else None
    held = table.hold()
    try:
        # One block of memory: header, fault record, parameters; each at a multiple of 16.
        block = ctypes.create_string_buffer(_ARGS + artifact.block_size)
        header = ctypes.addressof(block)
        pads = (1,) * (MAX_RANK - len(dims))
        place = printing.ptr if printing else 0
        _HEADER.pack_into(block, 0, *dims, *pads, block_dim, header + _FAULT_AT, held.ptr, place)
        _FAULT.pack_into(block, _FAULT_AT, 0, 0, abi.NO_THREAD, *_NO_FAULT)
        ctypes.memmove(header + _ARGS, bytes(packed_args), artifact.block_size)
        kept = (block, held, printing, keepalive)
        if parallel is None or not parallel.is_usable or not is_shared(artifact, total, threads):
            _entry(code_address)(header, header + _ARGS, 0, total)
        else:
            share = Share(total, threads, artifact.grain)
            parallel.run(code_address, header, header + _ARGS, share, kept)
    finally:
        table.let_go(held)
    printed = read_buffer(printing, artifact.formats) if printing else PrintOutput()
    return LaunchOutcome(read_fault(block, _FAULT_AT), printed)


def is_shared(artifact: Artifact, total: int, threads: int) -> bool:
    """Is a launch of ``total`` threads worth more than one core, of which there may be
    ``threads``?"""
    return threads != 1 and artifact.work * total >= PARALLEL_WORK


@cache
def _entry(address: int) -> Callable[[int, int, int, int], None]:
    return _ENTRY(address)


@cache
def _launcher(address: int) -> Callable[[int, int, int, int, int, int], None]:
    return _LAUNCHER(address)


def read_fault(data: bytes | ctypes.Array[ctypes.c_char], start: int = 0) -> Fault | None:
    """The fault in a fault record, or None."""
    _, count, thread, op, kind, rank, *places = _FAULT.unpack_from(data, start)
    if count == 0:
        return None
    index, shape = places[:MAX_RANK], places[MAX_RANK:]
    return Fault(FaultKind(kind), op, thread, tuple(index[:rank]), tuple(shape[:rank]), count)


def _integer(value: object) -> int | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _refusal(message: str, hint: str = "") -> LaunchError:
    return LaunchError(Diagnostic("H0706", message, hint=hint))
