"""Host closures: each op at each type, control flow, local arrays, faults, refusals."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
import pytest
from unit.interp.support import same_bits, wir
from unit.ops.cases import ALL, Case, arguments, operands

from heald.diagnostics import (
    AssertFault,
    DivisionFault,
    HealdError,
    OutOfBoundsError,
    Span,
)
from heald.interp import compile_closure, run
from heald.interp.closure import _REFUSED as REFUSED
from heald.interp.closure import HANDLED
from heald.interp.expressions import TEMPLATES
from heald.interp.operations import DIVISIONS
from heald.interp.values import to_number
from heald.ir import ATOMICS, STRUCTURAL, Kernel, Op, Region, Value
from heald.ops import TABLE, Handled
from heald.types import FLOATS

SIGN_OPS = {"bitcast", "copysign", "fneg", "fabs"}
"""Ops whose result shows the sign or payload of a NaN, which no rule fixes."""


def function_of(case: Case) -> Kernel:
    params = tuple(Value(t) for t in case.sources)
    op = Op(case.op.name, params, (Value(case.target),), case.op.attrs)
    end = Op("return", op.results, ())
    return Kernel(str(case), params, Region((), (op, end)), (case.target,))


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_closure_gives_the_bits_of_the_record(case: Case) -> None:
    columns = arguments(case, operands(case, 150))
    closure = compile_closure(function_of(case))
    with np.errstate(all="ignore"):
        expected = TABLE[case.op.name].evaluate(case.op, *columns)
    for row, wanted in zip(zip(*columns, strict=True), expected, strict=True):
        numbers = [to_number(t, x) for t, x in zip(case.sources, row, strict=True)]
        if case.op.name in SIGN_OPS and any(x != x for x in numbers):
            continue
        if case.op.name in DIVISIONS and numbers[1] == 0:
            with pytest.raises(DivisionFault):
                closure(numbers)
            continue
        (found,) = closure(numbers)
        number = to_number(case.target, wanted)
        assert type(found) is type(number)
        assert same_bits(np.array(found), np.array(number)), (numbers, found, number)


def test_constants_keep_every_bit() -> None:
    for t in FLOATS:
        for x in (
            0.0,
            -0.0,
            1.0,
            -1.5,
            math.inf,
            -math.inf,
            math.nan,
            float(t(1e-7)),
            float(t(1e4)),
        ):
            (value,) = (Value(t),)
            const = Op("const", (), (value,), MappingProxyType({"value": x}))
            body = Region((), (const, Op("return", (value,), ())))
            (found,) = compile_closure(Kernel("c", (), body, (t,)))(())
            assert same_bits(np.float64(found), np.float64(x))


def test_float_arguments_are_rounded_to_their_types() -> None:
    k = wir("kernel @same<0>(%a: f32, %b: bf16, %c: f16) -> (f32, bf16, f16) { return %a, %b, %c }")
    assert compile_closure(k)((0.1, 0.1, 70000)) == (
        float(np.float32(0.1)),
        0.10009765625,
        math.inf,
    )


# -- control flow --------------------------------------------------------------------------------

COLLATZ = """
kernel @collatz<0>(%n: i32, %most: i32) -> (i32, b1) {
  %zero: i32 = const [value=0]
  %one: i32 = const [value=1]
  %two: i32 = const [value=2]
  %three: i32 = const [value=3]
  %steps: i32, %ok: b1 = scope () {
    %end: i32, %count: i32 = while %n, %zero (%x: i32, %k: i32) {
      %more: b1 = icmp %x, %one [pred="ne"]
      yield %more
    } (%x1: i32, %k1: i32) {
      %late: b1 = icmp %k1, %most [pred="sge"]
      if %late () {
        %no: b1 = const [value=false]
        return %k1, %no
      } () { yield }
      %k2: i32 = iadd %k1, %one
      %low: i32 = iand %x1, %one
      %odd: b1 = icmp %low, %one [pred="eq"]
      if %odd () {
        %y: i32 = imul %x1, %three
        %z: i32 = iadd %y, %one
        continue %z, %k2
      } () { yield }
      %h: i32 = idiv %x1, %two
      yield %h, %k2
    }
    %yes: b1 = const [value=true]
    return %count, %yes
  }
  return %steps, %ok
}
"""


def collatz(n: int, most: int) -> tuple[int, bool]:
    k = 0
    while n != 1:
        if k >= most:
            return k, False
        k, n = k + 1, 3 * n + 1 if n % 2 else n // 2
    return k, True


def test_a_return_leaves_its_scope_from_inside_a_loop() -> None:
    closure = compile_closure(wir(COLLATZ))
    for n in (1, 2, 7, 27, 97):
        for most in (0, 5, 1000):
            assert closure((n, most)) == collatz(n, most)


SEARCH = """
kernel @search<0>(%lo: i64, %hi: i64, %step: i64, %stop: i64) -> (i64, i64) {
  %zero: i64 = const [value=0]
  %one: i64 = const [value=1]
  %a: i64, %b: i64 = for %lo, %hi, %step, %zero, %one (%i: i64, %s: i64, %t: i64) {
    %found: b1 = icmp %i, %stop [pred="eq"]
    if %found () { break %t, %i } () { yield }
    %s1: i64 = iadd %s, %i
    yield %t, %s1
  }
  return %a, %b
}
"""


def test_carried_values_swap_and_break_takes_its_own() -> None:
    def by_hand(lo: int, hi: int, step: int, stop: int) -> tuple[int, int]:
        s, t = 0, 1
        for i in range(lo, hi, step):
            if i == stop:
                return t, i
            s, t = t, s + i
        return s, t

    closure = compile_closure(wir(SEARCH))
    for case in [(0, 10, 3, -1), (0, 10, 1, 4), (9, 0, -2, 0), (5, 5, 1, 0), (3, 0, 1, 0)]:
        assert closure(case) == by_hand(*case)
    with pytest.raises(DivisionFault, match="step is zero"):
        closure((0, 3, 0, 0))


def test_carried_values_may_change_places() -> None:
    k = wir("""
    kernel @turn<0>(%n: i32, %a: f32, %b: f32, %c: f32) -> (f32, f32, f32) {
      %z: i32 = const [value=0] %o: i32 = const [value=1]
      %x: f32, %y: f32, %w: f32 = for %z, %n, %o, %a, %b, %c (%i: i32, %p: f32, %q: f32, %r: f32) {
        yield %q, %r, %p
      }
      return %x, %y, %w
    }""")
    closure = compile_closure(k)
    assert closure((1, 1, 2, 3)) == (2, 3, 1)
    assert closure((5, 1, 2, 3)) == (3, 1, 2)


def test_scopes_that_fall_through_nested_branches() -> None:
    k = wir("""
    kernel @sign<0>(%x: f32) -> (i32) {
      %zero: f32 = const [value=0x0p+0]
      %s: i32 = scope () {
        %neg: b1 = fcmp %x, %zero [pred="olt"]
        if %neg () { %m: i32 = const [value=-1] return %m } () {
          %pos: b1 = fcmp %x, %zero [pred="ogt"]
          if %pos () { %p: i32 = const [value=1] return %p } () { yield }
          yield
        }
        %z: i32 = const [value=0]
        return %z
      }
      %two: i32 = const [value=2]
      %r: i32 = imul %s, %two
      return %r
    }""")
    closure = compile_closure(k)
    assert [closure((x,)) for x in (-3, 0, 5, math.nan)] == [(-2,), (0,), (2,), (0,)]


# -- composites and local arrays -----------------------------------------------------------------


def test_composites_are_their_leaves() -> None:
    k = wir("""
    struct @Pair { a: i32, v: vec<f32,2> }
    kernel @swap<0>(%p: struct<Pair>, %x: f32) -> (struct<Pair>, f32) {
      %y: f32 = extract %p [leaf=1]
      %q: struct<Pair> = insert %p, %x [leaf=1]
      return %q, %y
    }""")
    assert compile_closure(k)((7, 1.0, 2.0, 3.0)) == (7, 3.0, 2.0, 1.0)


LOCAL = """
kernel @pick<0>(%i: i32, %j: i64, %x: f32) -> (f32, vec<f32,2>, i64, i64) {
  %a: local<vec<f32,2>,2x3> = alloc
  %zero: i32 = const [value=0]
  %one: f32 = const [value=0x1p+0]
  %v: vec<f32,2> = compose %x, %one
  store %a, %i, %j, %v
  store %a, %zero, %zero, %x [leaf=1]
  %r: f32 = load %a, %i, %j [leaf=0]
  %w: vec<f32,2> = load %a, %zero, %zero
  %n: i64 = dim %a [axis=1]
  %s: i64 = stride %a [axis=0]
  return %r, %w, %n, %s
}
"""


def test_local_arrays() -> None:
    k = wir(LOCAL)
    closure = compile_closure(k)
    for i, j in [(0, 0), (1, 2), (0, 2)]:
        found = closure((i, j, 5.0))
        r, w, n, s = run(k, (), (i, j, 5.0)).results
        assert found == (r[0], w[0][0], w[1][0], n[0], s[0])
    assert closure((1, 2, 5.0)) == (5.0, 0.0, 5.0, 3, 24)
    assert closure((0, 1, 5.0)) == closure((0, 1, 5.0))  # zeroed each time
    for i, j in [(2, 0), (-1, 0), (0, 3), (0, -1)]:
        with pytest.raises(
            OutOfBoundsError, match=rf"index \({i}, {j}\) outside 'a' of shape \(2, 3\)"
        ):
            closure((i, j, 5.0))


# -- faults and refusals -------------------------------------------------------------------------


def test_faults_carry_the_span_of_the_op() -> None:
    k = wir('kernel @check<0>(%ok: b1) -> () { assert %ok [message="x is small"] return }')
    span = Span("user.py", 3, 4, 3, 9)
    ops = tuple(Op(o.name, o.operands, o.results, o.attrs, (), span) for o in k.body.ops)
    closure = compile_closure(Kernel("check", k.params, Region((), ops)))
    assert closure((True,)) == ()
    with pytest.raises(AssertFault, match="assertion failed: x is small") as caught:
        closure((False,))
    assert caught.value.diagnostics[0].span == span
    assert caught.value.codes == ("H0404",)


@pytest.mark.parametrize(
    "text",
    [
        "kernel @k<0>(%a: array<f32,1>) -> () { return }",
        "kernel @k<1>() -> (i32) { %i: i32 = tid [axis=0] return %i }",
        'kernel @k<0>(%x: f32) -> () { printf %x [text="x", kinds="f"] return }',
        "kernel @k<0>(%h: u64) { %a: array<f32,1> = resource_array %h [kind=1, slot=0] return }",
    ],
)
def test_what_needs_a_launch_is_refused(text: str) -> None:
    with pytest.raises(HealdError, match="cannot be called from the host") as caught:
        compile_closure(wir(text))
    assert caught.value.codes == ("H0710",)


def test_nesting_beyond_python_is_refused() -> None:
    body = "return"
    for n in range(120):
        last = "return" if n == 119 else "yield"
        body = body if n else "yield"
        body = f"for %z, %o, %o (%i{n}: i32) {{ {body} }} {last}"
    constants = "%z: i32 = const [value=0] %o: i32 = const [value=1]"
    k = wir(f"kernel @deep<0>() -> () {{ {constants} {body} }}")
    with pytest.raises(HealdError, match="nested too deep"):
        compile_closure(k)


def test_every_op_is_handled_or_refused() -> None:
    assert HANDLED | (REFUSED & set(STRUCTURAL)) | ATOMICS == set(STRUCTURAL)
    special = {n for n, r in TABLE.items() if isinstance(r.evaluate, Handled)}
    assert special == (REFUSED - set(STRUCTURAL)) | {"assert", "assume"}
    assert set(TEMPLATES) == set(TABLE) - special
