"""The gate of ``safety="strict"``: is everything proved for this launch?

The prover is asked once for all launches; a launch that its conditions do not cover is asked about
by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from heald.artifact import LaunchCondition, Symbol
from heald.diagnostics import ProofError
from heald.driver.arguments import Argument, look_up
from heald.driver.cache_store import open_store
from heald.driver.verify import Question, ask, launch_facts, verify_program
from heald.ir import Kernel
from heald.proof import Proof, PropertyProof, Request
from heald.proof.client import Gave

_MOST_LAUNCHES = 64
_FAULTS = frozenset({"bounds", "division", "assertions", "handles"})


class StrictGate:
    """What is proved of one kernel, and of launches of it that were asked about by themselves.

    Attributes:
        faults: properties that guards check at run time, too.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.faults = _FAULTS
        self._kernel = kernel
        self._proof: Proof | None = None
        self._launches_cache: dict[object, tuple[str, ...]] = {}

    def missing(self, dims: Sequence[int], arguments: Sequence[Argument]) -> tuple[str, ...]:
        """Properties that are not proved for a launch."""

        def lookup(symbol: Symbol) -> int:
            return look_up(arguments, dims, symbol)

        if self._proof is None:
            self._proof = self._ask(Request(self._kernel, seek=False))
        missing = tuple(n for n, p in self._proof.properties.items() if not _covers(p, lookup))
        if not missing:
            return ()
        facts = launch_facts(self._kernel, dims, arguments)
        if facts not in self._launches_cache:
            if len(self._launches_cache) >= _MOST_LAUNCHES:
                self._launches_cache.clear()
            request = Request(self._kernel, facts, False, missing, seek=False)
            own = self._ask(request).properties.items()
            self._launches_cache[facts] = tuple(n for n, p in own if not _covers(p, lookup))
        return self._launches_cache[facts]

    def _ask(self, request: Request) -> Proof:
        try:
            return ask(request, store=open_store())
        except Gave:
            return Proof({name: PropertyProof("open") for name in request.properties})

    def refuse(
        self, dims: Sequence[int], arguments: Sequence[Argument], missing: Sequence[str]
    ) -> ProofError:
        """The error for a launch of which properties are not proved."""
        facts = launch_facts(self._kernel, dims, arguments)
        question = Question(self._kernel, self._kernel.name, facts, False, tuple(missing))
        report = verify_program(question, store=open_store())
        found = [issue.diagnostic() for issue in report.issues]
        if found:
            return ProofError(*found)
        what = ", ".join(missing)
        return ProofError(
            f"kernel '{self._kernel.name}' has safety=\"strict\", and {what} of this launch "
            "cannot be proved: arrays overlap, or there is no solver"
        )


def _covers(proof: PropertyProof, lookup: object) -> bool:
    """Is a property proved for a launch?  Live handles are checked when they are used."""
    assert callable(lookup)
    if proof.status != "proved" or proof.live:
        return False
    if not all(clause.holds(lookup) for clause in proof.clauses):
        return False
    return proof.apart is None or LaunchCondition((proof.apart,)).holds(lookup)
