"""What an expression of the kernel language can be while it is lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from heald.diagnostics import Diagnostic, Span
from heald.ir import Value
from heald.types import (
    Scalar,
    Struct,
    Type,
    as_concrete,
    b1,
    describe_type,
    f32,
    i32,
)


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python number not yet bound to a type: it adapts to the other operand.

    ``span`` is where it stands, for errors; two literals are equal when their numbers are.
    """

    value: bool | int | float
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A compile-time Python object: a module, function, type, string, ``None``.

    Two are equal when they are the same object: what ``==`` of the objects says (numpy arrays give
    arrays) does not matter.
    """

    object: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.object is other.object

    def __hash__(self) -> int:
        return id(self.object)


@dataclass(frozen=True, slots=True)
class Several:
    """A Python tuple: several return values, a shape, an index list."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """``a.shape``: extents are read when they are asked for."""

    array: Value


Operand = Value | Literal | Static | Several | Shape


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name stands for, and where it got it."""

    operand: Operand
    span: Span | None


@dataclass(frozen=True, slots=True)
class Unset:
    """A name that cannot be read here.  ``diagnostic`` explains why; None where an error was
    reported already.  ``held`` is what it held in the loop behind which that is, where known."""

    diagnostic: Diagnostic | None
    held: Operand | None = None


Entry = Binding | Unset


class Refused(Exception):
    """Lowering of a statement stopped; ``diagnostic`` is None when the cause was reported
    already."""

    def __init__(self, diagnostic: Diagnostic | None) -> None:
        super().__init__(diagnostic.message if diagnostic else "reported already")
        self.diagnostic = diagnostic


class Retype(Exception):
    """Carried or returned types were too narrow: lower that loop or function again with
    ``types``."""

    def __init__(self, target: Target, types: Sequence[Type]) -> None:
        super().__init__("lower again")
        self.target = target
        self.types = tuple(types)


@dataclass(eq=False, slots=True)
class Target:
    """Where exits go: a loop with its carried names, a function scope, the kernel, or an unrolled
    loop.

    ``depth`` counts the regions around the body of an unrolled loop, and ``left_by`` says what
    ended an iteration of it while it was compiled.  ``going_on`` is the name that tells behind one
    iteration, which is a loop of its own, whether others follow; ``parted`` says that it is left at
    run time, too.
    """

    kind: str
    names: tuple[str, ...] = ()
    types: tuple[Type, ...] | None = None
    returns: int = 0
    first: Span | None = None
    depth: int = -1
    left_by: str = ""
    going_on: str = ""
    parted: bool = False


class LeftAtRunTime(Exception):
    """Whether an unrolled loop or an iteration of it is left is known at run time only: lower it
    again, as a loop."""

    def __init__(self, target: Target) -> None:
        super().__init__("lower again")
        self.target = target


_LONGEST_BITS = 128


def literal_of(value: Any) -> Literal | None:
    """A captured Python number as a literal; numpy scalars are typed and are not literals."""
    if isinstance(value, bool):
        return Literal(bool(value))
    if isinstance(value, int):
        return Literal(int(value))
    if isinstance(value, float) and type(value).__module__ != "numpy":
        return Literal(float(value))
    return None


def describe(operand: Operand) -> str:
    """The operand's type in the user's words."""
    match operand:
        case Value():
            return describe_type(operand.type)
        case Literal(value):
            return f"the literal {spell(value)}"
        case Static(obj):
            return _describe_object(obj)
        case Several(items):
            return f"a tuple of {len(items)}"
        case Shape():
            return "a shape"


def is_foreign(obj: Any) -> bool:
    """Does a Python object mean nothing to kernels but to ``wp.static`` and ``is None``?"""
    return not (obj is None or isinstance(obj, (str, ModuleType)) or callable(obj))


def is_function(operand: Operand) -> bool:
    """Is it a function, which means something only where it is called?"""
    if not isinstance(operand, Static):
        return False
    obj = operand.object
    return callable(obj) and not isinstance(obj, type) and as_concrete(obj) is None


def _describe_object(obj: Any) -> str:
    """A Python object in a message."""
    t = as_concrete(obj)
    if t is not None:
        return f"the type {describe_type(t)}"
    if obj is None:
        return "None"
    if isinstance(obj, str):
        return "a string"
    if isinstance(obj, type):
        return f"the class '{obj.__name__}'"
    if isinstance(obj, ModuleType):
        return f"the module '{obj.__name__}'"
    if callable(obj):
        return f"the function '{getattr(obj, '__name__', type(obj).__name__)}'"
    return f"a Python {type(obj).__name__}"


def spell(value: bool | int | float) -> str:
    """A Python number in a message, unless it would fill the screen."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"<an integer of {value.bit_length()} bits>"
    return repr(value)


def default_text(t: Type) -> str:
    """How users write the zero of a type."""
    if isinstance(t, Scalar) and t in _ZERO:
        return _ZERO[t]
    return f"{describe_type(t)}()" if isinstance(t, Struct) else f"wp.{describe_type(t)}()"


_ZERO = {f32: "0.0", i32: "0", b1: "False"}
