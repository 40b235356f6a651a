"""Control flow: regions become blocks, exits become branches, results become phis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from heald.artifact import FaultKind
from heald.codegen import teams
from heald.codegen.atomics import emit_atomic
from heald.codegen.body import Body, ParameterLeaf, types_of
from heald.codegen.faults import has_faulted, require
from heald.codegen.loops import emit_together
from heald.codegen.memory import (
    emit_alloc,
    emit_dim,
    emit_load,
    emit_store,
    emit_stride,
)
from heald.codegen.printing import emit_printf
from heald.codegen.resources import emit_resource
from heald.codegen.threads import emit_block_place, emit_launch_dim, emit_tid
from heald.codegen.views import emit_subview
from heald.codegen.writer import Join
from heald.diagnostics import InternalError
from heald.ir import ATOMICS, Op, Region, Value
from heald.ops import TABLE
from heald.ops.lowering import lower_op
from heald.passes.facts import is_guarded
from heald.types import Array, Scalar, i32, leaves


@dataclass(frozen=True, slots=True)
class Targets:
    """Where exits lead: out of the scope or thread, out of the loop, to its next iteration."""

    leave: Join
    stop: Join | None = None
    again: Join | None = None


def emit_region(body: Body, region: Region, targets: Targets) -> tuple[Value, ...] | None:
    """Write the ops of a region; gives what it yields, or None when it does not reach its end."""
    w = body.writer
    for position, op in enumerate(region.ops):
        if op in body.grouped:
            continue
        if body.locations is not None:
            w.place = body.locations.at(op.span)
        match op.name:
            case "load":
                emit_load(body, op, region.ops[position + 1 :])
            case "store":
                emit_store(body, op, region.ops[position + 1 :])
            case "yield":
                return op.operands
            case "unreachable":
                return None
            case "return" | "break" | "continue":
                w.jump(_target(op, targets), body.components(op.operands))
                return None
            case "if":
                if not _emit_if(body, op, targets):
                    return None
            case "for":
                _emit_for(body, op, targets)
            case "while":
                _emit_while(body, op, targets)
            case "scope":
                if not _emit_scope(body, op):
                    return None
            case "threads":
                assert body.run_phase is not None
                body.run_phase(op)
            case _:
                _emit_plain(body, op)
    raise InternalError("a region without a terminator")


def _target(op: Op, targets: Targets) -> Join:
    found = {"return": targets.leave, "break": targets.stop, "continue": targets.again}[op.name]
    if found is None:
        raise InternalError(f"{op.name} outside a loop")
    return found


def _land(body: Body, join: Join, results: Sequence[Value]) -> bool:
    """Begin the block of ``join`` and bind ``results`` to its phis; False when nobody arrives."""
    arrived = body.writer.land(join, types_of(results))
    if arrived is None:
        return False
    body.bind(results, arrived)
    return True


# -- ops with regions ------------------------------------------------------------------------------


def _emit_if(body: Body, op: Op, targets: Targets) -> bool:
    w = body.writer
    then, other, end = w.label("then"), w.label("else"), w.join("endif")
    condition = body.name(op.operands[0])
    masks = teams.part(body, op, condition)
    w.branch(condition, then, other)
    for label, region, mask in zip((then, other), op.regions, masks, strict=True):
        w.start(label)
        with teams.among(body, mask):
            given = emit_region(body, region, targets)
        if given is not None:
            w.jump(end, body.components(given))
    return _land(body, end, op.results)


def _emit_scope(body: Body, op: Op) -> bool:
    end = body.writer.join("leave")
    emit_region(body, op.regions[0], Targets(end))
    return _land(body, end, op.results)


def _emit_for(body: Body, op: Op, targets: Targets) -> None:
    """Counts trips in u64, so that neither the count nor the last step overflows."""
    _refuse_local_arrays(op)
    w = body.writer
    (region,) = op.regions
    counter, carried = region.args[0], region.args[1:]
    lo, hi, step = (body.extend(v) for v in op.operands[:3])
    known = body.constants.get(op.operands[2])
    if is_guarded(op) and not known:
        require(body, op, w.ins(f"icmp ne i64 {step}, 0"), FaultKind.STEP)
    trips = trip_count(body, lo, hi, step, None if known is None else int(known))
    kind = "i64"
    if body.gpu and counter.type is i32:  # two of those are less than 2^32 apart
        trips, lo, step = (_low_half(body, name) for name in (trips, lo, step))
        kind = "i32"
    types = [kind, kind, *types_of(carried)]
    start = ["0", lo, *body.components(op.operands[3:])]
    left, note = emit_together(
        body, op, kind, start, trips, step, lambda r: emit_region(body, r, targets)
    )
    ways = [(w.block, left)]
    head, mark, names = w.loop_head("for", len(types))
    k, position = names[:2]
    body.bind(carried, names[2:])
    run, done, latch = w.label("body"), w.join("endfor"), w.join("latch")
    more = w.ins(f"icmp ult {kind} {k}, {trips}")
    w.enter(done, names[2:])
    w.branch(more, run, done.label)
    w.start(run)
    if kind == "i32":
        body.names[counter] = (position,)
    else:
        body.shrink(counter, position)
    given = emit_region(body, region, replace(targets, stop=done, again=latch))
    if given is not None:
        w.jump(latch, body.components(given))
    following = w.land(latch, types_of(carried))
    if following is not None:
        _leave_after_fault(body, op, done, following)
        k_next = w.ins(f"add {kind} {k}, 1")
        position_next = w.ins(f"add {kind} {position}, {step}")
        w.do(f"br label %{head}{note}")
        ways.append((w.block, [k_next, position_next, *following]))
    w.close_head(mark, names, types, ways)
    _land(body, done, op.results)


def _low_half(body: Body, name: str) -> str:
    """An i64 that is known to fit, as i32."""
    if name.startswith("%"):
        return body.writer.ins(f"trunc i64 {name} to i32")
    return name


def _emit_while(body: Body, op: Op, targets: Targets) -> None:
    _refuse_local_arrays(op)
    w = body.writer
    condition, region = op.regions
    types = types_of(region.args)
    ways: list[tuple[str, Sequence[str]]] = [(w.block, body.components(op.operands))]
    circle = teams.begin_loop(body, op)
    head, mark, names = w.loop_head("while", len(types))
    body.bind(condition.args, names)
    body.bind(region.args, names)
    run, done, latch = w.label("body"), w.join("endwhile"), w.join("latch")
    given = emit_region(body, condition, replace(targets, stop=None, again=None))
    if given is None:
        raise InternalError("a while condition that exits")
    mask = teams.remain(body, circle, body.name(given[0]))
    w.enter(done, names)
    w.branch(body.name(given[0]), run, done.label)
    w.start(run)
    with teams.among(body, mask):
        given = emit_region(body, region, replace(targets, stop=done, again=latch))
        if given is not None:
            w.jump(latch, body.components(given))
        following = w.land(latch, types)
        if following is not None:
            _leave_after_fault(body, op, done, following)
    if following is not None:
        w.do(f"br label %{head}")
        ways.append((w.block, following))
    w.close_head(mark, names, types, ways)
    _land(body, done, op.results)


def _refuse_local_arrays(op: Op) -> None:
    """A carried local array would live on past its next ``alloc``, which takes the same room."""
    if any(isinstance(v.type, Array) and v.type.space == "local" for v in op.results):
        raise InternalError(f"a {op.name} carries a local array: the front end refuses that")


def _leave_after_fault(body: Body, op: Op, done: Join, values: Sequence[str]) -> None:
    """At a back edge: a thread that has faulted goes no further, unless others wait for it."""
    if not body.checked or (op.name == "for" and body.run_phase is not None):
        return  # a block runs its counted loops to their ends
    w = body.writer
    go = w.label("next")
    faulted = teams.leaves(body, op, has_faulted(body))
    if not faulted:
        return
    w.enter(done, values)
    w.branch(faulted, done.label, go)
    w.start(go)


def trip_count(body: Body, lo: str, hi: str, step: str, known: int | None) -> str:
    """max(0, ceil((hi - lo) / step)) as u64, and 0 for step 0.

    The distance of two i64 and the magnitude of a step fit u64; the rounded-up quotient is formed
    as (distance - 1) / magnitude + 1, which does not overflow.
    """
    w = body.writer
    if known == 0:
        return "0"
    ahead, behind = w.ins(f"icmp slt i64 {lo}, {hi}"), w.ins(f"icmp sgt i64 {lo}, {hi}")
    forward, backward = w.ins(f"sub i64 {hi}, {lo}"), w.ins(f"sub i64 {lo}, {hi}")
    if known is not None:
        goes, distance = (ahead, forward) if known > 0 else (behind, backward)
        magnitude = str(abs(known))
    else:
        up = w.ins(f"icmp sgt i64 {step}, 0")
        down = w.ins(f"icmp slt i64 {step}, 0")
        descends = w.ins(f"and i1 {down}, {behind}")
        goes = w.ins(f"select i1 {up}, i1 {ahead}, i1 {descends}")
        distance = w.ins(f"select i1 {up}, i64 {forward}, i64 {backward}")
        size = w.ins(f"call i64 @llvm.abs.i64(i64 {step}, i1 false)")
        magnitude = w.ins(f"call i64 @llvm.umax.i64(i64 {size}, i64 1)")
    if magnitude != "1":
        less = w.ins(f"sub i64 {distance}, 1")
        if w.gpu and known is None:  # which divides a number that is no distance slowly
            less = w.ins(f"select i1 {goes}, i64 {less}, i64 0")
        whole = w.quotient(less, magnitude)
        distance = w.ins(f"add i64 {whole}, 1")
    return w.ins(f"select i1 {goes}, i64 {distance}, i64 0")


# -- ops without regions ---------------------------------------------------------------------------


def _emit_plain(body: Body, op: Op) -> None:
    """An op that neither branches nor exits."""
    match op.name:
        case "const":
            body.constant(op)
        case name if name in ATOMICS:
            emit_atomic(body, op)
        case "alloc":
            emit_alloc(body, op)
        case "dim":
            emit_dim(body, op)
        case "stride":
            emit_stride(body, op)
        case "subview":
            emit_subview(body, op)
        case "extract":
            emit_extract(body, op)
        case "compose" | "insert":
            raise InternalError(f"{op.name} reached the code generator: scalarise first")
        case "tid":
            emit_tid(body, op)
        case "launch_dim":
            emit_launch_dim(body, op)
        case "block_dim" | "thread_index" | "block_index" | "lane":
            emit_block_place(body, op)
        case "block_sync" | "shuffle" | "vote":
            teams.emit_meeting(body, op)
        case "resource_array" | "resource_scalar":
            emit_resource(body, op)
        case "printf":
            emit_printf(body, op)
        case "assert":
            if is_guarded(op):
                parts = op.attrs.get("kind") == "divergence"
                kind = FaultKind.DIVERGENCE if parts else FaultKind.ASSERT
                require(body, op, body.name(op.operands[0]), kind)
        case "assume":
            pass  # a promise of the user never changes code
        case _:
            _emit_value(body, op)


def _emit_value(body: Body, op: Op) -> None:
    """A value op, by its record; a division checks its divisor."""
    names = body.scalars(op.operands)
    if is_guarded(op):
        w = body.writer
        t = op.operands[1].type
        assert isinstance(t, Scalar)
        divides = w.ins(f"icmp ne {w.type(t)} {names[1]}, {w.splat(t, 0)}")
        require(body, op, divides, FaultKind.DIVISION)
    body.names[op.result] = (lower_op(TABLE[op.name], body.writer, op, *names),)


def emit_extract(body: Body, op: Op) -> None:
    """One leaf of a composite parameter; other composites do not exist here."""
    source, leaf = op.operands[0], op.attrs["leaf"]
    assert isinstance(leaf, int)
    if source not in body.kernel.params:
        raise InternalError("extract of a computed composite: scalarise first")
    part = leaves(source.type)[leaf]
    number = body.kernel.params.index(source)
    body.names[op.result] = body.leaf_names(ParameterLeaf(number, leaf, part))
    if body.unit and isinstance(part, Array):
        body.compact.add(op.result)
