"""Which components of what it loads a kernel looks at.

A load of a composite element reads all of it, but where only some components are used, the rest
need not be there: a thread may write them meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from heald.ir import Kernel, Op, Value, walk


def used_leaves(kernel: Kernel) -> Mapping[Op, frozenset[int]]:
    """For loads of composites of which only some leaves are extracted: these."""
    loads: dict[Value, Op] = {}
    leaves: dict[Value, set[int]] = {}
    for op in walk(kernel.body):
        if op.name == "load" and "leaf" not in op.attrs:
            loads[op.result] = op
            leaves[op.result] = set()
    for op in walk(kernel.body):
        for value in op.operands:
            if op.name == "extract":
                leaf = op.attrs["leaf"]
                assert isinstance(leaf, int)
                leaves.setdefault(value, set()).add(leaf)
            else:
                loads.pop(value, None)
    return {op: frozenset(leaves[value]) for value, op in loads.items()}
