"""Running kernels on a GPU: loading code, the parameter block, faults and prints.

A launch waits for its kernel; the fault record and the print buffer of a GPU are used by one launch
at a time.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from heald.artifact import Artifact, Fault, FaultKind, abi
from heald.diagnostics import Diagnostic, InternalError, LaunchError
from heald.runtime.cuda.devices import Gpu, gpu_of
from heald.runtime.cuda.driver import Driver
from heald.runtime.cuda.memory import DeviceMemory, fill, read, write
from heald.runtime.device import Device
from heald.runtime.launch import MAX_RANK, LaunchOutcome
from heald.runtime.memory import Allocation
from heald.runtime.printing import CAPACITY, PrintOutput, new_buffer, read_buffer
from heald.runtime.resources import Snapshot, table_of

_HEADER = struct.Struct("<4qi4xQQQ")
_FAULT_HEAD = struct.Struct("<3q")
_SLOT = struct.Struct("<10q")
_NO_FAULT = _FAULT_HEAD.pack(abi.NO_THREAD, 0, 0)
_MOST_BLOCKS = (1 << 31) - 1
_THREADS_OF_FUNCTION = 0
_RESIDENT = 2048
"""Threads that a multiprocessor holds."""
_RESOURCE_OPS = frozenset({"resource_array", "resource_scalar"})


@dataclass(frozen=True, slots=True, eq=False)
class CudaCode:
    """A function on a GPU.

    Attributes:
        function: the driver's handle.
        threads: most threads of a block.
        keepalive: as long as it is referenced, the code stays loaded.
    """

    function: int
    threads: int
    keepalive: object


class _Module:
    """Code on a GPU, unloaded when nothing refers to it any more."""

    def __init__(self, gpu: Gpu, code: bytes) -> None:
        self.handle = ctypes.c_void_p()
        with gpu.active() as call:
            image = ctypes.create_string_buffer(code)
            call("cuModuleLoadData", ctypes.byref(self.handle), image)
        weakref.finalize(self, _unload, gpu, self.handle).atexit = False


def _unload(gpu: Gpu, handle: ctypes.c_void_p) -> None:
    if gpu.driver.is_usable:
        with gpu.active() as call:
            call.attempt("cuModuleUnload", handle)


def load_cuda(device: Device, artifact: Artifact) -> CudaCode:
    """Load the code of a CUDA artifact, a cubin or PTX.

    Raises:
        DeviceError: the driver refuses it.
        InternalError: the artifact is for another target.
    """
    if artifact.target != "cuda":
        raise InternalError(f"code for {artifact.target} cannot be loaded on a GPU")
    gpu = gpu_of(device)
    module = _Module(gpu, artifact.code)
    function, threads = ctypes.c_void_p(), ctypes.c_int()
    with gpu.active() as call:
        name = artifact.entry.encode()
        call("cuModuleGetFunction", ctypes.byref(function), module.handle, name)
        which = ctypes.c_int(_THREADS_OF_FUNCTION)
        call("cuFuncGetAttribute", ctypes.byref(threads), which, function)
    assert function.value is not None
    return CudaCode(function.value, threads.value, module)


class _Board:
    """What launches of one GPU share: fault record, print buffer, a copy of the resource table."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._gpu = gpu_of(device)
        self.faults = DeviceMemory(self._gpu, abi.GPU_FAULT_SIZE)
        self.is_clean = False
        self._prints: DeviceMemory | None = None
        self._table: DeviceMemory | None = None
        self._known: tuple[weakref.ref[Snapshot], int] | None = None
        self._records = 0

    def clear_faults(self) -> None:
        """Before a launch: no fault."""
        if not self.is_clean:
            write(self.device, self.faults.ptr, _NO_FAULT)
        self.is_clean = False

    def take_fault(self) -> Fault | None:
        """After a launch; waits for it."""
        key, count, used = _FAULT_HEAD.unpack(
            read(self.device, self.faults.ptr, _FAULT_HEAD.size).tobytes()
        )
        self.is_clean = count == 0
        if count == 0:
            return None
        slots = min(used, abi.GPU_FAULT_SLOTS)
        data = read(
            self.device, self.faults.ptr + abi.GPU_FAULT_HEAD, slots * abi.GPU_FAULT_SLOT_SIZE
        )
        return decode_fault(key, count, data.tobytes())

    def print_buffer(self) -> int:
        """An empty print buffer."""
        if self._prints is None:
            self._prints = DeviceMemory(self._gpu, abi.PRINT_DATA + CAPACITY)
        write(self.device, self._prints.ptr, new_buffer().buffer)
        return self._prints.ptr

    def printed(self, artifact: Artifact) -> PrintOutput:
        """What a launch has printed."""
        assert self._prints is not None
        data = read(self.device, self._prints.ptr, self._prints.nbytes)
        return read_buffer(Allocation(0, data.nbytes, data), artifact.formats)

    def resources(self, snapshot: Snapshot) -> int:
        """The records of a resource table on the GPU."""
        if self._table is None:
            size = abi.RESOURCE_CAPACITY * abi.RESOURCE_SIZE
            self._table = DeviceMemory(self._gpu, size)
            fill(self.device, self._table.ptr, b"\0", size)
        known = self._known
        if known is None or known[0]() is not snapshot or known[1] != snapshot.revision:
            self._records = max(self._records, 1 + max(snapshot.records, default=-1))
            used = snapshot.memory.buffer[: self._records * abi.RESOURCE_SIZE]
            write(self.device, self._table.ptr, np.ascontiguousarray(used))
            self._known = (weakref.ref(snapshot), snapshot.revision)
        return self._table.ptr


