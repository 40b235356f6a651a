"""The table of builtins: what each one is called, which functions define it, and what it promises.

A builtin is one or more functions of one name in the topic modules of this package, each an
overload. The modules are found by looking into the package and imported on the first look-up.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any, NoReturn

import heald.library
from heald.diagnostics import Diagnostic, LaunchError
from heald.types import Scalar, f16, f32

_NO_TOPICS = frozenset({"registry", "language"})


@dataclass(frozen=True, slots=True)
class Exact:
    """The result is the reference's, bit for bit."""


@dataclass(frozen=True, slots=True)
class Ulp:
    """The error is at most ``units`` units in the last place of the exact result.

    A subnormal result has the last place of its format, so there the error is absolute.
    """

    units: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """The error of each component is at most ``units`` roundings of the largest intermediate
    magnitude.

    For sums of products, in which terms may cancel, no bound in units of the result exists.
    """

    units: float


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The error is at most ``relative`` times the size of the exact result, plus ``absolute``."""

    relative: float
    absolute: float = 0.0


@dataclass(frozen=True, slots=True)
class Rounded:
    """The error is at most the tolerance, plus half a unit in the last place of the result."""

    before: Tolerance


Accuracy = Exact | Ulp | Scaled | Tolerance | Rounded


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from ``low`` to ``high``, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Below:
    """Numbers less than the argument of another parameter."""

    parameter: str


@dataclass(frozen=True, slots=True)
class NonZero:
    """Anything but zero."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Vectors or quaternions of length one (of a transform: its rotation)."""


Domain = Interval | Below | NonZero | Unit


