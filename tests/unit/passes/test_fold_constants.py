"""Folding: what must be computed, and what must be left alone."""

import math

import numpy as np
import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of, observe

from heald.artifact import FaultKind
from heald.ir import Kernel, Op, walk
from heald.passes import drop_dead, fold_constants, guard
from heald.types import bf16, f32, i8, i32


def fold(text: str) -> Kernel:
    """Fold a kernel, which must keep its meaning, and sweep what is unread."""
    kernel = guard(kernel_of(text))
    after = fold_constants(kernel)
    assert_same(kernel, after, launches_of(kernel, 3), same_faults=True)
    return drop_dead(after)


def names(kernel: Kernel) -> list[str]:
    return [op.name for op in walk(kernel.body)]


def stored(kernel: Kernel) -> Op:
    """What makes the value of the last store."""
    ops = {value: op for op in walk(kernel.body) for value in op.results}
    last = [op for op in walk(kernel.body) if op.name == "store"][-1]
    return ops[last.operands[-1]]


def value_kernel(lines: str, result: str, t: str, params: str = "") -> Kernel:
    return kernel_of(f"kernel @k<0>({params}) -> ({t}) {{\n{lines}\nreturn {result}\n}}")


@pytest.mark.parametrize(
    ("op", "t", "operands", "expected"),
    [
        ("iadd", i32, (2**31 - 1, 1), -(2**31)),
        ("imul", i8, (64, 2), -128),
        ("idiv", i32, (-7, 2), -3),
        ("idiv", i32, (-(2**31), -1), -(2**31)),
        ("irem", i32, (-7, 2), -1),
        ("shl", i32, (1, 33), 2),
        ("fadd", f32, (-0.0, 0.0), 0.0),
        ("fmul", f32, (2.0**100, 2.0**100), math.inf),
        ("fmin", f32, (0.0, -0.0), 0.0),
        ("fadd", bf16, (256.0, 1.0), 256.0),
    ],
)
def test_constants_are_computed_as_the_op_defines(op, t, operands, expected):
    lines = "\n".join(
        f"%{k}: {t} = const [value={x.hex() if isinstance(x, float) else x}]"
        for k, x in enumerate(operands)
    )
    kernel = value_kernel(f"{lines}\n%r: {t} = {op} %0, %1", "%r", str(t))
    after = drop_dead(fold_constants(kernel))
    assert names(after) == ["const", "return"]
    number = after.body.ops[0].attrs["value"]
    assert number == expected
    assert not isinstance(expected, float) or math.copysign(1, number) == math.copysign(1, expected)


@pytest.mark.parametrize("name", ["idiv", "irem"])
@pytest.mark.parametrize("dividend", ["%n", "%c"])
def test_a_division_by_zero_keeps_its_fault(name, dividend):
    kernel = kernel_of(
        f"%c: i32 = const [value=0]\n%q: i32 = {name} {dividend}, %c\nstore %m, %q, %q, %q"
    )
    after = drop_dead(fold_constants(kernel))
    assert name in names(after)
    (launch,) = launches_of(kernel, 1, (5,))
    assert observe(after, *launch).faults[0].kind is FaultKind.DIVISION


def test_division_by_a_constant_folds_when_it_cannot_fault():
    kernel = value_kernel(
        "%0: i32 = const [value=17]\n%1: i32 = const [value=5]\n%r: i32 = irem %0, %1", "%r", "i32"
    )
    assert names(drop_dead(fold_constants(kernel))) == ["const", "return"]


@pytest.mark.parametrize(
    "lines",
    [
        "%0: f32 = const [value=0x0p+0]\n%r: f32 = fadd %x, %0",
        "%0: f32 = const [value=0x0p+0]\n%r: f32 = fmul %x, %0",
        "%0: f32 = const [value=-0x0p+0]\n%r: f32 = fsub %x, %0",
        "%r: f32 = fsub %x, %x",
        "%r: f32 = fdiv %x, %x",
        "%0: f32 = const [value=0x1p+0]\n%r: f32 = fma %x, %0, %y",
        "%p: f32 = fmul %x, %y\n%r: f32 = fadd %p, %x",
    ],
)
def test_floats_keep_zeros_infinities_nans_and_roundings(lines):
    kernel = value_kernel(lines, "%r", "f32", "%x: f32, %y: f32")
    assert names(fold_constants(kernel)) == names(kernel)


def test_no_rule_believes_that_a_float_equals_itself():
    kernel = value_kernel('%r: b1 = fcmp %x, %x [pred="oeq"]', "%r", "b1", "%x: f32")
    assert "fcmp" in names(fold_constants(kernel))


