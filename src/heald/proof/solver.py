"""The one place where terms become Z3 expressions and questions are asked.

Terms are lowered once each through Z3's C interface, which is several times faster than its Python
classes.  Products of unknowns are replaced by fresh unknowns with the lemmas of ``products``, which
keeps every question linear: an answer ``unsat`` is exact, while a model may be spurious.  Effort is
bounded by Z3's own counter of steps, for each question and for all about a kernel, so answers do
not depend on the machine's load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any

from heald.diagnostics import InternalError
from heald.proof.products import Lemma, lemmas
from heald.proof.terms import INT, Monomial, Sort, Term, Terms, polynomial, walk
from heald.proof.vector_terms import HIGHEST, LOWEST, WIDTH, VectorTerms, signed

RLIMIT = 3_000_000
"""Steps for one question: about half a second."""
BUDGET = 200_000_000
"""Steps for all questions about a kernel: the largest kernels of Heald need a fourth of them."""
_NET_MS = 120_000
"""Under what Z3 might do without counting: hundreds of times what any question takes."""
_MOST_NUMBERS = 4
_OLD_ARITHMETIC = 2
"""Z3's older solver for linear integers: the newer one may lose minutes among our lemmas."""
_NOTHING: Mapping[Term, Term] = MappingProxyType({})


@dataclass(slots=True)
class Effort:
    """Steps that are left for questions about a kernel."""

    left: int = BUDGET


@dataclass(frozen=True, slots=True)
class Answer:
    """``sat``, ``unsat`` or ``unknown``; a model where one was asked for and found."""

    status: str
    model: Model | None = None


class Solver:
    """Questions about terms of one maker.

    Args:
        terms: their maker.
        also: further facts of some unknowns, wherever they occur.
        exact: products are products, not unknowns with lemmas: slower, but models are real.
        reach: how far apart factors may be for lemmas to relate their products.
        rlimit: steps for one question.
        effort: steps for all questions, of this solver and of others; without any left every
            answer is ``unknown``.
    """

    def __init__(
        self,
        terms: Terms,
        *,
        also: Mapping[Term, Term] = _NOTHING,
        exact: bool = False,
        reach: int = 1,
        rlimit: int = RLIMIT,
        effort: Effort | None = None,
    ) -> None:
        import z3

        self.terms = terms
        self.also = also
        self.exact = exact
        self.reach = reach
        self.questions = 0
        self._effort = Effort() if effort is None else effort
        vectors = isinstance(terms, VectorTerms)
        self._lowering = _Lowering(z3, exact=exact, vectors=vectors)
        self._solver = self._lowering.new_solver(rlimit)
        self._known: set[Term] = set()
        self._products: dict[Monomial, None] = {}
        self._lemmas: set[Lemma] = set()
        self._numbers: dict[Term, set[int]] = {}

    def add(self, facts: Iterable[Term]) -> None:
        """Facts for all questions to come."""
        found = list(facts)
        self.prepare(found)
        for fact in found:
            self._lowering.assert_term(self._solver, fact)

    def prepare(self, formulas: Iterable[Term]) -> None:
        """Enter what is known of the unknowns in formulas: ranges, definitions, lemmas."""
        fresh = list(formulas)
        work = [symbol for formula in fresh for symbol in self.terms.symbols(formula)]
        work.sort(key=lambda symbol: -symbol.number)  # the order decides how Z3 searches
        while work:
            symbol = work.pop()
            if symbol in self._known:
                continue
            self._known.add(symbol)
            if symbol.sort == INT:
                low, high = self.terms.range(symbol)
                self._lowering.assert_range(self._solver, symbol, low, high)
            for fact in self._facts_of(symbol):
                self._lowering.assert_term(self._solver, fact)
                work += sorted(self.terms.symbols(fact), key=lambda symbol: -symbol.number)
                fresh.append(fact)
        if not self.exact:
            self._relate_products(fresh)

    def _facts_of(self, symbol: Term) -> list[Term]:
        origin = self.terms.origin(symbol)
        base, thread = (symbol, None) if origin is None else origin
        more = self.also.get(base)
        facts = self.terms.definitions(symbol)
        if more is None:
            return facts
        return [*facts, more if thread is None else self.terms.rename(more, thread)]

    def _relate_products(self, formulas: Iterable[Term]) -> None:
        seen: set[Term] = set()
        before = len(self._products)
        for formula in formulas:
            for term in walk(formula):
                if term.kind == "sum" and term not in seen:
                    seen.add(term)
                    for monomial in polynomial(term):
                        if len(monomial) > 1:
                            self._products[monomial] = None
                elif term.kind in ("ge", "zero"):
                    self._note_number(polynomial(term.args[0]))
        if len(self._products) > before:
            for lemma in lemmas(self._products, self.terms.range, self.reach, self._numbers):
                if lemma not in self._lemmas:
                    self._lemmas.add(lemma)
                    self._lowering.assert_lemma(self._solver, lemma)

    def _note_number(self, terms: dict[Monomial, int]) -> None:
        """``x + number >= 0`` compares an unknown with a number."""
        offset = terms.pop((), 0)
        if len(terms) == 1:
            ((monomial, count),) = terms.items()
            if len(monomial) == 1 and abs(count) == 1:
                found = self._numbers.setdefault(monomial[0], set())
                if len(found) < _MOST_NUMBERS:
                    found.add(-offset * count)

    def check(self, formulas: Sequence[Term], *, model: bool = False) -> Answer:
        """Can all formulas be true at once?"""
        if self.terms.false in formulas:
            return Answer("unsat")
        if self._effort.left <= 0:
            return Answer("unknown")
        self.prepare(formulas)
        self.questions += 1
        solver = self._solver
        solver.push()
        try:
            for formula in formulas:
                self._lowering.assert_term(solver, formula)
            status, steps = self._lowering.ask(solver)
            self._effort.left -= steps
            found = None
            if model and status == "sat":
                found = Model(self.terms, self._lowering, solver.model())
            return Answer(status, found)
        finally:
            solver.pop()

    def proves(self, hypotheses: Sequence[Term], goal: Term) -> bool:
        """Does the goal follow?"""
        if goal is self.terms.true:
            return True
        return self.check([*hypotheses, self.terms.negate(goal)]).status == "unsat"


