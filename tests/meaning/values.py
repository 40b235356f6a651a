"""Kernel values as Python objects: exact, slow, and written without looking at the compiler.

A :class:`Number` is bits of a scalar type; its operators are those of the kernel language, computed
by the exact reference of every op (``unit.ops.reference``).  Python numbers stand for literals,
which adapt to the other operand.  :class:`Composite` values are immutable.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from struct import Struct as Packing
from typing import Any

from unit.ops.reference import REFERENCE, decode, encode, finite, infinity, number, sign_bit, wrap

from heald.ir import Op, Value
from heald.types import (
    Array,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    b1,
    bf16,
    f16,
    f32,
    f64,
    i32,
    leaves,
    u32,
)

Literal = bool | int | float
WHOLE = {"+": "iadd", "-": "isub", "*": "imul", "&": "iand", "|": "ior", "^": "ixor"}
REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


class Refusal(Exception):
    """The language refuses this; a generated kernel must not do it."""


Report = Callable[[str], None]
_reporters: list[Report] = []
"""Where a zero divisor is reported: the thread that runs."""


def reporting(report: Report | None) -> None:
    """Send faults of values to a thread, or to nobody."""
    _reporters[:] = [] if report is None else [report]


def fault(kind: str) -> None:
    """The running thread faults."""
    _reporters[0](kind)


# -- types -----------------------------------------------------------------------------------------


def join(a: Scalar, b: Scalar) -> Scalar:
    """Where two types meet (DESIGN section 4)."""
    if a is b:
        return a
    kinds = {a.kind, b.kind}
    if len(kinds) == 1 and a.bits != b.bits:
        return a if a.bits > b.bits else b
    if "f" in kinds:
        real, other = (a, b) if a.is_float else (b, a)
        if real is f64 or (real is f32 and other.bits <= 32):
            return real
    elif "b" in kinds:
        return b if a is b1 else a
    raise Refusal(f"{a} with {b}")


def default_type(literal: Literal) -> Scalar:
    """The type of a literal that is bound to a name."""
    if isinstance(literal, bool):
        return b1
    return i32 if isinstance(literal, int) else f32


def from_literal(literal: Literal, t: Scalar) -> Number:
    """A literal as a number of ``t``: floats round, integers must fit."""
    if t is b1:
        if not isinstance(literal, bool):
            raise Refusal(f"{literal} as bool")
        return Number(t, int(literal))
    if isinstance(literal, bool):
        raise Refusal(f"{literal} as {t}")
    if t.is_float:
        return _from_float(float(literal), t)
    if not isinstance(literal, int) or not t.lowest <= literal <= t.highest:
        raise Refusal(f"{literal} as {t}")
    return Number(t, wrap(t, literal))


def _from_float(x: float, t: Scalar) -> Number:
    double = int.from_bytes(_DOUBLE.pack(x), "little")
    return Number(t, encode(t, decode(f64, double)))


def _meet(a: Number | Literal, b: Number | Literal) -> tuple[Number, Number]:
    if not isinstance(a, Number):
        assert isinstance(b, Number)
        t = f32 if isinstance(a, float) and b.t.is_integer else b.t
        t = join(t, b.t)
        return from_literal(a, t), cast(b, t)
    if not isinstance(b, Number):
        y, x = _meet(b, a)
        return x, y
    t = join(a.t, b.t)
    return cast(a, t), cast(b, t)


# -- scalars ---------------------------------------------------------------------------------------


@cache
def _stub(name: str, sources: tuple[Scalar, ...], target: Scalar, pred: str) -> Op:
    attrs = {"pred": pred} if pred else {}
    return Op(name, tuple(map(Value, sources)), (Value(target),), attrs)


def compute(name: str, target: Scalar, *args: Number, pred: str = "") -> Number:
    """One machine op, exactly."""
    op = _stub(name, tuple(a.t for a in args), target, pred)
    return Number(target, REFERENCE[name](op, *(a.bits for a in args)))


class Number:
    """A scalar: a type and its bits."""

    __slots__ = ("bits", "t")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, t: Scalar, bits: int) -> None:
        self.t = t
        self.bits = bits

    def __repr__(self) -> str:
        return f"{self.t}({self.python()})"

    def python(self) -> Literal:
        """The value as a Python number."""
        if self.t is b1:
            return bool(self.bits)
        if self.t.is_integer:
            return number(self.t, self.bits)
        wide = encode(f64, decode(self.t, self.bits))
        return float(_DOUBLE.unpack(wide.to_bytes(8, "little"))[0])

    def __bool__(self) -> bool:
        size = self.bits & ~sign_bit(self.t) if self.t.is_float else self.bits
        return size != 0

    def __neg__(self) -> Number:
        return compute("fneg" if self.t.is_float else "ineg", self.t, self)

    def __pos__(self) -> Number:
        return self

    def __invert__(self) -> Number:
        return compute("inot", self.t, self)

    def __abs__(self) -> Number:
        if self.t.is_float:
            return compute("fabs", self.t, self)
        return -self if self.t.kind == "i" and number(self.t, self.bits) < 0 else self

    def __pow__(self, exponent: int) -> Number:
        if self.t.is_float:
            assert exponent == 2
            return self * self
        return Number(self.t, wrap(self.t, number(self.t, self.bits) ** exponent))

    def __lt__(self, other: Any) -> Any:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return compare("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return compare("ne", self, other)


_DOUBLE = Packing("<d")


def cast(x: Any, t: Scalar) -> Number:
    """``t(x)``."""
    if not isinstance(x, Number):
        if t is b1:
            return Number(b1, int(bool(x)))
        if isinstance(x, float) and not t.is_float:
            return cast(_from_float(x, f64), t)
        return from_literal(int(x) if isinstance(x, bool) else x, t)
    s = x.t
    if s is t:
        return x
    if t is b1:
        return Number(b1, int(bool(x)))
    if s.is_float and t.is_float:
        return Number(t, encode(t, decode(s, x.bits)))
    if t.is_float:
        return Number(t, encode(t, finite(x.bits if s is b1 else number(s, x.bits))))
    if s.is_float:
        return compute("fptosi_sat" if t.kind == "i" else "fptoui_sat", t, x)
    return Number(t, wrap(t, x.bits if s is b1 else number(s, x.bits)))


def widen(x: Any, t: Type) -> Any:
    """``x`` where a ``t`` is expected."""
    if isinstance(t, Scalar):
        if not isinstance(x, Number):
            return from_literal(x, t)
        if join(x.t, t) is not t:
            raise Refusal(f"{x.t} as {t}")
        return cast(x, t)
    if not isinstance(x, Composite) or x.t is not t:
        raise Refusal(f"{x} as {t}")
    return x


def compare(relation: str, a: Any, b: Any) -> Any:
    """One comparison; of composites only equality."""
    if isinstance(a, Composite):
        if not isinstance(b, Composite) or a.t is not b.t or relation not in ("eq", "ne"):
            raise Refusal("comparison")
        same = all(bool(compare("eq", x, y)) for x, y in zip(a.parts, b.parts, strict=True))
        return Number(b1, int(same is (relation == "eq")))
    x, y = _meet(a, b)
    if x.t.is_float:
        return compute("fcmp", b1, x, y, pred="une" if relation == "ne" else "o" + relation)
    sign = "" if relation in ("eq", "ne") else "s" if x.t.kind == "i" else "u"
    return compute("icmp", b1, x, y, pred=sign + relation)


def scalar(symbol: str, a: Number | Literal, b: Number | Literal) -> Number:
    """An operator on two scalars, one of them typed."""
    if symbol == "**":
        assert isinstance(a, Number)
        assert isinstance(b, int)
        return a**b
    if symbol in ("<<", ">>"):
        a = a if isinstance(a, Number) else from_literal(a, i32)
        count = b if isinstance(b, int) else number(b.t, b.bits)  # type: ignore[union-attr]
        value, places = number(a.t, a.bits), count % a.t.bits
        return Number(a.t, wrap(a.t, value << places if symbol == "<<" else value >> places))
    x, y = _meet(a, b)
    t = x.t
    if symbol in ("//", "%"):
        return _floored_real(symbol, x, y) if t.is_float else _floored(symbol, x, y)
    name = (REAL if t.is_float else WHOLE).get(symbol)
    if name is None or (t is b1 and symbol not in "&|^"):
        raise Refusal(f"{t} {symbol} {t}")
    return compute(name, t, x, y)


def _floored(symbol: str, x: Number, y: Number) -> Number:
    if y.bits == 0:
        fault("DIVISION")
        return Number(x.t, 0)
    a, b = number(x.t, x.bits), number(y.t, y.bits)
    return Number(x.t, wrap(x.t, a // b if symbol == "//" else a % b))


def _floored_real(symbol: str, x: Number, y: Number) -> Number:
    """As CPython computes them (``float_floor_div``), in any precision."""
    t = x.t
    if t in (f16, bf16):
        return cast(_floored_real(symbol, cast(x, f32), cast(y, f32)), t)
    a, b = decode(t, x.bits), decode(t, y.bits)
    if b.is_zero and symbol == "//":
        return compute("fdiv", t, x, y)
    if a.is_nan or b.is_nan or a.is_inf or b.is_zero:
        return Number(t, infinity(t) | 1)
    rest = x
    if not b.is_inf:
        size = abs(a.value) % abs(b.value)
        rest = Number(t, encode(t, finite(-size if a.negative else size, a.negative)))
    opposite = bool(rest) and a.negative != b.negative
    if symbol == "%":
        if not rest:
            return Number(t, sign_bit(t) if b.negative else 0)
        return compute("fadd", t, rest, y) if opposite else rest
    one, half = from_literal(1.0, t), from_literal(0.5, t)
    quotient = compute("fdiv", t, compute("fsub", t, x, rest), y)
    if opposite:
        quotient = compute("fsub", t, quotient, one)
    if not quotient:
        return compute("copysign", t, Number(t, 0), compute("fdiv", t, x, y))
    whole = compute("floor", t, quotient)
    beyond = compare("gt", compute("fsub", t, quotient, whole), half)
    return compute("fadd", t, whole, one) if beyond else whole


# -- composites ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Composite:
    """A vector, matrix or struct: its scalars, flat."""

    t: Type
    parts: tuple[Number, ...]

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return take(self, *part_named(self.t, name))

    def __getitem__(self, index: Any) -> Any:
        found = component_place(self.t, index)
        if found is None:
            fault("BOUNDS")
            return _zero_at(self.t, index)
        return take(self, *found)

    def __neg__(self) -> Composite:
        return Composite(self.t, tuple(-x for x in self.parts))

    def __eq__(self, other: object) -> Any:
        return compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return compare("ne", self, other)

    def __len__(self) -> int:
        return shape_of(self.t)[0]

    def with_leaves(self, positions: Sequence[int], value: Any) -> Composite:
        """The same with some leaves replaced."""
        parts = list(self.parts)
        new = value.parts if isinstance(value, Composite) else (value,)
        for k, x in zip(positions, new, strict=True):
            parts[k] = x
        return Composite(self.t, tuple(parts))


def shape_of(t: Type) -> tuple[int, ...]:
    """Extents of the components."""
    assert isinstance(t, Vector | Matrix | Quaternion | Transform)
    return t.shape


def part_named(t: Type, name: str) -> tuple[Type, tuple[int, ...]]:
    """Type and leaves of a component or field."""
    if isinstance(t, Struct):
        field = t.field(name)
        if field is None:
            raise Refusal(name)
        return field, tuple(range(*t.leaf_range(name)))
    assert isinstance(t, Vector)
    return t.dtype, ("xyzw"[: t.length].index(name),)


def take(whole: Composite, t: Type, positions: tuple[int, ...]) -> Any:
    """Some leaves of a composite as one value."""
    parts = tuple(whole.parts[k] for k in positions)
    return parts[0] if isinstance(t, Scalar | Array) else Composite(t, parts)


def as_index(x: Any) -> int:
    """An index as a Python integer."""
    return int(x.python()) if isinstance(x, Number) else int(x)


def component_place(t: Type, index: Any) -> tuple[Type, tuple[int, ...]] | None:
    """Type and leaves at component indices, None where one is outside."""
    shape = shape_of(t)
    assert isinstance(t, Vector | Matrix)
    if isinstance(index, slice):
        assert isinstance(t, Vector)
        chosen = tuple(range(t.length)[index])
        return Vector(t.dtype, len(chosen)), chosen
    given = index if isinstance(index, tuple) else (index,)
    places = []
    for x, extent in zip(given, shape, strict=False):
        k = as_index(x)
        if not isinstance(x, Number) and k < 0:
            k += extent
        if not 0 <= k < extent:
            return None
        places.append(k)
    if len(places) == len(shape):
        k = places[0] if len(places) == 1 else places[0] * shape[1] + places[1]
        return t.dtype, (k,)
    first = places[0] * shape[1]
    return Vector(t.dtype, shape[1]), tuple(range(first, first + shape[1]))


def _zero_at(t: Type, index: Any) -> Any:
    shape = shape_of(t)
    assert isinstance(t, Vector | Matrix)
    given = index if isinstance(index, tuple) else (index,)
    zero = Number(t.dtype, 0)
    if len(given) == len(shape):
        return zero
    return Composite(Vector(t.dtype, shape[1]), (zero,) * shape[1])


def zero(t: Type) -> Any:
    """Zeros."""
    parts = tuple(Number(leaf, 0) for leaf in leaves(t) if isinstance(leaf, Scalar))
    return parts[0] if isinstance(t, Scalar) else Composite(t, parts)


def component_type(t: Type) -> Scalar:
    """The scalar type of a vector or matrix."""
    assert isinstance(t, Vector | Matrix)
    return t.dtype


def construct(t: Type, args: Sequence[Any], named: dict[str, Any]) -> Any:
    """``t(...)``."""
    if isinstance(t, Scalar):
        return cast(args[0], t) if args else zero(t)
    if isinstance(t, Struct):
        given = dict(zip((n for n, _ in t.fields), args, strict=False)) | named
        fields = [widen(given[n], f) if n in given else zero(f) for n, f in t.fields]
        return Composite(t, tuple(p for f in fields for p in leaves_of(f)))
    own = component_type(t)
    flat = [p for a in args for p in leaves_of(a)]
    if not flat:
        return zero(t)
    count = len(leaves(t))
    if len(flat) == 1:
        flat = flat * count
    if len(flat) != count:
        raise Refusal("components")
    return Composite(t, tuple(cast(p, own) for p in flat))


def leaves_of(x: Any) -> tuple[Any, ...]:
    """The scalars of a value."""
    return x.parts if isinstance(x, Composite) else (x,)


def binary(symbol: str, a: Any, b: Any) -> Any:
    """``a symbol b``, never contracted."""
    if not isinstance(a, (Number, Composite)) and not isinstance(b, (Number, Composite)):
        return PYTHON[symbol](a, b)
    if not isinstance(a, Composite) and not isinstance(b, Composite):
        return scalar(symbol, a, b)
    return each(lambda x, y: scalar(symbol, x, y), a, b)


def each(one: Callable[..., Number], *operands: Any) -> Composite:
    """Component by component; scalars stand for all components."""
    shape = next(x for x in operands if isinstance(x, Composite))
    count = len(shape.parts)
    columns: list[Iterable[Any]] = []
    own = component_type(shape.t)
    for x in operands:
        if isinstance(x, Composite):
            columns.append(x.parts)
        else:
            columns.append([widen(x, own)] * count)
    return Composite(shape.t, tuple(one(*row) for row in zip(*columns, strict=True)))


def total(symbol: str, product: tuple[Any, Any], other: Any, *, product_right: bool) -> Any:
    """``x*y symbol other`` or ``other symbol x*y``: one rounding where the fma rule says so."""
    fused = _fused(symbol, product, other, product_right)
    if fused is not None:
        return fused
    value = binary("*", *product)
    return binary(symbol, other, value) if product_right else binary(symbol, value, other)


def _fused(symbol: str, product: tuple[Any, Any], other: Any, product_right: bool) -> Any:
    x, y = product
    if not any(isinstance(v, (Number, Composite)) for v in product):
        return None

    def one(p: Number, q: Number, r: Number) -> Number:
        if symbol == "-":
            p, r = (-p, r) if product_right else (p, -r)
        return compute("fma", p.t, p, q, r)

    if isinstance(x, Composite) or isinstance(y, Composite):
        if isinstance(x, Composite) and isinstance(y, Composite):
            return None
        shape = x if isinstance(x, Composite) else y
        own = component_type(shape.t)
        if own not in (f32, f64) or not isinstance(other, Composite) or other.t is not shape.t:
            return None
        return each(one, x, y, other)
    p, q = _meet(x, y)
    if p.t not in (f32, f64):
        return None
    if isinstance(other, Number):
        if join(other.t, p.t) is not p.t:
            return None
        return one(p, q, cast(other, p.t))
    return one(p, q, from_literal(other, p.t))


def extreme(symbol: str, *args: Any) -> Any:
    """``min`` and ``max`` as in Python: the first stays unless a later one is beyond it."""
    best = args[0]
    for x in args[1:]:
        a, b = _meet(best, x)
        best = b if compare("lt" if symbol == "min" else "gt", b, a) else a
    return best


def hashed(state: Number) -> Number:
    """The next state of a random generator: PCG (Jarzynski and Olano 2020)."""
    mask = 0xFFFFFFFF
    x = (state.bits * 747796405 + 2891336453) & mask
    word = (((x >> ((x >> 28) + 4)) ^ x) * 277803737) & mask
    return Number(u32, (word >> 22) ^ word)


_DUNDERS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}


def _install(cls: type, symbol: str, name: str) -> None:
    setattr(cls, f"__{name}__", lambda a, b: binary(symbol, a, b))
    setattr(cls, f"__r{name}__", lambda a, b: binary(symbol, b, a))


for _cls in (Number, Composite):
    for _symbol, _name in _DUNDERS.items():
        _install(_cls, _symbol, _name)
