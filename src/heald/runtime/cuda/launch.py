"""Running kernels on a GPU: loading code, and launches that take the careful path."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod

from heald.artifact import Artifact, abi
from heald.diagnostics import Diagnostic, InternalError, LaunchError
from heald.runtime.cuda.devices import Gpu, gpu_of
from heald.runtime.cuda.driver import Driver
from heald.runtime.cuda.queue import queue_of, raise_pending
from heald.runtime.cuda.streams import Stream
from heald.runtime.device import Device
from heald.runtime.launch import MAX_RANK
from heald.runtime.resources import table_of

_HEADER = struct.Struct("<4qiIQQQ")
MOST_BLOCKS = (1 << 31) - 1
"""Blocks of a grid."""
_THREADS_OF_FUNCTION = 0
_WARP = 32
_RESIDENT = 2048
"""Threads that a multiprocessor holds."""
_EARLY_PART = 8
"""A grid that begins early takes whatever places are free and holds them while it waits, so it may
have one part in so many of a GPU.  Larger ones would be spread unevenly (a kernel of 391 blocks
took 15 % longer on an H200), and hide what their launch takes."""
_CONFIG = struct.Struct("<7I4xQQI4x")
_ATTRIBUTE = struct.Struct(f"<i4xi{abi.ATTRIBUTE_SIZE - 12}x")
_RESOURCE_OPS = frozenset({"resource_array", "resource_scalar"})


@dataclass(frozen=True, slots=True, eq=False)
class CudaCode:
    """A function on a GPU.

    Attributes:
        function: the driver's handle.
        threads: most threads of a block.
        least: threads of a grid that fill the GPU.
        early: most threads of a grid that may begin while the one before it ends.
        keepalive: as long as it is referenced, the code stays loaded.
    """

    function: int
    threads: int
    least: int
    early: int
    keepalive: object


class _Module:
    """Code on a GPU, unloaded when nothing refers to it any more."""

    def __init__(self, gpu: Gpu, code: bytes) -> None:
        self.handle = ctypes.c_void_p()
        with gpu.despite_captures() as call:
            call("cuModuleLoadData", ctypes.byref(self.handle), ctypes.c_char_p(code))
        weakref.finalize(self, _unload, gpu, self.handle).atexit = False


def _unload(gpu: Gpu, handle: ctypes.c_void_p) -> None:
    if gpu.driver.is_usable:
        gpu.later(lambda: _unload_now(gpu, handle))


def _unload_now(gpu: Gpu, handle: ctypes.c_void_p) -> None:
    """Launches of its kernels may be waiting still."""
    with gpu.active() as call:
        call.attempt("cuCtxSynchronize")
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
    least = filling(gpu)
    early = least // _EARLY_PART if artifact.waits else 0
    return CudaCode(function.value, threads.value, least, early, module)


def filling(gpu: Gpu) -> int:
    """Threads of a grid that fill a GPU."""
    return gpu.processors * _RESIDENT


def uses_resources(artifact: Artifact) -> bool:
    """Does a kernel take handles of hash grids, meshes or BVHs?"""
    return any(site.op in _RESOURCE_OPS for site in artifact.sites.values())


def launch_cuda(
    stream: Stream,
    code: CudaCode,
    artifact: Artifact,
    source: int,
    packed_args: bytes,
    dims: Sequence[int],
    block_dim: int,
    keepalive: object = None,
) -> None:
    """Give a launch to a stream, and return at once.

    Args:
        stream: where.
        code: of ``artifact``, loaded there.
        artifact: of that code.
        source: who is asked about its faults and prints (``queue.register``).
        packed_args: the parameter block.
        dims: as ``check_dims`` gives them.  With an extent of 0 nothing runs.
        block_dim: threads a block, which kernels can ask for.  Blocks of the hardware are smaller
            where a kernel needs many registers; kernels cannot tell.
        keepalive: what code and parameter block need; a graph keeps it.

    Raises:
        KernelFault: an earlier launch has failed; this one was not started.
        DeviceError: the driver reports an error.
        LaunchError: more blocks than a grid has (H0706).
        InternalError: the parameter block is not of the artifact's size.
    """
    if len(packed_args) != artifact.block_size:
        raise InternalError(f"{len(packed_args)} bytes of parameters, not {artifact.block_size}")
    total = prod(dims)
    if total == 0:
        return
    threads = min(block_dim, code.threads)
    if artifact.blocks and threads < block_dim:
        message = (
            f"blocks of {block_dim} threads are too large for this kernel: it needs so many "
            f"registers that a GPU runs {code.threads} of its threads together"
        )
        raise LaunchError(Diagnostic("H0706", message, hint=f"use block_dim={code.threads}"))
    wanted = grid_threads(artifact, dims, code.least)
    if not artifact.blocks:
        threads = min(threads, -(-wanted // _WARP) * _WARP)  # no more warps than it needs
    blocks = -(-wanted // threads)
    if blocks > MOST_BLOCKS:
        message = f"{total:,} threads are {blocks:,} blocks, more than the {MOST_BLOCKS:,} of a GPU"
        hint = "launch fewer threads, or larger blocks with block_dim="
        raise LaunchError(Diagnostic("H0706", message, hint=hint))
    raise_pending(stream)
    queue = queue_of(stream)
    table = table_of(stream.device)
    held = table.hold()
    try:
        resources = queue.resources(held, stream) if uses_resources(artifact) else 0
        with queue.printing if artifact.formats else nullcontext():
            prints = queue.print_buffer() if artifact.formats else 0
            number = queue.note(source, dims)
            pads = (1,) * (MAX_RANK - len(dims))
            header = _HEADER.pack(*dims, *pads, block_dim, number, queue.faults, resources, prints)
            with stream.gpu.active() as call:
                _start(call, code, (blocks, threads), header + packed_args, stream)
    finally:
        table.let_go(held)
    if stream.capture is not None:
        stream.capture.keep((code, keepalive))


def grid_threads(artifact: Artifact, dims: Sequence[int], least: int) -> int:
    """Threads of the grid for a launch: fewer than it has only where they are ``least`` or more."""
    total = prod(dims)
    if artifact.lanes is not None and artifact.rank:
        threads = artifact.lanes.grid(dims, artifact.rank)
        if threads >= least:
            return threads
    return total


def _start(
    call: Driver, code: CudaCode, shape: tuple[int, int], block: bytes, stream: Stream
) -> None:
    memory = ctypes.create_string_buffer(block, len(block))
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    blocks, threads = shape
    attribute = ctypes.create_string_buffer(_ATTRIBUTE.pack(abi.ATTRIBUTE_EARLY, True))
    config = _CONFIG.pack(
        *(blocks, 1, 1, threads, 1, 1, 0),
        stream.cuda_stream,
        ctypes.addressof(attribute),
        blocks * threads <= code.early,
    )
    call("cuLaunchKernelEx", config, ctypes.c_void_p(code.function), parameters, None)
