"""Structs: a class with annotations becomes a type with a layout, and its instances host values."""

from __future__ import annotations

import ctypes
import difflib
import inspect
import sys
import types as python_types
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from heald.api.casting import cast_elements
from heald.api.host_value import HostValue, value_class
from heald.api.scalars import Misfit, convert, describe, refuse, shortest, zero
from heald.api.struct_source import member_spans
from heald.diagnostics import Diagnostic, HealdError, Note, TypingError
from heald.diagnostics.spans import outer_frame
from heald.runtime import codec_of
from heald.types import (
    Array,
    Scalar,
    Struct,
    Type,
    array_leaves,
    as_concrete,
    as_indexed,
    as_type,
    contract_of,
    leaves,
    numpy_dtype,
)

_PART = "__heald_part__"


class StructValue:
    """An instance of a struct on the host: one attribute for each field, zero until assigned.

    Assigning checks and copies (composites are values); arrays are held by reference.  Reading a
    field gives the part itself, so ``s.v.x = 1.0`` changes ``s``.
    """

    __slots__ = (_PART,)

    __heald_type__: ClassVar[Struct]
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, *_: object, **__: object) -> Self:
        """Zeros; a struct may have an ``__init__`` of its own."""
        instance = object.__new__(cls)
        object.__setattr__(instance, _PART, "")
        for name, t in cls.__heald_type__.fields:
            object.__setattr__(instance, name, _default(t))
        return instance

    def __init__(self, **values: object) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        t = self.__heald_type__
        part = getattr(self, _PART)
        if part:
            raise TypingError(
                Diagnostic(
                    "H0109",
                    f"this {t.name} is a copy of {part}: a change of it would be lost",
                    hint="change a struct of your own, `copy.copy(s)`, and assign that back",
                )
            )
        field = t.field(name)
        if field is None:
            raise TypingError(_unknown_field(t, name))
        object.__setattr__(self, name, _coerce(field, value, f"field {name} of {t.name}"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StructValue) or other.__heald_type__ is not self.__heald_type__:
            return NotImplemented
        names = [name for name, _ in self.__heald_type__.fields]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __repr__(self) -> str:
        fields = (
            f"{name}={shortest(t, getattr(self, name))}"
            if isinstance(t, Scalar)
            else f"{name}={getattr(self, name)!r}"
            for name, t in self.__heald_type__.fields
        )
        return f"{type(self).__name__}({', '.join(fields)})"

    def __reduce__(self) -> tuple[Any, ...]:
        names = [name for name, _ in self.__heald_type__.fields]
        return _restore, (type(self), {name: getattr(self, name) for name in names})

    @classmethod
    def numpy_dtype(cls) -> np.dtype[Any]:
        """The structured dtype of one element; bfloat16 fields are uint16, their bits.

        Raises:
            TypingError: a field is an array, which only exists in structs passed by value (H0208).
        """
        require_element(cls.__heald_type__)
        return numpy_dtype(cls.__heald_type__)

    def numpy_value(self) -> Any:
        """This instance as a structured numpy scalar of :meth:`numpy_dtype`.

        Raises:
            TypingError: a field is an array (H0208).
        """
        require_element(self.__heald_type__)
        data = codec_of(self.__heald_type__).encode(struct_leaves(self))
        return np.frombuffer(bytearray(data), numpy_dtype(self.__heald_type__))[0]

    @classmethod
    def from_numpy(cls, record: Any) -> StructValue:
        """The instance that a structured numpy scalar, or an array with one record, holds.

        Raises:
            TypingError: wrong fields, or a number does not fit (H0712); a field is an array
                (H0208).
        """
        require_element(cls.__heald_type__)
        given = np.asarray(record)
        if given.size != 1:
            raise TypingError(
                Diagnostic("H0712", f"one record makes a {cls.__name__}, not {describe(record)}")
            )
        element: npt.NDArray[Any] = cast_elements(given.reshape(1), cls.__heald_type__)
        return from_leaves(cls, codec_of(cls.__heald_type__).decode(element.tobytes()))


def _restore(cls: type[StructValue], values: dict[str, object]) -> StructValue:
    instance = cls.__new__(cls)
    for name, value in values.items():
        setattr(instance, name, value)
    return instance


def _same(a: object, b: object) -> bool:
    return a is b if isinstance(getattr(a, "__heald_type__", None), Array) else bool(a == b)


# -- leaves and conversion -------------------------------------------------------------------------


def struct_leaves(value: StructValue) -> list[Any]:
    """The leaves in order: Python numbers, and the arrays themselves."""
    found: list[Any] = []
    for name, t in value.__heald_type__.fields:
        part = getattr(value, name)
        match t:
            case Scalar() | Array():
                found.append(part)
            case Struct():
                found += struct_leaves(part)
            case _:
                found += part.leaves
    return found


def from_leaves(cls: type[StructValue], given: Sequence[Any], part: str = "") -> StructValue:
    """The instance with these leaves.  With ``part``, what it is a copy of, it refuses to be
    changed."""
    instance = cls.__new__(cls)
    start = 0
    for name, t in cls.__heald_type__.fields:
        stop = start + len(leaves(t))
        value = make_value(t, given[start:stop], f"field {name} of {part}" if part else "")
        object.__setattr__(instance, name, value)
        start = stop
    object.__setattr__(instance, _PART, part)
    return instance


def make_value(t: Type, given: Sequence[Any], part: str = "") -> Any:
    """The host value of a type from its leaves; with ``part`` as in :func:`from_leaves`."""
    match t:
        case Scalar() | Array():
            return given[0]
        case Struct():
            return from_leaves(struct_class(t), given, part)
        case _:
            return value_class(t).from_leaves(given, part)


def take_leaves(t: Type, value: object, what: str) -> list[Any]:
    """The leaves of ``value`` as a ``t``: converted, or refused; ``what`` names the place that
    takes it.

    Raises:
        TypingError: it is no ``t``.
    """
    match t:
        case Scalar():
            number = convert(t, value)
            if isinstance(number, Misfit):
                refuse(number, what)
            return [number]
        case Array():
            if getattr(value, "__heald_type__", None) is not t:
                raise TypingError(_wrong_type(t, value, what))
            return [value]
        case Struct():
            if not isinstance(value, StructValue) or value.__heald_type__ is not t:
                raise TypingError(_wrong_type(t, value, what))
            return struct_leaves(value)
        case _:
            return _composite_leaves(t, value, what)


def _composite_leaves(t: Any, value: object, what: str) -> list[Any]:
    cls = value_class(t)
    if isinstance(value, HostValue):
        if value.__heald_type__ is not t:
            hint = f"{cls.__name__}(x) converts one of the same shape"
            raise TypingError(_wrong_type(t, value, what, hint))
        return list(value.leaves)
    if isinstance(value, (StructValue, str, bytes)):
        raise TypingError(_wrong_type(t, value, what))
    try:
        return list(cls(value).leaves)
    except TypingError as error:
        (inner,) = error.diagnostics
        message = f"{what}: {inner.message}"
        raise TypingError(Diagnostic(inner.code, message, hint=inner.hint)) from None


def _coerce(t: Type, value: object, what: str) -> Any:
    if isinstance(t, Array) and value is None:
        return None
    return make_value(t, take_leaves(t, value, what))


def _default(t: Type) -> Any:
    match t:
        case Scalar():
            return zero(t)
        case Array():
            return None
        case Struct():
            return StructValue.__new__(struct_class(t))
        case _:
            return value_class(t)()


def _wrong_type(t: Type, value: object, what: str, hint: str = "") -> Diagnostic:
    given = getattr(value, "__heald_type__", None)
    shown = f"a {spell(given)}" if given is not None else describe(value)
    if isinstance(value, type) and given is not None:
        shown, hint = f"the class {value.__name__}", f"make a value: {value.__name__}(...)"
    elif given is not None and spell(given) == spell(t):
        shown = f"one of another struct {spell(t)}"
        hint = hint or f"{spell(t)} was defined again: make the value anew"
    return Diagnostic("H0201", f"{what} takes a {spell(t)}, not {shown}", hint=hint)


def spell(t: Any) -> str:
    """A type as users write it: ``float32``, ``vec3f``, ``array(dtype=float32, ndim=2)``."""
    match t:
        case Scalar():
            return t.public
        case Struct():
            indexed = as_indexed(t)
            return t.name if indexed is None else indexed.spell(spell(indexed.dtype))
        case Array():
            return f"array(dtype={spell(t.dtype)}, ndim={t.ndim})"
        case _:
            return value_class(t).__name__


def require_element(t: Struct) -> None:
    """Refuse a struct that cannot be an array element.

    Raises:
        TypingError: a field is an array (H0208): in memory that anybody can write it would be a raw
            pointer.
    """
    if array_leaves(t):
        raise TypingError(
            Diagnostic(
                "H0208",
                f"{t.name} has an array as a member, so it cannot be an array element",
                notes=(Note("structs with arrays are passed to kernels by value"),),
                hint="pass the array as an argument of its own and store an index in the struct",
            )
        )


def _unknown_field(t: Struct, name: str) -> Diagnostic:
    names = [n for n, _ in t.fields]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}"
    return Diagnostic("H0303", f"{t.name} has no field {name}", hint=hint)


