"""WIR: immutable, typed, structured SSA.  ``docs/wir.md`` is the reference."""

from heald.ir.builder import Builder
from heald.ir.check import check
from heald.ir.core import Attr, Kernel, Op, Region, Value, has_exit, op_ids, walk
from heald.ir.effects import Effect, effects_of, region_effects
from heald.ir.file import KernelFile, dump_kernels, load_kernels
from heald.ir.hashing import code_hash, equal, span_hash
from heald.ir.parser import parse
from heald.ir.structure import (
    ATOMICS,
    EXITS,
    LOOPS,
    MAX_NESTING,
    MAX_RANK,
    MEMORY,
    OBLIGATIONS,
    STRUCTURAL,
    TERMINATORS,
    StructuralOp,
    ValueOps,
)
from heald.ir.text import canonical_text, to_text

__all__ = [
    "ATOMICS",
    "EXITS",
    "LOOPS",
    "MAX_NESTING",
    "MAX_RANK",
    "MEMORY",
    "OBLIGATIONS",
    "STRUCTURAL",
    "TERMINATORS",
    "Attr",
    "Builder",
    "Effect",
    "Kernel",
    "KernelFile",
    "Op",
    "Region",
    "StructuralOp",
    "Value",
    "ValueOps",
    "canonical_text",
    "check",
    "code_hash",
    "dump_kernels",
    "effects_of",
    "equal",
    "has_exit",
    "load_kernels",
    "op_ids",
    "parse",
    "region_effects",
    "span_hash",
    "to_text",
    "walk",
]
