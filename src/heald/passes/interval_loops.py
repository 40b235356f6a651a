"""Guesses about what loops carry, which must prove themselves.

A guess holds of the initial value; if it holds of every next value wherever it is assumed of the
present one, it holds in every iteration.  Those that fail are dropped and the loop is walked again,
as Houdini does it (Flanagan and Leino, "Houdini, an annotation assistant for ESC/Java", 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heald.ir import Op, Value
from heald.passes.interval_state import State, integer_type
from heald.passes.interval_terms import Atom, Linear, constant, of

_ROUNDS = 4


@dataclass(slots=True)
class _Guess:
    """Carried value ``k``, times ``sign``, plus ``offset`` is at least 0."""

    k: int
    sign: int
    offset: Linear
    holds: bool = True
    holds_at_exit: bool = True

    def about(self, term: Linear) -> Linear:
        return self.offset.plus(term, self.sign)


@dataclass(slots=True)
class _Growth:
    """Carried value ``k`` grows by ``step`` in each iteration, from ``init``."""

    k: int
    init: Linear
    step: int
    holds: bool = True


@dataclass(slots=True)
class Loop:
    """A loop that is being walked."""

    inits: tuple[Linear | None, ...]
    guesses: list[_Guess]
    growths: dict[int, _Growth] = field(default_factory=dict)
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
        for k, arg in enumerate(self._args):
            if integer_type(arg) is None:
                continue
            growth = self.growths.get(k)
            if growth is not None and growth.holds:
                term = growth.init.plus(of(self._iteration), growth.step)
                state.set_term(arg, term)
            else:
                term = of(state.set_opaque(arg))
            for head in heads[:-1]:
                state.set_term(head[k], term)
            state.facts.add_all(g.about(term) for g in self.guesses if g.holds and g.k == k)

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
        for guess in self.guesses:
            if guess.holds and not state.facts.prove(guess.about(state.term(values[guess.k]))):
                guess.holds = guess.holds_at_exit = False
                self._failed = True
        for k, init in enumerate(self.inits):
            if init is not None:
                self._note_step(state, k, values[k])

    def _note_step(self, state: State, k: int, value: Value) -> None:
        """Does the value grow evenly?  An assumed growth must hold exactly, a new one is only
        noted.
        """
        growth = self.growths.get(k)
        present = state.residue(self._args[k])
        if growth is not None:
            wanted = present + growth.step
            if growth.holds and not state.term(value).equals(wanted):
                growth.holds = False
                self._failed = True
            return
        difference = state.residue(value) - present
        step = None if difference.terms else difference.constant
        self._steps[k] = step if self._steps.get(k, step) == step else None

    def check_exit(self, state: State, values: Sequence[Value]) -> None:
        """Values that leave the loop by ``break``: do the guesses hold of them?"""
        for guess in self.guesses:
            if guess.holds_at_exit:
                term = state.term(values[guess.k])
                guess.holds_at_exit = state.facts.prove(guess.about(term))

    # -- after the body ----------------------------------------------------------------------------

    def settle(self) -> bool:
        """Did all guesses hold?  If not, or if there are new ones to try, another round is needed."""
        if self._failed and self._rounds >= _ROUNDS:
            self.give_up()
            return False
        tried = False
        if self._rounds < _ROUNDS:
            for k, step in self._steps.items():
                init = self.inits[k]
                if step and init is not None:
                    self.growths[k] = _Growth(k, init, step)
                    tried = True
        if self._failed or tried:
            for guess in self.guesses:
                guess.holds_at_exit = guess.holds
            return False
        return True

    def give_up(self) -> None:
        """Guess nothing from here on."""
        self._rounds = _ROUNDS
        self.guesses = []
        self.growths = {k: _Growth(k, constant(0), 0, holds=False) for k in range(len(self.inits))}


def open_loop(state: State, op: Op, inits: Sequence[Value]) -> Loop:
    """A loop and the guesses to begin with: a value never passes its start; one from 0 up stays so."""
    terms = [None if integer_type(v) is None else state.term(v) for v in inits]
    guesses = []
    for k, term in enumerate(terms):
        if term is None:
            continue
        guesses += [_Guess(k, 1, -term), _Guess(k, -1, term)]
        if term.terms and state.facts.prove(term):
            guesses.append(_Guess(k, 1, constant(0)))
    return Loop(tuple(terms), guesses)


def exit_terms(state: State, loop: Loop, results: Sequence[Value]) -> None:
    """What is known of the results: the initial value, the last next one, or what a ``break``
    carried.
    """
    for k, result in enumerate(results):
        if integer_type(result) is None:
            continue
        term = of(state.set_opaque(result))
        state.facts.add_all(
            g.about(term) for g in loop.guesses if g.k == k and g.holds and g.holds_at_exit
        )
