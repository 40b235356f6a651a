"""Branches of several threads at once, and the walk over regions."""

from __future__ import annotations

from collections.abc import Sequence

from heald.artifact import FaultKind
from heald.codegen.body import BLOCK_DIM
from heald.codegen.control import emit_extract
from heald.codegen.memory import axis_of, emit_dim
from heald.codegen.threads import emit_launch_dim, emit_tid
from heald.codegen.wide import loops
from heald.codegen.wide.body import Tests, WideBody
from heald.codegen.wide.bounds import check_ahead
from heald.codegen.wide.checks import ESCAPE, PART, require
from heald.codegen.wide.memory import emit_access, emit_atomic
from heald.codegen.wide.values import emit_value, tests_of
from heald.codegen.wide.views import emit_alloc, emit_resource, emit_stride, emit_subview
from heald.codegen.writer import Join
from heald.diagnostics import InternalError
from heald.ir import ATOMICS, MEMORY, Op, Region, Value, walk
from heald.ops import TABLE
from heald.passes.coalesce import is_plain_arm
from heald.passes.facts import is_guarded
from heald.types import Scalar, b1

_LIGHT = 16
"""Most ops of an arm that is not worth a branch around it."""
_TWICE = 256
"""Most ops of an arm that is written for all lanes and once more for some."""


def emit_region(body: WideBody, region: Region) -> tuple[Value, ...]:
    """Write the ops of a region; gives what it yields."""
    for position, op in enumerate(region.ops):
        if op in body.grouped:
            continue
        if body.locations is not None:
            body.writer.place = body.locations.at(op.span)
        if _is_due(body, op):
            check_ahead(body, region, position)
        match op.name:
            case "yield" | "return":
                return op.operands
            case "if":
                _emit_if(body, op)
            case "for" | "while":
                body.depth += 1
                emit = loops.emit_for if op.name == "for" else loops.emit_while
                emit(body, op, emit_region)
                body.depth -= 1
            case "load" | "store":
                emit_access(body, op, region.ops[position + 1 :])
            case _:
                _emit_plain(body, op)
    raise InternalError("a region without a terminator")


def _is_due(body: WideBody, op: Op) -> bool:
    """Is ``op`` the first whose guard is to be looked at, while threads can be started anew?"""
    return op.name in MEMORY and is_guarded(op) and op not in body.ahead and not body.is_late(op)


def _emit_plain(body: WideBody, op: Op) -> None:
    match op.name:
        case "const":
            body.constant(op)
        case name if name in ATOMICS:
            emit_atomic(body, op)
        case "alloc":
            emit_alloc(body, op)
        case "dim" if body.is_ragged(op.operands[0]):
            _emit_ragged_dim(body, op)
        case "dim":
            emit_dim(body, op)
        case "stride":
            emit_stride(body, op)
        case "subview":
            emit_subview(body, op)
        case "extract":
            emit_extract(body, op)
        case "tid":
            emit_tid(body, op)
        case "launch_dim":
            emit_launch_dim(body, op)
        case "block_dim":
            body.names[op.result] = (BLOCK_DIM,)
        case "resource_array" | "resource_scalar":
            emit_resource(body, op)
        case "assert":
            if is_guarded(op):
                _emit_assert(body, op)
        case "assume":
            pass  # a promise of the user never changes code
        case _ if op.name in TABLE:
            emit_value(body, op)
        case _:
            raise InternalError(f"{op.name} in a widened kernel")


def _emit_ragged_dim(body: WideBody, op: Op) -> None:
    w = body.writer
    name = body.array(op.operands[0]).extents[axis_of(op)]
    t = op.result.type
    assert isinstance(t, Scalar)
    if t.bits < 64:
        name = w.ins(f"trunc <{body.width} x i64> {name} to <{body.width} x i{t.bits}>")
    body.names[op.result] = (name,)


