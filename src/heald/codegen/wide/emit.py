"""The functions that run several threads at once."""

from __future__ import annotations

from heald.codegen.body import THREAD, parameter_leaves
from heald.codegen.locations import Locations, Places
from heald.codegen.ranges import ARGUMENTS
from heald.codegen.wide.body import WideBody
from heald.codegen.wide.checks import ESCAPE, flag_allocas
from heald.codegen.wide.control import emit_region
from heald.codegen.wide.ranges import (
    WIDE_BODY,
    WIDE_RANGE,
    emit_wide_range,
    scalar_call,
    wide_arguments,
)
from heald.codegen.wide.values import WideWriter
from heald.ir import Kernel
from heald.passes.facts import launch_rank


def functions(kernel: Kernel, module: Locations | None) -> tuple[bool, list[str]]:
    """The wide range function and the wide body of a kernel with a width.

    Gives also whether they record faults themselves.
    """
    width = kernel.attrs["width"]
    assert isinstance(width, int)
    places = None if module is None else Places(module, range_=WIDE_RANGE, body=WIDE_BODY)
    of_range, of_body, of_call = (
        ("", "", "") if places is None else (places.of_range(), places.of_body(), places.of_call())
    )
    rank, used = launch_rank(kernel), parameter_leaves(kernel)
    body = WideBody(kernel, places, writer=WideWriter(width), width=width)
    return body.records, [
        f"define internal void @{WIDE_RANGE}({ARGUMENTS}) #2{of_range} {{",
        emit_wide_range(kernel, rank, width, used, of_call),
        "}",
        f"define internal void @{WIDE_BODY}({wide_arguments(rank, used)}) #0{of_body} {{",
        *_threads(body),
        "}",
    ]


def _threads(body: WideBody) -> list[str]:
    """The instructions of the body."""
    w = body.writer
    w.start("begin")
    emit_region(body, body.kernel.body)
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    w.do("ret void")
    if body.escapes:
        w.start(ESCAPE)
        w.do(scalar_call(THREAD, w.ins(f"add i64 {THREAD}, {body.width}")))
        w.do("ret void")
    head = list(body.allocas)
    if body.records:
        head += flag_allocas(body.width)
    return ["entry:", *(f"  {line}" for line in head), "  br label %begin", *w.lines]
