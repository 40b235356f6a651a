"""Thread coarsening: whether one thread of a GPU runs several threads of a launch side by side.

A thread that handles one element has one load of each array under way, which on large GPUs is too
little to keep the memory busy.  Several elements a thread, each warp taking neighbouring ones
together, are enough (Volkov, "Better performance at lower occupancy", GTC 2010).
"""

from __future__ import annotations

from dataclasses import replace

from heald.artifact.records import FEWEST_LANES
from heald.ir import LOOPS, MEMORY, Kernel, Op, Region, Value, walk
from heald.passes.coalesce import is_plain_arm, refusal, view_refusal
from heald.passes.facts import is_guarded
from heald.passes.guards_ahead import find_roots, guards_ahead
from heald.passes.pressure import most_alive
from heald.passes.uniformity import Uniformity, analyse_uniformity
from heald.types import Array, Type, b1, i32, leaves, size_of

LANE_BYTES = 16
MOST_LANES = 16
"""Lanes access 16 bytes together, as far as that makes 4 to 16 of them."""
SPACING = 32
"""The threads that one thread runs lie a warp apart, so that each access of a warp is one stretch
of memory, whatever the alignment and the strides of arrays."""

_LONG = 256
"""The ops of a kernel are written out for each lane, so longer kernels take long to compile.  Those
that compute gain like the others, as lanes also hide what arithmetic waits for: sin(x) exp(x), some
180 ops, is half as fast again on an H200."""
_ALIVE = 48
"""Numbers that all lanes may hold: with more, fewer threads fit a multiprocessor."""
_NOT_HERE = frozenset({"alloc", "resource_array", "resource_scalar"})


def coarsen(kernel: Kernel) -> Kernel:
    """Record on a kernel without exits how many threads one of a GPU may run.

    ``attrs["width"]`` becomes 4 (more for elements of less than 4 bytes) and ``attrs["spacing"]``
    32 where that pays: in kernels that are not long and without loops that access memory, number by
    number.  Elements of several numbers keep it busy as they are, and neighbours share their lines.
    ``attrs["width"]`` 1 says that every thread runs for itself, and ``attrs["scalar"]`` says why.
    The ops stay as they are, and so does every bit.

    Refused are kernels that cannot be widened (``coalesce``), and those whose threads would need
    masks or records of faults of their own: threads that part elsewhere than at a border of what is
    computed, and guards behind an effect.

    Args:
        kernel: normalised and scalarised.
    """
    reason = refusal(kernel, ordered=False) or _size_refusal(kernel)
    if not reason:
        spaced = replace(kernel, attrs={**kernel.attrs, "spacing": SPACING})
        uniformity = analyse_uniformity(spaced)
        lanes = _lanes(kernel)
        reason = view_refusal(kernel, uniformity) or _refusal(kernel, uniformity, lanes)
        if not reason:
            return replace(spaced, attrs={**spaced.attrs, "width": lanes})
    return replace(kernel, attrs={**kernel.attrs, "width": 1, "scalar": reason})


def _size_refusal(kernel: Kernel) -> str:
    ops = list(walk(kernel.body))
    if any(op.name in LOOPS for op in ops):
        return "loops keep its threads busy"
    for op in ops:
        if op.name in _NOT_HERE:
            return f"it has {op.name}"
        if op.name == "tid" and op.result.type is not i32:
            return "its launch indices take 64 bits"
    if not any(op.name in MEMORY for op in ops):
        return "it accesses no memory"
    if any(op.name in MEMORY and len(leaves(_element(op))) > 1 for op in ops):
        return "its elements are several numbers"
    return f"it has more than {_LONG} ops" if len(ops) > _LONG else ""


def _element(op: Op) -> Type:
    array = op.operands[0].type
    assert isinstance(array, Array)
    return array.dtype


def _lanes(kernel: Kernel) -> int:
    most = max(size_of(_element(op)) for op in walk(kernel.body) if op.name in MEMORY)
    return max(FEWEST_LANES, min(LANE_BYTES // most, MOST_LANES))


def _refusal(kernel: Kernel, uniformity: Uniformity, lanes: int) -> str:
    if not _is_checked_ahead(kernel, uniformity):
        return "a guard stands behind an effect"
    if most_alive(kernel, uniformity, 4) * lanes > _ALIVE:
        return f"{lanes} of its threads hold more than {_ALIVE} numbers"
    known: set[Value] = set()
    return "" if _parts_at_borders(kernel.body, uniformity, known) else "its threads part"


def _is_checked_ahead(kernel: Kernel, uniformity: Uniformity) -> bool:
    """Are all guards behind an effect looked at before it?"""
    roots = find_roots(kernel)
    ahead: set[Op] = set()

    def visit(region: Region) -> None:
        for position, op in enumerate(region.ops):
            due = op.name in MEMORY and is_guarded(op) and op not in uniformity.late
            if due and op not in ahead:
                found = guards_ahead(region, position, ahead, lambda v: roots.get(v, (v, 0)))
                ahead.update(found)
            for inner in op.regions:
                visit(inner)

    visit(kernel.body)
    return all(op in ahead for op in uniformity.later if is_guarded(op))


def _parts_at_borders(region: Region, uniformity: Uniformity, known: set[Value]) -> bool:
    """Do threads part only where the first and the last of them tell, or compute both arms?

    ``known`` are the conditions that are told by comparing where threads stand.
    """
    for op in region.ops:
        _note_condition(op, uniformity, known)
        if op.name != "if":
            continue
        if op in uniformity.divergent and not all(is_plain_arm(arm) for arm in op.regions):
            told = op.operands[0] in known and op not in uniformity.late
            if not told:
                return False
        if not all(_parts_at_borders(arm, uniformity, known) for arm in op.regions):
            return False
        if op not in uniformity.divergent:
            rows = zip(*(arm.terminator.operands for arm in op.regions), strict=True)
            for result, given in zip(op.results, rows, strict=True):
                if all(_is_told(value, uniformity, known) for value in given):
                    known.add(result)
    return True


def _is_told(value: Value, uniformity: Uniformity, known: set[Value]) -> bool:
    return value.type is b1 and (value in known or uniformity.is_uniform(value))


def _note_condition(op: Op, uniformity: Uniformity, known: set[Value]) -> None:
    match op.name:
        case "icmp":
            steps = [uniformity.steps.get(v) for v in op.operands]
            if 0 in steps and None not in steps:
                known.add(op.result)
        case "iand" | "ior" | "inot" if op.result.type is b1:
            if all(_is_told(v, uniformity, known) for v in op.operands):
                known.add(op.result)
