"""Guesses about what loops carry, which must prove themselves.

A guess holds of the initial value; if it holds of every next value wherever it is assumed of the
present one, it holds in every iteration.  Those that fail are dropped and the loop is walked again,
as Houdini does it (Flanagan and Leino, "Houdini, an annotation assistant for ESC/Java", 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heald.ir import Value
from heald.passes.interval_state import State, integer_type
from heald.passes.interval_terms import Atom, Linear, constant, of

_ROUNDS = 4

GuessKey = tuple[int, int, bool]


@dataclass(slots=True)
class Memory:
    """What earlier walks of a loop found: an outer loop walks the inner ones again and again.

    Attributes:
        failed: guesses that did not prove themselves, by carried value, sign, and whether they
            compare with 0 rather than with the initial value.
        growths: carried values that grow evenly, by how much; None where that turned out wrong.
        walked: whether the loop was walked to the end.
    """

    failed: set[GuessKey] = field(default_factory=set)
    growths: dict[int, int | None] = field(default_factory=dict)
    walked: bool = False


@dataclass(slots=True)
class _Guess:
    """Carried value ``k``, times ``sign``, plus ``offset`` is at least 0."""

    k: int
    sign: int
    offset: Linear
    from_zero: bool = False
    holds_at_exit: bool = True

    @property
    def key(self) -> GuessKey:
        return self.k, self.sign, self.from_zero

    def about(self, term: Linear) -> Linear:
        return self.offset.plus(term, self.sign)


@dataclass(slots=True)
class Loop:
    """A loop that is being walked."""

    memory: Memory
    inits: tuple[Linear | None, ...]
    guesses: list[_Guess]
    _args: tuple[Value, ...] = ()
    _iteration: Atom | None = None
    _failed: bool = False
    _rounds: int = 0
    _steps: dict[int, int | None] = field(default_factory=dict)

    # -- before the body ---------------------------------------------------------------------------

    def begin(self, state: State, heads: Sequence[tuple[Value, ...]]) -> None:
        """A round: one iteration, whichever it is, of which only the guesses are known."""
        self._rounds += 1
        self._failed = False
        self._steps = {}
        self._args = heads[-1]
        self._iteration = state.atom(0, 1 << 64)
        for k, init in enumerate(self.inits):
            if init is None:
                continue
            step = self.memory.growths.get(k)
            if step is not None:
                term = init.plus(of(self._iteration), step)
                state.set_term(self._args[k], term)
            else:
                term = of(state.set_opaque(self._args[k]))
            for head in heads[:-1]:
                state.set_term(head[k], term)
            state.facts.add_all(guess.about(term) for guess in self.guesses if guess.k == k)

    def count(self, state: State, index: Value, low: Linear, high: Linear, step: Linear) -> None:
        """The loop variable of a ``for``, which lies between the bounds where the body runs."""
        facts = state.facts
        assert self._iteration is not None
        if not step.terms and step.constant:
            value = low.plus(of(self._iteration), step.constant)
            state.set_term(index, value)
            first, last = (low, high) if step.constant > 0 else (high, low)
            longest = facts.high(last) - facts.low(first) - 1
            facts.add(high - value - 1 if step.constant > 0 else value - high - 1)
            facts.add(constant(max(0, longest // abs(step.constant))) - of(self._iteration))
            return
        least = min(facts.low(low), facts.low(high))
        most = max(facts.high(low), facts.high(high))
        value = of(state.set_opaque(index, least, most))
        if facts.prove(step - 1):
            facts.add_all([value - low, high - value - 1])
        elif facts.prove(-step - 1):
            facts.add_all([low - value, value - high - 1])

    # -- in the body -------------------------------------------------------------------------------

    def check_next(self, state: State, values: Sequence[Value]) -> None:
        """The values of the next iteration: do the guesses hold of them?"""
        failed = self.memory.failed
        for guess in self.guesses:
            if guess.key not in failed:
                goal = guess.about(state.term(values[guess.k]))
                if not state.facts.prove(goal):
                    failed.add(guess.key)
                    self._failed = True
        for k, init in enumerate(self.inits):
            if init is not None:
                self._check_growth(state, k, values[k])

    def _check_growth(self, state: State, k: int, value: Value) -> None:
        """Does the value grow evenly?  Assumed growth must be exact; a new one is only noted."""
        growths = self.memory.growths
        present = state.residue(self._args[k])
        if k in growths:
            step = growths[k]
            if step is not None and not state.term(value).equals(present + step):
                growths[k] = None
                self._failed = True
            return
        difference = state.residue(value) - present
        found = None if difference.terms else difference.constant
        self._steps[k] = found if self._steps.get(k, found) == found else None

    def check_exit(self, state: State, values: Sequence[Value]) -> None:
        """Values that leave the loop by ``break``: do the guesses hold of them?"""
        for guess in self.guesses:
            if guess.holds_at_exit:
                term = state.term(values[guess.k])
                guess.holds_at_exit = state.facts.prove(guess.about(term))

    # -- after the body ----------------------------------------------------------------------------

    def settle(self) -> bool:
        """Did all guesses hold?  If not, or if there are new ones, another round is needed."""
        memory = self.memory
        if self._failed and self._rounds >= _ROUNDS:
            self.give_up()
            return False
        again = self._failed
        for k, step in self._steps.items():
            if step and self._rounds < _ROUNDS:
                memory.growths[k] = step
                again = True
        if again:
            self.guesses = [g for g in self.guesses if g.key not in memory.failed]
            for guess in self.guesses:
                guess.holds_at_exit = True
        return not again

    def give_up(self) -> None:
        """Guess nothing from here on."""
        self._rounds = _ROUNDS
        self.memory.failed.update(guess.key for guess in self.guesses)
        self.memory.growths = dict.fromkeys(range(len(self.inits)))
        self.guesses = []


def open_loop(
    state: State, memory: Memory, inits: Sequence[Value], understood: Sequence[bool]
) -> Loop:
    """A loop and the guesses to begin with, about the carried values that are ``understood``.

    A carried value never passes its initial value, and one that starts at 0 or above stays there.
    """
    terms = [
        state.term(v) if known and integer_type(v) is not None else None
        for v, known in zip(inits, understood, strict=True)
    ]
    guesses = []
    for k, term in enumerate(terms):
        if term is None:
            continue
        guesses += [_Guess(k, 1, -term), _Guess(k, -1, term)]
        if term.terms and state.facts.prove(term):
            guesses.append(_Guess(k, 1, constant(0), from_zero=True))
    return Loop(memory, tuple(terms), [g for g in guesses if g.key not in memory.failed])


def exit_terms(state: State, loop: Loop, results: Sequence[Value]) -> None:
    """What is known of results: initial values, the last next ones, or what a ``break`` carried."""
    for k, result in enumerate(results):
        if integer_type(result) is not None:
            term = of(state.set_opaque(result))
            state.facts.add_all(g.about(term) for g in loop.guesses if g.k == k and g.holds_at_exit)
