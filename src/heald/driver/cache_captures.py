"""The meaning of a kernel before it is lowered: texts, places and captured values, transitively.

Two kernels with equal descriptions lower to equal WIR, spans included.  A captured object is
described by its value, or not at all: then there is no description, and the kernel is lowered each
time.  Heald's own functions count by name, since the key says which Heald it is.
"""

from __future__ import annotations

import builtins
import contextlib
import enum
import hashlib
import inspect
import math
import struct
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from heald.artifact.serialise import to_plain
from heald.driver.cache_store import note
from heald.frontend import (
    captured_value,
    is_library_name,
    outline_of,
    own_signature,
    results_of,
    signature_of,
    table_type,
)
from heald.types import Array, Scalar, Struct, Type, as_concrete

Description = tuple[Any, ...]
"""Nested tuples of numbers and texts, whose ``repr`` tells all of them apart."""

_MAX_PARTS = 100_000
"""Numbers and other parts of captured values that are looked at before giving up."""
_MAX_ARRAY = 1 << 22
"""Bytes of a numpy array that is still looked at."""


class _OpaqueError(Exception):
    """An object whose meaning is not its value."""


def describe_kernel(function: FunctionType) -> Description | None:
    """Everything that the lowering of a kernel reads, as it is now, or None.

    Not here are the options, the types of the parameters, and Heald itself.
    """
    return _try(function.__qualname__, lambda d: d.function(function, is_kernel=True))


def describe_overloads(name: str, functions: Sequence[FunctionType]) -> Description | None:
    """Everything that calling a function with these overloads means, as it is now, or None."""
    return _try(name, lambda d: tuple(map(d.function, functions)))


def _try(name: str, describe: Callable[[_Describer], Description]) -> Description | None:
    try:
        return describe(_Describer())
    except _OpaqueError as error:
        note(f"'{name}' is lowered each time: {error}")
    except Exception as error:  # noqa: BLE001 - captured objects may raise anything
        note(f"'{name}' is lowered each time: {type(error).__name__}: {error}")
    return None


