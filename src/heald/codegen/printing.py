"""``printf``: a record in the print buffer of the launch.

Room is taken only where the record fits, so the used bytes are whole records; those that do not fit
are counted.
"""

from __future__ import annotations

from heald.artifact import abi
from heald.codegen.body import HEADER, PRINTED, THREAD, Body
from heald.codegen.faults import launch_number
from heald.codegen.memory import to_bits
from heald.codegen.spelling import bits_type
from heald.codegen.writer import INVARIANT
from heald.diagnostics import InternalError
from heald.ir import Op, Value
from heald.types import Scalar


def counter_allocas() -> list[str]:
    """What the head of a function that prints needs: how often this thread has printed."""
    return [f"{PRINTED} = alloca i64", f"store i64 0, ptr {PRINTED}"]


def emit_printf(body: Body, op: Op) -> None:
    """``printf``."""
    w = body.writer
    payload = [_as_word(body, v) for v in op.operands]
    size = abi.PRINT_RECORD_HEAD + 8 * len(payload)
    slot = w.ins(f"getelementptr i8, ptr {HEADER}, i64 {abi.HEADER_PRINT}")
    buffer = w.ins(f"load ptr, ptr {slot}, align 8{INVARIANT}")
    sequence = w.ins(f"load i64, ptr {PRINTED}")
    w.do(f"store i64 {w.ins(f'add i64 {sequence}, 1')}, ptr {PRINTED}")
    place = w.ins(f"call ptr @heald_print_room(ptr {buffer}, i64 {size})")
    full = w.ins(f"icmp eq ptr {place}, null")
    then, end = w.label("print"), w.label("printed")
    w.branch(full, end, then)
    w.start(then)
    name = str(body.ids[op])
    if body.gpu:
        launch = w.ins(f"shl i64 {launch_number(body)}, {abi.PRINT_LAUNCH_SHIFT}")
        name = w.ins(f"or i64 {launch}, {name}")
    for n, word in enumerate([THREAD, sequence, name, *payload]):
        at = w.ins(f"getelementptr i64, ptr {place}, i64 {n}")
        w.do(f"store i64 {word}, ptr {at}, align 8")
    w.do(f"br label %{end}")
    w.start(end)


def _as_word(body: Body, value: Value) -> str:
    """The bits of a scalar in the low bytes of a payload word."""
    t = value.type
    if not isinstance(t, Scalar):
        raise InternalError(f"print of a {t}")
    bits = to_bits(body, t, body.name(value))
    size = bits_type(t)
    return bits if size == "i64" else body.writer.ins(f"zext {size} {bits} to i64")


DECLARATION = "declare ptr @heald_print_room(ptr, i64) #1"
