"""Sentences about findings, misbehaviours and conditions."""

from __future__ import annotations

from collections.abc import Sequence

from heald.artifact import Apart, ArrayPlace, Symbol
from heald.diagnostics import Note
from heald.driver.replay import Misbehaviour
from heald.driver.verify_issue import Issue, Verdict
from heald.driver.verify_names import Names
from heald.ir import MAX_RANK
from heald.proof import Clause, Finding, PropertyProof
from heald.proof.contracts import Promises
from heald.proof.prove import CONTRADICTION, CONTRADICTORY_CONTRACTS, NO_SOLVER


def show(numbers: Sequence[int]) -> str:
    """An index or shape, as a number where it is one."""
    return str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))


def _thread(place: Sequence[int]) -> str:
    return f"thread {show(place)}" if place else "a thread"


# -- what was seen ---------------------------------------------------------------------------------


def describe_misbehaviour(seen: Misbehaviour, names: Names) -> Issue:
    """A bug that a replay showed."""
    key = seen.op, seen.other, -1
    span = names.span(seen.op)
    who = _thread(seen.threads[0])
    notes: tuple[Note, ...] = ()
    match seen.aspect:
        case "bounds":
            array = names.array(seen.op)
            index, shape = show(seen.index), show(seen.shape)
            message = f"index {index} is outside '{array}' of shape {shape}, in {who}"
        case "division":
            message = f"division by zero, or a range with step zero, in {who}"
        case "assertions":
            message = f"an assertion fails, in {who}"
        case "overflow":
            message = (
                f"an index overflows: {seen.exact} wraps to {seen.wrapped}, in {who}, which then "
                f"accesses the wrong element"
            )
            notes = (Note("the access", names.span(seen.other)),)
        case "races" if len(seen.threads) == 1:
            array = names.array(seen.op)
            message = f"a race on '{array}' between threads of a block, one of them {who}"
        case "divergence":
            message = f"some threads of a block come to a barrier and others do not, in {who}"
        case "initialised":
            array = names.array(seen.op)
            message = f"element {show(seen.index)} of '{array}' is read before it is written, in "
            message += who
        case "contracts":
            text = names.promise(seen.op)
            message = f"{text} does not hold, in {who}"
            if not text:
                array = names.array(seen.op)
                message = f"{seen.exact} is stored in '{array}' against its contract, in {who}"
        case "races":
            other = _thread(seen.threads[1])
            array = names.array(seen.op)
            message = f"a race on '{array}' between {who} and {other}"
            notes = (Note(f"the access of {other}", names.span(seen.other)),)
        case _:
            message = f"{seen.aspect} fails, in {who}"
    return Issue(seen.aspect, Verdict.REFUTED, message, span, notes, _hint(seen, names), key=key)


def _hint(seen: Misbehaviour, names: Names) -> str:
    match seen.aspect:
        case "bounds":
            return "test the index before the access, or launch fewer threads"
        case "overflow":
            return "compute the index in 64 bits: wp.int64(...)"
        case "races":
            if len(seen.threads) == 1 or (seen.together and seen.op != seen.other):
                return "put a barrier between the accesses"
            return "use an atomic, or write to another array"
        case "divergence":
            return "move the barrier to where all threads of a block come"
        case "initialised":
            return "write the element, and put a barrier between"
        case _:
            return ""


# -- what is not proved ----------------------------------------------------------------------------

_REASONS = {
    "load": "it depends on numbers read from memory ({sources}), which may be any: "
    "a test of what was read, and kept in a variable, would make it provable",
    "atomic": "it depends on the old value of an atomic ({sources}): "
    "a test of it in the kernel would make it provable",
    "loop": "it depends on what a loop carries ({sources}), of which too little is known: a test "
    "in the loop, or a range with launch sizes as bounds, would make it provable",
    "number": "it depends on what a resource holds ({sources}), which may be any number: "
    "a test of it in the kernel would make it provable",
    "arithmetic": "the solver did not decide this arithmetic: a test of the index right before the "
    "access would make it provable",
    "race": "two threads may get equal indices as far as the solver can tell: an index that "
    "contains the thread's own index, or an atomic, would make it provable",
    "overflow": "the arithmetic ({sources}) may leave its type: 64-bit indices, or a test of the "
    "sizes, would make it provable",
    "handle": "the handle is not a parameter: one that is can be checked before the launch",
    "way": "threads of a block may go different ways as far as the solver can tell: a condition on "
    'by-value numbers, or on wp.any(..., scope="block"), would make it provable',
    "contract": "the solver did not decide this arithmetic: a test of the value, or "
    "`wp.clamp(...)`, would make it provable",
    "rounds": "threads wait for each other in a loop that is left early, or that may go on without "
    "a barrier: a loop over by-value numbers and sizes, with a barrier in every iteration and "
    "without `break` and `return`, would make it provable",
    "shared": "an element may be read that no thread has written before: a store by thread `i` of "
    "a block to element `i`, before a barrier, in launches of whole blocks, would make it provable",
    "barrier": "threads wait for each other, and what is open elsewhere decides who comes when: "
    "what makes that provable makes this provable",
    "resource": "the kernel writes to an array of a resource, whose threads are not followed",
    "beyond": "the kernel does something that the prover does not follow",
}