# -- the decorator ---------------------------------------------------------------------------------

_CLASSES: dict[Struct, type[StructValue]] = {}  # a cache: the class that shows a type on the host


def struct_class(t: Struct) -> type[StructValue]:
    """The class of a struct type.  Types with equal names and fields are one, and so is their
    class."""
    found = _CLASSES.get(t)
    if found is None:
        found = _CLASSES[t] = _make_class(
            t, {"__module__": "heald", "__doc__": f"Struct {t.name}."}
        )
    return found


def struct(cls: type) -> Any:
    """Make a struct of a class whose annotations are its fields, for kernels and host alike.

    Fields are scalars, vectors, matrices, quaternions, transformations, other structs, and (for
    structs that are passed by value) arrays.  Fields have no defaults: an instance starts as zeros.

    Raises:
        TypingError: a member is something else (H0208), all of them at once, each underlined.
    """
    return _declare(cls, outer_frame())


def _declare(cls: object, frame: python_types.FrameType | None) -> type[StructValue]:
    if not isinstance(cls, type):
        raise TypingError(Diagnostic("H0208", f"struct decorates a class, not {describe(cls)}"))
    spans = member_spans(cls, frame)
    found: list[Diagnostic] = []
    if cls.__bases__ != (object,):
        bases = ", ".join(base.__name__ for base in cls.__bases__)
        found.append(
            Diagnostic(
                "H0208",
                f"struct {cls.__name__} inherits from {bases}; structs have no base classes",
                hint="repeat the fields, or make the base a member",
            )
        )
    annotations = _annotations(cls)
    fields: list[tuple[str, Type]] = []
    for name, annotation in annotations.items():
        answer = _member_type(cls, name, annotation, frame)
        if isinstance(answer, _Refusal):
            message = f"member {name} of struct {cls.__name__} {answer.why}"
            span = spans.get(name)
            found.append(Diagnostic("H0208", message, span, answer.label, hint=answer.hint))
        else:
            fields.append((name, answer))
    members: dict[str, Any] = {name: getattr(cls, name) for name in _NAMING}
    for name, held in vars(cls).items():
        if isinstance(held, _BEHAVIOUR):
            members[name] = held
        elif name not in annotations and not (name.startswith("__") and name.endswith("__")):
            found.append(
                Diagnostic(
                    "H0208",
                    f"member {name} of struct {cls.__name__} has no annotation",
                    spans.get(name),
                    "a value, but no type",
                    hint=f"write `{name}: {_kind_of(held)}`, and assign the value to an instance",
                )
            )
    if not annotations and not found:
        found.append(Diagnostic("H0208", f"struct {cls.__name__} has no members"))
    if found:
        raise TypingError(*found)
    t = Struct(cls.__name__, tuple(fields))
    made = _CLASSES[t] = _make_class(t, members)
    return made


