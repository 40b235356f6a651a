"""From the fault that a device or the interpreter reports to the exception that the user sees."""

from __future__ import annotations

from collections.abc import Mapping

from heald.artifact.faults import Fault, FaultKind
from heald.artifact.records import Site
from heald.diagnostics import (
    AssertFault,
    Diagnostic,
    DivisionFault,
    KernelFault,
    Note,
    OutOfBoundsError,
)

_KINDS: Mapping[FaultKind, tuple[type[KernelFault], str]] = {
    FaultKind.BOUNDS: (OutOfBoundsError, "H0401"),
    FaultKind.DIVISION: (DivisionFault, "H0402"),
    FaultKind.STEP: (DivisionFault, "H0403"),
    FaultKind.ASSERT: (AssertFault, "H0404"),
    FaultKind.UNINITIALISED: (KernelFault, "H0405"),
    FaultKind.HANDLE: (KernelFault, "H0406"),
    FaultKind.DIVERGENCE: (KernelFault, "H0408"),
    FaultKind.RACE: (KernelFault, "H0409"),
    FaultKind.MEMORY: (KernelFault, "H0802"),
}


_HINTS = {
    FaultKind.HANDLE: "keep the object while kernels use its id, on the device it was made for",
    FaultKind.MEMORY: "keep less alive across wp.block_sync(), or let go of arrays",
}


def fault_error(fault: Fault, site: Site, place: str) -> KernelFault:
    """The exception for a fault.

    Args:
        fault: what happened.
        site: the op; ``subject`` is the name of the array, or the message of an ``assert``.
        place: who did it, such as ``thread (3, 1) of kernel 'blur'``.
    """
    error, code = _KINDS[fault.kind]
    more = Note(f"{fault.count} threads faulted; this is the lowest of them")
    notes = (more,) if fault.count > 1 and fault.kind is not FaultKind.MEMORY else ()
    span = None if site.span is None else site.span.in_user_code
    message, hint = f"{_describe(fault, site)}, in {place}", _HINTS.get(fault.kind, "")
    return error(Diagnostic(code, message, span, notes=notes, hint=hint))


def _describe(fault: Fault, site: Site) -> str:
    array = f"{site.subject!r}" if site.subject else "an array"
    match fault.kind:
        case FaultKind.BOUNDS if not fault.index:
            return f"an index outside {array}"  # a GPU had no room left to note which
        case FaultKind.BOUNDS:
            return f"index {_tuple(fault.index)} outside {array} of shape {_tuple(fault.shape)}"
        case FaultKind.UNINITIALISED:
            return f"element {_tuple(fault.index)} of {array} is read but was never written"
        case FaultKind.DIVISION:
            return "integer division by zero"
        case FaultKind.STEP:
            return "range step is zero"
        case FaultKind.ASSERT:
            return f"assertion failed: {site.subject}" if site.subject else "assertion failed"
        case FaultKind.HANDLE:
            return "handle of a resource that does not exist, or of another kind"
        case FaultKind.DIVERGENCE:
            return "some threads of a block come to a barrier and others do not"
        case FaultKind.RACE:
            where = f"element {_tuple(fault.index)} of {array}"
            return f"{where} is used by two threads of a block with no barrier between them"
        case FaultKind.MEMORY:
            return f"cannot allocate {fault.index[0]:,} bytes for what blocks keep across barriers"


def _tuple(numbers: tuple[int, ...]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else str(numbers)
