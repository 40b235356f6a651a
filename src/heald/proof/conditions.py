"""Conditions on launches: polynomials over dims, shapes and by-value integers, at least 0 each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from heald.artifact import LaunchCondition, LinearTerm, Symbol

Product = tuple[Symbol, ...]
Sums = Mapping[Product, int]


@dataclass(frozen=True, slots=True)
class Clause:
    """``sum(coefficient * product of symbols) >= 0``; the empty product is 1.

    ``equal`` asks for exactly 0 instead.
    """

    terms: tuple[tuple[Product, int], ...]
    equal: bool = False

    @property
    def is_constant(self) -> bool:
        """Does it speak of no size?"""
        return not any(product for product, _ in self.terms)

    def holds(self, lookup: Callable[[Symbol], int]) -> bool:
        """Evaluate for one launch, without overflow."""
        total = sum(n * prod(map(lookup, product)) for product, n in self.terms)
        return total == 0 if self.equal else total >= 0

    def linear(self) -> LinearTerm | None:
        """The same for the launch entry, which knows sums only; None where there is a product."""
        if self.equal or any(len(product) > 1 for product, _ in self.terms):
            return None
        offset = sum(n for product, n in self.terms if not product)
        return LinearTerm(offset, tuple((n, product[0]) for product, n in self.terms if product))

    def describe(self, name: Callable[[Symbol], str]) -> str:
        """Readable text, such as ``dim[0] <= a.shape[0]``."""
        sides: tuple[list[str], list[str]] = ([], [])  # what must be <= , what must be >=
        for product, count in self.terms:
            if product:
                text = " * ".join(map(name, product))
                size = abs(count)
                sides[count > 0].append(text if size == 1 else f"{size} * {text}")
        offset = sum(n for product, n in self.terms if not product)
        if offset:
            sides[offset > 0].append(str(abs(offset)))
        low, high = (" + ".join(side) or "0" for side in sides)
        return f"{high} == {low}" if self.equal else f"{low} <= {high}"


def clause(terms: Sums, *, equal: bool = False) -> Clause:
    """A clause from its sum."""
    kept = sorted((tuple(sorted(product)), n) for product, n in terms.items() if n)
    if equal and kept and kept[-1][1] < 0:
        kept = [(product, -n) for product, n in kept]
    return Clause(tuple(kept), equal)


def sizes_in(clauses: Iterable[Clause]) -> dict[Symbol, int]:
    """The sizes that clauses say to be numbers."""
    found: dict[Symbol, int] = {}
    for c in clauses:
        sums = dict(c.terms)
        offset = sums.pop((), 0)
        if c.equal and len(sums) == 1:
            ((product, count),) = sums.items()
            if len(product) == 1 and offset % count == 0:
                found[product[0]] = -offset // count
    return found


def with_sizes(c: Clause, sizes: Mapping[Symbol, int]) -> Clause:
    """The clause where some sizes are numbers."""
    total: dict[Product, int] = {}
    for product, n in c.terms:
        rest = tuple(symbol for symbol in product if symbol not in sizes)
        times = prod(sizes[symbol] for symbol in product if symbol in sizes)
        total[rest] = total.get(rest, 0) + n * times
    return clause(total, equal=c.equal)


def from_linear(term: LinearTerm) -> Clause:
    """A clause of a launch condition as a clause of this module."""
    sums: dict[Product, int] = {(symbol,): n for n, symbol in term.terms}
    sums[()] = term.constant
    return clause(sums)


def launch_condition(clauses: Sequence[Clause]) -> LaunchCondition | None:
    """The conjunction for the launch entry, or None where it has products."""
    found = [c.linear() for c in clauses]
    known = [term for term in found if term is not None]
    return LaunchCondition(tuple(known)) if len(known) == len(found) else None


# -- text ------------------------------------------------------------------------------------------

_RELATIONS: Mapping[type[ast.cmpop], tuple[int, int, bool]] = {
    ast.LtE: (1, 0, False),
    ast.Lt: (1, -1, False),
    ast.GtE: (-1, 0, False),
    ast.Gt: (-1, -1, False),
    ast.Eq: (1, 0, True),
}


Sizes = Mapping[str, Symbol | tuple[Symbol, ...] | Sums]
"""Launch sizes by name; ``dim`` and ``a.shape`` are several at once, sums are known ones."""


def parse_clauses(text: str, names: Sizes) -> list[Clause]:
    """Comparisons of sums and products, such as ``dim[0] * w <= a.shape[0] and w == b.shape[1]``.

    Whole shapes may be compared for equality: ``dim == a.shape == b.shape``, or with a number that
    each extent is: ``dim == 1``.

    Raises:
        ValueError: anything else, naming the place and what is known.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"'{text}' is no comparison of launch sizes") from None
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    found: list[Clause] = []
    for part in parts:
        if not isinstance(part, ast.Compare):
            raise ValueError(f"'{ast.unparse(part)}' is no comparison of launch sizes")
        sides = [part.left, *part.comparators]
        for relation, lhs, rhs in zip(part.ops, sides, sides[1:], strict=False):
            shapes = [_shape(side, names) for side in (lhs, rhs)]
            match shapes:
                case [None, None]:
                    found.append(_compared(relation, lhs, rhs, names))
                case [tuple() as first, None]:
                    found += _equal_extents(relation, first, _sum(rhs, names))
                case [None, tuple() as second]:
                    found += _equal_extents(relation, second, _sum(lhs, names))
                case [tuple() as first, tuple() as second]:
                    found += _equal_shapes(relation, first, second)
    return found


