"""Guards of several threads at once.

Before a kernel's first effect a guard that fails starts its threads anew, one by one, in the scalar
code, which does everything as it must be.  Behind an effect the lanes that fail are recorded and go
on as lanes without result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.artifact import FaultKind
from heald.codegen.body import FAULT_PLACE, HEADER, THREAD
from heald.codegen.helpers import MAX_RANK
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


DECLARATION = "declare void @heald_lanes_fault(ptr, i64, ptr, i64, i64, i64, i64, i64, ptr) #1"
