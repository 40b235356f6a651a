"""Inlining: the body of a function in place of its call, and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType

from heald.frontend.operands import (
    Binding,
    Entry,
    Operand,
    Refused,
    Retype,
    Several,
    Static,
    Target,
)
from heald.frontend.returns import as_declared
from heald.frontend.scan import is_docstring, returns_of
from heald.frontend.session import Frame, Session
from heald.frontend.sources import read_source
from heald.ir import Value

_MAX_DEPTH = 64
_MAX_CHAIN = 6


def inline(
    s: Session, node: ast.AST, function: FunctionType, operands: Mapping[str, Operand]
) -> Operand:
    """The body of ``function`` in place of the call; a ``scope`` only where returns come early."""
    key = (function, *(_identity(o) for o in operands.values()))
    if key in s.inlining or len(s.inlining) >= _MAX_DEPTH:
        chain = [f[0].__name__ for f in [*s.inlining, key]]
        recursive = any(function is f[0] for f in s.inlining)
        raise s.refuse(
            node,
            "H0103",
            f"'{function.__name__}' calls itself; kernels cannot recurse"
            if recursive
            else f"calls are nested deeper than {_MAX_DEPTH}",
            " -> ".join(chain[-_MAX_CHAIN:]),
            hint="rewrite it as a loop" if recursive else "call some functions one after another",
        )
    source = read_source(function)
    call_span = None if node is s.frame.source.tree else s.span(node)  # None: called by the host
    caller, span = s.frame, s.builder.span
    s.inlining.append(key)
    try:
        body = [x for x in source.tree.body if not is_docstring(x)]
        env: dict[str, Entry] = {n: Binding(o, call_span) for n, o in operands.items()}
        s.frame = Frame(source, call_span, env, [Target("scope")])
        for name, operand in operands.items():
            if isinstance(operand, Value):
                s.names.setdefault(operand, name)
        returns = list(returns_of(body))
        if not returns:
            s.block(body)
            return as_declared(s, source.name_span(call_span), Static(None))
        if len(returns) == 1 and returns[0] is body[-1]:
            s.block(body[:-1])
            value = returns[0].value
            given = Static(None) if value is None else s.expression(value)
            return as_declared(s, returns[0], given)
        return _scoped(s, node, function, body, env)
    finally:
        s.inlining.pop()
        s.frame, s.builder.span = caller, span


def _identity(operand: Operand) -> object:
    return operand.type if isinstance(operand, Value) else operand


def _scoped(
    s: Session,
    node: ast.AST,
    function: FunctionType,
    body: Sequence[ast.stmt],
    env: dict[str, Entry],
) -> Operand:
    """A function with early returns; return types climb until all returns agree."""
    target, mark = s.frame.targets[0], s.builder.mark()
    mistakes = s.mistakes()
    while True:
        s.frame.env, s.frame.targets = dict(env), [target]
        s.builder.open()
        try:
            if s.block(body):
                if target.types:
                    raise s.refuse(
                        s.frame.source.name_span(s.frame.call),
                        "H0110",
                        f"some path of '{function.__name__}' returns nothing",
                        "control reaches the end of this function",
                        hint="add a return at the end",
                    )
                s.builder.emit("return")
            break
        except Retype as retype:
            if retype.target is not target:
                raise
            target.types = retype.types
            s.forget(mistakes)  # said of types that were too narrow
            s.builder.rollback(mark)
    if s.failures > mistakes[0]:
        raise Refused(None)  # what it returns is not known
    region = s.builder.close()
    results = s.builder.emit("scope", (), target.types or (), (region,))
    if target.returns == -1 and results:
        return results[0]
    return Several(results) if results else Static(None)
