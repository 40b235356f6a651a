"""Verification of one program: ask the prover, replay what it suspects, say what came out."""

from __future__ import annotations

import atexit
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from heald.artifact import Symbol
from heald.artifact.serialise import to_plain
from heald.diagnostics import Diagnostic, HealdError, ProofError
from heald.driver.arguments import Argument, ArrayArgument
from heald.driver.cache_keys import make_key
from heald.driver.obedience import obey
from heald.driver.replay import Case, Misbehaviour, replay
from heald.driver.verify_issue import Issue, PropertyReport, Verdict
from heald.driver.verify_names import Names
from heald.driver.verify_report import Report
from heald.driver.verify_text import (
    describe_beyond,
    describe_contracts,
    describe_finding,
    describe_misbehaviour,
    describe_proof,
)
from heald.driver.witness import Witness
from heald.forks import ForkSafeLock
from heald.ir import MAX_RANK, Kernel, code_hash
from heald.proof import (
    PROPERTIES,
    Clause,
    Finding,
    Proof,
    PropertyProof,
    Request,
    Suspect,
    prove,
)
from heald.proof.client import Gave, Unavailable, Worker
from heald.proof.conditions import clause
from heald.proof.contracts import NOTHING, Promises
from heald.proof.prove import CONTRADICTION, CONTRADICTORY_CONTRACTS, NO_SOLVER
from heald.proof.result import VERSION, from_json, to_json

_FILLS = range(7)
_WORD = 1 << 63


class Cache(Protocol):
    """Where answers are kept between processes."""

    def get(self, kind: str, key: str, /) -> bytes | None:
        """What was put under a key, or None."""

    def put(self, kind: str, key: str, content: bytes, /) -> None:
        """Keep something."""


# -- the prover ------------------------------------------------------------------------------------

_ANSWERS_CACHE: dict[str, Proof] = {}
_WORKER_CACHE: list[Worker] = []
_LOCK = ForkSafeLock()


def ask(request: Request, *, store: Cache | None = None, process: bool = True) -> Proof:
    """The prover's answer, from a cache where it was given before.

    Args:
        request: what to prove.
        store: answers of earlier processes.
        process: whether to use a process of its own, which is the default; where there can be none,
            the prover runs in this one.

    Raises:
        Gave: the prover ran out of time or memory.
    """
    key = request_key(request)
    found = _ANSWERS_CACHE.get(key) or _stored(store, key)
    if found is None:
        found = _prove_elsewhere(request) if process else None
        if found is None:
            try:
                found = prove(request)
            except ImportError:
                raise Gave(NO_SOLVER) from None
        if store is not None:
            store.put("proof", key, json.dumps(to_json(found)).encode())
    _ANSWERS_CACHE[key] = found
    return found


def request_key(request: Request) -> str:
    """What an answer depends on: the code, what was asked, the prover and the solver."""
    parts = (
        VERSION,
        _solver_version(),
        code_hash(request.kernel),
        to_plain(request.given),
        request.infer,
        request.properties,
        request.intervals,
        request.seek,
        to_plain(request.promises),
    )
    return make_key("proof", repr(parts))


@cache
def _solver_version() -> str:
    try:
        return version("z3-solver")
    except PackageNotFoundError:
        return "none"


def _stored(store: Cache | None, key: str) -> Proof | None:
    data = store.get("proof", key) if store is not None else None
    if data is None:
        return None
    try:
        return from_json(json.loads(data))
    except (ValueError, KeyError, TypeError):
        return None  # of another version


def _prove_elsewhere(request: Request) -> Proof | None:
    """The answer of the worker process, or None where there can be no process."""
    with _LOCK:
        worker = _WORKER_CACHE[-1] if _WORKER_CACHE and _WORKER_CACHE[-1].is_alive else None
        if worker is None:
            try:
                worker = Worker()
            except Unavailable:
                return None
            _WORKER_CACHE[:] = [worker]
    try:
        return worker.prove(request)
    except Unavailable:
        raise Gave("the prover process ended") from None


@atexit.register
def close_worker() -> None:
    """End the prover process, if there is one."""
    with _LOCK:
        while _WORKER_CACHE:
            _WORKER_CACHE.pop().close()


