"""The code that GPUs are given, run by this processor: thread after thread of the grid.

LLVM compiles the text of a GPU kernel for the host once the registers that number threads are
variables.  What a GPU does at the same time happens in order here, so this shows what the code
means, not that it is free of races.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
from meaning.running import Left, _left, copied

from heald.artifact import Artifact, abi
from heald.codegen import build, cuda_target, faults, host_target
from heald.codegen.compile import compile_object
from heald.codegen.jit import load_object
from heald.codegen.nvptx import gpu_text
from heald.interp import ArrayView
from heald.ir import Kernel
from heald.runtime import packer_of
from heald.runtime.cuda.queue import decode_fault
from heald.runtime.printing import new_buffer

ARCH = "sm_90"
_LAUNCH = 7
_REGISTERS = ("ctaid", "ntid", "tid", "nctaid")
_GRID = """
define void @run_grid(ptr %block, i32 %blocks, i32 %threads, i32 %first, i32 %stop) {
entry:
  store i32 %blocks, ptr @sreg.nctaid
  store i32 %threads, ptr @sreg.ntid
  br label %next
next:
  %b = phi i32 [ %first, %entry ], [ %b, %thread ], [ %b1, %end ]
  %t = phi i32 [ 0, %entry ], [ %t1, %thread ], [ 0, %end ]
  store i32 %b, ptr @sreg.ctaid
  store i32 %t, ptr @sreg.tid
  call void @kernel(ptr %block)
  br label %thread
thread:
  %t1 = add i32 %t, 1
  %more = icmp ult i32 %t1, %threads
  br i1 %more, label %next, label %end
end:
  %b1 = add i32 %b, 1
  %again = icmp ult i32 %b1, %stop
  br i1 %again, label %next, label %done
done:
  ret void
}
"""


@cache
def _function(
    kernel: Kernel, wide: Kernel | None, whole_warps: bool
) -> tuple[Any, Artifact, object]:
    """What runs the code, the record that a GPU is given, and what must stay alive."""
    here = -1 if whole_warps else 1
    target = cuda_target(ARCH)
    text = gpu_text(kernel, entry="kernel", target=target, wide=wide, locations=False)
    text = text.replace(target.header, host_target().header)
    text = text.replace(faults.GPU_DECLARATION, faults.GPU_HELPER)
    text = re.sub(r"ptx_kernel (void @kernel\(ptr) byval\([^)]*\) align 16", r"\1", text)
    text = re.sub(
        r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.x\(\)", r"load i32, ptr @sreg.\1", text
    )
    text = re.sub(r"call i32 @llvm\.nvvm\.activemask\(\) convergent", f"add i32 {here}, 0", text)
    text = re.sub(r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.laneid\(\)", "add i32 0, 0", text)
    text = re.sub(
        r"call i32 @llvm\.nvvm\.match\.any\.sync\.i64\(.*\) convergent", "add i32 1, 0", text
    )
    text = re.sub(
        r"call i32 @llvm\.nvvm\.redux\.sync\.\w+\(i32 (\S+), i32 \S+\) convergent",
        r"add i32 \1, 0",
        text,
    )
    text = re.sub(
        r"call i32 @llvm\.nvvm\.shfl\.sync\.bfly\.i32\(i32 -1, i32 (\S+), .*\) convergent",
        r"add i32 \1, 0",
        text,
    )
    text = re.sub(r'asm sideeffect "griddepcontrol[^"]*"', 'asm sideeffect ""', text)
    cells = "\n".join(f"@sreg.{name} = internal global i32 0" for name in _REGISTERS)
    code = compile_object(f"{text}\n{cells}\n{_GRID}", host_target())
    (address,), keepalive = load_object(code, ["run_grid"])
    how = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint32] * 4)
    return how(address), build(kernel, target, wide=wide), keepalive


@dataclass(frozen=True)
class Grid:
    """How a launch is laid out: threads of a block, whether threads take several lanes, and which
    blocks run, if not all: the first, and one past the last, from the end where they are < 0.

    A thread is alone in its warp, or with ``whole_warps`` takes all of it for threads like itself.
    """

    block: int = 64
    lanes: bool = False
    part: tuple[int, int] | None = None
    whole_warps: bool = False

    def blocks(self, threads: int) -> tuple[int, int, int]:
        """How many there are, and which of them run."""
        count = -(-threads // self.block)
        first, stop = self.part or (0, count)
        return count, first % (count + 1), stop % (count + 1)


def execute(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[Any],
    *,
    wide: Kernel | None = None,
    grid: Grid = Grid(),
) -> Left | None:
    """What a launch leaves in memory, and its fault; None where threads cannot take lanes in it."""
    run, artifact, _ = _function(kernel, wide, grid.whole_warps)
    threads = prod(dims)
    if grid.lanes:
        threads = 0 if artifact.lanes is None else artifact.lanes.grid(dims, artifact.rank)
        if threads == 0 or -(-threads // grid.block) * grid.block >= prod(dims):
            return None
    own = copied(args, {})
    words: list[Any] = []
    for a in own:
        for x in a if isinstance(a, tuple) else (a,):
            if isinstance(x, ArrayView):
                words += [x.buffer.ctypes.data + x.offset, *x.shape, *x.strides]
            else:
                words.append(x)
    packed = np.frombuffer(packer_of(artifact).pack(words), np.uint8)
    faults = np.zeros(abi.GPU_FAULT_SIZE // 8, np.int64)
    faults[0] = abi.NO_THREAD
    flag = np.zeros(1, np.int64)
    faults[abi.GPU_FAULT_FLAG // 8] = flag.ctypes.data
    prints = new_buffer()
    header = np.zeros(abi.HEADER_SIZE // 8, np.int64)
    header[:4] = [*dims, *[1] * (4 - len(dims))]
    header.view(np.int32)[abi.HEADER_BLOCK_DIM // 4] = grid.block
    header.view(np.int32)[abi.HEADER_LAUNCH // 4] = _LAUNCH
    header[abi.HEADER_FAULT // 8] = faults.ctypes.data
    header[abi.HEADER_PRINT // 8] = prints.ptr
    space = np.zeros(header.nbytes + packed.nbytes + 32, np.uint8)
    start = -space.ctypes.data % 16
    space[start : start + header.nbytes] = header.view(np.uint8)
    space[start + header.nbytes : start + header.nbytes + packed.nbytes] = packed
    count, first, stop = grid.blocks(threads)
    run(space.ctypes.data + start, count, grid.block, first, stop)
    key, faulted, used = map(int, faults[:3])
    slots = faults.view(np.uint8)[abi.GPU_FAULT_HEAD :][: used * abi.GPU_FAULT_SLOT_SIZE]
    assert flag[0] == (_LAUNCH if faulted else 0)
    fault = decode_fault(key, faulted, slots.tobytes()) if faulted else None
    return _left(kernel, own, fault)