@cache
def _board(device: Device) -> _Board:
    return _Board(device)


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


def launch_cuda(
    device: Device,
    code: CudaCode,
    artifact: Artifact,
    packed_args: bytes,
    dims: Sequence[int],
    block_dim: int,
) -> LaunchOutcome:
    """Run every thread of a launch and return when the last has ended.

    Args:
        device: where.
        code: of ``artifact``, loaded there.
        artifact: of that code.
        packed_args: the parameter block.  The caller keeps alive what it points to.
        dims: as ``check_dims`` gives them.  With an extent of 0 nothing runs.
        block_dim: threads a block, which kernels can ask for.  Blocks of the hardware are smaller
            where a kernel needs many registers; kernels cannot tell.

    Raises:
        DeviceError: the driver reports an error.
        LaunchError: more blocks than a grid has (H0706).
        InternalError: the parameter block is not of the artifact's size.
    """
    if len(packed_args) != artifact.block_size:
        raise InternalError(f"{len(packed_args)} bytes of parameters, not {artifact.block_size}")
    total = prod(dims)
    if total == 0:
        return LaunchOutcome()
    threads = min(block_dim, code.threads)
    if artifact.blocks and threads < block_dim:
        message = (
            f"blocks of {block_dim} threads are too large for this kernel: it needs so many "
            f"registers that a GPU runs {code.threads} of its threads together"
        )
        raise LaunchError(Diagnostic("H0706", message, hint=f"use block_dim={code.threads}"))
    blocks = -(-grid_threads(artifact, dims, gpu_of(device).processors) // threads)
    if blocks > _MOST_BLOCKS:
        message = (
            f"{total:,} threads are {blocks:,} blocks, more than the {_MOST_BLOCKS:,} of a GPU"
        )
        hint = "launch fewer threads, or larger blocks with block_dim="
        raise LaunchError(Diagnostic("H0706", message, hint=hint))
    gpu = gpu_of(device)
    with gpu.lock, gpu.active() as call:
        board = _board(device)
        board.clear_faults()
        prints = board.print_buffer() if artifact.formats else 0
        table = table_of(device)
        held = table.hold()
        try:
            uses = any(site.op in _RESOURCE_OPS for site in artifact.sites.values())
            resources = board.resources(held) if uses else 0
            pads = (1,) * (MAX_RANK - len(dims))
            header = _HEADER.pack(*dims, *pads, block_dim, board.faults.ptr, resources, prints)
            _start(call, code, blocks, threads, header + packed_args)
            fault = board.take_fault()
        finally:
            table.let_go(held)
        return LaunchOutcome(fault, board.printed(artifact) if artifact.formats else PrintOutput())


def grid_threads(artifact: Artifact, dims: Sequence[int], processors: int) -> int:
    """Threads of the grid for a launch: fewer than it has only where they still fill the GPU."""
    total = prod(dims)
    if artifact.lanes is not None and artifact.rank:
        threads = artifact.lanes.grid(dims, artifact.rank)
        if threads >= processors * _RESIDENT:
            return threads
    return total


def _start(call: Driver, code: CudaCode, blocks: int, threads: int, block: bytes) -> None:
    memory = ctypes.create_string_buffer(block, len(block))
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    grid = [ctypes.c_uint(n) for n in (blocks, 1, 1, threads, 1, 1, 0)]
    call("cuLaunchKernel", ctypes.c_void_p(code.function), *grid, None, parameters, None)
