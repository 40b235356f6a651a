"""The gate of ``safety="strict"``: is everything proved for this launch?

The prover is asked once for all launches; a launch that its conditions do not cover is asked about
by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.artifact import LaunchCondition, Symbol, abi
from heald.diagnostics import ProofError
from heald.driver.arguments import Argument, look_up
from heald.driver.cache_store import open_store
from heald.driver.verify import Question, ask, launch_facts, verify_program
from heald.ir import Kernel
from heald.proof import Live, Proof, PropertyProof, Request
from heald.proof.client import Gave
from heald.runtime.device import Device
from heald.runtime.resources import table_of

Lookup = Callable[[Symbol], int]

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
        self._launches: dict[object, Proof] = {}

    def prepare(self) -> Proof:
        """What is proved of all launches; the first call waits for the prover."""
        if self._proof is None:
            self._proof = self._ask(Request(self._kernel, seek=False))
        return self._proof

    def missing(
        self, dims: Sequence[int], arguments: Sequence[Argument], device: Device
    ) -> tuple[str, ...]:
        """Properties that are not proved for a launch on a device."""

        def covers(proof: PropertyProof) -> bool:
            return _covers(proof, lambda symbol: look_up(arguments, dims, symbol), device)

        general = self.prepare().properties.items()
        missing = tuple(n for n, p in general if not covers(p))
        if not missing:
            return ()
        key = (launch_facts(self._kernel, dims, arguments), missing)
        if key not in self._launches:
            if len(self._launches) >= _MOST_LAUNCHES:
                self._launches.clear()
            self._launches[key] = self._ask(
                Request(self._kernel, key[0], False, missing, seek=False)
            )
        own = self._launches[key].properties.items()  # addresses and handles are not in the key
        return tuple(n for n, p in own if not covers(p))

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


def _covers(proof: PropertyProof, lookup: Lookup, device: Device) -> bool:
    """Is a property proved for a launch on a device?"""
    if proof.status != "proved" or not all(clause.holds(lookup) for clause in proof.clauses):
        return False
    if proof.apart is not None and not LaunchCondition((proof.apart,)).holds(lookup):
        return False
    return all(_is_live(live, lookup, device) for live in proof.live)


def _is_live(live: Live, lookup: Lookup, device: Device) -> bool:
    handle = lookup(Symbol("value", live.parameter, live.leaf))
    is_right_kind = handle >> abi.HANDLE_KIND_SHIFT == live.kind
    return is_right_kind and table_of(device).look_up(handle) is not None
