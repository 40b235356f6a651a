"""What the interval analysis knows of each value, and what conditions tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from heald.artifact import Symbol
from heald.ir import Kernel, Op, Value
from heald.passes.facts import has_narrow_indices
from heald.passes.interval_facts import Facts, is_modest, is_usual
from heald.passes.interval_terms import Atom, Case, Different, Linear, constant, of
from heald.types import Array, Scalar, Type

_MOST_DIGITS = 64
_NARROW, _WIDE = (1 << 31) - 1, (1 << 63) - 1
_NEGATED = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt", "eq": "ne", "ne": "eq"} | {
    "ult": "uge",
    "ule": "ugt",
    "ugt": "ule",
    "uge": "ult",
}

ArrayKey = Value | tuple[int, int]
"""Names an array: parameter and leaf, or the value that made it."""


def integer_type(value: Value) -> Scalar | None:
    """The type of an integer, or None for anything else."""
    t = value.type
    return t if isinstance(t, Scalar) and t.is_integer else None


@dataclass(slots=True)
class State:
    """Terms of integers, extents of arrays, facts.

    An integer has a *residue*: a term equal to it modulo 2^bits, since sums and multiples may wrap.
    Where the term certainly fits the type the two are equal and the value is *exact*.

    With ``ask`` the analysis may restrict the launches it speaks of: it accepts clauses into
    ``facts``.  That a sum does not wrap is only asked of launches of unusual sizes, but for the
    sums in ``wanted``; those of which more would have to be asked are ``refused``.
    """

    kernel: Kernel
    ask: bool
    facts: Facts
    wanted: frozenset[Value] = frozenset()
    refused: set[Value] = field(default_factory=set)
    made: dict[Value, Op] = field(default_factory=dict)
    constants: dict[Value, bool | int] = field(default_factory=dict)
    arms: dict[Op, tuple[list[Linear], list[Linear]]] = field(default_factory=dict)
    aliases: dict[Value, ArrayKey] = field(default_factory=dict)
    same: dict[Value, Value] = field(default_factory=dict)
    _residues: dict[Value, Linear] = field(default_factory=dict)
    _terms: dict[Value, Linear] = field(default_factory=dict)
    _extents: dict[tuple[ArrayKey, int], Linear] = field(default_factory=dict)
    _symbols: dict[Symbol, Atom] = field(default_factory=dict)
    _quotients: dict[tuple[object, int], Atom] = field(default_factory=dict)
    _params: dict[Value, int] = field(default_factory=dict)
    _ages: count[int] = field(default_factory=count)
    limit: int = _WIDE

    def __post_init__(self) -> None:
        if has_narrow_indices(self.kernel):
            self.limit = _NARROW
        for number, parameter in enumerate(self.kernel.params):
            self._params[parameter] = number
            if isinstance(parameter.type, Array):
                self.aliases[parameter] = number, 0
            self.enter_parameter(parameter, number, 0, parameter.type)

    # -- atoms -------------------------------------------------------------------------------------

    def atom(self, low: int, high: int, symbol: Symbol | None = None) -> Atom:
        """A new integer between two numbers."""
        return Atom(next(self._ages), low, high, symbol)

    def symbol(self, symbol: Symbol, low: int, high: int) -> Linear:
        """A number that the launch knows."""
        found = self._symbols.get(symbol)
        if found is None:
            found = self._symbols[symbol] = self.atom(low, high, symbol)
        return of(found)

    def enter_parameter(self, value: Value, number: int, leaf: int, t: Type) -> None:
        """Note a parameter, or a leaf of one, that is an integer."""
        # A launch condition computes in signed 64 bits, which hold no u64.
        if isinstance(t, Scalar) and t.is_integer and t.highest <= _WIDE:
            self.set_term(value, self.symbol(Symbol("value", number, leaf), t.lowest, t.highest))

    def parameter_number(self, value: Value) -> int | None:
        """Which parameter a value is, or None."""
        return self._params.get(value)

    def quotient(self, term: Linear, divisor: int, low: int, high: int) -> Atom:
        """The integer that a rounding division of ``term`` gives: always the same for the same."""
        key = (term.key, divisor)
        found = self._quotients.get(key)
        if found is None:
            found = self._quotients[key] = self.atom(low, high)
        return found

    # -- integers ----------------------------------------------------------------------------------

    def set_term(self, value: Value, term: Linear) -> None:
        """``value`` is exactly ``term``."""
        self._residues[value] = self._terms[value] = term

    def set_residue(self, value: Value, residue: Linear) -> None:
        """``value`` is ``residue`` modulo 2^bits; find out whether it is exact."""
        t = integer_type(value)
        assert t is not None
        # If another term fits than this one, its range begins or ends inside that of the type.
        size = 1 << t.bits
        begin = (self.facts.low(residue) - t.lowest) // size * size
        end = (self.facts.high(residue) - t.lowest) // size * size
        for shift in dict.fromkeys((0, begin, end)):
            if self._fits(residue - shift, t, value):
                self.set_term(value, residue - shift)
                return
        opaque = of(self.atom(t.lowest, t.highest))
        self._terms[value] = opaque
        small = all(abs(n).bit_length() <= _MOST_DIGITS for n in residue.terms.values())
        self._residues[value] = residue if small else opaque

    def _fits(self, term: Linear, t: Scalar, value: Value) -> bool:
        facts = self.facts
        goals = [term - t.lowest, constant(t.highest) - term]
        if any(facts.high(g) < 0 for g in goals):
            return False
        goals = [g for g in goals if facts.low(g) < 0]
        goals = [g for g in goals if not facts.prove(g)]
        if not goals or not self.ask:
            return not goals
        clauses: list[Linear] = []
        for goal in goals:
            found = facts.prove_under(goal)
            if found is None or not all(map(is_modest, found)):
                return False
            if value not in self.wanted and not all(map(is_usual, found)):
                self.refused.add(value)
                return False
            clauses += found
        self.accept(clauses)
        return True

    def set_opaque(self, value: Value, low: int | None = None, high: int | None = None) -> Atom:
        """``value`` is an integer of its type of which only a range is known."""
        t = integer_type(value)
        assert t is not None
        atom = self.atom(
            t.lowest if low is None else max(low, t.lowest),
            t.highest if high is None else min(high, t.highest),
        )
        self.set_term(value, of(atom))
        return atom

    def set_merged(self, value: Value, cases: Sequence[Case]) -> Atom:
        """``value`` is the term of one of several cases."""
        lows, highs = [], []
        for case in cases:
            mark = self.facts.mark()
            self.facts.add_all(case.facts)
            lows.append(self.facts.low(case.term))
            highs.append(self.facts.high(case.term))
            self.facts.release(mark)
        atom = self.set_opaque(value, min(lows), max(highs))
        atom.cases = tuple(cases)
        return atom

    def set_same(self, value: Value, other: Value) -> None:
        """``value`` is the integer ``other``."""
        self._residues[value], self._terms[value] = self.residue(other), self.term(other)

    def residue(self, value: Value) -> Linear:
        """A term that ``value`` equals modulo 2^bits."""
        found = self._residues.get(value)
        if found is None:
            self.set_opaque(value)
            found = self._residues[value]
        return found

    def term(self, value: Value) -> Linear:
        """A term that ``value`` equals."""
        found = self._terms.get(value)
        if found is None:
            self.set_opaque(value)
            found = self._terms[value]
        return found

    def terms(self, value: Value) -> list[Linear]:
        """Terms for an index: where one lies in the range of an extent, it is the value."""
        residue, term = self.residue(value), self.term(value)
        return [residue] if residue is term else [residue, term]

    # -- arrays ------------------------------------------------------------------------------------

    def key(self, array: Value) -> ArrayKey:
        """The name of an array."""
        return self.aliases.get(array, array)

    def extent(self, array: Value, axis: int) -> Linear:
        """How many elements an array has on an axis."""
        t = array.type
        assert isinstance(t, Array)
        if t.shape is not None:
            return constant(t.shape[axis])
        key = self.key(array)
        found = self._extents.get((key, axis))
        if found is None:
            if isinstance(key, tuple):
                found = self.symbol(Symbol("shape", *key, axis), 0, self.limit)
            else:
                found = of(self.atom(0, self.limit))
            self._extents[key, axis] = found
        return found

    def set_extents(self, array: Value, extents: Sequence[Linear | None]) -> None:
        """The extents of a new array, None for those that are not known."""
        for axis, extent in enumerate(extents):
            known = of(self.atom(0, self.limit)) if extent is None else extent
            self._extents[array, axis] = known

    # -- goals -------------------------------------------------------------------------------------

    def accept(self, clauses: Sequence[Linear]) -> None:
        """Speak only of launches for which these clauses hold."""
        for clause in clauses:
            if not self.facts.prove(clause):
                self.facts.accept(clause)

    def holds(self, goals: Sequence[Linear]) -> list[Linear] | None:
        """Clauses to accept so that all goals are at least 0 here, or None."""
        clauses: list[Linear] = []
        for goal in goals:
            if self.facts.prove(goal):
                continue
            found = self.facts.prove_under(goal) if self.ask else None
            if found is None:
                return None
            clauses += found
        return clauses

    # -- conditions --------------------------------------------------------------------------------

    def constant_of(self, value: Value) -> bool | int | None:
        """The number behind a value that a ``const`` defines, or None."""
        while value in self.same:
            value = self.same[value]
        return self.constants.get(value)

    def decide(self, condition: Value) -> bool | None:
        """Is a condition certainly true, or false, here?"""
        known = self.constant_of(condition)
        if known is not None:
            return bool(known)
        for truth in (True, False):
            opposite = self.assume(condition, not truth)
            if any(self.facts.contradicts(fact) for fact in opposite):
                return truth
        return None

    def assume(self, condition: Value, truth: bool) -> list[Linear]:
        """Facts that hold where a condition is true, or false."""
        while condition in self.same:
            condition = self.same[condition]
        op = self.made.get(condition)
        if op is None:
            return []
        match op.name:
            case "icmp":
                pred = str(op.attrs["pred"])
                return self._compared(op, pred if truth else _NEGATED[pred])
            case "inot":
                return self.assume(op.operands[0], not truth)
            case "iand" if truth:
                return [f for operand in op.operands for f in self.assume(operand, True)]
            case "ior" if not truth:
                return [f for operand in op.operands for f in self.assume(operand, False)]
            case "select":
                return self._selected(op, truth)
            case "if":
                return self._branched(op, op.results.index(condition), truth)
            case _:
                return []

    def _selected(self, op: Op, truth: bool) -> list[Linear]:
        """``and`` and ``or`` spelled as a choice."""
        chosen, then, other = op.operands
        if self.constant_of(other) is (not truth):
            return self.assume(chosen, True) + self.assume(then, truth)
        if self.constant_of(then) is (not truth):
            return self.assume(chosen, False) + self.assume(other, truth)
        return []

    def _branched(self, op: Op, k: int, truth: bool) -> list[Linear]:
        """``and`` and ``or`` that short-circuit: one arm yields a constant."""
        ends = [region.terminator for region in op.regions]
        if op not in self.arms or any(end.name != "yield" for end in ends):
            return []
        then, other = (end.operands[k] for end in ends)
        if self.constant_of(other) is (not truth):
            return self.arms[op][0] + self.assume(then, truth)
        if self.constant_of(then) is (not truth):
            return self.arms[op][1] + self.assume(other, truth)
        return []

    def _compared(self, op: Op, pred: str) -> list[Linear]:
        """Facts of a comparison that holds."""
        lhs, rhs = op.operands
        t = integer_type(lhs)
        if t is None:
            return []
        x, y = self.term(lhs), self.term(rhs)
        if pred == "eq":
            return [x - y, y - x]
        if pred == "ne":
            different = x - y
            facts: list[Linear] = [Different(different.constant, different.terms)]
            if self.facts.prove(x - y):
                facts.append(x - y - 1)
            elif self.facts.prove(y - x):
                facts.append(y - x - 1)
            return facts
        if pred[1] == "g":
            x, y, pred = y, x, pred.replace("gt", "lt").replace("ge", "le")
        less = y - x - (1 if pred.endswith("lt") else 0)
        if pred[0] == "s" if t.kind == "i" else pred[0] == "u":
            return [less]
        # The other reading of the bits agrees on numbers whose top bit is clear.
        half = constant(t.highest if t.kind == "i" else t.highest >> 1)
        if not self._in_half(y, half):
            return []
        if pred[0] == "u":
            return [less, x]  # below a number with a clear top bit the top bit is clear
        return [less] if self._in_half(x, half) else []

    def _in_half(self, term: Linear, half: Linear) -> bool:
        return self.facts.prove(term) and self.facts.prove(half - term)
