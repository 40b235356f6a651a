"""A kernel as a module of LLVM text."""

from __future__ import annotations

from heald.codegen import faults, printing, ranges
from heald.codegen.body import Body, parameter_leaves
from heald.codegen.control import Targets, emit_region
from heald.codegen.locations import Locations
from heald.codegen.memory import axis_of
from heald.codegen.target import Target
from heald.codegen.writer import METADATA
from heald.diagnostics import InternalError
from heald.ir import Kernel, walk

_ATTRIBUTES = """\
attributes #0 = { alwaysinline nounwind }
attributes #1 = { noinline cold nounwind }
attributes #2 = { noinline nounwind }
"""


def llvm_text(kernel: Kernel, *, entry: str, target: Target, locations: bool = True) -> str:
    """The LLVM module of a kernel that ``guard`` and ``scalarise`` have seen.

    It defines ``void entry(ptr header, ptr args, i64 lo, i64 hi)`` (``artifact.abi``), which runs
    the threads with linear index in [lo, hi).  With ``locations``, instructions carry their places
    in the user's source; the machine code is the same either way.

    Raises:
        CompileError: the kernel uses what this target does not have.
        InternalError: the kernel is not scalar, or is a function for calls from the host.
    """
    if kernel.results:
        raise InternalError(f"{kernel.name} is a function for the host, not a kernel")
    places = None
    if locations:
        places = Locations(kernel, range_=ranges.RANGE, body=ranges.BODY, first=len(METADATA))
    body = Body(kernel, places)
    rank = launch_rank(kernel)
    used = parameter_leaves(kernel)
    of_range, of_body, of_call = (
        ("", "", "") if places is None else (places.of_range(), places.of_body(), places.of_call())
    )
    parts = [
        target.header + ranges.entry_text(entry),
        f"define internal void @{ranges.RANGE}({ranges.ARGUMENTS}) #2{of_range} {{",
        ranges.emit_range(kernel, rank, used, of_call),
        "}",
        f"define internal void @{ranges.BODY}({ranges.body_arguments(rank, used)}) #0{of_body} {{",
        *_thread(body),
        "}",
    ]
    if body.checked:
        parts.append(faults.HELPER)
    if body.prints:
        parts.append(printing.HELPER)
    parts += [_ATTRIBUTES, *METADATA, *(places.lines() if places else ())]
    return "\n".join(parts) + "\n"


def launch_rank(kernel: Kernel) -> int:
    """How many launch coordinates a kernel reads."""
    axes = (axis_of(op) for op in walk(kernel.body) if op.name == "tid")
    return max([kernel.rank, *(axis + 1 for axis in axes)])


def _thread(body: Body) -> list[str]:
    """The instructions of one thread's function."""
    w = body.writer
    w.start("begin")
    end = w.join("finish")
    emit_region(body, body.kernel.body, Targets(end))
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    if w.land(end) is not None:
        w.do("ret void")
    head = list(body.allocas)
    if body.checked:
        head += faults.flag_allocas()
    if body.prints:
        head += printing.counter_allocas()
    return ["entry:", *(f"  {line}" for line in head), "  br label %begin", *w.lines]