_NAMING = ("__module__", "__qualname__", "__doc__")
_BEHAVIOUR = (python_types.FunctionType, classmethod, staticmethod, property, type)


def _make_class(t: Struct, members: dict[str, Any]) -> type[StructValue]:
    slots = tuple(name for name, _ in t.fields)
    return type(t.name, (StructValue,), {**members, "__slots__": slots, "__heald_type__": t})


def _annotations(cls: type) -> dict[str, Any]:
    try:
        return inspect.get_annotations(cls)
    except NameError as error:  # Python 3.14 evaluates annotations here
        raise TypingError(
            Diagnostic(
                "H0301", f"an annotation of struct {cls.__name__} cannot be evaluated: {error}"
            )
        ) from None


class _Refusal:
    """Why a member cannot be: end of a sentence, fact under the carets, and what to type."""

    __slots__ = ("hint", "label", "why")

    def __init__(self, why: str, label: str, hint: str) -> None:
        self.why = why
        self.label = label
        self.hint = hint


def _member_type(
    cls: type, name: str, annotation: Any, frame: python_types.FrameType | None
) -> Type | _Refusal:
    if name in _TAKEN:
        return _Refusal("has the name of a method of all structs", "taken", f"write `{name}_`")
    if name in vars(cls) and not isinstance(vars(cls)[name], python_types.MemberDescriptorType):
        return _Refusal(
            "has a default value; instances start as zeros",
            "its type",
            f"write `{name}: {_shown(annotation)}` and assign the value to an instance",
        )
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, *_names(cls, frame))
        except (NameError, AttributeError, SyntaxError, TypeError, HealdError) as error:
            return _Refusal(
                f"is annotated with `{annotation}`, which cannot be evaluated",
                str(error).partition("\n")[0],
                "define or import the type before the struct",
            )
    if contract_of(annotation) is not None:
        return _Refusal(
            "has a contract, and contracts are for parameters of kernels",
            "a contract",
            "leave it out",
        )
    if as_type(annotation) is None:
        return _refuse_member(annotation)
    t = as_concrete(annotation)
    if t is None:
        return _Refusal(
            "is generic, and a struct has one layout",
            "stands for several types",
            "name one type, such as float or wp.vec3",
        )
    return t


