"""Expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heald.frontend.arithmetic import binary_expression, compare, negation, unary
from heald.frontend.calls import call
from heald.frontend.captures import read_name
from heald.frontend.conversions import is_plain, join_types, meeting_type, truth, widen
from heald.frontend.operands import (
    Binding,
    Entry,
    Literal,
    Operand,
    Refused,
    Several,
    Static,
    describe,
)
from heald.frontend.places import attribute, subscript
from heald.frontend.session import Session
from heald.ir import Effect, Op, Region, Value, effects_of
from heald.types import Scalar, Type, as_type, b1

_MAX_SPECULATED = 8
_WHY_NOT = {
    ast.ListComp: "write a loop",
    ast.SetComp: "write a loop",
    ast.DictComp: "write a loop",
    ast.GeneratorExp: "write a loop",
    ast.Lambda: "define a function with @wp.func (lambdas are for wp.map)",
    ast.Dict: "use a struct",
    ast.Set: "use a local array",
    ast.List: "use a vector, or wp.zeros(shape=..., dtype=...) for a local array",
    ast.JoinedStr: "print takes the values themselves: print('x =', x)",
    ast.Await: "kernels run on every thread at once; there is nothing to await",
    ast.Yield: "a kernel gives no values; write to an array",
    ast.YieldFrom: "a kernel gives no values; write to an array",
    ast.Starred: "a tuple known at compile time can be spread in a call",
    ast.NamedExpr: "assign in a statement of its own",
    ast.Slice: "slices stand between brackets",
}


def expression(s: Session, node: ast.expr) -> Operand:
    """Lower one expression."""
    match node:
        case ast.Constant():
            return _constant(s, node)
        case ast.Name():
            return read_name(s, node)
        case ast.Attribute():
            return attribute(s, node)
        case ast.Subscript():
            return subscript(s, node)
        case ast.UnaryOp(op=ast.Not()):
            return condition(s, node)
        case ast.UnaryOp():
            return unary(s, node)
        case ast.BinOp():
            return binary_expression(s, node)
        case ast.Compare():
            return _comparison(s, node)
        case ast.BoolOp():
            return _bool_op(s, node, node.values, _plain_bool)
        case ast.IfExp():
            return _conditional(s, node)
        case ast.Call():
            return call(s, node)
        case ast.Tuple():
            return Several(tuple(s.expression(x) for x in node.elts))
    name = type(node).__name__
    raise s.refuse(
        node,
        "H0101",
        f"{_words(name)} is not part of the kernel language",
        hint=_WHY_NOT.get(type(node), ""),
    )


def _words(name: str) -> str:
    spelled = {
        "ListComp": "a list comprehension",
        "SetComp": "a set comprehension",
        "DictComp": "a dict comprehension",
        "GeneratorExp": "a generator expression",
        "JoinedStr": "an f-string",
        "NamedExpr": "':='",
        "Starred": "'*'",
        "YieldFrom": "'yield from'",
    }
    return spelled.get(name, f"'{name.lower()}'")


def _constant(s: Session, node: ast.Constant) -> Operand:
    value = node.value
    if isinstance(value, (bool, int, float)):
        return Literal(value)
    if value is None or isinstance(value, str):
        return Static(value)
    what, instead = {
        bytes: ("a bytes literal", "write the numbers, or pass them in an array of uint8"),
        complex: ("a complex literal", "use a vec2 of the real and the imaginary part"),
    }.get(type(value), ("'...'", "write a `:` for each axis"))
    raise s.refuse(node, "H0101", f"{what} is not part of the kernel language", hint=instead)


# -- choice ----------------------------------------------------------------------------------------


def _conditional(s: Session, node: ast.IfExp) -> Operand:
    test = condition(s, node.test)
    if isinstance(test, Literal):
        return s.expression(node.body if test.value else node.orelse)
    return _choose(s, node, test, lambda: s.number(node.body), lambda: s.number(node.orelse))


def _choose(
    s: Session,
    node: ast.AST,
    test: Value,
    then: Callable[[], Value | Literal],
    other: Callable[[], Value | Literal],
) -> Value:
    """``then if test else other``: a select where both sides are short and harmless, else an if."""
    before = s.frame.env
    sides = [_side(s, before, side) for side in (then, other)]
    s.frame.env = dict(before)
    # Names that a side rebinds, such as ``state`` of ``wp.randf(state)``, are chosen as well.
    names = [n for n in before if any(side.env[n] is not before[n] for side in sides)]
    choices = [[side.operand, *(_bound(s, node, side.env[n]) for n in names)] for side in sides]
    types = [_common(s, node, pair) for pair in zip(*choices, strict=True)]
    arms: list[tuple[list[Op], list[Value]]] = []
    for side, operands in zip(sides, choices, strict=True):
        s.builder.open(side.ops)
        values = [widen(s, node, x, t) for x, t in zip(operands, types, strict=True)]
        arms.append((s.builder.pop(), values))
    if all(_is_harmless(s, ops) for ops, _ in arms):
        for ops, _ in arms:
            s.builder.extend(ops)
        results = tuple(_select(s, test, a, b) for a, b in zip(*(v for _, v in arms), strict=True))
    else:
        results = s.builder.emit("if", (test,), types, [_arm(s, *arm) for arm in arms])
    for name, value in zip(names, results[1:], strict=True):
        s.bind(name, value, node)
    return results[0]


@dataclass(frozen=True, slots=True)
class _Side:
    ops: list[Op]
    operand: Value | Literal
    env: dict[str, Entry]


def _side(s: Session, env: dict[str, Entry], lower: Callable[[], Value | Literal]) -> _Side:
    s.frame.env = dict(env)
    s.builder.open()
    try:
        operand = lower()
    finally:
        ops = s.builder.pop()
    return _Side(ops, operand, s.frame.env)


def _bound(s: Session, node: ast.AST, entry: Entry) -> Value | Literal:
    assert isinstance(entry, Binding)
    return s.as_number(node, entry.operand)


def _select(s: Session, test: Value, a: Value, b: Value) -> Value:
    pairs = zip(s.builder.parts(a), s.builder.parts(b), strict=True)
    return s.builder.compose(a.type, [s.op("select", test, x, y) for x, y in pairs])


def _arm(s: Session, ops: list[Op], values: list[Value]) -> Region:
    s.builder.open(ops)
    s.builder.emit("yield", values)
    return s.builder.close()


def _common(s: Session, node: ast.AST, operands: Sequence[Value | Literal]) -> Type:
    a, b = operands
    ta, tb = s.type_of(a), s.type_of(b)
    joined: Type | None = meeting_type(a, b, ta, tb) or join_types(ta, tb)
    if joined is None or not is_plain(joined):
        raise s.refuse(
            node,
            "H0204",
            f"the two sides are {describe(a)} and {describe(b)}; they do not merge",
            hint="cast one side"
            if isinstance(ta, Scalar) and isinstance(tb, Scalar)
            else "choose an index instead, or use each in a branch of its own",
        )
    return joined


def _is_harmless(s: Session, ops: Sequence[Op]) -> bool:
    """May these ops run where the source would not run them?  Short, pure, no faults, no loads."""
    count = sum(op.name not in ("const", "compose") for op in ops)
    return count <= _MAX_SPECULATED and all(
        not op.regions and effects_of(op, s.builder.table) is Effect.PURE for op in ops
    )


def condition(s: Session, node: ast.expr) -> Value | Literal:
    """An expression of which only its truth matters, as after ``if``."""
    match node:
        case ast.BoolOp():
            with s.at(node):
                return _bool_op(s, node, node.values, condition)
        case ast.UnaryOp(op=ast.Not()):
            operand = condition(s, node.operand)
            with s.at(node):
                return negation(s, operand)
    return truth(s, node, s.number(node))


def _plain_bool(s: Session, node: ast.expr) -> Value | Literal:
    """An operand of ``and`` or ``or`` whose result is used as a value: Python gives the operand."""
    operand = s.number(node)
    if s.type_of(operand) is not b1:
        raise s.refuse(
            node,
            "H0201",
            f"'and' and 'or' give one of their operands in Python; {describe(operand)} is no bool",
            "used as a value, not as a condition",
            hint="compare it (x != 0), or write `b if a else a`",
        )
    return truth(s, node, operand)


def _bool_op(
    s: Session,
    node: ast.BoolOp,
    values: Sequence[ast.expr],
    lower: Callable[[Session, ast.expr], Value | Literal],
) -> Value | Literal:
    """``and`` and ``or`` with short circuit; the result is a bool."""
    is_and = isinstance(node.op, ast.And)
    first = lower(s, values[0])
    if len(values) == 1:
        return first
    if isinstance(first, Literal):
        return _bool_op(s, node, values[1:], lower) if first.value is is_and else first

    def rest() -> Value | Literal:
        return _bool_op(s, node, values[1:], lower)

    def known() -> Value | Literal:
        return Literal(not is_and)

    return _choose(s, node, first, rest, known) if is_and else _choose(s, node, first, known, rest)


# -- comparison ------------------------------------------------------------------------------------


def _comparison(s: Session, node: ast.Compare) -> Operand:
    """A chain evaluates each operand once and stops at the first comparison that fails."""
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return _identity(s, node)
    return _chain(s, node, (node.left, s.expression(node.left)), 0)


def _chain(s: Session, node: ast.Compare, left: _Placed, k: int) -> Value | Literal:
    right = (node.comparators[k], s.expression(node.comparators[k]))
    test = _one(s, node, node.ops[k], left, right)
    if k + 1 == len(node.ops):
        return test
    if isinstance(test, Literal):
        return _chain(s, node, right, k + 1) if test.value else test
    return _choose(s, node, test, lambda: _chain(s, node, right, k + 1), lambda: s.const(b1, False))


_Placed = tuple[ast.expr, Operand]


def _one(s: Session, node: ast.Compare, op: ast.cmpop, a: _Placed, b: _Placed) -> Value | Literal:
    if isinstance(op, (ast.In, ast.NotIn)):
        raise s.refuse(
            node,
            "H0101",
            "'in' is not part of the kernel language",
            hint="compare with each: x == a or x == b",
        )
    if isinstance(op, (ast.Is, ast.IsNot)):
        raise _chained_is(s, node)
    if isinstance(a[1], Static) or isinstance(b[1], Static):
        equal = _same_object(a[1], b[1])
        if isinstance(op, (ast.Eq, ast.NotEq)) and equal is not None:
            return Literal(equal is isinstance(op, ast.Eq))
    return compare(s, node, op, s.as_number(*a), s.as_number(*b))


def _identity(s: Session, node: ast.Compare) -> Operand:
    if len(node.ops) != 1:
        raise _chained_is(s, node)
    left, right = s.expression(node.left), s.expression(node.comparators[0])
    same = _same_object(left, right)
    if same is None:
        raise s.refuse(
            node,
            "H0101",
            f"'is' compares compile-time objects, not {describe(left)} with {describe(right)}",
            hint="use == for values",
        )
    return Literal(same is isinstance(node.ops[0], ast.Is))


def _chained_is(s: Session, node: ast.Compare) -> Refused:
    return s.refuse(
        node,
        "H0101",
        "'is' in a chain of comparisons is not part of the kernel language",
        hint="write the comparisons one by one, with and between them",
    )


def _same_object(left: Operand, right: Operand) -> bool | None:
    """Are two compile-time objects the same?  ``float`` is float32 here, as in annotations."""
    if isinstance(left, Static) and isinstance(right, Static):
        a, b = as_type(left.object), as_type(right.object)
        if a is not None and b is not None:
            return a is b
        return left.object is right.object or (
            isinstance(left.object, str) and left.object == right.object
        )
    if Static(None) in (left, right):
        return False
    return None
