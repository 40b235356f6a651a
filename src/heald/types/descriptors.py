"""The types of WIR.  A composite is an ordered list of leaves, which are scalars and arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from math import prod
from typing import Any, ClassVar

import numpy as np


class _Interned(type):
    """Makes equal descriptors one object, so that type comparisons are identity comparisons."""

    _table: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __call__(cls, *args: Any, **named: Any) -> Any:
        key = (cls, *args)
        found = None if named else _Interned._table.get(key)
        if found is None:
            made = super().__call__(*args, **named)
            # Left-out defaults must not make a second object, so the full fields decide.
            full = (cls, *(getattr(made, f.name) for f in fields(made)))
            found = _Interned._table.setdefault(full, made)
            if not named:
                _Interned._table[key] = found
        return found


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), tuple(getattr(self, f.name) for f in fields(self))


@dataclass(frozen=True, eq=False, slots=True)
class Scalar(metaclass=_Interned):
    """A number of one machine word.  ``kind`` is ``b`` bool, ``i`` signed, ``u`` unsigned, ``f``
    float.

    Calling the descriptor converts a Python number on the host: ``wp.float32(0.1)``.
    """

    name: str
    kind: str
    bits: int
    public: str

    __reduce__ = _reduce

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"heald.{self.public}"

    def __call__(self, value: Any = 0) -> Any:
        """``value`` as a numpy scalar of this type (bfloat16: a :class:`Bfloat16`)."""
        if self.name == "bf16":
            return Bfloat16(value)
        with np.errstate(over="ignore"):
            return self.carrier.type(value)

    @property
    def carrier(self) -> np.dtype[Any]:
        """The numpy dtype that holds values of this type; bfloat16 is held as its uint16 bits."""
        return _CARRIERS[self.name]

    @property
    def is_float(self) -> bool:
        """float16, bfloat16, float32 or float64."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer; bool is none."""
        return self.kind in "iu"

    @property
    def lowest(self) -> int:
        """The smallest integer of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def highest(self) -> int:
        """The largest integer of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "i" else (1 << self.bits) - 1


b1 = Scalar("b1", "b", 1, "bool")
i8 = Scalar("i8", "i", 8, "int8")
i16 = Scalar("i16", "i", 16, "int16")
i32 = Scalar("i32", "i", 32, "int32")
i64 = Scalar("i64", "i", 64, "int64")
u8 = Scalar("u8", "u", 8, "uint8")
u16 = Scalar("u16", "u", 16, "uint16")
u32 = Scalar("u32", "u", 32, "uint32")
u64 = Scalar("u64", "u", 64, "uint64")
f16 = Scalar("f16", "f", 16, "float16")
bf16 = Scalar("bf16", "f", 16, "bfloat16")
f32 = Scalar("f32", "f", 32, "float32")
f64 = Scalar("f64", "f", 64, "float64")

