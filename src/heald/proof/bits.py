"""The exact encoding of integer ops on 64 bits; floats are opaque as in ``integers``.

A result is wrapped to its type at once, so nothing has to be shown to fit.  It is slower than the
integers wherever those are enough, and the only one that understands shifts by unknown counts and
bitwise operations on two unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heald.ir import Op
from heald.proof.integers import Integers, scalar
from heald.proof.terms import INT, Term, constant_of
from heald.proof.vector_terms import LOWEST, WIDTH, Inexact, VectorTerms
from heald.types import Scalar, b1, u64


class Bits(Integers):
    """Implements the ``Smt`` protocol of the ops over :class:`VectorTerms`.

    Attributes:
        exact: for results in ``turns``, which may have wrapped: what they were before.
    """

    wraps = True

    def __init__(self, terms: VectorTerms) -> None:
        super().__init__(terms, lambda op, exact, t: self.wrap(exact, t))
        self.vectors = terms
        self.exact: dict[Term, Term] = {}

    def __getattr__(self, name: str) -> Callable[..., Term]:
        meaning = _MEANINGS.get(name)
        if meaning is None:
            return super().__getattr__(name)
        return lambda op, *terms: meaning(self, op, *terms)

    # -- helpers -----------------------------------------------------------------------------------

    def wrap(self, x: Term, t: Scalar) -> Term:
        """The number of type ``t`` with the low bits of ``x``."""
        if t is u64:
            return x  # of 64 bits there is one reading: that of the op that reads them
        low, high = self.vectors.range(x)
        if t.lowest <= low and high <= t.highest:
            return x
        number = constant_of(x)
        if number is not None:
            return self.vectors.integer((number - t.lowest) % (1 << t.bits) + t.lowest)
        name = "low_signed" if t.kind == "i" else "low_unsigned"
        return self.vectors.vector(name, INT, x, low=t.lowest, high=t.highest, data=t.bits)

    def computed(self, op: Op, exact: Term) -> Term:
        """The result of signed arithmetic, of which may be asked whether it wrapped."""
        t = scalar(op.result.type)
        if t.kind != "i":
            return self.wrap(exact, t)
        low, high = self.vectors.range(exact)
        if t.lowest <= low and high <= t.highest:
            return exact
        made = self.vectors.vector(
            "low_signed", INT, exact, low=t.lowest, high=t.highest, data=t.bits
        )
        if t.bits < WIDTH and self.vectors.is_exact(exact):
            self.turns[made], self.exact[made] = op, exact
        else:
            self.lose(op, made)
        return made

    def is_exact(self, turn: Term) -> Term:
        """Where a result did not wrap."""
        return self.terms.false if turn in self.lost else self.terms.same(turn, self.exact[turn])

    def read_as(self, x: Term, t: Scalar, *, signed: bool) -> Term:
        """The bits of a value of type ``t`` as a signed or unsigned number."""
        if signed == (t.kind == "i") or (t.bits == WIDTH and not signed):
            return x
        name = "low_signed" if signed else "low_unsigned"
        low, high = self.vectors.range(x)
        half = 1 << (t.bits - 1)
        if (low, high) == (max(low, 0), min(high, half - 1)):
            return x
        least, most = (-half, half - 1) if signed else (0, 2 * half - 1)
        return self.vectors.vector(name, INT, x, low=least, high=most, data=t.bits)

    def plain(self, op: Op, name: str, x: Term, y: Term) -> Term:
        """An SMT-LIB op on the bits, wrapped to the type of the result."""
        return self.wrap(self.vectors.vector(name, INT, x, y), scalar(op.result.type))

    def floor_pair(self, x: Term, divisor: int) -> tuple[Term, Term]:
        """Quotient rounded down and remainder of a division by a positive number.

        Raises:
            Inexact: the quotient would need more than 64 bits on the way.
        """
        v = self.vectors
        by = v.integer(divisor)
        if v.range(x)[0] >= 0:
            high = v.range(x)[1]
            quotient = v.vector("bvudiv", INT, x, by, low=0, high=high // divisor)
            rest = v.vector("bvurem", INT, x, by, low=0, high=divisor - 1)
            return quotient, rest
        if v.range(x)[0] < LOWEST + divisor:
            raise Inexact
        rest = v.vector("bvsmod", INT, x, by, low=0, high=divisor - 1)
        low, high = v.range(x)
        difference = v.subtract(x, rest)
        return v.vector("bvsdiv", INT, difference, by, low=low // divisor, high=high), rest

    def extreme(self, x: Term, y: Term, *, least: bool) -> Term:
        """The smaller or the greater of two signed numbers."""
        smaller = self.vectors.less(x, y)
        return self.vectors.choose(smaller, x, y) if least else self.vectors.choose(smaller, y, x)


# -- meanings --------------------------------------------------------------------------------------


def _type(op: Op) -> Scalar:
    return scalar(op.result.type)


def _operand(op: Op) -> Scalar:
    return scalar(op.operands[0].type)


def _bitwise(name: str) -> Callable[[Bits, Op, Term, Term], Term]:
    def meaning(e: Bits, op: Op, x: Term, y: Term) -> Term:
        v = e.vectors
        if _type(op) is b1:
            if name == "bvand":
                return v.both(x, y)
            return v.either(x, y) if name == "bvor" else v.negate(v.same(x, y))
        t = _type(op)
        if v.range(x)[0] >= 0 and v.range(y)[0] >= 0:
            most = max(v.range(x)[1], v.range(y)[1])
            high = min(v.range(x)[1], v.range(y)[1]) if name == "bvand" else _ones(most)
            return v.vector(name, INT, x, y, low=0, high=min(high, t.highest))
        return v.vector(name, INT, x, y, low=t.lowest, high=t.highest)

    return meaning


def _ones(most: int) -> int:
    return (1 << most.bit_length()) - 1


def _inot(e: Bits, op: Op, x: Term) -> Term:
    if _type(op) is b1:
        return e.vectors.negate(x)
    return e.wrap(e.vectors.vector("bvnot", INT, x), _type(op))


def _count(e: Bits, op: Op, y: Term) -> Term:
    t = _type(op)
    number = constant_of(y)
    if number is not None:
        return e.vectors.integer(number % t.bits)
    return e.vectors.vector("bvand", INT, y, e.vectors.integer(t.bits - 1), low=0, high=t.bits - 1)


def _shl(e: Bits, op: Op, x: Term, y: Term) -> Term:
    return e.computed(op, e.vectors.vector("bvshl", INT, x, _count(e, op, y)))


def _lshr(e: Bits, op: Op, x: Term, y: Term) -> Term:
    return e.plain(op, "bvlshr", e.read_as(x, _operand(op), signed=False), _count(e, op, y))


def _ashr(e: Bits, op: Op, x: Term, y: Term) -> Term:
    return e.plain(op, "bvashr", e.read_as(x, _operand(op), signed=True), _count(e, op, y))


def _minimum(e: Bits, op: Op, x: Term, y: Term) -> Term:
    return e.vectors.choose(_less(e, op, x, y), x, y)


def _maximum(e: Bits, op: Op, x: Term, y: Term) -> Term:
    return e.vectors.choose(_less(e, op, x, y), y, x)


def _less(e: Bits, op: Op, x: Term, y: Term) -> Term:
    """``x < y`` in the order of the type."""
    if _operand(op).kind == "i":
        return e.vectors.less(x, y)
    return e.vectors.less_unsigned(x, y)


def _icmp(e: Bits, op: Op, x: Term, y: Term) -> Term:
    v = e.vectors
    pred = str(op.attrs["pred"])
    if pred in ("eq", "ne"):
        return v.same(x, y) if pred == "eq" else v.negate(v.same(x, y))
    t = _operand(op)
    is_signed = pred[0] == "s"
    x, y = (e.read_as(side, t, signed=is_signed) for side in (x, y))
    less = v.less if is_signed else v.less_unsigned
    match pred[1:]:
        case "lt":
            return less(x, y)
        case "ge":
            return v.negate(less(x, y))
        case "gt":
            return less(y, x)
        case _:
            return v.negate(less(y, x))


def _zext(e: Bits, op: Op, x: Term) -> Term:
    if _operand(op) is b1:
        return e.vectors.choose(x, e.vectors.integer(1), e.vectors.integer(0))
    return e.wrap(e.read_as(x, _operand(op), signed=False), _type(op))


def _bitcast(e: Bits, op: Op, x: Term) -> Term:
    if _operand(op).is_integer and _type(op).is_integer:
        return e.read_as(x, _operand(op), signed=_type(op).kind == "i")
    return e.opaque(op, x)


_MEANINGS: Mapping[str, Callable[..., Term]] = {
    "iadd": lambda e, op, x, y: e.computed(op, e.vectors.add(x, y)),
    "isub": lambda e, op, x, y: e.computed(op, e.vectors.subtract(x, y)),
    "imul": lambda e, op, x, y: e.computed(op, e.vectors.multiply(x, y)),
    "ineg": lambda e, op, x: e.computed(op, e.vectors.scale(x, -1)),
    "idiv": lambda e, op, x, y: e.computed(op, e.vectors.vector("bvsdiv", INT, x, y)),
    "irem": lambda e, op, x, y: e.plain(op, "bvsrem", x, y),
    "udiv": lambda e, op, x, y: e.plain(op, "bvudiv", x, y),
    "urem": lambda e, op, x, y: e.plain(op, "bvurem", x, y),
    "smin": _minimum,
    "umin": _minimum,
    "smax": _maximum,
    "umax": _maximum,
    "iand": _bitwise("bvand"),
    "ior": _bitwise("bvor"),
    "ixor": _bitwise("bvxor"),
    "inot": _inot,
    "shl": _shl,
    "lshr": _lshr,
    "ashr": _ashr,
    "icmp": _icmp,
    "sext": lambda e, op, x: e.wrap(e.read_as(x, _operand(op), signed=True), _type(op)),
    "zext": _zext,
    "trunc": lambda e, op, x: e.wrap(x, _type(op)),
    "bitcast": _bitcast,
}
