"""Running a kernel on a GPU as the meaning tests run it on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from meaning.running import Left, _left, copied

from heald.codegen import build, cuda_target
from heald.driver.gpu import architecture_of
from heald.interp import ArrayView
from heald.ir import Kernel
from heald.runtime import get_device, packer_of
from heald.runtime.cuda import allocate, assemble_on, gpu_of, launch_cuda, load_cuda, read, write


def execute(
    kernel: Kernel, dims: Sequence[int], args: Sequence[Any], *, block_dim: int = 64
) -> Left:
    """``kernel`` is what the scalar code generator takes; buffers keep their margins."""
    device = get_device("cuda:0")
    artifact = build(kernel, cuda_target(architecture_of(device)))
    artifact = replace(artifact, code=assemble_on(gpu_of(device), artifact.code))
    code = load_cuda(device, artifact)
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
    outcome = launch_cuda(device, code, artifact, packed, tuple(dims), block_dim)
    for buffer, block in memory.values():
        buffer[:] = read(device, block.ptr, buffer.nbytes)
    return _left(kernel, own, outcome.fault, outcome.printed.records)
