"""The range function of a widened kernel: whole vectors of threads, and the rest one by one."""

from __future__ import annotations

from collections.abc import Sequence

from heald.codegen.body import HEADER, THREAD, ParameterLeaf
from heald.codegen.ranges import RANGE, body_arguments, emit_segments, unpack, unread_extent
from heald.codegen.threads import coordinate, launch_extent
from heald.codegen.writer import Writer, phi
from heald.ir import Kernel

WIDE_RANGE = "heald_wide_range"
WIDE_BODY = "heald_wide_body"


def scalar_call(first: str, end: str) -> str:
    """The call that runs the threads from ``first`` to ``end`` one by one."""
    return f"call void @{RANGE}(ptr {HEADER}, ptr %args, i64 {first}, i64 {end})"


def wide_arguments(rank: int, used: Sequence[ParameterLeaf]) -> str:
    """The parameters of the wide body: those of the scalar body and the argument block."""
    return f"ptr %args, {body_arguments(rank, used)}"


def emit_wide_range(
    kernel: Kernel, rank: int, width: int, used: Sequence[ParameterLeaf], place: str
) -> str:
    """The instructions of the range function.

    Rows of the last coordinate run ``width`` threads at a time.  Where the launch has more dims
    than the kernel reads, or rows shorter than that, all threads run one by one.
    """
    w = Writer()
    w.start("entry")
    w.branch(w.ins("icmp slt i64 %lo, %hi"), "unpack", "exit")
    w.start("unpack")
    unpack(w, kernel, used)
    rest = unread_extent(w, rank)
    single = w.ins(f"icmp eq i64 {rest}, 1")
    fits = w.ins(f"icmp uge i64 {launch_extent(rank - 1)}, {width}")
    w.branch(w.ins(f"and i1 {single}, {fits}"), "rows", "alone")
    w.start("alone")
    w.do(scalar_call("%lo", "%hi") + place)
    w.do("br label %exit")
    w.start("rows")
    call = f"call void @{WIDE_BODY}({wide_arguments(rank, used)}){place}"
    if rank == 1:
        w.do("br label %segment")
        w.start("segment")
        _run_row(w, rank, width, call, place, ("%lo", "%hi", "%lo"))
        w.do("br label %exit")
    else:
        row = ("%segment.begin", "%segment.stop", "%x.begin")
        emit_segments(w, rank, "1", "true", lambda: _run_row(w, rank, width, call, place, row))
    w.start("exit")
    w.do("ret void")
    return "\n".join(w.lines)


def _run_row(
    w: Writer, rank: int, width: int, call: str, place: str, row: tuple[str, str, str]
) -> str:
    """The threads of a row, from the block ``segment`` on; gives the coordinate behind the last.

    ``row`` are its first thread, the one behind its last, and the coordinate of the first.
    """
    begin, stop, first = row
    count = w.ins(f"sub i64 {stop}, {begin}")
    whole = w.ins(f"and i64 {count}, {-width}")
    w.lines.append(f"  %wide.end = add i64 {begin}, {whole}")
    w.branch(w.ins(f"icmp eq i64 {whole}, 0"), "wide.done", "wide.run")
    w.start("wide.run")
    for name, start, following in (
        (THREAD, begin, "%t.next"),
        (coordinate(rank - 1), first, "%x.next"),
    ):
        w.lines.append(f"  {name} = {phi('i64', [('segment', start), ('wide.run', following)])}")
    w.lines.append(f"  {call}")
    w.lines.append(f"  %t.next = add nuw nsw i64 {THREAD}, {width}")
    w.lines.append(f"  %x.next = add nuw nsw i64 {coordinate(rank - 1)}, {width}")
    w.branch(w.ins("icmp slt i64 %t.next, %wide.end"), "wide.run", "wide.done")
    w.start("wide.done")
    w.branch(w.ins(f"icmp slt i64 %wide.end, {stop}"), "tail", "tail.done")
    w.start("tail")
    w.do(scalar_call("%wide.end", stop) + place)
    w.do("br label %tail.done")
    w.start("tail.done")
    return w.ins(f"add i64 {first}, {count}")
