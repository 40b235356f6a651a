"""The structural check: what the text corpus cannot say, and the rules that need an oracle."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import kernels

from heald.diagnostics import CompileError, Span
from heald.ir import (
    MAX_NESTING,
    Attr,
    Effect,
    Kernel,
    Op,
    Region,
    Value,
    check,
    walk,
)
from heald.ops import TABLE
from heald.types import (
    MAX_LEAVES,
    Array,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    b1,
    f32,
    i32,
)

RETURN = Op("return", (), ())


def op(name: str, operands: tuple[Value, ...] = (), *results: Value, **attrs: Attr) -> Op:
    return Op(name, operands, results, MappingProxyType(attrs))


def kernel_of(*ops: Op, params: tuple[Value, ...] = ()) -> Kernel:
    return Kernel("k", params, Region((), (*ops, RETURN)), rank=1)


def faults(kernel: Kernel) -> list[str]:
    """The messages that the check has for a kernel."""
    try:
        check(kernel, TABLE)
    except CompileError as error:
        return [d.message for d in error.diagnostics if d.code == "H0904"]
    return []


# ------------------------------------------------------------------------------------ dominance


def dominated(kernel: Kernel) -> bool:
    """The rule in its plainest form: a region sees what was defined before and around it."""

    def region(r: Region, seen: frozenset[Value]) -> bool:
        for o in r.ops:
            if not seen.issuperset(o.operands):
                return False
            if not all(region(inner, seen | {*inner.args}) for inner in o.regions):
                return False
            seen |= {*o.results}
        return True

    return region(kernel.body, frozenset(kernel.params))


def rewire(kernel: Kernel, number: int, operand: int, value: Value) -> Kernel:
    """The kernel with one operand of one op, by pre-order number, replaced."""
    count = -1

    def region(r: Region) -> Region:
        return Region(r.args, tuple(map(change, r.ops)))

    def change(o: Op) -> Op:
        nonlocal count
        count += 1
        operands = list(o.operands)
        if count == number:
            operands[operand] = value
        return replace(o, operands=tuple(operands), regions=tuple(map(region, o.regions)))

    return replace(kernel, body=region(kernel.body))


@given(st.one_of(kernels(atomics=True), kernels(rank=2, spans=True), kernels(function=True)))
def test_random_kernels_are_well_formed(kernel: Kernel) -> None:
    check(kernel, TABLE)


@given(kernels(composites=False), st.data())
def test_dominance_is_that_of_the_plain_rule(kernel: Kernel, data: st.DataObject) -> None:
    ops = list(walk(kernel.body))
    values = [*kernel.params, *(v for o in ops for v in o.results)]
    values += [v for o in ops for r in o.regions for v in r.args]
    number = data.draw(st.sampled_from([n for n, o in enumerate(ops) if o.operands] or [0]))
    if not ops[number].operands:
        return
    k = data.draw(st.integers(0, len(ops[number].operands) - 1))
    old = ops[number].operands[k]
    value = data.draw(st.sampled_from([v for v in values if v.type is old.type]))
    changed = rewire(kernel, number, k, value)
    assert (faults(changed) == []) == dominated(changed)


def test_values_are_defined_once() -> None:
    x = Value(i32)
    define = op("const", (), x, value=1)
    assert faults(kernel_of(define)) == []
    assert faults(kernel_of(define, define)) == ["a value of type i32 is defined twice"]
    assert faults(kernel_of(define, params=(x,))) == ["a value of type i32 is defined twice"]
    assert faults(kernel_of(params=(x, x))) == ["a value of type i32 is defined twice"]


def test_a_region_with_definitions_stands_in_one_place() -> None:
    c = Value(b1)
    arm = Region((), (op("const", (), Value(i32), value=1), op("yield")))
    empty = Region((), (op("yield"),))
    assert faults(kernel_of(Op("if", (c,), (), regions=(empty, empty)), params=(c,))) == []
    assert faults(kernel_of(Op("if", (c,), (), regions=(arm, arm)), params=(c,)))


def test_an_op_does_not_see_its_own_results() -> None:
    c, r = Value(b1), Value(i32)
    arm = Region((), (op("yield", (r,)),))
    (first, second) = faults(kernel_of(Op("if", (c,), (r,), regions=(arm, arm)), params=(c,)))
    assert first == second
    assert "operand 0 of yield is not defined before this use" in first


# ------------------------------------------------------------------------------------ structure


def test_the_body_has_no_arguments() -> None:
    x = Value(i32)
    kernel = Kernel("k", (), Region((x,), (RETURN,)))
    assert faults(kernel) == ["the body takes arguments; parameters are in `params`"]


def test_a_kernel_has_a_name() -> None:
    assert faults(Kernel("", (), Region((), (RETURN,)))) == ["the kernel has no name"]


def test_empty_regions_have_no_terminator() -> None:
    (message,) = faults(Kernel("k", (), Region((), ())))
    assert message == "a region does not end in a terminator"


def test_unknown_ops_are_refused() -> None:
    (message,) = faults(kernel_of(op("jump")))
    assert message == "jump is no op"


def test_nesting_has_a_limit() -> None:
    def nested(depth: int) -> Kernel:
        region = Region((), (RETURN,))
        for _ in range(depth):
            region = Region((), (Op("scope", (), (), regions=(region,)), RETURN))
        return Kernel("k", (), region)

    assert faults(nested(MAX_NESTING)) == []
    assert faults(nested(MAX_NESTING + 1)) == [f"regions are nested more than {MAX_NESTING} deep"]


@pytest.mark.parametrize("effect", [Effect.WRITE, Effect.SYNC, Effect.PRINT])
def test_a_condition_runs_no_value_op_with_effects(effect: Effect) -> None:
    table = {**TABLE, "iadd": replace(TABLE["iadd"], effects=effect)}
    n, c = Value(i32), Value(b1)
    condition = Region((), (op("iadd", (n, n), Value(i32)), op("yield", (c,))))
    loop = Op("while", (), (), regions=(condition, Region((), (op("yield"),))))
    kernel = kernel_of(loop, params=(n, c))
    check(kernel, TABLE)
    with pytest.raises(CompileError, match="a while condition must not run iadd"):
        check(kernel, table)


def test_a_type_rule_that_stumbles_is_a_fault_of_the_op() -> None:
    def rule(o: Op) -> tuple[Type, ...]:
        return (o.operands[2].type,)

    table = {**TABLE, "iadd": replace(TABLE["iadd"], type_rule=rule)}
    n = Value(i32)
    with pytest.raises(CompileError, match="iadd: its type rule cannot read it"):
        check(kernel_of(op("iadd", (n, n), Value(i32)), params=(n,)), table)


# ----------------------------------------------------------------------------------- attributes


@pytest.mark.parametrize("value", [np.float32(1), np.int32(1), None, [1], (1.5,), (True,), 1 << 64])
def test_attributes_hold_plain_numbers_and_text(value: object) -> None:
    attrs: Mapping[str, Attr] = MappingProxyType({"note": value})  # type: ignore[dict-item]
    on_op = kernel_of(Op("iadd", (), (), attrs))
    assert f"attribute note holds {value!r}" in faults(on_op)
    on_kernel = replace(kernel_of(), attrs=attrs)
    assert faults(on_kernel) == [f"attribute note holds {value!r}"]


@pytest.mark.parametrize("value", [True, -5, 1.5, float("nan"), "text", (1, 2), (), (1 << 64) - 1])
def test_attributes_of_value_ops_are_free(value: Attr) -> None:
    n = Value(i32)
    assert faults(kernel_of(op("iadd", (n, n), Value(i32), note=value), params=(n,))) == []


# ---------------------------------------------------------------------------------------- types

DEEP: Type = f32
for level in range(33):
    DEEP = Struct(f"Level{level}", (("x", DEEP),))


@pytest.mark.parametrize(
    ("t", "why"),
    [
        (Scalar("i33", "i", 33, "int33"), "is no scalar type"),
        ("f32", "'f32' is no type"),
        (Vector(f32, 0), "extents of at least 1"),
        (Vector(Vector(f32, 2), 2), "needs a scalar type"),  # type: ignore[arg-type]
        (Vector(f32, MAX_LEAVES + 1), "more than 4096 leaves"),
        (Matrix(f32, 65, 64), "more than 4096 leaves"),
        (Matrix(f32, 2, -1), "extents of at least 1"),
        (Quaternion(Array(f32, 1)), "needs a scalar type"),  # type: ignore[arg-type]
        (Struct("S", ()), "needs fields"),
        (Struct("S", (("", f32),)), "needs fields"),
        (Struct("S", (("x", Vector(f32, 0)),)), "field x of struct<S>: vec<f32,0> needs"),
        (Struct("S", (("x", Array(f32, 1, "local", (4,))),)), "an array in local memory"),
        (Struct("S", tuple((f"x{k}", Matrix(f32, 64, 64)) for k in range(2))), "more than 4096"),
        (DEEP, "nested more than 32 deep"),
        (Array(f32, 0), "needs 1 to 4 axes"),
        (Array(f32, 5), "needs 1 to 4 axes"),
        (Array(Array(f32, 1), 1), "array of arrays"),  # type: ignore[arg-type]
        (Array(Struct("S", (("a", Array(f32, 1)),)), 1), "hold arrays"),
        (Array(f32, 1, "global", (4,)), "in global memory and has a static shape"),
        (Array(f32, 1, "constant", (4, 4)), "needs 1 extents"),
        (Array(f32, 1, "constant", (-1,)), "needs 1 extents"),
        (Array(Transform(f32), 2, "constant", (1 << 16, 1 << 13)), "2^31 leaves or more"),
    ],
)
def test_types_that_wir_does_not_admit(t: Type, why: str) -> None:
    (message,) = faults(kernel_of(params=(Value(t),)))
    assert why in message


@pytest.mark.parametrize(
    "t",
    [
        Vector(f32, MAX_LEAVES),
        Struct("S", (("x", f32), ("a", Array(f32, 4)), ("b", Array(Vector(f32, 3), 1)))),
        Array(Transform(f32), 2, "constant", (1 << 15, 1 << 13)),
        Array(b1, 1),
    ],
)
def test_types_at_the_limits(t: Type) -> None:
    assert faults(kernel_of(params=(Value(t),))) == []


def test_memory_is_of_a_known_kind() -> None:
    unknown = Array(f32, 1, "register", (4,))
    assert f"{unknown} lies in none of global, shared, local, constant" in faults(
        kernel_of(op("alloc", (), Value(unknown)))
    )


def test_results_of_functions_are_types() -> None:
    x = Value(f32)
    end = Op("return", (x,), ())
    kernel = Kernel("f", (x,), Region((), (end,)), results=(f32,))
    assert faults(kernel) == []
    assert faults(replace(kernel, results=(Vector(f32, 0),)))


# --------------------------------------------------------------------------------------- report


def test_ten_violations_are_shown_and_the_rest_counted() -> None:
    bad = [op("const", (), Value(i32), value=1.5) for _ in range(13)]
    with pytest.raises(CompileError) as caught:
        check(kernel_of(*bad), TABLE)
    assert len(caught.value.diagnostics) == 10
    assert str(caught.value).endswith("\n\nand 3 more")


def test_a_violation_shows_its_op_and_its_place() -> None:
    x, y = Value(i32), Value(f32)
    names = MappingProxyType({x: "x", y: "sum"})
    bad = Op("iadd", (x, x), (y,), span=Span("k.py", 3, 4, 3, 9))
    with pytest.raises(CompileError) as caught:
        check(replace(kernel_of(bad, params=(x,)), names=names), TABLE)
    (found,) = caught.value.diagnostics
    assert found.message == "iadd gives (i32), not (f32)"
    assert str(found.span) == "k.py:3:5"
    assert [note.text for note in found.notes] == ["in kernel @k: %sum: f32 = iadd %x, %x"]


def test_a_kernel_that_cannot_be_printed_is_still_reported() -> None:
    bad = Op("const", (), (Value(i32),), MappingProxyType({"value": np.float32(1)}))  # type: ignore[dict-item]
    with pytest.raises(CompileError, match="in kernel @k: const"):
        check(kernel_of(bad), TABLE)
