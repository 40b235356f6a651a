"""The functions that run several threads at once."""

from __future__ import annotations

from heald.codegen.aliases import Aliases
from heald.codegen.body import THREAD, parameter_leaves
from heald.codegen.locations import Locations, Places
from heald.codegen.ranges import ARGUMENTS
from heald.codegen.threads import coordinate
from heald.codegen.wide.body import WideBody, lane_constants, vector_lanes
from heald.codegen.wide.checks import ESCAPE, PART, flag_allocas
from heald.codegen.wide.control import emit_region
from heald.codegen.wide.ranges import (
    CAREFUL,
    CAREFUL_BODY,
    COUNT,
    WIDE_BODY,
    WIDE_RANGE,
    Rows,
    careful_call,
    careful_parameters,
    emit_careful,
    emit_wide_range,
    scalar_call,
    wide_arguments,
)
from heald.codegen.wide.values import WideWriter
from heald.ir import LOOPS, Kernel, walk
from heald.passes.facts import launch_rank


def functions(kernel: Kernel, module: Locations | None, aliases: Aliases) -> tuple[bool, list[str]]:
    """The wide range function and the wide body of a kernel with a width.

    Where that pays there is also a careful body, which runs under masks from the beginning: for
    the rest of each row, and for threads that part at the border of what is computed.  Gives also
    whether they record faults themselves.
    """
    width = kernel.attrs["width"]
    assert isinstance(width, int)
    loops = any(op.name in LOOPS for op in walk(kernel.body))
    few: int | None = vector_lanes(kernel)
    if few == width and not loops and launch_rank(kernel) == 1:
        few = None
    rank, used = launch_rank(kernel), parameter_leaves(kernel)
    places = None if module is None else Places(module, range_=WIDE_RANGE, body=WIDE_BODY)
    of_range, of_call = ("", "") if places is None else (places.of_range(), places.of_call())
    call = f"call void @{WIDE_BODY}({wide_arguments(rank, used)})"
    body = _body(kernel, places, aliases, width)
    body.apart = ESCAPE if few is None else PART
    lines = [
        f"define internal void @{WIDE_RANGE}({ARGUMENTS}) #2{of_range} {{",
        emit_wide_range(kernel, Rows(rank, width, few, call, of_call), used),
        "}",
        *_function(body, WIDE_BODY, wide_arguments(rank, used)),
    ]
    if few is not None:
        lines += _careful_functions(kernel, module, aliases, few)
    return body.records, lines


def lanes_function(
    kernel: Kernel, arguments: str, places: Places | None, aliases: Aliases, name: str
) -> list[str]:
    """The function that runs several threads of a launch in one of a GPU.

    It gives whether it has run them: before its first effect it may find that each must run by
    itself.  ``arguments`` are those of the scalar form: this one may do without some of them.
    """
    width = kernel.attrs["width"]
    assert isinstance(width, int)
    body = WideBody(
        kernel,
        places,
        gpu=True,
        aliases=aliases,
        writer=WideWriter(width, direct=True),
        width=width,
    )
    body.apart = ESCAPE
    w = body.writer
    w.start("begin")
    emit_region(body, kernel.body)
    w.place = "" if places is None else places.at(kernel.span)
    w.do("ret i1 true")
    if body.escapes:
        w.start(ESCAPE)
        w.do("ret i1 false")
    place = "" if places is None else places.of_body()
    return [
        f"define internal i1 @{name}({arguments}) #0{place} {{",
        *w.lines,
        "}",
    ]


def _body(kernel: Kernel, places: Places | None, aliases: Aliases, width: int) -> WideBody:
    return WideBody(kernel, places, aliases=aliases, writer=WideWriter(width), width=width)


def _careful_functions(
    kernel: Kernel, module: Locations | None, aliases: Aliases, width: int
) -> list[str]:
    rank, used = launch_rank(kernel), parameter_leaves(kernel)
    places = None if module is None else Places(module, range_=CAREFUL, body=CAREFUL_BODY)
    of_range, of_call = ("", "") if places is None else (places.of_range(), places.of_call())
    body = _body(kernel, places, aliases, width)
    w = body.writer
    w.start("begin")
    count = body.spread("i64", COUNT)
    numbers = lane_constants("i64", range(width))
    body.mask = w.ins(f"icmp ult <{width} x i64> {numbers}, {count}")
    return [
        f"define internal void @{CAREFUL}({careful_parameters(rank)}) #2{of_range} {{",
        emit_careful(kernel, rank, width, used, of_call),
        "}",
        *_function(body, CAREFUL_BODY, f"i64 {COUNT}, {wide_arguments(rank, used)}"),
    ]


def _function(body: WideBody, name: str, arguments: str) -> list[str]:
    """The definition of a body function."""
    w, careful = body.writer, body.mask is not None
    if not careful:
        w.start("begin")
    emit_region(body, body.kernel.body)
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    w.do("ret void")
    if body.parts:
        w.start(PART)
        rank = launch_rank(body.kernel)
        w.do(careful_call(rank, THREAD, coordinate(rank - 1), str(body.width)))
        w.do("ret void")
    if body.escapes:
        w.start(ESCAPE)
        end = w.ins(f"add i64 {THREAD}, {COUNT if careful else body.width}")
        w.do(scalar_call(THREAD, end))
        w.do("ret void")
    head = list(body.allocas)
    if body.records:
        head += flag_allocas(body.width)
    place = "" if body.locations is None else body.locations.of_body()
    return [
        f"define internal void @{name}({arguments}) #0{place} {{",
        "entry:",
        *(f"  {line}" for line in head),
        "  br label %begin",
        *w.lines,
        "}",
    ]
