"""Small facts about ops that several passes ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from heald.ir import (
    ATOMICS,
    LOOPS,
    OBLIGATIONS,
    STRUCTURAL,
    Effect,
    Kernel,
    Op,
    Region,
    Value,
    walk,
)
from heald.ops import TABLE
from heald.types import Array, Type, i32

T = TypeVar("T")
Constants = Mapping[Value, bool | int | float]

DIVISIONS = frozenset({"idiv", "irem", "udiv", "urem"})

_PURE_STRUCTURAL = frozenset(
    {"compose", "extract", "insert", "const", "tid", "launch_dim", "dim", "stride"}
)
_SYNCHRONISING = Effect.SYNC | Effect.WRITE
_SHORT = 48
_TOGETHER = frozenset({"block_sync", "shuffle", "vote", "printf"})


def constants_of(kernel: Kernel) -> dict[Value, bool | int | float]:
    """The number behind every value that a ``const`` defines."""
    found: dict[Value, bool | int | float] = {}
    for op in walk(kernel.body):
        if op.name == "const":
            note_constant(op, found)
    return found


def note_constant(op: Op, constants: dict[Value, bool | int | float]) -> None:
    """Enter a ``const`` op."""
    number = op.attrs["value"]
    assert isinstance(number, bool | int | float)
    constants[op.results[0]] = number


def is_guarded(op: Op) -> bool:
    """Does ``op`` have to check itself?  Before the pass ``guard`` every op does."""
    return op.name in OBLIGATIONS and op.attrs.get("guard", True) is True


def may_have_step_zero(op: Op, constants: Constants) -> bool:
    """Could this ``for`` have step 0, as far as its guard and constants tell?"""
    return op.attrs.get("guard") is not False and not constants.get(op.operands[2])


def has_narrow_indices(kernel: Kernel) -> bool:
    """Was the kernel specialised for launches and arrays with fewer than 2^31 elements on an axis?

    Such a kernel reads launch indices and extents as i32; launches and arrays that do not fit get
    another specialisation.
    """
    return any(
        op.name in ("tid", "dim", "launch_dim") and op.results[0].type is i32
        for op in walk(kernel.body)
    )


def known_trips(op: Op, constants: Constants) -> int | None:
    """How many iterations a ``for`` makes, where its bounds are constants; may take 64 bits, more
    than the ``len`` of a range."""
    lo, hi, step = (constants.get(v) for v in op.operands[:3])
    if lo is None or hi is None or not step:
        return None
    return max(0, -((int(lo) - int(hi)) // int(step)))


def is_short_loop(op: Op) -> bool:
    """Is it a counted loop of which GPUs had better run some iterations side by side?

    Those hide what each instruction waits for.  Only short innermost loops are worth it, and none
    in which threads meet.
    """
    if op.name != "for":
        return False
    inner = list(walk(op.regions[0]))
    return len(inner) <= _SHORT and not any(o.name in LOOPS or o.name in _TOGETHER for o in inner)


def is_pure(op: Op) -> bool:
    """Has ``op`` no regions and no effect at all, a possible fault included?"""
    if op.name in STRUCTURAL:
        return op.name in _PURE_STRUCTURAL
    return bool(op.results) and TABLE[op.name].effects is Effect.PURE


def is_speculatable(op: Op, constants: Constants) -> bool:
    """May ``op`` run where the source would not run it?

    A division only by a constant other than 0: one that is proved (``guard=False``) may owe its
    proof to the branch it stands in.
    """
    if op.name in DIVISIONS:
        return bool(constants.get(op.operands[1]))
    return is_pure(op)


def space_of(op: Op) -> str:
    """Which memory an access touches: ``local`` or ``global``, which shared memory counts as."""
    array = op.operands[0].type
    return "local" if isinstance(array, Array) and array.space == "local" else "global"


def written_space(op: Op) -> str | None:
    """Which memory one op, its regions aside, may change; a barrier shows what other threads wrote.

    Any two arrays of a space may overlap, whatever their element types.  ``alloc`` makes memory
    that nothing else can name yet.
    """
    if op.name == "store" or op.name in ATOMICS:
        return space_of(op)
    if op.name == "block_sync":
        return "global"
    if op.name not in STRUCTURAL and TABLE[op.name].effects & _SYNCHRONISING:
        return "global"
    return None


def gather(kernel: Kernel, own: Callable[[Op], T | None]) -> dict[Op, frozenset[T]]:
    """For each op with regions what ``own`` finds in these, however deep: in one walk for all."""
    found: dict[Op, frozenset[T]] = {}

    def visit(region: Region) -> frozenset[T]:
        here = []
        for op in region.ops:
            mine = own(op)
            if mine is not None:
                here.append(mine)
            if op.regions:
                found[op] = inner = frozenset().union(*map(visit, op.regions))
                here += inner
        return frozenset(here)

    visit(kernel.body)
    return found


def written_spaces(kernel: Kernel) -> dict[Op, frozenset[str]]:
    """For each op with regions which memories these may change."""
    return gather(kernel, written_space)


def tid_types(kernel: Kernel) -> set[Type]:
    """The types of the launch coordinates that a kernel reads, i32 or i64.

    There are none where nothing needs them: then nothing says that extents fit 32 bits either.
    """
    return {op.result.type for op in walk(kernel.body) if op.name == "tid"}


def launch_rank(kernel: Kernel) -> int:
    """How many launch coordinates a kernel reads."""
    axes = (op.attrs["axis"] for op in walk(kernel.body) if op.name == "tid")
    return max([kernel.rank, *(axis + 1 for axis in axes if isinstance(axis, int))])
