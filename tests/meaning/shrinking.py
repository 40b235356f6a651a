"""A smaller kernel that fails in the same way: statements and parts of expressions taken out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def shrink(text: str, fails: Callable[[str], bool], *, attempts: int = 2000) -> str:
    """The smallest text found for which ``fails`` still holds, in at most so many tries.

    Comment lines (types for the oracle) stay.
    """
    notes = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("# "))
    best = f"{ast.unparse(ast.parse(text))}\n{notes}"
    if not fails(best):
        return text
    while attempts:
        for candidate in _smaller(best):
            attempts -= 1
            smaller = f"{candidate}\n{notes}"
            if (len(smaller) < len(best) and fails(smaller)) or not attempts:
                break
        else:
            return best
        if attempts:
            best = smaller
    return best


def _smaller(text: str) -> Iterator[str]:
    """Texts with one thing less; each change is undone before the next."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for node in nodes:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                for k in range(len(block)):
                    yield from _without(tree, node, block, k)
    for node in nodes:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for part in _parts(value):
                    setattr(node, name, part)
                    yield ast.unparse(tree)
                setattr(node, name, value)
            elif isinstance(value, list) and not isinstance(node, ast.FunctionDef):
                yield from _with_parts(tree, value)


def _without(tree: ast.Module, owner: ast.AST, block: list[ast.stmt], k: int) -> Iterator[str]:
    """The statement gone, or in its place what it holds."""
    old = block[k]
    if isinstance(old, ast.Pass) or (isinstance(old, ast.FunctionDef) and old.name == "k"):
        return
    places: list[list[ast.stmt]] = [[]]
    if (
        len(block) == 1
        and not isinstance(owner, ast.Module)
        and block is not getattr(owner, "orelse", None)
    ):
        places = [[ast.Pass()]]
    if isinstance(old, (ast.If, ast.For, ast.While)):
        places += [inner for inner in (old.body, old.orelse) if inner]
    for new in places:
        block[k : k + 1] = new
        yield ast.unparse(ast.fix_missing_locations(tree))
        block[k : k + len(new)] = [old]


def _with_parts(tree: ast.Module, items: list[ast.AST]) -> Iterator[str]:
    for k, item in enumerate(items):
        if isinstance(item, ast.expr):
            for part in _parts(item):
                items[k] = part
                yield ast.unparse(tree)
            items[k] = item


def _parts(node: ast.expr) -> list[ast.expr]:
    """What may stand in the place of an expression."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return [body, orelse, test]
        case ast.BoolOp(values=values):
            return list(values)
        case ast.Call(args=args):
            return list(args)
        case ast.Compare(left=left, ops=[first, _, *_], comparators=[second, *_]):
            return [ast.Compare(left, [first], [second])]
    return []
