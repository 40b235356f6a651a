"""The range function of a widened kernel: whole vectors of threads, and the rest one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heald.codegen.body import HEADER, THREAD, ParameterLeaf
from heald.codegen.ranges import RANGE, body_arguments, emit_segments, unpack, unread_extent
from heald.codegen.threads import coordinate, launch_extent
from heald.codegen.writer import Writer, phi
from heald.ir import Kernel

WIDE_RANGE = "heald_wide_range"
WIDE_BODY = "heald_wide_body"
CAREFUL = "heald_careful"
CAREFUL_BODY = "heald_careful_body"
COUNT = "%count"


def scalar_call(first: str, end: str) -> str:
    """The call that runs the threads from ``first`` to ``end`` one by one."""
    return f"call void @{RANGE}(ptr {HEADER}, ptr %args, i64 {first}, i64 {end})"


def wide_arguments(rank: int, used: Sequence[ParameterLeaf]) -> str:
    """The parameters of the wide body: those of the scalar body and the argument block."""
    return f"ptr %args, {body_arguments(rank, used)}"


def careful_parameters(rank: int) -> str:
    """The parameters of the function for threads that part, or are too few for a vector.

    It runs ``%all`` threads from ``%first`` on, the last coordinates of which follow ``%place``.
    """
    words = ["%first", *(coordinate(k) for k in range(rank - 1)), "%place", "%all"]
    return f"ptr {HEADER}, ptr %args, " + ", ".join(f"i64 {word}" for word in words)


def careful_call(rank: int, thread: str, last: str, count: str) -> str:
    """The call of that function for ``count`` threads from ``thread`` on in this row."""
    places = [*(coordinate(k) for k in range(rank - 1)), last]
    words = ", ".join(f"i64 {word}" for word in (thread, *places, count))
    return f"call void @{CAREFUL}(ptr {HEADER}, ptr %args, {words})"


def emit_careful(
    kernel: Kernel, rank: int, lanes: int, used: Sequence[ParameterLeaf], place: str
) -> str:
    """The instructions of the function for few threads: ``lanes`` at a time, under masks."""
    w = Writer()
    w.start("entry")
    unpack(w, kernel, used)
    w.branch(w.ins("icmp slt i64 0, %all"), "run", "exit")
    w.start("run")
    w.lines.append(f"  %done = {phi('i64', [('entry', '0'), ('run', '%next')])}")
    w.lines.append(f"  {THREAD} = add nuw nsw i64 %first, %done")
    w.lines.append(f"  {coordinate(rank - 1)} = add nuw nsw i64 %place, %done")
    left = w.ins("sub nuw nsw i64 %all, %done")
    w.lines.append(f"  {COUNT} = call i64 @llvm.umin.i64(i64 {left}, i64 {lanes})")
    w.do(f"call void @{CAREFUL_BODY}(i64 {COUNT}, {wide_arguments(rank, used)}){place}")
    w.lines.append(f"  %next = add nuw nsw i64 %done, {lanes}")
    w.branch(w.ins("icmp slt i64 %next, %all"), "run", "exit")
    w.start("exit")
    w.do("ret void")
    return "\n".join(w.lines)


@dataclass(frozen=True, slots=True)
class Rows:
    """How rows of threads run.

    Attributes:
        rank: launch coordinates of a thread.
        width: threads of a vector.
        few: threads of a vector of the function for fewer, or none.
        call: the instruction that runs a vector.
        place: where calls say that they stand.
    """

    rank: int
    width: int
    few: int | None
    call: str
    place: str


def emit_wide_range(kernel: Kernel, rows: Rows, used: Sequence[ParameterLeaf]) -> str:
    """The instructions of the range function.

    Rows of the last coordinate run ``width`` threads at a time, then what is left.  Where the
    launch has more dims than the kernel reads, or short rows, all threads run one by one.
    """
    w, rank = Writer(), rows.rank
    w.start("entry")
    w.branch(w.ins("icmp slt i64 %lo, %hi"), "unpack", "exit")
    w.start("unpack")
    unpack(w, kernel, used)
    rest = unread_extent(w, rank)
    single = w.ins(f"icmp eq i64 {rest}, 1")
    least = rows.width if rows.few is None else rows.few // 2
    fits = w.ins(f"icmp uge i64 {launch_extent(rank - 1)}, {least}")
    w.branch(w.ins(f"and i1 {single}, {fits}"), "rows", "alone")
    w.start("alone")
    w.do(scalar_call("%lo", "%hi") + rows.place)
    w.do("br label %exit")
    w.start("rows")
    if rank == 1:
        w.do("br label %segment")
        w.start("segment")
        _run_row(w, rows, "%lo", "%hi", "%lo")
        w.do("br label %exit")
    else:
        row = ("%segment.begin", "%segment.stop", "%x.begin")
        emit_segments(w, rank, "1", "true", lambda: _run_row(w, rows, *row))
    w.start("exit")
    w.do("ret void")
    return "\n".join(w.lines)


def _run_row(w: Writer, rows: Rows, begin: str, stop: str, first: str) -> str:
    """The threads of a row, from the block ``segment`` on; gives the coordinate behind the last.

    ``begin`` is its first thread, ``stop`` the one behind its last, ``first`` the coordinate of the
    first.
    """
    width, x = rows.width, coordinate(rows.rank - 1)
    count = w.ins(f"sub i64 {stop}, {begin}")
    whole = w.ins(f"and i64 {count}, {-width}")
    w.lines.append(f"  %wide.end = add i64 {begin}, {whole}")
    w.branch(w.ins(f"icmp eq i64 {whole}, 0"), "wide.done", "wide.run")
    w.start("wide.run")
    for name, start, following in ((THREAD, begin, "%t.next"), (x, first, "%x.next")):
        w.lines.append(f"  {name} = {phi('i64', [('segment', start), ('wide.run', following)])}")
    w.lines.append(f"  {rows.call}{rows.place}")
    w.lines.append(f"  %t.next = add nuw nsw i64 {THREAD}, {width}")
    w.lines.append(f"  %x.next = add nuw nsw i64 {x}, {width}")
    w.branch(w.ins("icmp slt i64 %t.next, %wide.end"), "wide.run", "wide.done")
    w.start("wide.done")
    w.branch(w.ins(f"icmp slt i64 %wide.end, {stop}"), "tail", "tail.done")
    w.start("tail")
    if rows.few is not None:
        left = w.ins(f"sub i64 {count}, {whole}")
        place = w.ins(f"add i64 {first}, {whole}")
        w.do(careful_call(rows.rank, "%wide.end", place, left) + rows.place)
    else:
        w.do(scalar_call("%wide.end", stop) + rows.place)
    w.do("br label %tail.done")
    w.start("tail.done")
    return w.ins(f"add i64 {first}, {count}")
