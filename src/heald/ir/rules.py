"""Result types of structural ops without regions, and which types WIR admits.

A rule is like that of a value op: it gives the result types, or a sentence that says why not.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache

from heald.ir.core import Op
from heald.ir.structure import ATOMICS, MAX_RANK, TypeRule
from heald.types import (
    MAX_LEAVES,
    SCALARS,
    Array,
    Leaf,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    b1,
    bf16,
    i32,
    i64,
    leaves,
)

SPACES = ("global", "shared", "local", "constant")
INDEX_TYPES = (i32, i64)
_MAX_STATIC_LEAVES = 1 << 31
_MAX_DEPTH = 32
_SUBVIEW_OPERANDS = {"i": 1, "s": 3, "f": 0}

Answer = tuple[Type, ...] | str


# -- types -----------------------------------------------------------------------------------------


@cache
def type_problem(t: Type) -> str:
    """A sentence when ``t`` is no type that WIR admits, else nothing."""
    match t:
        case Scalar():
            return "" if t in SCALARS else f"{t} is no scalar type"
        case Vector() | Matrix() | Quaternion() | Transform():
            extents = t.shape
            if t.dtype not in SCALARS or not all(type(n) is int and n >= 1 for n in extents):
                return f"{t} needs a scalar type and extents of at least 1"
        case Struct():
            if problem := _struct_problem(t):
                return problem
        case Array():
            return _array_problem(t)
        case _:
            return f"{t!r} is no type"
    if count_leaves(t) > MAX_LEAVES:
        return f"{t} has more than {MAX_LEAVES} leaves"
    return ""


def _struct_problem(t: Struct) -> str:
    names = [name for name, _ in t.fields]
    if not names or not all(names) or len(set(names)) < len(names):
        return f"{t} needs fields with names of their own"
    for name, field in t.fields:
        if problem := type_problem(field):
            return f"field {name} of {t}: {problem}"
        if isinstance(field, Array) and field.space != "global":
            return f"field {name} of {t} is an array in {field.space} memory"
    return f"{t} is nested more than {_MAX_DEPTH} deep" if _depth(t) > _MAX_DEPTH else ""


@cache
def _depth(t: Type) -> int:
    if not isinstance(t, Struct):
        return 0
    return 1 + max(_depth(field) for _, field in t.fields)


def _array_problem(t: Array) -> str:
    if isinstance(t.dtype, Array):
        return f"{t} is an array of arrays"
    if problem := type_problem(t.dtype):
        return problem
    if isinstance(t.dtype, Struct) and any(isinstance(leaf, Array) for leaf in leaves(t.dtype)):
        return f"elements of {t} hold arrays"
    if not 1 <= t.ndim <= MAX_RANK:
        return f"{t} needs 1 to {MAX_RANK} axes"
    if t.space not in SPACES:
        return f"{t} lies in none of {', '.join(SPACES)}"
    if t.shape is None:
        return ""
    if t.space == "global":
        return f"{t} is in global memory and has a static shape"
    if len(t.shape) != t.ndim or not all(type(n) is int and n >= 0 for n in t.shape):
        return f"{t} needs {t.ndim} extents of at least 0"
    total = count_leaves(t.dtype)
    for extent in t.shape:
        total *= max(1, extent)
    return f"{t} has 2^31 leaves or more" if total >= _MAX_STATIC_LEAVES else ""


@cache
def count_leaves(t: Type) -> int:
    """The number of leaves, found without making them: a type from a file may claim any number."""
    match t:
        case Scalar() | Array():
            return 1
        case Vector() | Quaternion() | Transform():
            return t.shape[0]
        case Matrix():
            return t.rows * t.cols
        case Struct():
            return sum(count_leaves(field) for _, field in t.fields)


def is_exact_constant(t: Scalar, value: object) -> bool:
    """Is ``value`` a Python number that ``t`` holds without rounding?  NaN and infinities are."""
    if t is b1:
        return type(value) is bool
    if t.is_integer:
        return type(value) is int and t.lowest <= value <= t.highest
    if type(value) is not float:
        return False
    if t.bits == 64 or value != value:
        return True
    try:
        if t is not bf16:
            code = "f" if t.bits == 32 else "e"
            return bool(struct.unpack(code, struct.pack(code, value))[0] == value)
        bits = struct.pack("<f", value)
        return bits[:2] == b"\0\0" and bool(struct.unpack("<f", bits)[0] == value)
    except OverflowError:
        return False


# -- rules -----------------------------------------------------------------------------------------


def _show(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _types(op: Op) -> tuple[Type, ...]:
    return tuple([v.type for v in op.operands])


def _declared(op: Op, accepted: tuple[Type, ...]) -> Answer:
    """The one declared result type, which must be among ``accepted``."""
    if len(op.results) != 1 or op.results[0].type not in accepted:
        found = _show(tuple(v.type for v in op.results))
        return f"gives {' or '.join(map(str, accepted))}, not {found}"
    return (op.results[0].type,)


def _leaf(t: Type, op: Op) -> Leaf | str:
    """The leaf of ``t`` that attribute ``leaf`` names."""
    number = op.attrs.get("leaf")
    own = leaves(t)
    if type(number) is not int or not 0 <= number < len(own):
        return f"attribute leaf is {number!r}; {t} has {len(own)} leaves"
    return own[number]


def _element(op: Op, extra: int) -> Type | str:
    """What a memory op moves: the element, or its leaf; also checks array and indices.

    ``extra`` is how many operands follow the indices.
    """
    operands = op.operands
    array = operands[0].type if operands else None
    if not isinstance(array, Array):
        return f"the first operand is an array, not {'nothing' if array is None else array}"
    if len(operands) != 1 + array.ndim + extra:
        found = len(operands) - 1 - extra
        return f"takes {array.ndim} indices of {array} and {extra} values, found {found} indices"
    for v in operands[1 : 1 + array.ndim]:
        if v.type is not i32 and v.type is not i64:
            return f"an index is i32 or i64, not {v.type}"
    return _leaf(array.dtype, op) if "leaf" in op.attrs else array.dtype


def _load(op: Op) -> Answer:
    element = _element(op, 0)
    return element if isinstance(element, str) else (element,)


def _values_problem(op: Op, element: Type, count: int) -> str:
    for v in op.operands[-count:]:
        if v.type is not element:
            return f"the array holds {element}, the value is {v.type}"
    array = op.operands[0].type
    if isinstance(array, Array) and array.space == "constant":
        return f"{array} is read-only"
    return ""


def _store(op: Op) -> Answer:
    element = _element(op, 1)
    return element if isinstance(element, str) else _values_problem(op, element, 1) or ()


def _atomic(op: Op) -> Answer:
    if op.attrs.get("scope", "launch") != "launch":
        return f"attribute scope is {op.attrs['scope']!r}, not 'launch'"
    count = 2 if op.name == "atomic_cas" else 1
    element = _element(op, count)
    if isinstance(element, str):
        return element
    kind = op.name.removeprefix("atomic_")
    for leaf in leaves(element):
        if not isinstance(leaf, Scalar) or not _atomic_takes(kind, leaf):
            return f"does not take {leaf}"
    return _values_problem(op, element, count) or (element,)


def _atomic_takes(kind: str, t: Scalar) -> bool:
    match kind:
        case "and" | "or" | "xor":
            return not t.is_float
        case "exch" | "cas":
            return True
        case _:
            return t is not b1


def _alloc(op: Op) -> Answer:
    t = op.results[0].type if len(op.results) == 1 else None
    if op.operands:
        return f"takes no operands, not {_show(_types(op))}"
    if not isinstance(t, Array) or t.space not in ("local", "shared") or t.shape is None:
        return f"gives a local or shared array of static shape, not {'nothing' if t is None else t}"
    sync = op.attrs.get("sync", "auto")
    if sync != "auto" or ("sync" in op.attrs and t.space != "shared"):
        return f"attribute sync is {sync!r}; a shared array may have 'auto'"
    return (t,)


def _compose(op: Op) -> Answer:
    t = op.results[0].type if len(op.results) == 1 else None
    if t is None or isinstance(t, Scalar | Array):
        return f"gives a composite, not {'nothing' if t is None else t}"
    own = leaves(t)
    given = _types(op)
    if given == own:
        return (t,)
    if len(given) != len(own):
        return f"{t} has {len(own)} leaves, not {len(given)}"
    k = next(k for k in range(len(own)) if given[k] is not own[k])
    return f"leaf {k} of {t} is {own[k]}, not {given[k]}"


def _extract(op: Op) -> Answer:
    given = _types(op)
    if len(given) != 1 or isinstance(given[0], Scalar | Array):
        return f"takes a composite, not {_show(given)}"
    leaf = _leaf(given[0], op)
    return leaf if isinstance(leaf, str) else (leaf,)


def _insert(op: Op) -> Answer:
    given = _types(op)
    if len(given) != 2 or isinstance(given[0], Scalar | Array):
        return f"takes a composite and a leaf, not {_show(given)}"
    leaf = _leaf(given[0], op)
    if isinstance(leaf, str):
        return leaf
    return (given[0],) if leaf is given[1] else f"the leaf is {leaf}, not {given[1]}"


def _const(op: Op) -> Answer:
    if op.operands or len(op.results) != 1:
        return "takes no operands and gives one scalar"
    t = op.results[0].type
    value = op.attrs.get("value")
    if not isinstance(t, Scalar):
        return f"gives a scalar, not {t}"
    if not is_exact_constant(t, value):
        wanted = "true or false" if t is b1 else "an integer in" if t.is_integer else "a float in"
        return f"attribute value is {value!r}, not {wanted}{'' if t is b1 else f' {t}'}"
    return (t,)


def _axis_problem(op: Op, count: int) -> str:
    axis = op.attrs.get("axis")
    if type(axis) is int and 0 <= axis < count:
        return ""
    return f"attribute axis is {axis!r}, not in 0..{count - 1}"


def _thread(op: Op) -> Answer:
    if op.operands:
        return f"takes no operands, not {_show(_types(op))}"
    return _axis_problem(op, MAX_RANK) or _declared(op, INDEX_TYPES)


def _extent(op: Op) -> Answer:
    given = _types(op)
    if len(given) != 1 or not isinstance(given[0], Array):
        return f"takes an array, not {_show(given)}"
    accepted = INDEX_TYPES if op.name == "dim" else (i64,)
    return _axis_problem(op, given[0].ndim) or _declared(op, accepted)


def _subview(op: Op) -> Answer:
    array = op.operands[0].type if op.operands else None
    axes = op.attrs.get("axes")
    if not isinstance(array, Array):
        return f"the first operand is an array, not {'nothing' if array is None else array}"
    if type(axes) is not str or len(axes) != array.ndim or not set(axes) <= set("isf"):
        return f"attribute axes is {axes!r}, not {array.ndim} letters of i, s, f"
    indices = sum(_SUBVIEW_OPERANDS[letter] for letter in axes)
    if len(op.operands) != 1 + indices:
        return f"axes {axes!r} takes {indices} indices, not {len(op.operands) - 1}"
    for v in op.operands[1:]:
        if v.type not in INDEX_TYPES:
            return f"an index is i32 or i64, not {v.type}"
    kept = len(axes) - axes.count("i")
    if kept == 0:
        return "drops every axis; load the element"
    return (Array(array.dtype, kept, array.space),)


def _nothing(op: Op) -> Answer:
    return () if not op.operands else f"takes no operands, not {_show(_types(op))}"


RULES: Mapping[str, TypeRule] = {
    "load": _load,
    "store": _store,
    **dict.fromkeys(ATOMICS, _atomic),
    "alloc": _alloc,
    "compose": _compose,
    "extract": _extract,
    "insert": _insert,
    "const": _const,
    "tid": _thread,
    "launch_dim": _thread,
    "dim": _extent,
    "stride": _extent,
    "subview": _subview,
    "block_sync": _nothing,
}
"""One rule for each structural op that has no regions and is no terminator."""
