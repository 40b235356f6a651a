"""Loops of several threads at once.

A loop that all lanes leave together is a loop of branches.  One that they leave at different
iterations runs as long as some lane is in it; the lanes that are form its mask, and what the others
left with is kept for them.  A thread that has faulted leaves its loops; where its lanes leave a
loop together it goes with the last of them, which only a launch that reports a fault can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from heald.artifact import FaultKind
from heald.codegen.control import trip_count
from heald.codegen.spelling import literal, scalar_type
from heald.codegen.wide.body import WideBody
from heald.codegen.wide.checks import healthy, require
from heald.codegen.wide.values import WideWriter
from heald.codegen.writer import Join
from heald.ir import Op, Region, Value
from heald.passes.facts import is_guarded
from heald.types import Scalar, i32, u32, u64

EmitRegion = Callable[[WideBody, Region], Sequence[Value]]


def emit_for(body: WideBody, op: Op, emit_region: EmitRegion) -> None:
    """``for``."""
    known = body.constants.get(op.operands[2])
    if is_guarded(op) and not known:
        _check_step(body, op)
    if op in body.uniformity.divergent:
        _divergent_for(body, op, emit_region)
    else:
        _uniform_for(body, op, emit_region)


def _check_step(body: WideBody, op: Op) -> None:
    w, step = body.writer, op.operands[2]
    t = step.type
    assert isinstance(t, Scalar)
    if body.is_uniform(step):
        good = w.ins(f"icmp ne {scalar_type(t)} {body.name(step)}, 0")
        require(body, op, good, lambda: body.active, FaultKind.STEP)
        return
    whole = scalar_type(t, body.width)
    moves = w.ins(f"icmp ne {whole} {body.vector(step)}, zeroinitializer")
    require(
        body,
        op,
        body.all_active(moves),
        lambda: body.both(body.mask, body.inverted(moves)) or "",
        FaultKind.STEP,
    )


# -- loops that all lanes leave together -----------------------------------------------------------


def _uniform_for(body: WideBody, op: Op, emit_region: EmitRegion) -> None:
    w = body.writer
    (region,) = op.regions
    counter, carried = region.args[0], region.args[1:]
    lo, hi, step = (body.extend(v) for v in op.operands[:3])
    known = body.constants.get(op.operands[2])
    trips = trip_count(body, lo, hi, step, None if known is None else int(known))
    types = ["i64", "i64", *body.joined_types(carried)]
    ways = [(w.block, ["0", lo, *body.all_as_joined(op.operands[3:], carried)])]
    head, mark, names = w.loop_head("for", len(types))
    k, position = names[:2]
    body.name_all(carried, names[2:])
    run, done = w.label("body"), w.join("endfor")
    more = w.ins(f"icmp ult i64 {k}, {trips}")
    w.enter(done, names[2:])
    w.branch(more, run, done.label)
    w.start(run)
    body.shrink(counter, position)
    following = body.all_as_joined(emit_region(body, region), carried)
    _leave_when_all_faulted(body, done, following)
    again = [w.ins(f"add i64 {k}, 1"), w.ins(f"add i64 {position}, {step}")]
    ways.append((w.block, [*again, *following]))
    w.do(f"br label %{head}")
    w.close_head(mark, names, types, ways)
    _land(body, done, op.results)


def emit_while(body: WideBody, op: Op, emit_region: EmitRegion) -> None:
    """``while``."""
    if op in body.uniformity.divergent:
        _divergent_while(body, op, emit_region)
        return
    w = body.writer
    condition, region = op.regions
    types = body.joined_types(region.args)
    ways = [(w.block, body.all_as_joined(op.operands, region.args))]
    head, mark, names = w.loop_head("while", len(types))
    body.name_all(condition.args, names)
    body.name_all(region.args, names)
    run, done = w.label("body"), w.join("endwhile")
    (more,) = emit_region(body, condition)
    w.enter(done, names)
    w.branch(body.name(more), run, done.label)
    w.start(run)
    following = body.all_as_joined(emit_region(body, region), region.args)
    _leave_when_all_faulted(body, done, following)
    ways.append((w.block, following))
    w.do(f"br label %{head}")
    w.close_head(mark, names, types, ways)
    _land(body, done, op.results)


def _leave_when_all_faulted(body: WideBody, done: Join, values: Sequence[str]) -> None:
    if not body.records:
        return
    w = body.writer
    go = w.label("next")
    some = body.any_of(body.both(body.mask, healthy(body)) or "")
    w.enter(done, values)
    w.branch(some, go, done.label, likely=True)
    w.start(go)


def _land(body: WideBody, done: Join, results: Sequence[Value]) -> None:
    arrived = body.writer.land(done, body.joined_types(results))
    assert arrived is not None
    body.name_all(results, arrived)


# -- loops that lanes leave one by one -------------------------------------------------------------


@dataclass(slots=True)
class _Divergent:
    """A divergent loop in the making.

    Attributes:
        op: the loop.
        types: LLVM types of the phis in its head.
        first: what they are before the loop.
        names: what they are in an iteration, once the head is open.
        again: what they are in the next one, by number.
        alive: number of the phi that holds the lanes which are still in the loop, if there is one.
        args: numbers of the phis of carried values.
        kept: numbers of the phis of results, by position: where the carried value is a scalar, and
            so holds what the lanes in the loop share, the result of the others needs its own.
    """

    op: Op
    types: list[str] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    names: tuple[str, ...] = ()
    again: dict[int, str] = field(default_factory=dict)
    alive: int | None = None
    args: list[int] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)
    head: str = ""
    mark: int = 0
    before: str = ""

    def add(self, t: str, first: str) -> int:
        """One more phi; gives its number."""
        self.types.append(t)
        self.first.append(first)
        return len(self.types) - 1

    def carry(self, body: WideBody) -> None:
        """Phis for the carried values and those results that need one."""
        op, count = self.op, len(self.op.results)
        inits = op.operands[len(op.operands) - count :]
        for k, (arg, init) in enumerate(zip(self.carried, inits, strict=True)):
            self.args.append(self.add(body.joined_type(arg), body.as_joined(init, arg)))
            if body.step(arg) is not None and op.results[k] in body.used:
                self.kept[k] = self.add(body.joined_type(op.results[k]), body.vector(init))

    @property
    def carried(self) -> tuple[Value, ...]:
        """The carried values as the body sees them."""
        args = self.op.regions[-1].args
        return args[len(args) - len(self.op.results) :]

    def open(self, body: WideBody, stem: str) -> None:
        """Begin the head."""
        w = body.writer
        self.before = w.block
        self.head, self.mark, self.names = w.loop_head(stem, len(self.types))
        body.name_all(self.carried, [self.names[n] for n in self.args])


def _divergent_while(body: WideBody, op: Op, emit_region: EmitRegion) -> None:
    loop = _Divergent(op)
    loop.alive = loop.add(body.mask_type, body.active)
    loop.carry(body)
    loop.open(body, "while")
    alive = loop.names[loop.alive]
    body.name_all(op.regions[0].args, [loop.names[n] for n in loop.args])
    with body.masked(alive):
        (more,) = emit_region(body, op.regions[0])
        active = body.writer.ins(f"and {body.mask_type} {alive}, {body.vector(more)}")
    loop.again[loop.alive] = active
    _iterate(body, loop, emit_region, active)


def _divergent_for(body: WideBody, op: Op, emit_region: EmitRegion) -> None:
    """One counter for all lanes; a lane is in the loop while it is below the lane's trip count."""
    w = body.writer
    counter, by = op.regions[0].args[0], op.operands[2]
    t = counter.type
    assert isinstance(t, Scalar)
    single, whole = scalar_type(t), scalar_type(t, body.width)
    trips = _lane_trips(body, op)
    loop = _Divergent(op)
    count = loop.add(single, "0")
    even = body.step(counter) is not None
    if even:
        position = loop.add("i64", body.extend(op.operands[0]))
    else:
        position = loop.add(whole, body.vector(op.operands[0]))
    if body.records:
        loop.alive = loop.add(body.mask_type, body.active)
    loop.carry(body)
    loop.open(body, "for")
    number, place = loop.names[count], loop.names[position]
    below = w.ins(f"icmp ult {whole} {body.spread(single, number)}, {trips}")
    active = body.both(body.mask if loop.alive is None else loop.names[loop.alive], below)
    assert active is not None
    loop.again[count] = w.ins(f"add {single} {number}, 1")
    if even:
        body.shrink(counter, place)
        loop.again[position] = w.ins(f"add i64 {place}, {body.extend(by)}")
    else:
        body.names[counter] = (place,)
        loop.again[position] = w.ins(f"add {whole} {place}, {body.vector(by)}")
    if loop.alive is not None:
        loop.again[loop.alive] = active
    _iterate(body, loop, emit_region, active)


