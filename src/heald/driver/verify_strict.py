"""The gate of ``safety="strict"``: is everything proved for this launch?

The prover is asked once for all launches; a launch that its conditions do not cover is asked about
by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.artifact import LaunchCondition, Symbol, abi
from heald.diagnostics import Diagnostic, ProofError
from heald.driver.arguments import Argument, look_up
from heald.driver.cache_store import open_store
from heald.driver.verify import (
    Question,
    ask,
    contract_error,
    launch_facts,
    verify_program,
)
from heald.driver.verify_names import Names
from heald.driver.verify_text import describe_contracts
from heald.ir import Kernel
from heald.proof import Live, Proof, PropertyProof, Request
from heald.proof.client import Gave
from heald.proof.contracts import NOTHING, Promises
from heald.runtime.device import Device
from heald.runtime.resources import table_of

Lookup = Callable[[Symbol], int]

_MOST_LAUNCHES = 64
_FAULTS = frozenset({"bounds", "division", "assertions", "handles"})


class StrictGate:
    """What is proved of one kernel, and of launches of it that were asked about by themselves.

    Attributes:
        faults: properties that guards check at run time, too.

    Args:
        kernel: before guards.
        promises: contracts of its parameters.
        checked: whether launches check those on contents, and in the body, too.
    """

    def __init__(
        self, kernel: Kernel, promises: Promises | None = None, *, checked: bool = False
    ) -> None:
        self.faults = _FAULTS
        self._kernel = kernel
        self._promises = promises or NOTHING
        self._checked = checked
        self._proof: Proof | None = None
        self._launches: dict[object, Proof] = {}

    def prepare(self) -> Proof:
        """What is proved of all launches; the first call waits for the prover."""
        if self._proof is None:
            self._proof = self._ask(Request(self._kernel, seek=False, promises=self._promises))
        return self._proof

    def missing(
        self,
        dims: Sequence[int],
        arguments: Sequence[Argument],
        device: Device,
        block_dim: int = 256,
    ) -> tuple[str, ...]:
        """Properties that are not proved for a launch on a device."""

        def lookup(symbol: Symbol) -> int:
            return block_dim if symbol.kind == "block" else look_up(arguments, dims, symbol)

        def covers(proof: PropertyProof) -> bool:
            checked = proof.contracts != "contents" or self._checked  # shapes always are
            return checked and _covers(proof, lookup, device)

        general = self.prepare().properties.items()
        missing = tuple(n for n, p in general if not covers(p))
        if not missing:
            return ()
        key = (launch_facts(self._kernel, dims, arguments, block_dim), missing)
        if key not in self._launches:
            if len(self._launches) >= _MOST_LAUNCHES:
                self._launches.clear()
            self._launches[key] = self._ask(
                Request(self._kernel, key[0], False, missing, seek=False, promises=self._promises)
            )
        own = self._launches[key].properties.items()  # addresses and handles are not in the key
        return tuple(n for n, p in own if not covers(p))

    def _ask(self, request: Request) -> Proof:
        try:
            return ask(request, store=open_store())
        except Gave:
            return Proof({name: PropertyProof("open") for name in request.properties})

    def refuse(
        self,
        dims: Sequence[int],
        arguments: Sequence[Argument],
        missing: Sequence[str],
        block_dim: int = 256,
    ) -> ProofError:
        """The error for a launch of which properties are not proved."""
        facts = launch_facts(self._kernel, dims, arguments, block_dim)
        question = Question(
            self._kernel, self._kernel.name, facts, False, tuple(missing), self._promises
        )
        report = verify_program(question, store=open_store())
        wrong = contract_error(report)
        if wrong is not None:
            return wrong
        found = [issue.diagnostic() for issue in report.issues]
        if found:
            return ProofError(*found)
        what = " and ".join(missing)
        message = f"kernel '{self._kernel.name}' has safety=\"strict\", and of this launch {what} "
        message += f"{'is' if len(missing) == 1 else 'are'} not proved, only where "
        message += report.condition
        hint = "nothing has run; pass arrays that do not overlap, and resources that are there"
        return ProofError(Diagnostic("H0606", message, self._kernel.span, hint=hint))

    def unchecked(self, missing: Sequence[str]) -> ProofError | None:
        """The error where all that is missing rests on contracts that nobody checks."""
        parts = [self.prepare().properties[name] for name in missing]
        if self._checked or not all(
            p.contracts == "contents" and p.status != "open" for p in parts
        ):
            return None
        texts = describe_contracts(self._promises, "contents", Names(self._kernel))
        message = f"kernel '{self._kernel.name}' has safety=\"strict\", and what is proved of it "
        message += f"rests on contracts that are not checked: {', '.join(texts)}"
        hint = "set wp.config.check_contracts = True, or launch with safety='auto'"
        return ProofError(Diagnostic("H0606", message, self._kernel.span, hint=hint))


def _covers(proof: PropertyProof, lookup: Lookup, device: Device) -> bool:
    """Is a property proved for a launch on a device?"""
    if proof.status == "open" or not all(clause.holds(lookup) for clause in proof.clauses):
        return False
    if proof.apart is not None and not LaunchCondition((proof.apart,)).holds(lookup):
        return False
    return all(_is_live(live, lookup, device) for live in proof.live)


def _is_live(live: Live, lookup: Lookup, device: Device) -> bool:
    handle = lookup(Symbol("value", live.parameter, live.leaf))
    is_right_kind = handle >> abi.HANDLE_KIND_SHIFT == live.kind
    return is_right_kind and table_of(device).look_up(handle) is not None
