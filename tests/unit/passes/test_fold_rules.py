"""Every identity on every value of small types, and on edges and random values of large ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from unit.passes.launches import observe

from heald.ir import Builder, Kernel, Op, Value, to_text
from heald.ops import TABLE
from heald.passes import fold_constants
from heald.passes.fold_rules import RULES
from heald.passes.patterns import (
    CONSTANT,
    Literal,
    Node,
    Pattern,
    Rule,
    RuleSet,
    Variable,
    parse_pattern,
    rule,
    to_source,
)
from heald.types import SCALARS, Scalar, b1, bf16, f16, f32, i8, i16, u8
from heald.types.descriptors import to_bfloat16

_CONVERSIONS = frozenset(
    {"trunc", "sext", "zext", "bitcast", "fptrunc", "fpext", "sitofp", "uitofp"}
)
_SMALL = (b1, i8, u8, i16, f16, bf16, f32)
_LIMIT = 1 << 16
IDS = [str(r) for r in RULES]

Typed = tuple[Scalar, tuple["Typed", ...]]
"""The type of a node of a pattern, and those of its operands."""


def variables(pattern: Pattern) -> list[str]:
    match pattern:
        case Variable():
            return [pattern.name]
        case Node():
            names = [n for p in pattern.operands for n in variables(p)]
            return list(dict.fromkeys(names))
        case _:
            return []


def typings(pattern: Pattern, types: Mapping[str, Scalar]) -> Iterator[Typed]:
    """Every way to type a pattern whose variables have ``types``."""
    match pattern:
        case Variable():
            yield types[pattern.name], ()
        case Literal():
            yield from ((t, ()) for t in SCALARS if pattern.number(t) is not None)
        case Node():
            inner = [list(typings(p, types)) for p in pattern.operands]
            for operands in itertools.product(*inner):
                for t in result_types(pattern, tuple(o[0] for o in operands)):
                    yield t, operands


@cache
def result_types(node: Node, operands: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    declared = SCALARS if node.name in _CONVERSIONS else (None,)
    found = []
    for t in declared:
        results = () if t is None else (Value(t),)
        answer = TABLE[node.name].type_rule(probe(node, operands, results))
        if not isinstance(answer, str):
            found += answer
    return tuple(found)


def probe(node: Node, operands: tuple[Scalar, ...], results: tuple[Value, ...]) -> Op:
    return Op(node.name, tuple(map(Value, operands)), results, MappingProxyType(node.attrs))


def applications(r: Rule) -> Iterator[tuple[dict[str, Scalar], Typed, Typed]]:
    """Types of the variables of a rule, of its left side, and of its right side, where they fit."""
    names = variables(r.before)
    pool = SCALARS if len(names) == 1 else _SMALL
    for row in itertools.product(pool, repeat=len(names)):
        types = dict(zip(names, row, strict=True))
        for before in typings(r.before, types):
            for after in typings(r.after, types):
                if after[0] is before[0] and literals_fit(r.after, after, before[0]):
                    yield types, before, after


def literals_fit(pattern: Pattern, typed: Typed, root: Scalar) -> bool:
    """Is every literal of the type of the values beside it, as the pass makes them?"""
    match pattern:
        case Literal():
            return typed[0] is root
        case Node():
            beside = [
                t[0]
                for p, t in zip(pattern.operands, typed[1], strict=True)
                if isinstance(p, Variable)
            ]
            wanted = beside[0] if beside else root
            return all(
                literals_fit(p, t, wanted) for p, t in zip(pattern.operands, typed[1], strict=True)
            )
        case _:
            return True


def value_of(pattern: Pattern, typed: Typed, given: Mapping[str, Any]) -> Any:
    t, inner = typed
    match pattern:
        case Variable():
            return given[pattern.name]
        case Literal():
            number = pattern.number(t)
            assert number is not None
            return to_bfloat16(number) if t is bf16 else t.carrier.type(number)
        case Node():
            operands = [value_of(p, x, given) for p, x in zip(pattern.operands, inner, strict=True)]
            op = probe(pattern, tuple(x[0] for x in inner), (Value(t),))
            return TABLE[pattern.name].evaluate(op, *np.broadcast_arrays(*operands))


@cache
def every_value(t: Scalar) -> Any:
    """All values of a type of up to 16 bits; of others edges and random ones."""
    if t is b1:
        return np.array([False, True])
    bits = np.dtype(f"u{t.bits // 8}")
    if t.bits <= 16:
        return np.arange(1 << t.bits).astype(bits).view(t.carrier)
    random = np.random.default_rng(1)
    found = random.integers(0, 1 << 63, 3000, dtype=np.uint64).astype(bits)
    top = np.array(1 << (t.bits - 1), np.uint64)
    edges = np.array([0, 1, 2, 5], np.uint64)
    edges = np.concatenate([edges, top + edges, top - edges[1:], np.uint64(0) - edges])
    found = np.concatenate([found, edges.astype(bits), found % bits.type(100)]).view(t.carrier)
    if t.is_float:
        special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-44], t.carrier)
        found = np.concatenate([found, special])
    return found


def assignments(types: Mapping[str, Scalar]) -> dict[str, Any]:
    """Values for all variables: every combination, or very many."""
    columns = {name: every_value(t) for name, t in types.items()}
    total = np.prod([len(c) for c in columns.values()])
    if total <= _LIMIT:
        grids = np.meshgrid(*columns.values(), indexing="ij")
        return {name: grid.ravel() for name, grid in zip(columns, grids, strict=True)}
    random = np.random.default_rng(2)
    special = {name: interesting(types[name]) for name in columns}
    rows = {name: random.choice(c, _LIMIT) for name, c in columns.items()}
    corner = random.random(_LIMIT) < 0.5
    return {
        name: np.where(corner, random.choice(special[name], _LIMIT), rows[name]) for name in columns
    }


def interesting(t: Scalar) -> Any:
    if t is bf16:
        return to_bfloat16(interesting(f32))
    if t.is_float:
        return np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5], t.carrier)
    if t is b1:
        return np.array([False, True])
    return np.array([0, 1, 2, t.lowest, t.highest, t.highest - 1], t.carrier)


def canonical(t: Scalar, x: Any) -> Any:
    """Bits, with one NaN."""
    x = np.asarray(x)
    if t is bf16:
        return np.where((x & 0x7FFF) > 0x7F80, 0x7FC0, x)
    if t.is_float:
        bits = np.ascontiguousarray(x).view(np.dtype(f"u{t.bits // 8}"))
        return np.where(np.isnan(x), bits.dtype.type(1), bits)
    return x


@pytest.mark.parametrize("r", RULES, ids=IDS)
def test_every_rule_holds_for_every_value(r: Rule) -> None:
    tried = 0
    for types, before, after in applications(r):
        given = assignments(types)
        admitted = np.ones(len(next(iter(given.values()))), bool)
        if "p" in types:
            admitted = np.array([Variable("p").admits(int(x), types["p"]) for x in given["p"]])
        given = {name: x[admitted] for name, x in given.items()}
        t = before[0]
        expected = canonical(t, value_of(r.before, before, given))
        found = np.broadcast_to(canonical(t, value_of(r.after, after, given)), expected.shape)
        wrong = np.flatnonzero(expected != found)
        assert not len(wrong), (str(r), types, {n: x[wrong[:3]] for n, x in given.items()})
        tried += 1
    assert tried


def build(b: Builder, pattern: Pattern, typed: Typed, made: dict[str, Value]) -> Value:
    t, inner = typed
    match pattern:
        case Variable():
            if pattern.constant and pattern.name not in made:
                made[pattern.name] = b.const(t, 3 if pattern.name != "d" else 5)
            return made[pattern.name]
        case Literal():
            number = pattern.number(t)
            assert number is not None
            return b.const(t, number)
        case Node():
            operands = [build(b, p, x, made) for p, x in zip(pattern.operands, inner, strict=True)]
            return b.emit(pattern.name, operands, (t,), **pattern.attrs)[0]


def kernel_of_rule(r: Rule, types: Mapping[str, Scalar], before: Typed) -> Kernel:
    b = Builder(TABLE)
    free = [n for n in types if not Variable(n).constant]
    made = {n: Value(types[n]) for n in free}
    params = tuple(made.values())
    b.open()
    result = build(b, r.before, before, made)
    b.emit("return", (result,))
    return Kernel("k", params, b.close(), (before[0],))


@pytest.mark.parametrize("r", RULES, ids=IDS)
def test_every_rule_is_used(r: Rule) -> None:
    for types, before, _ in applications(r):
        if any(types[n].is_float or types[n] is b1 for n in types if Variable(n).constant):
            continue
        kernel = kernel_of_rule(r, types, before)
        after = fold_constants(kernel)
        arguments = [v.type.carrier.type(1) for v in kernel.params]
        assert observe(after, (1,), arguments) == observe(kernel, (1,), arguments)
        if to_text(after) != to_text(kernel):
            return
    pytest.fail(f"{r} never fired")


@pytest.mark.parametrize(
    "wrong",
    [
        rule("fadd x 0.0", "x"),
        rule("fsub 0.0 x", "fneg x"),
        rule("fsub x -0.0", "x"),
        rule("fmul x 0.0", "0.0"),
        rule("fsub x x", "0.0"),
        rule("fcmp.oeq x x", "ONES"),
        rule("fcmp.une x x", "0"),
        rule("fmin x y", "fmin y x"),
        rule("inot (fcmp.olt x y)", "fcmp.oge x y"),
        rule("ashr x 1", "idiv x 2"),
        rule("smax x 0", "x"),
        rule("icmp.slt (iadd x 1) x", "0"),
    ],
    ids=str,
)
def test_a_wrong_rule_is_caught(wrong: Rule) -> None:
    assert not any(to_source(r.before) == to_source(wrong.before) for r in RULES)
    with pytest.raises(AssertionError):
        test_every_rule_holds_for_every_value(wrong)


def test_no_rule_makes_or_takes_an_fma() -> None:
    for r in RULES:
        assert "(fma " not in f"{to_source(r.before)} {to_source(r.after)}"


def test_no_rule_removes_a_division_that_may_fault() -> None:
    for r in RULES:
        for name in ("idiv", "irem", "udiv", "urem"):
            if r.before.name == name:
                divisor = r.before.operands[1]
                assert isinstance(divisor, Literal)
                assert divisor.text != "0"
            inner = [p for p in r.before.operands if isinstance(p, Node)]
            assert all(p.name != name for p in inner)


def test_patterns_print_and_parse() -> None:
    text = "(isub (iadd x y) y)"
    assert to_source(parse_pattern(text)) == text
    assert parse_pattern("x") == Variable("x")
    assert parse_pattern("icmp.slt x -1") == Node("icmp.slt", (Variable("x"), Literal("-1")))


def test_a_literal_has_the_type_of_its_place() -> None:
    assert Literal("ONES").number(u8) == 255
    assert Literal("ONES").number(i8) == -1
    assert Literal("ONES").number(b1) is True
    assert Literal("0").number(f32) is None
    assert str(Literal("-0.0").number(f32)) == "-0.0"
    assert Literal("-0.0").number(i8) is None


def test_candidates_are_those_whose_operands_fit() -> None:
    plain, constant, nested = (
        rule("iadd x y", "x"),
        rule("iadd x 0", "x"),
        rule("iadd (ineg x) y", "y"),
    )
    rules = RuleSet((plain, constant, nested))
    assert rules.candidates("iadd", ("", "")) == (plain,)
    assert rules.candidates("iadd", ("", CONSTANT)) == (plain, constant)
    assert rules.candidates("iadd", ("ineg", "")) == (plain, nested)
    assert rules.candidates("isub", ("", "")) == ()
