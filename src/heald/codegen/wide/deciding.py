"""Which values must not change once they are loaded."""

from __future__ import annotations

from collections.abc import Iterator

from heald.ir import ATOMICS, LOOPS, Kernel, Op, Value, walk
from heald.passes.facts import DIVISIONS

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
        case "store":
            yield from op.operands[:-1]
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
    """From each value to those that it is computed from; loads end the chain."""
    sources: dict[Value, list[Value]] = {}
    for op in walk(kernel.body):
        if op.regions:
            _carry(op, sources)
        elif op.name != "load":
            for result in op.results:
                sources[result] = list(op.operands)
    return sources


def _carry(op: Op, sources: dict[Value, list[Value]]) -> None:
    """Results and region arguments come from what is yielded and carried in."""
    count = len(op.results)
    ends = [region.terminator for region in op.regions]
    if op.name in LOOPS:
        inits = op.operands[len(op.operands) - count :]
        rows = [region.args[len(region.args) - count :] for region in op.regions]
        rows.append(op.results)
        for k in range(count):
            ways = [inits[k], ends[-1].operands[k]]
            for row in rows:
                sources[row[k]] = ways
        if op.name == "for":
            sources[op.regions[0].args[0]] = list(op.operands[:3])
    else:
        for k, result in enumerate(op.results):
            sources[result] = [op.operands[0], *(end.operands[k] for end in ends)]
