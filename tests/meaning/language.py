"""Kernels from source text, without the public surface: what ``wp`` means in them."""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from heald.frontend import Options, intrinsic, lower_kernel, parameter_patterns
from heald.ir import ATOMICS, Kernel, check
from heald.library.registry import lookup
from heald.ops import TABLE
from heald.types import (
    SCALARS,
    IndexedPattern,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    as_type,
    f32,
    f64,
    i32,
    u8,
)
from heald.types.convert import array_of


@dataclass(frozen=True)
class Function:
    """What ``@wp.func`` makes, as the front end sees it."""

    function: FunctionType

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @property
    def __heald_overloads__(self) -> tuple[FunctionType, ...]:
        return (self.function,)


class Surface:
    """Stands for ``import heald as wp``: types, intrinsics, and the builtins of the library."""

    def __init__(self) -> None:
        for t in SCALARS:
            setattr(self, t.public, t)
        self.vec2, self.vec3 = Vector(f32, 2), Vector(f32, 3)
        self.vec2d, self.vec3i = Vector(f64, 2), Vector(i32, 3)
        self.vec4ub, self.mat22, self.mat23d = Vector(u8, 4), Matrix(f32, 2, 2), Matrix(f64, 2, 3)
        for name in ("tid", "zeros", "static", "expect_eq", *ATOMICS):
            setattr(self, name, _intrinsic(name))

    def array(self, dtype: Any, ndim: int = 1) -> Any:
        return array_of(dtype, ndim)

    def indexedarray(self, dtype: Any, ndim: int = 1) -> IndexedPattern:
        return IndexedPattern(as_type(dtype), ndim)

    def func(self, function: FunctionType) -> Function:
        return Function(function)

    def struct(self, cls: type) -> Struct:
        fields = [(name, as_type(t)) for name, t in cls.__annotations__.items()]
        return Struct(cls.__name__, tuple(fields))

    def kernel(self, function: FunctionType) -> FunctionType:
        return function

    def __getattr__(self, name: str) -> Any:
        found = lookup(name)
        if found is None:
            raise AttributeError(name)
        return found


def _intrinsic(name: str) -> Callable[..., Any]:
    @intrinsic(name)
    def marker(*_: Any) -> Any:
        raise TypeError(f"{name} is for kernels")

    return marker


SURFACE = Surface()
DEFAULT = Options()


def load(text: str, name: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run source text as a module named ``name``, whose source can be read."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module: dict[str, Any] = {"wp": SURFACE, "__name__": name, **(given or {})}
    exec(builtins.compile(text, file, "exec", dont_inherit=True), module)
    return module


def lower(function: FunctionType, options: Options = DEFAULT) -> Kernel:
    """The checked WIR of a kernel whose parameters have concrete types."""
    types = [pattern for _, pattern in parameter_patterns(function)]
    kernel = lower_kernel(function, types, lookup, options)
    check(kernel, TABLE)
    return kernel


def lower_text(text: str, name: str, options: Options = DEFAULT) -> Kernel:
    """The checked WIR of the kernel ``k`` in source text."""
    return lower(load(text, name)["k"], options)


__all__ = ["SURFACE", "Scalar", "Surface", "Type", "load", "lower", "lower_text"]
