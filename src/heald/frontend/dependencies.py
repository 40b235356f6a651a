"""What the text of a function depends on: the names that it captures, found before lowering it.

A kernel's meaning follows from its text, the texts of the functions that it calls, and the values
of the names that these capture.  Whoever knows that none of them changed need not lower it again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

from heald.diagnostics import CompileError
from heald.frontend.signatures import result_patterns
from heald.frontend.sources import (
    Definition,
    declared_parameters,
    declared_result,
    definition_of,
    read_source,
    tree_of,
)
from heald.types import Pattern, as_type

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """What a function says, where, and what it captures.

    Attributes:
        text: its lines, decorators included; of a lambda also where in them it stands.
        file: where they stand.
        line: the first of them, from 1.
        paths: every captured name with the attributes read from it, ``("wp", "vec3")``; the longest
            chains that are written.  More than lowering reads: a branch that is not taken counts.
    """

    text: str
    file: str
    line: int
    paths: tuple[Path, ...]


def outline_of(function: FunctionType) -> Outline | None:
    """The outline of a function; None where its source cannot be had."""
    try:
        read_source(function)
    except CompileError:
        return None
    return _outline(definition_of(function))


@lru_cache(maxsize=256)
def _outline(definition: Definition) -> Outline:
    tree, code = tree_of(definition), definition.code
    assert tree is not None
    first, last = definition.line_range
    local = {*code.co_varnames, *code.co_cellvars}
    paths = sorted({p for s in tree.body for p in _paths(s) if p[0] not in local})
    text = "".join(definition.lines[first - 1 : last])
    if definition.place is not None:
        text += repr((tree.col_offset, definition.place))
    return Outline(text, definition.file, first, tuple(paths))


def _paths(node: ast.AST) -> Iterator[Path]:
    left = [node]  # long sums are deep, and nobody has made room on the stack
    while left:
        node = left.pop()
        path = _path_of(node)
        if path is not None:
            yield path
        else:
            left.extend(ast.iter_child_nodes(node))


def _path_of(node: ast.AST) -> Path | None:
    """``("a", "b", "c")`` of ``a.b.c``, None of anything else."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else None


def is_library_name(value: Any, attribute: str) -> bool:
    """Is an attribute one of Heald's own names, whose meaning follows from the name?"""
    own = getattr(value, "__heald_own__", None) if isinstance(value, ModuleType) else None
    return own is not None and own(attribute)


def signature_of(function: FunctionType) -> tuple[tuple[str, str, Pattern | None, Any], ...] | None:
    """Name, kind, annotated type and default of each parameter, ``inspect.Parameter.empty`` where
    there is none.  None where an annotation cannot be evaluated."""
    declared = declared_parameters(function)
    if any(parameter.problem for parameter in declared):
        return None
    return tuple((p.name, p.kind.name, as_type(p.annotation), p.default) for p in declared)


def results_of(function: FunctionType) -> tuple[Pattern | None, ...] | str | None:
    """The annotated types of what a function gives; why there are none where an annotation cannot
    be evaluated; None where there is no annotation."""
    declared = declared_result(function)
    if declared is not None and declared.problem:
        return declared.problem
    return result_patterns(function)
