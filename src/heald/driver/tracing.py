"""``HEALD_DEBUG=1``: the syntax tree's summary and the WIR after each pass, on standard error."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING

from heald.config import config
from heald.driver.cache_captures import describe_kernel
from heald.frontend import captured_tables, read_source

if TYPE_CHECKING:
    from heald.ir import Kernel


def trace() -> Callable[[str, Kernel], None] | None:
    """What a pipeline calls after each pass; None unless debugging is on."""
    return _show if config.debug else None


def _show(name: str, kernel: Kernel) -> None:
    text = import_module("heald.ir").to_text(kernel)
    sys.stderr.write(f"; {kernel.name} after {name}\n{text}\n")


def report_changes(function: FunctionType, before: object) -> object:
    """What a kernel reads, described as it is now; says so where it is no longer as ``before``.

    Compiled code keeps the values that were captured when it was compiled.
    """
    # A description says what type and shape a table has, not which one it is.
    now = describe_kernel(function), captured_tables(function).named
    if before is not None and now != before:
        name = function.__name__
        sys.stderr.write(
            f"; what kernel '{name}' captures has changed since it was compiled; the compiled code "
            f"keeps the old values until {name}.invalidate() is called\n"
        )
    return now


def show_source(function: FunctionType) -> None:
    """The summary of a kernel's syntax tree, where debugging is on."""
    if config.debug:
        source = read_source(function)
        sys.stderr.write(f"; {function.__name__} in {source.file}\n{summarise(source.tree)}\n\n")


def summarise(tree: ast.FunctionDef) -> str:
    """One line a statement: line number, kind, and what it says."""
    lines: list[str] = []

    def visit(statements: list[ast.stmt], depth: int) -> None:
        for statement in statements:
            head = ast.unparse(statement).split("\n", 1)[0]
            kind = type(statement).__name__
            lines.append(f";{statement.lineno:5} {'  ' * depth}{kind}: {head}")
            for field in ("body", "orelse"):
                visit(getattr(statement, field, []), depth + 1)

    visit(tree.body, 0)
    return "\n".join(lines)