def parse_sum(text: str, names: Sizes) -> dict[Product, int]:
    """A sum of products of launch sizes, such as ``2 * n + 1``.

    Raises:
        ValueError: anything else.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"'{text}' is no sum of launch sizes") from None
    return {product: n for product, n in _sum(tree, names).items() if n}


def _shape(node: ast.expr, names: Sizes) -> tuple[Symbol, ...] | None:
    found = names.get(ast.unparse(node))
    return found if isinstance(found, tuple) else None


def _equal_shapes(
    relation: ast.cmpop, first: tuple[Symbol, ...], second: tuple[Symbol, ...]
) -> list[Clause]:
    if not isinstance(relation, ast.Eq) or len(first) != len(second):
        raise ValueError("shapes are compared for equality, with shapes of the same rank")
    return [_equal({(a,): 1}, {(b,): 1}) for a, b in zip(first, second, strict=True)]


def _equal_extents(relation: ast.cmpop, shape: tuple[Symbol, ...], number: Sums) -> list[Clause]:
    if not isinstance(relation, ast.Eq):
        raise ValueError("shapes are compared for equality")
    return [_equal({(a,): 1}, number) for a in shape]


def _equal(lhs: Sums, rhs: Sums) -> Clause:
    total = dict(lhs)
    for product, n in rhs.items():
        total[product] = total.get(product, 0) - n
    return clause(total, equal=True)


def _compared(relation: ast.cmpop, lhs: ast.expr, rhs: ast.expr, names: Sizes) -> Clause:
    known = _RELATIONS.get(type(relation))
    if known is None:
        raise ValueError("launch sizes are compared with <, <=, >, >= and ==")
    sign, offset, equal = known
    total = _scaled(_sum(rhs, names), sign)
    for product, n in _scaled(_sum(lhs, names), -sign).items():
        total[product] = total.get(product, 0) + n
    total[()] = total.get((), 0) + offset
    return clause(total, equal=equal)


def _scaled(terms: Sums, factor: int) -> dict[Product, int]:
    return {product: factor * n for product, n in terms.items()}


def _sum(node: ast.expr, names: Sizes) -> dict[Product, int]:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return {(): number}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(_sum(operand, names), -1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            total = _sum(left, names)
            sign = 1 if isinstance(operator, ast.Add) else -1
            for product, n in _sum(right, names).items():
                total[product] = total.get(product, 0) + sign * n
            return total
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            total = {}
            for first, n in _sum(left, names).items():
                for second, m in _sum(right, names).items():
                    product = tuple(sorted((*first, *second)))
                    total[product] = total.get(product, 0) + n * m
            return total
    name = ast.unparse(node)
    symbol = names.get(name)
    if isinstance(symbol, Mapping):
        return dict(symbol)
    if not isinstance(symbol, Symbol):
        known = ", ".join(n for n, s in names.items() if not isinstance(s, tuple))
        raise ValueError(f"'{name}' is no launch size; there are {known}")
    return {(symbol,): 1}
