"""Loops whose iterations LLVM is asked to put side by side."""

from __future__ import annotations

from collections.abc import Sequence

from heald.codegen.body import Body
from heald.codegen.writer import UNROLL
from heald.ir import LOOPS, Op, walk
from heald.passes.facts import is_guarded, space_of

_FIRST_NODE = 1 << 20
"""Other nodes of a module have lower numbers."""
_COPIES, _LONG = 4, 48
_WHOLE_TRIPS, _WHOLE_OPS = 64, 4096
"""Loops of more iterations, or of more ops in all of them, are not unrolled as a whole."""
_TOGETHER = frozenset({"block_sync", "shuffle", "vote", "printf"})


def unroll_note(body: Body, op: Op) -> str:
    """What the back edge of a ``for`` says on GPUs.

    Loops over small arrays of the thread are unrolled as a whole: then the arrays are registers.
    Others make four iterations at once, which hide what each instruction waits for.  Only short
    innermost loops are worth that, and only without guards, which part the copies again.
    """
    if not body.gpu:
        return ""
    inner = list(walk(op.regions[0]))
    if _runs_over_registers(body, op, inner):
        return _note(body, f'!{{!"{UNROLL}.full"}}')
    unfit = any(o.name in LOOPS or o.name in _TOGETHER or is_guarded(o) for o in inner)
    if unfit or len(inner) > _LONG:
        return ""
    return _note(body, f'!{{!"{UNROLL}.count", i32 {_COPIES}}}')


def _runs_over_registers(body: Body, op: Op, inner: Sequence[Op]) -> bool:
    """Is it a loop of few iterations, whose number is known, that accesses a local array?"""
    if not any(o.name in ("load", "store") and space_of(o) == "local" for o in inner):
        return False
    known = [body.constants.get(v) for v in op.operands[:3]]
    if any(k is None for k in known) or not known[2]:
        return False
    lo, hi, step = (int(k) for k in known if k is not None)
    trips = len(range(lo, hi, step))
    return trips <= _WHOLE_TRIPS and trips * len(inner) <= _WHOLE_OPS


def _note(body: Body, how: str) -> str:
    number = _FIRST_NODE + len(body.loop_nodes)
    body.loop_nodes += [
        f"!{number} = distinct !{{!{number}, !{number + 1}}}",
        f"!{number + 1} = {how}",
    ]
    return f", !llvm.loop !{number}"
