"""Syntactic questions asked before lowering."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator


def assigned_names(
    parts: Iterable[ast.AST],
    updated: Callable[[ast.Call], Iterable[str]] = lambda call: (),
    is_memory: Callable[[ast.expr], bool] = lambda target: False,
) -> tuple[str, ...]:
    """Names bound by these statements or expressions, in order of first appearance.

    ``v.x = e`` and ``v[i] = e`` rebind ``v`` where ``v`` is a value; ``is_memory`` says of such a
    target that it is an array element instead.
    ``updated`` gives the names that a call rebinds, such as ``state`` in ``wp.randf(state)``.
    """
    found: dict[str, None] = {}
    for part in parts:
        for node in ast.walk(part):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    found[name] = None
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    root = root_name(node)
                    if root is not None and not is_memory(node):
                        found[root] = None
                case ast.Call():
                    found.update(dict.fromkeys(updated(node)))
    return tuple(found)


def root_name(node: ast.expr) -> str | None:
    """``v`` of ``v.x[0].y``, or None."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def returns_of(statements: Iterable[ast.stmt]) -> Iterator[ast.Return]:
    """Every ``return`` of a function body, without those of functions defined inside."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            yield statement
        for field in ("body", "orelse", "handlers", "finalbody"):
            inner = getattr(statement, field, None)
            if inner and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                yield from returns_of(inner)


def has_break(statements: Iterable[ast.stmt]) -> bool:
    """Does a ``break`` in the body of a loop leave it?"""
    for statement in statements:
        if isinstance(statement, ast.Break):
            return True
        is_loop = isinstance(statement, (ast.For, ast.While))
        for field in ("orelse",) if is_loop else ("body", "orelse", "handlers", "finalbody"):
            if has_break(getattr(statement, field, ())):
                return True
    return False


def is_docstring(statement: ast.stmt) -> bool:
    """A bare constant expression: a docstring or ``...``."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_product(node: ast.expr) -> bool:
    """Is the expression *written* as a product?  This alone decides contraction."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
