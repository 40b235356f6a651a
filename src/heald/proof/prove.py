"""The prover: what of a kernel holds in every launch, and under which conditions on the launch.

Verdicts speak of executions of a thread up to its first fault (see ``executor``).  Bounds,
divisions, assertions and handles together say whether there is one.

Several attempts are made while something is open: with integers, wrapped where they may not fit;
with integers, and conditions on the launch under which they fit; with bits.  Each property is
answered by the attempt that leaves least of it open.  Contracts are trusted only for properties
that are open without: first those on shapes, which every launch checks, then all.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from heald.artifact import LinearTerm, Symbol
from heald.ir import Op, op_ids, walk
from heald.ops import PROMISES, role_of
from heald.passes.intervals import analyse_intervals
from heald.proof.blocks import judge_divergence, judge_initialised, waits_in_while
from heald.proof.conditions import from_linear, sizes_in, with_sizes
from heald.proof.context import Context, Open, Request
from heald.proof.meetings import apart_of, judge_races
from heald.proof.obligations import Settled, judge_obligations, judge_overflows
from heald.proof.records import Beyond, Execution
from heald.proof.result import PROPERTIES, Finding, Proof, PropertyProof
from heald.proof.solver import Effort, Solver
from heald.proof.vacuity import BROKEN, UNKNOWN, judge_contracts
from heald.proof.vector_terms import Inexact

CONTRADICTION = "what is given of the launch contradicts itself"
CONTRADICTORY_CONTRACTS = "no launch keeps the contracts"
NO_SOLVER = "no solver"
_MOST_FINDINGS = 8
_ROUNDS = 6
_PLAIN = 1 << 20
_FAULTS = ("bounds", "division", "assertions", "handles")
_FAULTLESS = frozenset({"races", "aliasing", "overflow", "divergence", "initialised", "contracts"})


def prove(request: Request) -> Proof:
    """Prove what can be proved.

    Raises:
        ImportError: z3 is needed and not installed.
    """
    start = time.perf_counter()
    with deep_recursion():
        try:
            proof = _prove(request)
        except Beyond as stop:
            proof = _not_judged(request, stop.reason, op_ids(request.kernel).get(stop.op, 0))
    return replace(proof, seconds=time.perf_counter() - start)


def _not_judged(request: Request, reason: str, op: int) -> Proof:
    return Proof(
        {
            name: PropertyProof("open", findings=(Finding(name, op, reason="beyond"),))
            for name in request.properties
        },
        request.given,
        beyond=(reason, op),
    )


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Terms may be nested as deep as a kernel computes one value from another."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _prove(request: Request) -> Proof:
    effort = Effort()
    if request.given and _contradict(_executed(request, effort)):
        return _not_judged(request, CONTRADICTION, 0)
    trusts = _trusts(request)
    if len(trusts) > 1:
        status, op = judge_contracts(_executed(request, effort, trusts[-1]))
        if status == BROKEN:
            return _not_judged(request, CONTRADICTORY_CONTRACTS, op)
        if status == UNKNOWN:  # what no launch keeps would prove everything
            trusts = tuple(trust for trust in trusts if trust != "contents")
    settled = _ask_intervals(request)
    answers: dict[str, PropertyProof] = {}
    left = list(request.properties)
    total: set[Op] = set()
    questions = 0
    for trust in trusts:
        attempts = _attempts(request, trust, settled, left, effort)
        total = total or {o.op for o in attempts[0].found.obligations}
        questions += sum(attempt.questions for attempt in attempts)
        still = [] if trust == trusts[-1] else _open_properties(left, attempts)
        for name in left:
            if name not in still:
                answers[name] = _answer(name, attempts, seek=request.seek)
        left = still
        if not left:
            break
    return Proof(
        {name: answers[name] for name in request.properties},
        request.given,
        (len(total), len(total & (settled.always | settled.under))),
        questions,
    )


def _trusts(request: Request) -> tuple[str, ...]:
    """Which contracts to trust, fewer first."""
    promises = request.promises
    spoken = any(
        op.name == "assume" and role_of(op) in PROMISES for op in walk(request.kernel.body)
    )
    shapes = ("shapes",) * bool(promises.trusted)
    return ("", *shapes, *(("contents",) * bool(promises.arrays or spoken)))


def _executed(request: Request, effort: Effort, trust: str = "") -> Context:
    """An execution in which results wrap where they do not fit."""
    made = Context(request, trust=trust, effort=effort)
    execute(made, demand=False)
    return made


def _attempts(
    request: Request, trust: str, settled: Settled, names: Sequence[str], effort: Effort
) -> list[Context]:
    first = Context(request, trust=trust, effort=effort)
    loose = execute(first, demand=False)
    attempts = [first]
    _judge(first, settled, names)
    left = _open_properties(names, attempts)
    if left and loose and request.infer:
        second = Context(request, trust=trust, effort=effort)
        execute(second, demand=True)
        _judge(second, settled, left)
        attempts.append(second)
        left = _open_properties(names, attempts)
    if any(attempt.vague for attempt in attempts):
        third = _with_bits(attempts[-1], settled, left)
        attempts += [third] if third is not None else []
    return attempts


def _ask_intervals(request: Request) -> Settled:
    if not request.intervals:
        return Settled()
    found = analyse_intervals(request.kernel)
    linear = [c for c in found.conditional.clauses if isinstance(c, LinearTerm)]
    plain = all(abs(c.constant) < _PLAIN for c in linear)  # others keep something from wrapping
    sizes = sizes_in(request.promises.known)
    clauses = [with_sizes(from_linear(c), sizes) for c in linear]
    sizeless: dict[Symbol, int] = {}
    never = any(c.is_constant and not c.holds(sizeless.__getitem__) for c in clauses)
    left = [c for c in clauses if not c.is_constant]
    return Settled.of(found, left, infer=request.infer and plain and not never)


def _contradict(c: Context) -> bool:
    """Is there no launch for which everything holds that is given?"""
    solver = Solver(c.terms, exact=True, effort=c.effort)
    solver.add(c.facts())
    return solver.check([]).status == "unsat"


# -- attempts --------------------------------------------------------------------------------------


def execute(c: Context, *, demand: bool) -> bool:
    """Execute until every result that was taken to fit does; says whether some do not.

    With ``demand`` the launch may be asked for sizes for which they do.
    """
    wrapping: frozenset[Op] = frozenset()
    for _ in range(_ROUNDS):
        c.execute(wrapping)
        failed = _failed_fittings(c, demand=demand)
        if not failed:
            return bool(wrapping)
        wrapping |= failed
    c.execute(wrapping | {f.op for f in c.found.fittings})
    if c.found.fittings:
        raise Beyond(c.found.fittings[0].op, "results that may or may not fit their type")
    return True


def _failed_fittings(c: Context, *, demand: bool) -> frozenset[Op]:
    """Ops whose result may not fit its type."""
    fittings = c.found.fittings
    stage = c.stages["fits"]
    items = [((*f.path, *f.known), f.goal) for f in fittings]
    failed: set[Op] = set()
    for k in c.open_of([c.wrong(item) for item in items], c.facts()):
        op = fittings[k].op
        if op in failed:
            continue
        known = demand and c.holds(items[k], c.facts(), deep=False)
        if known or (demand and c.infer(items[k], stage, usual=True)):
            continue
        failed.add(op)
    return frozenset(failed)


def _judge(c: Context, settled: Settled, wanted: Sequence[str]) -> None:
    if waits_in_while(c.kernel):
        wanted = PROPERTIES  # each rests on all that may fault
    judge_obligations(c, settled, wanted)
    if "overflow" in wanted:
        judge_overflows(c)
    shared = c.found.meetings or any(a.root.kind == "shared" for a in c.found.accesses)
    if shared and not {"divergence", "initialised", "races"}.isdisjoint(wanted):
        judge_divergence(c)
        judge_initialised(c)
    if "races" in wanted or "aliasing" in wanted:
        judge_races(c)
    if shared:
        _rest_on_barriers(c)


def _rest_on_barriers(c: Context) -> None:
    """Where barriers are open, so is what they order; and a fault may end a loop for others."""
    if c.stages["divergence"].open and not c.found.tangled:  # else nothing rests on them
        _leave_open(c, ("races", "initialised"))
    if waits_in_while(c.kernel) and any(c.stages[name].open for name in _FAULTS):
        _leave_open(c, _FAULTS)


def _leave_open(c: Context, names: Sequence[str]) -> None:
    for name in names:
        if not c.stages[name].open:
            finding = Finding(name, c.ids[c.kernel.body.ops[0]], reason="barrier")
            c.stages[name].open.append(Open(finding, tuple))


def _with_bits(before: Context, settled: Settled, names: list[str]) -> Context | None:
    """What is open because of operations on bits is tried again on bits."""
    if not names:
        return None
    request = replace(before.request, infer=False)
    made = Context(request, trust=before.trust, vectors=True, effort=before.effort)
    for name, stage in before.stages.items():
        made.stages[name].clauses = list(stage.clauses)
    try:
        made.execute()
        _judge(made, settled, names)
    except (Beyond, Inexact):
        return None
    for name in before.stages:
        if name not in names:
            made.stages[name].open = before.stages[name].open
    return made


# -- answers ---------------------------------------------------------------------------------------


def _open_properties(names: Sequence[str], attempts: list[Context]) -> list[str]:
    return [name for name in names if all(a.stages[name].open for a in attempts)]


def _best(name: str, attempts: list[Context]) -> Context:
    """The first attempt that proves a property, or the last of those that leave least open."""
    for attempt in attempts:
        if not attempt.stages[name].open:
            return attempt
    return min(reversed(attempts), key=lambda a: len(a.stages[name].open))


def _answer(name: str, attempts: list[Context], *, seek: bool) -> PropertyProof:
    attempt = _best(name, attempts)
    stage = attempt.stages[name]
    clauses = dict.fromkeys((*attempt.stages["fits"].clauses, *stage.clauses))
    findings = [
        replace(o.finding, suspects=o.seek() if seek and k < _MOST_FINDINGS else ())
        for k, o in enumerate(stage.open)
    ]
    apart = stage.apart
    if apart is None and attempt.found.trusted and _writes(attempt.found):
        apart = apart_of(attempt)  # what is written could be what a contract speaks of
    status = "stated" if attempt.trust else "proved"
    return PropertyProof(
        "open" if findings else status,
        tuple(clauses) if _asks(name, attempt.found) else (),
        tuple(dict.fromkeys(stage.live)),
        apart,
        tuple(findings),
        tuple(stage.benign),
        faultless=name in _FAULTLESS,
        contracts=attempt.trust,
    )


def _writes(found: Execution) -> bool:
    return any(a.kind != "read" and a.root.kind == "parameter" for a in found.accesses)


def _asks(name: str, found: Execution) -> bool:
    """Is there anything in the kernel that a property is about?"""
    kinds = {o.kind for o in found.obligations}
    match name:
        case "bounds":
            return "bounds" in kinds
        case "overflow":
            return bool(found.indexings)
        case "division":
            return bool(kinds & {"division", "step"})
        case "assertions":
            return "assertion" in kinds
        case "handles":
            return "handle" in kinds
        case "contracts":
            return "contract" in kinds
        case "divergence":
            return bool(found.meetings)
        case "initialised":
            return any(a.root.kind == "shared" for a in found.accesses)
        case _:
            return _writes(found)