_OF_PROPERTY = {
    "bounds load": "it depends on numbers read from memory ({sources}), which may be any: a test "
    "of what was read, and kept in a variable, or a contract of their array, such as "
    "`elem=wp.index(n)`, would make it provable",
    "races load": "it depends on numbers read from memory ({sources}), which may be equal for two "
    "threads: `injective` or `monotone` in the contract of their array, or an atomic, would make "
    "it provable",
    "races atomic": "it depends on the old value of an atomic ({sources}), which may be equal for "
    "two threads: a counter that changes by `wp.atomic_add(c, 0, 1)` alone, once in each thread, "
    "in launches too small to make it wrap, would make it provable",
    "races shared": "two threads of a block may come to one element between the same barriers as "
    "far as the solver can tell: a barrier between the accesses, an index that contains the "
    "thread's own index, or an atomic, would make it provable",
    "divergence load": "it depends on numbers read from memory ({sources}), which threads of a "
    "block may read differently: a condition on by-value numbers, or on "
    'wp.any(..., scope="block"), would make it provable',
    "divergence loop": "it depends on what a loop carries ({sources}), which may differ from "
    "thread to thread: a condition on by-value numbers, or on "
    'wp.any(..., scope="block"), would make it provable',
}
"""Reasons that are better said of one property, by property and reason."""

_WORDS = {
    "load": "numbers from memory",
    "atomic": "old values of atomics",
    "loop": "numbers that a loop carries",
    "number": "numbers of a resource",
    "arithmetic": "arithmetic that the solver did not decide",
    "race": "indices that the solver cannot tell apart",
    "overflow": "arithmetic that may leave its type",
    "handle": "a handle that is no parameter",
    "way": "conditions that threads of a block may see differently",
    "contract": "arithmetic that the solver did not decide",
    "rounds": "a loop that may go on without a barrier",
    "shared": "what a shared array holds",
    "barrier": "barriers that are open themselves",
    "resource": "writes to a resource",
    "beyond": "something that the prover does not follow",
}

_BEYOND = {
    NO_SOLVER: "`pip install z3-solver` would make it provable",
    "an array that depends on a branch": "one array, with an index that depends on the branch, "
    "would make it provable",
    "an array that changes from one iteration to the next": "one array, with an index that "
    "changes, would make it provable",
    "results that may or may not fit their type": "64-bit arithmetic, or a test of the sizes, "
    "would make it provable",
}
"""Reasons for which a kernel is not judged, and what would help; others are its size."""
_TOO_LARGE = "two smaller kernels, or numbers for sizes that are known, would make it provable"

_CLAIMS = {
    "bounds": "cannot show that the index is inside '{array}'",
    "division": "cannot show that the divisor or step is not zero",
    "assertions": "cannot show that the assertion holds",
    "handles": "cannot show that the handle names a live resource",
    "overflow": "cannot show that the index of '{array}' does not overflow",
    "races": "cannot show that no two threads meet in '{array}'",
    "aliasing": "cannot show that arrays may overlap",
    "contracts": "cannot show that {promise} holds",
    "divergence": "cannot show that all threads of a block come to the barrier",
    "initialised": "cannot show that what is read of '{array}' was written before",
}


_OF_BARRIERS = {
    "races": "cannot show that no two threads meet in one element",
    "initialised": "cannot show that what is read of shared arrays was written before",
    "bounds": "cannot show that indices are inside their arrays",
    "division": "cannot show that no divisor or step is zero",
    "assertions": "cannot show that assertions hold",
    "handles": "cannot show that handles name live resources",
}
"""Claims about a kernel as a whole, whose barriers are open."""