def _iterate(body: WideBody, loop: _Divergent, emit_region: EmitRegion, active: str) -> None:
    """The rest of a loop: its body for the ``active`` lanes, if there are any."""
    w, op = body.writer, loop.op
    run, done = w.label("body"), w.join("done")
    w.enter(done, loop.names)
    w.branch(body.any_of(active), run, done.label)
    w.start(run)
    with body.masked(active):
        given = list(emit_region(body, op.regions[-1]))
        for k, (value, arg) in enumerate(zip(given, loop.carried, strict=True)):
            n = loop.args[k]
            name = body.as_joined(value, arg)
            if body.step(arg) is None and op.results[k] in body.used:
                name = body.chosen(active, loop.types[n], name, loop.names[n])
            loop.again[n] = name
            if k in loop.kept:
                n = loop.kept[k]
                loop.again[n] = body.chosen(
                    active, loop.types[n], body.vector(value), loop.names[n]
                )
    if body.records and loop.alive is not None:
        _drop_faulted(body, loop, done)
    w.do(f"br label %{loop.head}")
    row = [loop.again[n] for n in range(len(loop.types))]
    w.close_head(loop.mark, loop.names, loop.types, [(loop.before, loop.first), (w.block, row)])
    arrived = w.land(done, loop.types)
    assert arrived is not None
    for k, result in enumerate(op.results):
        body.names[result] = (arrived[loop.kept.get(k, loop.args[k])],)


