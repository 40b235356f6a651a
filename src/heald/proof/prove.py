"""The prover: what of a kernel holds in every launch, and under which conditions on the launch.

Verdicts speak of executions of a thread up to its first fault (see ``executor``).  Bounds,
divisions, assertions and handles together say whether there is one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from heald.artifact import Apart, ArrayPlace, LinearTerm, Symbol
from heald.ir import Kernel, Op, op_ids
from heald.passes.intervals import analyse_intervals
from heald.proof import races
from heald.proof.conditions import Clause, clause, from_linear
from heald.proof.executor import Executor
from heald.proof.explain import closure, origins, reason_of
from heald.proof.inference import conditions_for
from heald.proof.invariants import settle
from heald.proof.records import Beyond, Execution, Obligation, Path, Root
from heald.proof.result import PROPERTIES, Finding, Live, Proof, PropertyProof, Suspect
from heald.proof.solver import Solver
from heald.proof.terms import INT, Term, Terms, polynomial
from heald.proof.vector_terms import Inexact
from heald.proof.witness import Seeker
from heald.types import Array, leaves, size_of

_MOST_FINDINGS = 8
_ROUNDS = 6
_PROPERTY_OF = {
    "bounds": "bounds",
    "division": "division",
    "step": "division",
    "assertion": "assertions",
    "handle": "handles",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What to prove.

    Attributes:
        kernel: before guards, as the interval analysis takes it.
        given: what is known of the launch.
        infer: whether further conditions on the launch may be asked for.
        properties: which ones.
        intervals: whether the interval analysis may settle obligations first.
    """

    kernel: Kernel
    given: tuple[Clause, ...] = ()
    infer: bool = True
    properties: tuple[str, ...] = PROPERTIES
    intervals: bool = True


def prove(request: Request) -> Proof:
    """Prove what can be proved.

    Raises:
        ImportError: z3 is needed and not installed.
    """
    start = time.perf_counter()
    with _deep_recursion():
        try:
            proof = _Prover(request).run()
        except Beyond as stop:
            ids = op_ids(request.kernel)
            finding = Finding("", ids.get(stop.op, 0), reason="beyond")
            proof = Proof(
                {
                    name: PropertyProof("open", findings=(replace(finding, aspect=name),))
                    for name in request.properties
                },
                request.given,
                beyond=(stop.reason, ids.get(stop.op, 0)),
            )
    return replace(proof, seconds=time.perf_counter() - start)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Terms may be nested as deep as a kernel computes one value from another."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(slots=True)
class _Stage:
    """Clauses and findings of one property."""

    clauses: list[Clause] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    live: list[Live] = field(default_factory=list)
    benign: list[tuple[int, int]] = field(default_factory=list)
    apart: Apart | None = None


Item = tuple[Path, Term]
"""Hypotheses and a goal."""


