"""The entry of a kernel and its range function, which runs the threads lo to hi of a launch.

Threads count row-major over the launch dims.  They are taken in segments along which the last
coordinate that the kernel reads grows by one a thread (or stays, where the launch has more dims
than the kernel reads), so the inner loop has no division: the first coordinates are found by
dividing once, the others by carrying.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.artifact import abi
from heald.codegen.body import BLOCK_DIM, HEADER, THREAD, ParameterLeaf
from heald.codegen.spelling import memory_type, scalar_type
from heald.codegen.threads import coordinate, launch_extent
from heald.codegen.writer import Writer, phi
from heald.ir import Kernel
from heald.types import Array, Scalar, b1, leaf_offsets, parameter_layout, size_of

ARGUMENTS = f"ptr {HEADER}, ptr %args, i64 %lo, i64 %hi"
RANGE = "heald_range"
BODY = "heald_body"
DIMS = 4
_MXCSR = 0x1F80


def entry_text(entry: str, start: str) -> str:
    """The entry: the function ``start``, in the floating-point state that kernels are promised.

    That is the state at the start of a process: round to nearest, subnormals kept, no traps.  A
    library linked with -ffast-math may have changed it, in this thread or in those of a team.  The
    range function is not inlined, since LLVM would move arithmetic across the change.
    """
    return f"""\
