"""Carried values that every iteration of a loop changes by the same amount."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heald.ir import LOOPS, Op, Region, Value, walk
from heald.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """How much a carried value grows in an iteration; nothing where it stays the same.

    Attributes:
        amounts: factors with numbers, or with values from outside the loop; their sum.
        ops: the sums that compute the next value.
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
    for end in _ways_back(body):
        growth = _growth(value, end.operands[k], made, inside)
        if growth is None or (found is not None and growth.amounts != found.amounts):
            return None
        found = growth
    return found or Growth((), (), value.type)


def _ways_back(body: Region) -> Iterator[Op]:
    """The ends of an iteration that lead to the next one."""
    if body.terminator.name == "yield":
        yield body.terminator
    work = [body]
    while work:
        for op in work.pop().ops:
            if op.name == "continue":
                yield op
            elif op.name not in LOOPS and op.name != "scope":
                work += op.regions


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
