"""Every builtin for every choice of types that its signatures allow (extents: a few)."""

import inspect
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from heald.frontend import lower_call
from heald.library.registry import Builtin, Overload, load_topics, lookup
from heald.types import (
    Array,
    ArrayPattern,
    Matrix,
    MatrixPattern,
    Quaternion,
    QuaternionPattern,
    Transform,
    TransformPattern,
    Type,
    TypeClass,
    Vector,
    VectorPattern,
    as_type,
    f16,
    f32,
    f64,
    i32,
    u64,
)

COMPONENTS = (f16, f32, f64, i32, u64)
"""Component types tried in composites."""

RESOURCES = frozenset({"Geometry", "Protocols"})
"""Groups whose builtins need a resource on the host."""

EXTENTS = {"N": (2, 4), "R": (2, 3), "C": (3,), "K": (2, 4)}


@dataclass(frozen=True)
class Instance:
    """An overload for concrete argument types; ``result`` is what its annotation promises."""

    builtin: Builtin
    overload: Overload
    types: tuple[Type, ...]
    result: Type | None

    @property
    def call(self) -> str:
        """The call in a test kernel, on a copy of the arguments that it updates."""
        copies = [f"s{k} = x{k}" for k in self.updated]
        arguments = ", ".join(
            f"{'s' if k in self.updated else 'x'}{k}" for k in range(len(self.types))
        )
        return "\n".join([*copies, f"wp.{self.builtin.name}({arguments})"])

    @property
    def updated(self) -> tuple[int, ...]:
        """The positions of arguments that the call changes."""
        names = self.overload.function.__code__.co_varnames[: len(self.types)]
        return tuple(k for k, name in enumerate(names) if name in self.overload.updates)

    @property
    def outputs(self) -> tuple[Type, ...]:
        """Types of what a call gives: new values of arguments, then its results."""
        new = tuple(self.types[k] for k in self.updated)
        if self.result is not None:
            return (*new, self.result)
        return lower_call(self.builtin.name, self.builtin.overloads, self.types, lookup).results

    def __str__(self) -> str:
        return f"{self.builtin.name}({','.join(map(str, self.types))})"


def signature(function: FunctionType) -> tuple[list[Any], Any]:
    """Patterns of the parameters and of the result; None where there is no annotation."""
    found = inspect.signature(function)
    empty = inspect.Parameter.empty
    patterns = [p.annotation for p in found.parameters.values()]
    return [None if p is empty else as_type(p) for p in patterns], (
        None if found.return_annotation is empty else as_type(found.return_annotation)
    )


def instances(extents: Mapping[str, tuple[int, ...]] = EXTENTS) -> Iterator[Instance]:
    """All of them, generic extents taking the given values.

    Overloads with a parameter that is an array or known at compile time have none, nor have those
    that work on resources (``hash_grid_query``): these have tests of their own.
    """
    for builtin in load_topics().values():
        for overload in builtin.records:
            patterns, result = signature(overload.function)
            arrays = any(isinstance(p, (Array, ArrayPattern)) for p in patterns)
            if None in patterns or arrays or overload.group in RESOURCES:
                continue
            for bound in _bindings([*patterns, result], extents):
                types = tuple(substitute(p, bound) for p in patterns)
                promised = None if result is None else substitute(result, bound)
                yield Instance(builtin, overload, types, promised)


def _bindings(
    patterns: list[Any], extents: Mapping[str, tuple[int, ...]]
) -> Iterator[dict[str, Any]]:
    """Every choice for the names in a signature."""
    choices: dict[str, tuple[Any, ...]] = {}
    for pattern in patterns:
        match pattern:
            case TypeClass():
                choices[pattern.name] = pattern.members
            case VectorPattern() | MatrixPattern() | QuaternionPattern() | TransformPattern():
                for name in ("dtype", "length", "rows", "cols"):
                    part = getattr(pattern, name, None)
                    if isinstance(part, TypeClass):
                        choices[part.name] = tuple(t for t in COMPONENTS if t in part.members)
                    elif isinstance(part, str):
                        choices[part] = extents[part]
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def substitute(pattern: Any, bound: dict[str, Any]) -> Any:
    """The concrete type of a pattern; ``Any`` stands for float32."""

    def of(part: Any) -> Any:
        return bound[part.name] if isinstance(part, TypeClass) else bound.get(part, part)

    match pattern:
        case TypeClass():
            return bound[pattern.name]
        case VectorPattern():
            return Vector(of(pattern.dtype), of(pattern.length))
        case MatrixPattern():
            return Matrix(of(pattern.dtype), of(pattern.rows), of(pattern.cols))
        case QuaternionPattern():
            return Quaternion(of(pattern.dtype))
        case TransformPattern():
            return Transform(of(pattern.dtype))
    return f32 if pattern is Any else pattern