SCALARS: tuple[Scalar, ...] = (b1, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
INTEGERS: tuple[Scalar, ...] = tuple(t for t in SCALARS if t.is_integer)
FLOATS: tuple[Scalar, ...] = tuple(t for t in SCALARS if t.is_float)
MAX_LEAVES = 4096
"""Most leaves of a composite: a value is that many machine words."""

ARITHMETIC: tuple[Scalar, ...] = INTEGERS + FLOATS
BY_NAME: dict[str, Scalar] = {t.name: t for t in SCALARS}

_CARRIERS: dict[str, np.dtype[Any]] = {
    t.name: np.dtype("uint16" if t.name == "bf16" else t.public) for t in SCALARS
}


def to_float32_odd(x: Any) -> Any:
    """Float64 to float32, rounded to odd: rounding the result again gives what one rounding would.

    An inexact result takes the neighbour whose last bit is 1 (Boldo and Melquiond, "Emulation of a
    FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    x = np.asarray(x)
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.uint32)
    fix = (back != x) & ~np.isnan(x) & (bits & np.uint32(1) == 0)
    outward = np.abs(back) > np.abs(x)
    moved = np.where(outward, bits - np.uint32(1), bits + np.uint32(1))
    return np.where(fix, moved, bits).view(np.float32)[()]


def to_bfloat16(x: Any) -> Any:
    """The bits of float32 ``x`` rounded to bfloat16, nearest even; NaN stays a (quiet) NaN."""
    x = np.asarray(x, np.float32)
    bits = x.view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), ((bits >> 16) | 0x40).astype(np.uint16), rounded)[()]


def from_bfloat16(bits: Any) -> Any:
    """The float32 value of bfloat16 ``bits``; exact."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)[()]


def _rounded(name: str) -> Any:
    """The operator of float32, rounded: as float32 has more than twice the digits, sums, products
    and quotients are what one rounding gives."""
    compute = getattr(np.float32, name)

    def operator(self: Any, *others: Any) -> Any:
        if others and type(others[0]) not in _MEET_BFLOAT16:
            return compute(self, *others)
        result = compute(self, *map(Bfloat16, others))
        return Bfloat16(result) if isinstance(result, np.float32) else result

    return operator


class Bfloat16(np.float32):
    """A bfloat16 on the host, which numpy lacks: the ``numpy.float32`` of the same value.

    Operators with another one or with a Python number round to bfloat16; with anything else they
    are those of ``numpy.float32``.  Host calls, launches and arrays take it as bfloat16.
    """

    __slots__ = ()

    def __new__(cls, value: Any = 0) -> Any:
        """``value`` rounded to nearest, ties to even; an array gives an array of float32."""
        with np.errstate(over="ignore"):
            near = to_float32_odd(np.asarray(value, np.float64))
        return super().__new__(cls, from_bfloat16(to_bfloat16(near)))

    def __repr__(self) -> str:
        return f"bfloat16({np.float32(self)!s})"

    def __reduce__(self) -> tuple[type, tuple[float]]:
        return type(self), (float(self),)

    def __deepcopy__(self, memo: Any) -> Bfloat16:
        return self  # that of numpy before 2.4 is a float32

    __add__, __radd__ = _rounded("__add__"), _rounded("__radd__")
    __sub__, __rsub__ = _rounded("__sub__"), _rounded("__rsub__")
    __mul__, __rmul__ = _rounded("__mul__"), _rounded("__rmul__")
    __truediv__, __rtruediv__ = _rounded("__truediv__"), _rounded("__rtruediv__")
    __floordiv__, __rfloordiv__ = _rounded("__floordiv__"), _rounded("__rfloordiv__")
    __mod__, __rmod__ = _rounded("__mod__"), _rounded("__rmod__")
    __pow__, __rpow__ = _rounded("__pow__"), _rounded("__rpow__")
    __neg__, __pos__, __abs__ = _rounded("__neg__"), _rounded("__pos__"), _rounded("__abs__")


_MEET_BFLOAT16 = {Bfloat16, bool, int, float}


@dataclass(frozen=True, eq=False, slots=True)
class Vector(metaclass=_Interned):
    """``length`` numbers of one scalar type."""

    dtype: Scalar
    length: int

    __reduce__ = _reduce

    def __str__(self) -> str:
        return f"vec<{self.dtype},{self.length}>"

    def __repr__(self) -> str:
        return f"heald.vec(length={self.length}, dtype={self.dtype.public})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the components, as numpy would see them."""
        return (self.length,)


@dataclass(frozen=True, eq=False, slots=True)
class Matrix(metaclass=_Interned):
    """``rows`` by ``cols`` numbers of one scalar type, row-major."""

    dtype: Scalar
    rows: int
    cols: int

    __reduce__ = _reduce

    def __str__(self) -> str:
        return f"mat<{self.dtype},{self.rows},{self.cols}>"

    def __repr__(self) -> str:
        return f"heald.mat(shape=({self.rows}, {self.cols}), dtype={self.dtype.public})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the components, as numpy would see them."""
        return (self.rows, self.cols)


@dataclass(frozen=True, eq=False, slots=True)
class Quaternion(metaclass=_Interned):
    """A quaternion stored x, y, z, w with the real part last."""

    dtype: Scalar

    __reduce__ = _reduce

    def __str__(self) -> str:
        return f"quat<{self.dtype}>"

    def __repr__(self) -> str:
        return f"heald.quat(dtype={self.dtype.public})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the components, as numpy would see them."""
        return (4,)


@dataclass(frozen=True, eq=False, slots=True)
class Transform(metaclass=_Interned):
    """A rigid transformation: translation p (x, y, z), then rotation quaternion q (x, y, z, w)."""

    dtype: Scalar

    __reduce__ = _reduce

    def __str__(self) -> str:
        return f"xform<{self.dtype}>"

    def __repr__(self) -> str:
        return f"heald.transform(dtype={self.dtype.public})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the components, as numpy would see them."""
        return (7,)


@dataclass(frozen=True, eq=False, slots=True)
class Array(metaclass=_Interned):
    """An array of elements in an address space.

    A ``local`` array lives in one thread and has a static ``shape``, unless it is a view of
    another; a ``global`` one has none here.
    """

    dtype: Element
    ndim: int
    space: str = "global"
    shape: tuple[int, ...] | None = None

    __reduce__ = _reduce

    def __str__(self) -> str:
        return self.spell(str(self.dtype))

    def spell(self, element: str) -> str:
        """The type as text, with ``element`` as the text of the element type."""
        if self.space == "global":
            return f"array<{element},{self.ndim}>"
        extents = "x".join(map(str, self.shape or "?" * self.ndim))
        return f"{self.space}<{element},{extents}>"

    def __repr__(self) -> str:
        return f"heald.array(dtype={self.dtype!r}, ndim={self.ndim})"


@dataclass(frozen=True, eq=False, slots=True)
class Struct(metaclass=_Interned):
    """Named fields in declaration order."""

    name: str
    fields: tuple[tuple[str, Type], ...]

    __reduce__ = _reduce

    def __str__(self) -> str:
        return f"struct<{self.name}>"

    def __repr__(self) -> str:
        return f"heald.struct {self.name}"

    def field(self, name: str) -> Type | None:
        """The type of a field, or None."""
        return next((t for n, t in self.fields if n == name), None)

    def leaf_range(self, name: str) -> tuple[int, int]:
        """First leaf of a field and the one after its last."""
        start = 0
        for n, t in self.fields:
            stop = start + len(leaves(t))
            if n == name:
                return start, stop
            start = stop
        raise KeyError(name)


Dense = Vector | Matrix | Quaternion | Transform
Composite = Dense | Struct
Element = Scalar | Composite
Leaf = Scalar | Array
Type = Scalar | Composite | Array


@cache
def leaves(t: Type) -> tuple[Leaf, ...]:
    """The scalars and arrays that a type flattens to, in declaration order."""
    match t:
        case Scalar() | Array():
            return (t,)
        case Struct():
            return tuple(leaf for _, field in t.fields for leaf in leaves(field))
        case Vector() | Matrix() | Quaternion() | Transform():
            return (t.dtype,) * prod(t.shape)


def array_leaves(t: Type) -> tuple[int, ...]:
    """Positions of the leaves that are arrays."""
    return tuple(k for k, leaf in enumerate(leaves(t)) if isinstance(leaf, Array))


def leaf_path(t: Type, leaf: int) -> tuple[str, ...]:
    """The field names that lead to a leaf of a struct."""
    if not isinstance(t, Struct):
        return ()
    for name, field in t.fields:
        count = len(leaves(field))
        if leaf < count:
            return (name, *leaf_path(field, leaf))
        leaf -= count
    return ()
