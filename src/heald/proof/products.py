"""Lemmas about products of unknowns, which make questions with products linear.

Every product becomes one unknown.  For two products ``a * f`` and ``b * f`` with ``f >= 0``, each
difference ``a - b >= c`` gives ``a * f - b * f >= c * f``; the same against numbers.  Products are
closed under dropping a factor, since ``x * h * w`` needs ``x * h``.  What follows from the lemmas
is true; what does not may be, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from heald.proof.terms import Monomial, Term

Linear = tuple[tuple[Monomial, int], ...]


@dataclass(frozen=True, slots=True)
class Lemma:
    """``goal`` where all ``conditions``: each a sum of products and a number, at least 0."""

    parts: tuple[tuple[Linear, int], ...]

    @property
    def conditions(self) -> list[tuple[Mapping[Monomial, int], int]]:
        """What must hold."""
        return [(dict(terms), offset) for terms, offset in self.parts[:-1]]

    @property
    def goal(self) -> tuple[Mapping[Monomial, int], int]:
        """What follows."""
        terms, offset = self.parts[-1]
        return dict(terms), offset


Range = Callable[[Term], tuple[int, int]]


def lemmas(
    products: Iterable[Monomial],
    range_of: Range,
    reach: int,
    numbers: Mapping[Term, Iterable[int]],
) -> Iterator[Lemma]:
    """Lemmas that relate products to each other and to their factors.

    Args:
        products: those that occur.
        range_of: of an unknown.
        reach: how far apart factors may be for their products to be related.
        numbers: with which unknowns are compared, beside 0 and 1.
    """
    closed = _close(products)
    by_rest: dict[Monomial, dict[Term, Monomial]] = {}
    for product in closed:
        for atom in dict.fromkeys(product):
            k = product.index(atom)
            by_rest.setdefault(product[:k] + product[k + 1 :], {})[atom] = product
    for rest, group in by_rest.items():
        for sign, conditions in _signs(rest, range_of):
            for atom, product in group.items():
                distances = {*range(-1, 2 if reach == 1 else 3), *numbers.get(atom, ())}
                for distance in sorted(distances):
                    yield from _step({(atom,): 1}, {product: 1}, rest, distance, sign, conditions)
            for (a, first), (b, second) in combinations(group.items(), 2):
                factors: dict[Monomial, int] = {(a,): 1, (b,): -1}
                for distance in range(-reach, reach + 1):
                    yield from _step(
                        factors, {first: 1, second: -1}, rest, distance, sign, conditions
                    )


def _close(products: Iterable[Monomial]) -> dict[Monomial, None]:
    """The products, products of their factors, and those of any two that are squared."""
    products = list(products)
    squares = [m[0] for m in products if len(m) == 2 and m[0] is m[1]]
    products += combinations(sorted(dict.fromkeys(squares), key=lambda atom: atom.number), 2)
    found: dict[Monomial, None] = {}
    work = list(products)
    while work:
        product = work.pop()
        if len(product) > 1 and product not in found:
            found[product] = None
            for k in range(len(product)):
                work.append(product[:k] + product[k + 1 :])
    return found


def _signs(rest: Monomial, range_of: Range) -> Iterator[tuple[int, tuple[tuple[Linear, int], ...]]]:
    """Signs that the common factor may have, each with the conditions under which it has it."""
    atoms = list(dict.fromkeys(rest))
    open_signs = [atom for atom in atoms if range_of(atom)[0] < 0]
    if not open_signs:
        yield 1, ()
        return
    yield 1, tuple(((((atom,), 1),), 0) for atom in open_signs)
    if len(rest) == 1:
        yield -1, ((((rest, -1),), 0),)


def _step(
    factors: Mapping[Monomial, int],
    products: Mapping[Monomial, int],
    rest: Monomial,
    distance: int,
    sign: int,
    conditions: tuple[tuple[Linear, int], ...],
) -> Iterator[Lemma]:
    """``factors >= distance`` gives ``products >= distance * rest``, and the same with ``<=``."""
    for way in (1, -1):
        condition = (_linear(factors, way), -way * distance)
        scaled = dict(products)
        scaled[rest] = scaled.get(rest, 0) - distance
        goal = (_linear(scaled, way * sign), 0)
        yield Lemma((*conditions, condition, goal))


def _linear(terms: Mapping[Monomial, int], factor: int) -> Linear:
    return tuple((m, factor * n) for m, n in terms.items() if n)