class _Describer:
    """Describes one kernel; a function that was met before is its number, and so is an object that
    ``is`` tells from an equal one."""

    def __init__(self) -> None:
        self._met: dict[FunctionType, int] = {}
        self._seen: dict[int, tuple[int, Any]] = {}  # with the object, so that it keeps its id
        self._plain: set[type] = set()
        self._left = _MAX_PARTS

    def function(self, function: FunctionType, *, is_kernel: bool = False) -> Description:
        """Text, place, signature and captured values.

        The annotations of a kernel do not count: it is lowered for types that are given.
        """
        if function in self._met:
            return ("again", self._met[function])
        self._met[function] = len(self._met)
        if _is_own(function) and function.__module__.startswith("heald.library."):
            return _name(function)
        outline, signature = outline_of(function), signature_of(function)
        if outline is None:
            raise _OpaqueError(f"the source of '{function.__qualname__}' is not available")
        if is_kernel:
            parameters: Description = tuple(own_signature(function).parameters)
        elif signature is None:
            raise _OpaqueError(f"an annotation of '{function.__qualname__}' has no value")
        else:
            parameters = tuple(
                (name, kind, self.value(pattern), self.value(default))
                for name, kind, pattern, default in signature
            )
            parameters = (parameters, self.value(results_of(function)))
        place = (function.__name__, outline.file, outline.line, outline.text)
        captured = tuple((path, self._read(function, path)) for path in outline.paths)
        return ("function", place, parameters, captured)

    def _read(self, function: FunctionType, path: Sequence[str]) -> Description:
        """The value of ``a.b.c``, and of each part on the way to it that has one."""
        found = captured_value(function, path[0])
        if not found:
            return ("undefined",)
        (value,) = found
        parts: list[Description] = []
        for attribute in path[1:]:
            with contextlib.suppress(_OpaqueError):  # a module, a class, an object with settings
                parts.append(self.value(value))
            if is_library_name(value, attribute):
                return (*parts, ("library", attribute))
            try:
                value = getattr(value, attribute)
            except Exception:  # noqa: BLE001 - a property may raise anything
                return (*parts, "no attribute")
        try:
            return (*parts, self.value(value))
        except _OpaqueError as error:
            raise _OpaqueError(f"{'.'.join(path)} is {error}") from None

    def value(self, value: Any) -> Description:
        """A captured object by its value.

        Raises:
            _OpaqueError: that is not all of it, or it is very large.
        """
        self._left -= 1
        if self._left < 0:
            raise _OpaqueError("too large to be looked at")
        kind = type(value)
        if kind is float:
            return ("float", _DOUBLE.pack(value))  # zeros and NaN have signs
        if kind is complex:
            return ("complex", _DOUBLE.pack(value.real), _DOUBLE.pack(value.imag))
        if kind in _PLAIN:
            return (kind.__name__, value)
        if kind in _MUTABLE:
            if id(value) in self._seen:
                return ("same", self._seen[id(value)][0])
            self._seen[id(value)] = len(self._seen), value
        if kind in _SEQUENCES:
            return (kind.__name__, *map(self.value, value))
        if kind is dict:
            return ("dict", *((self.value(k), self.value(v)) for k, v in value.items()))
        if isinstance(value, enum.Enum):
            self._refuse_code(kind)
            number = isinstance(value, (int, float))
            return ("enum", kind.__qualname__, number, value.name, self._members(kind))
        if isinstance(value, (np.generic, np.ndarray, np.dtype)):
            return _numpy(value)
        if value is typing.Any or value is inspect.Parameter.empty:
            return ("special", str(value))
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, tuple):
            return self._named_tuple(value)
        if isinstance(value, (FunctionType, BuiltinFunctionType)):
            return _known_function(value)
        if is_dataclass(value) and _is_own(kind):  # types, patterns, machine ops
            parts = (self.value(getattr(value, f.name)) for f in fields(value))
            return (kind.__module__, kind.__name__, *parts)
        table = table_type(value)
        if table is not None:
            return ("table", self.value(table), tuple(value.shape))
        if hasattr(value, "__heald_overloads__"):
            return self._overloads(value)
        t = as_concrete(getattr(kind, "__heald_type__", None))
        if t is not None:
            self._refuse_code(kind)
            return ("host value", self._host_value(t, value))
        raise _OpaqueError(f"a {kind.__name__}, which is not described by its value")

    def _refuse_code(self, kind: type) -> None:
        """Refuse a class that says itself what operators and functions of Python do to its objects.

        Raises:
            _OpaqueError: its code is not described.
        """
        if kind in self._plain:
            return
        for cls in kind.__mro__:
            for name, member in vars(cls).items():
                code = getattr(member, "__func__", getattr(member, "fget", member))
                if not isinstance(code, FunctionType) or not name.startswith("__"):
                    continue
                home = (code.__module__ or "").partition(".")[0]
                if home not in _MODULES_OF_CLASSES and home != f"namedtuple_{kind.__name__}":
                    raise _OpaqueError(f"a {kind.__name__}, whose class has a '{name}' of its own")
        self._plain.add(kind)

    def _members(self, kind: type[enum.Enum]) -> Description:
        """All of them: operators may give others than the one that is captured."""
        if id(kind) in self._seen:
            return ("same", self._seen[id(kind)][0])
        self._seen[id(kind)] = len(self._seen), kind
        members: Mapping[str, Any] = kind.__members__
        return tuple((name, self.value(member.value)) for name, member in members.items())

    def _overloads(self, value: Any) -> Description:
        functions = value.__heald_overloads__
        updates = tuple(getattr(value, "updates", ()))
        name = getattr(value, "__name__", None) or getattr(value, "name", None) or ""
        return ("overloads", str(name), updates, *map(self.function, functions))

    def _class(self, value: type) -> Description:
        if value.__module__ in ("builtins", "numpy") and value.__name__ in _CLASSES:
            return ("class", value.__module__, value.__name__)
        t = as_concrete(value)
        if t is not None and hasattr(value, "__heald_type__"):
            return ("class of", self.value(t))
        raise _OpaqueError(f"the class '{value.__qualname__}'")

    def _named_tuple(self, value: tuple[Any, ...]) -> Description:
        """Fields and values, where the class adds nothing that reads them."""
        kind = type(value)
        names = getattr(kind, "_fields", None)
        if kind.__bases__ != (tuple,) or not isinstance(names, tuple):
            raise _OpaqueError(f"a {kind.__name__}")
        self._refuse_code(kind)
        own = {name for name in vars(kind) if not name.startswith("_")} - set(names)
        if own:
            raise _OpaqueError(f"a {kind.__name__} with a '{min(own)}' of its own")
        return ("named tuple", names, *map(self.value, value))

    def _host_value(self, t: Type, value: Any) -> Description:
        match t:
            case Scalar():
                return self.value(value)
            case Array():
                raise _OpaqueError("a struct with an array")
            case Struct():
                parts = ((n, self._host_value(f, getattr(value, n))) for n, f in t.fields)
                return (repr(to_plain(t)), *parts)
        return (repr(to_plain(t)), *map(self.value, value.leaves))


