"""WIR: immutable, typed, structured SSA.  DESIGN section 3 says what it is; ``docs/wir.md`` is the reference."""

from heald.ir.builder import Builder
from heald.ir.core import Attr, Kernel, Op, Region, Value, has_exit, op_ids, walk
from heald.ir.effects import Effect, effects_of, region_effects
from heald.ir.structure import (
    ATOMICS,
    EXITS,
    LOOPS,
    MEMORY,
    OBLIGATIONS,
    STRUCTURAL,
    TERMINATORS,
    StructuralOp,
    ValueOps,
)

__all__ = [
    "ATOMICS",
    "EXITS",
    "LOOPS",
    "MEMORY",
    "OBLIGATIONS",
    "STRUCTURAL",
    "TERMINATORS",
    "Attr",
    "Builder",
    "Effect",
    "Kernel",
    "Op",
    "Region",
    "StructuralOp",
    "Value",
    "ValueOps",
    "effects_of",
    "has_exit",
    "op_ids",
    "region_effects",
    "walk",
]
