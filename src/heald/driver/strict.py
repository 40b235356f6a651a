"""``safety="strict"``: a launch runs only where every obligation is proved for it."""

from __future__ import annotations

from heald.diagnostics import Diagnostic, Note, ProofError
from heald.ir import OBLIGATIONS, Kernel, Op, walk

_SHOWN = 5
_WHAT = {
    "idiv": "a divisor that may be 0",
    "irem": "a divisor that may be 0",
    "udiv": "a divisor that may be 0",
    "urem": "a divisor that may be 0",
    "for": "a step that may be 0",
    "assert": "an assertion",
    "resource_array": "a handle",
    "resource_scalar": "a handle",
}


def require_proofs(kernel: Kernel, condition: str) -> None:
    """Refuse a launch of a kernel that still has a guard.

    Args:
        kernel: guarded for the variant that fits the launch.
        condition: what the launch had to fulfil for the best variant, readably.

    Raises:
        ProofError: H0606, with the places that are not proved.
    """
    seen: dict[tuple[object, str], Op] = {}
    for op in walk(kernel.body):
        if op.name in OBLIGATIONS and op.attrs["guard"]:
            seen.setdefault((op.attrs["id"], op.name), op)
    if not seen:
        return
    first, *others = seen.values()
    places = "place" if len(seen) == 1 else "places"
    notes = [Note(f"so is {_what(op)}", op.span) for op in others[: _SHOWN - 1]]
    if len(seen) > _SHOWN:
        notes.append(Note(f"and {len(seen) - _SHOWN} more"))
    raise ProofError(
        Diagnostic(
            "H0606",
            f"kernel '{kernel.name}' has safety=\"strict\", and {len(seen)} {places} in it "
            f"{'is' if len(seen) == 1 else 'are'} not proved for this launch",
            first.span,
            f"{_what(first)} is not proved",
            tuple(notes),
            f"nothing has run; the launch condition is {condition}; test the index in the kernel, "
            "or launch with safety='auto', which guards what is not proved",
        )
    )


def _what(op: Op) -> str:
    return _WHAT.get(op.name, "this access")
