"""Which parameters an array value may be, through views, branches and loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from heald.ir import ATOMICS, Kernel, Region, Value, walk
from heald.types import Array

Root = tuple[int, int]
"""An array parameter, or array leaf of one: number of the parameter and of the leaf."""


def array_roots(kernel: Kernel) -> Mapping[Value, frozenset[Root]]:
    """For every array value the parameters that it may be; none for local and resource arrays."""
    roots: dict[Value, frozenset[Root]] = {
        p: frozenset({(n, 0)}) for n, p in enumerate(kernel.params) if isinstance(p.type, Array)
    }
    numbers = {p: n for n, p in enumerate(kernel.params)}
    for op in walk(kernel.body):
        if op.name == "extract" and isinstance(op.result.type, Array):
            leaf = op.attrs["leaf"]
            assert isinstance(leaf, int)
            roots[op.result] = frozenset({(numbers[op.operands[0]], leaf)})
    ways = [(a, b) for a, b in flows(kernel) if isinstance(b.type, Array)]
    changed = True
    while changed:
        changed = False
        for source, target in ways:
            known = roots.get(target, frozenset())
            merged = known | roots.get(source, frozenset())
            if merged != known:
                roots[target] = merged
                changed = True
    return roots


def flows(kernel: Kernel) -> Iterator[tuple[Value, Value]]:
    """Every way in which a value becomes another through views and control flow: (source, target).

    Exits count, and so do all iterations of loops.
    """
    return _flows(kernel.body, _Exits())


Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class _Exits:
    """What the operands of each exit become; a loop's next iteration may also be its end."""

    fall: tuple[Row, ...] = ()
    stop: tuple[Row, ...] = ()
    again: tuple[Row, ...] = ()
    leave: tuple[Row, ...] = ()


def _flows(region: Region, exits: _Exits) -> Iterator[tuple[Value, Value]]:
    """Every way in which a value becomes another: (source, target)."""
    for op in region.ops:
        match op.name:
            case "yield":
                yield from _pairs(op.operands, exits.fall)
            case "break":
                yield from _pairs(op.operands, exits.stop)
            case "continue":
                yield from _pairs(op.operands, exits.again)
            case "return":
                yield from _pairs(op.operands, exits.leave)
            case "subview":
                yield op.operands[0], op.result
            case "if":
                for arm in op.regions:
                    yield from _flows(arm, replace(exits, fall=(op.results,)))
            case "threads":
                yield from _flows(op.regions[0], _Exits())
            case "scope":
                yield from _flows(op.regions[0], _Exits(leave=(op.results,)))
            case "for":
                (body,) = op.regions
                rows = (body.args[1:], op.results)
                yield from _pairs(op.operands[3:], rows)
                inner = replace(exits, fall=rows, again=rows, stop=(op.results,))
                yield from _flows(body, inner)
            case "while":
                condition, body = op.regions
                ways = (condition.args, body.args, op.results)
                yield from _pairs(op.operands, ways)
                yield from _flows(condition, _Exits())
                inner = replace(exits, fall=ways, again=ways, stop=(op.results,))
                yield from _flows(body, inner)


def _pairs(sources: Row, targets: tuple[Row, ...]) -> Iterator[tuple[Value, Value]]:
    for row in targets:
        yield from zip(sources, row, strict=True)


def written_roots(kernel: Kernel, roots: Mapping[Value, frozenset[Root]]) -> frozenset[Root]:
    """The array parameters that a kernel may write."""
    found: set[Root] = set()
    for op in walk(kernel.body):
        if op.name == "store" or op.name in ATOMICS:
            found |= roots.get(op.operands[0], frozenset())
    return frozenset(found)
