"""Running a kernel on a GPU as the meaning tests run it on a CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from meaning.running import Left, _left, copied

from heald.artifact import Fault, PrintFormat, PrintRecord
from heald.codegen import build, cuda_target
from heald.diagnostics import KernelFault
from heald.driver.gpu import architecture_of
from heald.interp import ArrayView
from heald.ir import Kernel
from heald.runtime import PrintOutput, get_device, packer_of
from heald.runtime.cuda import (
    allocate,
    assemble_on,
    current_stream,
    gpu_of,
    launch_cuda,
    load_cuda,
    read,
    register,
    synchronize_stream,
    write,
)


def at_once(error: KernelFault) -> str:
    """What an error of a GPU says, without that it comes late: that of a CPU says the same."""
    lines = str(error).splitlines()
    return "\n".join(x for x in lines if "an earlier launch" not in x and "VERIFY_CUDA" not in x)


class Witness:
    """Keeps what a launch left behind besides memory."""

    def __init__(self, formats: Mapping[int, PrintFormat]) -> None:
        self.formats = formats
        self.fault: Fault | None = None
        self.records: Sequence[PrintRecord] = ()

    def error(self, fault: Fault, dims: Sequence[int]) -> KernelFault:
        """Of a launch that failed."""
        self.fault = fault
        return KernelFault("for the witness")

    def show(self, printed: PrintOutput) -> None:
        """What a launch printed."""
        self.records = printed.records


def execute(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[Any],
    *,
    block_dim: int = 64,
    wide: Kernel | None = None,
) -> Left:
    """``kernel`` is what the scalar code generator takes; buffers keep their margins.

    Threads take the lanes that ``wide`` was given, however few they are.
    """
    device = get_device("cuda:0")
    artifact = build(kernel, cuda_target(architecture_of(device)), wide=wide)
    artifact = replace(artifact, code=assemble_on(gpu_of(device), artifact.code))
    code = replace(load_cuda(device, artifact), least=1)
    own = copied(args, {})
    memory: dict[int, tuple[np.ndarray[Any, Any], Any]] = {}
    words: list[Any] = []
    for a in own:
        for x in a if isinstance(a, tuple) else (a,):
            if not isinstance(x, ArrayView):
                words.append(x)
                continue
            if id(x.buffer) not in memory:
                block = allocate(device, x.buffer.nbytes)
                write(device, block.ptr, x.buffer)
                memory[id(x.buffer)] = (x.buffer, block)
            words += [memory[id(x.buffer)][1].ptr + x.offset, *x.shape, *x.strides]
    packed = packer_of(artifact).pack(words)
    witness, stream = Witness(artifact.formats), current_stream(device)
    number = register(witness)
    launch_cuda(stream, code, artifact, number, packed, tuple(dims), block_dim)
    with contextlib.suppress(KernelFault):
        synchronize_stream(stream)
    for buffer, block in memory.values():
        buffer[:] = read(device, block.ptr, buffer.nbytes)
    return _left(kernel, own, witness.fault, witness.records)
