"""Loops in symbolic execution: one iteration, whichever it is, stands for all.

The loop variable of a ``for`` is any number that it takes.  A carried number that every iteration
changes by the same amount is its initial value plus that amount times the trip.  Of any other one
only guesses are known (``invariants`` has them), each under a literal that says whether it is
relied on.  Loops that run a known number of times are unrolled where carried numbers decide
something.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from heald.ir import Op, Region, Value, has_exit, walk
from heald.ops.threads import synchronises_block
from heald.proof.growth import Growth, growth_of, steady_leaves
from heald.proof.invariants import guesses, stated
from heald.proof.records import Beyond, Candidate, Claims, Data, Outcome, Path, Targets
from heald.proof.terms import INT, Term, Terms, constant_of
from heald.proof.vector_terms import Inexact
from heald.types import Array, Scalar

if TYPE_CHECKING:
    from heald.proof.executor import Executor

_MOST_UNROLLED = 64
_MOST_TRIPS = 1 << 64


class _Tangled(Exception):
    """Threads that wait for each other in a loop may be in different iterations of it, or one of
    its iterations may go by without a barrier.
    """


def run_for(ex: Executor, op: Op) -> tuple[Data, ...] | None:
    """A counted loop."""
    low, high, step = (ex.term(v) for v in op.operands[:3])
    ex.oblige(op, "step", ex.terms.negate(ex.terms.zero(step)), (step,))
    numbers = [constant_of(x) for x in (low, high, step)]
    if numbers[2] == 0:
        return ex.read(op.operands[3:])  # a fault, and no iteration
    trips = None if None in numbers else range(*numbers)  # type: ignore[arg-type]
    if trips is not None and not trips:
        return ex.read(op.operands[3:])
    few = trips is not None and not trips[_MOST_UNROLLED:]  # `len` is limited to 63 bits
    if trips is not None and few and (_decides(ex, op) or _meets(op)):
        return _unroll_for(ex, op, trips)
    if _meets(op):
        meeting = partial(_Loop(ex, op).run_meeting, low, high, step)
        together = _run_together(ex, op, meeting)
        if together is not None:
            return together
    return _Loop(ex, op).run_for(low, high, step)


def run_while(ex: Executor, op: Op) -> tuple[Data, ...] | None:
    """A loop with a condition."""
    if _may_unroll(ex, op):
        unrolled, flow = _unroll_while(ex, op)
        if unrolled:
            return flow
    if _meets(op):
        together = _run_together(ex, op, _Loop(ex, op).run_meeting_while)
        if together is not None:
            return together
    return _Loop(ex, op).run_while()


def _run_together(
    ex: Executor, op: Op, run: Callable[[], tuple[Data, ...] | None]
) -> tuple[Data, ...] | None:
    """Run a loop in which threads wait for each other, iteration by iteration; None and nothing
    done but a note where that is not possible.
    """
    state, path, known, segments = ex.mark(), ex.path, ex.known, ex.segments
    with suppress(_Tangled):
        return run()
    ex.rollback(state)
    ex.path, ex.known, ex.segments = path, known, segments
    ex.found.tangled.append(op)
    return None


# -- unrolling -------------------------------------------------------------------------------------


def _decides(ex: Executor, op: Op) -> bool:
    """Is there a carried number that decides something and does not grow evenly?"""
    for k, value in enumerate(op.regions[-1].args[1:]):
        if value in ex.exact and growth_of(op, k) is None:
            return True
    return False


def _comes(terms: Terms, index: Term, high: Term, step: Term) -> Term:
    """Is there an iteration at an index?"""
    zero = terms.integer(0)
    forward = terms.both(terms.less(zero, step), terms.less(index, high))
    backward = terms.both(terms.less(step, zero), terms.less(high, index))
    return terms.either(forward, backward)


def _meets(op: Op) -> bool:
    """Do the threads of a block wait for each other in a loop?"""
    return any(synchronises_block(inner) for region in op.regions for inner in walk(region))


def _unroll_for(ex: Executor, op: Op, trips: range) -> tuple[Data, ...] | None:
    region = op.regions[0]
    path, known = ex.path, ex.known
    ends: list[Outcome] = []
    carried: tuple[Data, ...] | None = ex.read(op.operands[3:])
    for number in trips:
        assert carried is not None
        carried = _iterate(ex, op, region, (ex.terms.integer(number), *carried), ends)
        if carried is None:
            break
    return _leave(ex, op, path, known, carried, ends)


def _iterate(
    ex: Executor, op: Op, region: Region, data: tuple[Data, ...], ends: list[Outcome]
) -> tuple[Data, ...] | None:
    """One iteration of an unrolled loop; gives what the next one starts with."""
    outer, path, known = ex.targets, ex.path, ex.known
    ex.targets = Targets(ends, [], outer.out)
    ex.bind(region.args, data)
    values = ex.region(region)
    again, ex.targets = ex.targets.again, outer
    if values is not None:
        again = [*again, ex.outcome_of(values)]
    return ex.meet(op, path, known, again, [v.type for v in op.results])


def _leave(
    ex: Executor,
    op: Op,
    path: Path,
    known: Path,
    carried: tuple[Data, ...] | None,
    ends: list[Outcome],
) -> tuple[Data, ...] | None:
    """Go on after an unrolled loop: at its end, or where it was left before."""
    if carried is not None:
        ends = [*ends, ex.outcome_of(carried)]
    return ex.meet(op, path, known, ends, [v.type for v in op.results])


def _may_unroll(ex: Executor, op: Op) -> bool:
    """Does the condition depend on a carried number that is known at the start?"""
    condition = op.regions[0]
    for value, init in zip(condition.args, op.operands, strict=True):
        data = ex.env[init]
        if isinstance(data, Term) and data.sort == INT and constant_of(data) is not None:
            used = {v for inner in walk(condition) for v in inner.operands}
            if value in used:
                return True
    return False


def _unroll_while(ex: Executor, op: Op) -> tuple[bool, tuple[Data, ...] | None]:
    """Unroll while the condition is known; (False, None) and nothing done where it is not."""
    state, path, known, segments = ex.mark(), ex.path, ex.known, ex.segments
    ends: list[Outcome] = []
    carried: tuple[Data, ...] | None = ex.read(op.operands)
    for _ in range(_MOST_UNROLLED):
        assert carried is not None
        ex.bind(op.regions[0].args, carried)
        values = ex.region(op.regions[0])
        going = values[0] if values is not None else None
        if going is ex.terms.false:
            return True, _leave(ex, op, path, known, carried, ends)
        if going is not ex.terms.true:
            break
        carried = _iterate(ex, op, op.regions[1], carried, ends)
        if carried is None:
            return True, _leave(ex, op, path, known, None, ends)
    ex.rollback(state)
    ex.path, ex.known, ex.segments = path, known, segments
    return False, None


# -- one iteration for all -------------------------------------------------------------------------


@dataclass(slots=True)
class _Loop:
    """A loop whose iterations are not told apart."""

    ex: Executor
    op: Op
    path: Path = ()
    known: Path = ()
    inits: tuple[Data, ...] = ()
    growths: list[Growth | None] = field(default_factory=list)
    heads: tuple[Data, ...] = ()
    candidates: list[Candidate] = field(default_factory=list)
    nexts: list[tuple[Data, ...]] = field(default_factory=list)
    """What iterations hand on."""
    first: int = 0
    """The age of the oldest unknown that is the loop's own."""

    def _begin(self, trip: Term) -> None:
        """What an iteration starts with."""
        ex, op = self.ex, self.op
        self.path, self.known = ex.path, ex.known
        self.inits = ex.read(op.operands[len(op.operands) - len(op.results) :])
        self.growths = [growth_of(op, k) for k in range(len(op.results))]
        self.heads = tuple(self._head(k, init, trip) for k, init in enumerate(self.inits))
        trials: list[Claims] = [*stated(ex, op), *guesses(ex, op, self.heads, self.inits)]
        for guess in trials:
            literal = ex.terms.symbol("holds", "bool", shared=True)
            start = (*self.path, *self.known), guess.claim(ex.terms, self.inits)
            self.candidates.append(Candidate(op, guess, literal, start))
            ex.learn(ex.terms.implies(literal, guess.claim(ex.terms, self.heads)))
        ex.found.candidates += self.candidates

    def _head(self, k: int, init: Data, trip: Term) -> Data:
        ex = self.ex
        value = self.op.regions[-1].args[len(self.op.regions[-1].args) - len(self.inits) + k]
        growth = self.growths[k]
        if isinstance(value.type, Array):
            if growth is None or growth.amounts:
                raise Beyond(self.op, "an array that changes from one iteration to the next")
            return init
        if growth is not None and not growth.amounts:
            return init
        if growth is not None and value in ex.exact and isinstance(init, Term):
            return self._grown(growth, init, trip)
        return self._unknown(k, value)

    def _unknown(self, k: int, value: Value) -> Data:
        """Any value, but for leaves of a composite that stay what they were."""
        found = self.ex.unknown(value.type, self.ex.kernel.name_of(value) or "carried", self.op)
        init = self.inits[k]
        if isinstance(found, tuple) and isinstance(init, tuple):
            steady = steady_leaves(self.op, k)
            return tuple(init[j] if j in steady else x for j, x in enumerate(found))
        return found

    def _grown(self, growth: Growth, init: Term, trip: Term) -> Term:
        """The value after ``trip`` iterations.

        It needs no proof that it fits: it is what the last iteration computed, if that did.
        """
        ex, terms = self.ex, self.ex.terms
        amount = terms.integer(0)
        for factor, source in growth.amounts:
            part = terms.integer(source) if isinstance(source, int) else ex.term(source)
            amount = terms.add(amount, part, factor)
        exact = terms.add(init, terms.multiply(amount, trip))
        t = self.op.results[0].type if growth.type is None else growth.type
        assert isinstance(t, Scalar)
        if ex.encoding.wraps:
            return ex.encoding.computed(growth.ops[0], exact)
        if any(op in ex.wrapping for op in growth.ops):
            return ex.wrap(growth.ops[0], exact, t)
        ex.learn(terms.between(t.lowest, exact, t.highest))
        return exact

    def _body(self, data: tuple[Data, ...]) -> list[Outcome]:
        """Execute the body; gives the ways out of the loop."""
        ex = self.ex
        region = self.op.regions[-1]
        outer = ex.targets
        ex.targets = Targets([], [], outer.out)
        ex.depth += 1
        ex.bind(region.args, data)
        values = ex.region(region)
        again = ex.targets.again
        if values is not None:
            again = [*again, ex.outcome_of(values)]
        self._note([end.values for end in again])
        for end in again:
            for candidate in self.candidates:
                claim = candidate.guess.claim(ex.terms, end.values)
                candidate.steps.append(((*end.path, *end.known), claim))
        ex.depth -= 1
        leaving, ex.targets = ex.targets.leave, outer
        return leaving

    def _note(self, nexts: list[tuple[Data, ...]]) -> None:
        """What iterations hand on, on which depends whether carried values are exact results."""
        self.nexts += nexts
        self._lose(self.heads)

    def _lose(self, data: tuple[Data, ...]) -> None:
        """Carried values that stand for those of any iteration are exact where all of them are."""
        args = self.op.regions[-1].args
        for k, value in enumerate(args[len(args) - len(self.inits) :]):
            grows = self.growths[k] is not None and value in self.ex.exact
            if data[k] is not self.inits[k] and not grows:
                self.ex.lose(data[k], [self.inits[k], *(after[k] for after in self.nexts)])

    def _finish(self, ends: list[Outcome]) -> tuple[Data, ...] | None:
        ex = self.ex
        types = [v.type for v in self.op.results]
        values = ex.meet(self.op, self.path, self.known, ends, types)
        if values is None:
            return None
        if any(has_exit(region, frozenset({"return"})) for region in self.op.regions):
            ex.path = (*ex.path, ex.decision())  # whether it has returned in some iteration
        else:
            ex.leave(self.path, self.first)
        return values

    # -- while -------------------------------------------------------------------------------------

    def run_while(self) -> tuple[Data, ...] | None:
        ex, op = self.ex, self.op
        trip = ex.terms.symbol("trip", INT, 0, _MOST_TRIPS)
        self.first = trip.number
        self._begin(trip)
        ex.depth += 1
        ex.bind(op.regions[0].args, self.heads)
        values = ex.region(op.regions[0])
        assert values is not None
        going = values[0]
        assert isinstance(going, Term)
        path = ex.path
        ex.depth -= 1
        ends: list[Outcome] = []
        stop = ex.terms.negate(going)
        if stop is not ex.terms.false:
            ex.path = (*path, stop)
            ends.append(ex.outcome_of(self.heads, inside=True))
        if going is not ex.terms.false:
            ex.path = (*path, going)
            ends += self._body(self.heads)
        return self._finish(ends)

    # -- for ---------------------------------------------------------------------------------------

    def run_for(self, low: Term, high: Term, step: Term) -> tuple[Data, ...] | None:
        ex, terms = self.ex, self.ex.terms
        index, trip, facts = self._index(low, high, step)
        self.first = index.number
        self._begin(trip)
        ex.path = (*self.path, *(f for f in facts if f is not terms.true))
        ends = self._body((index, *self.heads))
        ex.path, ex.known = self.path, self.known
        ends.append(self._end(trip, low, high, step))
        return self._finish(ends)

    def _end(self, trip: Term, low: Term, high: Term, step: Term) -> Outcome:
        """The way out after the last iteration."""
        ex, terms = self.ex, self.ex.terms
        done = tuple(self._after(k, trip, low, high, step) for k in range(len(self.inits)))
        for candidate in self.candidates:
            claim = candidate.guess.claim(terms, done)
            ex.learn(terms.implies(candidate.literal, claim))
        return ex.outcome_of(done)

    def run_meeting(self, low: Term, high: Term, step: Term) -> tuple[Data, ...] | None:
        """A counted loop in which threads of a block wait for each other, in every iteration.

        What comes before the first barrier of an iteration is not ordered with what comes after the
        last one of the iteration before, or after the last barrier before the loop.  So three
        iterations are executed: the first, some one, and the one after that, which begins where
        that ends.  Threads of a block that are between the same barriers are in the same iteration,
        as all of them come to each barrier: the loop variable is uniform.
        """
        ex, terms, op = self.ex, self.ex.terms, self.op
        if has_exit(op.regions[0], frozenset({"break", "return"})):
            raise _Tangled
        before = ex.segments
        index, trip, facts = self._index(low, high, step)
        self._begin(trip)
        known = ex.known
        ex.found.uniform += [x for x in (index, trip) if x.kind == "symbol"]
        ex.path = (*self.path, _comes(terms, low, high, step))
        self._round((low, *self.inits))
        first = ex.segments
        ex.path, ex.known = (*self.path, *facts), known
        ex.begin_segment()
        start = ex.segments
        values = self._round((index, *self.heads))
        some, after = ex.segments, terms.add(index, step)
        if start & some or before & first:
            raise _Tangled
        ex.path = (*ex.path, _comes(terms, after, high, step))
        self._round((after, *values))
        ex.segments |= before | first | some
        ex.path, ex.known = self.path, known
        return self._finish([self._end(trip, low, high, step)])

    def run_meeting_while(self) -> tuple[Data, ...] | None:
        """A ``while`` in which threads of a block wait for each other, in every iteration.

        As :meth:`run_meeting`; what the iterations of a block have in common is what uniform values
        alone tell of what the loop carries.
        """
        ex, op = self.ex, self.op
        exits = any(has_exit(region, frozenset({"break", "return"})) for region in op.regions)
        if exits or any(synchronises_block(inner) for inner in walk(op.regions[0])):
            raise _Tangled
        before = ex.segments
        trip = ex.terms.symbol("trip", INT, 0, _MOST_TRIPS)
        self.first = trip.number
        self._begin(trip)
        known = ex.known
        self._share(trip, self.heads)
        self._go_on(self.inits)
        self._round(self.inits)
        first = ex.segments
        ex.path, ex.known = self.path, known
        ex.begin_segment()
        start = ex.segments
        self._go_on(self.heads)
        values = self._round(self.heads)
        some = ex.segments
        if start & some or before & first:
            raise _Tangled
        self._go_on(values)
        self._round(values)
        ex.segments |= before | first | some
        ex.path, ex.known = self.path, known
        done = self._last_heads()
        self._go_on(done, stop=True)
        return self._finish([ex.outcome_of(done)])

    def _share(self, trip: Term, heads: tuple[Data, ...]) -> None:
        """Of what an iteration starts with, uniform values are the same for a block."""
        ex = self.ex
        ex.found.uniform.append(trip)
        for value, head in zip(self.op.regions[1].args, heads, strict=True):
            if value in ex.block_uniform and isinstance(head, Term) and head.kind == "symbol":
                ex.found.uniform.append(head)

    def _last_heads(self) -> tuple[Data, ...]:
        """What is carried when the condition is false, which no iteration starts with: a thread
        that has left the loop meets others that are still between the last two barriers.
        """
        ex = self.ex
        trip = ex.terms.symbol("trip", INT, 0, _MOST_TRIPS)
        done = tuple(self._head(k, init, trip) for k, init in enumerate(self.inits))
        self._lose(done)
        for candidate in self.candidates:
            claim = candidate.guess.claim(ex.terms, done)
            ex.learn(ex.terms.implies(candidate.literal, claim))
        self._share(trip, done)
        return done

    def _go_on(self, data: tuple[Data, ...], *, stop: bool = False) -> None:
        """Where the condition is true of what is carried, or with ``stop`` false."""
        ex = self.ex
        ex.depth += 1
        ex.bind(self.op.regions[0].args, data)
        values = ex.region(self.op.regions[0])
        ex.depth -= 1
        assert values is not None
        going = values[0]
        assert isinstance(going, Term)
        ex.path = (*ex.path, ex.terms.negate(going) if stop else going)

    def _round(self, data: tuple[Data, ...]) -> tuple[Data, ...]:
        """One iteration; gives what the next one carries."""
        ex, ends = self.ex, list[Outcome]()
        ex.depth += 1
        values = _iterate(ex, self.op, self.op.regions[-1], data, ends)
        ex.depth -= 1
        if values is None:
            raise _Tangled
        self._note([values])
        for candidate in self.candidates:
            claim = candidate.guess.claim(ex.terms, values)
            candidate.steps.append(((*ex.path, *ex.known), claim))
        return values

    def _index(self, low: Term, high: Term, step: Term) -> tuple[Term, Term, list[Term]]:
        """The loop variable, how many iterations came before, and what is known of them."""
        ex, terms = self.ex, self.ex.terms
        value = self.op.regions[0].args[0]
        name = ex.kernel.name_of(value) or "index"
        (least_low, most_low), (least_high, most_high) = terms.range(low), terms.range(high)
        number = constant_of(step)
        upward = number is None or number > 0
        downward = number is None or number < 0
        least = min([least_low] * upward + [least_high + 1] * downward)
        most = max([most_high - 1] * upward + [most_low] * downward)
        index = terms.symbol(name, INT, min(least, most), most)
        ex.found.sources[index] = self.op
        ex.found.related[index] = (low, high, step)
        one = terms.integer(1)
        rising = terms.both(terms.at_least(index, low), terms.less(index, high))
        falling = terms.both(terms.at_least(low, index), terms.less(high, index))
        if number in (1, -1):
            trip = terms.scale(terms.subtract(index, low), number)
            return index, trip, [rising if upward else falling]
        trip = terms.symbol("trip", INT, 0, _MOST_TRIPS)
        ex.found.trips[index] = trip
        link = terms.same(index, terms.add(low, terms.multiply(trip, step)))
        if number is not None:
            return index, trip, [rising if upward else falling, link]
        forward = terms.both(terms.at_least(step, one), rising)
        backward = terms.both(terms.at_least(terms.integer(-1), step), falling)
        return index, trip, [terms.either(forward, backward), link]

    def _after(self, k: int, trip: Term, low: Term, high: Term, step: Term) -> Data:
        """A carried value after the last iteration."""
        head, init, growth = self.heads[k], self.inits[k], self.growths[k]
        if head is init:
            return init
        number = constant_of(step)
        if growth is not None and number and isinstance(init, Term):
            with suppress(Inexact):
                return self._grown(growth, init, self._trips(low, high, number))
        made = self._unknown(k, self.op.results[k])
        self.ex.lose(made, [init, *(after[k] for after in self.nexts)])
        return made

    def _trips(self, low: Term, high: Term, step: int) -> Term:
        """How many iterations a loop with a constant step makes in all."""
        terms, encoding = self.ex.terms, self.ex.encoding
        distance = terms.subtract(high, low) if step > 0 else terms.subtract(low, high)
        count, _ = encoding.floor_pair(terms.plus(distance, abs(step) - 1), abs(step))
        return encoding.extreme(count, terms.integer(0), least=False)
