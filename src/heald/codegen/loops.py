"""Loops of GPUs that run several iterations side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.codegen.body import Body, types_of
from heald.codegen.faults import has_faulted
from heald.codegen.writer import UNROLL
from heald.ir import Op, Region, Value, walk
from heald.passes.facts import is_guarded, is_short_loop, known_trips, space_of
from heald.passes.loads_ahead import loads_ahead

_FIRST_NODE = 1 << 20
"""Other nodes of a module have lower numbers."""
_COPIES, _MORE_COPIES, _FEW_OPS = 4, 8, 24
"""Iterations side by side, and those of loops of few ops (n-body with 8 in place of 4: 4.5 ms in
place of 5.3 on an H200)."""
_WHOLE_TRIPS, _WHOLE_OPS = 64, 4096
"""Loops of more iterations, or of more ops in all of them, are not unrolled as a whole."""
_ONCE = f'!{{!"{UNROLL}.disable"}}'
"""ptxas would unroll the loops of the rest too, which are short."""

EmitRegion = Callable[[Region], tuple[Value, ...] | None]
"""Writes the ops of a region; gives what it yields."""


def unroll_note(body: Body, op: Op) -> str:
    """What the back edge of a ``for`` says on GPUs.

    Loops over small arrays of the thread are unrolled as a whole: then the arrays are registers.
    Others make four or eight iterations at once, which hide what each instruction waits for.  Only
    short innermost loops are worth that, and only without guards, which part the copies again.
    """
    if not body.gpu:
        return ""
    if _runs_over_registers(body, op):
        return _note(body, f'!{{!"{UNROLL}.full"}}')
    if not is_short_loop(op) or can_fault(op):
        return ""
    few = sum(1 for _ in walk(op.regions[0])) <= _FEW_OPS
    return _note(body, f'!{{!"{UNROLL}.count", i32 {_MORE_COPIES if few else _COPIES}}}')


def _runs_over_registers(body: Body, op: Op) -> bool:
    """Is it a loop of few iterations, whose number is known, that accesses a local array?"""
    inner = list(walk(op.regions[0]))
    if not any(o.name in ("load", "store") and space_of(o) == "local" for o in inner):
        return False
    trips = known_trips(op, body.constants)
    return trips is not None and trips <= _WHOLE_TRIPS and trips * len(inner) <= _WHOLE_OPS


def _note(body: Body, how: str) -> str:
    number = _FIRST_NODE + len(body.loop_nodes)
    body.loop_nodes += [
        f"!{number} = distinct !{{!{number}, !{number + 1}}}",
        f"!{number + 1} = {how}",
    ]
    return f", !llvm.loop !{number}"


def can_fault(op: Op) -> bool:
    """May an iteration of a loop fault?"""
    return any(is_guarded(o) for region in op.regions for o in walk(region))


def emit_together(
    body: Body,
    op: Op,
    kind: str,
    start: Sequence[str],
    trips: str,
    step: str,
    emit_region: EmitRegion,
) -> tuple[Sequence[str], str]:
    """Four iterations of a ``for`` at once, all their loads first, while there are so many.

    ``start`` is the number of an iteration and the value of the loop variable there, both of the
    LLVM type ``kind``, and what is carried.  Gives the same of the first iteration that is left,
    and what the back edge of the loop over those says.  Where ``loads_ahead`` makes nothing of the
    loop, all iterations are left.
    """
    fit = body.gpu and not can_fault(op) and not _runs_over_registers(body, op)
    ahead = loads_ahead(op) if fit else ()
    if not ahead:
        return start, unroll_note(body, op)
    w, (region,) = body.writer, op.regions
    counter, *carried = region.args
    first = Region((), (*ahead, Op("yield", (), ())))
    rest = Region((), tuple(o for o in region.ops if o not in ahead))
    made = [counter, *(v for o in ahead for v in o.results)]
    whole = w.ins(f"and {kind} {trips}, {-_COPIES}")
    if body.checked:  # a thread that has faulted leaves the loop after one iteration
        whole = w.ins(f"select i1 {has_faulted(body)}, {kind} 0, {kind} {whole}")
    types, ways = [kind, kind, *types_of(carried)], [(w.block, start)]
    head, mark, names = w.loop_head("fours", len(types))
    run, done = w.label("four"), w.join("rest")
    more = w.ins(f"icmp ult {kind} {names[0]}, {whole}")
    w.enter(done, names)
    w.branch(more, run, done.label)
    w.start(run)
    position, found = names[1], []
    for _ in range(_COPIES):
        body.names[counter] = (position,)
        emit_region(first)
        found.append(body.known(made))
        position = w.ins(f"add {kind} {position}, {step}")
    following = names[2:]
    for known in found:
        body.learn(known)
        body.bind(carried, following)
        given = emit_region(rest)
        assert given is not None
        following = body.components(given)
    count = w.ins(f"add {kind} {names[0]}, {_COPIES}")
    w.do(f"br label %{head}{_note(body, _ONCE)}")
    ways.append((w.block, [count, position, *following]))
    w.close_head(mark, names, types, ways)
    left = w.land(done, types)
    assert left is not None
    return left, _note(body, _ONCE)
