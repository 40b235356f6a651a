"""Guards: which obligations check themselves at run time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from heald.diagnostics import InternalError
from heald.ir import MEMORY, OBLIGATIONS, Attr, Kernel, Op, op_ids
from heald.ops.threads import SYNCHRONISING
from heald.passes.rebuild import Rebuild

_NUMBERED = OBLIGATIONS | SYNCHRONISING | {"printf"}
_ARRAY_GUARDS = MEMORY | {"subview"}
_SAFETY = frozenset({"auto", "guarded", "strict", "unchecked"})


class Verdict(Enum):
    """What a proof says of an obligation.

    ``PROVED``: it holds in every launch.  ``CONDITIONAL``: it holds in every launch that fulfils
    the launch condition that comes with the proofs, which speaks of dims, shapes and by-value
    integers only.  ``OPEN``: anything else; a proof that rests on what memory holds or on
    ``assume`` is open here.
    """

    PROVED = "proved"
    CONDITIONAL = "conditional"
    OPEN = "open"


_NO_PROOFS: Mapping[int, Verdict] = MappingProxyType({})


def guard(
    kernel: Kernel,
    *,
    proofs: Mapping[int, Verdict] = _NO_PROOFS,
    bounds: bool = False,
    safety: str = "auto",
) -> Kernel:
    """Give every obligation its ``id`` and say in ``guard`` whether it must check itself.

    Before::

        %x = load %a, %i
        %q = idiv %x, %n
        store %a, %i, %q

    After, where the load and the store are proved and the division is not::

        %x = load %a, %i [guard=false, id=4]
        %q = idiv %x, %n [guard=true, id=5]
        store %a, %i, %q [guard=false, id=6]

    Ids are the pre-order numbers in the kernel that comes in; ``printf`` gets one too, as print
    records need a name that lasts.

    Args:
        kernel: what to guard.
        proofs: verdicts by id; what has none is open.
        bounds: for the variant that runs only where the launch condition holds: conditional
            verdicts count.
        safety: ``unchecked`` leaves the guards of arrays out, never those of divisors, steps,
            handles and assertions.  The other modes are the same here.
    """
    if safety not in _SAFETY:
        raise InternalError(f"safety is one of {', '.join(sorted(_SAFETY))}, not {safety!r}")
    rebuild = Rebuild(kernel)
    ids = op_ids(kernel)
    enough = {Verdict.PROVED, Verdict.CONDITIONAL} if bounds else {Verdict.PROVED}

    def visit(op: Op) -> None:
        if op.name not in _NUMBERED:
            rebuild.copy(op, visit)
            return
        number = ids[op]
        attrs: dict[str, Attr] = {k: v for k, v in op.attrs.items() if k not in ("guard", "id")}
        if op.name in OBLIGATIONS:
            unchecked = safety == "unchecked" and op.name in _ARRAY_GUARDS
            attrs["guard"] = not unchecked and proofs.get(number) not in enough
        attrs["id"] = number
        operands = rebuild.get_all(op.operands)
        regions = tuple(rebuild.region(region, visit) for region in op.regions)
        rebuild.append(rebuild.remade(op, operands, regions, attrs))

    return rebuild.rebuilt(visit)
