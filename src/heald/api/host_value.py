"""Vectors, matrices, quaternions and transformations on the host.

There is one class for each type, made on first use: ``vec3f`` for ``Vector(f32, 3)`` and so on.  A
value holds its leaves as Python numbers, each rounded to the type.  Values made by a constructor or
an operator can be changed in place (``v.x = 1.0``); those read out of something else (an element of
an array, a row of a matrix, the ``p`` of a transformation) are copies and refuse it, since the
change would be lost.

Operators are evaluated by what :func:`set_operators` installed, so that their bits are those of
kernels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from heald.api.scalars import (
    Number,
    convert_or_raise,
    describe,
    integer_of,
    is_number,
    shortest,
    zero,
)
from heald.diagnostics import Diagnostic, InternalError, OutOfBoundsError, TypingError
from heald.once import once
from heald.types import (
    Matrix,
    Quaternion,
    Scalar,
    Transform,
    Vector,
    bf16,
    f32,
    ordered_parts,
    part_names,
)

Algebraic = Vector | Matrix | Quaternion | Transform

Evaluate = Callable[[str, object, object], object]


class _Operators:
    """Who evaluates the operators."""

    evaluate: Evaluate | None = None


_OPERATORS = _Operators()


def set_operators(evaluate: Evaluate) -> None:
    """Install what evaluates operators on host values.

    ``evaluate(op, lhs, rhs)`` gets ``+ - * / // % @ & | ^ << >>`` with both operands, of which at
    least one is a host value, or ``neg`` or ``~`` with the operand and None; it returns the result,
    or NotImplemented.
    """
    _OPERATORS.evaluate = evaluate


def _apply(op: str, lhs: object, rhs: object) -> Any:
    if _OPERATORS.evaluate is None:
        raise InternalError(f"{op} on host values has no meaning before set_operators is called")
    return _OPERATORS.evaluate(op, lhs, rhs)


def _binary(op: str) -> Callable[[HostValue, object], Any]:
    return lambda self, other: _apply(op, self, other)


def _reflected(op: str) -> Callable[[HostValue, object], Any]:
    return lambda self, other: _apply(op, other, self)


class HostValue:
    """A vector, matrix, quaternion or transformation as a Python object.

    Made of nothing (zeros), one number (fills), all components, another value of the same shape, or
    sequences; a quaternion also of ``(vec3, w)``, a transformation of ``p`` and ``q``.

    Raises:
        TypingError: wrong number of components, or one that does not fit the type.
    """

    __slots__ = ("_leaves", "_part")

    __heald_type__: ClassVar[Algebraic]
    __array_ufunc__ = None  # numpy leaves mixed operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *args: object, **parts: object) -> None:
        self._leaves: list[Number] = _construct(self.__heald_type__, args, parts)
        self._part = ""

    @classmethod
    def from_leaves(cls, leaves: Sequence[object], part: str = "") -> HostValue:
        """The value with these leaves, in order.

        With ``part``, which says what it is a copy of, the value refuses to be changed in place.
        """
        t = cls.__heald_type__
        if len(leaves) != _count(t):
            raise InternalError(f"{cls.__name__} has {_count(t)} leaves, not {len(leaves)}")
        value = cls.__new__(cls)
        value._leaves = [convert_or_raise(t.dtype, leaf, cls.__name__) for leaf in leaves]
        value._part = part
        return value

    @property
    def leaves(self) -> tuple[Number, ...]:
        """The components as Python numbers, matrices by rows."""
        return tuple(self._leaves)

    def assign(self, leaves: Sequence[Number]) -> None:
        """Take over all components, which are numbers of the type already.

        Raises:
            TypingError: the value is a copy of a part of something.
        """
        self._check_own()
        self._leaves[:] = leaves

    def __len__(self) -> int:
        return self.__heald_type__.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.__heald_type__, Matrix):
            return (self[row] for row in range(self.__heald_type__.rows))
        return iter(self.leaves)

    def __getitem__(self, key: Any) -> Any:
        picked = _pick(self.__heald_type__, key)
        if isinstance(picked, int):
            return self._leaves[picked]
        leaves = [self._leaves[k] for k in picked.flat]
        return _class_of_shape(self.__heald_type__.dtype, picked.shape).from_leaves(
            leaves, f"{_key_text(key)} of a {type(self).__name__}"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_own()
        dtype = self.__heald_type__.dtype
        picked = _pick(self.__heald_type__, key)
        what = f"{_key_text(key)} of a {type(self).__name__}"
        if isinstance(picked, int):
            self._leaves[picked] = convert_or_raise(dtype, value, what)
            return
        if is_number(value):
            number = convert_or_raise(dtype, value, what)
            numbers = [number] * picked.size
        else:
            given, shape = flatten(value, what)
            if shape != picked.shape:
                raise TypingError(
                    Diagnostic("H0206", f"{what} takes shape {picked.shape}, not {shape}")
                )
            numbers = [convert_or_raise(dtype, x, what) for x in given]
        for k, number in zip(picked.flat, numbers, strict=True):
            self._leaves[k] = number

    def _check_own(self) -> None:
        if self._part:
            name = type(self).__name__
            raise TypingError(
                Diagnostic(
                    "H0109",
                    f"this {name} is a copy of {self._part}: a change of it would be lost",
                    hint=f"change a value of your own, `v = {name}(...)`, and assign that back",
                )
            )

    def __eq__(self, other: object) -> bool:
        mine = self.__heald_type__
        if isinstance(other, HostValue):
            theirs = other.__heald_type__
            if type(mine) is not type(theirs) or mine.shape != theirs.shape:
                return False
            return all(a == b for a, b in zip(self._leaves, other._leaves, strict=True))
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        try:
            given, shape = flatten(other, "a comparison")
        except TypingError:
            return False
        return shape == mine.shape and all(
            bool(a == b) for a, b in zip(self._leaves, given, strict=True)
        )

    __add__ = _binary("+")
    __radd__ = _reflected("+")
    __sub__ = _binary("-")
    __rsub__ = _reflected("-")
    __mul__ = _binary("*")
    __rmul__ = _reflected("*")
    __truediv__ = _binary("/")
    __rtruediv__ = _reflected("/")
    __floordiv__ = _binary("//")
    __rfloordiv__ = _reflected("//")
    __mod__ = _binary("%")
    __rmod__ = _reflected("%")
    __matmul__ = _binary("@")
    __rmatmul__ = _reflected("@")
    __and__ = _binary("&")
    __rand__ = _reflected("&")
    __or__ = _binary("|")
    __ror__ = _reflected("|")
    __xor__ = _binary("^")
    __rxor__ = _reflected("^")
    __lshift__ = _binary("<<")
    __rlshift__ = _reflected("<<")
    __rshift__ = _binary(">>")
    __rrshift__ = _reflected(">>")

    def __neg__(self) -> Any:
        return _apply("neg", self, None)

    def __invert__(self) -> Any:
        return _apply("~", self, None)

    def __pos__(self) -> HostValue:
        return self.from_leaves(self.leaves)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError(f"a {type(self).__name__} shares no memory with numpy")
        t = self.__heald_type__
        own = f32.carrier if t.dtype is bf16 else t.dtype.carrier
        return np.array(self._leaves, own).reshape(t.shape).astype(dtype or own, copy=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_text(self.__heald_type__, self._leaves, ', ')})"

    def __str__(self) -> str:
        return _text(self.__heald_type__, self._leaves, ",\n ")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.__heald_type__, self.leaves)


def _restore(t: Algebraic, leaves: tuple[Number, ...]) -> HostValue:
    return value_class(t).from_leaves(leaves)


def _text(t: Algebraic, leaves: Sequence[Number], between: str) -> str:
    texts = [shortest(t.dtype, leaf) for leaf in leaves]
    if not isinstance(t, Matrix):
        return f"[{', '.join(texts)}]"
    rows = (texts[r * t.cols : (r + 1) * t.cols] for r in range(t.rows))
    return f"[{between.join('[' + ', '.join(row) + ']' for row in rows)}]"


# -- indexing --------------------------------------------------------------------------------------


@cache
def _positions(t: Algebraic) -> npt.NDArray[np.intp]:
    """The number of each leaf, in the shape of the type: numpy indexing does the rest."""
    return np.arange(_count(t)).reshape(t.shape)


def _pick(t: Algebraic, key: Any) -> int | npt.NDArray[np.intp]:
    keys = key if isinstance(key, tuple) else (key,)
    for k in keys:
        if not isinstance(k, slice) and integer_of(k) is None:
            raise TypingError(
                Diagnostic(
                    "H0201",
                    f"{_name_of(t)} is indexed by integers and slices, not {k!r}",
                )
            )
    try:
        picked = _positions(t)[key]
    except IndexError:
        raise OutOfBoundsError(
            Diagnostic("H0401", f"{_name_of(t)} has shape {t.shape}; no {_key_text(key)}")
        ) from None
    if isinstance(picked, np.ndarray):
        return picked
    return int(picked)


def _key_text(key: Any) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    return f"[{', '.join(map(_one_key_text, keys))}]"


def _one_key_text(key: Any) -> str:
    if not isinstance(key, slice):
        return str(operator.index(key))
    ends = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
    return ":".join("" if end is None else str(end) for end in ends)


def _class_of_shape(dtype: Scalar, shape: tuple[int, ...]) -> type[HostValue]:
    if 0 in shape:
        raise OutOfBoundsError(Diagnostic("H0401", "a slice of a value has at least one component"))
    return value_class(Vector(dtype, *shape) if len(shape) == 1 else Matrix(dtype, *shape))


# -- construction ----------------------------------------------------------------------------------


def flatten(value: object, what: str) -> tuple[list[Any], tuple[int, ...]]:
    """Numbers of a nested sequence, an array or a host value in order, and its shape.

    Raises:
        TypingError: it is none, or its rows differ in length.
    """
    if isinstance(value, HostValue):
        return list(value.leaves), value.__heald_type__.shape
    if isinstance(value, np.ndarray):
        return list(value.flat), value.shape
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        raise TypingError(
            Diagnostic(
                "H0201", f"{what} takes numbers or a sequence of them, not {describe(value)}"
            )
        )
    items = list(value)  # type: ignore[call-overload]
    if all(map(is_number, items)):
        return items, (len(items),)
    flat: list[Any] = []
    shapes: set[tuple[int, ...]] = set()
    for item in items:
        if is_number(item):
            shapes.add(())
            continue
        numbers, shape = flatten(item, what)
        flat += numbers
        shapes.add(shape)
    if len(shapes) > 1:
        raise TypingError(Diagnostic("H0206", f"{what} takes rows of one length"))
    return flat, (len(items), *shapes.pop())


def _construct(t: Algebraic, args: tuple[object, ...], parts: dict[str, object]) -> list[Number]:
    name = _name_of(t)
    if isinstance(t, Transform) and (parts or _are_parts(args)):
        return _transform_leaves(t, args, parts)
    if parts:
        names = ordered_parts(part_names(t), len(args), parts)
        if isinstance(names, str):
            raise TypingError(Diagnostic("H0305", f"{name} {names}"))
        args = (*args, *(parts[k] for k in names))
    given = _components(t, args, name)
    return [convert_or_raise(t.dtype, x, f"component {k} of {name}") for k, x in enumerate(given)]


def _components(t: Algebraic, args: tuple[object, ...], name: str) -> Sequence[object]:
    count = _count(t)
    if not args:
        return [zero(t.dtype)] * count
    if all(map(is_number, args)):
        if len(args) == count:
            return args
        if len(args) == 1:
            return args * count
    elif len(args) == 1:
        given, shape = flatten(args[0], name)
        if shape in (t.shape, (count,)):
            return given
        _wrong_components(t, f"shape {shape}")
    elif isinstance(t, Matrix) and len(args) == t.rows:
        given, shape = flatten(args, name)
        if shape == t.shape:
            return given
        _wrong_components(t, f"rows of shape {shape[1:]}")
    elif isinstance(t, Quaternion) and len(args) == 2 and is_number(args[1]):
        given, shape = flatten(args[0], name)
        if shape == (3,):
            return [*given, args[1]]
    elif isinstance(t, Vector) and t.length == 6 and len(args) == 2:
        given, shape = flatten(args, name)
        if shape == (2, 3):
            return given
    _wrong_components(t, f"{len(args)} arguments")
    return None


def _wrong_components(t: Algebraic, given: str) -> NoReturn:
    match t:
        case Matrix():
            forms = f"{t.rows} rows of {t.cols}, {_count(t)} numbers"
        case Quaternion():
            forms = "x, y, z, w, or a vec3 and w"
        case Transform():
            forms = "p and q, or 7 numbers"
        case Vector():
            forms = f"{t.length} numbers" if t.length > 1 else "1 number"
    name = _name_of(t)
    raise TypingError(
        Diagnostic(
            "H0206",
            f"{name} cannot be made of {given}",
            hint=f"it takes {forms}, one number that fills it, or nothing for zeros",
        )
    )


def _are_parts(args: tuple[object, ...]) -> bool:
    """Are these the p and q of a transformation, rather than its seven numbers?"""
    if not 1 <= len(args) <= 2 or any(map(is_number, args)):
        return False
    return all(flatten(a, "a transformation")[1] != (7,) for a in args)


def _transform_leaves(
    t: Transform, args: tuple[object, ...], parts: dict[str, object]
) -> list[Number]:
    name = _name_of(t)
    given = dict(zip(("p", "q"), args, strict=False))
    for key, part in parts.items():
        if key not in ("p", "q") or key in given:
            raise TypingError(
                Diagnostic("H0305", f"{name} takes p and q, each once; it was given {key!r}")
            )
        given[key] = part
    if len(args) > 2:
        _wrong_components(t, f"{len(args)} arguments")
    p = value_class(Vector(t.dtype, 3))(given.get("p", 0))
    q = value_class(Quaternion(t.dtype))(given.get("q", (0, 0, 0, 1)))
    return [*p.leaves, *q.leaves]


# -- classes ---------------------------------------------------------------------------------------

_SUFFIXES = {
    "b1": "bool",
    "i8": "b",
    "i16": "s",
    "i32": "i",
    "i64": "l",
    "u8": "ub",
    "u16": "us",
    "u32": "ui",
    "u64": "ul",
    "f16": "h",
    "bf16": "bf",
    "f32": "f",
    "f64": "d",
}


@cache
def _count(t: Algebraic) -> int:
    return int(np.prod(t.shape))


def _component(k: int) -> property:
    def get(self: HostValue) -> Number:
        return self._leaves[k]

    def put(self: HostValue, value: object) -> None:
        self[k] = value

    return property(get, put, doc=f"Component {k}.")


def _part(t: Algebraic, start: int, name: str) -> property:
    stop = start + _count(t)

    def get(self: HostValue) -> HostValue:
        origin = f"the {name} of a {type(self).__name__}"
        return value_class(t).from_leaves(self._leaves[start:stop], origin)

    def put(self: HostValue, value: object) -> None:
        self._check_own()
        self._leaves[start:stop] = value_class(t)(value)._leaves

    return property(get, put, doc=f"A copy of the {name}, as a {t}.")


def _name_of(t: Algebraic) -> str:
    suffix = _SUFFIXES[t.dtype.name]
    match t:
        case Vector(length=6):
            return f"spatial_vector{suffix}"
        case Matrix(rows=6, cols=6):
            return f"spatial_matrix{suffix}"
        case Vector():
            return f"vec{t.length}{suffix}"
        case Matrix():
            return f"mat{t.rows}{t.cols}{suffix}"
        case Quaternion():
            return f"quat{suffix}"
        case Transform():
            return f"transform{suffix}"


@once
def value_class(t: Algebraic) -> type[HostValue]:
    """The host class of a type; one class for each type."""
    members: dict[str, Any] = {
        "__slots__": (),
        "__heald_type__": t,
        "__module__": "heald",
        "__doc__": f"{_name_of(t)}: {t!r} on the host.\n\n{HostValue.__doc__}",
        "dtype": t.dtype,
        "shape": t.shape,
    }
    if isinstance(t, Transform):
        members["p"] = _part(Vector(t.dtype, 3), 0, "p")
        members["q"] = _part(Quaternion(t.dtype), 3, "q")
    elif not isinstance(t, Matrix):
        members.update(
            (name, _component(k)) for k, name in zip(range(_count(t)), "xyzw", strict=False)
        )
    return type(_name_of(t), (HostValue,), members)
