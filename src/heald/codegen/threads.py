"""Where a thread stands: launch coordinates, extents, its block."""

from __future__ import annotations

from heald.codegen.body import BLOCK_DIM, THREAD, Body
from heald.codegen.memory import axis_of
from heald.ir import Op
from heald.types import i32

FIRST = "%first"
"""The name of the first thread of a block, i64."""
_LANE_MASK = 31


def coordinate(axis: int) -> str:
    """The name of a thread's index on a launch dimension, i64."""
    return f"%x{axis}"


def launch_extent(axis: int) -> str:
    """The name of the extent of a launch dimension, i64."""
    return f"%d{axis}"


def emit_tid(body: Body, op: Op) -> None:
    """``tid``; as i32 it fits, since larger launches are compiled with i64."""
    body.shrink(op.result, coordinate(axis_of(op)))


def emit_launch_dim(body: Body, op: Op) -> None:
    """``launch_dim``."""
    body.shrink(op.result, launch_extent(axis_of(op)))


def emit_block_place(body: Body, op: Op) -> None:
    """``block_dim``, ``thread_index``, ``block_index``, ``lane``; blocks are linear."""
    w = body.writer
    if op.name == "block_dim":
        body.names[op.result] = (BLOCK_DIM,)
        return
    size = w.ins(f"zext i32 {BLOCK_DIM} to i64")
    if body.index and op.name != "block_index":
        number = body.index
        if op.name == "lane":
            number = w.ins(f"and i32 {number}, {_LANE_MASK}")
    elif op.name == "block_index":
        number = w.quotient(THREAD, size)
        if op.result.type is i32:
            number = w.ins(f"trunc i64 {number} to i32")
    else:
        number = w.ins(f"trunc i64 {w.remainder(THREAD, size)} to i32")
        if op.name == "lane":
            number = w.ins(f"and i32 {number}, {_LANE_MASK}")
    body.names[op.result] = (number,)
