"""Threads of a GPU that meet: barriers, votes and shuffles.

The ``.sync`` instructions name the lanes that meet, so that it does not matter how the hardware has
scheduled them (compute capability 7.0 and newer).  Which lanes these are is kept as a mask: it
begins as those of the warp that the launch has, and a branch that parts them splits it by a ballot.
Threads that the launch does not have have ended; barriers count the others only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heald.codegen.body import BLOCK_DIM, THREAD, Body, Team
from heald.codegen.memory import from_bits, to_bits
from heald.codegen.spelling import bits_type
from heald.codegen.threads import launch_extent
from heald.diagnostics import InternalError
from heald.ir import LOOPS, Kernel, Op, walk
from heald.ops.threads import LANE_WIDTH, synchronises_block
from heald.passes.block_uniformity import (
    BlockUniformity,
    analyse_block_uniformity,
    control_operands,
)
from heald.passes.meetings import meeting_of
from heald.types import Scalar

_DIMS = 4
_EVERY = -1
_INDEX = "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
_SYNC = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
_SOME = "call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 {})"
_BALLOT = "call i32 @llvm.nvvm.vote.ballot.sync(i32 {}, i1 {})"
_FETCH = "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 {}, i32 {}, i32 {}, i32 31)"


def exchanges(kernel: Kernel) -> bool:
    """Do the lanes of a warp tell each other something?"""
    return any(op.name in ("shuffle", "vote") for op in walk(kernel.body))


def begin(body: Body, *, whole: bool = False) -> None:
    """At the head of a thread: its number in the block, and who is in its warp: all, or those that
    the launch has."""
    w = body.writer
    uniformity = analyse_block_uniformity(body.kernel)
    nested = [op for op in walk(body.kernel.body) if op.regions]
    meetings = {op: meeting_of(*op.regions) for op in nested}
    body.team = Team(
        frozenset(op for op in nested if meetings[op] == "warp" and not uniformity.decides(op)),
        {op: _leaving(op, meetings[op], uniformity) for op in nested if op.name in LOOPS},
    )
    body.index = w.ins(_INDEX)
    if whole:
        body.team.mask = str(_EVERY)
    elif exchanges(body.kernel):
        body.team.mask = _lanes_there(body)


def choose(body: Body, whole: str, other: str) -> list[str]:
    """The instructions of a thread that calls one of two functions, if its block has whole warps
    only or not.

    Votes and shuffles of a mask that is known take a fraction of the instructions.  All threads of
    a block choose alike: they meet at one barrier, not at two copies of it.
    """
    w = body.writer
    w.start("begin")
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    body.index = w.ins(_INDEX)
    rest = w.ins(f"and i32 {_threads_there(body)}, {LANE_WIDTH - 1}")
    w.branch(w.ins(f"icmp eq i32 {rest}, 0"), "every", "some", likely=True)
    for label, call in (("every", whole), ("some", other)):
        w.start(label)
        w.do(call)
        w.do("ret void")
    return w.lines


def _leaving(op: Op, meeting: str, uniformity: BlockUniformity) -> str:
    """Who leaves a loop when one thread has faulted: ``thread`` where nobody waits for it."""
    if not meeting:
        return "thread"
    asked = not uniformity.decides(op) or not uniformity.voted.isdisjoint(control_operands(op))
    return meeting if op.name == "while" and asked else "nobody"


def _threads_there(body: Body) -> str:
    """How many threads of the block the launch has, an i32."""
    w = body.writer
    total = launch_extent(0)
    for axis in range(1, _DIMS):
        total = w.ins(f"mul i64 {total}, {launch_extent(axis)}")
    first = w.ins(f"sub i64 {THREAD}, {w.ins(f'zext i32 {body.index} to i64')}")
    size = w.ins(f"zext i32 {BLOCK_DIM} to i64")
    left = w.ins(f"sub i64 {total}, {first}")
    return w.ins(f"trunc i64 {w.ins(f'call i64 @llvm.smin.i64(i64 {left}, i64 {size})')} to i32")


def _lanes_there(body: Body) -> str:
    """The lanes of the warp that the launch has, all but in the last warp of a block."""
    w, count = body.writer, _threads_there(body)
    before = w.ins(f"and i32 {body.index}, {-LANE_WIDTH}")
    lanes = w.ins(f"sub i32 {count}, {before}")
    few = w.ins(f"call i32 @llvm.smin.i32(i32 {lanes}, i32 31)")
    some = w.ins(f"sub i32 {w.ins(f'shl i32 1, {few}')}, 1")
    whole = w.ins(f"icmp sge i32 {lanes}, {LANE_WIDTH}")
    return w.ins(f"select i1 {whole}, i32 {_EVERY}, i32 {some}")


# -- who is here -----------------------------------------------------------------------------------


def part(body: Body, op: Op, condition: str) -> tuple[str, str]:
    """The lanes that take each way of an ``if``."""
    team = body.team
    if team is None or op not in team.parting:
        here = "" if team is None else team.mask
        return here, here
    w = body.writer
    then = w.ins(_BALLOT.format(team.mask, condition))
    return then, w.ins(f"xor i32 {team.mask}, {then}")


@contextmanager
def among(body: Body, mask: str) -> Iterator[None]:
    """What is written meanwhile is run by the lanes of ``mask``."""
    team = body.team
    if team is None:
        yield
        return
    before, team.mask = team.mask, mask
    try:
        yield
    finally:
        team.mask = before


def begin_loop(body: Body, op: Op) -> str:
    """Before a ``while``: where its lanes are kept, or nothing where they stay the same."""
    team = body.team
    if team is None or op not in team.parting:
        return ""
    place = body.writer.reserve()
    body.allocas.append(f"{place} = alloca i32")
    body.writer.do(f"store i32 {team.mask}, ptr {place}")
    return place


def remain(body: Body, place: str, condition: str) -> str:
    """After the condition of a ``while``: the lanes that go on."""
    w, team = body.writer, body.team
    if team is None:
        return ""
    if not place:
        return team.mask
    before = w.ins(f"load i32, ptr {place}")
    mask = w.ins(_BALLOT.format(before, condition))
    w.do(f"store i32 {mask}, ptr {place}")
    return mask


def leaves(body: Body, op: Op, faulted: str) -> str:
    """At a back edge: does this thread leave, given whether it has faulted?  Nothing for never."""
    w, team = body.writer, body.team
    if team is None:
        return faulted
    match team.leaving[op]:
        case "thread":
            return faulted
        case "block":
            return w.ins(_SOME.format(faulted))
        case "warp":
            found = w.ins(_BALLOT.format(team.mask, faulted))
            return w.ins(f"icmp ne i32 {found}, 0")
    return ""


# -- meetings --------------------------------------------------------------------------------------


def emit_meeting(body: Body, op: Op) -> None:
    """``block_sync``, ``vote`` or ``shuffle`` on a GPU."""
    if body.team is None:
        raise InternalError(f"{op.name} outside of a program of blocks")
    w = body.writer
    match op.name:
        case "block_sync":
            w.do(_SYNC)
        case "vote":
            body.names[op.result] = (_vote(body, op, body.name(op.operands[0])),)
        case _:
            body.names[op.result] = (_shuffle(body, op, body.team.mask),)


def _vote(body: Body, op: Op, condition: str) -> str:
    w, mode = body.writer, op.attrs["mode"]
    assert body.team is not None
    if synchronises_block(op):
        if mode == "any":
            return w.ins(_SOME.format(condition))
        against = w.ins(_SOME.format(w.ins(f"xor i1 {condition}, true")))
        return w.ins(f"xor i1 {against}, true")
    found = w.ins(_BALLOT.format(body.team.mask, condition))
    if mode == "ballot":
        return found
    return w.ins(
        f"icmp ne i32 {found}, 0" if mode == "any" else f"icmp eq i32 {found}, {body.team.mask}"
    )


def _shuffle(body: Body, op: Op, mask: str) -> str:
    w = body.writer
    given, by = body.scalars(op.operands)
    t = op.operands[0].type
    assert isinstance(t, Scalar)
    lane = w.ins(f"and i32 {body.index}, {LANE_WIDTH - 1}")
    source = {
        "index": lambda: by,
        "up": lambda: w.ins(f"sub i32 {lane}, {by}"),
        "down": lambda: w.ins(f"add i32 {lane}, {by}"),
        "xor": lambda: w.ins(f"xor i32 {lane}, {by}"),
    }[str(op.attrs["mode"])]()
    within = w.ins(f"icmp ult i32 {source}, {LANE_WIDTH}")
    bit = w.ins(f"lshr i32 {mask}, {w.ins(f'and i32 {source}, {LANE_WIDTH - 1}')}")
    here = w.ins(f"trunc i32 {bit} to i1")
    there = w.ins(f"and i1 {within}, {here}")
    chosen = w.ins(f"select i1 {there}, i32 {source}, i32 {lane}")
    bits, size = to_bits(body, t, given), bits_type(t)
    if size == "i64":
        low = w.ins(f"trunc i64 {bits} to i32")
        high = w.ins(f"trunc i64 {w.ins(f'lshr i64 {bits}, 32')} to i32")
        parts = [w.ins(_FETCH.format(mask, part, chosen)) for part in (low, high)]
        wide = [w.ins(f"zext i32 {part} to i64") for part in parts]
        bits = w.ins(f"or i64 {wide[0]}, {w.ins(f'shl i64 {wide[1]}, 32')}")
    else:
        word = bits if size == "i32" else w.ins(f"zext {size} {bits} to i32")
        word = w.ins(_FETCH.format(mask, word, chosen))
        bits = word if size == "i32" else w.ins(f"trunc i32 {word} to {size}")
    return from_bits(body, t, bits)
