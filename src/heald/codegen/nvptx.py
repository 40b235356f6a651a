"""A kernel as PTX.

The body is the one of CPUs (``body``), for one thread; around it stands a ``ptx_kernel`` that takes
the parameter block by value and finds the thread's coordinates.  No function is called but our own,
which are in the same module, and nothing is approximated, contracted or flushed: LLVM does neither
unless asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial

from heald.artifact import Lanes, abi
from heald.codegen import faults, teams
from heald.codegen.aliases import Aliases
from heald.codegen.body import (
    DEVICE_SCOPE,
    HEADER,
    Body,
    parameter_leaves,
)
from heald.codegen.compile import assembly
from heald.codegen.emit import thread_lines
from heald.codegen.grid import LANES_BODY, emit_entry
from heald.codegen.helpers import GPU_QUOTIENT, print_room
from heald.codegen.locations import Locations, Places
from heald.codegen.ranges import BODY, body_arguments
from heald.codegen.target import LEVEL, Target, cuda_target
from heald.codegen.wide.emit import lanes_function
from heald.codegen.writer import METADATA
from heald.diagnostics import CompileError, Diagnostic, InternalError
from heald.ir import LOOPS, Kernel, walk
from heald.passes.facts import launch_rank, tid_types
from heald.passes.meetings import shares_block
from heald.types import i32, parameter_layout

PARAMETER_BYTES = 32764
"""What the parameters of one kernel may take (PTX 8.1, sm_70)."""

_WHOLE, _OTHER = "heald_whole_warp", "heald_other_warp"
_ATTRIBUTES = """\
attributes #0 = { alwaysinline convergent nounwind }
attributes #1 = { noinline cold nounwind }
"""


def ptx_text(
    kernel: Kernel,
    arch: str = "sm_90",
    *,
    entry: str,
    wide: Kernel | None = None,
    locations: bool = True,
) -> str:
    """The PTX of a kernel that ``guard`` and ``scalarise`` have seen, with ``.loc`` lines.

    Raises:
        CompileError: the kernel uses what GPUs do not have.
        DeviceError: there is no code for ``arch``.
        InternalError: LLVM refuses the generated code.
    """
    target = cuda_target(arch)
    text = gpu_text(kernel, entry=entry, target=target, wide=wide, locations=locations)
    return ptx_of(text, target, gpu_level(kernel))


def ptx_of(text: str, target: Target, level: int) -> str:
    """The PTX of a module that :func:`gpu_text` wrote, for ptxas as it is.

    ptxas (seen in 13.0 and 13.5, for all architectures) takes -0.0 for 0.0 in ``selp.f32`` between
    it and 1.0 or -1.0, where it makes a number of the predicate.  It chooses among bits as told.

    Raises:
        InternalError: LLVM refuses the text.
    """
    ptx = assembly(text, target, level=level).replace("selp.f32", "selp.b32")
    return _FAULT_DECLARED.sub(lambda _: _fault_function(target), ptx)


_FAULT_DECLARED = re.compile(r"\.extern \.func heald_gpu_fault\b[^;]*;")
_FAULT_DEFINED = re.compile(r"\.func heald_gpu_fault\b.*^}$", re.DOTALL | re.MULTILINE)


@cache
def _fault_function(target: Target) -> str:
    """The PTX that records faults, the same for all kernels: a tenth of what LLVM did for each."""
    found = _FAULT_DEFINED.search(assembly(target.header + faults.GPU_HELPER + _ATTRIBUTES, target))
    assert found is not None
    return found[0]


def gpu_level(kernel: Kernel, level: int = LEVEL) -> int:
    """LLVM's optimisation level for a kernel where ``level`` is asked for.

    Without loops level 1 gives code as fast in two thirds of the time.
    """
    return level if any(op.name in LOOPS for op in walk(kernel.body)) else min(level, 1)


def gpu_text(
    kernel: Kernel,
    *,
    entry: str,
    target: Target,
    wide: Kernel | None = None,
    locations: bool = True,
) -> str:
    """The LLVM module of a kernel for GPUs; see :func:`ptx_text`.

    ``wide`` is the same kernel without exits, on which the pass ``coarsen`` has recorded a width;
    where that is more than 1, threads of smaller grids run so many threads of the launch each.

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
    loops: list[str] = []

    def new_body(name: str) -> Body:
        places = None if debug is None else Places(debug, range_=entry, body=name)
        return Body(kernel, places, gpu=True, aliases=aliases, loop_nodes=loops)

    body = new_body(BODY)
    places = body.locations
    rank, used = launch_rank(kernel), parameter_leaves(kernel)
    of_entry, of_call = ("", "") if places is None else (places.of_range(), places.of_call())
    block = f"ptr byval([{_block_size(kernel)} x i8]) align 16 {HEADER}"
    lanes = lanes_of(kernel, wide)
    parts = [
        target.header,
        f"define ptx_kernel void @{entry}({block}){of_entry} {{",
        emit_entry(kernel, rank, used, of_call, lanes, waits=target.can_wait),
        "}",
    ]
    arguments = body_arguments(rank, used)
    if teams.exchanges(kernel):
        whole = new_body(_WHOLE)
        parts += _function(
            _WHOLE, whole, arguments, thread_lines(whole, partial(teams.begin, whole=True))
        )
        other = new_body(_OTHER)
        parts += _function(_OTHER, other, arguments, thread_lines(other, teams.begin))
        calls = (f"call void @{name}({arguments})" for name in (_WHOLE, _OTHER))
        parts += _function(BODY, body, arguments, teams.choose(body, *calls))
        body = whole
    else:
        begin = teams.begin if shares_block(kernel) else None
        parts += _function(BODY, body, arguments, thread_lines(body, begin))
    parts += body.globals
    if wide is not None and lanes is not None:
        own = None if debug is None else Places(debug, range_=entry, body=LANES_BODY)
        parts += lanes_function(wide, arguments, own, aliases, LANES_BODY)
    parts.append(GPU_QUOTIENT)
    if body.checked:
        parts.append(faults.GPU_DECLARATION)
    if body.prints:
        parts.append(print_room(linkage=" internal", scope=DEVICE_SCOPE))
    parts += [_ATTRIBUTES, *METADATA, *aliases.lines, *(debug.lines() if debug else ())]
    parts += loops
    return "\n".join(parts) + "\n"


def _function(name: str, body: Body, arguments: str, lines: Sequence[str]) -> list[str]:
    place = "" if body.locations is None else body.locations.of_body()
    return [f"define internal void @{name}({arguments}) #0{place} {{", *lines, "}"]


def lanes_of(kernel: Kernel, wide: Kernel | None) -> Lanes | None:
    """The lanes that ``coarsen`` has given a kernel, if its scalar form, for which the entry is
    written, counts them in 32 bits."""
    if wide is None or tid_types(kernel) != {i32}:
        return None
    width, spacing = wide.attrs.get("width", 1), wide.attrs.get("spacing", 1)
    assert isinstance(width, int)
    assert isinstance(spacing, int)
    return Lanes(width, spacing) if width > 1 else None


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
