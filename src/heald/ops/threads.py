"""A thread's place in its block, and exchange between the 32 threads of a warp.

Blocks are linear: a thread's number in its block counts row-major through the launch dims, and a
warp is 32 threads whose numbers follow each other, from a multiple of 32 on.
"""

from __future__ import annotations

from heald.ir import Effect, Op
from heald.ops.definition import Handled, NoAdjoint, OpDef, define
from heald.ops.rules import Answer, count_refusal
from heald.types import ARITHMETIC, b1, i32, i64, u32

SHUFFLE_MODES = ("index", "up", "down", "xor")
VOTE_MODES = ("any", "all", "ballot")
LANE_WIDTH = 32
"""Threads of a warp, on every device."""
SCOPES = ("warp", "block")
PLACES = frozenset({"block_dim", "block_index", "thread_index", "lane"})
"""Ops that say where a thread is in its block."""
SYNCHRONISING = frozenset({"block_sync", "shuffle", "vote"})
"""Ops at which the threads of a warp or a block meet."""


def synchronises_block(op: Op) -> bool:
    """Do all threads of the block meet at this op?"""
    return op.name == "block_sync" or (op.name == "vote" and op.attrs.get("scope") == "block")


_PLACE = Handled("the launch decides a thread's place, no operand does")
_EXCHANGE = Handled("the result depends on the operands of other threads")


def _place(op: Op) -> Answer:
    return count_refusal(op, 0) or (i32,)


def _wide_place(op: Op) -> Answer:
    declared = op.results[0].type if op.results else i32
    if declared not in (i32, i64):
        return f"gives i32 or i64, not {declared}"
    return count_refusal(op, 0) or (declared,)


def _shuffle(op: Op) -> Answer:
    refusal = count_refusal(op, 2)
    if refusal:
        return refusal
    if op.attrs.get("mode") not in SHUFFLE_MODES:
        return f"has no mode {op.attrs.get('mode')!r}; it has {', '.join(SHUFFLE_MODES)}"
    value, lane = (v.type for v in op.operands)
    if value not in ARITHMETIC:
        return f"exchanges numbers, not {value}"
    return (value,) if lane is i32 else f"takes an i32 second, not {lane}"


def _vote(op: Op) -> Answer:
    refusal = count_refusal(op, 1)
    if refusal:
        return refusal
    mode = op.attrs.get("mode")
    if mode not in VOTE_MODES:
        return f"has no mode {mode!r}; it has {', '.join(VOTE_MODES)}"
    scope = op.attrs.get("scope", "warp")
    if scope not in SCOPES or (scope == "block" and mode == "ballot"):
        return f"has no scope {scope!r} for mode {mode!r}"
    condition = op.operands[0].type
    if condition is not b1:
        return f"takes a b1, not {condition}"
    return (u32,) if mode == "ballot" else (b1,)


for _name, _doc, _rule in (
    ("block_dim", "How many threads a block has.", _place),
    ("thread_index", "The number of this thread in its block.", _place),
    ("block_index", "The number of this thread's block, i32 or i64 as declared.", _wide_place),
    ("lane", "The number of this thread in its warp: `thread_index` modulo 32.", _place),
):
    define(
        OpDef(
            name=_name,
            doc=_doc,
            arity=0,
            effects=Effect.PURE,
            type_rule=_rule,
            evaluate=_PLACE,
            lower=_PLACE,
            smt=_PLACE,
            adjoint=NoAdjoint("integers carry no gradient"),
        )
    )

define(
    OpDef(
        name="shuffle",
        doc="The first operand of another thread of the warp.  By `mode` its lane is the second "
        "operand (index), or the own lane minus it (up), plus it (down), exclusive-or it (xor).  "
        "Where that lane is outside the warp or does not take part, the own operand.",
        arity=2,
        effects=Effect.SYNC,
        type_rule=_shuffle,
        evaluate=_EXCHANGE,
        lower=_EXCHANGE,
        smt=_EXCHANGE,
        adjoint=NoAdjoint("the gradient belongs to another thread", refuse=True),
    )
)
define(
    OpDef(
        name="vote",
        doc="What the threads of the warp that take part say of a condition, or with scope `block` "
        "those of the block, for which it is a barrier too.  By `mode`: is it true for one of them "
        "(any), for each of them (all), or (of a warp) a u32 with the bits of the lanes where it "
        "is true (ballot).",
        arity=1,
        effects=Effect.SYNC,
        type_rule=_vote,
        evaluate=_EXCHANGE,
        lower=_EXCHANGE,
        smt=_EXCHANGE,
        adjoint=NoAdjoint("a truth value carries no gradient"),
    )
)
