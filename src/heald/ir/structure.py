"""The structural ops: control flow, memory, composites, threads.

The list is closed; every consumer matches on all of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heald.ir.core import Op
    from heald.ir.effects import Effect
    from heald.types import Type


class ValueOp(Protocol):
    """What ``ir`` needs to know of a value op; ``heald.ops`` has the records."""

    @property
    def effects(self) -> Effect:
        """What the op may do besides computing its results."""

    @property
    def type_rule(self) -> TypeRule:
        """Result types, or why the op is refused."""


class TypeRule(Protocol):
    """Tells the result types of an op.  It may read attributes and declared result types."""

    def __call__(self, op: Op, /) -> tuple[Type, ...] | str:
        """The result types, or a sentence that says why the op is refused."""


ValueOps = Mapping[str, ValueOp]


@dataclass(frozen=True, slots=True)
class StructuralOp:
    """Name, text form and meaning of a structural op; ``docs/wir.md`` is built from these."""

    name: str
    form: str
    doc: str

    @property
    def attrs(self) -> frozenset[str]:
        """Names of the attributes that ``form`` shows, and ``id``, which any op may carry."""
        return frozenset(re.findall(r"[\[ ](\w+)=\w", self.form)) | {"id"}


_WARP = ", warp=b"

_OPS = (
    StructuralOp(
        "if",
        "%r... = if %c () {then} () {else}",
        "Runs one of two regions, both always present.  Results come from the arms that yield; "
        "when no arm yields it has none and `unreachable` follows.",
    ),
    StructuralOp(
        "for",
        "%r... = for %lo, %hi, %step, %init... [guard=b, id=n] (%iv, %carried...) {body}",
        "Counted loop.  Bounds are i32 or i64 of one type.  The trip count "
        "max(0, ceil((hi - lo) / step)) is computed first, without overflow; `iv = lo + k * step`. "
        "Step 0 runs no iteration and is a fault.",
    ),
    StructuralOp(
        "while",
        "%r... = while %init... (%carried...) {... yield %cond} (%carried...) {body}",
        "The condition region sees the carried values and yields one b1; it may load and branch, "
        "and must not store, allocate, synchronise, print or exit.",
    ),
    StructuralOp(
        "scope",
        "%r... = scope () {body}",
        "An inlined function.  Left by `return` only, whose operands become the results.",
    ),
    StructuralOp(
        "threads",
        "threads [width=n, vectors=n] () {body}",
        "Runs its region for each thread of the block, in any order; no thread meets another one "
        "in it.  It stands in programs of whole blocks, which the pass `split_phases` makes and in "
        "which everything else runs once for the block.  `width` says how many threads run side by "
        "side.",
    ),
    StructuralOp(
        "yield", "yield %v...", "Ends a region: results of an `if`, next iteration of a loop."
    ),
    StructuralOp(
        "break", "break %carried...", "Leaves the innermost loop with these carried values."
    ),
    StructuralOp("continue", "continue %carried...", "Next iteration of the innermost loop."),
    StructuralOp("return", "return %v...", "Leaves the innermost scope, or ends the thread."),
    StructuralOp("unreachable", "unreachable", "Follows an op all of whose regions exit."),
    StructuralOp(
        "load",
        "%r = load %a, %i... [leaf=k, guard=b, id=n]",
        "The element at an index (one i32 or i64 per axis, never linearised); with `leaf` only "
        "that leaf.",
    ),
    StructuralOp(
        "store",
        "store %a, %i..., %v [leaf=k, guard=b, id=n]",
        "Writes an element, or one leaf of it.",
    ),
    *(
        StructuralOp(
            f"atomic_{kind}",
            f"%old = atomic_{kind} %a, %i..., {operands} [leaf=k, scope=s, guard=b, id=n{more}]",
            f"Atomic {meaning}; gives the old value.  A composite element goes leaf by leaf.",
        )
        for kind, operands, meaning, more in (
            ("add", "%v", "sum", _WARP),
            ("sub", "%v", "difference", _WARP),
            ("min", "%v", "minimum, `b if b < a else a` with `a` the old value", _WARP),
            ("max", "%v", "maximum, `b if b > a else a` with `a` the old value", _WARP),
            ("and", "%v", "bitwise and", _WARP),
            ("or", "%v", "bitwise or", _WARP),
            ("xor", "%v", "bitwise exclusive or", _WARP),
            ("exch", "%v", "exchange", ""),
            ("cas", "%expected, %v", "compare and swap, comparing bits", ""),
        )
    ),
    StructuralOp(
        "alloc",
        "%a = alloc [sync=s]",
        "An array whose element type and static shape are in the type.  A local one belongs to one "
        "thread and is zeroed and fresh each time.  A shared one belongs to the block, is there "
        "before its threads begin, and is not initialised.",
    ),
    StructuralOp(
        "compose",
        "%r = compose %leaf...",
        "A composite value from all its leaves, in declaration order.",
    ),
    StructuralOp("extract", "%r = extract %v [leaf=k]", "One leaf of a composite value."),
    StructuralOp("insert", "%r = insert %v, %x [leaf=k]", "The composite with one leaf replaced."),
    StructuralOp(
        "const",
        "%r = const [value=x]",
        "A scalar constant; the value is already rounded to the type.  bfloat16 holds the float32 "
        "value.",
    ),
    StructuralOp(
        "tid", "%r = tid [axis=k]", "Index of this thread on a launch dimension, i32 or i64."
    ),
    StructuralOp(
        "launch_dim", "%r = launch_dim [axis=k]", "Extent of a launch dimension, i32 or i64."
    ),
    StructuralOp("dim", "%r = dim %a [axis=k]", "Extent of an array on an axis, i32 or i64."),
    StructuralOp("stride", "%r = stride %a [axis=k]", "Byte stride of an array on an axis, i64."),
    StructuralOp(
        "subview",
        "%r = subview %a, %x... [axes=s, guard=b, id=n]",
        "A view.  `axes` has one letter per axis of %a: `i` takes one index and drops the axis, "
        "`s` takes start, extent and step (elements) and keeps it, `f` keeps the whole axis.  The "
        "type of the view has no static shape.  The obligation is that every element of the view "
        "lies inside %a; where it fails the view has extent 0 on every axis.",
    ),
    StructuralOp("block_sync", "block_sync", "Barrier among the threads of a block."),
)

MAX_RANK = 4
"""Most axes of a launch and of an array; fault records have room for as many."""
MAX_NESTING = 200
"""Most regions around an op, and most calls in an inlining chain."""

STRUCTURAL: Mapping[str, StructuralOp] = {op.name: op for op in _OPS}
LOOPS = frozenset({"for", "while"})
EXITS = frozenset({"break", "continue", "return", "unreachable"})
TERMINATORS = EXITS | {"yield"}
ATOMICS = frozenset(name for name in STRUCTURAL if name.startswith("atomic_"))
MEMORY = ATOMICS | {"load", "store"}
OBLIGATIONS = MEMORY | {
    "subview",
    "for",
    "idiv",
    "irem",
    "udiv",
    "urem",
    "assert",
    "resource_array",
    "resource_scalar",
}
"""Ops that may fault.

The pass ``guard`` gives each one an ``id`` and says in ``guard`` whether it must check itself.
"""
