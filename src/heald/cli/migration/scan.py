"""One file: everything in it that has to be looked at, by line."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import heald
from heald.api.settings import OPTION_NAMES
from heald.cli.migration.bodies import Body, array_structs, body_hits, spatial_hits
from heald.cli.migration.kinds import Module, module_of
from heald.cli.migration.names import WARP, Names, dotted_parts, names_of
from heald.config import Config
from heald.differences import CONSTRUCTS, Construct, construct_of
from heald.library.registry import load_topics

_GRADIENTS = {"grad", "requires_grad"}
_TRANSFORMS = {"transform", "transformf", "transformd", "transformh"}
_BODIES = {"kernel", "func", "func_grad", "func_replay"}
_SUBMODULES = {"types", "utils"}
_NAMESAKES = {"build", "sim"}  # packages of Warp's, and something else in Heald
# Parameters that Heald does not have, by what they are about; others are `options`.
_PARAMETERS = {
    "adjoint": "gradients",
    "adj_inputs": "gradients",
    "adj_outputs": "gradients",
    "record_tape": "gradients",
    "retain_grad": "gradients",
    "grad": "gradients",
    "requires_grad": "gradients",
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Finding:
    """One place to look at.

    Attributes:
        line: from 1.
        column: in characters, from 1.
        what: what stands there.
    """

    line: int
    column: int
    construct: Construct
    what: str


def scan_source(text: str) -> list[Finding] | None:
    """The findings in the text of a program, in order; None where it does not use Warp.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it holds characters that no program may hold.
        RecursionError: it is nested too deeply.
    """
    tree = ast.parse(text)
    names = names_of(tree)
    if not names.imports:
        return None
    lines = text.splitlines()
    found = []
    for key, node, what in _Scan(tree, names).hits():
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        before = lines[line - 1].encode()[:offset] if line <= len(lines) else b""
        found.append(Finding(line, len(before.decode(errors="replace")) + 1, CONSTRUCTS[key], what))
    return sorted(dict.fromkeys(found), key=lambda f: (f.line, f.column, f.construct.key))


@cache
def public_names() -> frozenset[str]:
    """What Heald has under ``wp.``."""
    return frozenset(dir(heald)) | _SUBMODULES


def is_there(dotted: str) -> bool:
    """Has Heald this name of Warp's?"""
    first, _, rest = dotted.partition(".")
    if first == "config":
        return not rest or rest.partition(".")[0] in Config.__slots__
    if first in _SUBMODULES and rest:
        return hasattr(getattr(heald, first), rest.partition(".")[0])
    return first in public_names() and first not in _NAMESAKES


