"""Equality and hashes: what counts, what does not, and that they never change by themselves."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from strategies import kernels

from heald.diagnostics import Span
from heald.ir import Kernel, Op, Region, canonical_text, code_hash, equal, parse, span_hash, to_text
from heald.ops import TABLE

TEXT = """\
struct @P {x: f32}
kernel @k<1>(%a: array<struct<P>,1>, %n: i32) [width=8, mode="fast"] {
  %i: i32 = tid [axis=0]
  %one: f32 = const [value=0x1p+0]
  %s: f32 = for %i, %n, %n, %one [guard=true, id=2] (%k: i32, %t: f32) {
    %x: f32 = load %a, %k [leaf=0, guard=true, id=3]
    %u: f32 = fadd %x, %t
    yield %u
  }
  store %a, %i, %s [leaf=0, guard=true, id=6]
  return
}
"""
CANONICAL = """\
struct @P {x: f32}
kernel @k<1>(%0: array<struct<P>,1>, %1: i32) [mode="fast", width=8] {
  %2: i32 = tid [axis=0]
  %3: f32 = const [value=0x1p+0]
  %4: f32 = for %2, %1, %1, %3 [guard=true, id=2] (%5: i32, %6: f32) {
    %7: f32 = load %0, %5 [guard=true, id=3, leaf=0]
    %8: f32 = fadd %7, %6
    yield %8
  }
  store %0, %2, %4 [guard=true, id=6, leaf=0]
  return
}
"""
KERNEL = parse(TEXT, TABLE)


def changed(old: str, new: str) -> Kernel:
    assert old in TEXT
    return parse(TEXT.replace(old, new), TABLE)


def test_canonical_text_numbers_values_and_sorts_attributes() -> None:
    assert canonical_text(KERNEL) == CANONICAL


def test_hash_is_the_same_in_every_process_and_version() -> None:
    assert code_hash(KERNEL) == ("849654ae41464776df9facbe35bb2333e381d65e70f70d847199746a05950f83")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%s", "%total"),
        ("%a", "%0"),
        ("leaf=0, guard=true", "guard=true, leaf=0"),
        ('width=8, mode="fast"', 'mode="fast", width=8'),
        ("%u: f32 = fadd", "%u: f32 =   fadd"),
    ],
)
def test_names_order_of_attributes_and_layout_do_not_count(old: str, new: str) -> None:
    assert equal(changed(old, new), KERNEL)
    assert code_hash(changed(old, new)) == code_hash(KERNEL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@k", "@j"),
        ("<1>", "<2>"),
        ("width=8", "width=4"),
        ("{x: f32}", "{y: f32}"),
        ("0x1p+0", "0x1.000002p+0"),
        ("fadd %x, %t", "fadd %t, %x"),
        ("fadd", "fmul"),
        ("tid", "launch_dim"),
        ("id=3", "id=4"),
        (" %n: i32", " %n: i64"),
        (", %n, %n, %one", ", %n, %i, %one"),
    ],
)
def test_everything_else_counts(old: str, new: str) -> None:
    assert not equal(changed(old, new), KERNEL)
    assert code_hash(changed(old, new)) != code_hash(KERNEL)


@pytest.mark.parametrize(
    ("a", "b"),
    [("0x0p+0", "-0x0p+0"), ("1", "true"), ("1", "0x1p+0"), ("1", '"1"'), ("1", "(1)")],
)
def test_attributes_that_python_calls_equal_differ(a: str, b: str) -> None:
    text = "kernel @k<0>() {{\n  assume [value={}]\n  return\n}}\n"
    assert not equal(*(parse(text.format(value), TABLE) for value in (a, b)))


def test_nan_is_itself() -> None:
    text = "kernel @k<0>() {\n  %x: f32 = const [value=nan]\n  return\n}\n"
    assert equal(parse(text, TABLE), parse(text, TABLE))


@given(kernels(spans=True))
def test_spans_and_names_belong_to_the_source_map_only(kernel: Kernel) -> None:
    bare = parse(to_text(replace(kernel, names=MappingProxyType({}))), TABLE)
    assert code_hash(bare) == code_hash(kernel)
    assert equal(bare, kernel)
    again = parse(to_text(kernel, spans=True), TABLE)
    assert span_hash(again) == span_hash(kernel)


def test_span_hash_sees_spans_and_names() -> None:
    body = Region((), (Op("return", (), (), span=Span("k.py", 1, 2, 3, 4)),))
    kernel = Kernel("k", KERNEL.params, body)
    moved = replace(kernel, body=Region((), (Op("return", (), (), span=Span("k.py", 1, 2, 3, 5)),)))
    named = replace(kernel, names=MappingProxyType({KERNEL.params[0]: "a"}))
    assert len({span_hash(kernel), span_hash(moved), span_hash(named)}) == 3
    assert len({code_hash(kernel), code_hash(moved), code_hash(named)}) == 1
