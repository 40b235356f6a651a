"""The source of Python functions: syntax trees with file coordinates, and the names a function can
see."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from heald.diagnostics import CompileError, Diagnostic, Span
from heald.frontend.lambdas import LAMBDA, find_lambda, lambda_key
from heald.frontend.texts import AnyFunction, line_range, parse_lines

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
    def is_written(self) -> bool:
        """Do its operators mean the same whatever the mode is, as those of the library?"""
        return getattr(self.function, "__heald_written__", False)

    @property
    def local_names(self) -> tuple[str, ...]:
        """Parameters and every name that the function assigns, as Python decides it."""
        code = self.function.__code__
        return (*code.co_varnames, *code.co_cellvars)

    def parameter(self, name: str) -> ast.arg:
        """Where a parameter is declared."""
        arguments = self.tree.args
        return next(
            node
            for node in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if node.arg == name
        )

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
        """The name behind ``def``; of a lambda, that word."""
        line = self.tree.lineno
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        start = self._characters(line, self.tree.col_offset)
        name = self.tree.name
        if name == LAMBDA:
            name = "lambda"
        else:
            start = max(text.find(name, start + 3), 0)
        return Span(self.file, line, start, line, start + len(name), call)

    def _characters(self, line: int, offset: int) -> int:
        """``ast`` counts columns in UTF-8 bytes, people count characters."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def lookup(self, name: str) -> Any:
        """The value of a name that the function captures; ``None`` in a tuple of one when found.

        Returns ``(value,)`` or ``()`` when the name is not defined.
        """
        return _look_up(self.function, self.scope, name)

    def visible_names(self) -> list[str]:
        """Every captured or global name, for near-miss hints."""
        return [*self.function.__code__.co_freevars, *self.function.__globals__, *vars(builtins)]

    def namespace(self) -> dict[str, Any]:
        """Globals and closure values as one dictionary, to evaluate annotations and
        ``wp.static``."""
        return _namespace(self.function, self.scope)


def captured_value(function: FunctionType, name: str) -> tuple[Any, ...]:
    """The value of a captured name now, in a tuple of one; empty where it is not defined."""
    return _look_up(function, _definition_of(function)[1], name)


Reading = dict[int, tuple[object, Any]]
"""What modules and closures held when they were first read, by identity, with them."""


class _Read(threading.local):
    """What this thread goes by; without it names mean what they are bound to now."""

    reading: Reading | None = None


_READ = _Read()


@contextmanager
def reading(known: Reading | None) -> Iterator[None]:
    """Inside a ``with``, names keep the values that they had when their module was first read.

    A kernel is looked at several times while it is compiled, and other threads may bind its names
    to something else meanwhile: what the cache knows it by would not be what was lowered, and one
    name could mean two things in it.
    """
    before, _READ.reading = _READ.reading, known
    try:
        yield
    finally:
        _READ.reading = before


def _globals_of(function: FunctionType) -> Mapping[str, Any]:
    now, known = function.__globals__, _READ.reading
    if known is None:
        return now
    if id(now) not in known:
        known[id(now)] = now, dict(now)
    found: Mapping[str, Any] = known[id(now)][1]
    return found


def _contents(cell: CellType) -> tuple[Any, ...]:
    known = _READ.reading
    if known is not None and id(cell) in known:
        found: tuple[Any, ...] = known[id(cell)][1]
        return found
    try:
        found = (cell.cell_contents,)
    except ValueError:
        found = ()
    if known is not None:
        known[id(cell)] = cell, found
    return found


