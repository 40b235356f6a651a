"""Mutants of the corpus, and the brute force that judges what the prover says of them."""

from __future__ import annotations

import ast
import linecache
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from heald.api.kernel import Kernel as UserKernel
from heald.artifact import Symbol
from heald.diagnostics import HealdError
from heald.driver.obedience import obey
from heald.driver.replay import Case, Misbehaviour, replay
from heald.driver.verify_names import Names
from heald.ir import Kernel
from heald.proof import Clause, Suspect
from heald.proof.contracts import NOTHING, Promises
from heald.types import Array, leaves

_FUEL = 300
_FLIPPED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
_OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv}


class _Mutate(ast.NodeTransformer):
    """Changes one place of a kernel, the ``target``-th that can be changed."""

    def __init__(self, chance: random.Random, target: int) -> None:
        self.chance = chance
        self.target = target
        self.seen = -1
        self.what = ""
        self.names: list[str] = []

    def _hit(self, what: str, node: ast.AST) -> bool:
        self.seen += 1
        if self.seen != self.target:
            return False
        self.what = f"{what} on line {getattr(node, 'lineno', 0)}"
        return True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        inner = [n for n in ast.walk(node) if isinstance(n, ast.Name | ast.arg)]
        self.names = sorted(
            n.arg if isinstance(n, ast.arg) else n.id
            for n in inner
            if isinstance(n, ast.arg) or isinstance(n.ctx, ast.Store)
        )
        node.body = [self.visit(statement) for statement in node.body]  # neither types nor names
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        number = node.value
        if type(number) is int and self._hit(f"{number} changed", node):
            node.value = number + self.chance.choice([-1, 1, 2])
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        flipped = _FLIPPED.get(type(node.ops[0]))
        if flipped is not None and self._hit("comparison flipped", node):
            node.ops[0] = flipped()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        other = _OTHER.get(type(node.op))
        if other is not None and self._hit("operator changed", node):
            node.op = other()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._hit("condition dropped", node):
            node.values.pop(self.chance.randrange(len(node.values)))
            return node.values[0] if len(node.values) == 1 else node
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript) and self._hit("atomic made plain", node):
            return ast.copy_location(ast.Assign([node.target], node.value), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and len(node.id) == 1 and self._hit("name", node):
            node.id = self.chance.choice(self.names)
        return node


@dataclass(frozen=True)
class Mutant:
    """A kernel that was made from one of the corpus."""

    name: str
    kernel: Kernel
    promises: Promises
    source: str


def mutate(path: Path, seed: int) -> Mutant | None:
    """A random mutant of a file, or None where it is no kernel of the language."""
    chance = random.Random(f"{path.stem} {seed}")
    text = path.read_text(encoding="utf-8")
    count = _Mutate(chance, -1)
    count.visit(ast.parse(text))
    change = _Mutate(chance, chance.randrange(count.seen + 1))
    tree = ast.fix_missing_locations(change.visit(ast.parse(text)))
    source = ast.unparse(tree) + "\n"
    name = f"{path.stem}~{seed}"
    file = f"<mutant {name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    module = ModuleType(f"mutant_{path.stem}_{seed}".replace("-", "_"))
    try:
        exec(compile(source, file, "exec"), vars(module))
        (user,) = [v for v in vars(module).values() if isinstance(v, UserKernel)]
        program = user.program(user.concrete_types())
    except (HealdError, NameError):
        return None
    promises = program.promises or NOTHING
    return Mutant(f"{name}: {change.what}", program.wir, promises, source)


# -- brute force -----------------------------------------------------------------------------------


def launches(kernel: Kernel, clauses: Sequence[Clause], seed: int, count: int) -> Iterator[Suspect]:
    """Small launches, at random, for which clauses hold."""
    chance = random.Random(seed)
    symbols = [s for s in Names(kernel).symbols().values() if isinstance(s, Symbol)]
    for _ in range(count):
        numbers = {s: _guess(s, kernel, chance) for s in symbols}
        for _ in range(4):
            _repair(numbers, clauses, chance)
        dims = tuple(numbers[s] for s in symbols if s.kind == "dim")
        sizes = [n for s, n in numbers.items() if s.kind != "value"]
        if min(dims) < 1 or min(sizes) < 0 or max(sizes) > 400:
            continue
        if all(c.holds(numbers.__getitem__) for c in clauses):
            rest = tuple((s, n) for s, n in sorted(numbers.items()) if s.kind != "dim")
            yield Suspect(dims, rest, (), ())


def _guess(symbol: Symbol, kernel: Kernel, chance: random.Random) -> int:
    if symbol.kind == "dim":
        return chance.randint(1, 6 if kernel.rank < 2 else 4 if kernel.rank < 3 else 3)
    if symbol.kind == "shape":
        return chance.randint(0, 8)
    if symbol.kind == "block":
        return chance.choice([1, 2, 3, 4, 8])
    t = leaves(kernel.params[symbol.parameter].type)[symbol.leaf]
    assert not isinstance(t, Array)
    return chance.randint(max(t.lowest, -2), 9)


def _repair(numbers: dict[Symbol, int], clauses: Sequence[Clause], chance: random.Random) -> None:
    """Change single symbols so that clauses that fail hold."""
    for clause in clauses:
        if clause.holds(numbers.__getitem__):
            continue
        alone = [(p[0], n) for p, n in clause.terms if len(p) == 1]
        if not alone:
            continue
        symbol, factor = chance.choice(alone)
        total = sum(n * _product(p, numbers) for p, n in clause.terms)
        rest = total - factor * numbers[symbol]
        numbers[symbol] = -(-rest // factor) if not clause.equal else -rest // factor
        if not clause.equal and factor > 0:
            numbers[symbol] = -(rest // factor) + chance.randint(0, 2)


def _product(product: Sequence[Symbol], numbers: Mapping[Symbol, int]) -> int:
    total = 1
    for symbol in product:
        total *= numbers[symbol]
    return total


def contradictions(
    kernel: Kernel,
    proved: Mapping[str, Sequence[Clause]],
    seed: int,
    count: int,
    promises: Promises = NOTHING,
) -> tuple[int, list[tuple[Misbehaviour, Case]]]:
    """Run small launches; gives how many ran and what was proved impossible but seen.

    Args:
        kernel: to run.
        proved: properties with the clauses under which they are proved.
        seed: of sizes and contents.
        count: launches to try for each set of clauses.
        promises: contracts, which contents keep.
    """
    ran, wrong = 0, []
    groups: dict[tuple[Clause, ...], list[str]] = {}
    for name, clauses in proved.items():
        groups.setdefault(tuple(clauses), []).append(name)
    for clauses, names in groups.items():
        for suspect in launches(kernel, clauses, seed, count):
            for fill in (0, seed + 3):
                try:
                    case = obey(kernel, Case(suspect, fill), promises)
                    seen = replay(kernel, case, fuel=_FUEL) if case else []
                except HealdError:
                    continue
                ran += case is not None
                wrong += [(m, case) for m in seen if m.aspect in names]
    return ran, wrong
