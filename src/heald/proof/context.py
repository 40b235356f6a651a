"""What one attempt at a kernel knows: its execution, facts about the launch, and what is open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from heald.artifact import Apart, Symbol
from heald.ir import Kernel, Op, op_ids
from heald.proof.conditions import Clause, clause, sizes_in
from heald.proof.contracts import NOTHING, Promises
from heald.proof.executor import Executor
from heald.proof.explain import closure, origins, reason_of
from heald.proof.inference import conditions_for
from heald.proof.invariants import settle
from heald.proof.records import Execution, Path
from heald.proof.result import PROPERTIES, Finding, Live, Suspect
from heald.proof.solver import Effort, Solver
from heald.proof.terms import INT, Term, Terms, polynomial
from heald.proof.vector_terms import Inexact

Item = tuple[Path, Term]
"""Hypotheses and a goal."""

_UNDECIDED = {"races": "race", "divergence": "way", "contracts": "contract"}
"""The reason where nothing in the kernel stands for the doubt, by property."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to prove.

    Attributes:
        kernel: before guards, as the interval analysis takes it.
        given: what is known of the launch.
        infer: whether further conditions on the launch may be asked for.
        properties: which ones.
        intervals: whether the interval analysis may settle obligations first.
        seek: whether to look for launches in which what is open goes wrong.
        promises: contracts of parameters.
    """

    kernel: Kernel
    given: tuple[Clause, ...] = ()
    infer: bool = True
    properties: tuple[str, ...] = PROPERTIES
    intervals: bool = True
    seek: bool = True
    promises: Promises = NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """Something that was not shown, and how to look for a launch in which it is wrong."""

    finding: Finding
    seek: Callable[[], tuple[Suspect, ...]]


@dataclass(slots=True)
class Stage:
    """Clauses and open goals of one property."""

    clauses: list[Clause] = field(default_factory=list)
    open: list[Open] = field(default_factory=list)
    live: list[Live] = field(default_factory=list)
    benign: list[tuple[int, int]] = field(default_factory=list)
    apart: Apart | None = None

    def demand(self, clauses: Iterable[Clause]) -> None:
        """Ask something more of the launch."""
        self.clauses += [c for c in clauses if c not in self.clauses]


class Context:
    """One attempt.

    Attributes:
        stages: by property, and ``fits`` for what every property rests on.
        trust: which contracts are taken to be kept: none, ``shapes``, or ``contents`` too.
        vague: whether something open depends on bits that the integer encoding does not know.
        questions: how many the solver was asked.
        effort: what is left for them, which attempts at one kernel share.
    """

    def __init__(
        self,
        request: Request,
        *,
        trust: str = "",
        vectors: bool = False,
        terms: Terms | None = None,
        effort: Effort | None = None,
    ) -> None:
        self.request = request
        self.effort = Effort() if effort is None else effort
        self._maker = terms
        self.trust = trust
        self.vectors = vectors
        self.kernel = request.kernel
        self.ids = op_ids(request.kernel)
        self.stages = {name: Stage() for name in (*PROPERTIES, "fits")}
        self.questions = 0
        self.vague = False
        self.executor: Executor
        self.found: Execution
        self.invariants: tuple[Term, ...] = ()

    @property
    def terms(self) -> Terms:
        """The maker of the terms of the present execution."""
        return self.executor.terms

    def execute(self, wrapping: frozenset[Op] = frozenset()) -> None:
        """Execute, and find out which guesses about loops hold.

        Args:
            wrapping: ops whose result may not fit its type.

        Raises:
            Beyond: the kernel does something that has no meaning for it.
        """
        self.executor = Executor(
            self.kernel,
            wrapping,
            vectors=self.vectors,
            promises=self.request.promises,
            trusting=self.trust == "contents",
            sizes=self._sizes(),
            terms=self._maker,
        )
        self.found = self.executor.run()
        self.invariants = ()
        candidates = self.found.candidates
        if candidates:
            solver = self.solver(self.facts())
            holding = settle(self.terms, solver, candidates)
            self.questions += solver.questions
            self.invariants = tuple(
                c.literal if c.literal in holding else self.terms.negate(c.literal)
                for c in candidates
            )

    def _sizes(self) -> dict[Symbol, int]:
        """Sizes that are known as numbers."""
        return sizes_in((*self.request.given, *self.request.promises.known))

    # -- facts about the launch --------------------------------------------------------------------

    def claim(self, c: Clause) -> Term:
        """A clause as a term."""
        terms = self.terms
        total = terms.integer(0)
        for product, count in c.terms:
            part = terms.integer(count)
            for symbol in product:
                part = terms.multiply(part, self._symbol(symbol))
            total = terms.add(total, part)
        return terms.zero(total) if c.equal else terms.non_negative(total)

    def _symbol(self, symbol: Symbol) -> Term:
        return self.executor.symbol_of(symbol)

    def clause_of(self, claim: Term) -> Clause:
        """A term over launch symbols as a clause."""
        names = {term: symbol for symbol, term in self.found.symbols.items()}
        total = claim.args[0]
        sums = {tuple(names[atom] for atom in m): n for m, n in polynomial(total).items()}
        return clause(sums, equal=claim.kind == "zero")

    def facts(self, *names: str) -> list[Term]:
        """What is known of launches: given, and the clauses of stages."""
        promises = self.request.promises
        clauses = [*self.request.given, *promises.known, *self.stages["fits"].clauses]
        if self.trust:
            clauses += [promise.clause for promise in promises.trusted]
        for name in names:
            clauses += self.stages[name].clauses
        claims = []
        for c in dict.fromkeys(clauses):
            with suppress(Inexact):  # 64 bits do not hold its sum: it is left out
                claims.append(self.claim(c))
        return claims

    # -- questions ---------------------------------------------------------------------------------

    def solver(
        self,
        facts: Iterable[Term],
        *,
        also: Mapping[Term, Term] | None = None,
        reach: int = 1,
    ) -> Solver:
        """A solver that knows facts and which guesses hold."""
        made = Solver(self.terms, also=also or {}, reach=reach, effort=self.effort)
        made.add([*facts, *self.invariants])
        return made

    def open_of(
        self,
        questions: Sequence[Term],
        facts: Sequence[Term],
        *,
        also: Mapping[Term, Term] | None = None,
        deep: bool = True,
    ) -> list[int]:
        """Which questions may have an answer; all that are not listed have none.

        ``deep`` tries harder where there are products.
        """
        left = [k for k, question in enumerate(questions) if question is not self.terms.false]
        for reach in (1, 3) if deep else (1,):
            if not left or (reach > 1 and not any(_has_products(questions[k]) for k in left)):
                break
            solver = self.solver(facts, also=also, reach=reach)
            asked = [questions[k] for k in left]
            solver.prepare(asked)
            if solver.check([self.terms.either(*asked)]).status == "unsat":
                left = []
            else:
                answers = [solver.check([question]).status for question in asked]
                left = [k for k, status in zip(left, answers, strict=True) if status != "unsat"]
            self.questions += solver.questions
        return left

    def wrong(self, item: Item) -> Term:
        """Where a goal would be wrong."""
        path, goal = item
        return self.terms.both(*path, self.terms.negate(goal))

    def holds(self, item: Item, facts: Sequence[Term], *, deep: bool = True) -> bool:
        """Does a goal follow?"""
        return not self.open_of([self.wrong(item)], facts, deep=deep)

    def infer(self, item: Item, stage: Stage, *, usual: bool) -> bool:
        """Ask something of the launch that makes a goal true; False where nothing sensible does.

        With ``usual`` it must hold of launches of any usual size.
        """
        if not self.request.infer or self.vectors:
            return False
        path, goal = item
        accepted = [self.claim(c) for c in stage.clauses]
        here = [*self.facts(), *accepted]
        true, false = self.terms.true, self.terms.false
        found = conditions_for(self.terms, goal, path, self._held(path))
        ways = [[c for c in way if c is not true] for way in found if false not in way]
        for way in sorted(ways, key=lambda way: not self._suits_sizes([*here, *way])):
            clauses = [self.clause_of(c) for c in way]
            if not all(is_sensible(c, self.kernel.rank, usual=usual) for c in clauses):
                continue
            if self.holds(item, [*here, *way], deep=False):
                stage.demand(self.clause_of(c) for c in self._needed(item, here, way))
                return True
        return False

    def _held(self, path: Sequence[Term]) -> list[Term]:
        """What guesses about loops say that hold; on a path each stands under its literal."""
        held = set(map(self.terms.negate, self.invariants))
        found = []
        for fact in path:
            if fact.kind == "or" and not held.isdisjoint(fact.args):
                rest = [part for part in fact.args if part not in held]
                found += rest if len(rest) == 1 else []
        return found

    def _needed(self, item: Item, here: list[Term], way: Sequence[Term]) -> list[Term]:
        """The claims without which a goal does not follow; of two that do, the plainer stays."""
        kept = list(way)
        if len(way) > 1:
            for claim in sorted(way, key=_size, reverse=True):
                rest = [c for c in kept if c is not claim]
                if self.holds(item, [*here, *rest], deep=False):
                    kept = rest
        return kept

    def _suits_sizes(self, claims: Sequence[Term]) -> bool:
        """Is there a launch of several threads, with numbers that could be sizes, for claims?"""
        terms = self.terms
        solver = Solver(terms, exact=True, effort=self.effort)
        solver.add(claims)
        sizes = [
            terms.at_least(term, terms.integer(2 if symbol.kind == "dim" else 1))
            for symbol, term in self.found.symbols.items()
        ]
        self.questions += 1
        return solver.check(sizes).status == "sat"

    # -- what is open ------------------------------------------------------------------------------

    def note_vague(self, question: Sequence[Term]) -> None:
        """Note whether something open depends on bits that are not known."""
        vague = self.executor.encoding.approximated
        self.vague |= bool(vague and vague & closure(self.terms, self.found, question))

    def finding(
        self,
        aspect: str,
        op: int,
        goals: Sequence[Term],
        question: Sequence[Term],
        *,
        other: int = -1,
        axis: int = -1,
    ) -> Finding:
        """A finding with the reason that the numbers in ``goals`` tell."""
        self.note_vague(question)
        sources = origins(self.terms, self.found, goals)
        reason = reason_of(sources, _UNDECIDED.get(aspect, "arithmetic"))
        ids = tuple(dict.fromkeys(self.ids[source] for source in sources))
        return Finding(aspect, op, other, axis, reason, ids)


def _has_products(question: Term) -> bool:
    """Does some comparison in a question have a product of unknowns?"""
    work, seen = [question], set()
    while work:
        term = work.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.sort == INT:
            if any(len(monomial) > 1 for monomial in polynomial(term)):
                return True
        else:
            work += term.args
    return False


def merge_suspects(one: Open, two: Open) -> Open:
    """Two open goals of one op as one."""

    def seek() -> tuple[Suspect, ...]:
        return tuple(sorted((*one.seek(), *two.seek()), key=lambda s: s.size))

    return replace(one, seek=seek)


# -- which conditions are worth asking for ---------------------------------------------------------

_THREADS = 100_000
_BLOCK = 256
_LARGE = 1 << 24
_MOST_COUNT = (1 << 63) - 1


def is_sensible(c: Clause, rank: int, *, usual: bool) -> bool:
    """Does a clause hold for launches of a usual size, or at least for some of them?"""

    def numbers(symbol: Symbol) -> tuple[int, int]:
        if symbol.kind == "dim":
            side = round(_THREADS ** (1 / max(1, rank)))
            return side, side if usual else _LARGE
        if symbol.kind == "block":
            return (_BLOCK, _BLOCK) if usual else (1, 1024)
        if usual:
            return 100, 100
        return (0, _LARGE) if symbol.kind == "shape" else (-_LARGE, _LARGE)

    if any(abs(count) > _MOST_COUNT for _, count in c.terms):
        return False  # no word holds it
    high = 0
    for product, count in c.terms:
        corners = [1]
        for symbol in product:
            corners = [x * y for x in corners for y in numbers(symbol)]
        high += max(count * corner for corner in corners)
    return high >= 0


def _size(claim: Term) -> int:
    """How much there is to read in a claim about the launch."""
    return sum(len(monomial) + abs(count) for monomial, count in polynomial(claim.args[0]).items())