@dataclass(frozen=True, slots=True)
class Overload:
    """One function that defines a builtin for some argument types.

    Attributes:
        function: the definition in the kernel language; its annotations are the type rule.
        group: heading under which the reference shows it.
        accuracy: the promise about rounding.
        reference: dotted name of the host function that it is tested against (``mpmath.sin``), or
            None where the tests bring their own.
        domain: what arguments must satisfy for the promise to hold; parameters left out take any
            value.
        updates: parameters that the call changes.  The function returns their new values, then its
            result, and the caller's variables of those argument positions are rebound.
    """

    function: FunctionType
    group: str
    accuracy: Accuracy
    reference: str | None
    domain: Mapping[str, Domain]
    updates: tuple[str, ...]

    @property
    def doc(self) -> str:
        """The reference text; of several overloads usually the first has it for all."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def fast(self) -> Overload | None:
        """What it is under ``fast_math``, where that differs.

        For float32 it is another function; for 16-bit floats, which are computed by that, it is the
        same one with another promise.
        """
        return _FAST.get(self.function)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A builtin, known by its name; kernels call it, and so do other library functions."""

    name: str

    @property
    def records(self) -> tuple[Overload, ...]:
        """Every overload, in order of definition; those of another topic are included."""
        load_topics()
        return tuple(_OVERLOADS[self.name])

    @property
    def overloads(self) -> tuple[FunctionType, ...]:
        """The functions that define it."""
        return tuple(record.function for record in self.records)

    @property
    def __heald_overloads__(self) -> tuple[FunctionType, ...]:
        return self.overloads

    @property
    def updates(self) -> tuple[str, ...]:
        """Parameters whose arguments a call changes; the same for every overload."""
        return self.records[0].updates

    @property
    def group(self) -> str:
        """Heading under which the reference shows it."""
        return self.records[0].group

    @property
    def doc(self) -> str:
        """The reference text of all overloads."""
        return "\n\n".join(dict.fromkeys(record.doc for record in self.records if record.doc))

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        """Refuse: kernels call it."""
        raise TypeError(f"{self.name} is kernel-language code and cannot be called as Python")


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of the kernel language that library functions share and users do not see."""

    function: FunctionType

    @property
    def name(self) -> str:
        """The name it has in error messages."""
        return self.function.__name__

    @property
    def __heald_overloads__(self) -> tuple[FunctionType, ...]:
        return (self.function,)

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        """Refuse: kernels call it."""
        raise TypeError(f"{self.name} is kernel-language code and cannot be called as Python")


TABLE: dict[str, Builtin] = {}
"""Every builtin of the topics imported so far; :func:`load_topics` completes it."""

_OVERLOADS: dict[str, list[Overload]] = {}
_FAST: dict[FunctionType, Overload] = {}


def builtin(
    *,
    group: str,
    accuracy: Accuracy = Exact(),
    reference: str | None = None,
    domain: Mapping[str, Domain] = MappingProxyType({}),
    updates: tuple[str, ...] = (),
) -> Callable[[FunctionType], Builtin]:
    """Registers an overload under the function's name and puts the builtin in the function's place.

    Raises:
        ValueError: ``domain`` or ``updates`` names no parameter.
    """

    def register(function: FunctionType) -> Builtin:
        name = function.__name__
        for named in (*domain, *updates):
            if named not in _parameters(function):
                raise ValueError(f"{name} has no parameter {named!r}")
        constraints = MappingProxyType(dict(domain))
        record = Overload(_written(function), group, accuracy, reference, constraints, updates)
        _OVERLOADS.setdefault(name, []).append(record)
        return TABLE.setdefault(name, Builtin(name))

    return register


def fast(
    exact: Builtin, *, accuracy: Tolerance, domain: Mapping[str, Domain] = MappingProxyType({})
) -> Callable[[FunctionType], Helper]:
    """Registers what ``fast_math`` puts in the place of an overload of ``exact`` for float32.

    An overload for 16-bit floats alone, which computes by that of float32 and rounds, promises
    accordingly under ``fast_math``.

    Raises:
        ValueError: names differ, or ``exact`` has no such overload or has one of these already.
    """

    def register(function: FunctionType) -> Helper:
        name, parameters = function.__name__, _parameters(function)
        alike = [r for r in _OVERLOADS[exact.name] if _parameters(r.function) == parameters]
        taking = [r for r in alike if _takes(r, f32)]
        if name != exact.name or len(taking) != 1 or taking[0].fast is not None:
            raise ValueError(f"{name} takes the place of no overload of {exact.name}")
        (record,) = taking
        constraints = MappingProxyType(dict(domain))
        made = Overload(
            _written(function), record.group, accuracy, record.reference, constraints, ()
        )
        _FAST[record.function] = made
        record.function.__heald_fast__ = function  # type: ignore[attr-defined]
        for half in alike:
            if half is not record and _takes(half, f16):
                _FAST[half.function] = replace(half, accuracy=Rounded(accuracy), domain=constraints)
        return Helper(function)

    return register


def _parameters(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _takes(record: Overload, t: Scalar) -> bool:
    """Can every argument be a ``t``?"""
    patterns = map(record.function.__annotations__.get, _parameters(record.function))
    return all(p is t or t in getattr(p, "members", ()) for p in patterns)


def _written(function: FunctionType) -> FunctionType:
    """The same function, whose operators mean the same whatever the mode is."""
    function.__heald_written__ = True  # type: ignore[attr-defined]
    return function


def helper(function: FunctionType) -> Helper:
    """Marks a function of the kernel language that is no builtin."""
    return Helper(_written(function))


class Collective:
    """A function in which threads work together: kernels call it, and no test runs it alone."""

    def __init__(self, function: FunctionType) -> None:
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.__heald_overloads__: tuple[FunctionType, ...] = (function,)

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        """Refuse: kernels call it."""
        raise LaunchError(Diagnostic("H0713", f"wp.{self.name}() can be called in kernels only"))


_COLLECTIVES: dict[tuple[str, str], Collective] = {}


def collective(function: FunctionType) -> Collective:
    """Enters an overload of a function in which threads work together."""
    key = function.__module__, function.__name__
    known = _COLLECTIVES.get(key)
    _written(function)
    if known is None:
        return _COLLECTIVES.setdefault(key, Collective(function))
    known.__heald_overloads__ += (function,)
    return known


def lookup(name: str) -> Builtin | None:
    """The builtin of this name, or None."""
    return load_topics().get(name)


@cache
def load_topics() -> Mapping[str, Builtin]:
    """Import every topic module (the first call does) and return the complete table."""
    for module in pkgutil.iter_modules(heald.library.__path__):
        if module.name not in _NO_TOPICS:
            importlib.import_module(f"heald.library.{module.name}")
    return MappingProxyType(TABLE)