define void @{entry}({ARGUMENTS}) #2 {{
  %saved = alloca i32, align 4
  %state = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  store i32 {_MXCSR}, ptr %state, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %state)
  call void @{start}({ARGUMENTS})
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}}"""


def body_arguments(
    rank: int, used: Sequence[ParameterLeaf], place: Sequence[str] | None = None
) -> str:
    """The parameters of the body; the range function has values of the same names.

    ``place`` is the thread and its coordinates, where those have other names.
    """
    words = list(place or (THREAD, *(coordinate(k) for k in range(rank))))
    words += [launch_extent(k) for k in range(DIMS)]
    parts = [f"ptr {HEADER}", f"i32 {BLOCK_DIM}", *(f"i64 {name}" for name in words)]
    for leaf in used:
        kinds = component_kinds(leaf)
        parts += [f"{t} {name}" for t, name in zip(kinds, leaf.names, strict=True)]
    return ", ".join(parts)


def component_kinds(leaf: ParameterLeaf) -> list[str]:
    """LLVM types of the components of a parameter leaf."""
    if isinstance(leaf.type, Scalar):
        return [scalar_type(leaf.type)]
    return ["ptr"] + ["i64"] * (2 * leaf.type.ndim)


def emit_range(
    kernel: Kernel,
    rank: int,
    used: Sequence[ParameterLeaf],
    call_place: str,
    *,
    short: bool = False,
) -> str:
    """The instructions of the range function, from its first block on.

    Block structure: ``entry`` leaves at once when there is nothing to run, since extents may then
    be 0.  With ``short`` it runs few threads at a time, so its own size counts.
    """
    w = Writer()
    w.start("entry")
    w.branch(w.ins("icmp slt i64 %lo, %hi"), "unpack", "exit")
    w.start("unpack")
    unpack(w, kernel, used)
    call = f"call void @{BODY}({body_arguments(rank, used)}){call_place}"
    if rank == 0 or (rank == 1 and short):
        run_flat(w, rank, call)
    else:
        run_segments(w, rank, call)
    w.start("exit")
    w.do("ret void")
    return "\n".join(w.lines)


# -- arguments -------------------------------------------------------------------------------------


def unpack(
    w: Writer, kernel: Kernel, used: Sequence[ParameterLeaf], *, aligned: bool = False
) -> None:
    """Read header and arguments into the names that the body takes.

    ``aligned`` says that both begin at multiples of 16 bytes.
    """

    def read(base: str, offset: int, kind: str, name: str, alignment: int) -> None:
        place = w.ins(f"getelementptr i8, ptr {base}, i64 {offset}")
        known = alignment if aligned else 1
        w.lines.append(f"  {name} = load {kind}, ptr {place}, align {known}")

    for axis in range(DIMS):
        read(HEADER, abi.HEADER_DIM + 8 * axis, "i64", launch_extent(axis), 8)
    read(HEADER, abi.HEADER_BLOCK_DIM, "i32", "%block_dim.given", 4)
    w.lines.append(f"  {BLOCK_DIM} = call i32 @llvm.umax.i32(i32 %block_dim.given, i32 1)")
    offsets, _ = parameter_layout(p.type for p in kernel.params)
    for leaf in used:
        start = offsets[leaf.parameter]
        start += leaf_offsets(kernel.params[leaf.parameter].type)[leaf.leaf]
        if isinstance(leaf.type, Array):
            for n, (kind, name) in enumerate(zip(component_kinds(leaf), leaf.names, strict=True)):
                read("%args", start + 8 * n, kind, name, 8)
        elif leaf.type is b1:
            (name,) = leaf.names
            read("%args", start, memory_type(b1), f"{name}.byte", 1)
            w.lines.append(f"  {name} = icmp ne i8 {name}.byte, 0")
        else:
            kind, size = memory_type(leaf.type), size_of(leaf.type)
            read("%args", start, kind, leaf.names[0], size)


# -- loops -----------------------------------------------------------------------------------------


def run_flat(w: Writer, rank: int, call: str) -> None:
    """Threads of a kernel that reads no coordinate, or one, which is then found by dividing."""
    rest = unread_extent(w, rank)
    w.do("br label %thread.run")
    w.start("thread.run")
    w.lines.append(f"  {THREAD} = {phi('i64', [('unpack', '%lo'), ('thread.run', '%t.next')])}")
    if rank:
        w.lines.append(f"  {coordinate(0)} = udiv i64 {THREAD}, {rest}")
    w.lines.append(f"  {call}")
    w.lines.append(f"  %t.next = add nuw nsw i64 {THREAD}, 1")
    w.branch(w.ins("icmp slt i64 %t.next, %hi"), "thread.run", "exit")


def run_segments(w: Writer, rank: int, call: str) -> None:
    """Threads of a kernel that reads ``rank`` coordinates.

    A segment is a row of the last coordinate where the launch has no dims beyond, else the threads
    that share all coordinates.
    """
    rest = unread_extent(w, rank)
    single = w.ins(f"icmp eq i64 {rest}, 1")
    growth = w.ins(f"zext i1 {single} to i64")
    x = coordinate(rank - 1)

    def row() -> str:
        w.do("br label %thread.run")
        w.start("thread.run")
        for name, a, b in ((THREAD, "%segment.begin", "%t.next"), (x, "%x.begin", "%x.next")):
            w.lines.append(f"  {name} = {phi('i64', [('segment', a), ('thread.run', b)])}")
        w.lines.append(f"  {call}")
        w.lines.append(f"  %t.next = add nuw nsw i64 {THREAD}, 1")
        w.lines.append(f"  %x.next = add i64 {x}, {growth}")
        w.branch(w.ins("icmp slt i64 %t.next, %segment.stop"), "thread.run", "row.end")
        w.start("row.end")
        return w.ins(f"add i64 %x.next, {w.ins(f'sub i64 1, {growth}')}")

    emit_segments(w, rank, rest, single, row)


def unread_extent(w: Writer, rank: int) -> str:
    """The product of the launch extents that a kernel does not read."""
    rest = "1"
    for axis in range(rank, DIMS):
        rest = w.ins(f"mul i64 {rest}, {launch_extent(axis)}")
    return rest


def emit_segments(w: Writer, rank: int, rest: str, single: str, row: Callable[[], str]) -> None:
    """Segments from %lo to %hi, then a jump to ``exit``.

    ``rest`` is the product of the extents that the kernel does not read, ``single`` says that it
    is 1.  ``row`` begins in the block ``segment``, runs the threads from %segment.begin (whose last
    coordinate is %x.begin) to %segment.stop, and gives the last coordinate of the thread behind.
    """
    before, last = w.block, rank - 1
    quotient = w.ins(f"udiv i64 %lo, {rest}")
    start = [""] * rank
    for axis in range(last, 0, -1):
        start[axis] = w.ins(f"urem i64 {quotient}, {launch_extent(axis)}")
        quotient = w.ins(f"udiv i64 {quotient}, {launch_extent(axis)}")
    start[0] = quotient
    within_rest = w.ins(f"urem i64 %lo, {rest}")
    length = w.ins(f"select i1 {single}, i64 {launch_extent(last)}, i64 {rest}")
    done = w.ins(f"select i1 {single}, i64 {start[last]}, i64 {within_rest}")
    first_end = w.ins(f"add i64 {w.ins(f'sub i64 %lo, {done}')}, {length}")
    w.do("br label %segment")

    w.start("segment")
    outer = [coordinate(axis) for axis in range(last)]
    names = ["%segment.begin", "%segment.end", "%x.begin", *outer]
    starts = ["%lo", first_end, start[last], *start[:last]]
    following = [
        "%segment.stop",
        "%segment.end.next",
        "%x.begin.next",
        *(f"{x}.next" for x in outer),
    ]
    for name, a, b in zip(names, starts, following, strict=True):
        w.lines.append(f"  {name} = {phi('i64', [(before, a), ('segment.next', b)])}")
    w.lines.append("  %segment.stop = call i64 @llvm.smin.i64(i64 %segment.end, i64 %hi)")
    position = row()
    w.do("br label %segment.next")

    w.start("segment.next")
    w.lines.append(f"  %segment.end.next = add i64 %segment.end, {length}")
    _carry(w, rank, position)
    w.branch(w.ins("icmp slt i64 %segment.stop, %hi"), "segment", "exit")


def _carry(w: Writer, rank: int, position: str) -> None:
    """The coordinates of the next segment: a full axis returns to 0 and moves the one before on."""
    targets = ["%x.begin.next", *(f"{coordinate(axis)}.next" for axis in range(rank - 2, -1, -1))]
    axes = range(rank - 1, -1, -1)
    for axis, target in zip(axes, targets, strict=True):
        if axis == 0:
            w.lines.append(f"  {target} = add i64 {position}, 0")
            return
        full = w.ins(f"icmp eq i64 {position}, {launch_extent(axis)}")
        w.lines.append(f"  {target} = select i1 {full}, i64 0, i64 {position}")
        carried = w.ins(f"zext i1 {full} to i64")
        position = w.ins(f"add i64 {coordinate(axis - 1)}, {carried}")