def test_a_constant_first_is_swapped_and_then_found():
    kernel = value_kernel(
        "%0: i32 = const [value=0]\n%r: i32 = iadd %0, %n", "%r", "i32", "%n: i32"
    )
    assert names(drop_dead(fold_constants(kernel))) == ["return"]


def test_a_comparison_with_a_constant_first_is_turned():
    kernel = value_kernel(
        '%0: i32 = const [value=7]\n%r: b1 = icmp %0, %n [pred="slt"]', "%r", "b1", "%n: i32"
    )
    after = fold_constants(kernel)
    (op,) = [op for op in walk(after.body) if op.name == "icmp"]
    assert op.attrs["pred"] == "sgt"
    assert op.operands[0] is kernel.params[0]


def test_sums_of_constants_gather():
    kernel = value_kernel(
        "%0: i32 = const [value=3]\n%1: i32 = const [value=5]\n"
        "%p: i32 = iadd %n, %0\n%q: i32 = isub %p, %1\n%r: i32 = iadd %q, %1",
        "%r",
        "i32",
        "%n: i32",
    )
    after = drop_dead(fold_constants(kernel))
    assert names(after) == ["const", "iadd", "return"]
    assert after.body.ops[0].attrs["value"] == 3


# ------------------------------------------------------------------------------ control flow


def test_a_decided_branch_is_inlined():
    after = fold(
        """
        %i: i32 = tid [axis=0]
        %t: b1 = const [value=true]
        %v: f32 = if %t () {
          %w: f32 = load %a, %i
          yield %w
        } () {
          yield %x
        }
        store %b, %i, %v
        """
    )
    assert names(after) == ["tid", "load", "store", "return"]


def test_a_decided_exit_ends_the_region():
    after = fold(
        """
        %i: i32 = tid [axis=0]
        %t: b1 = const [value=false]
        if %t () {
          yield
        } () {
          return
        }
        store %a, %i, %x
        """
    )
    assert names(after) == ["return"]


def test_an_exit_that_becomes_certain_makes_the_rest_unreachable():
    after = fold(
        """
        %i: i32 = tid [axis=0]
        %t: b1 = const [value=true]
        %v: f32 = if %p () {
          if %t () {
            return
          } () {
            yield
          }
          yield %x
        } () {
          return
        }
        store %a, %i, %v
        """
    )
    assert names(after) == ["if", "return", "return", "unreachable"]


def test_an_if_without_ops_becomes_selects():
    after = fold(
        """
        %i: i32 = tid [axis=0]
        %v: f32, %w: f32 = if %p () {
          yield %x, %y
        } () {
          yield %y, %y
        }
        %s: f32 = fadd %v, %w
        store %a, %i, %s
        """
    )
    assert names(after) == ["tid", "select", "fadd", "store", "return"]
    assert stored(after).operands[1] is after.params[6]


def test_an_if_with_composites_stays():
    kernel = kernel_of(
        """kernel @k<0>(%c: b1, %v: vec<f32,2>, %w: vec<f32,2>) -> (vec<f32,2>) {
          %r: vec<f32,2> = if %c () {
            yield %v
          } () {
            yield %w
          }
          return %r
        }"""
    )
    assert fold_constants(kernel) is kernel


def test_what_both_arms_yield_needs_no_merge():
    after = fold(
        """
        %i: i32 = tid [axis=0]
        %v: f32 = if %p () {
          store %b, %i, %y
          yield %x
        } () {
          yield %x
        }
        store %a, %i, %v
        """
    )
    (branch,) = [op for op in walk(after.body) if op.name == "if"]
    assert not branch.results


def test_loops_without_iterations_go_but_not_those_with_step_zero():
    def loop(low, high, step):
        return fold(
            f"""
            %i: i32 = tid [axis=0]
            %0: i32 = const [value={low}]
            %1: i32 = const [value={high}]
            %2: i32 = const [value={step}]
            %v: f32 = for %0, %1, %2, %x (%j: i32, %s: f32) {{
              %t: f32 = fadd %s, %y
              yield %t
            }}
            store %a, %i, %v
            """
        )

    for low, high, step in ((3, 3, 1), (4, 3, 1), (3, 4, -1), (5, 5, 7)):
        assert "for" not in names(loop(low, high, step))
    for low, high, step in ((3, 4, 1), (4, 3, -1), (3, 3, 0)):
        assert "for" in names(loop(low, high, step))


def test_a_while_that_never_starts_goes():
    after = fold(
        """
        %i: i32 = tid [axis=0]
        %v: f32 = while %x (%s: f32) {
          %f: b1 = const [value=false]
          yield %f
        } (%u: f32) {
          %t: f32 = fadd %u, %y
          yield %t
        }
        store %a, %i, %v
        """
    )
    assert "while" not in names(after)


