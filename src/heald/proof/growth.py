"""Carried values that every iteration of a loop changes by the same amount."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from heald.ir import LOOPS, Op, Region, Value, walk
from heald.types import Type, leaves


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """How much a carried value grows in an iteration; nothing where it stays the same.

    Attributes:
        amounts: factors with numbers, or with values from outside the loop; their sum.
        ops: the sums that compute the next value, on every way to the next iteration.
        type: of the value.
    """

    amounts: tuple[tuple[int, Value | int], ...]
    ops: tuple[Op, ...]
    type: Type


def growth_of(loop: Op, k: int) -> Growth | None:
    """The growth of carried value ``k``, or None where iterations differ or it is not seen."""
    body = loop.regions[-1]
    value = body.args[len(body.args) - len(loop.results) + k]
    made = {result: op for op in walk(body) for result in op.results}
    inside = set(made).union(*(r.args for op in walk(body) for r in op.regions), body.args)
    found: Growth | None = None
    for end in _exits(body, "yield", "continue"):
        growth = _growth(value, end.operands[k], made, inside)
        if growth is None or (found is not None and growth.amounts != found.amounts):
            return None
        ops = (*found.ops, *growth.ops) if found is not None else growth.ops
        found = replace(growth, ops=tuple(dict.fromkeys(ops)))
    return found or Growth((), (), value.type)


def steady_leaves(loop: Op, k: int) -> frozenset[int]:
    """The leaves of carried composite ``k`` that no iteration changes."""
    body = loop.regions[-1]
    value = body.args[len(body.args) - len(loop.results) + k]
    flow = _Flow(body)
    ends = [end.operands[k] for end in _exits(body, "yield", "continue")]
    count = len(leaves(value.type))
    return frozenset(
        leaf for leaf in range(count) if all(flow.keeps(end, leaf, value) for end in ends)
    )


class _Flow:
    """Where the leaves of composites come from, in the body of a loop."""

    def __init__(self, body: Region) -> None:
        self._made = {result: op for op in walk(body) for result in op.results}
        self._heads: dict[Value, tuple[Op, int]] = {}
        for op in walk(body):
            if op.name in LOOPS:
                for region in op.regions:
                    first = len(region.args) - len(op.results)
                    for k, arg in enumerate(region.args[first:]):
                        self._heads[arg] = op, k

    def keeps(self, here: Value, leaf: int, value: Value) -> bool:
        """Is this leaf of ``here`` that of ``value``?"""
        if here is value:
            return True
        if here in self._heads:
            loop, k = self._heads[here]
            return self._through(loop, k, leaf, value)
        op = self._made.get(here)
        if op is None:
            return False
        match op.name:
            case "insert" if op.attrs["leaf"] != leaf:
                return self.keeps(op.operands[0], leaf, value)
            case "insert":
                return self._is_leaf(op.operands[1], leaf, value)
            case "compose":
                return self._is_leaf(op.operands[leaf], leaf, value)
            case "if":
                ends = [r.terminator for r in op.regions if r.terminator.name == "yield"]
            case "scope":
                ends = list(_exits(op.regions[0], "return"))
            case name if name in LOOPS:
                return self._through(op, op.results.index(here), leaf, value)
            case _:
                return False
        k = op.results.index(here)
        return all(self.keeps(end.operands[k], leaf, value) for end in ends)

    def _is_leaf(self, here: Value, leaf: int, value: Value) -> bool:
        op = self._made.get(here)
        if op is None or op.name != "extract" or op.attrs["leaf"] != leaf:
            return False
        return self.keeps(op.operands[0], leaf, value)

    def _through(self, loop: Op, k: int, leaf: int, value: Value) -> bool:
        """Does an inner loop start with the leaf and never change it?"""
        init = loop.operands[len(loop.operands) - len(loop.results) + k]
        body = loop.regions[-1]
        head = body.args[len(body.args) - len(loop.results) + k]
        ends = _exits(body, "yield", "continue", "break")
        return self.keeps(init, leaf, value) and all(
            self.keeps(end.operands[k], leaf, head) for end in ends
        )


def _exits(body: Region, *names: str) -> Iterator[Op]:
    """The ends of a region by name: ``yield`` of itself, exits from anywhere in it."""
    if "yield" in names and body.terminator.name == "yield":
        yield body.terminator
    work = [(body, frozenset(names) - {"yield"})]
    while work:
        region, sought = work.pop()
        for op in region.ops:
            if op.name in sought:
                yield op
            inner = sought - {"break", "continue"} if op.name in LOOPS else sought
            inner = inner - {"return"} if op.name == "scope" else inner
            work += [(r, inner) for r in op.regions if inner]


def _growth(
    value: Value, after: Value, made: Mapping[Value, Op], inside: set[Value]
) -> Growth | None:
    """``after`` as ``value`` plus values from outside."""
    amounts: dict[Value | int, int] = {}
    ops: list[Op] = []
    here = after
    while here is not value:
        op = made.get(here)
        if op is None or op.name not in ("iadd", "isub"):
            return None
        lhs, rhs = op.operands
        sign = 1 if op.name == "iadd" else -1
        amount = _amount(rhs, made, inside)
        if amount is None:
            amount, lhs = _amount(lhs, made, inside), rhs
            if amount is None or sign < 0:
                return None
        amounts[amount] = amounts.get(amount, 0) + sign
        ops.append(op)
        here = lhs
    kept = sorted(
        ((factor, source) for source, factor in amounts.items() if factor),
        key=lambda pair: (pair[0], pair[1] if isinstance(pair[1], int) else id(pair[1])),
    )
    return Growth(tuple(kept), tuple(ops), value.type)


def _amount(value: Value, made: Mapping[Value, Op], inside: set[Value]) -> Value | int | None:
    op = made.get(value)
    if op is not None and op.name == "const":
        number = op.attrs["value"]
        return number if isinstance(number, int) else None
    return None if value in inside else value
