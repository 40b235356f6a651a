"""Which parameters a kernel reads and writes, and roughly how much it does."""

from __future__ import annotations

from collections.abc import Mapping

from heald.artifact import Access
from heald.ir import ATOMICS, LOOPS, Kernel, Op, Region, Value, walk
from heald.passes.array_roots import array_roots
from heald.passes.dependence import behind
from heald.passes.facts import Constants, constants_of, known_trips


def parameter_access(kernel: Kernel) -> tuple[Access, ...]:
    """How the arrays of every parameter are used, through views and joins too."""
    roots = array_roots(kernel)
    access = [Access.NONE for _ in kernel.params]
    for op in walk(kernel.body):
        use = _use_of(op)
        if use:
            for parameter, _ in roots.get(op.operands[0], ()):
                access[parameter] |= use
    return tuple(access)


def _use_of(op: Op) -> Access:
    if op.name == "load":
        return Access.READ
    if op.name == "store":
        return Access.WRITE
    return Access.READ | Access.WRITE if op.name in ATOMICS else Access.NONE


# -- work ------------------------------------------------------------------------------------------

_COSTS = {
    "const": 0,
    "fdiv": 8,
    "fsqrt": 12,
    **dict.fromkeys(("idiv", "irem", "udiv", "urem"), 20),
    **dict.fromkeys(ATOMICS, 20),
    "printf": 100,
}
# Many: a long loop on one core costs more than other cores woken for a short one.
_UNKNOWN_TRIPS = 128
_MOST_WORK = 1 << 40
"""Enough for all cores, and few enough for the 64 bits that entries are told."""


def estimate_work(kernel: Kernel) -> int:
    """Rough number of instructions a thread, for choosing how many cores to use."""
    return max(1, min(_work(kernel.body, constants_of(kernel)), _MOST_WORK))


def is_uneven(kernel: Kernel) -> bool:
    """May some threads run a loop much more often than others?

    So it is where the number of iterations depends on the thread or on what is in memory.
    """
    makers = {v: op for op in walk(kernel.body) for v in op.results}
    for op in walk(kernel.body):
        if op.name in LOOPS and any(
            v in makers and makers[v].name in _DIFFERING for v in _decisive(kernel, op, makers)
        ):
            return True
    return False


def _decisive(kernel: Kernel, loop: Op, makers: Mapping[Value, Op]) -> frozenset[Value]:
    """The values that a number of iterations depends on."""
    exits = [o for r in loop.regions for o in walk(r) if o.name in ("break", "return")]
    if loop.name == "while":
        return behind(kernel, [loop, *exits])
    bounds = frozenset(loop.operands[:3])
    return bounds | behind(kernel, [*exits, *(makers[v] for v in bounds if v in makers)])


_DIFFERING = frozenset({"tid", "load", "resource_scalar", "resource_array", *ATOMICS})
"""Ops that give each thread a value of its own."""


def _work(region: Region, constants: Constants) -> int:
    total = 0
    for op in region.ops:
        inner = [_work(r, constants) for r in op.regions]
        match op.name:
            case "if":
                total += 1 + max(inner)
            case "for":
                total += _trips(op, constants) * (2 + inner[0])
            case "while":
                total += _UNKNOWN_TRIPS * (1 + sum(inner))
            case _:
                total += _COSTS.get(op.name, 1) + sum(inner)
    return total


def _trips(op: Op, constants: Constants) -> int:
    trips = known_trips(op, constants)
    return _UNKNOWN_TRIPS if trips is None else trips
