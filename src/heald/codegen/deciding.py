"""Which values must not change once they are loaded."""

from __future__ import annotations

from collections.abc import Iterator

from heald.ir import ATOMICS, Kernel, Op, Value, walk
from heald.passes.array_roots import flows
from heald.passes.facts import DIVISIONS, space_of

_HANDLES = frozenset({"resource_array", "resource_scalar"})


def find_deciding(kernel: Kernel) -> frozenset[Value]:
    """Values from which an address, a divisor or a branch is computed.

    LLVM lets a load that races give another value at each use, and forbids branches on such; what
    decides must be pinned down.
    """
    sources = _sources(kernel)
    work = [v for op in walk(kernel.body) for v in _deciding_operands(op)]
    found: set[Value] = set()
    while work:
        value = work.pop()
        if value not in found:
            found.add(value)
            work += sources.get(value, ())
    return frozenset(found)


def _deciding_operands(op: Op) -> Iterator[Value]:
    match op.name:
        case "load" | "resource_array" | "resource_scalar" | "dim" | "stride":
            yield from op.operands
        case "store":  # what goes to a local array may come back as anything
            yield from op.operands if space_of(op) == "local" else op.operands[:-1]
        case name if name in ATOMICS or name in _HANDLES or name == "subview":
            yield from op.operands
        case name if name in DIVISIONS:
            yield op.operands[1]
        case "if" | "assert":
            yield op.operands[0]
        case "for":
            yield from op.operands[:3]
        case "while":
            yield from op.regions[0].terminator.operands


def _sources(kernel: Kernel) -> dict[Value, list[Value]]:
    """From each value to those that it is computed from; loads end the chain.

    The conditions of branches and loops decide by themselves.
    """
    sources: dict[Value, list[Value]] = {}
    for op in walk(kernel.body):
        if not op.regions and op.name != "load":
            for result in op.results:
                sources.setdefault(result, []).extend(op.operands)
    for source, target in flows(kernel):
        sources.setdefault(target, []).append(source)
    return sources
