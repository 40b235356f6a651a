"""Symbolic execution of one generic thread over structured WIR.

A path is what the branches on the way to a place say.  Besides, a thread that has come to a place
without a fault has passed every check on the way, and the results that were taken to fit did fit:
that is *known* there.  Whatever is found therefore speaks of executions up to the first fault of
the thread; where every obligation is proved, there is no first fault and it speaks of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from heald.artifact import Symbol
from heald.ir import MAX_RANK, MEMORY, Kernel, Op, Region, Value, walk
from heald.ops import CLAIMS, TABLE, Handled, role_of
from heald.ops.threads import synchronises_block
from heald.passes.block_uniformity import uniform_in_blocks
from heald.passes.facts import DIVISIONS
from heald.passes.meetings import shares_block
from heald.proof import arrays, loops
from heald.proof.bits import Bits
from heald.proof.components import used_leaves
from heald.proof.contents import Contents
from heald.proof.contracts import NOTHING, Promises
from heald.proof.explain import turns_in
from heald.proof.integers import Integers, scalar
from heald.proof.records import (
    Beyond,
    Data,
    Execution,
    Fitting,
    Meeting,
    Obligation,
    Outcome,
    Path,
    Promised,
    Root,
    Segments,
    Targets,
    View,
)
from heald.proof.relevance import exact_values
from heald.proof.terms import BOOL, INT, Term, Terms, constant_of
from heald.proof.vector_terms import VectorTerms
from heald.types import Array, Leaf, Scalar, Type, i32, leaves

NARROW, WIDE = (1 << 31) - 1, (1 << 63) - 1
_NO_SIZES: Mapping[Symbol, int] = MappingProxyType({})
_MOST_OUTCOMES = 24
_MOST_DEPTH = 120
_MOST_BLOCK = 1024
_ARITHMETIC = frozenset({"iadd", "isub", "imul", "ineg", "idiv", "shl"})
"""Ops that overflow; conversions and unsigned arithmetic wrap because they are asked to."""


class Executor:
    """Runs a kernel on unknowns.

    Args:
        kernel: before guards.
        wrapping: ops whose result may not fit its type; it is wrapped exactly.  All others are
            taken to fit, which ``fittings`` of the result asks to show.
        vectors: integers are bit-vectors, which wrap by themselves.
        promises: contracts of parameters, which stores have to keep.
        trusting: whether contents are as contracts say, and promises in the body are kept.
        sizes: numbers that the launch is known to have.
        terms: their maker, where other executions share it.
    """

    def __init__(
        self,
        kernel: Kernel,
        wrapping: frozenset[Op] = frozenset(),
        *,
        vectors: bool = False,
        promises: Promises = NOTHING,
        trusting: bool = False,
        sizes: Mapping[Symbol, int] = _NO_SIZES,
        terms: Terms | None = None,
    ) -> None:
        self.kernel = kernel
        self.wrapping = wrapping
        self.trusting = trusting
        self.sizes = sizes
        self.terms: Terms
        self.encoding: Integers
        if vectors:
            self.terms = made = VectorTerms()
            self.encoding = Bits(made)
        else:
            self.terms = Terms() if terms is None else terms
            self.encoding = Integers(self.terms, self.fit)
        self.exact = exact_values(kernel, {promise.parameter for promise in promises.arrays})
        self.used_leaves = used_leaves(kernel)
        self.block_uniform = uniform_in_blocks(kernel)
        self.found = Execution(kernel, turns=self.encoding.turns)
        self.limit = NARROW if _has_narrow_indices(kernel) else WIDE
        self.env: dict[Value, Data] = {}
        self.path: Path = ()
        self.known: Path = ()
        self.depth = 0
        self.targets = Targets()
        self.resources: dict[object, View] = {}
        self.contents = Contents(self, promises)
        self.segments: Segments = frozenset({0})
        self._last_segment = 0

    def run(self) -> Execution:
        """Execute the kernel.

        One that reads no launch index may be launched on any number of axes.

        Raises:
            Beyond: it does something that this execution has no meaning for.
        """
        dims = [self.dim_symbol(axis) for axis in range(self.kernel.rank or MAX_RANK)]
        threads = []
        for axis, extent in enumerate(dims):
            most = self.terms.range(extent)[1] - 1
            thread = self.terms.symbol(f"tid[{axis}]", INT, 0, most)
            self.terms.define(thread, self.terms.less(thread, extent))
            threads.append(thread)
        self.found.threads = tuple(threads)
        for number, parameter in enumerate(self.kernel.params):
            own = leaves(parameter.type)
            parts = tuple(self._parameter(parameter, number, k, leaf) for k, leaf in enumerate(own))
            self.env[parameter] = parts[0] if own == (parameter.type,) else parts
        if shares_block(self.kernel):
            self.place_in_block("block_index")
        self.region(self.kernel.body)
        return self.found

    # -- what the launch knows ---------------------------------------------------------------------

    def dim_symbol(self, axis: int) -> Term:
        """An extent of the launch; where a thread runs, none is 0.

        A kernel that reads launch indices is launched on as many axes, and others count as 1.
        """
        if 0 < self.kernel.rank <= axis:
            return self.terms.integer(1)
        return self.launch_symbol(Symbol("dim", axis=axis), f"dim[{axis}]", 1, self.limit)

    def symbol_of(self, symbol: Symbol) -> Term:
        """What the launch knows by a name; dims and the size of blocks may not be asked by the
        kernel.
        """
        if symbol.kind == "block":
            return self.launch_symbol(symbol, "block_dim", 1, _MOST_BLOCK)
        if symbol.kind == "dim":
            return self.dim_symbol(symbol.axis)
        return self.found.symbols[symbol]

    def launch_symbol(self, symbol: Symbol, name: str, low: int, high: int) -> Term:
        """A number that every thread of a launch sees alike."""
        found = self.found.symbols.get(symbol)
        if found is not None:
            return found
        size = self.sizes.get(symbol)
        if size is not None and low <= size <= high:
            found = self.terms.integer(size)
        else:
            found = self.terms.symbol(name, INT, low, high, shared=True)
            self.terms.launch.add(found)
        self.found.symbols[symbol] = found
        return found

    def _parameter(self, parameter: Value, number: int, k: int, leaf: Leaf) -> Data:
        name = self.kernel.name_of(parameter) or f"argument{number}"
        if leaf is not parameter.type:
            name = f"{name}.{k}"
        if isinstance(leaf, Array):
            extents = tuple(
                self.launch_symbol(
                    Symbol("shape", number, k, axis), f"{name}.shape[{axis}]", 0, self.limit
                )
                for axis in range(leaf.ndim)
            )
            return arrays.whole(self.terms, Root("parameter", (number, k)), extents)
        if leaf.is_integer:
            return self.launch_symbol(Symbol("value", number, k), name, leaf.lowest, leaf.highest)
        return self.encoding.unknown(leaf, name, shared=True)

    # -- state -------------------------------------------------------------------------------------

    def term(self, value: Value) -> Term:
        """The term of a scalar."""
        found = self.env[value]
        assert isinstance(found, Term)
        return found

    def view(self, value: Value) -> View:
        """The array that a value is."""
        found = self.env[value]
        assert isinstance(found, View)
        return found

    def read(self, values: Sequence[Value]) -> tuple[Data, ...]:
        """The data of values."""
        return tuple([self.env[v] for v in values])

    def bind(self, values: Sequence[Value], data: Sequence[Data]) -> None:
        """Give values their data."""
        self.env.update(zip(values, data, strict=True))

    def learn(self, *facts: Term) -> None:
        """Facts that hold from here on."""
        fresh = tuple([f for f in facts if f is not self.terms.true and f not in self.known])
        self.known += fresh

    def unknown(self, t: Type, name: str, op: Op | None = None) -> Data:
        """Any value of a type without arrays."""
        own = leaves(t)
        parts = []
        for leaf in own:
            assert isinstance(leaf, Scalar)
            made = self.encoding.unknown(leaf, name)
            if op is not None:
                self.found.sources[made] = op
            parts.append(made)
        return parts[0] if own == (t,) else tuple(parts)

    def fit(self, op: Op, exact: Term, t: Scalar) -> Term:
        """What an op gives whose exact result may lie outside its type."""
        terms = self.terms
        low, high = terms.range(exact)
        if t.lowest <= low and high <= t.highest:
            return exact
        if op in self.wrapping:
            if op.name in _ARITHMETIC and t.kind == "i":
                return self.wrap(op, exact, t)
            return self.encoding.wrapped(exact, t)[0]
        goal = terms.between(t.lowest, exact, t.highest)
        self.found.fittings.append(Fitting(op, self.path, self.known, exact, t, goal))
        self.learn(goal)
        return exact

    def wrap(self, op: Op, exact: Term, t: Scalar) -> Term:
        """A result that may wrap, and a note of how many times it does."""
        value, turns = self.encoding.wrapped(exact, t)
        count = constant_of(turns)
        if count == 0:
            return value
        if count is not None:  # an unknown nevertheless, as indices are asked for those
            turns = self.terms.symbol("turns", INT, count, count, shared=True)
            value = self.terms.add(exact, turns, -(1 << t.bits))
        self.found.turns[turns] = op
        return value

    def lose(self, made: Data, sources: Iterable[Data]) -> None:
        """Numbers that stand for others are exact results only where those are."""
        if isinstance(made, tuple):
            columns = [source for source in sources if isinstance(source, tuple)]
            for k, part in enumerate(made):
                self.lose(part, [column[k] for column in columns])
        elif isinstance(made, Term) and made.sort == INT and made.kind == "symbol":
            given = [source for source in sources if isinstance(source, Term)]
            turns = turns_in(self.terms, self.found, [x for x in given if x is not made])
            if turns:
                self.encoding.lose(self.found.turns[turns[0]], made)

    def oblige(
        self,
        op: Op,
        kind: str,
        goal: Term,
        numbers: tuple[Term, ...] = (),
        axis: int = -1,
    ) -> None:
        """Something that must hold here, and is known to hold from here on."""
        if goal is not self.terms.true:
            found = Obligation(op, kind, self.path, self.known, goal, numbers, axis)
            self.found.obligations.append(found)
            self.learn(goal)

    def claim(self, op: Op, goal: Term, numbers: tuple[Term, ...] = ()) -> None:
        """Something that a contract asks for here.  No check stands behind it, so nothing that
        comes after may count on it.
        """
        if goal is not self.terms.true:
            found = Obligation(op, "contract", self.path, self.known, goal, numbers)
            self.found.obligations.append(found)

    # -- regions -----------------------------------------------------------------------------------

    def region(self, region: Region) -> tuple[Data, ...] | None:
        """Execute a region; gives what it yields, or None where no thread comes to its end."""
        for op in region.ops:
            match op.name:
                case "yield":
                    return self.read(op.operands)
                case "break":
                    self.targets.leave.append(self.outcome(op.operands))
                    return None
                case "continue":
                    self.targets.again.append(self.outcome(op.operands))
                    return None
                case "return":
                    self.targets.out.append(self.outcome(op.operands))
                    return None
                case "unreachable":
                    return None
                case "if":
                    flow = self._if(op)
                case "for":
                    flow = loops.run_for(self, op)
                case "while":
                    flow = loops.run_while(self, op)
                case "scope":
                    flow = self._scope(op)
                case _:
                    self.plain(op)
                    continue
            if flow is None:
                return None
            self.bind(op.results, flow)
        raise AssertionError("a region has a terminator")

    def outcome(self, values: Sequence[Value]) -> Outcome:
        """The way out at this place."""
        return self.outcome_of(self.read(values))

    def outcome_of(self, data: tuple[Data, ...], *, inside: bool = False) -> Outcome:
        """The way out at this place with values; ``inside`` a loop that is just being left."""
        return Outcome(self.path, self.known, data, self.depth + inside, self.segments)

    def begin_segment(self) -> None:
        """From here on accesses are ordered after those before, among threads of one block."""
        self._last_segment += 1
        self.segments = frozenset({self._last_segment})

    def mark(self) -> tuple[int, ...]:
        """How much was found so far."""
        return tuple(len(found) for found in self._lists())

    def rollback(self, mark: tuple[int, ...]) -> None:
        """Forget what was found since a mark."""
        for found, length in zip(self._lists(), mark, strict=True):
            del found[length:]

    def _lists(self) -> tuple[list[Any], ...]:
        found = self.found
        return (
            found.obligations,
            found.indexings,
            found.fittings,
            found.accesses,
            found.candidates,
            found.blocks,
            found.promised,
            found.meetings,
            found.tangled,
        )

    def _if(self, op: Op) -> tuple[Data, ...] | None:
        condition = self.term(op.operands[0])
        path, known, segments = self.path, self.known, self.segments
        ends: list[tuple[Outcome, Term]] = []
        for region, guard in zip(
            op.regions, (condition, self.terms.negate(condition)), strict=True
        ):
            if guard is self.terms.false:
                continue
            self.path, self.known, self.segments = path, known, segments
            if guard is not self.terms.true:
                self.path = (*path, guard)
            values = self.region(region)
            if values is not None:
                ends.append((self.outcome_of(values), guard))
        if not ends:
            return None
        self.segments = frozenset().union(*(end.segments for end, _ in ends))
        if len(ends) == 1:
            ((end, _),) = ends
            self.path, self.known = end.path, end.known
            return end.values
        self.known = known
        (first, guard), (second, _) = ends
        self._join_paths(path, [first, second])
        return tuple(
            self.choose(op, guard, x, y) for x, y in zip(first.values, second.values, strict=True)
        )

    def _join_paths(self, base: Path, ends: Sequence[Outcome]) -> None:
        """Go on where several ways meet."""
        terms = self.terms
        rest = terms.either(*(terms.both(*end.path[len(base) :]) for end in ends))
        self.path = base if rest is terms.true else (*base, rest)

    def choose(self, op: Op, condition: Term, x: Data, y: Data) -> Data:
        """One of two values of a type."""
        if x is y:
            return x
        if isinstance(x, tuple) and isinstance(y, tuple):
            return tuple(self.choose(op, condition, a, b) for a, b in zip(x, y, strict=True))
        if isinstance(x, Term) and isinstance(y, Term):
            made = self.terms.choose(condition, x, y)
            if made.depth <= _MOST_DEPTH or made.sort == INT:
                return made
            return self.terms.symbol("merged", made.sort)
        raise Beyond(op, "an array that depends on a branch")

    def _scope(self, op: Op) -> tuple[Data, ...] | None:
        outer, self.targets = self.targets, Targets()
        path, known = self.path, self.known
        first = self.decision().number
        self.region(op.regions[0])
        ends, self.targets = self.targets.out, outer
        values = self.meet(op, path, known, ends, [v.type for v in op.results])
        if values is not None:
            self.leave(path, first)
        return values

    def decision(self) -> Term:
        """Something that may be different for each thread, and of which nothing is known."""
        return self.terms.symbol("decision", BOOL)

    def leave(self, path: Path, first: int) -> None:
        """Every thread that came to ``path`` has come out of what was entered there: what is said
        of unknowns made since, from number ``first`` on, decides nothing.
        """
        self.found.exits.update(
            term
            for term in self.path[len(path) :]
            if any(symbol.number >= first for symbol in self.terms.symbols(term))
        )

    def meet(
        self, op: Op, path: Path, known: Path, ends: Sequence[Outcome], types: Sequence[Type]
    ) -> tuple[Data, ...] | None:
        """Go on after several ways out of one region that was entered at ``path``."""
        if not ends:
            return None
        self.segments = frozenset().union(*(end.segments for end in ends))
        if len(ends) == 1:
            self.path, self.known = ends[0].path, ends[0].known
            return ends[0].values
        self.known = known
        if len(ends) > _MOST_OUTCOMES:
            self.path = (*path, self.decision())
            values = tuple(self.unknown(t, "merged", op) for t in types)
            self.lose(values, [end.values for end in ends])
            return values
        if any(end.depth > self.depth for end in ends):
            return self._meet_any(op, path, known, ends, types)
        self._join_paths(path, ends)
        values = ends[-1].values
        for end in reversed(ends[:-1]):
            condition = self.terms.both(*end.path[len(path) :])
            values = tuple(
                self.choose(op, condition, x, y) for x, y in zip(end.values, values, strict=True)
            )
        return values

    def _meet_any(
        self,
        op: Op,
        path: Path,
        known: Path,
        ends: Sequence[Outcome],
        types: Sequence[Type],
    ) -> tuple[Data, ...]:
        """Ways out of loops: which iteration it was is unknown, so the result is any of them.

        What was known of the values where they left stays known.
        """
        terms = self.terms
        if all(end.values == ends[0].values for end in ends):
            values = ends[0].values
        else:
            values = tuple(self.unknown(t, "left", op) for t in types)
            self.lose(values, [end.values for end in ends])
        ways = []
        for end in ends:
            equal = [self._equal(op, x, y) for x, y in zip(values, end.values, strict=True)]
            way = terms.both(*end.path[len(path) :], *equal)
            spoken = terms.symbols(way)
            about = [f for f in end.known[len(known) :] if spoken & terms.symbols(f)]
            ways.append(terms.both(way, *about))
        rest = terms.either(*ways)
        self.path = path if rest is terms.true else (*path, rest)
        return values

    def _equal(self, op: Op, x: Data, y: Data) -> Term:
        if isinstance(x, tuple) and isinstance(y, tuple):
            return self.terms.both(*(self._equal(op, a, b) for a, b in zip(x, y, strict=True)))
        if isinstance(x, Term) and isinstance(y, Term):
            return self.terms.same(x, y)
        if x is y:
            return self.terms.true
        raise Beyond(op, "an array that depends on a branch")

    # -- ops without regions -----------------------------------------------------------------------

    def plain(self, op: Op) -> None:
        """Execute an op without regions."""
        rule = _RULES.get(op.name)
        if rule is not None:
            rule(self, op)
        elif op.name in MEMORY:
            arrays.access(self, op)
        else:
            self._value_op(op)

    def _value_op(self, op: Op) -> None:
        if op.name in DIVISIONS:
            divisor = self.term(op.operands[1])
            if op.operands[1] in self.exact:
                nonzero = self.terms.negate(self.terms.zero(divisor))
                self.oblige(op, "division", nonzero, (divisor,))
        if not op.results:
            return
        operands = [self.term(v) for v in op.operands]
        if op.result in self.exact and not isinstance(TABLE[op.name].smt, Handled):
            self.env[op.result] = self.encoding.encode(op, *operands)
        elif max((x.depth for x in operands), default=0) > _MOST_DEPTH:
            self.env[op.result] = self.unknown(op.result.type, op.name, op)
        else:
            self.env[op.result] = self.encoding.opaque(op, *operands)

    def narrow(self, number: Term, t: Type, op: Op) -> Term:
        """A number that fits an index type, else any number of it."""
        low, high = self.terms.range(number)
        index = scalar(t)
        if index.lowest <= low and high <= index.highest:
            return number
        found = self.unknown(t, op.name, op)
        assert isinstance(found, Term)
        return found

    def place_in_block(self, name: str) -> Term:
        """Where the thread is in its block: numbers of a division of its linear index."""
        terms, found = self.terms, self.found.place
        if not found:
            linear = terms.integer(0)
            for axis, thread in enumerate(self.found.threads):
                linear = terms.add(terms.multiply(linear, self.dim_symbol(axis)), thread)
            size = self.symbol_of(Symbol("block"))
            least, most = terms.range(size)
            last = terms.range(linear)[1] // least
            block = terms.symbol("block_index", INT, 0, min(WIDE, last))
            rank = terms.symbol("thread_index", INT, 0, most - 1)
            facts = [terms.less(rank, size)]
            facts.append(terms.same(linear, terms.add(terms.multiply(block, size), rank)))
            for symbol in (block, rank):
                terms.define(symbol, *facts)
            lane = self.encoding.floor_pair(rank, 32)[1]
            found.update(block_dim=size, block_index=block, thread_index=rank, lane=lane)
        return found[name]


# -- rules by name of the op -----------------------------------------------------------------------


def _const(ex: Executor, op: Op) -> None:
    value = op.attrs["value"]
    assert isinstance(value, bool | int | float)
    ex.env[op.result] = ex.encoding.constant(scalar(op.result.type), value)


def _tid(ex: Executor, op: Op) -> None:
    ex.env[op.result] = ex.found.threads[arrays.axis_of(op)]


def _launch_dim(ex: Executor, op: Op) -> None:
    ex.env[op.result] = ex.dim_symbol(arrays.axis_of(op))


def _place(ex: Executor, op: Op) -> None:
    ex.env[op.result] = ex.narrow(ex.place_in_block(op.name), op.result.type, op)


def _compose(ex: Executor, op: Op) -> None:
    ex.env[op.result] = ex.read(op.operands)


def _extract(ex: Executor, op: Op) -> None:
    parts, leaf = ex.env[op.operands[0]], op.attrs["leaf"]
    assert isinstance(parts, tuple)
    assert isinstance(leaf, int)
    ex.env[op.result] = parts[leaf]


def _insert(ex: Executor, op: Op) -> None:
    (parts, part), leaf = ex.read(op.operands), op.attrs["leaf"]
    assert isinstance(parts, tuple)
    assert isinstance(leaf, int)
    ex.env[op.result] = (*parts[:leaf], part, *parts[leaf + 1 :])


def _assert(ex: Executor, op: Op) -> None:
    ex.oblige(op, "assertion", ex.term(op.operands[0]))


def _assume(ex: Executor, op: Op) -> None:
    condition = ex.term(op.operands[0])
    if role_of(op) in CLAIMS:
        ex.claim(op, condition)
        return
    ex.found.promised.append(Promised(op, ex.path, ex.known, condition))
    if ex.trusting:
        ex.learn(condition)


def _nothing(ex: Executor, op: Op) -> None:
    """An op without a result that neither faults nor decides anything."""


def _block(ex: Executor, op: Op) -> None:
    """What other threads give is anything; a barrier orders accesses of different threads."""
    ex.found.blocks.append(op)
    for value in op.results:
        ex.env[value] = found = ex.unknown(value.type, op.name, op)
        if synchronises_block(op) and isinstance(found, Term):
            ex.found.uniform.append(found)  # all threads of the block are told the same
    if synchronises_block(op):
        ex.found.meetings.append(Meeting(op, ex.path, ex.known))
        ex.begin_segment()


_RULES: Mapping[str, Callable[[Executor, Op], None]] = {
    "const": _const,
    "tid": _tid,
    "launch_dim": _launch_dim,
    "block_dim": _place,
    "block_index": _place,
    "thread_index": _place,
    "lane": _place,
    "compose": _compose,
    "extract": _extract,
    "insert": _insert,
    "alloc": arrays.alloc,
    "dim": arrays.dim,
    "stride": arrays.stride,
    "subview": arrays.subview,
    "resource_array": arrays.resource_array,
    "resource_scalar": arrays.resource_scalar,
    "assert": _assert,
    "assume": _assume,
    "printf": _nothing,
    "block_sync": _block,
    "shuffle": _block,
    "vote": _block,
}


def _has_narrow_indices(kernel: Kernel) -> bool:
    """Was the kernel specialised for launches and arrays with fewer than 2^31 elements on an axis?

    Such a kernel reads launch indices and extents as i32; launches and arrays that do not fit get
    another specialisation.
    """
    return any(
        op.name in ("tid", "dim", "launch_dim") and op.results[0].type is i32
        for op in walk(kernel.body)
    )
