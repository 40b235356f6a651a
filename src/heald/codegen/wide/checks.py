"""Guards of several threads at once.

Before a kernel's first effect a guard that fails starts its threads anew, one by one, in the scalar
code, which does everything as it must be.  Behind an effect the lanes that fail are recorded and go
on as lanes without result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.artifact import FaultKind
from heald.codegen.body import FAULT_PLACE, HEADER, THREAD
from heald.codegen.faults import MAX_RANK
from heald.codegen.wide.body import LANES_FAULTED, WideBody
from heald.diagnostics import InternalError
from heald.ir import Op

ESCAPE = "escape"
"""The block that starts the threads anew, one by one."""
PART = "part"
"""The block that starts them anew under masks."""


def escape_unless(body: WideBody, good: str) -> None:
    """Go on where the i1 ``good`` holds, else start the threads anew."""
    w = body.writer
    then = w.label("good")
    w.branch(good, then, ESCAPE, likely=True)
    w.start(then)
    body.escapes = True


def require(
    body: WideBody,
    op: Op,
    good: str,
    failing: Callable[[], str],
    kind: FaultKind,
    index: Sequence[str] = (),
    shape: Sequence[str] = (),
) -> None:
    """Record the ``failing`` lanes of the mask, unless the i1 ``good`` says that there are none.

    ``index`` and ``shape`` are vectors of i64, one an axis.
    """
    if not body.is_late(op):
        escape_unless(body, good)
        return
    w = body.writer
    cold, end = w.label("bad"), w.label("go")
    w.branch(good, end, cold, likely=True)
    w.start(cold)
    record(body, op, failing(), kind, index, shape)
    w.do(f"br label %{end}")
    w.start(end)


def checked(
    body: WideBody,
    op: Op,
    good: str,
    run: Callable[[], Sequence[str]],
    fail: Callable[[], Sequence[str]],
    types: Sequence[str],
) -> tuple[str, ...]:
    """``run`` where the i1 ``good`` holds; else start anew, or where that is too late ``fail``."""
    if not body.is_late(op):
        escape_unless(body, good)
        return tuple(run())
    w = body.writer
    then, cold, end = w.label("good"), w.label("bad"), w.join("checked")
    w.branch(good, then, cold, likely=True)
    w.start(then)
    w.jump(end, run())
    w.start(cold)
    w.jump(end, fail())
    values = w.land(end, types)
    assert values is not None
    return values


def record(
    body: WideBody,
    op: Op,
    lanes: str,
    kind: FaultKind,
    index: Sequence[str] = (),
    shape: Sequence[str] = (),
) -> None:
    """Record a fault of the lanes of a mask; ``index`` and ``shape`` are vectors of i64.

    Raises:
        InternalError: the lanes are those of a GPU; ``coarsen`` keeps such kernels as they are.
    """
    if body.gpu:
        raise InternalError(f"the lanes of {body.kernel.name} would have to record faults")
    w = body.writer
    words = list(zip(index, shape, strict=True))[:MAX_RANK]
    whole = f"<{body.width} x i64>"
    for n, pair in enumerate(words):
        for slot, word in zip((n, MAX_RANK + n), pair, strict=True):
            offset = slot * body.width
            place = w.ins(f"getelementptr i64, ptr {FAULT_PLACE}, i64 {offset}")
            w.do(f"store {whole} {word}, ptr {place}, align 8")
    w.do(
        f"call void @heald_lanes_fault(ptr {HEADER}, i64 {THREAD}, ptr {LANES_FAULTED}, "
        f"i64 {body.bits_of(lanes)}, i64 {body.width}, i64 {body.ids[op]}, i64 {int(kind)}, "
        f"i64 {len(words)}, ptr {FAULT_PLACE})"
    )


def healthy(body: WideBody) -> str:
    """The lanes that have not faulted, as a mask."""
    w = body.writer
    flags = w.ins(f"load i64, ptr {LANES_FAULTED}, align 8")
    bits = w.ins(f"xor i64 {flags}, -1")
    if body.width < 64:
        bits = w.ins(f"trunc i64 {bits} to i{body.width}")
    return w.ins(f"bitcast i{body.width} {bits} to {body.mask_type}")


def flag_allocas(width: int) -> list[str]:
    """What the head of a function with guards behind effects needs."""
    return [
        f"{LANES_FAULTED} = alloca i64, align 8",
        f"store i64 0, ptr {LANES_FAULTED}, align 8",
        f"{FAULT_PLACE} = alloca [{2 * MAX_RANK * width} x i64], align 8",
    ]


_ARGUMENTS = (
    "ptr %header, i64 %thread, ptr %flags, i64 %lanes, i64 %width, i64 %op, i64 %kind, i64 %rank, "
    "ptr %place"
)
DECLARATION = "declare void @heald_lanes_fault(ptr, i64, ptr, i64, i64, i64, i64, i64, ptr) #1"
HELPER = f"""\
define void @heald_lanes_fault({_ARGUMENTS}) #1 {{
entry:
  %row = alloca [{2 * MAX_RANK} x i64], align 8
  %before = load i64, ptr %flags, align 8
  %after = or i64 %before, %lanes
  store i64 %after, ptr %flags, align 8
  %known = xor i64 %before, -1
  %fresh = and i64 %lanes, %known
  br label %next
next:
  %left = phi i64 [ %fresh, %entry ], [ %rest, %report ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %take
take:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  br label %word
word:
  %n = phi i64 [ 0, %take ], [ %n1, %word ]
  %base = mul i64 %n, %width
  %from.at = add i64 %base, %lane
  %from = getelementptr i64, ptr %place, i64 %from.at
  %value = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr %row, i64 %n
  store i64 %value, ptr %to, align 8
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, {2 * MAX_RANK}
  br i1 %more, label %word, label %report
report:
  %who = add i64 %thread, %lane
  call void @heald_fault(ptr %header, i64 %who, i1 false, i64 %op, i64 %kind, i64 %rank, ptr %row)
  br label %next
end:
  ret void
}}
"""
"""Records what several lanes did, the first lane first."""