def _drop_faulted(body: WideBody, loop: _Divergent, done: Join) -> None:
    """Lanes that have faulted are not in the next iteration; without any lane there is none."""
    w = body.writer
    assert loop.alive is not None
    go = w.label("next")
    alive = w.ins(f"and {body.mask_type} {loop.again[loop.alive]}, {healthy(body)}")
    loop.again[loop.alive] = alive
    w.enter(done, [loop.again[n] for n in range(len(loop.types))])
    w.branch(body.any_of(alive), go, done.label, likely=True)
    w.start(go)


def _lane_trips(body: WideBody, op: Op) -> str:
    """The trip count of every lane, as wide as the bounds: a distance of two i32 fits u32."""
    w = body.writer
    t = op.operands[0].type
    assert isinstance(t, Scalar)
    single, whole, mask = scalar_type(t), scalar_type(t, body.width), body.mask_type
    lo, hi, step = (body.vector(v) for v in op.operands[:3])
    known = body.constants.get(op.operands[2])
    if known == 0:
        return "zeroinitializer"
    ahead, behind = w.ins(f"icmp slt {whole} {lo}, {hi}"), w.ins(f"icmp sgt {whole} {lo}, {hi}")
    forward, backward = w.ins(f"sub {whole} {hi}, {lo}"), w.ins(f"sub {whole} {lo}, {hi}")
    one = f"splat ({single} 1)"
    if known is not None:
        goes, distance = (ahead, forward) if known > 0 else (behind, backward)
        magnitude = f"splat ({single} {literal(t, abs(int(known)))})"
    else:
        up = w.ins(f"icmp sgt {whole} {step}, zeroinitializer")
        down = w.ins(f"icmp slt {whole} {step}, zeroinitializer")
        descends = w.ins(f"and {mask} {down}, {behind}")
        goes = w.ins(f"select {mask} {up}, {mask} {ahead}, {mask} {descends}")
        distance = w.ins(f"select {mask} {up}, {whole} {forward}, {whole} {backward}")
        name = f"v{body.width}{single}"
        size = w.ins(f"call {whole} @llvm.abs.{name}({whole} {step}, i1 false)")
        magnitude = w.ins(f"call {whole} @llvm.umax.{name}({whole} {size}, {whole} {one})")
    if known not in (1, -1):
        distance = _rounded_up(body, u32 if t is i32 else u64, distance, magnitude, known)
    return w.ins(f"select {mask} {goes}, {whole} {distance}, {whole} zeroinitializer")


def _rounded_up(body: WideBody, t: Scalar, distance: str, magnitude: str, known: object) -> str:
    """Distance over magnitude, as (distance - 1) / magnitude + 1, which does not overflow."""
    w = body.writer
    assert isinstance(w, WideWriter)
    whole, one = scalar_type(t, body.width), f"splat ({scalar_type(t)} 1)"
    less = w.ins(f"sub {whole} {distance}, {one}")
    w.divides_by_constant = known is not None
    quotient = w.divide("udiv", t, less, magnitude)
    w.divides_by_constant = False
    return w.ins(f"add {whole} {quotient}, {one}")