class Model:
    """Values that make a question true."""

    def __init__(self, terms: Terms, lowering: _Lowering, model: Any) -> None:
        self._terms = terms
        self._lowering = lowering
        self._model = model

    def holds(self, term: Term) -> bool:
        """Is a truth value true in it?  Unknowns that do not matter are taken to be 0 or false."""
        return self._lowering.is_true(self._model, term)

    def number(self, term: Term) -> int:
        """An integer."""
        return self._lowering.number(self._model, term, self._terms.range(term))


class _Lowering:
    """Terms as Z3 expressions."""

    def __init__(self, z3: ModuleType, *, exact: bool, vectors: bool) -> None:
        self._z3 = z3
        self._core = z3.z3core
        self._context = z3.Context()
        self._ref = self._context.ref()
        self._exact = exact
        self._vectors = vectors
        self._made: dict[Term, Any] = {}
        self._numbers: dict[int, Any] = {}
        self._monomials: dict[Monomial, Any] = {}
        self._functions: dict[object, Any] = {}
        self._sorts: dict[Sort, Any] = {}
        self._steps = 0

    # -- solvers -----------------------------------------------------------------------------------

    def new_solver(self, rlimit: int) -> Any:
        solver = self._z3.SimpleSolver(ctx=self._context)
        solver.set("rlimit", rlimit)
        solver.set("timeout", _NET_MS)
        if not (self._exact or self._vectors):
            solver.set("arith.solver", _OLD_ARITHMETIC)
        return solver

    def ask(self, solver: Any) -> tuple[str, int]:
        """The answer, and how many steps it took."""
        try:
            status = str(solver.check())
        except self._z3.Z3Exception:
            status = "unknown"
        before, self._steps = self._steps, self._count_steps(solver)
        return status, self._steps - before

    def _count_steps(self, solver: Any) -> int:
        """All steps so far, those of making terms included."""
        core = self._core
        found = core.Z3_solver_get_statistics(self._ref, solver.solver)
        core.Z3_stats_inc_ref(self._ref, found)
        try:
            for k in range(core.Z3_stats_size(self._ref, found)):
                if core.Z3_stats_get_key(self._ref, found, k) == "rlimit count":
                    return int(core.Z3_stats_get_uint_value(self._ref, found, k))
        finally:
            core.Z3_stats_dec_ref(self._ref, found)
        return self._steps

    def assert_term(self, solver: Any, term: Term) -> None:
        self._assert(solver, self.lower(term))

    def _assert(self, solver: Any, ast: Any) -> None:
        self._core.Z3_solver_assert(self._ref, solver.solver, ast)

    def assert_range(self, solver: Any, symbol: Term, low: int, high: int) -> None:
        ast, core = self.lower(symbol), self._core
        if self._vectors and (low < LOWEST or high > HIGHEST):
            return  # every number of 64 bits
        at_least, at_most = (
            (core.Z3_mk_bvsge, core.Z3_mk_bvsle)
            if self._vectors
            else (core.Z3_mk_ge, core.Z3_mk_le)
        )
        self._assert(solver, self._call(at_least, ast, self._number(low)))
        self._assert(solver, self._call(at_most, ast, self._number(high)))

    def assert_lemma(self, solver: Any, lemma: Lemma) -> None:
        parts = [self._compare(*part) for part in lemma.conditions]
        goal = self._compare(*lemma.goal)
        if parts:
            goal = self._call(
                self._core.Z3_mk_implies, self._variadic(self._core.Z3_mk_and, parts), goal
            )
        self._assert(solver, goal)

    def _compare(self, terms: Mapping[Monomial, int], offset: int) -> Any:
        """``sum + offset >= 0``."""
        total = self._linear({**terms, (): offset})
        return self._call(self._core.Z3_mk_ge, total, self._number(0))

    # -- expressions -------------------------------------------------------------------------------

    def _keep(self, ast: Any) -> Any:
        self._core.Z3_inc_ref(self._ref, ast)
        return ast

    def _call(self, make: Callable[..., Any], *args: Any) -> Any:
        return self._keep(make(self._ref, *args))

    def _variadic(self, make: Callable[..., Any], args: Sequence[Any]) -> Any:
        if len(args) == 1 and make in (
            self._core.Z3_mk_add,
            self._core.Z3_mk_mul,
            self._core.Z3_mk_and,
            self._core.Z3_mk_or,
        ):
            return args[0]
        return self._call(make, len(args), (self._z3.Ast * len(args))(*args))

    def _number(self, number: int) -> Any:
        found = self._numbers.get(number)
        if found is None:
            sort = self._sort(INT)
            found = self._call(self._core.Z3_mk_numeral, str(number), sort)
            self._numbers[number] = found
        return found

    def _sort(self, sort: Sort) -> Any:
        found = self._sorts.get(sort)
        if found is None:
            core = self._core
            match sort:
                case "bool":
                    found = core.Z3_mk_bool_sort(self._ref)
                case "int" if self._vectors:
                    found = core.Z3_mk_bv_sort(self._ref, WIDTH)
                case "int":
                    found = core.Z3_mk_int_sort(self._ref)
                case _:
                    name = core.Z3_mk_string_symbol(self._ref, "data")
                    found = core.Z3_mk_uninterpreted_sort(self._ref, name)
            core.Z3_inc_ref(self._ref, core.Z3_sort_to_ast(self._ref, found))
            self._sorts[sort] = found
        return found

    def lower(self, term: Term) -> Any:
        """The expression of a term."""
        found = self._made.get(term)
        if found is None:
            found = self._made[term] = self._lower(term)
        return found

    def _lower(self, term: Term) -> Any:
        core = self._core
        match term.kind:
            case "sum":
                return self._linear(polynomial(term))
            case "symbol":
                name = core.Z3_mk_string_symbol(self._ref, f"symbol#{term.number}")
                return self._call(core.Z3_mk_const, name, self._sort(term.sort))
            case "ge":
                return self._call(core.Z3_mk_ge, self.lower(term.args[0]), self._number(0))
            case "zero":
                return self._call(core.Z3_mk_eq, self.lower(term.args[0]), self._number(0))
            case "same":
                return self._call(core.Z3_mk_eq, *map(self.lower, term.args))
            case "not":
                return self._call(core.Z3_mk_not, self.lower(term.args[0]))
            case "and" | "or":
                make = core.Z3_mk_and if term.kind == "and" else core.Z3_mk_or
                return self._variadic(make, [self.lower(arg) for arg in term.args])
            case "ite":
                return self._call(core.Z3_mk_ite, *map(self.lower, term.args))
            case "true":
                return self._call(core.Z3_mk_true)
            case "false":
                return self._call(core.Z3_mk_false)
            case "apply":
                return self._apply(term)
            case "vector":
                return self._vector(term)
            case kind:
                raise InternalError(f"terms of kind {kind} have no lowering")

    def _apply(self, term: Term) -> Any:
        core = self._core
        sorts = tuple(arg.sort for arg in term.args)
        key = term.data, sorts, term.sort
        function = self._functions.get(key)
        if function is None:
            name = core.Z3_mk_string_symbol(self._ref, f"{term.data}/{len(self._functions)}")
            domain = (self._z3.Sort * len(sorts))(*map(self._sort, sorts))
            function = core.Z3_mk_func_decl(
                self._ref, name, len(sorts), domain, self._sort(term.sort)
            )
            core.Z3_inc_ref(self._ref, core.Z3_func_decl_to_ast(self._ref, function))
            self._functions[key] = function
        args = [self.lower(arg) for arg in term.args]
        return self._call(core.Z3_mk_app, function, len(args), (self._z3.Ast * len(args))(*args))

    def _vector(self, term: Term) -> Any:
        """An op on 64 bits: one of SMT-LIB, or the low bits of a number, extended again."""
        core = self._core
        assert isinstance(term.data, tuple)
        name, bits = term.data
        args = [self.lower(arg) for arg in term.args]
        if bits is None:
            return self._call(getattr(core, f"Z3_mk_{name}"), *args)
        if bits == WIDTH:
            return args[0]
        low = self._call(core.Z3_mk_extract, bits - 1, 0, args[0])
        extend = core.Z3_mk_sign_ext if name == "low_signed" else core.Z3_mk_zero_ext
        return self._call(extend, WIDTH - bits, low)

    def _linear(self, terms: Mapping[Monomial, int]) -> Any:
        parts = []
        for monomial, count in terms.items():
            if not monomial:
                parts.append(self._number(count))
                continue
            product = self._monomial(monomial)
            if count != 1:
                product = self._variadic(self._core.Z3_mk_mul, [self._number(count), product])
            parts.append(product)
        return self._variadic(self._core.Z3_mk_add, parts) if parts else self._number(0)

    def _monomial(self, monomial: Monomial) -> Any:
        if len(monomial) == 1:
            return self.lower(monomial[0])
        found = self._monomials.get(monomial)
        if found is None:
            if self._exact:
                factors = [self.lower(atom) for atom in monomial]
                found = self._variadic(self._core.Z3_mk_mul, factors)
            else:
                name = self._core.Z3_mk_string_symbol(self._ref, f"product#{len(self._monomials)}")
                found = self._call(self._core.Z3_mk_const, name, self._sort(INT))
            self._monomials[monomial] = found
        return found

    # -- models ------------------------------------------------------------------------------------

    def is_true(self, model: Any, term: Term) -> bool:
        """Is a truth value true in a model?"""
        true = self._core.Z3_get_bool_value(self._ref, self._value(model, term))
        return bool(true == self._z3.Z3_L_TRUE)

    def number(self, model: Any, term: Term, within: tuple[int, int]) -> int:
        """The integer that a term is in a model; bits are read so that it lies in a range."""
        text = self._core.Z3_get_numeral_string(self._ref, self._value(model, term))
        number = int(text)
        if self._vectors and within[0] < 0:
            return signed(number)
        return number

    def _value(self, model: Any, term: Term) -> Any:
        found = (self._z3.Ast * 1)()
        asked = self.lower(term)
        if not self._core.Z3_model_eval(self._ref, model.model, asked, True, found):
            raise InternalError("a model has no value for a term")
        return self._keep(found[0])
