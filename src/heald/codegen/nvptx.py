"""A kernel as PTX.

The body is the one of CPUs (``body``), for one thread; around it stands a ``ptx_kernel`` that takes
the parameter block by value and finds the thread's coordinates.  No function is called but our own,
which are in the same module, and nothing is approximated, contracted or flushed: LLVM does neither
unless asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from heald.artifact import abi
from heald.codegen import faults, printing
from heald.codegen.aliases import Aliases
from heald.codegen.body import (
    DEVICE_SCOPE,
    HEADER,
    THREAD,
    Body,
    ParameterLeaf,
    parameter_leaves,
)
from heald.codegen.compile import assembly
from heald.codegen.emit import thread_lines
from heald.codegen.locations import Locations, Places
from heald.codegen.ranges import BODY, DIMS, body_arguments, unpack, unread_extent
from heald.codegen.target import Target, cuda_target
from heald.codegen.threads import coordinate, launch_extent
from heald.codegen.writer import METADATA, Writer, phi
from heald.diagnostics import CompileError, Diagnostic, InternalError
from heald.ir import Kernel
from heald.passes.facts import launch_rank
from heald.types import parameter_layout

PARAMETER_BYTES = 32764
"""What the parameters of one kernel may take (PTX 8.1, sm_70)."""

_ATTRIBUTES = """\
attributes #0 = { alwaysinline nounwind }
attributes #1 = { noinline cold nounwind }
"""


def ptx_text(kernel: Kernel, arch: str = "sm_90", *, entry: str, locations: bool = True) -> str:
    """The PTX of a kernel that ``guard`` and ``scalarise`` have seen, with ``.loc`` lines.

    Raises:
        CompileError: the kernel uses what GPUs do not have.
        DeviceError: there is no code for ``arch``.
        InternalError: LLVM refuses the generated code.
    """
    target = cuda_target(arch)
    return assembly(gpu_text(kernel, entry=entry, target=target, locations=locations), target)


def gpu_text(kernel: Kernel, *, entry: str, target: Target, locations: bool = True) -> str:
    """The LLVM module of a kernel for GPUs; see :func:`ptx_text`.

    Raises:
        CompileError: the kernel uses what GPUs do not have.
        InternalError: the kernel is not scalar, or is a function for calls from the host.
    """
    if kernel.results:
        raise InternalError(f"{kernel.name} is a function for the host, not a kernel")
    aliases = Aliases(kernel)
    debug = None
    if locations:
        first = len(METADATA) + len(aliases.lines)
        debug = Locations(kernel, first=first, kind="DebugDirectivesOnly")
    places = None if debug is None else Places(debug, range_=entry, body=BODY)
    body = Body(kernel, places, gpu=True, aliases=aliases)
    rank, used = launch_rank(kernel), parameter_leaves(kernel)
    of_entry, of_body, of_call = (
        ("", "", "") if places is None else (places.of_range(), places.of_body(), places.of_call())
    )
    block = f"ptr byval([{_block_size(kernel)} x i8]) align 16 {HEADER}"
    parts = [
        target.header,
        f"define ptx_kernel void @{entry}({block}){of_entry} {{",
        _entry(kernel, rank, used, of_call),
        "}",
        f"define internal void @{BODY}({body_arguments(rank, used)}) #0{of_body} {{",
        *thread_lines(body),
        "}",
    ]
    if body.checked:
        parts.append(faults.GPU_HELPER)
    if body.prints:
        parts.append(printing.helper(linkage=" internal", scope=DEVICE_SCOPE))
    parts += [_ATTRIBUTES, *METADATA, *aliases.lines, *(debug.lines() if debug else ())]
    return "\n".join(parts) + "\n"


def _block_size(kernel: Kernel) -> int:
    _, size = parameter_layout(p.type for p in kernel.params)
    if abi.HEADER_SIZE + size > PARAMETER_BYTES:
        raise CompileError(
            Diagnostic(
                "H0805",
                f"the arguments of kernel '{kernel.name}' take {size:,} bytes, and a GPU takes at "
                f"most {PARAMETER_BYTES - abi.HEADER_SIZE:,}",
                kernel.span,
                hint="pass an array in place of large values",
            )
        )
    return abi.HEADER_SIZE + size


def _entry(kernel: Kernel, rank: int, used: Sequence[ParameterLeaf], call_place: str) -> str:
    """One thread: its number, whether there is such a thread in the launch, its coordinates."""
    w = Writer()
    w.start("entry")
    w.lines.append(f"  %args = getelementptr i8, ptr {HEADER}, i64 {abi.HEADER_SIZE}")
    unpack(w, kernel, used, aligned=True)
    words = [
        w.ins(f"zext i32 {w.ins(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")
        for name in ("ctaid", "ntid", "tid")
    ]
    before = w.ins(f"mul nuw nsw i64 {words[0]}, {words[1]}")
    w.lines.append(f"  {THREAD} = add nuw nsw i64 {before}, {words[2]}")
    total = launch_extent(0)
    for axis in range(1, DIMS):
        total = w.ins(f"mul i64 {total}, {launch_extent(axis)}")
    w.branch(w.ins(f"icmp ult i64 {THREAD}, {total}"), "thread.run", "exit")
    w.start("thread.run")
    _coordinates(w, rank)
    w.lines.append(f"  call void @{BODY}({body_arguments(rank, used)}){call_place}")
    w.do("br label %exit")
    w.start("exit")
    w.do("ret void")
    return "\n".join(w.lines)


def _coordinates(w: Writer, rank: int) -> None:
    """Divide the linear thread index by the extents behind each axis.

    Behind the last one stand the extents that the kernel does not read, mostly none.
    """
    if rank == 0:
        return
    rest = unread_extent(w, rank)
    w.branch(w.ins(f"icmp eq i64 {rest}, 1"), "thread.found", "thread.divide")
    w.start("thread.divide")
    divided = w.ins(f"udiv i64 {THREAD}, {rest}")
    w.do("br label %thread.found")
    w.start("thread.found")
    quotient = w.ins(phi("i64", [("thread.run", THREAD), ("thread.divide", divided)]))
    for axis in range(rank - 1, 0, -1):
        extent = launch_extent(axis)
        w.lines.append(f"  {coordinate(axis)} = urem i64 {quotient}, {extent}")
        quotient = w.ins(f"udiv i64 {quotient}, {extent}")
    w.lines.append(f"  {coordinate(0)} = add i64 {quotient}, 0")
