"""What the course of a kernel depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heald.ir import Kernel, Op, Region, Value


def behind(kernel: Kernel, ops: Iterable[Op], values: Iterable[Value] = ()) -> frozenset[Value]:
    """The values from which ``values``, and operands of ``ops``, are computed, or whether and how
    often ``ops`` run.
    """
    return Dependence(kernel).behind(ops, values)


class Dependence:
    """Who makes each value of a kernel, and which op each op is in."""

    def __init__(self, kernel: Kernel) -> None:
        self._makers: dict[Value, Op] = {}
        self._owners: dict[Op, Op] = {}
        self._note(kernel.body, None)

    def _note(self, region: Region, owner: Op | None) -> None:
        for op in region.ops:
            if owner is not None:
                self._owners[op] = owner
            self._makers.update(dict.fromkeys(op.results, op))
            for inner in op.regions:
                self._makers.update(dict.fromkeys(inner.args, op))
                self._note(inner, op)

    def behind(self, ops: Iterable[Op], values: Iterable[Value] = ()) -> frozenset[Value]:
        """See :func:`behind`."""
        found: set[Value] = set()
        made: set[Op] = set()
        around: set[Op] = set()
        left: list[Value] = list(values)
        for op in ops:
            left += _sources(op)
            left += self._around(op, around)
        while left:
            value = left.pop()
            if value in found:
                continue
            found.add(value)
            maker = self._makers.get(value)
            if maker is not None and maker not in made:
                made.add(maker)
                left += _sources(maker)
                left += self._around(maker, around)
        return frozenset(found)

    def around(self, ops: Iterable[Op]) -> list[Value]:
        """What decides whether and how often ``ops`` run."""
        seen: set[Op] = set()
        return [value for op in ops for value in self._around(op, seen)]

    def _around(self, op: Op, seen: set[Op]) -> list[Value]:
        found: list[Value] = []
        owner = self._owners.get(op)
        while owner is not None and owner not in seen:
            seen.add(owner)
            found += condition_of(owner)
            owner = self._owners.get(owner)
        return found


def condition_of(op: Op) -> Sequence[Value]:
    """What decides which region of an op runs, and how often."""
    match op.name:
        case "for":
            return op.operands[:3]
        case "while":
            return op.regions[0].terminator.operands
        case _:
            return op.operands[:1] if op.name == "if" else ()


def _sources(op: Op) -> list[Value]:
    """What an op takes, and what its regions are given and give."""
    inner = (v for region in op.regions for v in (*region.args, *_given(region)))
    return [*op.operands, *inner]


def _given(region: Region) -> list[Value]:
    """What leaves a region, at its end or from within."""
    found = list(region.terminator.operands)
    for op in region.ops:
        for inner in op.regions:
            found += _given(inner)
    return found