# -- a program -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """What to verify of a program.

    Attributes:
        kernel: its WIR before guards.
        name: what the user calls it.
        given: facts about launches.
        infer: whether a verdict may rest on further conditions on the launch.
        properties: which ones.
        promises: contracts of its parameters.
    """

    kernel: Kernel
    name: str
    given: tuple[Clause, ...] = ()
    infer: bool = True
    properties: tuple[str, ...] = PROPERTIES
    promises: Promises = NOTHING


def verify_program(
    question: Question, *, store: Cache | None = None, process: bool = True
) -> Report:
    """Prove what can be proved of a program, and replay what the prover suspects."""
    request = Request(
        question.kernel,
        question.given,
        question.infer,
        question.properties,
        promises=question.promises,
    )
    try:
        proof = ask(request, store=store, process=process)
    except Gave as gave:
        open_ = {name: PropertyProof("open") for name in question.properties}
        proof = Proof(open_, question.given, beyond=(str(gave), 0))
    return _Reporter(question, proof).report()


def contradicts(report: Report) -> bool:
    """Was nothing judged, since there is no launch of which everything holds that is given?"""
    return report.proof.beyond is not None and report.proof.beyond[0] == CONTRADICTION


def contract_error(report: Report) -> ProofError | None:
    """The error where nothing was judged, since there is no launch that keeps the contracts."""
    beyond = report.proof.beyond
    if beyond is None or beyond[0] != CONTRADICTORY_CONTRACTS:
        return None
    span = report.issues[0].span if beyond[1] and report.issues else report.span
    message = f"no launch of kernel '{report.kernel}' keeps all of its contracts"
    hint = (
        "compare them with each other, and with what is given of the launch: any kernel would be "
    )
    hint += "proved under contracts that contradict each other"
    return ProofError(Diagnostic("H0607", message, span, hint=hint))


def launch_facts(
    kernel: Kernel,
    dims: Sequence[int] | None,
    arguments: Sequence[Argument] | None,
    block_dim: int | None = None,
) -> tuple[Clause, ...]:
    """Everything that is known of a concrete launch.

    A kernel that reads no launch index may be launched on any number of axes: all are told.
    """
    facts: list[tuple[Symbol, int]] = []
    if dims is not None:
        padded = (*dims, *(1,) * (MAX_RANK - len(dims)))[: kernel.rank or MAX_RANK]
        facts = [(Symbol("dim", axis=axis), extent) for axis, extent in enumerate(padded)]
    if block_dim is not None:
        facts.append((Symbol("block"), block_dim))
    for number, argument in enumerate(arguments or ()):
        for k, leaf in enumerate(argument.leaves):
            if isinstance(leaf, ArrayArgument):
                for axis, extent in enumerate(leaf.shape):
                    facts.append((Symbol("shape", number, k, axis), extent))
            elif isinstance(leaf, int) and not isinstance(leaf, bool) and leaf < _WORD:
                facts.append((Symbol("value", number, k), leaf))
    return tuple(clause({(): -n, (symbol,): 1}, equal=True) for symbol, n in facts)


class _Reporter:
    """Turns a proof into a report; what the prover suspects is replayed."""

    def __init__(self, question: Question, proof: Proof) -> None:
        self._question = question
        self._proof = proof
        self._names = Names(question.kernel)
        self._replayed: dict[Case, list[Misbehaviour]] = {}

    def report(self) -> Report:
        parts = tuple(self._property(n, p) for n, p in self._proof.properties.items())
        return Report(
            kernel=self._question.name,
            span=self._question.kernel.span,
            properties=parts,
            given=tuple(c.describe(self._names.symbol) for c in self._proof.given),
            proof=self._proof,
        )

    def _property(self, name: str, proof: PropertyProof) -> PropertyReport:
        issues = self._issues(name, proof)
        if any(issue.verdict is Verdict.REFUTED for issue in issues):
            verdict = Verdict.REFUTED
        elif proof.status == "open":
            verdict = Verdict.UNKNOWN
        else:
            conditional = proof.clauses or proof.live or proof.apart
            verdict = Verdict.CONDITIONAL if conditional else Verdict.PROVED
            verdict = Verdict.CONTRACTS if proof.status == "stated" else verdict
        demands, notes = describe_proof(proof, self._names)
        contracts: tuple[str, ...] = ()
        if not verdict.is_proof:
            demands = ()
        elif proof.contracts:
            question = self._question
            contracts = describe_contracts(question.promises, proof.contracts, self._names)
        return PropertyReport(name, verdict, demands, notes, tuple(issues), contracts)

    def _issues(self, name: str, proof: PropertyProof) -> list[Issue]:
        if self._proof.beyond is not None:
            reason, op = self._proof.beyond
            span = self._names.span(op)
            message, hint = f"not judged: {reason}", describe_beyond(reason)
            return [Issue(name, Verdict.UNKNOWN, message, span, hint=hint)]
        found: dict[tuple[int, int, int], Issue] = {}
        for finding in proof.findings:
            issue = self._issue(finding)
            key = issue.key
            if key not in found or found[key].verdict is Verdict.UNKNOWN:
                found[key] = issue
        return sorted(found.values(), key=lambda issue: issue.verdict is not Verdict.REFUTED)

    def _issue(self, finding: Finding) -> Issue:
        for suspect in finding.suspects:
            for fill in _FILLS:
                case = self._case(suspect, fill)
                seen = None if case is None else self._confirmed(finding, case)
                if case is not None and seen is not None:
                    witness = Witness.of(self._question.kernel, case, seen)
                    text = describe_misbehaviour(seen, self._names)
                    return replace(text, witness=witness)
        return describe_finding(finding, self._names)

    def _case(self, suspect: Suspect, fill: int) -> Case | None:
        """A launch to replay that keeps the contracts."""
        try:
            return obey(self._question.kernel, Case(suspect, fill), self._question.promises)
        except (HealdError, MemoryError):  # too large
            return None

    def _confirmed(self, finding: Finding, case: Case) -> Misbehaviour | None:
        """What a replay shows of a finding."""
        if case not in self._replayed:
            try:
                self._replayed[case] = replay(self._question.kernel, case)
            except (HealdError, MemoryError):  # too large, without end, or not for the interpreter
                self._replayed[case] = []
        return confirm(finding, self._replayed[case])


def confirm(finding: Finding, seen: Sequence[Misbehaviour]) -> Misbehaviour | None:
    """The misbehaviour that shows a finding to be real: of its op, else of its property."""
    own = [m for m in seen if m.aspect == finding.aspect]
    if finding.aspect == "overflow":
        return next((m for m in own if m.other == finding.op), None)
    exact = [m for m in own if m.op in (finding.op, finding.other)]
    return next(iter(exact or own), None)
