"""Where the members of a struct stand in its source, for errors."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import FrameType

from heald.diagnostics import Span


def member_spans(cls: type, frame: FrameType | None) -> dict[str, Span]:
    """The span of what follows the name of each member: its annotation, or its value where it has
    none.

    Empty where the source cannot be had.  ``frame`` is the one whose line applied the decorator.
    """
    if frame is None:
        return {}
    file = frame.f_code.co_filename
    lines = linecache.getlines(file, frame.f_globals)
    if not lines:
        return {}
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return {}  # the file changed on disk since it was imported
    found = _find_class(tree, cls, frame.f_lineno)
    if found is None:
        return {}
    spans = {}
    for statement in found.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=place):
                spans[name] = _span(file, lines, place)
            case ast.Assign(targets=[ast.Name(id=name)], value=place):
                spans[name] = _span(file, lines, place)
    return spans


def _find_class(tree: ast.Module, cls: type, line: int) -> ast.ClassDef | None:
    """The class whose decorators or header stand at ``line``, else the only one of that qualified
    name."""
    path = [part for part in cls.__qualname__.split(".") if part != "<locals>"]
    named = list(_walk(tree, path))
    for node in named:
        first = min((d.lineno for d in node.decorator_list), default=node.lineno)
        if first <= line <= node.lineno:
            return node
    return named[0] if len(named) == 1 else None


def _walk(scope: ast.AST, path: list[str]) -> Iterator[ast.ClassDef]:
    """Every class definition reached through scopes with the names in ``path``."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name != path[0]:
                continue
            if len(path) > 1:
                yield from _walk(node, path[1:])
            elif isinstance(node, ast.ClassDef):
                yield node
        else:
            yield from _walk(node, path)


def _span(file: str, lines: list[str], node: ast.expr) -> Span:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Span(
        file,
        node.lineno,
        _characters(lines[node.lineno - 1], node.col_offset),
        node.end_lineno,
        _characters(lines[node.end_lineno - 1], node.end_col_offset),
    )


def _characters(line: str, byte_offset: int) -> int:
    """The parser counts UTF-8 bytes, spans count characters."""
    return len(line.encode()[:byte_offset].decode())
