"""What the body of a kernel or function computes in another way than under Warp."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from heald.cli.migration.kinds import Kinds, Module, Number, Resolve, annotated
from heald.cli.migration.unset import unset_reads
from heald.library.registry import lookup

_NUMBERS = (Number.INT, Number.FLOAT)
# Builtins that return what Warp's also write into arguments: the arguments that they take.
_RESULTS = {"svd2": 1, "svd3": 1, "qr3": 1, "eig3": 1, "quat_to_axis_angle": 1}
_SPATIAL = {"spatial_vector", "spatial_matrix"}
_CONSTRUCTORS = {"types.vector", "types.matrix", "types.quaternion", "types.transformation"}

Hit = tuple[str, ast.AST, str]
"""Key of the construct, where, and what is there."""


@dataclass(frozen=True, slots=True)
class Body:
    """A function with ``@wp.kernel`` or ``@wp.func``, and how names of Warp's are recognised."""

    function: ast.FunctionDef
    resolve: Resolve

    @property
    def rank(self) -> int:
        """How many thread indices it reads; 0 where that is not plain."""
        ranks = set()
        for node in ast.walk(self.function):
            if not isinstance(node, ast.Assign) or not self._is_tid(node.value):
                continue
            for target in node.targets:
                ranks.add(len(target.elts) if isinstance(target, ast.Tuple) else 1)
        calls = [n for n in ast.walk(self.function) if self._is_tid(n)]
        return max(ranks) if ranks and len(calls) == 1 else 0

    def _is_tid(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self.resolve(node.func) == "tid"


def body_hits(body: Body, holders: set[str], module: Module) -> Iterator[Hit]:
    """What is to be looked at in a body; ``holders`` are structs that hold arrays."""
    kinds = Kinds(body.function, body.resolve, module)
    for name in unset_reads(body.function):
        yield "unset-variable", name, f"'{name.id}' is not set on every path"
    compared = _compared(body.function)
    asked = _asked(body.function)
    for test in asked.values():
        if isinstance(test, ast.Name) and kinds.of(test).number is Number.ARRAY:
            yield "array-truth", test, f"the truth of array '{test.id}'"
    for statement in body.function.body:
        for node in ast.walk(statement):
            match node:
                case ast.BinOp(left=left, op=operator, right=right):
                    yield from _arithmetic(node, left, operator, right, kinds)
                case ast.AugAssign(target=target, op=operator, value=value):
                    yield from _arithmetic(node, target, operator, value, kinds)
                case ast.Subscript(slice=index):
                    yield from _index(index, kinds, compared)
                case ast.BoolOp(values=values) if id(node) not in asked:
                    if any(kinds.of(v).number in _NUMBERS for v in values):
                        yield "bool-operator", node, ast.unparse(node)
                case ast.For(iter=ast.Call(func=ast.Name(id="reversed")) as iterated):
                    yield "reversed", iterated, ast.unparse(iterated)
                case ast.For(target=ast.Name(id=k), iter=ast.Call(func=ast.Name(id="range"))):
                    yield from _unrolled(node, k, body.resolve)
                case ast.Call(func=ast.Name(id="round")) if body.resolve(node.func) is None:
                    yield "python-round", node, ast.unparse(node)
                case ast.Call(func=ast.Name(id=struct), args=[], keywords=[]) if struct in holders:
                    yield "struct-default", node, ast.unparse(node)
                case ast.Call():
                    yield from _call(node, body.resolve, kinds)


def _arithmetic(
    node: ast.AST, left: ast.expr, operator: ast.operator, right: ast.expr, kinds: Kinds
) -> Iterator[Hit]:
    a, b = kinds.of(left), kinds.of(right)
    if isinstance(operator, ast.Div) and a.number is b.number is Number.INT:
        yield "int-division", node, ast.unparse(node)
    if not isinstance(operator, ast.Mod) or a.number not in (*_NUMBERS, Number.OTHER):
        return
    if a.is_negative_possible or _is_written_negative(right):
        yield "remainder", node, ast.unparse(node)


def _is_written_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _index(index: ast.expr, kinds: Kinds, compared: set[str]) -> Iterator[Hit]:
    for one in index.elts if isinstance(index, ast.Tuple) else [index]:
        match one:
            case ast.Slice(step=ast.expr() as step) if not _is_literal(step):
                yield "slice-step", one, f"the slice [{ast.unparse(one)}]"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                pass  # a literal counts from the end
            case ast.UnaryOp(op=ast.USub()):
                yield "negative-index", one, f"index {ast.unparse(one)}"
            case ast.BinOp(left=ast.Name(id=name), op=ast.Sub(), right=ast.Constant()):
                if name not in compared and kinds.of(one).number is Number.INT:
                    yield "negative-index", one, f"index {ast.unparse(one)}, '{name}' is not tested"
            case ast.Name(id=name):
                is_lowered = name not in compared and kinds.lowered.get(name, set()) - compared
                may_be = name in kinds.written_negative or is_lowered
                if may_be and kinds.of(one).number is Number.INT:
                    yield "negative-index", one, f"index '{name}', which may be negative"


def _compared(function: ast.FunctionDef) -> set[str]:
    """Names that some comparison, ``min``, ``max`` or ``clamp`` of the function looks at."""
    found: set[str] = set()
    for node in ast.walk(function):
        is_bound = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {
            "min",
            "max",
            "clamp",
        }
        if isinstance(node, ast.Compare) or is_bound:
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found


def _asked(function: ast.FunctionDef) -> dict[int, ast.expr]:
    """The expressions that are asked whether they are true, by identity: conditions, and what they
    join by `and`, `or` and `not`."""
    found: dict[int, ast.expr] = {}

    def ask(node: ast.expr) -> None:
        found[id(node)] = node
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                ask(value)

    for node in ast.walk(function):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                ask(test)
            case ast.Assert(test=test) | ast.UnaryOp(op=ast.Not(), operand=test):
                ask(test)
    return found


def _call(node: ast.Call, resolve: Resolve, kinds: Kinds) -> Iterator[Hit]:
    name = resolve(node.func)
    if any(isinstance(a, ast.Starred) and not isinstance(a.value, ast.Tuple) for a in node.args):
        yield "spread", node, ast.unparse(node)
    if name in _RESULTS and len(node.args) > _RESULTS[name]:
        yield "results-as-arguments", node, f"wp.{name} with {len(node.args)} arguments"
    if node.args and isinstance(node.args[0], ast.Subscript | ast.Attribute) and _is_random(name):
        yield "random-state", node, ast.unparse(node)
    if name in _CONSTRUCTORS:
        yield "types-constructor", node, ast.unparse(node)
    if name == "array" and any(k.arg == "ptr" for k in node.keywords):
        yield "kernel-array", node, "wp.array in a kernel"
    if name in {"where", "select"} and node.args:
        condition = node.args[0 if name == "where" else -1]
        if kinds.of(condition).number is Number.ARRAY:
            yield "array-truth", node, f"the truth of array '{ast.unparse(condition)}'"


def _is_random(name: str | None) -> bool:
    """Does it move its first argument, a state, on?"""
    builtin = lookup(name) if name else None
    return builtin is not None and builtin.group == "Random" and bool(builtin.updates)


def _unrolled(loop: ast.For, variable: str, resolve: Resolve) -> Iterator[Hit]:
    """Where the body of a plain loop needs its variable while compiling."""
    for statement in loop.body:
        for node in ast.walk(statement):
            match node:
                case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Name(id=axis)):
                    if axis == variable:
                        yield "unrolled-loop", node, ast.unparse(node)
                case ast.Call(args=arguments) if resolve(node.func) == "static":
                    read = {n.id for a in arguments for n in ast.walk(a) if isinstance(n, ast.Name)}
                    if variable in read:
                        what = f"wp.static of the loop variable '{variable}'"
                        yield "unrolled-loop", node, what


def _is_literal(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant)


def spatial_hits(node: ast.Call, name: str) -> Iterator[Hit]:
    """Spatial types that are made of another type than float32; in kernels and on the host."""
    if name in _SPATIAL and any(k.arg == "dtype" for k in node.keywords):
        yield "spatial-dtype", node, f"wp.{name} with dtype="


def array_structs(structs: dict[str, ast.ClassDef], resolve: Resolve) -> set[str]:
    """The structs of a file that hold an array, or a struct that does."""
    holders: set[str] = set()
    while True:
        found = {
            name
            for name, definition in structs.items()
            for field in definition.body
            if isinstance(field, ast.AnnAssign)
            and (
                annotated(field.annotation, resolve).number is Number.ARRAY
                or (isinstance(field.annotation, ast.Name) and field.annotation.id in holders)
            )
        }
        if found == holders:
            return holders
        holders = found
