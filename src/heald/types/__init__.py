"""Type descriptors of values and arrays, generic patterns over them, and memory layouts.

Descriptors are interned and frozen: two equal types are one object, so ``is`` and ``==`` agree.
"""

import importlib
from typing import Any

from heald.types.contracts import Contract, Contracted, Elements, contract_of
from heald.types.convert import as_concrete, as_type, is_ml_bfloat16
from heald.types.descriptors import (
    ARITHMETIC,
    BY_NAME,
    FLOATS,
    INTEGERS,
    MAX_LEAVES,
    SCALARS,
    Array,
    Bfloat16,
    Composite,
    Dense,
    Element,
    Leaf,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    array_leaves,
    b1,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    leaf_path,
    leaves,
    u8,
    u16,
    u32,
    u64,
)
from heald.types.generic import (
    FLOAT,
    INT,
    SCALAR,
    Anything,
    ArrayPattern,
    IndexedPattern,
    MatrixPattern,
    Pattern,
    QuaternionPattern,
    TransformPattern,
    TypeClass,
    VectorPattern,
    is_generic,
    match_pattern,
    usual_type,
)
from heald.types.indexed import IndexedArray, array_like, as_indexed, indexed_array
from heald.types.layout import align_of, leaf_offsets, numpy_dtype, parameter_layout, size_of
from heald.types.promotion import can_widen, fits, join, literal_type
from heald.types.words import describe_type, ordered_parts, part_names

_PUBLISHED: dict[str, Any] = {}


def publish(**names: Any) -> None:
    """Higher layers put what users know as ``wp.types.vector`` and so on here."""
    _PUBLISHED.update(names)


def __getattr__(name: str) -> Any:
    if name not in _PUBLISHED and not name.startswith("_"):
        # A program that imports this package by itself has asked ``heald`` for nothing yet.
        importlib.import_module("heald.api")
    if name in _PUBLISHED:
        return _PUBLISHED[name]
    raise AttributeError(f"wp.types has no {name!r}")


__all__ = [
    "ARITHMETIC",
    "BY_NAME",
    "FLOAT",
    "FLOATS",
    "INT",
    "INTEGERS",
    "MAX_LEAVES",
    "SCALAR",
    "SCALARS",
    "Anything",
    "Array",
    "ArrayPattern",
    "Bfloat16",
    "Composite",
    "Contract",
    "Contracted",
    "Dense",
    "Element",
    "Elements",
    "IndexedArray",
    "IndexedPattern",
    "Leaf",
    "Matrix",
    "MatrixPattern",
    "Pattern",
    "Quaternion",
    "QuaternionPattern",
    "Scalar",
    "Struct",
    "Transform",
    "TransformPattern",
    "Type",
    "TypeClass",
    "Vector",
    "VectorPattern",
    "align_of",
    "array_leaves",
    "array_like",
    "as_concrete",
    "as_indexed",
    "as_type",
    "b1",
    "bf16",
    "can_widen",
    "contract_of",
    "describe_type",
    "f16",
    "f32",
    "f64",
    "fits",
    "i8",
    "i16",
    "i32",
    "i64",
    "indexed_array",
    "is_generic",
    "is_ml_bfloat16",
    "join",
    "leaf_offsets",
    "leaf_path",
    "leaves",
    "literal_type",
    "match_pattern",
    "numpy_dtype",
    "ordered_parts",
    "parameter_layout",
    "part_names",
    "publish",
    "size_of",
    "u8",
    "u16",
    "u32",
    "u64",
    "usual_type",
]