_PLAIN = frozenset({bool, int, str, bytes, type(None), type(...), range})
_SEQUENCES = frozenset({tuple, list})
_MUTABLE = frozenset({list, dict, np.ndarray})
_DOUBLE = struct.Struct("<d")
_MODULES_OF_CLASSES = frozenset({"builtins", "collections", "enum", "typing", "heald"})
"""Where classes of captured values may have their code from."""
_CLASSES = frozenset(
    {"bool", "int", "float", "str", "bytes", "complex", "tuple", "list", "dict", "range", "slice"}
    | {"enumerate", "zip", "map", "filter", "reversed", "type", "object", "ndarray", "bool_"}
    | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
    | {"float16", "float32", "float64"}
)
_PURE = frozenset(
    {"abs", "all", "any", "bin", "callable", "chr", "divmod", "format", "hex", "isinstance"}
    | {"issubclass", "iter", "len", "max", "min", "next", "oct", "ord", "pow", "print", "repr"}
    | {"round", "sorted", "sum"}
)
"""Functions of Python whose result follows from their arguments.  (A kernel's ``print`` prints.)"""


def _known_function(value: Any) -> Description:
    name = value.__name__
    for home, names in ((builtins, _PURE), (math, vars(math))):
        if name in names and getattr(home, name, None) is value:
            return ("python", home.__name__, name)
    if hasattr(value, "__heald_intrinsic__"):
        value = getattr(value, "__heald_edge__", value)
        if _is_own(value):
            return _name(value)
    raise _OpaqueError(f"the function '{name}'")


def _is_own(value: Any) -> bool:
    """Is this function or class one that Heald defines under its name?"""
    module = value.__module__ or ""
    if not module.startswith("heald."):
        return False
    found: Any = sys.modules.get(module)
    if isinstance(value, FunctionType):
        return (
            found is not None
            and value.__globals__ is vars(found)
            and not value.__closure__
            and "<" not in value.__qualname__
        )
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def _name(value: Any) -> Description:
    code = getattr(value, "__code__", None)
    line = code.co_firstlineno if code is not None else 0  # overloads share a name
    return ("own", value.__module__, value.__qualname__, line)


def _numpy(value: Any) -> Description:
    dtype = value if isinstance(value, np.dtype) else value.dtype
    is_subclass = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    if dtype.kind not in "biufc" or is_subclass:
        raise _OpaqueError(f"a numpy {type(value).__name__} of {dtype}")
    if isinstance(value, np.dtype):
        return ("dtype", dtype.str)
    if value.nbytes > _MAX_ARRAY:
        raise _OpaqueError(f"a numpy array of {value.nbytes} bytes")
    content = hashlib.sha256(value.tobytes()).hexdigest()
    return ("numpy", type(value).__name__, dtype.str, value.shape, content)