class _Prover:
    """One run; everything it learns is in its stages."""

    def __init__(self, request: Request, *, vectors: bool = False) -> None:
        self.request = request
        self.vectors = vectors
        self.kernel = request.kernel
        self.ids = op_ids(request.kernel)
        self.settled: frozenset[Op] = frozenset()
        self.stages = {name: _Stage() for name in (*PROPERTIES, "fits")}
        self.questions = 0
        self.executor = Executor(self.kernel)
        self.found = Execution(self.kernel)
        self.invariants: tuple[Term, ...] = ()
        self.vague = False

    # -- the order of things -----------------------------------------------------------------------

    def run(self) -> Proof:
        self._ask_intervals()
        self._execute()
        wanted = self.request.properties
        self._judge_all(wanted)
        if self.vague:
            self._ask_vectors([name for name in wanted if self.stages[name].findings])
        total = {o.op for o in self.found.obligations}
        return Proof(
            {name: self._answer(name) for name in wanted},
            self.request.given,
            (len(total), len(total & self.settled)),
            self.questions,
        )

    def _judge_all(self, wanted: Sequence[str]) -> None:
        kinds = {kind for kind, name in _PROPERTY_OF.items() if name in wanted}
        self._obligations([o for o in self.found.obligations if o.kind in kinds])
        if "overflow" in wanted and not self.vectors:
            self._overflows()
        if "races" in wanted or "aliasing" in wanted:
            self._races()

    def _ask_vectors(self, names: Sequence[str]) -> None:
        """What is open because of operations on bits is tried again on bits."""
        names = [name for name in names if name != "overflow"]
        if not names:
            return
        request = replace(self.request, infer=False)
        second = _Prover(request, vectors=True)
        second.settled = self.settled
        for name in ("fits", "bounds", "division", "races"):
            second.stages[name].clauses = list(self.stages[name].clauses)
        try:
            second._execute()
            second._judge_all(names)
        except (Beyond, Inexact):
            return
        self.questions += second.questions
        for name in names:
            mine, others = self.stages[name], second.stages[name]
            if len(others.findings) <= len(mine.findings):
                mine.findings, mine.benign = others.findings, others.benign

    def _answer(self, name: str) -> PropertyProof:
        stage = self.stages[name]
        clauses = dict.fromkeys((*self.stages["fits"].clauses, *stage.clauses))
        return PropertyProof(
            "open" if stage.findings else "proved",
            tuple(clauses),
            tuple(dict.fromkeys(stage.live)),
            stage.apart,
            tuple(stage.findings),
            tuple(stage.benign),
            faultless=name in ("races", "aliasing", "overflow"),
        )

    def _ask_intervals(self) -> None:
        if not self.request.intervals:
            return
        found = analyse_intervals(self.kernel)
        self.settled = found.proved
        if self.request.infer and found.proved_under:
            self.settled |= found.proved_under
            clauses = [c for c in found.conditional.clauses if isinstance(c, LinearTerm)]
            self.stages["bounds"].clauses += map(from_linear, clauses)

    def _execute(self) -> None:
        """Execute until every result that was taken to fit does."""
        if self.vectors:
            self.executor = Executor(self.kernel, vectors=True)
            self.found = self.executor.run()
            self.invariants = self._settle_invariants()
            return
        wrapping: frozenset[Op] = frozenset()
        for _ in range(_ROUNDS):
            self.executor = Executor(self.kernel, wrapping)
            self.found = self.executor.run()
            self.invariants = self._settle_invariants()
            failed = self._failed_fittings()
            if not failed:
                return
            wrapping |= failed
        self.executor = Executor(self.kernel, wrapping | {f.op for f in self.found.fittings})
        self.found = self.executor.run()
        if self.found.fittings:
            raise Beyond(self.found.fittings[0].op, "results that may or may not fit their type")
        self.invariants = self._settle_invariants()

    # -- facts -------------------------------------------------------------------------------------

    @property
    def terms(self) -> Terms:
        return self.executor.terms

    def claim(self, c: Clause) -> Term:
        """A clause as a term of the present execution."""
        terms = self.terms
        total = terms.integer(0)
        for product, count in c.terms:
            part = terms.integer(count)
            for symbol in product:
                part = terms.multiply(part, self.symbol(symbol))
            total = terms.add(total, part)
        return terms.zero(total) if c.equal else terms.non_negative(total)

    def symbol(self, symbol: Symbol) -> Term:
        """What a launch symbol is called in the present execution."""
        found = self.found.symbols.get(symbol)
        if found is None:  # only dims can be unknown: of axes that no thread reads
            found = self.executor.dim_symbol(symbol.axis)
        return found

    def clause_of(self, claim: Term) -> Clause:
        """A term over launch symbols as a clause."""
        names = {term: symbol for symbol, term in self.found.symbols.items()}
        total = claim.args[0]
        sums = {tuple(names[atom] for atom in m): n for m, n in polynomial(total).items()}
        return clause(sums, equal=claim.kind == "zero")

    def facts(self, *names: str) -> list[Term]:
        """What is known of launches: given, and the clauses of stages."""
        clauses = [*self.request.given, *self.stages["fits"].clauses]
        for name in names:
            clauses += self.stages[name].clauses
        claims = []
        for c in dict.fromkeys(clauses):
            with suppress(Inexact):  # 64 bits do not hold its sum: it is left out
                claims.append(self.claim(c))
        return claims

    def solver(self, facts: Iterable[Term], **options: object) -> Solver:
        """A solver that knows facts and which guesses hold."""
        made = Solver(self.terms, **options)  # type: ignore[arg-type]
        made.add([*facts, *self.invariants])
        return made

    # -- loops and overflow ------------------------------------------------------------------------

    def _settle_invariants(self) -> tuple[Term, ...]:
        candidates = self.found.candidates
        if not candidates:
            return ()
        solver = Solver(self.terms)
        solver.add(self.facts())
        holding = settle(self.terms, solver, candidates)
        self.questions += solver.questions
        return tuple(
            c.literal if c.literal in holding else self.terms.negate(c.literal) for c in candidates
        )

    def _failed_fittings(self) -> frozenset[Op]:
        """Ops whose result may not fit its type, even in launches of a usual size."""
        fittings = self.found.fittings
        stage = self.stages["fits"]
        items = [((*f.path, *f.known), f.goal) for f in fittings]
        left = self._open(items, self.facts)
        failed: set[Op] = set()
        for k in left:
            op = fittings[k].op
            if op in failed or self._holds(items[k], self.facts()):
                continue
            if not self._infer(items[k], stage, usual=True):
                failed.add(op)
        return frozenset(failed)

    # -- goals -------------------------------------------------------------------------------------

    def _open(self, items: Sequence[Item], facts: Callable[[], list[Term]]) -> list[int]:
        """Which goals cannot be shown."""
        left = [k for k, (path, goal) in enumerate(items) if goal is not self.terms.true]
        if not left:
            return []
        for options in ({}, {"reach": 3}):
            solver = self.solver(facts(), **options)
            negated = [self.terms.both(*items[k][0], self.terms.negate(items[k][1])) for k in left]
            solver.prepare(negated)
            if solver.check([self.terms.either(*negated)]).status == "unsat":
                left = []
            else:
                answers = [solver.check([formula]).status for formula in negated]
                left = [k for k, status in zip(left, answers, strict=True) if status != "unsat"]
            self.questions += solver.questions
            if not left or not any(self._has_products(items[k]) for k in left):
                break
        return left

    def _has_products(self, item: Item) -> bool:
        return any(
            len(monomial) > 1
            for formula in (*item[0], item[1])
            for total in formula.args
            if total.sort == INT
            for monomial in polynomial(total)
        )

    def _holds(self, item: Item, facts: Sequence[Term]) -> bool:
        solver = self.solver(facts)
        answer = solver.proves(item[0], item[1])
        self.questions += solver.questions
        return answer

    def _infer(self, item: Item, stage: _Stage, *, usual: bool) -> bool:
        """Ask something of the launch that makes a goal true; False where nothing sensible does."""
        if not self.request.infer:
            return False
        path, goal = item
        here = self.facts()
        for way in conditions_for(self.terms, goal, path, ()):
            clauses = [self.clause_of(c) for c in way]
            if not all(_is_sensible(c, self.kernel.rank, usual=usual) for c in clauses):
                continue
            accepted = [self.claim(c) for c in stage.clauses]
            if self._holds(item, [*here, *accepted, *way]):
                stage.clauses += [c for c in clauses if c not in stage.clauses]
                return True
        return False

    def _obligations(self, obligations: Sequence[Obligation]) -> None:
        rest = [o for o in obligations if o.op not in self.settled]
        for handle in [o for o in rest if o.kind == "handle"]:
            self._handle(handle)
        rest = [o for o in rest if o.kind != "handle"]
        items = [((*o.path, *o.known), o.goal) for o in rest]
        left = self._open(items, lambda: self.facts("bounds"))
        seeker = Seeker(self.terms, self.found, [], {})
        for k in left:
            name = _PROPERTY_OF[rest[k].kind]
            stage = self.stages[name]
            if self._holds(items[k], self.facts("bounds", name)):
                continue
            if not self._infer(items[k], stage, usual=False):
                self._suspect(rest[k], items[k], stage, seeker)

    def _handle(self, obligation: Obligation) -> None:
        """A handle that is a parameter can be looked up before the launch."""
        stage = self.stages["handles"]
        (handle,) = obligation.numbers
        kind = obligation.op.attrs["kind"]
        assert isinstance(kind, int)
        for symbol, term in self.found.symbols.items():
            if term is handle and symbol.kind == "value":
                stage.live.append(Live(symbol.parameter, symbol.leaf, kind))
                return
        op = self.ids[obligation.op]
        stage.findings.append(Finding("handles", op, reason="handle"))

    def _suspect(self, obligation: Obligation, item: Item, stage: _Stage, seeker: Seeker) -> None:
        op = self.ids[obligation.op]
        name = _PROPERTY_OF[obligation.kind]
        suspects: tuple[Suspect, ...] = ()
        if len(stage.findings) < _MOST_FINDINGS:
            seeker.facts = [*self.facts("bounds", name), *self.invariants]
            question = [*item[0], self.terms.negate(item[1])]
            suspects = seeker.suspects(question, [None])
        self._note_vague([*item[0], item[1]])
        sources = origins(self.terms, self.found, [item[1]])
        for k, known in enumerate(stage.findings):
            if known.op == op and known.axis == obligation.axis:
                both = tuple(sorted((*known.suspects, *suspects), key=lambda s: s.size))
                stage.findings[k] = replace(known, suspects=both)
                return
        stage.findings.append(
            Finding(
                name,
                op,
                axis=obligation.axis,
                reason=reason_of(sources),
                sources=tuple(dict.fromkeys(self.ids[source] for source in sources)),
                suspects=suspects,
            )
        )

    def _note_vague(self, formulas: Sequence[Term]) -> None:
        """Does something open depend on bits that the integer encoding does not know?"""
        vague = self.executor.encoding.approximated
        self.vague |= bool(vague and vague & closure(self.terms, self.found, formulas))

    # -- overflow of indices -----------------------------------------------------------------------

    def _overflows(self) -> None:
        """An index that is not the exact result of its arithmetic, where the access succeeds."""
        stage = self.stages["overflow"]
        if not self.found.turns:
            return
        for access in self._indexing():
            turns = self._turns_of(access.numbers)
            goals = [self.terms.zero(turn) for turn in turns]
            item = ((*access.path, *access.known), self.terms.both(*goals))
            if not turns or not self._open([item], self.facts):
                continue
            seeker = Seeker(self.terms, self.found, [*self.facts(), *self.invariants], {})
            question = [*item[0], self.terms.negate(item[1])]
            culprits = tuple(dict.fromkeys(self.ids[self.found.turns[t]] for t in turns))
            stage.findings.append(
                Finding(
                    "overflow",
                    self.ids[access.op],
                    reason="overflow",
                    sources=culprits,
                    suspects=seeker.suspects(question, [None]),
                    culprits=culprits,
                )
            )
            if len(stage.findings) == _MOST_FINDINGS:
                return

    def _indexing(self) -> list[Obligation]:
        """The last bounds obligation of each access, at which all others are known."""
        last: dict[Op, Obligation] = {}
        for obligation in self.found.obligations:
            if obligation.kind == "bounds":
                numbers = obligation.numbers[:1]
                before = last.get(obligation.op)
                if before is not None:
                    numbers = tuple(dict.fromkeys((*before.numbers, *numbers)))
                known = (*obligation.known, obligation.goal)
                last[obligation.op] = replace(obligation, numbers=numbers, known=known)
        return list(last.values())

    def _turns_of(self, numbers: Sequence[Term]) -> list[Term]:
        """Where numbers were wrapped, through quotients, extremes and loop variables."""
        seen = closure(self.terms, self.found, numbers)
        return [turns for turns in self.found.turns if turns in seen]

    # -- races -------------------------------------------------------------------------------------

    def _races(self) -> None:
        stage = self.stages["races"]
        found = self.found
        changed = [a for a in found.accesses if a.kind != "read"]
        if not changed:
            return
        written = {a.root for a in changed}
        for root in written:
            if root.kind != "parameter":
                op = next(a.op for a in changed if a.root == root)
                stage.findings.append(Finding("races", self.ids[op], reason="resource"))
        loads = races.stable_loads(self.terms, found, written)
        pairs = races.pairs_of(self.terms, found)
        tickets = self._tickets(stage) if pairs else []
        self._judge(pairs, loads, tickets, stage)
        self._aliasing(written)

    def _tickets(self, stage: _Stage) -> list[Term]:
        """What counters tell, where their sums stay below 2^bits."""
        facts: list[Term] = []
        for counter in races.counters(self.found):
            terms = self.terms
            room = terms.integer(1 << counter.type.bits)
            for_all = terms.integer(counter.amount)
            for axis in range(self.kernel.rank):
                for_all = terms.multiply(for_all, self.executor.dim_symbol(axis))
            enough = terms.at_least(room, for_all)
            if not self.kernel.rank:
                continue
            item = ((), enough)
            if self._holds(item, self.facts()) or self._infer(item, stage, usual=True):
                facts += races.distinct_tickets(terms, counter)
        return facts

    def _judge(
        self,
        pairs: Sequence[races.Pair],
        loads: dict[Term, Term],
        tickets: Sequence[Term],
        stage: _Stage,
    ) -> None:
        terms = self.terms

        def facts() -> list[Term]:
            return [*self.facts("races"), *tickets]

        left = self._open_pairs(pairs, loads, facts())
        invariants = [terms.rename(i, k) for i in self.invariants for k in (1, 2)]
        seeker = Seeker(terms, self.found, [*facts(), *invariants], loads)
        for k, pair in enumerate(pairs):
            question = [*pair.meeting, pair.differ]
            ops = self.ids[pair.first.op], self.ids[pair.second.op]
            if k not in left:
                even_if_same = replace(pair, differ=terms.true)
                fresh = pair.differ is not terms.true and ops not in stage.benign
                if fresh and self._open_pairs([even_if_same], loads, facts()):
                    stage.benign.append(ops)
                continue
            if any((f.op, f.other) == ops for f in stage.findings):
                continue
            suspects: tuple[Suspect, ...] = ()
            if len(stage.findings) < _MOST_FINDINGS:
                suspects = seeker.suspects(question, [1, 2])
            ends = [*pair.first.index, *pair.second.index]
            self._note_vague([*ends, *pair.first.path, *pair.second.path])
            sources = origins(terms, self.found, ends)
            stage.findings.append(
                Finding(
                    "races",
                    ops[0],
                    ops[1],
                    reason=reason_of(sources, "race"),
                    sources=tuple(dict.fromkeys(self.ids[s] for s in sources)),
                    suspects=suspects,
                )
            )

    def _open_pairs(
        self, pairs: Sequence[races.Pair], loads: dict[Term, Term], facts: Sequence[Term]
    ) -> list[int]:
        """Which pairs may meet."""
        if not pairs:
            return []
        left = list(range(len(pairs)))
        for reach in (1,) if self.vectors else (1, 3):
            solver = Solver(self.terms, also=loads, reach=reach)
            solver.add([*facts, *self.invariants])
            questions = [self.terms.both(*pairs[k].meeting, pairs[k].differ) for k in left]
            solver.prepare(questions)
            if solver.check([self.terms.either(*questions)]).status == "unsat":
                left = []
            else:
                answers = [solver.check([question]).status for question in questions]
                left = [k for k, status in zip(left, answers, strict=True) if status != "unsat"]
            self.questions += solver.questions
            if not left:
                break
        return left

    def _aliasing(self, written: set[Root]) -> None:
        """Which arrays must not overlap, and which pairs of them may be one array."""
        accessed = dict.fromkeys(a.root for a in self.found.accesses if a.root.kind == "parameter")
        changed = [root for root in accessed if root in written]
        order = [*changed, *(root for root in accessed if root not in written)]
        merged = frozenset(
            (j, k)
            for j, a in enumerate(changed)
            for k, b in enumerate(order)
            if k > j and self._may_be_one(a, b)
        )
        places = [self._place(root) for root in order]
        apart = Apart(tuple(places[: len(changed)]), tuple(places[len(changed) :]), merged)
        self.stages["aliasing"].apart = apart

    def _place(self, root: Root) -> ArrayPlace:
        t = self._array_type(root)
        parameter, leaf = root.key
        assert isinstance(parameter, int)
        assert isinstance(leaf, int)
        return ArrayPlace(parameter, leaf, t.ndim, size_of(t.dtype))

    def _may_be_one(self, a: Root, b: Root) -> bool:
        types = [self._array_type(root) for root in (a, b)]
        if types[0] is not types[1]:
            return False
        pairs = races.merged_pairs(self.terms, self.found, a, b)
        pairs += races.merged_pairs(self.terms, self.found, b, a)
        return not self._open_pairs(pairs, {}, self.facts("races"))

    def _array_type(self, root: Root) -> Array:
        parameter, leaf = root.key
        assert isinstance(parameter, int)
        assert isinstance(leaf, int)
        found = leaves(self.kernel.params[parameter].type)[leaf]
        assert isinstance(found, Array)
        return found


# -- which conditions are worth asking for ---------------------------------------------------------

_THREADS = 1_000_000
_LARGE = 1 << 24


def _is_sensible(c: Clause, rank: int, *, usual: bool) -> bool:
    """Does a clause hold for launches of a usual size, or at least for some of them?"""

    def numbers(symbol: Symbol) -> tuple[int, int]:
        if symbol.kind == "dim":
            side = round(_THREADS ** (1 / max(1, rank)))
            return side, side if usual else _LARGE
        if usual:
            return 100, 100
        return (0, _LARGE) if symbol.kind == "shape" else (-_LARGE, _LARGE)

    high = 0
    for product, count in c.terms:
        corners = [1]
        for symbol in product:
            corners = [x * y for x in corners for y in numbers(symbol)]
        high += max(count * corner for corner in corners)
    return high >= 0