def _emit_assert(body: WideBody, op: Op) -> None:
    value = op.operands[0]
    if body.is_uniform(value):
        require(body, op, body.name(value), lambda: body.active, FaultKind.ASSERT)
        return
    holds = body.vector(value)
    require(
        body,
        op,
        body.all_active(holds),
        lambda: body.both(body.mask, body.inverted(holds)) or "",
        FaultKind.ASSERT,
    )


# -- branches --------------------------------------------------------------------------------------


def _emit_if(body: WideBody, op: Op) -> None:
    if op not in body.uniformity.divergent:
        _uniform_if(body, op)
        return
    tests = tests_of(body, op.operands[0])
    plain = [is_plain_arm(region) for region in op.regions]
    if body.mask is not None or all(plain):
        _masked_if(body, op, plain, None)
    elif tests is not None and not body.is_late(op) and not body.depth:
        _border_if(body, op, tests)
    else:
        _split_if(body, op, plain, tests)


def _arm(body: WideBody, region: Region, end: Join, results: Sequence[Value]) -> None:
    """Write an arm that ends in a jump to ``end``."""
    given = emit_region(body, region)
    body.writer.jump(end, body.all_as_joined(given, results))


def _land(body: WideBody, end: Join, results: Sequence[Value]) -> None:
    arrived = body.writer.land(end, body.joined_types(results))
    assert arrived is not None
    body.name_all(results, arrived)


def _uniform_if(body: WideBody, op: Op) -> None:
    """A branch that all lanes take together; what is known of conditions in the arms is kept."""
    w = body.writer
    then, other, end = w.label("then"), w.label("else"), w.join("endif")
    conditions = [v for v in op.results if v.type is b1 and not body.is_uniform(v)]
    unknown: set[Value] = set()
    w.branch(body.name(op.operands[0]), then, other)
    for label, region in zip((then, other), op.regions, strict=True):
        w.start(label)
        given = dict(zip(op.results, emit_region(body, region), strict=True))
        names = body.all_as_joined(list(given.values()), op.results)
        for value in conditions:
            tests = tests_of(body, given[value])
            if tests is None:
                unknown.add(value)
                tests = Tests("false", "false")
            names += [tests.every, tests.none]
        w.jump(end, names)
    types = [*body.joined_types(op.results), *["i1"] * (2 * len(conditions))]
    arrived = w.land(end, types)
    assert arrived is not None
    count = len(op.results)
    body.name_all(op.results, arrived[:count])
    for k, value in enumerate(conditions):
        if value not in unknown:
            body.tests[value] = Tests(*arrived[count + 2 * k : count + 2 * k + 2])


def _border_if(body: WideBody, op: Op, tests: Tests) -> None:
    """A branch on where threads stand: lanes part at a few places only, where they start anew.

    What masks need would only be in the way here, so that is the task of the careful body.
    """
    w = body.writer
    then, more, other = w.label("every"), w.label("part"), w.label("none")
    end = w.join("endif")
    w.branch(tests.every, then, more)
    w.start(then)
    _arm(body, op.regions[0], end, op.results)
    w.start(more)
    w.branch(tests.none, other, body.apart)
    body.parts = body.parts or body.apart == PART
    body.escapes = body.escapes or body.apart == ESCAPE
    w.start(other)
    _arm(body, op.regions[1], end, op.results)
    _land(body, end, op.results)


def _split_if(body: WideBody, op: Op, plain: Sequence[bool], tests: Tests | None) -> None:
    """All lanes on one way: that arm for all lanes.  Otherwise both arms under masks."""
    w = body.writer
    condition = body.vector(op.operands[0])
    end = w.join("endif")
    if not plain[0] and _size(op.regions[0]) <= _TWICE:
        every = body.all_of(condition) if tests is None else tests.every
        _when(body, every, op, 0, end)
    if not plain[1] and _size(op.regions[1]) <= _TWICE:
        none = tests.none if tests is not None else _negated(body, body.any_of(condition))
        _when(body, none, op, 1, end)
    _masked_if(body, op, plain, end)


