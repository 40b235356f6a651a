"""Printing: what is printed parses back to the same kernel, name by name and bit by bit."""

import math
import pickle
import struct
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import composites, kernels

from heald.diagnostics import InternalError, Span
from heald.diagnostics.spans import source_line
from heald.ir import Builder, Kernel, Op, Region, Value, check, equal, parse, to_text, walk
from heald.ir.text import attr_text
from heald.ops import TABLE
from heald.types import SCALARS, Array, Struct, Type, Vector, f32, f64, i32

RETURN = Region((), (Op("return", (), ()),))
ANY_KERNEL = st.one_of(
    kernels(spans=True, atomics=True),
    kernels(spans=True, rank=2),
    kernels(spans=True, function=True),
)


def params_kernel(*types: Type, names: tuple[str, ...] = ()) -> Kernel:
    """A kernel that only has parameters."""
    params = tuple(Value(t) for t in types)
    named = MappingProxyType(dict(zip(params, names, strict=False)))
    return Kernel("k", params, RETURN, names=named)


def values_of(kernel: Kernel) -> list[Value]:
    """All values, in the order in which they are printed."""
    found = list(kernel.params)
    for op in walk(kernel.body):
        found += op.results
        for region in op.regions:
            found += region.args
    return found


@given(ANY_KERNEL)
def test_random_kernels_come_back_whole(kernel: Kernel) -> None:
    text = to_text(kernel, spans=True)
    back = parse(text, TABLE)
    assert to_text(back, spans=True) == text
    assert equal(back, kernel)
    assert (back.name, back.rank, back.results) == (kernel.name, kernel.rank, kernel.results)
    assert back.span == kernel.span
    pairs = list(zip(values_of(kernel), values_of(back), strict=True))
    assert all(a.type is b.type for a, b in pairs)
    assert all(kernel.name_of(a) == back.name_of(b) for a, b in pairs)
    where = dict(pairs)
    for a, b in zip(walk(kernel.body), walk(back.body), strict=True):
        assert (a.name, a.span) == (b.name, b.span)
        assert tuple(where[v] for v in a.operands) == b.operands
        assert repr(dict(a.attrs)) == repr(dict(b.attrs))  # repr: NaN is itself, -0.0 is not 0.0


@given(kernels(spans=True))
def test_spans_appear_only_on_demand(kernel: Kernel) -> None:
    assert "!" not in to_text(kernel)
    assert all(op.span is None for op in walk(parse(to_text(kernel), TABLE).body))


@given(st.lists(st.text(max_size=6), max_size=6))
def test_any_name_comes_back(names: list[str]) -> None:
    kernel = params_kernel(*[i32] * len(names), names=tuple(names))
    text = to_text(kernel)
    back = parse(text, TABLE)
    assert [back.name_of(v) for v in back.params] == names
    assert to_text(back) == text


@given(st.text(min_size=1), st.text(), st.text(min_size=1))
def test_any_string_comes_back(name: str, value: str, key: str) -> None:
    op = Op("const", (), (Value(i32),), MappingProxyType({key: value}))
    kernel = Kernel(name, (), Region((), (op, RETURN.ops[0])), attrs=MappingProxyType({key: value}))
    text = to_text(kernel)
    assert text.count("\n") == 4
    back = parse(text, TABLE)
    assert back.name == name
    assert dict(back.attrs) == dict(back.body.ops[0].attrs) == {key: value}


@given(st.floats())
def test_floats_keep_every_bit(value: float) -> None:
    text = f"kernel @k<0>() {{\n  %x: f64 = const [value={attr_text(value)}]\n  return\n}}\n"
    back = parse(text, TABLE).body.ops[0].attrs["value"]
    assert isinstance(back, float)
    if math.isnan(value):
        assert math.isnan(back)
    else:
        assert struct.pack("<d", back) == struct.pack("<d", value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (-3, "-3"),
        (1.0, "0x1p+0"),
        (-0.0, "-0x0p+0"),
        (0.1, "0x1.999999999999ap-4"),
        (5e-324, "0x0.0000000000001p-1022"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        ('a"b\\c\n', r'"a\"b\\c\n"'),
        ("größe\t", r'"größe\t"'),
        ((1, -2), "(1, -2)"),
        ((3,), "(3)"),
        ((), "()"),
    ],
)
def test_attribute_text(value: bool | float | str | tuple[int, ...], text: str) -> None:
    assert attr_text(value) == text


@pytest.mark.parametrize("value", [np.float32(1), None, (1.5,), [1], b"x"])
def test_attributes_of_other_types_are_refused(value: object) -> None:
    with pytest.raises(InternalError, match="no text form"):
        attr_text(value)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------- types


@given(st.sampled_from(SCALARS) | composites(), st.integers(1, 4))
def test_types_come_back_as_the_same_objects(t: Type, ndim: int) -> None:
    extents = (2, 3, 4, 5)[:ndim]
    types = [t, Array(t, ndim), Array(t, ndim, "constant"), Array(t, ndim, "constant", extents)]
    kernel = params_kernel(*types)
    check(kernel, TABLE)
    back = parse(to_text(kernel), TABLE)
    assert [v.type for v in back.params] == types
    assert all(a.type is b for a, b in zip(back.params, types, strict=True))
    assert all(pickle.loads(pickle.dumps(t)) is t for t in types)


def test_left_out_fields_of_a_type_make_no_second_type() -> None:
    assert Array(f32, 1) is Array(f32, 1, "global", None)
    assert Array(f32, 1) is Array(f32, ndim=1, shape=None)
    assert str(Array(Vector(f32, 3), 2, "local", (4, 5))) == "local<vec<f32,3>,4x5>"
    assert str(Array(f32, 2, "shared")) == "shared<f32,?x?>"


def test_structs_are_declared_once_and_inner_ones_first() -> None:
    inner = Struct("Inner", (("x", f32),))
    other = Struct("Inner", (("x", f64),))
    outer = Struct("Outer", (("a", inner), ("b", other)))
    text = to_text(params_kernel(outer, Array(inner, 1), other, names=("o", "i", "j")))
    assert text.splitlines()[:4] == [
        "struct @Inner {x: f32}",
        "struct @Inner.1 {x: f64}",
        "struct @Outer {a: struct<Inner>, b: struct<Inner.1>}",
        "kernel @k<0>(%o: struct<Outer>, %i: array<struct<Inner>,1>, %j: struct<Inner.1>) {",
    ]


# ---------------------------------------------------------------------------------------- spans


def test_equal_spans_share_a_row_and_calls_come_first() -> None:
    b = Builder(TABLE)
    b.open()
    call = Span("k.py", 3, 0, 3, 9)
    for _ in range(2):
        b.span = Span("lib.py", 8, 4, 9, 2).at_call(Span("k.py", 3, 0, 3, 9))
        b.const(i32, 1)
    b.span = call
    b.emit("return")
    text = to_text(Kernel("k", (), b.close(), span=Span("k.py", 1, 0, 4, 1)), spans=True)
    assert text.splitlines() == [
        "kernel @k<0>() {",
        "  %0: i32 = const [value=1] !1",
        "  %1: i32 = const [value=1] !1",
        "  return !0",
        "} !2",
        '!0 = "k.py" 3:0-3:9',
        '!1 = "lib.py" 8:4-9:2 at !0',
        '!2 = "k.py" 1:0-4:1',
    ]


def test_a_place_in_a_file_that_cannot_exist_has_no_source_line() -> None:
    assert source_line(Span("no\0file", 1, 0, 1, 1)) is None
