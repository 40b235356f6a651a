"""Interval and stride analysis: obligations that hold, always or in launches that a condition
describes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from heald.artifact import LaunchCondition
from heald.ir import EXITS, MEMORY, OBLIGATIONS, Kernel, Op, Region, Value, op_ids, walk
from heald.passes.dependence import Dependence, condition_of
from heald.passes.facts import DIVISIONS, gather
from heald.passes.guard import Verdict
from heald.passes.interval_facts import Facts
from heald.passes.interval_loops import Loop, Memory, exit_terms, open_loop
from heald.passes.interval_ops import transfer
from heald.passes.interval_state import State, integer_type
from heald.passes.interval_terms import Case, Linear, constant
from heald.passes.liveness import carried_args, carried_inits
from heald.types import Array, b1

_CASES = 4
_VISITS_PER_OP = 12
_EFFORT, _EFFORT_PER_OP = 400, 12


@dataclass(frozen=True, slots=True)
class Intervals:
    """What needs no check at run time.

    Attributes:
        proved: obligations that hold in every launch.
        proved_under: those that hold in every launch that fulfils ``conditional``, those of
            ``proved`` left out.
        conditional: speaks of dims, shapes and by-value integers; always true when ``proved_under``
            is empty.
    """

    proved: frozenset[Op]
    proved_under: frozenset[Op]
    conditional: LaunchCondition

    def verdicts(self, kernel: Kernel) -> dict[int, Verdict]:
        """What ``guard`` takes, by id; ``kernel`` is the one that was analysed."""
        ids = op_ids(kernel)
        found = {ids[op]: Verdict.CONDITIONAL for op in self.proved_under}
        return found | {ids[op]: Verdict.PROVED for op in self.proved}


def analyse_intervals(kernel: Kernel) -> Intervals:
    """Find accesses in bounds, divisors that are not 0 and steps that are not 0.

    Integers are linear terms over what a thread does not know better; comparisons that guard a
    place are facts there, and a search eliminates atoms from a goal by facts.  Wrap-around is
    exact: a sum is trusted only where it provably fits its type, or where it lies between 0 and an
    extent, which fits.  Loops are analysed with guesses that must prove themselves (a carried value
    never falls below, or rises above, its start, or grows evenly).  Nothing read from memory
    counts, nor does ``assume`` or an access that is checked itself.

    A kernel that reads a launch index or an extent as i32 is the specialisation for launches and
    arrays with fewer than 2^31 elements on each axis.

    What is not proved is looked at once more for launches that are restricted: clauses such as
    ``dim[0] <= a.shape[0]`` are collected where the launch can check them.  If that leaves
    something open, sums that it depends on may ask for small launches too: that ``4096 * tid``
    does not wrap takes ``dim[0] <= 2^19``.
    """
    effort = _EFFORT + _EFFORT_PER_OP * sum(1 for _ in walk(kernel.body))
    deciding = _deciding(kernel)
    strict = _Analysis(State(kernel, ask=False, facts=Facts(effort)), deciding)
    strict.run()
    proved = strict.holding()
    if proved.issuperset(strict.verdicts):
        return Intervals(proved, frozenset(), LaunchCondition())
    asking = _Analysis(State(kernel, ask=True, facts=Facts(effort)), deciding)
    asking.run()
    wanted = _behind(kernel, asking.verdicts.keys() - asking.holding())
    if not asking.state.refused.isdisjoint(wanted):
        state = State(kernel, ask=True, facts=Facts(effort), wanted=wanted)
        trying = _Analysis(state, deciding)
        trying.run()
        if trying.holding() > asking.holding():
            asking = trying
    under = asking.holding() - proved
    clauses = asking.state.facts.clauses if under else []
    return Intervals(proved, under, _condition(clauses))


def _deciding(kernel: Kernel) -> frozenset[Value]:
    """What obligations depend on, or where control goes: nothing else can prove one."""
    ops = list(walk(kernel.body))
    left = gather(kernel, lambda op: op.name if op.name in EXITS else None)
    # A branch tells more behind it where one arm leads elsewhere.
    leaving = [v for op in ops if op.name == "if" and left[op] for v in condition_of(op)]
    return _behind(kernel, [op for op in ops if op.name in OBLIGATIONS], leaving)


def _behind(kernel: Kernel, asked: Iterable[Op], more: Iterable[Value] = ()) -> frozenset[Value]:
    """What some obligations depend on, and ``more`` values."""
    asked, found = list(asked), Dependence(kernel)
    values = [v for op in asked for v in _asked_of(op)]
    return found.behind((), [*values, *found.around(asked), *more])


def _asked_of(op: Op) -> Sequence[Value]:
    """The operands that decide whether an obligation holds."""
    array = op.operands[0].type if op.operands else None
    if op.name in MEMORY and isinstance(array, Array):
        return op.operands[: 1 + array.ndim]
    return op.operands[:3] if op.name == "for" else op.operands


def _condition(clauses: Sequence[Linear]) -> LaunchCondition:
    """The conjunction, without clauses that follow from the others."""
    kept = list(clauses)
    for clause in clauses:
        others = Facts(_EFFORT)
        others.add_all(other for other in kept if other is not clause)
        if others.prove(clause):
            kept.remove(clause)
    return LaunchCondition(tuple(clause.tightened().clause() for clause in kept))


@dataclass(slots=True)
class _Return:
    """What a scope gives at one of its returns, and facts there."""

    operands: tuple[Value, ...]
    terms: tuple[Linear | None, ...]
    facts: list[Linear]


@dataclass(slots=True)
class _Analysis:
    """One walk over the kernel; loops are walked until their guesses hold.

    Only values in ``deciding`` are understood; others are any number of their type.
    """

    state: State
    deciding: frozenset[Value]
    verdicts: dict[Op, bool] = field(default_factory=dict)
    _loops: list[Loop] = field(default_factory=list)
    _scopes: list[tuple[int, list[_Return]]] = field(default_factory=list)
    visits: int = 0
    _trying: bool = False
    _memories: dict[Op, Memory] = field(default_factory=dict)

    def run(self) -> None:
        self._region(self.state.kernel.body)

    def holding(self) -> frozenset[Op]:
        return frozenset(op for op, holds in self.verdicts.items() if holds)

    def _region(self, region: Region) -> Op:
        """Walk a region; gives its terminator."""
        for op in region.ops:
            self.visits += 1
            if op.name in OBLIGATIONS and not self._trying:
                self._obligation(op)
            match op.name:
                case "if":
                    self._if(op)
                case "for":
                    self._for(op)
                case "while":
                    self._while(op)
                case "scope":
                    self._scope(op)
                case "continue":
                    self._loops[-1].check_next(self.state, op.operands)
                case "break":
                    self._loops[-1].check_exit(self.state, op.operands)
                case "return":
                    self._return(op)
                case "subview":
                    self._subview(op)
                case _ if self.deciding.issuperset(op.results):
                    transfer(self.state, op)
        return region.terminator

    # -- obligations -------------------------------------------------------------------------------

    def _obligation(self, op: Op) -> None:
        match op.name:
            case "subview":
                return  # looked at where its extents are found
            case "for":
                self.verdicts[op] = self._is_nonzero(op.operands[2])
            case name if name in MEMORY:
                self.verdicts[op] = self._is_inside(op)
            case name if name in DIVISIONS:
                self.verdicts[op] = self._is_nonzero(op.operands[1])
            case _:
                self.verdicts[op] = False

    def _is_nonzero(self, value: Value) -> bool:
        term = self.state.term(value)
        return self._any([[term - 1], [-term - 1]])

    def _any(self, alternatives: Sequence[Sequence[Linear]]) -> bool:
        """Can all goals of one alternative be shown?  Accepts the clauses that it takes."""
        for goals in alternatives:
            clauses = self.state.holds(goals)
            if clauses is not None:
                self.state.accept(clauses)
                return True
        return False

    def _is_inside(self, op: Op) -> bool:
        array = op.operands[0]
        assert isinstance(array.type, Array)
        clauses: list[Linear] = []
        for axis, index in enumerate(op.operands[1 : 1 + array.type.ndim]):
            found = self._inside(index, self.state.extent(array, axis))
            if found is None:
                return False
            clauses += found
        self.state.accept(clauses)
        return True

    def _inside(self, index: Value, extent: Linear) -> list[Linear] | None:
        """Clauses under which an index is at least 0 and less than an extent, or None."""
        t = integer_type(index)
        assert t is not None
        for term in self.state.terms(index):
            goals = [term, extent - term - 1]
            if extent.high > t.highest:  # the term must not be the index plus 2^bits
                goals.append(constant(t.highest) - term)
            found = self.state.holds(goals)
            if found is not None:
                return found
        return None

    def _subview(self, op: Op) -> None:
        """A view that is inside has the extents it was asked for; another one may be empty."""
        state, array = self.state, op.operands[0]
        numbers = iter(op.operands[1:])
        clauses: list[Linear] | None = []
        extents: list[Linear | None] = []
        axes = op.attrs["axes"]
        assert isinstance(axes, str)
        for axis, letter in enumerate(axes):
            extent = state.extent(array, axis)
            found: list[Linear] | None = []
            if letter == "i":
                found = self._inside(next(numbers), extent)
            elif letter == "f":
                extents.append(extent)
            else:
                start, length, step = next(numbers), next(numbers), next(numbers)
                extents.append(state.term(length))
                found = self._stretch(start, length, step, extent)
            clauses = None if clauses is None or found is None else clauses + found
        self.verdicts[op] = clauses is not None
        if clauses is None:
            state.set_extents(op.result, [None] * len(extents))
        else:
            state.accept(clauses)
            state.set_extents(op.result, extents)

    def _stretch(
        self, start: Value, length: Value, step: Value, extent: Linear
    ) -> list[Linear] | None:
        """Clauses under which elements ``start``, ``start + step`` ... are inside, and their number
        not negative.
        """
        state, facts = self.state, self.state.facts
        first, size, stride = state.term(start), state.term(length), state.term(step)
        if stride.terms:
            return None
        clauses = state.holds([size])
        if clauses is None:
            return None
        last = first + (size - 1).times(stride.constant)
        mark = facts.mark()
        facts.add(size - 1)  # a view without elements has none outside
        found = state.holds([first, extent - first - 1, last, extent - last - 1])
        facts.release(mark)
        return None if found is None else clauses + found

    # -- branches ----------------------------------------------------------------------------------

    def _if(self, op: Op) -> None:
        state, facts = self.state, self.state.facts
        condition = op.operands[0]
        ends, found, terms = [], [], []
        for region, truth in zip(op.regions, (True, False), strict=True):
            mark = facts.mark()
            facts.test(state.assume(condition, truth))
            end = self._region(region)
            ends.append(end)
            terms.append(self._terms(end.operands) if end.name == "yield" else ())
            found.append(facts.since(mark))
            facts.release(mark)
        falling = [k for k in (0, 1) if ends[k].name == "yield"]
        if len(falling) == 1:
            (k,) = falling
            facts.add_all(found[k])
            self._become(op.results, ends[k].operands)
        elif falling:
            if any(v.type is b1 for v in op.results):
                state.arms[op] = (found[0], found[1])
                for value in op.results:
                    state.made[value] = op
            self._merge(op.results, terms, found)

    def _terms(self, values: Sequence[Value]) -> tuple[Linear | None, ...]:
        state = self.state
        return tuple([None if integer_type(v) is None else state.term(v) for v in values])

    def _become(self, results: Sequence[Value], values: Sequence[Value]) -> None:
        """Each result is the value at its place."""
        state = self.state
        for result, value in zip(results, values, strict=True):
            if integer_type(result) is not None:
                state.set_same(result, value)
            elif isinstance(result.type, Array):
                state.aliases[result] = state.key(value)
            else:
                state.same[result] = value

    def _merge(
        self,
        results: Sequence[Value],
        terms: Sequence[Sequence[Linear | None]],
        found: Sequence[list[Linear]],
    ) -> None:
        """Each result is one of several terms, each with facts that hold where it is that one."""
        for k, result in enumerate(results):
            if result not in self.deciding:
                continue
            choices = [row[k] for row in terms]
            given = [term for term in choices if term is not None]
            if len(given) != len(choices) or not 0 < len(given) <= _CASES:
                if integer_type(result) is not None:
                    self.state.set_opaque(result)
            elif all(given[0].equals(term) for term in given[1:]):
                self.state.set_term(result, given[0])
            else:
                cases = [
                    Case(term, _relevant(term, facts))
                    for term, facts in zip(given, found, strict=True)
                ]
                self.state.set_merged(result, cases)

    # -- scopes ------------------------------------------------------------------------------------

    def _scope(self, op: Op) -> None:
        facts = self.state.facts
        mark = facts.mark()
        self._scopes.append((mark, []))
        loops, self._loops = self._loops, []
        self._region(op.regions[0])
        self._loops = loops
        _, returns = self._scopes.pop()
        facts.release(mark)
        if len(returns) == 1:
            facts.add_all(returns[0].facts)
            self._become(op.results, returns[0].operands)
        else:
            self._merge(op.results, [r.terms for r in returns], [r.facts for r in returns])

    def _return(self, op: Op) -> None:
        if self._scopes:
            mark, returns = self._scopes[-1]
            facts = self.state.facts.since(mark)
            returns.append(_Return(op.operands, self._terms(op.operands), facts))

    # -- loops -------------------------------------------------------------------------------------

    def _for(self, op: Op) -> None:
        state = self.state
        low, high, step = map(state.term, op.operands[:3])
        index = op.regions[0].args[0]

        def start(loop: Loop) -> None:
            loop.count(state, index, low, high, step)

        self._loop(op, start)

    def _while(self, op: Op) -> None:
        def start(_: Loop) -> None:
            condition = self._region(op.regions[0]).operands[0]
            self.state.facts.test(self.state.assume(condition, True))

        self._loop(op, start)

    def _loop(self, op: Op, start: Callable[[Loop], None]) -> None:
        """Walk a loop with guesses about carried values until all that are left hold.

        Obligations are looked at in the last round only.
        """
        state, facts = self.state, self.state.facts
        memory = self._memories.setdefault(op, Memory())
        understood = [arg in self.deciding for arg in carried_args(op)[-1]]
        loop = open_loop(state, memory, carried_inits(op), understood)
        if self.visits > _VISITS_PER_OP * (len(state.made) + 50):
            loop.give_up()
        trying = self._trying
        self._trying = trying or (bool(loop.guesses) and not memory.walked)
        while True:
            mark, clauses = facts.mark(), len(facts.clauses)
            returns = len(self._scopes[-1][1]) if self._scopes else 0
            loop.begin(state, carried_args(op))
            self._loops.append(loop)
            start(loop)
            end = self._region(op.regions[-1])
            if end.name == "yield":
                loop.check_next(state, end.operands)
            self._loops.pop()
            facts.release(mark)
            settled = loop.settle()
            if settled and self._trying == trying:
                break
            self._trying = trying if settled else True
            facts.retract(clauses)
            if self._scopes:
                del self._scopes[-1][1][returns:]
        memory.walked = True
        exit_terms(state, loop, op.results)


def _relevant(term: Linear, facts: list[Linear]) -> list[Linear]:
    """Facts that speak of the atoms of a term, or of atoms that those facts speak of."""
    atoms = set(term.terms)
    for _ in range(2):
        for fact in facts:
            if not atoms.isdisjoint(fact.terms):
                atoms.update(fact.terms)
    return [fact for fact in facts if not atoms.isdisjoint(fact.terms)]
