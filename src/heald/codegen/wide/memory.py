"""Loads, stores and atomics of several threads at once.

Elements that follow each other move as one vector, an element that all lanes share as a scalar;
other elements are gathered and scattered.  Where several lanes store to one place the last of them
wins, as it would if they ran one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from heald.artifact import FaultKind
from heald.codegen.atomics import combined, is_by_warp, update
from heald.codegen.body import zeros_of
from heald.codegen.memory import companions, element, element_alignment, load_scalar, store_scalar
from heald.codegen.spelling import memory_type, scalar_type
from heald.codegen.wide import groups
from heald.codegen.wide.body import WideBody
from heald.codegen.wide.bounds import bounds_of, fault_words, lanes_inside
from heald.codegen.wide.checks import checked, record
from heald.codegen.wide.places import Access, first_address, lane_addresses, lane_places
from heald.ir import ATOMICS, Op
from heald.passes.coalesce import is_commutative
from heald.passes.facts import is_guarded
from heald.types import Scalar, b1, size_of


def emit_access(body: WideBody, op: Op, following: Sequence[Op]) -> None:
    """A load or store, with those of ``following`` that belong to the same elements."""
    group = [op, *companions(op, following)]
    body.grouped.update(group[1:])
    access = Access.of(body, op)
    loads = op.name == "load"

    def run() -> list[str]:
        return _load(body, group, access) if loads else _store(body, group, access)

    if not is_guarded(op) or op in body.ahead:
        names = run()
    else:
        names = list(_guarded(body, group, access, run))
    if loads:
        body.name_all([o.result for o in group], names)


def _guarded(
    body: WideBody, group: Sequence[Op], access: Access, run: Callable[[], list[str]]
) -> tuple[str, ...]:
    op = group[0]
    good = bounds_of(body, access).good(body)

    def fail() -> list[str]:
        inside = lanes_inside(body, access)
        bad = body.both(body.mask, body.inverted(inside))
        assert bad is not None
        record(body, op, bad, FaultKind.BOUNDS, *fault_words(body, access))
        if access.is_shared_address(body):
            return zeros_of([o.result.type for o in group if o.results])
        with body.masked(body.both(body.mask, inside)):
            return _scattered(body, group, access)

    types = [body.joined_type(o.result) for o in group if o.results]
    return checked(body, op, good, run, fail, types)


# -- loads -----------------------------------------------------------------------------------------


def _load(body: WideBody, group: Sequence[Op], access: Access) -> list[str]:
    if access.is_shared_address(body):
        return [_load_shared(body, op, access) for op in group]
    packed = groups.load_packed(body, group, access)
    if packed is None and not body.gpu and (body.mask or access.lane_step(body) is None):
        packed = groups.gather_packed(body, group, access)
    return packed if packed is not None else _scattered(body, group, access)


def _load_shared(body: WideBody, op: Op, access: Access) -> str:
    scalar, offset = element(op)
    place = first_address(body, access, offset)
    more = body.notes(op.operands[0])
    return load_scalar(body, scalar, place, frozen=op.result in body.deciding, more=more)


def _scattered(body: WideBody, group: Sequence[Op], access: Access) -> list[str]:
    """Every leaf from or to where it lies."""
    found = []
    for op in group:
        scalar, offset, size = _leaf(body, op, access)
        step = access.lane_step(body)
        if step is not None and step + size == size_of(scalar):
            found += _move_dense(body, op, scalar, first_address(body, access, offset))
        elif step is not None and body.mask is None:
            place = first_address(body, access, offset)
            found += _move_evenly(body, op, scalar, place, step + size)
        elif body.gpu:
            found += _move_singly(body, op, scalar, lane_places(body, access, offset, size))
        else:
            found += _move_each(body, op, scalar, lane_addresses(body, access, offset, size))
    return found


def _leaf(body: WideBody, op: Op, access: Access) -> tuple[Scalar, int, int]:
    """The type of what an op accesses, where it begins in an element, and by how many bytes it
    moves from lane to lane besides the index: of local arrays the copies lie side by side."""
    scalar, offset = element(op)
    return (scalar, offset * body.width, size_of(scalar)) if access.local else (scalar, offset, 0)


def _move_evenly(body: WideBody, op: Op, t: Scalar, first: str, step: int) -> list[str]:
    """Elements at even distances, one by one.

    Processors that gather do not foresee what a gather needs next, so streams of structs crawl.
    """
    places = [first]
    for lane in range(1, body.width):
        places.append(body.writer.ins(f"getelementptr i8, ptr {first}, i64 {lane * step}"))
    return _move_singly(body, op, t, places)


def _move_singly(body: WideBody, op: Op, t: Scalar, places: Sequence[str]) -> list[str]:
    """The element of each lane by itself."""
    w, kind = body.writer, memory_type(t)
    whole, loads = f"<{body.width} x {kind}>", op.name == "load"
    more = body.notes(op.operands[0])
    align = element_alignment(body, t)
    vector = "poison" if loads else to_memory(body, t, body.vector(op.operands[-1]))
    for lane, place in enumerate(places):
        if loads:
            one = w.ins(f"load {kind}, ptr {place}, align {align}{more}")
            vector = w.ins(f"insertelement {whole} {vector}, {kind} {one}, i64 {lane}")
        else:
            one = w.ins(f"extractelement {whole} {vector}, i64 {lane}")
            w.do(f"store {kind} {one}, ptr {place}, align {align}{more}")
    return [pinned(body, op, t, vector)] if loads else []


def _move_dense(body: WideBody, op: Op, t: Scalar, place: str) -> list[str]:
    """A vector of elements that follow each other."""
    w, width, more = body.writer, body.width, body.notes(op.operands[0])
    kind = memory_type(t)
    whole, name = f"<{width} x {kind}>", f"v{width}{groups.suffix(t)}.p0"
    if op.name == "load":
        if body.mask is None:
            return [pinned(body, op, t, w.ins(f"load {whole}, ptr {place}, align 1{more}"))]
        arguments = f"ptr {place}, i32 1, {body.mask_type} {body.mask}, {whole} zeroinitializer"
        found = w.ins(f"call {whole} @llvm.masked.load.{name}({arguments}){more}")
        return [pinned(body, op, t, found)]
    value = to_memory(body, t, body.vector(op.operands[-1]))
    if body.mask is None:
        w.do(f"store {whole} {value}, ptr {place}, align 1{more}")
    else:
        arguments = f"{whole} {value}, ptr {place}, i32 1, {body.mask_type} {body.mask}"
        w.do(f"call void @llvm.masked.store.{name}({arguments}){more}")
    return []


def _move_each(body: WideBody, op: Op, t: Scalar, places: str) -> list[str]:
    """Gather or scatter."""
    w, width, more = body.writer, body.width, body.notes(op.operands[0])
    whole, pointers = f"<{width} x {memory_type(t)}>", f"<{width} x ptr>"
    name = f"v{width}{groups.suffix(t)}.v{width}p0"
    mask = f"{body.mask_type} {body.active}"
    if op.name == "load":
        arguments = f"{pointers} {places}, i32 1, {mask}, {whole} zeroinitializer"
        found = w.ins(f"call {whole} @llvm.masked.gather.{name}({arguments}){more}")
        return [pinned(body, op, t, found)]
    value = to_memory(body, t, body.vector(op.operands[-1]))
    arguments = f"{whole} {value}, {pointers} {places}, i32 1, {mask}"
    w.do(f"call void @llvm.masked.scatter.{name}({arguments}){more}")
    return []


def pinned(body: WideBody, op: Op, t: Scalar, name: str) -> str:
    """A loaded vector as values; pinned down where others may write it and it decides something."""
    w, whole = body.writer, f"<{body.width} x {memory_type(t)}>"
    if op.result in body.deciding:
        name = w.ins(f"freeze {whole} {name}")
    return w.ins(f"icmp ne {whole} {name}, zeroinitializer") if t is b1 else name


def to_memory(body: WideBody, t: Scalar, name: str) -> str:
    """A vector as it lies in memory."""
    if t is not b1:
        return name
    return body.writer.ins(f"zext {body.mask_type} {name} to <{body.width} x i8>")


# -- stores ----------------------------------------------------------------------------------------


def _store(body: WideBody, group: Sequence[Op], access: Access) -> list[str]:
    if access.is_shared_address(body):
        for op in group:
            _store_shared(body, op, access)
    elif not groups.store_packed(body, group, access):
        _scattered(body, group, access)
    return []


def _store_shared(body: WideBody, op: Op, access: Access) -> None:
    """To one place: the last lane that runs wins."""
    w = body.writer
    scalar, offset = element(op)
    value = op.operands[-1]
    name = body.name(value)
    if not body.is_uniform(value):
        whole = f"<{body.width} x {scalar_type(scalar)}>"
        name = w.ins(f"extractelement {whole} {body.vector(value)}, i64 {_last_lane(body)}")
    place = first_address(body, access, offset)
    store_scalar(body, scalar, name, place, body.notes(access.array))


def _last_lane(body: WideBody) -> str:
    w = body.writer
    if body.mask is None:
        return str(body.width - 1)
    bits = body.bits_of(body.mask)
    zeros = w.ins(f"call i64 @llvm.ctlz.i64(i64 {bits}, i1 true)")
    return w.ins(f"sub i64 63, {zeros}")


# -- atomics ---------------------------------------------------------------------------------------


def emit_atomic(body: WideBody, op: Op) -> None:
    """An atomic whose old value nobody reads: lane by lane, the first one first, or at once."""
    assert op.name in ATOMICS
    access = Access.of(body, op)

    def run() -> list[str]:
        t, _ = element(op)
        if access.is_shared_address(body) and is_commutative(op, t):
            _update_shared(body, op, access)
        else:
            _update_lanes(body, op, access)
        return []

    if not is_guarded(op) or op in body.ahead:
        run()
        return
    good = bounds_of(body, access).good(body)

    def fail() -> list[str]:
        inside = lanes_inside(body, access)
        bad = body.both(body.mask, body.inverted(inside))
        assert bad is not None
        record(body, op, bad, FaultKind.BOUNDS, *fault_words(body, access))
        with body.masked(body.both(body.mask, inside)):
            return run()

    checked(body, op, good, run, fail, [])


def _update_shared(body: WideBody, op: Op, access: Access) -> None:
    """One atomic for all lanes that run, which meet in one element.

    Integers may be combined in any order.
    """
    w = body.writer
    t, offset = element(op)
    given = body.vector(op.operands[-1])
    kind = op.name.removeprefix("atomic_")
    ordered = f"{'s' if t.kind == 'i' else 'u'}{kind}"
    reduction = {"sub": "add", "min": ordered, "max": ordered}.get(kind, kind)
    scalar = scalar_type(t)
    whole, name = f"<{body.width} x {scalar}>", f"{reduction}.v{body.width}{scalar}"
    end = None
    if body.mask is not None:
        some, end = w.label("some"), w.label("updated")
        w.branch(w.ins(f"icmp ne i64 {body.bits_of(body.mask)}, 0"), some, end)
        w.start(some)
        given = body.chosen(body.mask, whole, given, body.spread(scalar, str(_neutral(kind, t))))
    one = w.ins(f"call {scalar} @llvm.vector.reduce.{name}({whole} {given})")
    w.width = 1
    update(body, op, t, first_address(body, access, offset), [one])
    w.width = body.width
    if end is not None:
        w.do(f"br label %{end}")
        w.start(end)


def _neutral(kind: str, t: Scalar) -> int:
    """What changes nothing."""
    return {"and": -1, "min": t.highest, "max": t.lowest}.get(kind, 0)


def _update_lanes(body: WideBody, op: Op, access: Access) -> None:
    """A loop over the set bits of the mask."""
    w = body.writer
    scalar, offset, size = _leaf(body, op, access)
    shared = access.is_shared_address(body)
    if body.gpu:
        places = (
            [first_address(body, access, offset)] * body.width
            if shared
            else lane_places(body, access, offset, size)
        )
        _update_singly(body, op, scalar, places)
        return
    place = (
        first_address(body, access, offset)
        if shared
        else lane_addresses(body, access, offset, size)
    )
    value = body.vector(op.operands[-1])
    every = -1 if body.width == 64 else (1 << body.width) - 1
    bits = str(every) if body.mask is None else body.bits_of(body.mask)
    before = w.block
    head, mark, (left,) = w.loop_head("lanes", 1)
    run, end = w.label("lane"), w.label("updated")
    w.branch(w.ins(f"icmp ne i64 {left}, 0"), run, end)
    w.start(run)
    lane = w.ins(f"call i64 @llvm.cttz.i64(i64 {left}, i1 true)")
    own = place
    if not shared:
        own = w.ins(f"extractelement <{body.width} x ptr> {place}, i64 {lane}")
    whole = f"<{body.width} x {scalar_type(scalar)}>"
    given = w.ins(f"extractelement {whole} {value}, i64 {lane}")
    w.width = 1
    update(body, op, scalar, own, [given])
    w.width = body.width
    rest = w.ins(f"and i64 {left}, {w.ins(f'sub i64 {left}, 1')}")
    w.do(f"br label %{head}")
    w.close_head(mark, [left], ["i64"], [(before, [bits]), (w.block, [rest])])
    w.start(end)


def _update_singly(body: WideBody, op: Op, t: Scalar, places: Sequence[str]) -> None:
    """Lane by lane, without a loop; no lane is left out.

    The least or greatest float of lanes, found in their order, leaves what their updates in turn
    would leave, zeros and NaN included.
    """
    w = body.writer
    value, whole = body.vector(op.operands[-1]), scalar_type(t, body.width)
    w.width = 1
    given = [w.ins(f"extractelement {whole} {value}, i64 {lane}") for lane in range(body.width)]
    if is_by_warp(op) and t.bits >= 32:
        given, places = [reduce(lambda a, b: combined(body, op, t, a, b), given)], places[:1]
    for place, one in zip(places, given, strict=True):
        update(body, op, t, place, [one])
    w.width = body.width
