"""The source of Python functions: syntax trees with file coordinates, and the names a function can
see."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from heald.diagnostics import CompileError, Diagnostic, Span

_MISSING = object()


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """One Python function: its syntax tree and its surroundings."""

    function: FunctionType
    tree: ast.FunctionDef
    file: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name after ``def``."""
        return self.function.__name__

    @property
    def local_names(self) -> tuple[str, ...]:
        """Parameters and every name that the function assigns, as Python decides it."""
        code = self.function.__code__
        return (*code.co_varnames, *code.co_cellvars)

    def span(self, node: ast.AST, call: Span | None) -> Span:
        """The stretch of source of ``node``, reached through ``call``."""
        line: int = getattr(node, "lineno", self.tree.lineno)
        end_line: int = getattr(node, "end_lineno", None) or line
        return Span(
            self.file,
            line,
            self._characters(line, getattr(node, "col_offset", 0)),
            end_line,
            self._characters(end_line, getattr(node, "end_col_offset", None) or 0),
            call,
        )

    def _characters(self, line: int, offset: int) -> int:
        """``ast`` counts columns in UTF-8 bytes, people count characters."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def lookup(self, name: str) -> Any:
        """The value of a name that the function captures; ``None`` in a tuple of one when found.

        Returns ``(value,)`` or ``()`` when the name is not defined.
        """
        code = self.function.__code__
        if name in code.co_freevars and self.function.__closure__:
            cell = self.function.__closure__[code.co_freevars.index(name)]
            try:
                return (cell.cell_contents,)
            except ValueError:
                return ()
        for scope in (self.function.__globals__, vars(builtins)):
            value = scope.get(name, _MISSING)
            if value is not _MISSING:
                return (value,)
        return ()

    def visible_names(self) -> list[str]:
        """Every captured or global name, for near-miss hints."""
        return [*self.function.__code__.co_freevars, *self.function.__globals__, *vars(builtins)]

    def namespace(self) -> dict[str, Any]:
        """Globals and closure values as one dictionary, to evaluate annotations and
        ``wp.static``."""
        names = dict(self.function.__globals__)
        for name in self.function.__code__.co_freevars:
            found = self.lookup(name)
            if found:
                names[name] = found[0]
        return names


@lru_cache(maxsize=4096)
def read_source(function: FunctionType) -> FunctionSource:
    """The syntax tree of a function; a file is parsed once for all of its functions.

    Raises:
        CompileError: H0106, the source is not available, is no longer what was compiled, or is a
        lambda.
    """
    code = function.__code__
    file = code.co_filename
    lines = tuple(linecache.getlines(file, function.__globals__))
    if not lines:
        raise _no_source(function, _why_no_source(file))
    functions = _functions_of(lines)
    if functions is None:
        raise _no_source(function, f"{file} no longer parses as Python")
    tree = functions.get((function.__name__, code.co_firstlineno))
    if tree is None and function.__name__ == "<lambda>":
        raise _no_source(function, "it is a lambda; kernels and functions are written with def")
    if tree is None:
        raise _no_source(function, f"{file} has changed since the function was defined")
    return FunctionSource(function, tree, file, lines)


@lru_cache(maxsize=256)
def _functions_of(lines: tuple[str, ...]) -> Mapping[tuple[str, int], ast.FunctionDef] | None:
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        return None
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name, first] = node
    return found


def _why_no_source(file: str) -> str:
    if file == "<stdin>":
        return "the Python prompt keeps no source; use IPython, a notebook, Python 3.13+ or a file"
    if file == "<string>":
        return (
            "it was made by exec or python -c from a string; put it into a file or a notebook cell"
        )
    return f"{file} cannot be read"


def _no_source(function: FunctionType, why: str) -> CompileError:
    return CompileError(
        Diagnostic(
            "H0106",
            f"the source of '{function.__qualname__}' is not available: {why}",
            hint="kernels are compiled from source; define them where Python can read it",
        )
    )


@dataclass(frozen=True, slots=True)
class ParameterSource:
    """One parameter as written: its name, resolved annotation and default, and its place."""

    name: str
    annotation: Any
    default: Any
    node: ast.arg
    by_position: bool = True
    by_name: bool = True

    @property
    def has_default(self) -> bool:
        """May the argument be left out?"""
        return self.default is not inspect.Parameter.empty

    @property
    def has_annotation(self) -> bool:
        """Is a type written down?"""
        return self.annotation is not inspect.Parameter.empty


@lru_cache(maxsize=4096)
def parameters_of(function: FunctionType) -> tuple[ParameterSource, ...]:
    """The parameters of a function with string annotations resolved.

    Raises:
        CompileError: H0104 for ``*args``, ``**kwargs``; H0207 for an annotation that cannot be
        evaluated.
    """
    source = read_source(function)
    arguments = source.tree.args
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            star = "*" if extra is arguments.vararg else "**"
            raise CompileError(
                Diagnostic(
                    "H0104",
                    f"'{star}{extra.arg}' is not supported: parameters of a kernel are fixed",
                    source.span(extra, None),
                    "collects any number of arguments",
                    hint="name each parameter",
                )
            )
    nodes = {a.arg: a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    out = []
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            annotation = _evaluate(source, nodes[name], annotation)
        by_position = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        by_name = parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
        out.append(
            ParameterSource(name, annotation, parameter.default, nodes[name], by_position, by_name)
        )
    return tuple(out)


def _evaluate(source: FunctionSource, node: ast.arg, text: str) -> Any:
    try:
        return eval(text, source.namespace())
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        raise CompileError(
            Diagnostic(
                "H0207",
                f"the annotation of '{node.arg}' cannot be evaluated: {error}",
                source.span(node.annotation or node, None),
                hint="names in string annotations must be visible where the kernel is defined",
            )
        ) from None
