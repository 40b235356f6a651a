"""Lambdas: found in their file by where their code says it is, and read as functions.

Several lambdas may begin on one line, so the line does not tell them apart; the columns of their
instructions do (PEP 657).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType

LAMBDA = "<lambda>"
"""What Python calls the code of every lambda."""

Place = tuple[int, int, int, int]
"""First line and column (in bytes), last line and column."""


def lambda_key(code: CodeType) -> tuple[object, ...]:
    """What tells a lambda from others that begin on its line: the place of its instructions, or its
    content where they have none.

    Empty where Python keeps no columns (``-X no_debug_ranges``).
    """
    place = _place_of(code)
    if place or all(column is None for *_, column, _ in code.co_positions()):
        return place
    return _content(code)


def _place_of(code: CodeType) -> Place | tuple[()]:
    """The stretch of source that the instructions of a lambda come from: inside its body.

    Python 3.12 has none for those that give a constant.
    """
    known = [
        (line, column, end_line, end_column)
        for line, end_line, column, end_column in code.co_positions()
        if line is not None
        and end_line is not None
        and column is not None
        and end_column is not None
        and (line, column) != (end_line, end_column)  # Python 3.11 has no place for a return
    ]
    if not known:
        return ()
    start, end = min(p[:2] for p in known), max(p[2:] for p in known)
    return (*start, *end)


def find_lambda(lines: Sequence[str], code: CodeType) -> ast.FunctionDef | None:
    """A lambda as a function that returns its expression, with the coordinates of the file.

    None where it cannot be found: the file has changed, or Python keeps no columns.

    Args:
        lines: of the file; hashed as one object (``sources.Lines``).
        code: of the lambda.
    """
    if not lambda_key(code):
        return None
    place = _place_of(code)
    there = _lambdas_of(lines).get(code.co_firstlineno, ())
    found = [node for node in there if _contains(node.body, place) and _fits(node, code)]
    found.sort(key=_start)
    return _as_function(found[-1]) if found else None  # the innermost: it starts last


@lru_cache(maxsize=8)
def _lambdas_of(lines: Sequence[str]) -> Mapping[int, Sequence[ast.Lambda]]:
    """The lambdas of a file by the line on which they begin."""
    found: dict[int, list[ast.Lambda]] = {}
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return found
    for node in ast.walk(module):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def _start(node: ast.Lambda) -> tuple[int, int]:
    return node.body.lineno, node.body.col_offset


def _contains(body: ast.expr, place: Place | tuple[()]) -> bool:
    if not place:
        return True
    line, column, end_line, end_column = place
    end = (body.end_lineno or body.lineno, body.end_col_offset or 0)
    return (body.lineno, body.col_offset) <= (line, column) and (end_line, end_column) <= end


def _fits(node: ast.Lambda, code: CodeType) -> bool:
    """Does this source give the names and constants of the code?"""
    own = node.args
    bare = ast.arguments(
        own.posonlyargs, own.args, own.vararg, own.kwonlyargs, [None] * len(own.kwonlyargs),
        own.kwarg, [],
    )  # fmt: skip
    alone = ast.copy_location(ast.Lambda(bare, node.body), node)
    outer = compile(ast.Expression(alone), LAMBDA, "eval")
    (made,) = (c for c in outer.co_consts if isinstance(c, CodeType))
    return _content(made) == _content(code) and bool(_place_of(made)) == bool(_place_of(code))


def _content(code: CodeType) -> tuple[object, ...]:
    # Alone, the variables of enclosing functions are global names.
    names = frozenset({*code.co_names, *code.co_freevars})
    constants = tuple(repr(c) for c in code.co_consts if not isinstance(c, CodeType))
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return names, frozenset({*code.co_varnames, *code.co_cellvars}), constants, counts


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    made = ast.parse("def f(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    ast.copy_location(made, node)
    made.name = LAMBDA
    made.args = node.args
    made.body = [ast.copy_location(ast.Return(node.body), node.body)]
    return made