def describe_beyond(reason: str) -> str:
    """What would make a kernel provable that was not judged; empty for contradictions."""
    if reason in (CONTRADICTION, CONTRADICTORY_CONTRACTS):
        return ""
    return _BEYOND.get(reason, _TOO_LARGE)


def describe_finding(finding: Finding, names: Names) -> Issue:
    """Something that is neither proved nor shown to be wrong."""
    sources = ", ".join(dict.fromkeys(_source(s, names) for s in finding.sources[:4]))
    text = _OF_PROPERTY.get(_key_of_reason(finding, names), _REASONS[finding.reason])
    reason = text.format(sources=sources or "in the kernel")
    promise = names.promise(finding.op) or f"the contract of '{names.array(finding.op)}'"
    claim = _CLAIMS[finding.aspect]
    if finding.reason == "barrier":  # about the kernel, not about one access
        claim = _OF_BARRIERS.get(finding.aspect, claim)
    message = claim.format(array=names.array(finding.op), promise=promise)
    notes: tuple[Note, ...] = ()
    if finding.other not in (-1, finding.op):
        notes = (Note("the other access", names.span(finding.other)),)
    return Issue(
        finding.aspect,
        Verdict.UNKNOWN,
        message,
        names.span(finding.op),
        notes,
        reason,
        key=(finding.op, finding.other, finding.axis),
        reason=_WORDS[finding.reason],
    )


def _key_of_reason(finding: Finding, names: Names) -> str:
    is_shared = finding.reason == "race" and names.is_shared(finding.op)
    return f"{finding.aspect} {'shared' if is_shared else finding.reason}"


def _source(number: int, names: Names) -> str:
    text = names.source(number)
    return f"`{text}` on {names.line(number)}" if text else names.line(number)


# -- what a proof asks of the launch ---------------------------------------------------------------


def describe_proof(proof: PropertyProof, names: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What it asks of the launch, and notes."""
    parts = _describe_clauses(proof.clauses, names)
    parts += [f"{names.argument(live.parameter, live.leaf)} is live" for live in proof.live]
    notes = []
    if proof.apart is not None:
        parts += _describe_apart(proof.apart, names)
        notes += _describe_same(proof.apart, names)
    for first, second in proof.benign:
        places = dict.fromkeys(names.line(n) for n in (first, second))
        notes.append(f"threads may write the same value to one element ({', '.join(places)})")
    return tuple(dict.fromkeys(parts)), tuple(dict.fromkeys(notes))


_ONE_THREAD = [Clause((((), 1), ((Symbol("dim", axis=axis),), -1))) for axis in range(MAX_RANK)]


def _describe_clauses(clauses: Sequence[Clause], names: Names) -> list[str]:
    alone = set(_ONE_THREAD) <= set(clauses)
    rest = [c.describe(names.symbol) for c in clauses if not (alone and c in _ONE_THREAD)]
    return [*rest, *["the launch has one thread"] * alone]


def describe_contracts(promises: Promises, trust: str, names: Names) -> tuple[str, ...]:
    """The contracts that were trusted."""
    found = [f"{names.symbol(p.extent)} == {p.text}" for p in promises.trusted]
    if trust == "contents":
        found += [f"{names.argument(p.parameter, 0)}: {p.text}" for p in promises.arrays]
        found += names.promises()
    return tuple(dict.fromkeys(found))


def _listed(arrays: Sequence[ArrayPlace], names: Names) -> str:
    return ", ".join(names.argument(place.parameter, place.leaf) for place in arrays)


def _describe_apart(apart: Apart, names: Names) -> list[str]:
    written = _listed(apart.written, names)
    parts = [f"elements of {written} are distinct"]
    if len(apart.written) + len(apart.others) > 1:
        others = f" and {_listed(apart.others, names)}" if apart.others else ""
        parts.append(f"{written}{others} do not overlap")
    return parts


def _describe_same(apart: Apart, names: Names) -> list[str]:
    order = apart.written + apart.others
    pairs = [(order[j], order[k]) for j, k in sorted(apart.merged)]
    return [
        f"{names.argument(a.parameter, a.leaf)} and {names.argument(b.parameter, b.leaf)} may be "
        "the same array"
        for a, b in pairs
    ]
