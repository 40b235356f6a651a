"""Guards that can be looked at before they are due: together, before an effect."""

from __future__ import annotations

from collections.abc import Callable, Set

from heald.ir import MEMORY, Kernel, Op, Region, Value, walk
from heald.passes.facts import constants_of, is_guarded
from heald.types import Array, i32, i64

_REACH = 1 << 16


def guards_ahead(
    region: Region,
    position: int,
    known: Set[Op],
    root_of: Callable[[Value], tuple[Value, int]],
) -> list[Op]:
    """The guarded accesses from ``position`` on whose indices follow from what is there.

    Constants are there from the beginning.  ``known`` are those that were looked at before;
    ``root_of`` is as :func:`find_roots` has it.
    """
    rest = (op for op in region.ops[position:] if op.name != "const")
    later = {v for op in rest for v in op.results}
    found = []
    for op in region.ops[position:]:
        if op.name not in MEMORY or not is_guarded(op) or op in known:
            continue
        array = op.operands[0]
        assert isinstance(array.type, Array)
        index = op.operands[1 : 1 + array.type.ndim]
        if array not in later and not any(root_of(v)[0] in later for v in index):
            found.append(op)
    return found


def find_roots(kernel: Kernel) -> dict[Value, tuple[Value, int]]:
    """Of each i32 or i64 that is another one plus a small constant, which and how much."""
    constants = constants_of(kernel)
    roots: dict[Value, tuple[Value, int]] = {}
    for op in walk(kernel.body):
        if op.name not in ("iadd", "isub") or op.result.type not in (i32, i64):
            continue
        ways = [(op.operands[0], op.operands[1])]
        if op.name == "iadd":
            ways.append((op.operands[1], op.operands[0]))
        for value, by in ways:
            if by in constants:
                root, offset = roots.get(value, (value, 0))
                offset += int(constants[by]) * (1 if op.name == "iadd" else -1)
                if abs(offset) <= _REACH:
                    roots[op.result] = (root, offset)
    return roots
