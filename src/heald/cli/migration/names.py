"""What a file calls Warp, and which of its expressions are names of Warp's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

WARP = "warp"
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(slots=True)
class Names:
    """The names of a file that stand for Warp or something in it.

    Attributes:
        aliases: name in the file to dotted name in Warp; the package itself is the empty name.
        imports: the statements that import from Warp.
        star: the statement ``from warp import *``, where there is one.
    """

    aliases: dict[str, str] = field(default_factory=dict)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    star: ast.ImportFrom | None = None
    _hidden: dict[_Scope, frozenset[str]] = field(default_factory=dict)

    def resolve(self, node: ast.expr, hidden: frozenset[str] = frozenset()) -> str | None:
        """The dotted name in Warp (``utils.array_scan``, empty for the package), or None."""
        match node:
            case ast.Name(id=name):
                return None if name in hidden else self.aliases.get(name)
            case ast.Attribute(value=value, attr=attribute):
                base = self.resolve(value, hidden)
                return None if base is None else f"{base}.{attribute}".lstrip(".")
            case _:
                return None

    def hidden_by(self, scope: _Scope) -> frozenset[str]:
        """The aliases that a function's parameters and assignments take for something else."""
        if scope not in self._hidden:
            self._hidden[scope] = frozenset(_bound(scope)) & self.aliases.keys()
        return self._hidden[scope]


def names_of(tree: ast.Module) -> Names:
    """Collect imports wherever they stand, and assignments such as ``wp = warp``."""
    names = Names()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=entries):
                _import(names, node, entries)
            case ast.ImportFrom(module=module, names=entries, level=0) if _is_warp(module):
                names.imports.append(node)
                inside = str(module).removeprefix(WARP).lstrip(".")
                for entry in entries:
                    if entry.name == "*":
                        names.star = node
                    else:
                        dotted = f"{inside}.{entry.name}".lstrip(".")
                        names.aliases[entry.asname or entry.name] = dotted
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                dotted_name = names.resolve(value)
                if dotted_name is not None:
                    names.aliases[name] = dotted_name
    return names


def _is_warp(module: str | None) -> bool:
    return module is not None and (module == WARP or module.startswith(f"{WARP}."))


def _import(names: Names, node: ast.Import, entries: list[ast.alias]) -> None:
    for entry in entries:
        if not _is_warp(entry.name):
            continue
        if node not in names.imports:
            names.imports.append(node)
        if entry.asname:
            names.aliases[entry.asname] = entry.name.removeprefix(WARP).lstrip(".")
        else:
            names.aliases[WARP] = ""


def _bound(scope: _Scope) -> Iterator[str]:
    """Names that are parameters of a function or assigned in it."""
    if isinstance(scope, ast.ClassDef):
        return
    arguments = scope.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            yield extra.arg
    body = [scope.body] if isinstance(scope, ast.Lambda) else scope.body
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def dotted_parts(dotted: str) -> Iterator[str]:
    """``a.b.c`` as ``a``, ``a.b``, ``a.b.c``."""
    parts = dotted.split(".")
    for k in range(1, len(parts) + 1):
        yield ".".join(parts[:k])
