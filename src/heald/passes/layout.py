"""What variants may take for granted of how arrays lie in memory: launch conditions, and a mark on
the kernel.
"""

from __future__ import annotations

from dataclasses import replace

from heald.artifact import Apart, ArrayPlace, LaunchCondition, Unit
from heald.ir import Kernel, walk
from heald.passes.array_roots import array_roots, written_roots
from heald.passes.facts import space_of
from heald.passes.own_updates import find_own_updates
from heald.passes.uniformity import effectful_ops, find_late
from heald.types import Array, leaves, size_of

_COMPARED = 16


def unit_condition(kernel: Kernel) -> LaunchCondition:
    """All arrays are dense along their last axis and within 2^31 bytes.

    Always true for a kernel that uses no array; such a kernel has no variant of this kind.
    """
    arrays = array_places(kernel)
    return LaunchCondition((Unit(arrays),) if arrays else ())


def assume_unit(kernel: Kernel) -> Kernel:
    """The kernel for launches that fulfil :func:`unit_condition`: ``attrs["unit"]`` is true."""
    return replace(kernel, attrs={**kernel.attrs, "unit": True})


def apart_condition(kernel: Kernel) -> LaunchCondition:
    """What the kernel writes overlaps nothing else that it uses, and itself nowhere.

    Always true, so that there is no variant of this kind, for a kernel that loads nothing after a
    store, as no load of it could move, and has no update that could do without atomics.  The same
    holds for one with many arrays: launches compare all pairs of them.
    """
    late = find_late(kernel, frozenset(), effectful_ops(kernel))
    moves = any(op.name == "load" and space_of(op) != "local" for op in late)
    if not moves and not find_own_updates(kernel):
        return LaunchCondition()
    found = written_roots(kernel, array_roots(kernel))
    arrays = array_places(kernel)
    written = tuple(place for place in arrays if (place.parameter, place.leaf) in found)
    others = tuple(place for place in arrays if place not in written)
    if not written or len(arrays) > _COMPARED:
        return LaunchCondition()
    return LaunchCondition((Apart(written, others),))


def assume_apart(kernel: Kernel) -> Kernel:
    """The kernel for launches that fulfil :func:`apart_condition`: ``attrs["apart"]`` is true."""
    return replace(kernel, attrs={**kernel.attrs, "apart": True})


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
