"""Value ops of several threads at once, by the same records as those of one."""

from __future__ import annotations

from heald.artifact import FaultKind
from heald.codegen.spelling import scalar_type
from heald.codegen.wide.body import Bound, Tests, WideBody, vector_lanes
from heald.codegen.wide.checks import require
from heald.codegen.writer import Writer
from heald.ir import Op, Value
from heald.ops import TABLE
from heald.ops.lowering import lower_op
from heald.passes.facts import DIVISIONS, is_guarded
from heald.types import Scalar, b1

_SWAPPED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
_SWAPPED |= {f"u{pred[1:]}": f"u{other[1:]}" for pred, other in _SWAPPED.items()}
_SWAPPED |= {"eq": "eq", "ne": "ne"}
_FLOAT_DIVISION_BITS = 32
_EXTREME_BITS = 32
"""Processors without AVX-512 find the larger of two numbers in one instruction up to here."""


class WideWriter(Writer):
    """A writer whose integer divisions of vectors go through floats, which processors have.

    Not on GPUs (``direct``), which compute with vectors number by number.
    """

    def __init__(self, width: int, *, direct: bool = False) -> None:
        super().__init__(width)
        self.direct = direct
        self.divides_by_constant = False

    def divide(self, how: str, t: Scalar, lhs: str, rhs: str) -> str:
        """Quotient or remainder of integers whose quotient exists.

        The quotient of two 32-bit integers lies at least 2^-32 of its size below the next integer
        or is one, so rounding it to 53 bits does not reach that integer; 16-bit integers and 24
        bits are alike.
        """
        plain = self.direct or self.divides_by_constant
        if plain or self.width == 1 or t.bits > _FLOAT_DIVISION_BITS:
            return super().divide(how, t, lhs, rhs)
        signed, whole = t.kind == "i", self.type(t)
        real = "double" if t.bits > 16 else "float"
        real = f"<{self.width} x {real}>"
        a, b = (
            self.ins(f"{'si' if signed else 'ui'}tofp {whole} {x} to {real}") for x in (lhs, rhs)
        )
        exact = self.ins(f"fdiv {real} {a}, {b}")
        quotient = self.ins(f"fpto{'si' if signed else 'ui'} {real} {exact} to {whole}")
        if how in ("sdiv", "udiv"):
            return quotient
        product = self.ins(f"mul {whole} {quotient}, {rhs}")
        return self.ins(f"sub {whole} {lhs}, {product}")


def emit_value(body: WideBody, op: Op) -> None:
    """A value op, in the first lane only where the others follow from that."""
    w = body.writer
    assert isinstance(w, WideWriter)
    if op.name in DIVISIONS and is_guarded(op):
        _check_divisor(body, op)
    step = body.step(op.result)
    if step is not None:
        w.width = 1
        names = body.scalars(op.operands)
    else:
        names = [body.vector(v) for v in op.operands]
        w.divides_by_constant = op.name in DIVISIONS and bool(body.constants.get(op.operands[1]))
    body.names[op.result] = (lower_op(TABLE[op.name], w, op, *names),)
    w.width, w.divides_by_constant = body.width, False
    if step is None and op.result.type is b1:
        _note_tests(body, op)
        if op.name == "icmp":
            _note_bound(body, op)


def _check_divisor(body: WideBody, op: Op) -> None:
    w = body.writer
    value = op.operands[1]
    t = value.type
    assert isinstance(t, Scalar)
    if body.is_uniform(value):
        good = w.ins(f"icmp ne {scalar_type(t)} {body.name(value)}, 0")
        require(body, op, good, lambda: body.active, FaultKind.DIVISION)
        return
    whole = scalar_type(t, body.width)
    fine = w.ins(f"icmp ne {whole} {body.vector(value)}, zeroinitializer")
    require(
        body,
        op,
        body.all_active(fine),
        lambda: body.both(body.mask, body.inverted(fine)) or "",
        FaultKind.DIVISION,
    )


# -- conditions that need no look at the lanes -----------------------------------------------------


def tests_of(body: WideBody, value: Value) -> Tests | None:
    """What is known of a condition."""
    if body.is_uniform(value):
        name = body.name(value)
        if name in ("true", "false"):
            return Tests(name, "true" if name == "false" else "false")
        return Tests(name, body.writer.ins(f"xor i1 {name}, true"))
    return body.tests.get(value)


def _note_tests(body: WideBody, op: Op) -> None:
    w = body.writer
    match op.name:
        case "icmp":
            found = _comparison(body, op)
        case "iand" | "ior":
            sides = [tests_of(body, v) for v in op.operands]
            found = None
            if sides[0] is not None and sides[1] is not None:
                a, b = ("and", "or") if op.name == "iand" else ("or", "and")
                found = Tests(
                    w.ins(f"{a} i1 {sides[0].every}, {sides[1].every}"),
                    w.ins(f"{b} i1 {sides[0].none}, {sides[1].none}"),
                )
        case "inot":
            inner = tests_of(body, op.operands[0])
            found = None if inner is None else Tests(inner.none, inner.every)
        case _:
            found = None
    if found is not None:
        body.tests[op.result] = found


def _note_bound(body: WideBody, op: Op) -> None:
    lhs, rhs, pred = *op.operands, str(op.attrs["pred"])
    if lhs in body.constants:
        lhs, rhs, pred = rhs, lhs, _SWAPPED[pred]
    t = lhs.type
    assert isinstance(t, Scalar)
    several = body.width > vector_lanes(body.kernel)
    if several and t.bits <= _EXTREME_BITS and rhs in body.constants and pred[0] in "su":
        bound = Bound(pred, t, body.vector(lhs), int(body.constants[rhs]))
        body.bounds[body.name(op.result)] = bound


def _comparison(body: WideBody, op: Op) -> Tests | None:
    """A comparison of what grows evenly with what is shared: its ends say it all.

    That is so unless a lane wraps, in which case neither test holds.
    """
    lhs, rhs, pred = *op.operands, str(op.attrs["pred"])
    if body.is_uniform(lhs):
        lhs, rhs, pred = rhs, lhs, _SWAPPED[pred]
    step, t = body.step(lhs), lhs.type
    if not step or not body.is_uniform(rhs):
        return None
    assert isinstance(t, Scalar)
    w, kind = body.writer, scalar_type(t)
    first, bound = body.name(lhs), body.name(rhs)
    last = w.ins(f"add {kind} {first}, {step * (body.width - 1)}")
    low, high = (first, last) if step > 0 else (last, first)
    sign = "u" if pred[0] == "u" or (pred in ("eq", "ne") and t.kind == "u") else "s"
    rises = "true" if lhs in body.uniformity.exact else w.ins(f"icmp {sign}le {kind} {low}, {high}")

    def both(one: str, other: str) -> str:
        found = w.ins(f"and i1 {one}, {other}")
        return found if rises == "true" else w.ins(f"and i1 {found}, {rises}")

    if pred in ("eq", "ne"):
        below = w.ins(f"icmp {sign}lt {kind} {high}, {bound}")
        above = w.ins(f"icmp {sign}gt {kind} {low}, {bound}")
        apart = both(w.ins(f"or i1 {below}, {above}"), "true")
        return Tests("false", apart) if pred == "eq" else Tests(apart, "false")
    ends = [w.ins(f"icmp {pred} {kind} {end}, {bound}") for end in (first, last)]
    fails = [w.ins(f"xor i1 {end}, true") for end in ends]
    return Tests(both(*ends), both(*fails))
