"""Terms: what the prover says of values.  Frozen, interned, simplified as they are made.

Integers are polynomials over *atoms* with a range each, so that equal indices are one object and a
comparison that ranges decide never reaches a solver.  Equality of terms is identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd

Sort = str
"""``BOOL``, ``INT`` or ``DATA`` (opaque)."""

BOOL, INT, DATA = "bool", "int", "data"

_MOST_PRODUCTS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term; made by :class:`Terms` only.

    Attributes:
        kind: ``true false not and or`` · ``ge`` (the argument is at least 0) ``zero`` (it is 0)
            ``same`` (two equal values) · ``sum`` (a polynomial) ``ite`` · ``vector`` (an op on
            64 bits, see ``vector_terms``) · ``symbol`` (an unknown) ``apply`` (an unknown
            function).
        data: what tells terms of one kind with equal arguments apart.
        number: its age.
        depth: how deep arguments are nested in it.
    """

    kind: str
    sort: Sort
    args: tuple[Term, ...]
    data: Hashable
    number: int
    depth: int

    def __repr__(self) -> str:
        return show(self)


Monomial = tuple[Term, ...]
"""Atoms whose product it is, by age; empty for 1."""

Polynomial = Mapping[Monomial, int]


def _age(monomial: Monomial) -> tuple[int, ...]:
    return tuple(atom.number for atom in monomial)


def polynomial(term: Term) -> dict[Monomial, int]:
    """The coefficients of an integer term by monomial; the caller may change the result."""
    if term.kind == "sum":
        assert isinstance(term.data, tuple)
        return dict(zip(term.data[0], term.data[1], strict=True))
    return {(term,): 1}


def atoms(term: Term) -> tuple[Term, ...]:
    """The unknowns that an integer term is a polynomial in."""
    return term.args if term.kind == "sum" else (term,)


def constant_of(term: Term) -> int | None:
    """The number that an integer term is, or None."""
    if term.kind == "sum" and not term.args:
        return polynomial(term).get((), 0)
    return None