@dataclass(slots=True)
class _Scan:
    tree: ast.Module
    names: Names

    def hits(self) -> Iterator[tuple[str, ast.AST, str]]:
        for statement in self.names.imports:
            yield from self._import(statement)
        structs = {
            node.name: node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef) and self._decorator(node) == "struct"
        }
        holders = array_structs(structs, self.names.resolve)
        kernels = {
            node.name: Body(node, self.names.resolve)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and self._decorator(node) == "kernel"
        }
        module = module_of(self.tree, structs, self.names.resolve)
        yield from self._inside(self.tree, frozenset(), holders, kernels, module)

    # -- imports -----------------------------------------------------------------------------------

    def _import(self, statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, ast.AST, str]]:
        yield "import", statement, ast.unparse(statement)
        if statement is self.names.star and statement.module == WARP:
            yield "star-import", statement, ast.unparse(statement)
        for entry in statement.names:
            module = statement.module if isinstance(statement, ast.ImportFrom) else None
            dotted = f"{module}.{entry.name}" if module else entry.name
            inside = dotted.removesuffix(".*").removeprefix("warp").lstrip(".")
            if inside and not is_there(inside):
                yield from self._absent(inside, statement)

    def _absent(self, dotted: str, node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
        """What the table says of a name, from its first part that it knows."""
        if dotted.startswith("config."):
            yield "settings", node, f"wp.{dotted}"
            return
        for part in dotted_parts(dotted):
            construct = construct_of(part)
            if construct is not None:
                yield construct.key, node, f"wp.{dotted}"
                return
        yield "absent", node, f"wp.{dotted}"

    # -- the tree ----------------------------------------------------------------------------------

    def _inside(
        self,
        node: ast.AST,
        hidden: frozenset[str],
        holders: set[str],
        kernels: dict[str, Body],
        module: Module,
    ) -> Iterator[tuple[str, ast.AST, str]]:
        """Walk the tree; ``hidden`` are aliases that mean something else here."""
        for child in ast.iter_child_nodes(node):
            within = hidden
            if isinstance(child, _Function):
                within = hidden | self.names.hidden_by(child)
            resolve = partial(self.names.resolve, hidden=within)
            match child:
                case ast.FunctionDef() if self._decorator(child) in _BODIES:
                    yield from body_hits(Body(child, resolve), holders, module)
                case ast.Call():
                    yield from self._call(child, resolve(child.func), holders, kernels)
                case ast.Constant(value=str() as text) if _is_annotation(node, child):
                    yield from self._quoted(text, child)
            if isinstance(child, ast.Attribute | ast.Name):
                dotted = resolve(child)
                if isinstance(child, ast.Attribute) and dotted is None and child.attr in _GRADIENTS:
                    yield "gradients", child, f"the attribute .{child.attr}"
                if dotted is not None:
                    if dotted and not is_there(dotted) and not self._is_said(child):
                        yield from self._absent(dotted, child)
                    if dotted == "hash_grid_query":
                        yield "hash-grid-order", child, "wp.hash_grid_query"
                    if dotted in CONSTRUCTS["other-results"].names:
                        yield "other-results", child, f"wp.{dotted}"
                    continue  # what it is made of is part of the name
            yield from self._inside(child, within, holders, kernels, module)

    def _is_said(self, node: ast.expr) -> bool:
        """Does its alias stand for a whole package, which was reported where it is imported?"""
        while isinstance(node, ast.Attribute):
            node = node.value
        imported = self.names.resolve(node) or ""
        construct = construct_of(imported) if imported and not is_there(imported) else None
        return construct is not None and construct.key == "libraries"

    def _quoted(self, text: str, node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
        """An annotation in quotes."""
        try:
            expression = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            return
        for inner in ast.walk(expression):
            dotted = self.names.resolve(inner) if isinstance(inner, ast.Attribute) else None
            if dotted and not is_there(dotted):
                yield from self._absent(dotted, node)

    def _decorator(self, node: ast.FunctionDef | ast.ClassDef) -> str | None:
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            dotted = self.names.resolve(called)
            if dotted in _BODIES or dotted == "struct":
                return dotted
        return None

    # -- calls -------------------------------------------------------------------------------------

    def _call(
        self, node: ast.Call, name: str | None, holders: set[str], kernels: dict[str, Body]
    ) -> Iterator[tuple[str, ast.AST, str]]:
        if name is None:
            return
        yield from spatial_hits(node, name)
        if name in _TRANSFORMS and not node.args and not node.keywords:
            yield "empty-transform", node, f"wp.{name}()"
        for keyword in node.keywords:
            match keyword:
                case ast.keyword(arg="dtype", value=ast.Name(id=struct)) if struct in holders:
                    yield (
                        "struct-array-element",
                        node,
                        f"an array of '{struct}', which holds arrays",
                    )
                case ast.keyword(arg="requires_grad", value=ast.Constant(value=False | None)):
                    pass
                case ast.keyword(arg="requires_grad"):
                    yield "gradients", keyword, f"wp.{name} with requires_grad="
                case ast.keyword(arg=str() as parameter):
                    if parameter not in parameters_of(name, parameter):
                        key = _PARAMETERS.get(parameter, "options")
                        yield key, keyword, f"wp.{name} with {parameter}="
        if name == "launch":
            yield from _rank(node, kernels)
        if name in ("set_module_options", "kernel"):
            named = [k.value for k in node.keywords if k.arg in ("module_options", "options")]
            for options in (*node.args[:1], *named):
                for option in options.keys if isinstance(options, ast.Dict) else ():
                    if isinstance(option, ast.Constant) and option.value not in OPTION_NAMES:
                        yield "options", option, f"the module option {option.value!r}"


def parameters_of(name: str, given: str) -> frozenset[str]:
    """The names that a host function of Heald takes; ``given`` among them where that is open."""
    if not is_there(name) or name in load_topics():
        return frozenset({given})
    value: Any = heald
    for part in name.split("."):
        value = getattr(value, part)
    known = _signature(value) if callable(value) else None
    if known is None:
        return frozenset({given})
    taken = {p.name for p in known if p.kind is not inspect.Parameter.VAR_KEYWORD}
    rest = next((p.name for p in known if p.kind is inspect.Parameter.VAR_KEYWORD), None)
    if name == "kernel":
        return frozenset(taken | OPTION_NAMES)
    open_ended = rest is not None and rest != "unknown"
    return frozenset({*taken, given} if open_ended else taken)


def _signature(value: Any) -> list[inspect.Parameter] | None:
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return None
    try:
        return list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None


def _rank(node: ast.Call, kernels: dict[str, Body]) -> Iterator[tuple[str, ast.AST, str]]:
    """A launch whose dim is written out and has another length than the kernel reads."""
    given = {k.arg: k.value for k in node.keywords}
    kernel = given.get("kernel") or (node.args[0] if node.args else None)
    dim = given.get("dim") or (node.args[1] if len(node.args) > 1 else None)
    if not isinstance(kernel, ast.Name) or kernel.id not in kernels:
        return
    match dim:
        case ast.Tuple(elts=extents) | ast.List(elts=extents):
            if any(isinstance(e, ast.Starred) for e in extents):
                return
            count = len(extents)
        case ast.Constant(value=int()):
            count = 1
        case _:
            return
    rank = kernels[kernel.id].rank
    if rank and rank != count:
        reads = "1 index" if rank == 1 else f"{rank} indices"
        yield "launch-rank", dim, f"dim has {count}, kernel '{kernel.id}' reads {reads}"


def _is_annotation(parent: ast.AST, child: ast.AST) -> bool:
    match parent:
        case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
            return annotation is child
    return False
