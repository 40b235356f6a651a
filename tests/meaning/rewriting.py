"""Kernel source changed so that Python runs it as a kernel: see ``meaning.oracle``."""

from __future__ import annotations

import ast
import re
from typing import Any

from meaning.values import Refusal

_SYMBOLS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def _call(name: str, *args: ast.expr, **named: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name("_h", ast.Load()), name, ast.Load())
    return ast.Call(function, list(args), [ast.keyword(k, v) for k, v in named.items()])


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


class Change(ast.NodeTransformer):
    """One function; see the module."""

    def __init__(self, climbs: dict[str, str]) -> None:
        self.declared: dict[str, ast.expr] = {
            name: ast.parse(f"wp.{t}", mode="eval").body for name, t in climbs.items()
        }

    def visit(self, node: ast.AST) -> Any:
        """Statements that a statement turns into stand on its line."""
        changed = super().visit(node)
        if isinstance(node, ast.stmt):
            for new in changed if isinstance(changed, list) else [changed]:
                ast.copy_location(new, node)
        return changed

    # -- expressions

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = _is_product(node.left), _is_product(node.right)
        if isinstance(node.op, (ast.Add, ast.Sub)) and left != right:
            return self._total(_SYMBOLS[type(node.op)], node.left, node.right)
        return self.generic_visit(node)

    def _total(self, symbol: str, left: ast.expr, right: ast.expr) -> ast.expr:
        if _is_product(left):
            assert isinstance(left, ast.BinOp)
            parts = [self.visit(x) for x in (left.left, left.right, right)]
            return _call("left_product", ast.Constant(symbol), *parts)
        assert isinstance(right, ast.BinOp)
        parts = [self.visit(x) for x in (left, right.left, right.right)]
        return _call("right_product", ast.Constant(symbol), *parts)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        node.values = [_call("truth", self.visit(x)) for x in node.values]
        return _call("bind", node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return _call("bind", node)
        return _call("invert", node.operand) if isinstance(node.op, ast.Invert) else node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(attr="randi" | "randu"), [ast.Name(id=name), *rest]):
                state = ast.Name(name, ast.Load())
                step = ast.NamedExpr(_store(name), _call("hashed", state))
                return _call("second", step, ast.Call(node.func, [state, *rest], []))
        return node

    # -- statements

    def _bound(self, name: str, value: ast.expr) -> ast.expr:
        declared = self.declared.get(name)
        return _call("bind", value) if declared is None else _call("widen", value, declared)

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return ast.Assign([node.targets[0]], self._bound(node.targets[0].id, value))
        out: list[ast.stmt] = [ast.Assign([_store("_v")], value)]
        for target in node.targets:
            out += self._given(target, ast.Name("_v", ast.Load()), "_u")
        return out

    def _given(self, target: ast.expr, value: ast.expr, spare: str) -> list[ast.stmt]:
        """``target = value``, target by target; ``spare`` names hold the items meanwhile."""
        if not isinstance(target, ast.Tuple):
            return [self._assigned(target, value)]
        count = ast.Constant(len(target.elts))
        out: list[ast.stmt] = [ast.Assign([_store(spare)], _call("unpack", value, count))]
        for k, element in enumerate(target.elts):
            item = ast.Subscript(ast.Name(spare, ast.Load()), ast.Constant(k), ast.Load())
            out += self._given(element, item, spare + "_")
        return out

    def _assigned(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        if isinstance(target, ast.Name):
            return ast.Assign([_store(target.id)], self._bound(target.id, value))
        name, steps = self._path(target)
        call = _call("assign", ast.Name(name, ast.Load()), steps, value)
        return ast.Assign([_store(name)], call)

    def _path(self, target: ast.expr) -> tuple[str, ast.expr]:
        steps: list[ast.expr] = []
        while isinstance(target, (ast.Attribute, ast.Subscript)):
            if isinstance(target, ast.Attribute):
                steps.insert(0, ast.Constant(target.attr))
            else:
                steps.insert(0, ast.Tuple([self.visit(target.slice)], ast.Load()))
            target = target.value
        assert isinstance(target, ast.Name)
        return target.id, ast.List(steps, ast.Load())

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        assert isinstance(node.target, ast.Name)
        self.declared[node.target.id] = node.annotation
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], self._bound(node.target.id, self.visit(node.value)))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        symbol = _SYMBOLS[type(node.op)]
        fusible = symbol in "+-" and _is_product(node.value)
        if isinstance(node.target, ast.Name):
            left = ast.Name(node.target.id, ast.Load())
            if fusible:
                value = self._total(symbol, left, node.value)
            else:
                value = ast.BinOp(left, node.op, self.visit(node.value))
            return ast.Assign([_store(left.id)], self._bound(left.id, value))
        name, steps = self._path(node.target)
        if fusible:
            assert isinstance(node.value, ast.BinOp)
            parts = [self.visit(node.value.left), self.visit(node.value.right)]
            right: ast.expr = ast.Tuple(parts, ast.Load())
        else:
            right = self.visit(node.value)
        thunk = ast.Lambda(ast.arguments([], [], None, [], [], None, []), right)
        root = ast.Name(name, ast.Load())
        call = _call("update", root, steps, ast.Constant(symbol), thunk)
        return ast.Assign([_store(name)], call)

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        return ast.Expr(_call("check", self.visit(node.test)))

    # -- loops

    def _leave(self) -> ast.stmt:
        return ast.If(_call("leaves"), [ast.Break()], [])

    def visit_For(self, node: ast.For) -> Any:
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        is_static = isinstance(node.iter.func, ast.Attribute)
        if is_static:
            (inner,) = node.iter.args
            assert isinstance(inner, ast.Call)
            node.iter = _call("static_range", *inner.args)
        self.generic_visit(node)
        declared = self.declared.get(node.target.id)
        if declared is not None:
            raise Refusal("a declared loop variable")
        if not is_static:
            node.body.append(self._leave())
        return node

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        node.body.append(self._leave())
        return node

    def visit_Continue(self, node: ast.Continue) -> Any:
        return [self._leave(), node]


def rewritten(text: str, file: str) -> ast.Module:
    """The module of a source: its functions changed, what is no kernel code left out.

    Every line stays where it is.
    """
    climbs: dict[str, dict[str, str]] = {}
    for f, name, t in re.findall(r"^# climbs (\w+)\.(\w+) (\w+)$", text, re.M):
        climbs.setdefault(f, {})[name] = t
    tree = ast.parse(text, file)
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (
            isinstance(node, ast.FunctionDef) and not node.decorator_list
        ):
            continue
        if isinstance(node, ast.FunctionDef):
            change = Change(climbs.get(node.name, {}))
            inner = [change.visit(x) for x in node.body]
            node.body = [y for x in inner for y in (x if isinstance(x, list) else [x])]
        body.append(node)
    tree.body = body
    return _with_lines(tree)


def _with_lines(tree: ast.Module) -> ast.Module:
    """New nodes get the line of the statement that they came from."""

    def visit(node: ast.AST, line: int) -> None:
        if isinstance(node, (ast.stmt, ast.expr)):
            line = getattr(node, "lineno", line)
            node.lineno, node.col_offset = line, 0
            node.end_lineno, node.end_col_offset = line, 0
        for child in ast.iter_child_nodes(node):
            visit(child, line)

    visit(tree, 1)
    return tree
