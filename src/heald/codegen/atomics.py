"""Atomic ops: one instruction where LLVM means the same, else a loop around compare-and-exchange.

All are relaxed (``monotonic``): WIR orders memory between launches and at barriers only.  An atomic
needs its element at natural alignment, which the launch path checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.codegen.body import Body
from heald.codegen.memory import (
    address,
    element,
    from_bits,
    guarded,
    indices_of,
    places_of,
    to_bits,
)
from heald.codegen.spelling import bits_type, scalar_type
from heald.diagnostics import InternalError
from heald.ir import Op
from heald.ops import TABLE
from heald.ops.lowering import lower_op
from heald.types import Scalar, b1, size_of

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
# Otherwise: the value op that makes the new value of the old one and the operand.
_COMBINED = {
    ("add", "f"): "fadd",
    ("sub", "f"): "fsub",
    ("min", "f"): "fmin",
    ("max", "f"): "fmax",
    ("and", "b"): "iand",
    ("or", "b"): "ior",
    ("xor", "b"): "ixor",
}


def emit_atomic(body: Body, op: Op) -> None:
    """An atomic; behind a guard that fails it changes nothing and gives zero."""
    scalar, offset = element(op)
    array, index = body.array(op.operands[0]), indices_of(body, op)

    values = body.scalars(op.operands[1 + len(index) :])

    def run() -> tuple[str]:
        place = address(body, array, places_of(body, op), offset)
        return (update(body, op, scalar, place, values),)

    body.names[op.result] = guarded(body, op, array, index, run, [scalar])


def update(body: Body, op: Op, t: Scalar, place: str, values: Sequence[str]) -> str:
    """The update itself with one value (``atomic_cas``: two); gives the old value."""
    w = body.writer
    kind = op.name.removeprefix("atomic_")
    direct = _DIRECT.get((kind, t.kind))
    if direct is not None:
        size = size_of(t)
        return w.ins(
            f"atomicrmw {direct} ptr {place}, {scalar_type(t)} {values[-1]}{body.scope} monotonic, "
            f"align {size}"
        )
    if kind == "cas" and t is not b1:
        return _compare_and_swap(body, t, place, values)
    return _retry(body, t, place, lambda old: _next_value(body, op, kind, t, old, values))


def _next_value(body: Body, op: Op, kind: str, t: Scalar, old: str, values: Sequence[str]) -> str:
    """What takes the place of ``old``."""
    w = body.writer
    value = values[-1]
    if kind == "exch":
        return value
    if kind == "cas":
        same = w.ins(f"icmp eq i1 {old}, {values[0]}")
        return w.ins(f"select i1 {same}, i1 {value}, i1 {old}")
    name = _COMBINED.get((kind, t.kind))
    if name is None:
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
    found, done = _exchange(body, t, place, seen, new)
    end = w.label("swapped")
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
