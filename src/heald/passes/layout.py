"""What variants may take for granted of how arrays lie in memory: launch conditions, and a mark on
the kernel.
"""

from __future__ import annotations

from dataclasses import replace

from heald.artifact import ArrayPlace, LaunchCondition, Unit
from heald.ir import Kernel, walk
from heald.types import Array, leaves, size_of


def unit_condition(kernel: Kernel) -> LaunchCondition:
    """All arrays are dense along their last axis and within 2^31 bytes.

    Always true for a kernel that uses no array; such a kernel has no variant of this kind.
    """
    arrays = array_places(kernel)
    return LaunchCondition((Unit(arrays),) if arrays else ())


def assume_unit(kernel: Kernel) -> Kernel:
    """The kernel for launches that fulfil :func:`unit_condition`: ``attrs["unit"]`` is true."""
    return replace(kernel, attrs={**kernel.attrs, "unit": True})


def array_places(kernel: Kernel) -> tuple[ArrayPlace, ...]:
    """The array parameters, and array leaves of parameters, that a kernel uses.

    Where a parameter goes elsewhere as a whole, so may each of its leaves.
    """
    params = frozenset(kernel.params)
    used = set()
    for op in walk(kernel.body):
        for value in op.operands:
            if value not in params:
                continue
            if op.name == "extract":
                used.add((value, op.attrs["leaf"]))
            else:
                used.update((value, k) for k in range(len(leaves(value.type))))
    return tuple(
        ArrayPlace(n, k, leaf.ndim, size_of(leaf.dtype))
        for n, param in enumerate(kernel.params)
        for k, leaf in enumerate(leaves(param.type))
        if isinstance(leaf, Array) and (param, k) in used
    )
