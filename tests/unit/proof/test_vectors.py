"""The z3 encoding of every op at every type against exact arithmetic, and what it leaves open."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import z3
from unit.ops.cases import ALL, Case, operands
from unit.ops.reference import REFERENCE, is_nan

from heald.ir import Op, Value
from heald.ops import TABLE, Handled
from heald.proof import NotExpressible, Vectors
from heald.types import Array, Scalar, Vector, b1, bf16, f16, f32, f64, i8, i32, u16, u32, u64


def term(v: Vectors, t: Scalar, bits: int) -> Any:
    return z3.BoolVal(bool(bits)) if t is b1 else v.from_bits(t, bits)


def stands_for(v: Vectors, t: Scalar, found: Any, bits: int) -> bool:
    """Is ``found`` the value with these bits (NaN equals NaN), whatever the unknowns of ``v``?"""
    equal = found == term(v, t, bits)
    simple = z3.simplify(equal)
    if z3.is_true(simple) or z3.is_false(simple):
        return bool(z3.is_true(simple))
    return proved(v, equal)


def proved(v: Vectors, claim: Any) -> bool:
    solver = z3.Solver()
    solver.set("rlimit", 20_000_000)
    solver.add(*v.facts, z3.Not(claim))
    answer = solver.check()
    assert answer != z3.unknown
    return bool(answer == z3.unsat)


def rows(case: Case, count: int) -> list[tuple[int, ...]]:
    """A few operands of a case, at which even the slowest of solvers is quick."""
    columns = operands(case, 400)
    picks = np.linspace(0, len(columns[0]) - 1, count).astype(int)
    found = [tuple(int(c[k]) for c in columns) for k in picks]
    if len(set(case.sources)) == 1:  # equal operands, too
        found += [row[:1] * len(row) for row in found[::4]]
    return found


@pytest.mark.parametrize("case", ALL, ids=str)
def test_encoding_is_exact(case: Case) -> None:
    for row in rows(case, 40):
        v = Vectors()
        terms = [term(v, t, bits) for t, bits in zip(case.sources, row, strict=True)]
        found = v.encode(case.op, *terms)
        assert found.sort() == v.sort(case.target)
        unknown = any(is_nan(t, bits) for t, bits in zip(case.sources, row, strict=True))
        if case.op.name in ("bitcast", "copysign") and unknown:
            continue
        expected = REFERENCE[case.op.name](case.op, *row)
        assert stands_for(v, case.target, found, expected), [hex(bits) for bits in row]


def op(name: str, operands: tuple[Any, ...], result: Any, **attrs: Any) -> Op:
    return Op(name, tuple(map(Value, operands)), (Value(result),), attrs)


def test_constants_are_rounded_to_their_type() -> None:
    v = Vectors()
    assert stands_for(v, f32, v.constant(f32, 0.1), 0x3DCCCCCD)
    assert stands_for(v, f64, v.constant(f64, 0.1), 0x3FB999999999999A)
    assert stands_for(v, f16, v.constant(f16, 0.1), 0x2E66)
    assert stands_for(v, bf16, v.constant(bf16, 0.1), 0x3DCD)
    assert stands_for(v, f32, v.constant(f32, -0.0), 0x80000000)
    assert not stands_for(v, f32, v.constant(f32, -0.0), 0)
    assert stands_for(v, f32, v.constant(f32, float("inf")), 0x7F800000)
    assert stands_for(v, f32, v.constant(f32, 1e300), 0x7F800000)
    assert stands_for(v, f32, v.constant(f32, float("nan")), 0x7FC00001)
    assert stands_for(v, i8, v.constant(i8, -1), 0xFF)
    assert stands_for(v, b1, v.constant(b1, True), 1)


def test_bits_of_a_variable_are_one_value() -> None:
    v = Vectors()
    x = v.variable(f32, "x")
    cast = op("bitcast", (f32,), u32)
    assert proved(v, v.encode(cast, x) == v.encode(cast, x))
    back = v.encode(op("bitcast", (u32,), f32), v.encode(cast, x))
    assert proved(v, back == x)


def test_bits_of_a_nan_are_open() -> None:
    """0/0 may be any NaN, and another one the next time."""
    v = Vectors()
    zero = v.constant(f32, 0.0)
    nan = v.encode(op("fdiv", (f32, f32), f32), zero, zero)
    cast = op("bitcast", (f32,), u32)
    first, second = v.encode(cast, nan), v.encode(cast, nan)
    assert not proved(v, first == second)
    assert not proved(v, first == 0x7FC00000)
    assert proved(v, first & 0x7F800000 == 0x7F800000)
    one = v.constant(f32, 1.0)
    signed = v.encode(op("copysign", (f32, f32), f32), one, nan)
    assert not proved(v, signed == one)
    assert proved(v, z3.Or(signed == one, signed == v.constant(f32, -1.0)))


def test_it_proves_and_refutes() -> None:
    """What it is for: facts about all values."""
    v = Vectors()
    x, y = v.variable(i32, "x"), v.variable(i32, "y")
    binary = (i32, i32)
    quotient = v.encode(op("idiv", binary, i32), x, y)
    rest = v.encode(op("irem", binary, i32), x, y)
    product = v.encode(op("imul", binary, i32), quotient, y)
    small = z3.And(x >= 0, x < 64, y > 0, y < 64)
    total = v.encode(op("iadd", binary, i32), product, rest)
    assert proved(v, z3.Implies(small, total == x))
    less = v.encode(op("icmp", binary, b1, pred="slt"), x, v.encode(op("iadd", binary, i32), x, y))
    assert not proved(v, z3.Implies(y > 0, less))  # x + y wraps
    a = v.variable(f16, "a")
    twice = v.encode(op("fadd", (f16, f16), f16), a, a)
    assert proved(v, twice == v.encode(op("fmul", (f16, f16), f16), a, v.constant(f16, 2.0)))
    same = v.encode(op("fcmp", (f16, f16), b1, pred="oeq"), a, a)
    assert not proved(v, same)  # NaN


def test_what_it_cannot_express_is_refused() -> None:
    v = Vectors()
    for name, record in TABLE.items():
        if isinstance(record.smt, Handled):
            with pytest.raises(NotExpressible, match=name):
                v.encode(op(name, (), i32))
            with pytest.raises(NotExpressible, match=name):
                getattr(v, name)
    for t in (Array(f32, 1), Vector(f32, 3)):
        with pytest.raises(NotExpressible, match="type"):
            v.variable(t, "a")
        with pytest.raises(NotExpressible, match="type"):
            v.constant(t, 0)
    with pytest.raises(AttributeError):
        v.no_such_op  # noqa: B018


def test_z3_loads_on_first_use() -> None:
    code = "import sys, heald.proof; assert 'z3' not in sys.modules; heald.proof.Vectors()"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'z3' in sys.modules"], check=True)


def test_shift_counts_of_any_size() -> None:
    v = Vectors()
    x = v.variable(u16, "x")
    shifted = v.encode(op("shl", (u16, u16), u16), x, v.constant(u16, 17))
    assert proved(v, shifted == x * 2)
    wide = v.variable(u64, "w")
    count = v.encode(op("clz", (u64,), u64), wide)
    assert proved(v, z3.Implies(z3.Extract(63, 63, wide) == 1, count == 0))
