"""Locals of a kernel that are read where some path has not set them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_Set = frozenset[str]
_EVERYTHING: None = None  # what holds after a statement that is never passed


def unset_reads(function: ast.FunctionDef) -> Iterator[ast.Name]:
    """The first read of each local that may be unset, in order.

    As in Heald, what a loop sets counts as unset after it, and a branch that leaves the function or
    the loop does not count.
    """
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    parameters = frozenset(a.arg for a in every)
    stored = {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    walk = _Walk(frozenset(stored) - parameters)
    walk.block(function.body, frozenset())
    yield from walk.found.values()


class _Walk:
    def __init__(self, locals_: _Set) -> None:
        self.locals = locals_
        self.found: dict[str, ast.Name] = {}

    def block(self, statements: Sequence[ast.stmt], known: _Set | None) -> _Set | None:
        """What is set after statements, from what is set before; None where nothing comes after."""
        for statement in statements:
            if known is _EVERYTHING:
                return _EVERYTHING
            known = self.statement(statement, known)
        return known

    def statement(self, statement: ast.stmt, known: _Set) -> _Set | None:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                self.reads(test, known)
                then, other = self.block(body, known), self.block(orelse, known)
                if _is_static(test):  # one of them is compiled, and which is not known here
                    return (then or frozenset()) | (other or frozenset()) | known
                return _meet(then, other)
            case ast.While(test=test, body=body, orelse=orelse):
                self.reads(test, known)
                self.block(body, known)
                self.block(orelse, known)
                return known
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                self.reads(iterated, known)
                inside = self.block(body, known | _stored(target))
                self.block(orelse, known)
                if _is_static(iterated):
                    return known | (inside or frozenset()) | _stored(target)
                return known | _stored(target) if _runs(iterated) else known
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
                self.reads(statement, known)
                return _EVERYTHING
            case ast.AugAssign(target=target):
                self.reads(statement.value, known)
                if isinstance(target, ast.Name):
                    self.read(target, known)
                else:
                    self.reads(target, known)
                return known
            case _:
                self.reads(statement, known)
                return known | _stored(statement)

    def reads(self, node: ast.AST, known: _Set) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                self.read(inner, known)

    def read(self, name: ast.Name, known: _Set) -> None:
        if name.id in self.locals and name.id not in known:
            self.found.setdefault(name.id, name)


def _meet(a: _Set | None, b: _Set | None) -> _Set | None:
    if a is None or b is None:
        return b if a is None else a
    return a & b


def _stored(node: ast.AST) -> _Set:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))


def _is_static(node: ast.expr) -> bool:
    """Is it ``wp.static(...)``, or a constant?"""
    match node:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="static") | ast.Name(id="static")):
            return True
    return False


def _runs(node: ast.expr) -> bool:
    """Is it a ``range`` that is written out and not empty, so that its variable is set after it?"""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            try:
                return bool(range(*map(ast.literal_eval, arguments)))
            except (ValueError, TypeError):
                return False
    return False