_TAKEN = ("from_numpy", "numpy_dtype", "numpy_value")


def _names(
    cls: type, frame: python_types.FrameType | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Global and local names where a class was written."""
    module = sys.modules.get(cls.__module__)
    if frame is None:
        return vars(module) if module else {}, dict(vars(cls))
    return frame.f_globals, {**frame.f_locals, **vars(cls)}


def _kind_of(value: Any) -> str:
    """A likely annotation for a value."""
    return type(value).__name__ if isinstance(value, (bool, int, float, HostValue)) else "float"


def _shown(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)


def _refuse_member(annotation: Any) -> _Refusal:
    """Why an annotation that means no type cannot be a member."""
    origin = getattr(annotation, "__origin__", annotation)
    shown = f"`{_shown(annotation)}`"
    if isinstance(origin, type):
        if issubclass(origin, (list, tuple, set, frozenset, dict)):
            return _Refusal(
                f"is a {shown}, which has no fixed size",
                "dynamic size",
                "use wp.types.vector(length=N, dtype=float) for a few numbers, or "
                "wp.array(dtype=float) for many",
            )
        if issubclass(origin, (str, bytes, bytearray)):
            return _Refusal(
                f"is a {shown}, which has no fixed size",
                "dynamic size",
                "store an integer that stands for the text",
            )
        if issubclass(origin, np.ndarray):
            return _Refusal(
                f"is a {shown}, which kernels cannot read",
                "a numpy array",
                "use wp.array(dtype=float, ndim=1) and assign wp.array(x) to it",
            )
        if issubclass(origin, (ctypes._Pointer, ctypes.c_void_p, ctypes.c_char_p)):
            return _Refusal(
                f"is a {shown}, a raw pointer",
                "nothing can check an access through it",
                "use wp.array(dtype=...), which knows its size",
            )
    return _Refusal(
        f"is {shown}, which is no type of Heald",
        "an arbitrary Python object",
        "use bool, int, float, wp.int8 to wp.float64, wp.vec3 and its kin, another struct, or "
        "wp.array(dtype=...)",
    )