def test_a_scope_with_one_return_dissolves_and_one_with_two_stays():
    once = """
        %i: i32 = tid [axis=0]
        %v: f32 = scope () {
          %t: f32 = fadd %x, %y
          return %t
        }
        store %a, %i, %v
        """
    twice = once.replace(
        "return %t",
        "if %p () {\nreturn %x\n} () {\nyield\n}\nreturn %t",
    )
    assert "scope" not in names(fold(once))
    assert "scope" in names(fold(twice))


def test_assertions_that_hold_go_and_others_stay():
    after = fold(
        '%t: b1 = const [value=true]\nassert %t [message="never"]\nassert %p [message="maybe"]\n'
        "assume %t"
    )
    assert names(after) == ["assert", "return"]


# ------------------------------------------------------------------------------ composites


def test_extract_meets_compose_and_insert():
    kernel = kernel_of(
        """kernel @k<0>(%x: f32, %y: f32, %v: vec<f32,2>) -> (f32, f32, f32, vec<f32,2>) {
          %c: vec<f32,2> = compose %x, %y
          %0: f32 = extract %c [leaf=1]
          %w: vec<f32,2> = insert %v, %x [leaf=0]
          %1: f32 = extract %w [leaf=0]
          %2: f32 = extract %w [leaf=1]
          %3: f32 = extract %v [leaf=0]
          %4: f32 = extract %v [leaf=1]
          %u: vec<f32,2> = compose %3, %4
          return %0, %1, %2, %u
        }"""
    )
    after = drop_dead(fold_constants(kernel))
    assert names(after) == ["extract", "return"]
    x, y, v = kernel.params
    zero, one, two, whole = after.body.terminator.operands
    assert (zero, one, whole) == (y, x, v)
    assert two is after.body.ops[0].result
    assert after.body.ops[0].attrs["leaf"] == 1


def test_leaves_put_together_in_another_order_are_another_value():
    kernel = kernel_of(
        """kernel @k<0>(%v: vec<f32,2>) -> (vec<f32,2>) {
          %0: f32 = extract %v [leaf=0]
          %1: f32 = extract %v [leaf=1]
          %u: vec<f32,2> = compose %1, %0
          return %u
        }"""
    )
    assert fold_constants(kernel) is kernel


def test_inserting_what_is_there_changes_nothing():
    kernel = kernel_of(
        """kernel @k<0>(%x: f32, %y: f32) -> (vec<f32,2>) {
          %v: vec<f32,2> = compose %x, %y
          %w: vec<f32,2> = insert %v, %y [leaf=1]
          %0: f32 = extract %w [leaf=0]
          %u: vec<f32,2> = insert %w, %0 [leaf=0]
          %t: vec<f32,2> = insert %u, %x [leaf=1]
          return %t
        }"""
    )
    assert names(drop_dead(fold_constants(kernel))) == ["compose", "insert", "return"]


def test_inserting_the_leaf_of_another_composite_is_no_identity():
    kernel = kernel_of(
        """kernel @k<0>(%v: vec<f32,2>, %w: vec<f32,2>) -> (vec<f32,2>, vec<f32,2>) {
          %0: f32 = extract %w [leaf=0]
          %1: vec<f32,2> = insert %v, %0 [leaf=0]
          %2: f32 = extract %v [leaf=0]
          %3: vec<f32,2> = insert %v, %2 [leaf=1]
          return %1, %3
        }"""
    )
    assert fold_constants(kernel) is kernel


def test_extents_of_static_arrays_are_constants():
    after = fold(
        """
        %l: local<f32,3x5> = alloc
        %d: i32 = dim %l [axis=1]
        %e: i32 = dim %a [axis=0]
        store %m, %d, %d, %e
        """
    )
    assert [op.attrs["value"] for op in walk(after.body) if op.name == "const"] == [5]
    assert names(after).count("dim") == 1


def test_names_follow_values():
    kernel = kernel_of(
        "%0: i32 = const [value=2]\n%four: i32 = iadd %0, %0\nstore %m, %0, %0, %four"
    )
    after = fold_constants(kernel)
    assert after.name_of(stored(after).result) == "four"


def test_a_kernel_without_anything_to_fold_is_given_back():
    kernel = kernel_of("%i: i32 = tid [axis=0]\nstore %a, %i, %x")
    assert fold_constants(kernel) is kernel


def test_nan_constants_are_not_taken_for_equal_zero():
    kernel = value_kernel(
        "%0: f32 = const [value=nan]\n%1: f32 = const [value=0x0p+0]\n%r: f32 = fmin %1, %0",
        "%r",
        "f32",
    )
    after = drop_dead(fold_constants(kernel))
    assert after.body.ops[0].attrs["value"] == 0.0
    assert np.signbit(after.body.ops[0].attrs["value"]) == np.False_
