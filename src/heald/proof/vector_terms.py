"""Terms whose integers are 64 bits in two's complement, for kernels with operations on bits.

A value of a narrower type is the number that it stands for, so that a 32-bit index and a 64-bit
extent compare as they are.  Sums of what a thread computes beside the machine (an element of a
view, the place of an iteration) could exceed 64 bits; such a term is *inexact*, and may be tested
for equality, which holds modulo 2^64, but not be compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from heald.proof.terms import BOOL, INT, Sort, Term, Terms, constant_of

WIDTH = 64
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
_SIZE = 1 << WIDTH


class Inexact(Exception):
    """A number that 64 bits may not hold would have to be compared."""


def signed(number: int) -> int:
    """A number modulo 2^64 as 64 bits in two's complement show it."""
    return (number - LOWEST) % _SIZE + LOWEST


class VectorTerms(Terms):
    """The same interface over ops named as in SMT-LIB: ``bvadd``, ``bvslt``, ``extract`` ..."""

    def vector(
        self,
        name: str,
        sort: Sort,
        *args: Term,
        low: int = LOWEST,
        high: int = HIGHEST,
        data: Hashable = None,
    ) -> Term:
        """An op on 64 bits; its result, where it is a number, lies between two."""
        made = self._make("vector", sort, args, (name, data))
        if sort == INT:
            self._ranges[made] = low, high
        return made

    def is_exact(self, x: Term) -> bool:
        """Do 64 bits hold the number?"""
        low, high = self.range(x)
        return low >= LOWEST and high <= HIGHEST

    # -- integers ----------------------------------------------------------------------------------

    def integer(self, number: int) -> Term:
        """A number modulo 2^64."""
        return super().integer(signed(number))

    def add(self, x: Term, y: Term, factor: int = 1) -> Term:
        """``x + factor * y``, modulo 2^64."""
        if factor != 1:
            y = self.scale(y, factor)
        a, b = constant_of(x), constant_of(y)
        if a is not None and b is not None:
            return self.integer(a + b)
        if a == 0:
            return y
        if b == 0:
            return x
        low, high = (p + q for p, q in zip(self.range(x), self.range(y), strict=True))
        first, second = sorted((x, y), key=lambda term: term.number)
        return self.vector("bvadd", INT, first, second, low=low, high=high)

    def scale(self, x: Term, factor: int) -> Term:
        """``factor * x``, modulo 2^64."""
        return self.multiply(x, self.integer(factor))

    def multiply(self, x: Term, y: Term) -> Term:
        """``x * y``, modulo 2^64."""
        a, b = constant_of(x), constant_of(y)
        if a is not None and b is not None:
            return self.integer(a * b)
        if a == 0 or b == 0:
            return self.integer(0)
        if a == 1:
            return y
        if b == 1:
            return x
        corners = [p * q for p in self.range(x) for q in self.range(y)]
        first, second = sorted((x, y), key=lambda term: term.number)
        return self.vector("bvmul", INT, first, second, low=min(corners), high=max(corners))

    def _find_range(self, term: Term) -> tuple[int, int]:
        number = constant_of(term)
        return super()._find_range(term) if number is None else (number, number)

    # -- truth values ------------------------------------------------------------------------------

    def at_least(self, x: Term, y: Term) -> Term:
        """``x >= y`` of signed numbers."""
        return self.negate(self.less(x, y))

    def less(self, x: Term, y: Term) -> Term:
        """``x < y`` of signed numbers.

        Raises:
            Inexact: 64 bits may not hold one of them.
        """
        (low, high), (least, most) = self.range(x), self.range(y)
        if high < least:
            return self.true
        if low >= most:
            return self.false
        if not (self.is_exact(x) and self.is_exact(y)):
            raise Inexact
        return self.vector("bvslt", BOOL, x, y)

    def less_unsigned(self, x: Term, y: Term) -> Term:
        """``x < y`` of the bits as unsigned numbers."""
        a, b = constant_of(x), constant_of(y)
        if a is not None and b is not None:
            return self.truth(a % _SIZE < b % _SIZE)
        return self.vector("bvult", BOOL, x, y)

    def non_negative(self, x: Term) -> Term:
        """``x >= 0`` of a signed number."""
        return self.at_least(x, self.integer(0))

    def between(self, low: int, x: Term, high: int) -> Term:
        """``low <= x <= high`` of a signed number."""
        return self.both(self.at_least(x, self.integer(low)), self.at_least(self.integer(high), x))

    def zero(self, x: Term) -> Term:
        """``x == 0``."""
        return self.same(x, self.integer(0))

    def same(self, x: Term, y: Term) -> Term:
        """``x == y``, of any one sort."""
        if x.sort != INT or x is y:
            return super().same(x, y)
        a, b = constant_of(x), constant_of(y)
        if a is not None and b is not None:
            return self.truth(a == b)
        (low, high), (least, most) = self.range(x), self.range(y)
        if (high < least or most < low) and self.is_exact(x) and self.is_exact(y):
            return self.false
        first, second = sorted((x, y), key=lambda term: term.number)
        return self._make("same", BOOL, (first, second), None)

    def rebuild(self, term: Term, args: tuple[Term, ...]) -> Term:
        """The term with other arguments, simplified again."""
        if term.kind != "vector":
            return super().rebuild(term, args)
        assert isinstance(term.data, tuple)
        name, data = term.data
        match name:
            case "bvadd":
                return self.add(args[0], args[1])
            case "bvmul":
                return self.multiply(*args)
            case "bvslt":
                return self.less(*args)
            case "bvult":
                return self.less_unsigned(*args)
        low, high = self._ranges.get(term, (0, 0))
        return self.vector(name, term.sort, *args, low=low, high=high, data=data)

    def _rebuild_sum(self, term: Term, by_atom: Mapping[Term, Term]) -> Term:
        return term  # a number