class Terms:
    """Makes terms; two terms of one maker that say the same are one object.

    Attributes:
        launch: unknowns that the launch knows, which conditions may speak of.
        quotients: for quotients by unknown divisors, dividend and divisor.
        rests: the same for their remainders.
    """

    def __init__(self) -> None:
        self.launch: set[Term] = set()
        self.quotients: dict[Term, tuple[Term, Term]] = {}
        self.rests: dict[Term, tuple[Term, Term]] = {}
        self._table: dict[Hashable, Term] = {}
        self._ranges: dict[Term, tuple[int, int]] = {}
        self._shared: dict[Term, bool] = {}
        self._definitions: dict[Term, list[Term]] = {}
        self._origins: dict[Term, tuple[Term, int]] = {}
        self._renamed: dict[tuple[Term, int], Term] = {}
        self._symbols: dict[Term, frozenset[Term]] = {}
        self.true = self._make("true", BOOL, (), None)
        self.false = self._make("false", BOOL, (), None)

    def _make(self, kind: str, sort: Sort, args: tuple[Term, ...], data: Hashable) -> Term:
        key = kind, sort, args, data
        found = self._table.get(key)
        if found is None:
            depth = 1 + max([arg.depth for arg in args], default=0)
            found = self._table[key] = Term(kind, sort, args, data, len(self._table), depth)
        return found

    # -- unknowns ----------------------------------------------------------------------------------

    def symbol(
        self,
        name: str,
        sort: Sort,
        low: int = 0,
        high: int = 0,
        *,
        shared: bool = False,
    ) -> Term:
        """A new unknown; integers lie between ``low`` and ``high``.

        ``shared`` means the same number for every thread of a launch.
        """
        made = self._make("symbol", sort, (), (name, len(self._table)))
        self._shared[made] = shared
        if sort == INT:
            self._ranges[made] = low, high
        return made

    def define(self, symbol: Term, *facts: Term) -> None:
        """Facts that hold of an unknown wherever it occurs."""
        known = self._definitions.setdefault(symbol, [])
        known += [fact for fact in facts if fact is not self.true]

    def definitions(self, symbol: Term) -> list[Term]:
        """What :meth:`define` said of an unknown, or of the one it is a copy of."""
        origin = self._origins.get(symbol)
        if origin is None:
            return self._definitions.get(symbol, [])
        return [self.rename(fact, origin[1]) for fact in self.definitions(origin[0])]

    def origin(self, symbol: Term) -> tuple[Term, int] | None:
        """Which unknown a symbol is a copy of, and for which thread; None for others."""
        return self._origins.get(symbol)

    def apply(
        self, name: str, sort: Sort, args: Iterable[Term], low: int = 0, high: int = 0
    ) -> Term:
        """An unknown function of terms: equal arguments give equal results."""
        made = self._make("apply", sort, tuple(args), name)
        if sort == INT:
            self._ranges[made] = low, high
        return made

    def is_shared(self, term: Term) -> bool:
        """Is the term the same for every thread of a launch?"""
        found = self._shared.get(term)
        if found is None:
            found = self._shared[term] = all(self.is_shared(arg) for arg in term.args)
        return found

    # -- integers ----------------------------------------------------------------------------------

    def integer(self, number: int) -> Term:
        """A number."""
        return self.sum_of({(): number})

    def sum_of(self, coefficients: Mapping[Monomial, int]) -> Term:
        """The polynomial with these coefficients."""
        kept = {m: n for m, n in coefficients.items() if n}
        if len(kept) == 1:
            ((monomial, count),) = kept.items()
            if count == 1 and len(monomial) == 1:
                return monomial[0]
        monomials = tuple(sorted(kept, key=_age))
        atoms = dict.fromkeys(atom for monomial in monomials for atom in monomial)
        data = monomials, tuple(kept[m] for m in monomials)
        return self._make("sum", INT, tuple(atoms), data)

    def add(self, x: Term, y: Term, factor: int = 1) -> Term:
        """``x + factor * y``."""
        total = polynomial(x)
        for monomial, count in polynomial(y).items():
            total[monomial] = total.get(monomial, 0) + factor * count
        return self.sum_of(total)

    def subtract(self, x: Term, y: Term) -> Term:
        """``x - y``."""
        return self.add(x, y, -1)

    def plus(self, x: Term, number: int) -> Term:
        """``x + number``."""
        return self.add(x, self.integer(number))

    def scale(self, x: Term, factor: int) -> Term:
        """``factor * x``."""
        return self.sum_of({m: factor * n for m, n in polynomial(x).items()})

    def multiply(self, x: Term, y: Term) -> Term:
        """``x * y``."""
        lhs, rhs = polynomial(x), polynomial(y)
        if len(lhs) * len(rhs) > _MOST_PRODUCTS:
            corners = [a * b for a in self.range(x) for b in self.range(y)]
            args = sorted((x, y), key=lambda term: term.number)
            return self.apply("product", INT, args, min(corners), max(corners))
        total: dict[Monomial, int] = {}
        for m, a in lhs.items():
            for n, b in rhs.items():
                both = tuple(sorted((*m, *n), key=lambda atom: atom.number))
                total[both] = total.get(both, 0) + a * b
        return self.sum_of(total)

    def range(self, term: Term) -> tuple[int, int]:
        """The least and the greatest number that an integer term can be, by its atoms alone."""
        found = self._ranges.get(term)
        if found is None:
            found = self._ranges[term] = self._find_range(term)
        return found

    def _find_range(self, term: Term) -> tuple[int, int]:
        if term.kind == "ite":
            sides = [self.range(side) for side in term.args[1:]]
            return min(low for low, _ in sides), max(high for _, high in sides)
        low = high = 0
        for monomial, count in polynomial(term).items():
            least, most = self._product_range(monomial)
            low += count * (least if count > 0 else most)
            high += count * (most if count > 0 else least)
        return low, high

    def _product_range(self, monomial: Monomial) -> tuple[int, int]:
        low = high = 1
        for atom in dict.fromkeys(monomial):
            power = monomial.count(atom)
            ends = [n**power for n in self.range(atom)]
            if power % 2 == 0 and self.range(atom)[0] < 0 < self.range(atom)[1]:
                ends.append(0)
            corners = [a * b for a in (low, high) for b in (min(ends), max(ends))]
            low, high = min(corners), max(corners)
        return low, high

    def is_exact(self, x: Term) -> bool:
        """May the number be compared?"""
        return True

    # -- truth values ------------------------------------------------------------------------------

    def truth(self, known: bool) -> Term:
        """True or false."""
        return self.true if known else self.false

    def at_least(self, x: Term, y: Term) -> Term:
        """``x >= y`` of integers."""
        return self.non_negative(self.subtract(x, y))

    def less(self, x: Term, y: Term) -> Term:
        """``x < y`` of integers."""
        return self.non_negative(self.plus(self.subtract(y, x), -1))

    def between(self, low: int, x: Term, high: int) -> Term:
        """``low <= x <= high`` of integers."""
        return self.both(
            self.non_negative(self.plus(x, -low)), self.less(x, self.integer(high + 1))
        )

    def non_negative(self, x: Term) -> Term:
        """``x >= 0``, with factors that have no common divisor."""
        low, high = self.range(x)
        if low >= 0:
            return self.true
        if high < 0:
            return self.false
        terms = polynomial(x)
        offset = terms.pop((), 0)
        divisor = gcd(*terms.values())
        if divisor > 1:
            terms = {m: n // divisor for m, n in terms.items()}
            offset //= divisor  # rounded down: the rest is a multiple of the divisor
            x = self.sum_of({**terms, (): offset})
        return self._make("ge", BOOL, (x,), None)

    def zero(self, x: Term) -> Term:
        """``x == 0``."""
        low, high = self.range(x)
        if low == high == 0:
            return self.true
        if low > 0 or high < 0:
            return self.false
        terms = polynomial(x)
        divisor = gcd(*(n for m, n in terms.items() if m))
        if terms.get((), 0) % divisor:
            return self.false
        leading = max(terms, key=_age)
        sign = divisor if terms[leading] > 0 else -divisor
        return self._make(
            "zero", BOOL, (self.sum_of({m: n // sign for m, n in terms.items()}),), None
        )

    def same(self, x: Term, y: Term) -> Term:
        """``x == y``, of any one sort."""
        if x is y:
            return self.true
        if x.sort == INT:
            return self.zero(self.subtract(x, y))
        for a, b in ((x, y), (y, x)):
            if a is self.true:
                return b
            if a is self.false:
                return self.negate(b)
        first, second = sorted((x, y), key=lambda term: term.number)
        return self._make("same", BOOL, (first, second), None)

    def negate(self, x: Term) -> Term:
        """Not ``x``."""
        match x.kind:
            case "true":
                return self.false
            case "false":
                return self.true
            case "not":
                return x.args[0]
            case "ge":
                return self.non_negative(self.plus(self.scale(x.args[0], -1), -1))
            case "zero":
                return self._nonzero(x)
            case _:
                return self._make("not", BOOL, (x,), None)

    def _nonzero(self, zero: Term) -> Term:
        """What is never negative, or never positive, is at least 1 from 0."""
        total = zero.args[0]
        low, high = self.range(total)
        if low >= 0:
            return self.non_negative(self.plus(total, -1))
        if high <= 0:
            return self.non_negative(self.plus(self.scale(total, -1), -1))
        return self._make("not", BOOL, (zero,), None)

    def both(self, *parts: Term) -> Term:
        """All of ``parts``."""
        return self._join("and", self.true, self.false, parts)

    def either(self, *parts: Term) -> Term:
        """At least one of ``parts``."""
        return self._join("or", self.false, self.true, parts)

    def implies(self, x: Term, y: Term) -> Term:
        """``y`` wherever ``x``."""
        return self.either(self.negate(x), y)

    def _join(self, kind: str, neutral: Term, absorbing: Term, parts: Iterable[Term]) -> Term:
        kept: dict[Term, None] = {}
        for part in parts:
            for piece in part.args if part.kind == kind else (part,):
                kept[piece] = None
        kept.pop(neutral, None)
        if absorbing in kept or any(self.negate(piece) in kept for piece in kept):
            return absorbing
        if len(kept) < 2:
            return next(iter(kept), neutral)
        return self._make(kind, BOOL, tuple(kept), None)

    # -- choice ------------------------------------------------------------------------------------

    def choose(self, condition: Term, x: Term, y: Term) -> Term:
        """``x`` where the condition is true, else ``y``; of any one sort."""
        if condition is self.true or x is y:
            return x
        if condition is self.false:
            return y
        if x.sort == BOOL:
            return self.both(self.implies(condition, x), self.either(condition, y))
        return self._make("ite", x.sort, (condition, x, y), None)

    # -- traversal ---------------------------------------------------------------------------------

    def rebuild(self, term: Term, args: tuple[Term, ...]) -> Term:
        """The term with other arguments, simplified again."""
        match term.kind:
            case "sum":
                return self._rebuild_sum(term, dict(zip(term.args, args, strict=True)))
            case "ge":
                return self.non_negative(args[0])
            case "zero":
                return self.zero(args[0])
            case "same":
                return self.same(*args)
            case "not":
                return self.negate(args[0])
            case "and":
                return self.both(*args)
            case "or":
                return self.either(*args)
            case "ite":
                return self.choose(*args)
            case "apply":
                low, high = self._ranges.get(term, (0, 0))
                return self.apply(str(term.data), term.sort, args, low, high)
            case _:
                return self._make(term.kind, term.sort, args, term.data)

    def _rebuild_sum(self, term: Term, by_atom: Mapping[Term, Term]) -> Term:
        total = self.integer(0)
        for monomial, count in polynomial(term).items():
            product = self.integer(count)
            for atom in monomial:
                product = self.multiply(product, by_atom[atom])
            total = self.add(total, product)
        return total

    def rename(self, term: Term, thread: int) -> Term:
        """What the term is for another thread: every symbol that is not shared gets a copy."""
        found = self._renamed.get((term, thread))
        if found is not None:
            return found
        if self.is_shared(term):
            found = term
        elif term.kind == "symbol":
            found = self._make(
                "symbol", term.sort, (), (f"{show(term)}@{thread}", term.number, thread)
            )
            self._origins[found] = term, thread
            self._shared[found] = False
            if term.sort == INT:
                self._ranges[found] = self._ranges[term]
        else:
            found = self.rebuild(term, tuple([self.rename(arg, thread) for arg in term.args]))
        self._renamed[term, thread] = found
        return found

    def symbols(self, term: Term) -> frozenset[Term]:
        """Every symbol and unknown integer function value in a term."""
        found = self._symbols.get(term)
        if found is None:
            own = frozenset([term]) if term.kind in ("symbol", "apply") else frozenset()
            found = self._symbols[term] = own.union(*map(self.symbols, term.args))
        return found


def walk(term: Term) -> Iterator[Term]:
    """The term and every term in it, each once."""
    seen: set[Term] = set()
    work = [term]
    while work:
        here = work.pop()
        if here not in seen:
            seen.add(here)
            work += here.args
            yield here


# ------------------------------------------------------------------------------------ text

_INFIX: Mapping[str, str] = {"and": " and ", "or": " or ", "same": " == "}


def show(term: Term) -> str:
    """A term for people to read."""
    match term.kind:
        case "sum":
            return show_sum(polynomial(term), show)
        case "ge":
            return f"{show(term.args[0])} >= 0"
        case "zero":
            return f"{show(term.args[0])} == 0"
        case "and" | "or" | "same":
            return _INFIX[term.kind].join(f"({show(arg)})" for arg in term.args)
        case "not":
            return f"not ({show(term.args[0])})"
        case "ite":
            condition, x, y = map(show, term.args)
            return f"({x} if {condition} else {y})"
        case "apply":
            return f"{term.data}({', '.join(map(show, term.args))})"
        case "vector" | "symbol":
            assert isinstance(term.data, tuple)
            name = str(term.data[0])
            return f"{name}({', '.join(map(show, term.args))})" if term.args else name
        case kind:
            return kind


def show_sum(terms: Polynomial, name: Callable[[Term], str]) -> str:
    """A polynomial for people to read."""
    pieces = []
    for monomial, count in terms.items():
        product = " * ".join(map(name, monomial))
        size = abs(count)
        text = str(size) if not product else product if size == 1 else f"{size} * {product}"
        pieces.append(("- " if count < 0 else "+ ") + text)
    joined = " ".join(pieces)
    return joined.removeprefix("+ ") if pieces else "0"
