"""The source of Python functions: syntax trees with file coordinates, and the names a function can
see."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from heald.diagnostics import CompileError, Diagnostic, Span

_MISSING = object()


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """One Python function: its syntax tree and its surroundings."""

    function: FunctionType
    tree: ast.FunctionDef
    file: str
    lines: tuple[str, ...]
    scope: Mapping[str, Any]

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

    def name_span(self, call: Span | None) -> Span:
        """The name behind ``def``."""
        line = self.tree.lineno
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        start = max(text.find(self.tree.name, self._characters(line, self.tree.col_offset) + 3), 0)
        return Span(self.file, line, start, line, start + len(self.tree.name), call)

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
        for scope in (self.scope, self.function.__globals__, vars(builtins)):
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
        names = {**self.function.__globals__, **self.scope}
        for name in self.function.__code__.co_freevars:
            found = self.lookup(name)
            if found:
                names[name] = found[0]
        return names


@dataclass(frozen=True, slots=True)
class _Definition:
    """What is known of a function only while it is being defined."""

    lines: tuple[str, ...]
    scope: Mapping[str, Any]


_DEFINITIONS: WeakKeyDictionary[FunctionType, _Definition] = WeakKeyDictionary()
"""A cache: source and scope of functions that decorators saw."""


def remember(function: FunctionType) -> None:
    """Keep the source of a function as it is now, when Python has just compiled it.

    A file that is edited later changes nothing.  Names that only annotations use are no closure
    variables of a nested function, so their values are taken from the frames that define it.
    """
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = _lines_of(function)
    scope = {}
    if lines and "<locals>" in function.__qualname__:
        tree = (_functions_of(lines) or {}).get(_key_of(function))
        scope = {} if tree is None else _defining_scope(function, _annotation_names(tree))
    _DEFINITIONS[function] = _Definition(lines, scope)


def _lines_of(function: FunctionType) -> tuple[str, ...]:
    return _shared(*linecache.getlines(function.__code__.co_filename, function.__globals__))


@lru_cache(maxsize=256)
def _shared(*lines: str) -> tuple[str, ...]:
    """One tuple for equal texts, however many functions a file has."""
    return lines


def _annotation_names(tree: _AnyFunction) -> set[str]:
    """Every name in an annotation of a parameter or a local, strings included."""
    found = [a.annotation for a in ast.walk(tree.args) if isinstance(a, ast.arg)]
    found += [n.annotation for n in ast.walk(tree) if isinstance(n, ast.AnnAssign)]
    names: set[str] = set()
    for annotation in found:
        for node in ast.walk(annotation) if annotation else ():
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.update(re.findall(r"\w+", node.value))
    return names


def _defining_scope(function: FunctionType, names: set[str]) -> dict[str, Any]:
    """The values of ``names`` in the functions around ``function``, which are being run."""
    found: dict[str, Any] = {}
    code = function.__code__
    frame = sys._getframe(1)
    while frame is not None:
        if code in frame.f_code.co_consts:
            code = frame.f_code
            if code.co_name != "<module>":
                local = frame.f_locals
                found = {n: local[n] for n in names if n in local} | found
        frame = frame.f_back  # type: ignore[assignment]
    return found


_AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


def _key_of(function: FunctionType) -> tuple[str, int]:
    return function.__name__, function.__code__.co_firstlineno


@lru_cache(maxsize=4096)
def read_source(function: FunctionType) -> FunctionSource:
    """The syntax tree of a function; a file is parsed once for all of its functions.

    Raises:
        CompileError: H0106, the source is not available, is no longer what was compiled, or is a
        lambda.  H0101, it is a coroutine.
    """
    file = function.__code__.co_filename
    known = _DEFINITIONS.get(function)
    lines = known.lines if known and known.lines else _lines_of(function)
    if not lines:
        raise _no_source(function, _why_no_source(file))
    functions = _functions_of(lines)
    if functions is None:
        raise _no_source(function, f"{file} no longer parses as Python")
    tree = functions.get(_key_of(function))
    if tree is None and function.__name__ == "<lambda>":
        raise _no_source(function, "it is a lambda; kernels and functions are written with def")
    if tree is None:
        raise _no_source(function, f"{file} has changed since the function was defined")
    if isinstance(tree, ast.AsyncFunctionDef):
        raise CompileError(
            Diagnostic(
                "H0101",
                "'async' is not part of the kernel language",
                Span(file, tree.lineno, tree.col_offset, tree.lineno, tree.col_offset + 5),
                hint="kernels run on every thread at once; there is nothing to await",
            )
        )
    return FunctionSource(function, tree, file, lines, known.scope if known else {})


@lru_cache(maxsize=256)
def _functions_of(lines: tuple[str, ...]) -> Mapping[tuple[str, int], _AnyFunction] | None:
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        return None
    found = {}
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
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
