"""A kernel as a module of LLVM text."""

from __future__ import annotations

from collections.abc import Callable

from heald.codegen import faults, printing, ranges
from heald.codegen.aliases import Aliases
from heald.codegen.blocks import functions as block_functions
from heald.codegen.body import Body, parameter_leaves
from heald.codegen.control import Targets, emit_region
from heald.codegen.locations import Locations, Places
from heald.codegen.target import Target
from heald.codegen.wide import checks
from heald.codegen.wide import emit as wide_emit
from heald.codegen.wide.ranges import WIDE_RANGE
from heald.codegen.writer import METADATA
from heald.diagnostics import InternalError
from heald.ir import LOOPS, Kernel, walk
from heald.passes.facts import launch_rank

_ATTRIBUTES = """\
attributes #0 = { alwaysinline nounwind }
attributes #1 = { noinline cold nounwind }
attributes #2 = { noinline nounwind "stackrealign" }
attributes #3 = { noinline nounwind minsize optsize }
attributes #4 = { noinline nounwind optnone }
"""
"""Range functions realign their stack: LLVM decides too late that vectors are spilled, and would
lay their slots across cache lines."""
_FAST, _SMALL, _QUICK = "#2", "#3", "#4"
"""How the scalar range function is compiled: for all threads, for the rest of each row, for the few
at the end of a launch that take no time."""


def llvm_text(
    kernel: Kernel,
    *,
    entry: str,
    target: Target,
    wide: Kernel | None = None,
    blocks: Kernel | None = None,
    locations: bool = True,
) -> str:
    """The LLVM module of a kernel that ``guard`` and ``scalarise`` have seen.

    It defines ``void entry(ptr header, ptr args, i64 lo, i64 hi)`` (``artifact.abi``), which runs
    the threads with linear index in [lo, hi).  With ``locations``, instructions carry their places
    in the user's source; the machine code is the same either way.

    ``wide`` is the same kernel without exits, on which the pass ``coalesce`` has recorded a width;
    where that is more than 1, it runs so many threads at a time, and ``kernel`` the rest of each
    row and the threads that have to start anew.

    ``blocks`` is the program of whole blocks that ``split_phases`` made of a kernel whose threads
    meet or share memory; then the range function runs the blocks that begin in [lo, hi).

    Raises:
        CompileError: the kernel uses what this target does not have.
        InternalError: the kernel is not scalar, or is a function for calls from the host.
    """
    if kernel.results:
        raise InternalError(f"{kernel.name} is a function for the host, not a kernel")
    if wide is not None and wide.attrs.get("width", 1) == 1:
        wide = None
    aliases = Aliases(kernel)
    first = len(METADATA) + len(aliases.lines)
    places = Locations(kernel, first=first) if locations else None
    start = ranges.RANGE if wide is None else WIDE_RANGE
    if blocks is not None:
        body, lines = block_functions(blocks, places, aliases)
    else:
        body, lines = _scalar(kernel, places, aliases, _FAST if wide is None else _care(kernel))
    parts = [target.header + ranges.entry_text(entry, start), *lines]
    if wide is not None:
        records, lines = wide_emit.functions(wide, places, aliases)
        parts += lines
        if records:
            parts.append(checks.DECLARATION)
    if body.checked:
        parts.append(faults.DECLARATION)
    if body.prints:
        parts.append(printing.DECLARATION)
    parts += [_ATTRIBUTES, *METADATA, *aliases.lines, *(places.lines() if places else ())]
    return "\n".join(parts) + "\n"


def _care(kernel: Kernel) -> str:
    """How well to compile the scalar form of a kernel that is widened."""
    loops = any(op.name in LOOPS for op in walk(kernel.body))
    return _SMALL if loops or launch_rank(kernel) > 1 else _QUICK


def _scalar(
    kernel: Kernel, module: Locations | None, aliases: Aliases, how: str
) -> tuple[Body, list[str]]:
    """The range function and the body that run one thread after the other."""
    places = None if module is None else Places(module, range_=ranges.RANGE, body=ranges.BODY)
    body = Body(kernel, places, aliases=aliases)
    rank = launch_rank(kernel)
    used = parameter_leaves(kernel)
    of_range, of_body, of_call = (
        ("", "", "") if places is None else (places.of_range(), places.of_body(), places.of_call())
    )
    return body, [
        f"define internal void @{ranges.RANGE}({ranges.ARGUMENTS}) {how}{of_range} {{",
        ranges.emit_range(kernel, rank, used, of_call, short=how != _FAST),
        "}",
        f"define internal void @{ranges.BODY}({ranges.body_arguments(rank, used)}) #0{of_body} {{",
        *thread_lines(body),
        "}",
    ]


def thread_lines(body: Body, begin: Callable[[Body], None] | None = None) -> list[str]:
    """The instructions of one thread's function; ``begin`` writes what comes first."""
    w = body.writer
    w.start("begin")
    if begin is not None:
        begin(body)
    end = w.join("finish")
    emit_region(body, body.kernel.body, Targets(end))
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    if w.land(end) is not None:
        if body.gpu and body.checked:
            faults.report_on_gpu(body)
        w.do("ret void")
    head = list(body.allocas)
    if body.checked:
        head += faults.flag_allocas()
    if body.prints:
        head += printing.counter_allocas()
    return ["entry:", *(f"  {line}" for line in head), "  br label %begin", *w.lines]
