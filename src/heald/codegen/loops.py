"""Loops whose iterations LLVM is asked to put side by side."""

from __future__ import annotations

from heald.codegen.body import Body
from heald.codegen.writer import UNROLL
from heald.ir import LOOPS, Op, walk
from heald.passes.facts import is_guarded

_FIRST_NODE = 1 << 20
"""Other nodes of a module have lower numbers."""
_COPIES, _LONG = 4, 48
_TOGETHER = frozenset({"block_sync", "shuffle", "vote", "printf"})


def unroll_note(body: Body, op: Op) -> str:
    """What the back edge of a ``for`` says: four iterations at once, on GPUs.

    Those hide what each instruction waits for.  Only short innermost loops are worth it, and only
    without guards, which part the copies again.
    """
    inner = list(walk(op.regions[0]))
    unfit = any(o.name in LOOPS or o.name in _TOGETHER or is_guarded(o) for o in inner)
    if not body.gpu or unfit or len(inner) > _LONG:
        return ""
    if not body.loop_nodes:
        body.loop_nodes.append(f'!{_FIRST_NODE} = !{{!"{UNROLL}", i32 {_COPIES}}}')
    number = _FIRST_NODE + len(body.loop_nodes)
    body.loop_nodes.append(f"!{number} = distinct !{{!{number}, !{_FIRST_NODE}}}")
    return f", !llvm.loop !{number}"
