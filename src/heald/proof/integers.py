"""The integer encoding: machine integers as unbounded ones, each within the range of its type.

What may wrap is asked of ``fit``, which either knows that the exact result fits or gives the
wrapped one.  Floats are opaque: equal operands give equal results, and nothing else is known.
Bit operations with constants become sums of quotients and remainders; others are bounded only, and
``approximated`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from heald.ir import Op
from heald.ops import TABLE
from heald.proof.terms import BOOL, DATA, INT, Sort, Term, Terms, constant_of
from heald.types import Scalar, b1

_MOST_RUNS = 4


class Fit(Protocol):
    """Decides what an op gives whose exact result may lie outside its type."""

    def __call__(self, op: Op, exact: Term, t: Scalar, /) -> Term:
        """``exact`` where it fits ``t``, else what it wraps to."""


def scalar(t: object) -> Scalar:
    """A type that is known to be a scalar."""
    assert isinstance(t, Scalar)
    return t


def sort_of(t: Scalar) -> Sort:
    """How values of a type are written."""
    return BOOL if t is b1 else INT if t.is_integer else DATA


class Integers:
    """Implements the ``Smt`` protocol of the ops over :class:`Terms`.

    Attributes:
        wraps: whether results are wrapped at once, so that none has to be shown to fit.
        approximated: results of which this encoding knows bounds only.
        turns: what tells whether the result of an op wrapped: here how many times 2^bits were taken
            off, or a member of ``lost``.
        lost: numbers that may be no exact results of their arithmetic, of which nothing more is
            known.
    """

    wraps = False

    def __init__(self, terms: Terms, fit: Fit) -> None:
        self.terms = terms
        self.fit = fit
        self.approximated: set[Term] = set()
        self.turns: dict[Term, Op] = {}
        self.lost: set[Term] = set()
        self._made: dict[object, Any] = {}
        self._remainders: dict[Term, Term] = {}

    def __getattr__(self, name: str) -> Callable[..., Term]:
        meaning = _MEANINGS.get(name)
        if meaning is not None:
            return partial(meaning, self)
        if name in TABLE:
            return self.opaque
        raise AttributeError(name)

    # -- values ------------------------------------------------------------------------------------

    def constant(self, t: Scalar, value: bool | int | float) -> Term:
        """A number of a type."""
        if t is b1:
            return self.terms.truth(bool(value))
        if t.is_integer:
            return self.terms.integer(int(value))
        number = float(value)
        text = "nan" if number != number else number.hex()
        return self.terms.apply(f"{t} {text}", DATA, ())

    def unknown(self, t: Scalar, name: str, *, shared: bool = False) -> Term:
        """Any number of a type."""
        low, high = (t.lowest, t.highest) if t.is_integer else (0, 0)
        return self.terms.symbol(name, sort_of(t), low, high, shared=shared)

    def encode(self, op: Op, *terms: Term) -> Term:
        """The result of a value op."""
        found = TABLE[op.name].smt(self, op, *terms)
        assert isinstance(found, Term)
        return found

    def opaque(self, op: Op, *terms: Term) -> Term:
        """The result of a value op of which only this is known: equal operands, equal result."""
        t = scalar(op.result.type)
        attrs = " ".join(f"{key}={value}" for key, value in sorted(op.attrs.items()))
        types = ",".join(str(v.type) for v in op.operands)
        low, high = _RANGES.get(op.name, _full_range)(op)
        name = f"{op.name} {attrs} {types} {t}"
        return self.terms.apply(name, sort_of(t), terms, low, high)

    def computed(self, op: Op, exact: Term) -> Term:
        """The result of arithmetic whose exact result may lie outside its type."""
        return self.fit(op, exact, scalar(op.result.type))

    def is_exact(self, turn: Term) -> Term:
        """Where the result of which one of ``turns`` tells did not wrap."""
        return self.terms.false if turn in self.lost else self.terms.zero(turn)

    def lose(self, op: Op, made: Term) -> None:
        """Whether a number is the exact result of arithmetic with ``op`` is not known."""
        self.turns[made] = op
        self.lost.add(made)

    # -- exact helpers -----------------------------------------------------------------------------

    def wrapped(self, exact: Term, t: Scalar) -> tuple[Term, Term]:
        """``exact`` wrapped into the range of ``t``, and how many times 2^bits were taken off."""
        terms = self.terms
        low, high = terms.range(exact)
        size = 1 << t.bits
        least, most = (low - t.lowest) // size, (high - t.lowest) // size
        if least == most:
            return terms.plus(exact, -least * size), terms.integer(least)

        def make() -> Term:
            turns = terms.symbol("turns", INT, least, most, shared=terms.is_shared(exact))
            value = terms.add(exact, turns, -size)
            terms.define(turns, terms.between(t.lowest, value, t.highest))
            return turns

        turns = self._once(("turns", exact, t), make)
        return terms.add(exact, turns, -size), turns

    def _once(self, key: object, make: Callable[[], Any]) -> Any:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
        return found

    def reread(self, x: Term, t: Scalar, *, signed: bool) -> Term:
        """The bits of ``x``, a number of type ``t``, read as a signed or unsigned number."""
        terms = self.terms
        half, size = 1 << (t.bits - 1), 1 << t.bits
        if signed == (t.kind == "i"):
            return x
        if signed:
            return terms.choose(terms.less(x, terms.integer(half)), x, terms.plus(x, -size))
        return terms.choose(terms.non_negative(x), x, terms.plus(x, size))

    def floor_pair(self, x: Term, divisor: int) -> tuple[Term, Term]:
        """Quotient rounded down and remainder of a division by a positive number."""
        terms = self.terms
        known = constant_of(x)
        if known is not None:
            return terms.integer(known // divisor), terms.integer(known % divisor)

        def make() -> tuple[Term, Term]:
            low, high = terms.range(x)
            if divisor == 1:
                return x, terms.integer(0)
            if low // divisor == high // divisor:
                quotient = terms.integer(low // divisor)
                return quotient, terms.add(x, quotient, -divisor)
            shared = terms.is_shared(x)
            quotient = terms.symbol("q", INT, low // divisor, high // divisor, shared=shared)
            rest = terms.symbol("r", INT, 0, divisor - 1, shared=shared)
            link = terms.same(x, terms.add(rest, quotient, divisor))
            terms.define(quotient, link)
            terms.define(rest, link)
            self._remainders[terms.add(x, quotient, -divisor)] = rest
            return quotient, rest

        pair: tuple[Term, Term] = self._once(("floor", x, divisor), make)
        return pair

    def truncated_pair(self, x: Term, divisor: Term) -> tuple[Term, Term]:
        """Quotient rounded towards zero and remainder; the divisor is not 0."""
        terms = self.terms
        number = constant_of(divisor)
        low, high = terms.range(x)
        if number is not None and number != 0:
            if low >= 0:
                quotient, rest = self.floor_pair(x, abs(number))
            elif high <= 0:
                quotient, rest = self.floor_pair(terms.scale(x, -1), abs(number))
                quotient, rest = terms.scale(quotient, -1), terms.scale(rest, -1)
            else:
                quotient, rest = self._once(
                    ("truncate", x, divisor), lambda: self._divide(x, abs(number))
                )
            return terms.scale(quotient, -1 if number < 0 else 1), rest
        pair: tuple[Term, Term] = self._once(
            ("truncate", x, divisor), lambda: self._divide_by_term(x, divisor)
        )
        return pair

    def _divide(self, x: Term, divisor: int) -> tuple[Term, Term]:
        terms = self.terms
        low, high = terms.range(x)
        shared = terms.is_shared(x)
        quotient = terms.symbol("q", INT, -(-low // divisor), high // divisor, shared=shared)
        rest = terms.symbol("r", INT, max(low, 1 - divisor), min(high, divisor - 1), shared=shared)
        link = terms.same(x, terms.add(rest, quotient, divisor))
        up = terms.implies(terms.non_negative(x), terms.non_negative(rest))
        down = terms.implies(
            terms.negate(terms.non_negative(x)),
            terms.negate(terms.at_least(rest, terms.integer(1))),
        )
        for symbol in (quotient, rest):
            terms.define(symbol, link, up, down)
        self._remainders[terms.add(x, quotient, -divisor)] = rest
        return quotient, rest

    def _divide_by_term(self, x: Term, divisor: Term) -> tuple[Term, Term]:
        """Nothing is said for divisor 0: that is a fault, and what comes after it is not judged."""
        terms = self.terms
        size = max(map(abs, terms.range(x)))
        widest = max(map(abs, terms.range(divisor)))
        limit = max(0, min(size, widest - 1))
        positive = terms.range(x)[0] >= 0
        both_positive = positive and terms.range(divisor)[0] >= 0
        shared = terms.is_shared(x) and terms.is_shared(divisor)
        quotient = terms.symbol("q", INT, 0 if both_positive else -size, size, shared=shared)
        rest = terms.symbol("r", INT, 0 if positive else -limit, limit, shared=shared)
        product = terms.multiply(quotient, divisor)
        up, right = terms.non_negative(x), terms.at_least(divisor, terms.integer(1))
        left = terms.less(divisor, terms.integer(0))
        zero = terms.integer(0)
        facts = [
            terms.implies(terms.either(right, left), terms.same(x, terms.add(product, rest))),
            terms.implies(up, terms.non_negative(rest)),
            terms.implies(terms.negate(up), terms.at_least(zero, rest)),
            terms.implies(
                right,
                terms.both(terms.less(rest, divisor), terms.less(terms.scale(divisor, -1), rest)),
            ),
            terms.implies(
                left,
                terms.both(terms.less(divisor, rest), terms.less(rest, terms.scale(divisor, -1))),
            ),
            terms.implies(
                terms.both(up, right),
                terms.both(terms.non_negative(quotient), terms.at_least(x, quotient)),
            ),
        ]
        for symbol in (quotient, rest):
            terms.define(symbol, *facts)
        self._remainders[terms.subtract(x, product)] = rest
        terms.quotients[quotient] = terms.rests[rest] = x, divisor
        return quotient, rest

    def difference(self, exact: Term) -> Term:
        """The remainder that a difference ``x - divisor * quotient`` is, where it is one."""
        return self._remainders.get(exact, exact)

    def extreme(self, x: Term, y: Term, *, least: bool) -> Term:
        """The smaller or the greater of two numbers."""
        terms = self.terms
        smaller = terms.at_least(y, x)
        if smaller in (terms.true, terms.false):
            return x if (smaller is terms.true) == least else y

        def make() -> Term:
            (a, b), (c, d) = terms.range(x), terms.range(y)
            low, high = (min(a, c), min(b, d)) if least else (max(a, c), max(b, d))
            shared = terms.is_shared(x) and terms.is_shared(y)
            made = terms.symbol("min" if least else "max", INT, low, high, shared=shared)
            for other in (x, y):
                terms.define(
                    made, terms.at_least(other, made) if least else terms.at_least(made, other)
                )
            terms.define(made, terms.either(terms.same(made, x), terms.same(made, y)))
            return made

        first, second = sorted((x, y), key=lambda term: term.number)
        made: Term = self._once(("extreme", first, second, least), make)
        return made

    def masked(self, x: Term, mask: int) -> Term | None:
        """``x & mask``, or None where the mask has too many runs of ones."""
        terms = self.terms
        if mask < 0:  # all but the bits of the complement
            cleared = self.masked(x, ~mask)
            return None if cleared is None else terms.subtract(x, cleared)
        total, runs, position = terms.integer(0), 0, 0
        while mask >> position:
            if not mask >> position & 1:
                position += 1
                continue
            length = 1
            while mask >> (position + length) & 1:
                length += 1
            runs += 1
            if runs > _MOST_RUNS:
                return None
            shifted, _ = self.floor_pair(x, 1 << position)
            _, field = self.floor_pair(shifted, 1 << length)
            total = terms.add(total, field, 1 << position)
            position += length
        return total

    def bounded(
        self,
        key: str,
        x: Term,
        y: Term,
        low: int,
        high: int,
        *facts: Callable[[Term], Term],
    ) -> Term:
        """An op of which only bounds are known."""
        terms = self.terms

        def make() -> Term:
            shared = terms.is_shared(x) and terms.is_shared(y)
            made = terms.symbol(key, INT, low, high, shared=shared)
            terms.define(made, *(fact(made) for fact in facts))
            self.approximated.add(made)
            return made

        made: Term = self._once((key, x, y, low, high), make)
        return made


# -- arithmetic ------------------------------------------------------------------------------------


def _type(op: Op) -> Scalar:
    return scalar(op.result.type)


def _operand(op: Op) -> Scalar:
    return scalar(op.operands[0].type)


def _isub(e: Integers, op: Op, x: Term, y: Term) -> Term:
    return e.fit(op, e.difference(e.terms.subtract(x, y)), _type(op))


def _quotient(e: Integers, op: Op, x: Term, y: Term) -> Term:
    return e.fit(op, e.truncated_pair(x, y)[0], _type(op))


def _remainder(e: Integers, op: Op, x: Term, y: Term) -> Term:
    return e.truncated_pair(x, y)[1]


# -- bits ------------------------------------------------------------------------------------------


def _constant_side(x: Term, y: Term) -> tuple[Term, int] | None:
    for a, b in ((x, y), (y, x)):
        number = constant_of(b)
        if number is not None:
            return a, number
    return None


def _iand(e: Integers, op: Op, x: Term, y: Term) -> Term:
    terms = e.terms
    t = _type(op)
    if t is b1:
        return terms.both(x, y)
    side = _constant_side(x, y)
    if side is not None:
        found = e.masked(*side)
        if found is not None:
            return found
    first, second = sorted((x, y), key=lambda term: term.number)
    above = [term for term in (first, second) if terms.range(term)[0] >= 0]
    if not above:
        return e.bounded("iand", first, second, t.lowest, t.highest)
    high = min(terms.range(term)[1] for term in above)
    return e.bounded("iand", first, second, 0, high, *(_below(e, term) for term in above))


def _below(e: Integers, term: Term) -> Callable[[Term], Term]:
    return lambda made: e.terms.at_least(term, made)


def _above(e: Integers, term: Term) -> Callable[[Term], Term]:
    return lambda made: e.terms.at_least(made, term)


def _either_bits(name: str, shared_bits: int) -> Callable[[Integers, Op, Term, Term], Term]:
    """``x | y`` is ``x + y - (x & y)``, and ``x ^ y`` takes ``x & y`` off twice."""

    def meaning(e: Integers, op: Op, x: Term, y: Term) -> Term:
        terms = e.terms
        t = _type(op)
        if t is b1:
            if name == "ior":
                return terms.either(x, y)
            return terms.negate(terms.same(x, y))
        side = _constant_side(x, y)
        if side is not None:
            found = e.masked(*side)
            if found is not None:
                exact = terms.add(terms.add(x, y), found, -shared_bits)
                return e.fit(op, exact, t)  # it always fits, but ranges alone may not show it
        first, second = sorted((x, y), key=lambda term: term.number)
        if terms.range(x)[0] < 0 or terms.range(y)[0] < 0:
            made = terms.apply(f"{name} {t}", INT, (first, second), t.lowest, t.highest)
            e.approximated.add(made)
            return made
        most = max(terms.range(x)[1], terms.range(y)[1])
        high = min(t.highest, (1 << most.bit_length()) - 1)
        total = terms.add(x, y)

        def below(made: Term) -> Term:
            return terms.at_least(total, made)

        facts = [below, _above(e, x), _above(e, y)] if name == "ior" else [below]
        return e.bounded(name, first, second, 0, high, *facts)

    return meaning


def _inot(e: Integers, op: Op, x: Term) -> Term:
    t = _type(op)
    if t is b1:
        return e.terms.negate(x)
    flipped = e.terms.plus(e.terms.scale(x, -1), -1)
    return flipped if t.kind == "i" else e.terms.plus(flipped, 1 << t.bits)


def _shift_count(op: Op, y: Term) -> int | None:
    number = constant_of(y)
    return None if number is None else number % _type(op).bits


def _shl(e: Integers, op: Op, x: Term, y: Term) -> Term:
    t = _type(op)
    count = _shift_count(op, y)
    if count is None:
        return _shl_unknown(e, op, x, y, t)
    return e.fit(op, e.terms.scale(x, 1 << count), t)


def _shl_unknown(e: Integers, op: Op, x: Term, y: Term, t: Scalar) -> Term:
    """Any number; whether it is the exact one is known on bits only."""
    made = e.bounded(f"shl {t}", x, y, t.lowest, t.highest)
    if t.kind == "i":
        e.lose(op, made)
    return made


def _shift_right(signed: bool) -> Callable[[Integers, Op, Term, Term], Term]:
    def meaning(e: Integers, op: Op, x: Term, y: Term) -> Term:
        terms = e.terms
        t = _type(op)
        bits = e.reread(x, t, signed=signed)
        count = _shift_count(op, y)
        if count is not None:
            return _reread_back(e, e.floor_pair(bits, 1 << count)[0], t, signed=signed)
        name = f"{op.name} {t}"  # the count is modulo the width
        if terms.range(bits)[0] < 0:
            return e.bounded(name, x, y, t.lowest, t.highest)
        high = min(t.highest, terms.range(bits)[1])
        return e.bounded(name, x, y, 0, high, lambda made: terms.at_least(bits, made))

    return meaning


def _reread_back(e: Integers, x: Term, t: Scalar, *, signed: bool) -> Term:
    """A number that was read as signed or unsigned, as a value of ``t`` again."""
    if signed == (t.kind == "i"):
        return x
    size, terms = 1 << t.bits, e.terms
    if signed:
        return terms.choose(terms.non_negative(x), x, terms.plus(x, size))
    return terms.choose(terms.less(x, terms.integer(size >> 1)), x, terms.plus(x, -size))


# -- comparison and choice -------------------------------------------------------------------------


def _icmp(e: Integers, op: Op, x: Term, y: Term) -> Term:
    terms = e.terms
    pred = str(op.attrs["pred"])
    if pred in ("eq", "ne"):
        equal = terms.same(x, y)
        return equal if pred == "eq" else terms.negate(equal)
    t = _operand(op)
    x, y = (e.reread(side, t, signed=pred[0] == "s") for side in (x, y))
    match pred[1:]:
        case "lt":
            return _signs_differ(e, x, y) or terms.less(x, y)
        case "le":
            return terms.at_least(y, x)
        case "gt":
            return terms.less(y, x)
        case _:
            negative = _signs_differ(e, x, y)
            return terms.at_least(x, y) if negative is None else terms.negate(negative)


def _signs_differ(e: Integers, x: Term, y: Term) -> Term | None:
    """``(a ^ b) < 0`` asks whether the signs differ."""
    if constant_of(y) != 0 or x.kind != "apply" or not str(x.data).startswith("ixor i"):
        return None
    a, b = (e.terms.non_negative(arg) for arg in x.args)
    return e.terms.negate(e.terms.same(a, b))


# -- conversions -----------------------------------------------------------------------------------


def _into(e: Integers, op: Op, exact: Term) -> Term:
    """A number in the range of the result type, modulo 2^bits."""
    return e.fit(op, exact, _type(op))


def _sext(e: Integers, op: Op, x: Term) -> Term:
    return _into(e, op, e.reread(x, _operand(op), signed=True))


def _zext(e: Integers, op: Op, x: Term) -> Term:
    t = _operand(op)
    if t is b1:
        return e.terms.choose(x, e.terms.integer(1), e.terms.integer(0))
    return _into(e, op, e.reread(x, t, signed=False))


def _bitcast(e: Integers, op: Op, x: Term) -> Term:
    source, target = _operand(op), _type(op)
    if source.is_integer and target.is_integer:
        return e.reread(x, source, signed=target.kind == "i")
    return e.opaque(op, x)


def _full_range(op: Op) -> tuple[int, int]:
    t = _type(op)
    return (t.lowest, t.highest) if t.is_integer else (0, 0)


def _bit_count(op: Op) -> tuple[int, int]:
    return 0, _type(op).bits


_RANGES: Mapping[str, Callable[[Op], tuple[int, int]]] = {
    "popcount": _bit_count,
    "clz": _bit_count,
}

_MEANINGS: Mapping[str, Callable[..., Term]] = {
    "iadd": lambda e, op, x, y: e.fit(op, e.terms.add(x, y), _type(op)),
    "isub": _isub,
    "imul": lambda e, op, x, y: e.fit(op, e.terms.multiply(x, y), _type(op)),
    "ineg": lambda e, op, x: e.fit(op, e.terms.scale(x, -1), _type(op)),
    "idiv": _quotient,
    "udiv": _quotient,
    "irem": _remainder,
    "urem": _remainder,
    "smin": lambda e, op, x, y: e.extreme(x, y, least=True),
    "umin": lambda e, op, x, y: e.extreme(x, y, least=True),
    "smax": lambda e, op, x, y: e.extreme(x, y, least=False),
    "umax": lambda e, op, x, y: e.extreme(x, y, least=False),
    "iand": _iand,
    "ior": _either_bits("ior", 1),
    "ixor": _either_bits("ixor", 2),
    "inot": _inot,
    "shl": _shl,
    "lshr": _shift_right(signed=False),
    "ashr": _shift_right(signed=True),
    "icmp": _icmp,
    "select": lambda e, op, c, x, y: e.terms.choose(c, x, y),
    "sext": _sext,
    "zext": _zext,
    "trunc": _into,
    "bitcast": _bitcast,
}