def _look_up(function: FunctionType, scope: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    code = function.__code__
    if name in code.co_freevars and function.__closure__:
        return _contents(function.__closure__[code.co_freevars.index(name)])
    for names in (scope, _globals_of(function), vars(builtins)):
        value = names.get(name, _MISSING)
        if value is not _MISSING:
            return (value,)
    return ()


def _namespace(function: FunctionType, scope: Mapping[str, Any]) -> dict[str, Any]:
    names = {**_globals_of(function), **scope}
    for name in function.__code__.co_freevars:
        found = _look_up(function, scope, name)
        if found:
            names[name] = found[0]
    return names


@dataclass(frozen=True, slots=True)
class _Definition:
    """What is known of a function only while it is being defined."""

    lines: Lines
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
        tree = tree_of(_definition_in(function, lines))
        scope = {} if tree is None else _defining_scope(function, _annotation_names(tree))
    _DEFINITIONS[function] = _Definition(lines, scope)


class Lines(tuple[str, ...]):
    """The lines of a file, as a key of caches: a text that was read twice counts as two."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _lines_of(function: FunctionType) -> Lines:
    return _shared(*linecache.getlines(function.__code__.co_filename, function.__globals__))


@lru_cache(maxsize=256)
def _shared(*lines: str) -> Lines:
    """One object for equal texts, however many functions a file has."""
    return Lines(lines)


def _annotation_names(tree: AnyFunction) -> set[str]:
    """Every name in an annotation of a parameter, a local or the result, strings included."""
    found = [a.annotation for a in ast.walk(tree.args) if isinstance(a, ast.arg)]
    found += [n.annotation for n in ast.walk(tree) if isinstance(n, ast.AnnAssign)]
    found.append(tree.returns)
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


def _key_of(function: FunctionType) -> tuple[str, int]:
    code = function.__code__  # its name stays what it was when wrappers take another's
    return code.co_name, code.co_firstlineno


def read_source(function: FunctionType) -> FunctionSource:
    """The syntax tree of a function; of its file, only its own lines are parsed.

    Raises:
        CompileError: H0106, the source is not available, is no longer what was compiled, or is a
            lambda.  H0101, it is a coroutine.
    """
    file = function.__code__.co_filename
    lines, scope = _definition_of(function)
    if not lines:
        raise no_source(function, _why_no_source(file))
    definition = definition_of(function)
    tree = tree_of(definition)
    if tree is None and not _is_python(lines):
        raise no_source(function, f"{file} no longer parses as Python")
    if tree is None and definition.place == ():
        why = "Python was told to keep no columns (-X no_debug_ranges), so no lambda can be found"
        raise no_source(function, why)
    if tree is None:
        raise no_source(function, f"{file} has changed since the function was defined")
    if isinstance(tree, ast.AsyncFunctionDef):
        raise CompileError(
            Diagnostic(
                "H0101",
                "'async' is not part of the kernel language",
                Span(file, tree.lineno, tree.col_offset, tree.lineno, tree.col_offset + 5),
                hint="kernels run on every thread at once; there is nothing to await",
            )
        )
    return FunctionSource(function, tree, file, lines, scope)


def _definition_of(function: FunctionType) -> tuple[Lines, Mapping[str, Any]]:
    """The lines of the function's file, as they were when first asked for, and the scope of its
    annotations."""
    known = _DEFINITIONS.get(function)
    if known is None or not known.lines:
        known = _Definition(_lines_of(function), known.scope if known else {})
        _DEFINITIONS[function] = known
    return known.lines, known.scope


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a function is defined: the key of what follows from its text alone.

    Closures that one definition made share it.  ``place`` tells the lambdas of a line apart
    (``lambda_key``); other functions have none.
    """

    file: str
    lines: Lines
    name: str
    first_line: int
    place: tuple[object, ...] | None
    code: CodeType = field(compare=False)

    @property
    def line_range(self) -> tuple[int, int]:
        """First and last line, from 1."""
        return line_range(self.code, self.lines)


def definition_of(function: FunctionType) -> Definition:
    """Where a function is defined."""
    return _definition_in(function, _definition_of(function)[0])


def _definition_in(function: FunctionType, lines: Lines) -> Definition:
    code = function.__code__
    place = lambda_key(code) if is_lambda(function) else None
    return Definition(code.co_filename, lines, *_key_of(function), place, code)


def is_lambda(function: FunctionType) -> bool:
    """Was it written without ``def``?"""
    return function.__code__.co_name == LAMBDA


@lru_cache(maxsize=256)
def tree_of(definition: Definition) -> AnyFunction | None:
    """A definition as a tree; None where it does not stand where it should."""
    if definition.place is not None:
        return find_lambda(definition.lines, definition.code)
    key = definition.name, definition.first_line
    tree = parse_lines(definition.lines, *definition.line_range)
    if tree is None or _place_of(tree) != key:
        tree = _functions_of(definition.lines).get(key)
    return tree


def has_source(function: FunctionType) -> bool:
    """Are there lines to read the function from?"""
    return bool(_definition_of(function)[0])


def _place_of(tree: AnyFunction) -> tuple[str, int]:
    return tree.name, min([tree.lineno, *(d.lineno for d in tree.decorator_list)])


@lru_cache(maxsize=8)
def _functions_of(lines: Lines) -> Mapping[tuple[str, int], AnyFunction]:
    """Every function of a file by name and first line: for those whose lines do not parse alone."""
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        return {}
    functions = (n for n in ast.walk(module) if isinstance(n, AnyFunction))
    return {_place_of(tree): tree for tree in functions}


def _is_python(lines: Sequence[str]) -> bool:
    try:
        ast.parse("".join(lines))
    except SyntaxError:
        return False
    return True


def _why_no_source(file: str) -> str:
    if file == "<stdin>":
        return "the Python prompt keeps no source; use IPython, a notebook, Python 3.13+ or a file"
    if file == "<string>":
        return (
            "it was made by exec or python -c from a string; put it into a file or a notebook cell"
        )
    return f"{file} cannot be read"


def no_source(function: FunctionType, why: str) -> CompileError:
    """The error of a function that cannot be read."""
    line = function.__code__.co_firstlineno
    return CompileError(
        Diagnostic(
            "H0106",
            f"the source of '{function.__qualname__}' is not available: {why}",
            Span(function.__code__.co_filename, line, 0, line, 0),
            hint="kernels are compiled from source; define them where Python can read it",
        )
    )


@dataclass(frozen=True, slots=True)
class ParameterSource:
    """One parameter as written: its name, resolved annotation and default."""

    name: str
    annotation: Any
    default: Any
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


@dataclass(frozen=True, slots=True)
class Declared:
    """One parameter as Python knows it.  ``problem`` says why a string annotation has no value."""

    name: str
    annotation: Any
    default: Any
    kind: Any
    problem: str = ""

    @property
    def has_meaning(self) -> bool:
        """Is it one parameter, and is there an annotation that has a value?"""
        empty, several = inspect.Parameter.empty, _SEVERAL
        return not (self.problem or self.annotation is empty or self.kind in several)


_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_DECLARED: WeakKeyDictionary[FunctionType, tuple[Declared, ...]] = WeakKeyDictionary()
"""A cache: parameters of functions that live, their string annotations evaluated once."""

_RESULTS: WeakKeyDictionary[FunctionType, Declared | None] = WeakKeyDictionary()
"""A cache: what functions say that they give."""

_PARAMETERS: WeakKeyDictionary[FunctionType, tuple[ParameterSource, ...]] = WeakKeyDictionary()
"""A cache: the same with their places."""


def own_signature(function: FunctionType) -> inspect.Signature:
    """What a function takes by itself, where it wraps another one: its own body is compiled."""
    return inspect.signature(function, follow_wrapped=False)


def declared_parameters(function: FunctionType) -> tuple[Declared, ...]:
    """The parameters of a function with string annotations resolved, without reading its source."""
    found = _DECLARED.get(function)
    if found is None:
        parameters = own_signature(function).parameters.values()
        found = tuple(_declare(function, p) for p in parameters)
        if not any(p.problem for p in found):
            _DECLARED[function] = found
    return found


def _declare(function: FunctionType, parameter: inspect.Parameter) -> Declared:
    annotation, problem = _evaluate(function, parameter.annotation)
    return Declared(parameter.name, annotation, parameter.default, parameter.kind, problem)


def _evaluate(function: FunctionType, annotation: Any) -> tuple[Any, str]:
    """An annotation, a string evaluated; with why it has no value where it has none."""
    if not isinstance(annotation, str):
        return annotation, ""
    try:
        return eval(annotation, _namespace(function, _definition_of(function)[1])), ""
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        return annotation, str(error) or type(error).__name__


def _is_of_library(function: FunctionType) -> bool:
    module: str | None = function.__module__  # None where `exec` had no `__name__`
    return module is not None and module.startswith("heald.library.")


def declared_result(function: FunctionType) -> Declared | None:
    """What a function says that it gives; None where it says nothing.

    Functions of the library say what their callers see, without the arguments that they update,
    and count as saying nothing.
    """
    if function not in _RESULTS:
        annotation = function.__annotations__.get("return", _MISSING)
        if annotation is _MISSING or _is_of_library(function):
            _RESULTS[function] = None
        else:
            value, problem = _evaluate(function, annotation)
            found = Declared("return", value, inspect.Parameter.empty, None, problem)
            if problem:
                return found
            _RESULTS[function] = found
    return _RESULTS[function]


def parameters_of(function: FunctionType) -> tuple[ParameterSource, ...]:
    """The parameters of a function with string annotations resolved.

    Raises:
        CompileError: H0104 for ``*args``, ``**kwargs``; H0207 for an annotation that cannot be
            evaluated.
    """
    found = _PARAMETERS.get(function)
    if found is None:
        found = _PARAMETERS[function] = _parameters_of(function)
    return found


def _how_to_name(function: FunctionType) -> str:
    wrapped = getattr(function, "__wrapped__", None)
    if not isinstance(wrapped, FunctionType):
        return "name each parameter"
    return (
        f"name each parameter: this function wraps '{wrapped.__name__}', but its own body is what "
        "would be compiled"
    )


def _parameters_of(function: FunctionType) -> tuple[ParameterSource, ...]:
    declared = declared_parameters(function)
    if any(p.problem or p.kind in _COLLECTING for p in declared):
        raise _unusable_parameters(function, declared)
    return tuple(
        ParameterSource(
            p.name,
            p.annotation,
            p.default,
            p.kind is not inspect.Parameter.KEYWORD_ONLY,
            p.kind is not inspect.Parameter.POSITIONAL_ONLY,
        )
        for p in declared
    )


_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _unusable_parameters(function: FunctionType, declared: Sequence[Declared]) -> CompileError:
    """Why a function cannot be called in kernels; its source is read only for this."""
    source = read_source(function)
    arguments = source.tree.args
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            star = "*" if extra is arguments.vararg else "**"
            return CompileError(
                Diagnostic(
                    "H0104",
                    f"'{star}{extra.arg}' is not supported: parameters of a kernel are fixed",
                    source.span(extra, None),
                    "collects any number of arguments",
                    hint=_how_to_name(function),
                )
            )
    wrong = next(p for p in declared if p.problem)
    node = source.parameter(wrong.name)
    return CompileError(
        Diagnostic(
            "H0207",
            f"the annotation of '{node.arg}' cannot be evaluated: {wrong.problem}",
            source.span(node.annotation or node, None),
            hint="names in string annotations must be visible where the kernel is defined",
        )
    )
