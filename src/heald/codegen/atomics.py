"""Atomic ops: one instruction where LLVM means the same, else a loop around compare-and-exchange.

All are relaxed (``monotonic``): WIR orders memory between launches and at barriers only.  An atomic
needs its element at natural alignment, which the launch path checks.  Shared arrays of CPUs need
none: one core runs a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.codegen.body import Body
from heald.codegen.memory import (
    address,
    element,
    from_bits,
    guarded,
    load_scalar,
    places_of,
    store_scalar,
    to_bits,
)
from heald.codegen.spelling import bits_type, literal, scalar_type
from heald.diagnostics import InternalError
from heald.ir import Op, Value
from heald.ops import TABLE
from heald.ops.lowering import lower_op
from heald.ops.updates import updating_op
from heald.types import Array, Scalar, b1, f16, f32, f64, size_of

# What LLVM's instruction does exactly as WIR means it, by atomic and kind of type.
_DIRECT = {
    ("add", "i"): "add",
    ("add", "u"): "add",
    ("sub", "i"): "sub",
    ("sub", "u"): "sub",
    ("min", "i"): "min",
    ("min", "u"): "umin",
    ("max", "i"): "max",
    ("max", "u"): "umax",
    **{(name, kind): name for name in ("and", "or", "xor") for kind in "iu"},
    **{("exch", kind): "xchg" for kind in "iu"},
}
_SIZE_BITS, _LARGE = 0x7FFFFFFF, (127 - 100) << 23
"""Of the bits of a float32: those of its size, and the size 2^-100."""


def emit_atomic(body: Body, op: Op) -> None:
    """An atomic; behind a guard that fails it changes nothing and gives zero."""
    scalar, offset = element(op)
    array = body.array(op.operands[0])
    values = body.scalars(op.operands[1 + len(array.extents) :])
    alone = not body.gpu and _is_of_a_block(op.operands[0]) and op.name != "atomic_cas"

    def run() -> tuple[str]:
        place = address(body, array, places_of(body, op), offset)
        if alone:
            return (_update_in_turn(body, op, scalar, place, values),)
        return (update(body, op, scalar, place, values),)

    body.names[op.result] = guarded(body, op, array, run, [scalar])


def _is_of_a_block(array: Value) -> bool:
    return isinstance(array.type, Array) and array.type.space == "shared"


def _update_in_turn(body: Body, op: Op, t: Scalar, place: str, values: Sequence[str]) -> str:
    """On a CPU one core runs a block, whose threads take turns: nobody comes between."""
    kind = op.name.removeprefix("atomic_")
    old = load_scalar(body, t, place, frozen=True)
    store_scalar(body, t, _next_value(body, op, kind, t, old, values), place)
    return old


def update(body: Body, op: Op, t: Scalar, place: str, values: Sequence[str]) -> str:
    """The update itself with one value (``atomic_cas``: two); gives the old one if it is read."""
    if body.gpu and is_by_warp(op):
        _update_by_warp(body, op, t, place, values[0])
        return literal(t, 0)
    return _update_alone(body, op, t, place, values)


def is_by_warp(op: Op) -> bool:
    """Did ``warp_reduce`` find that GPUs may add up within warps?"""
    return op.attrs.get("warp") is True


def _update_alone(body: Body, op: Op, t: Scalar, place: str, values: Sequence[str]) -> str:
    """Each thread by itself."""
    w = body.writer
    kind = op.name.removeprefix("atomic_")
    if body.gpu and kind in ("add", "sub") and t in (f16, f32, f64):
        return _add_float(body, op, t, place, values)
    direct = _DIRECT.get((kind, t.kind))
    if direct is not None:
        size = size_of(t)
        return w.ins(
            f"atomicrmw {direct} ptr {place}, {scalar_type(t)} {values[-1]}{body.scope} monotonic, "
            f"align {size}"
        )
    if kind == "exch" and t.is_float:
        kind, bits = bits_type(t), to_bits(body, t, values[-1])
        old = w.ins(
            f"atomicrmw xchg ptr {place}, {kind} {bits}{body.scope} monotonic, align {size_of(t)}"
        )
        return from_bits(body, t, old)
    if kind == "cas" and t is not b1:
        return _compare_and_swap(body, t, place, values)
    return _update_by_retry(body, op, t, place, values)


def _update_by_retry(body: Body, op: Op, t: Scalar, place: str, values: Sequence[str]) -> str:
    kind = op.name.removeprefix("atomic_")
    return _retry(body, t, place, lambda old: _next_value(body, op, kind, t, old, values))


def _add_float(body: Body, op: Op, t: Scalar, place: str, values: Sequence[str]) -> str:
    """On a GPU, whose instruction is exact; but that of float32 takes subnormals for zero.

    A number of at least 2^-100 is a multiple of 2^-123, so its sum with another normal number is
    normal or zero, and a subnormal one is less than half a step of it.  For such the instruction
    is exact too, and others take the long way.  So does whoever asks for the old value.
    """
    w, (value,) = body.writer, values
    if t is not f32:
        return _add_directly(body, op, t, place, value)
    if op.result in body.used:
        return _update_by_retry(body, op, t, place, values)
    size = w.ins(f"and i32 {to_bits(body, t, value)}, {_SIZE_BITS}")
    large, small, end = w.label("large"), w.label("small"), w.label("added")
    w.branch(w.ins(f"icmp uge i32 {size}, {_LARGE}"), large, small, likely=True)
    w.start(large)
    _add_directly(body, op, t, place, value)
    w.do(f"br label %{end}")
    w.start(small)
    _update_by_retry(body, op, t, place, values)
    w.do(f"br label %{end}")
    w.start(end)
    return literal(t, 0)


def _add_directly(body: Body, op: Op, t: Scalar, place: str, value: str) -> str:
    w, kind = body.writer, scalar_type(t)
    if op.name == "atomic_sub":
        value = w.ins(f"fneg {kind} {value}")
    return w.ins(
        f"atomicrmw fadd ptr {place}, {kind} {value}{body.scope} monotonic, align {size_of(t)}"
    )


def _next_value(body: Body, op: Op, kind: str, t: Scalar, old: str, values: Sequence[str]) -> str:
    """What takes the place of ``old``."""
    w = body.writer
    value = values[-1]
    if kind == "exch":
        return value
    if kind == "cas":
        same = w.ins(f"icmp eq i1 {old}, {values[0]}")
        return w.ins(f"select i1 {same}, i1 {value}, i1 {old}")
    name = updating_op(op.name, t)
    if not name:
        raise InternalError(f"{op.name} of {t}")
    combine = Op(name, (op.result, op.operands[-1]), op.results)
    return lower_op(TABLE[name], w, combine, old, value)


def _compare_and_swap(body: Body, t: Scalar, place: str, values: Sequence[str]) -> str:
    """One instruction on the bits."""
    expected, value = (to_bits(body, t, given) for given in values)
    old, _ = _exchange(body, t, place, expected, value)
    return from_bits(body, t, old)


def _retry(body: Body, t: Scalar, place: str, step: Callable[[str], str]) -> str:
    """Replace the value by ``step`` of it, again until nobody came between; gives the old value."""
    w = body.writer
    bits = bits_type(t)
    first = w.ins(f"load atomic {bits}, ptr {place}{body.scope} monotonic, align {size_of(t)}")
    before = w.block
    again, mark, (seen,) = w.loop_head("retry", 1)
    old = from_bits(body, t, seen)
    new = to_bits(body, t, step(old))
    end = w.label("swapped")
    if body.gpu:  # nothing changes, as if it had been this thread's turn when it looked
        change = w.label("change")
        w.branch(w.ins(f"icmp eq {bits} {seen}, {new}"), end, change)
        w.start(change)
    found, done = _exchange(body, t, place, seen, new)
    w.close_head(mark, [seen], [bits], [(before, [first]), (w.block, [found])])
    w.branch(done, end, again, likely=True)
    w.start(end)
    return old


def _exchange(body: Body, t: Scalar, place: str, expected: str, value: str) -> tuple[str, str]:
    """The old bits, and whether they were the expected ones and were replaced."""
    w = body.writer
    bits = bits_type(t)
    pair = w.ins(
        f"cmpxchg ptr {place}, {bits} {expected}, {bits} {value}{body.scope} monotonic "
        f"monotonic, align {size_of(t)}"
    )
    parts = [w.ins(f"extractvalue {{{bits}, i1}} {pair}, {n}") for n in (0, 1)]
    return parts[0], parts[1]


# -- by warps --------------------------------------------------------------------------------------


def _update_by_warp(body: Body, op: Op, t: Scalar, place: str, value: str) -> None:
    """One update for the threads of a warp that come here together (pass ``warp_reduce``).

    Integers of 32 bits have an instruction that adds up over any set of threads; others are added
    up by a butterfly where the whole warp is here, else each thread updates by itself.  Those of
    fewer bits are updated by a loop around the word, in which of all threads that meet only one
    gets on: there those with the same element are added up, as integers of 32 bits.

    The least or greatest of floats has the bits of one of them.  Which of zeros with two signs it
    is depends on the order, as where threads update one by one.
    """
    w = body.writer
    mask = w.ins("call i32 @llvm.nvvm.activemask() convergent")
    lane = w.ins("call i32 @llvm.nvvm.read.ptx.sreg.laneid()")
    run, end = w.label("first"), w.label("updated")
    if not t.is_float and t.bits <= 32:
        if t.bits < 32:
            where = w.ins(f"ptrtoint ptr {place} to i64")
            mask = w.ins(
                f"call i32 @llvm.nvvm.match.any.sync.i64(i32 {mask}, i64 {where}) convergent"
            )
            extend = "sext" if t.kind == "i" else "zext"
            value = w.ins(f"{extend} {scalar_type(t)} {value} to i32")
        value = w.ins(
            f"call i32 @llvm.nvvm.redux.sync.{_REDUX[op.name, t.kind]}(i32 {value}, i32 {mask}) "
            "convergent"
        )
        if t.bits < 32:
            value = w.ins(f"trunc i32 {value} to {scalar_type(t)}")
        first = w.ins(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 true)")
        w.branch(w.ins(f"icmp eq i32 {lane}, {first}"), run, end)
    else:
        tree = w.label("warp")
        both = w.join("together")
        w.enter(both, [value, "true"])
        w.branch(w.ins(f"icmp eq i32 {mask}, -1"), tree, both.label)
        w.start(tree)
        total = value
        for distance in (16, 8, 4, 2, 1):
            other = _from_lane(body, t, total, distance)
            total = combined(body, op, t, total, other)
        w.jump(both, [total, w.ins(f"icmp eq i32 {lane}, 0")])
        arrived = w.land(both, [scalar_type(t), "i1"])
        assert arrived is not None
        value, ready = arrived
        w.branch(ready, run, end)
    w.start(run)
    _update_alone(body, op, t, place, [value])
    w.do(f"br label %{end}")
    w.start(end)


_REDUX = {
    **{(f"atomic_{name}", kind): "add" for name in ("add", "sub") for kind in "iu"},
    **{(f"atomic_{name}", kind): name for name in ("and", "or", "xor") for kind in "iu"},
    **{(f"atomic_{name}", "i"): name for name in ("min", "max")},
    **{(f"atomic_{name}", "u"): f"u{name}" for name in ("min", "max")},
}
_BEYOND = {"min": "olt", "max": "ogt"}
_TOGETHER = {"add": "add", "sub": "add", "and": "and", "or": "or", "xor": "xor"}


def combined(body: Body, op: Op, t: Scalar, one: str, other: str) -> str:
    """What two threads together have for an atomic, with those of ``one`` before the others."""
    w, kind, name = body.writer, scalar_type(t), op.name.removeprefix("atomic_")
    if t.is_float and name in _BEYOND:  # a NaN changes nothing, and of equal ones the first counts
        beyond = w.ins(f"fcmp {_BEYOND[name]} {kind} {other}, {one}")
        taken = w.ins(f"or i1 {beyond}, {w.ins(f'fcmp uno {kind} {one}, {one}')}")
        return w.ins(f"select i1 {taken}, {kind} {other}, {kind} {one}")
    if t.is_float:
        return w.ins(f"fadd {kind} {one}, {other}")
    if name in _TOGETHER:
        return w.ins(f"{_TOGETHER[name]} {kind} {one}, {other}")
    sign = "s" if t.kind == "i" else "u"
    return w.ins(f"call {kind} @llvm.{sign}{name}.{kind}({kind} {one}, {kind} {other})")


def _from_lane(body: Body, t: Scalar, value: str, distance: int) -> str:
    """The value of the thread whose lane differs in one bit; the whole warp asks."""
    w, bits = body.writer, to_bits(body, t, value)
    words = [bits]
    if t.bits == 64:
        words = [w.ins(f"trunc i64 {bits} to i32")]
        words.append(w.ins(f"trunc i64 {w.ins(f'lshr i64 {bits}, 32')} to i32"))
    words = [
        w.ins(
            f"call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 {word}, i32 {distance}, i32 31) "
            "convergent"
        )
        for word in words
    ]
    found = words[0]
    if t.bits == 64:
        low, high = (w.ins(f"zext i32 {word} to i64") for word in words)
        found = w.ins(f"or i64 {w.ins(f'shl i64 {high}, 32')}, {low}")
    return from_bits(body, t, found)