def _when(body: WideBody, test: str, op: Op, arm: int, end: Join) -> None:
    """Where the i1 ``test`` holds, one arm for all lanes."""
    w = body.writer
    then, go = w.label("all"), w.label("some")
    w.branch(test, then, go)
    w.start(then)
    grouped, ahead = set(body.grouped), set(body.ahead)
    _arm(body, op.regions[arm], end, op.results)
    body.grouped, body.ahead = grouped, ahead  # the arm is written once more
    w.start(go)


def _size(region: Region) -> int:
    return sum(1 for _ in walk(region))


def _negated(body: WideBody, name: str) -> str:
    return body.writer.ins(f"xor i1 {name}, true")


def _masked_if(body: WideBody, op: Op, plain: Sequence[bool], end: Join | None) -> None:
    """Both arms, each for its lanes; one that needs a lane, or is long, only where it has any."""
    w = body.writer
    condition = body.vector(op.operands[0])
    sides = [condition, body.inverted(condition)]
    own = [v for v in op.results if body.step(v) is None]
    empty = [len(region.ops) == 1 for region in op.regions]
    branch = [not p or _size(r) > _LIGHT for p, r in zip(plain, op.regions, strict=True)]
    if any(empty) and any(branch):
        # What the other arm gives is there before, and all there is where no lane takes this one.
        arm = empty.index(False)
        with_other = _arm_values(body, op, 1 - arm, own)
        given = _masked_arm(body, op, arm, sides[arm], own, with_other)
        names = dict(zip(own, given, strict=True))
    else:
        names = _both_arms(body, op, sides, own, branch)
    # Both arms give the same value where the result does not vary.
    same = zip(op.results, op.regions[0].terminator.operands, strict=True)
    row = [names.get(v) or body.name(value) for v, value in same]
    if end is None:
        body.name_all(op.results, row)
    else:
        w.jump(end, row)
        _land(body, end, op.results)


def _both_arms(
    body: WideBody, op: Op, sides: Sequence[str], own: Sequence[Value], branch: Sequence[bool]
) -> dict[Value, str]:
    """The values of the results ``own``, after one arm and then the other."""
    given, before = [], body.written
    for arm, (side, region) in enumerate(zip(sides, op.regions, strict=True)):
        if branch[arm]:
            given.append(_masked_arm(body, op, arm, side, own, None))
        else:
            mask = body.both(body.mask, side)
            with body.masked(mask):
                given.append(_arm_values(body, op, arm, own))
        body.written = body.written or not body.uniformity.effectful.isdisjoint(region.ops)
    body.written = before
    return {
        v: body.chosen(sides[0], body.joined_type(v), then, other)
        for v, then, other in zip(own, *given, strict=True)
    }


def _masked_arm(
    body: WideBody,
    op: Op,
    arm: int,
    side: str,
    own: Sequence[Value],
    instead: Sequence[str] | None,
) -> list[str]:
    """One arm for the lanes of ``side``, where there is any; gives its values of ``own``.

    Other lanes get those of ``instead``, or any.
    """
    w = body.writer
    mask = body.both(body.mask, side)
    assert mask is not None
    run, skipped = w.label("run"), w.join("skipped")
    w.enter(skipped, instead or ["zeroinitializer"] * len(own))
    w.branch(body.any_of(mask), run, skipped.label)
    w.start(run)
    with body.masked(mask):
        names = _arm_values(body, op, arm, own)
    types = body.joined_types(own)
    if instead is not None:
        rows = zip(types, names, instead, strict=True)
        names = [body.chosen(side, *row) for row in rows]
    w.jump(skipped, names)
    arrived = w.land(skipped, types)
    assert arrived is not None
    return list(arrived)


def _arm_values(body: WideBody, op: Op, arm: int, own: Sequence[Value]) -> list[str]:
    """Write an arm; gives its values of the results ``own``."""
    given = dict(zip(op.results, emit_region(body, op.regions[arm]), strict=True))
    return [body.as_joined(given[v], v) for v in own]
