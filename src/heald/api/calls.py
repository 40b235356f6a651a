"""Calls from the host: a kernel function or builtin evaluated on Python values, with a kernel's
bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any, cast

import numpy as np

from heald.api.host_value import HostValue
from heald.api.scalars import describe
from heald.api.struct import StructValue, make_value, struct_leaves
from heald.config import config
from heald.diagnostics import Diagnostic, TypingError
from heald.driver import compile_call
from heald.frontend.signatures import accepted, pattern_of
from heald.frontend.sources import parameters_of
from heald.types import (
    Matrix,
    Quaternion,
    Scalar,
    Transform,
    Type,
    TypeClass,
    Vector,
    as_concrete,
    b1,
    f32,
    fits,
    i32,
    i64,
    leaves,
    u32,
    u64,
)

Number = bool | int | float


class HostCall:
    """The host side of a set of overloads; compiled once for each tuple of argument types.

    Python numbers are taken as literals in a kernel are.  A float is of the type that the parameter
    has; of a generic one, what the floats beside it are; else a float32.  An int is an int32 (int64
    or uint64 where it needs more); where no overload takes that, what the numbers beside it are, or
    a uint32.  ``updates`` are the positions of arguments that a call changes: vectors and their
    like are changed in place, numbers cannot be.  ``is_operator``: every parameter is generic, also
    where it does not say so.
    """

    __slots__ = ("_compiled", "_functions", "_is_operator", "_name", "_updates")

    def __init__(
        self,
        name: str,
        functions: Callable[[], Sequence[FunctionType]],
        updates: Sequence[int] = (),
        *,
        is_operator: bool = False,
    ) -> None:
        self._is_operator = is_operator
        self._name = name
        self._functions = functions
        self._updates = updates
        self._compiled: dict[tuple[object, ...], _Compiled] = {}

    def __call__(self, *args: object) -> Any:
        """The result; several results come as a tuple.

        Raises:
            TypingError: no overload takes these arguments (H0203), or a host call does not take
                one of them (H0202, H0702).
            CompileError: the function is outside the language.
            KernelFault: the function divided by zero, indexed outside or failed an assertion.
        """
        types: list[Type | _Literal] = []
        flat: list[Number] = []
        for value in args:
            if type(value) is float:
                types.append(float)
                flat.append(value)
            elif isinstance(value, HostValue):
                types.append(value.__heald_type__)
                flat += value._leaves
            else:
                t, parts = self._flatten(value)
                types.append(t)
                flat += parts
        compiled = self._compiled.get((config.strict_fp, config.fast_math, *types))
        if compiled is None:
            try:
                compiled = self._compile(self._decided(types))
            except TypingError as error:
                return self._adapted(types, args, error)
            self._compiled[config.strict_fp, config.fast_math, *types] = compiled
        return compiled(flat, args)

    def _decided(self, types: Sequence[Type | _Literal]) -> tuple[Type, ...]:
        """The types with one for each Python float."""
        floats = [t for t in map(_number_type, types) if t is not None and t.is_float]
        widest = max(floats, key=lambda t: t.bits, default=f32)
        functions = self._functions()
        decided = [
            self._float_type(functions, k, widest) if t is float else t for k, t in enumerate(types)
        ]
        return cast("tuple[Type, ...]", tuple(decided))

    def _float_type(self, functions: Sequence[FunctionType], k: int, widest: Scalar) -> Scalar:
        """What a Python float becomes at a position, where the floats beside it are ``widest``."""
        found: dict[Scalar, None] = {}
        for parameters in map(parameters_of, functions):
            pattern = pattern_of(parameters[k]) if k < len(parameters) else None
            if isinstance(pattern, Scalar) and pattern.is_float:
                found[pattern] = None
            elif isinstance(pattern, TypeClass):
                found.update((t, None) for t in (widest, f32) if t in pattern.members)
            elif pattern is Any:
                found[widest if self._is_operator else f32] = None
        return next((t for t in (widest, f32, *found) if t in found), f32)

    def _adapted(
        self, types: Sequence[Type | _Literal], args: Sequence[object], error: TypingError
    ) -> Any:
        """The call with integers taken for what the other numbers are, or for uint32 where there
        are none, as literals in kernels are."""
        literals = [value for value in args if type(value) is int]
        others = [t for t, value in zip(types, args, strict=True) if type(value) is not int]
        kinds = dict.fromkeys(t for t in map(_number_type, others) if t not in (None, b1))
        for t in kinds or (u32,):
            if literals and all(fits(value, t) for value in literals):
                with suppress(TypingError):
                    return self(*(t(x) if type(x) is int else x for x in args))
        raise error

    def _flatten(self, value: object) -> tuple[Type, Sequence[Number]]:
        if isinstance(value, bool):
            return b1, (value,)
        if isinstance(value, int):
            return self._integer_type(value), (int(value),)
        if isinstance(value, np.generic):
            t = as_concrete(type(value))
            if t is not None:
                return t, (value.item(),)
        if isinstance(value, StructValue):
            return value.__heald_type__, struct_leaves(value)
        raise TypingError(
            Diagnostic(
                "H0702",
                f"'{self._name}' cannot be called from Python with {describe(value)}",
                notes=accepted(self._name, self._functions()),
                hint="host calls take numbers, vectors, matrices, quaternions, transforms and "
                "structs",
            )
        )

    def _integer_type(self, value: int) -> Type:
        for t in (i32, i64, u64):
            if t.lowest <= value <= t.highest:
                return t
        bits = value.bit_length()
        message = f"'{self._name}' is called with an integer of {bits} bits, which no type holds"
        raise TypingError(Diagnostic("H0202", message, hint="pass a float where that will do"))

    def _compile(self, types: tuple[Type, ...]) -> _Compiled:
        closure, results = compile_call(self._name, self._functions(), types)
        updated = results[: len(self._updates)]
        skipped = sum(len(leaves(t)) for t in updated)
        changes = [k for k, t in zip(self._updates, updated, strict=True) if _is_changeable(t)]
        wrap = _wrapper(results[len(self._updates) :])

        def run(flat: Sequence[Number], args: Sequence[object]) -> Any:
            return wrap(closure(flat)[skipped:])

        def run_and_change(flat: Sequence[Number], args: Sequence[object]) -> Any:
            found = closure(flat)
            start = 0
            for k, t in zip(self._updates, updated, strict=True):
                argument, count = args[k], len(leaves(t))
                if isinstance(argument, HostValue):
                    argument.assign(found[start : start + count])
                start += count
            return wrap(found[skipped:])

        return run_and_change if changes else run


def _number_type(t: Type | _Literal) -> Scalar | None:
    """The type of a number, or of the components of a vector or the like."""
    if isinstance(t, (Vector, Matrix, Quaternion, Transform)):
        return t.dtype
    return t if isinstance(t, Scalar) else None


_Literal = type[float]
"""Stands for a Python float among the types of arguments."""

_Compiled = Callable[[Sequence[Number], Sequence[object]], Any]


def _is_changeable(t: Type) -> bool:
    return isinstance(t, (Vector, Matrix, Quaternion, Transform))


def _wrapper(results: Sequence[Type]) -> Callable[[Sequence[Number]], Any]:
    """From the leaves of the results to what the caller gets."""
    if not results:
        return lambda flat: None
    if len(results) == 1:
        return _wrap_one(results[0])
    parts = [(_wrap_one(t), len(leaves(t))) for t in results]

    def several(flat: Sequence[Number]) -> tuple[Any, ...]:
        out, start = [], 0
        for wrap, count in parts:
            out.append(wrap(flat[start : start + count]))
            start += count
        return tuple(out)

    return several


def _wrap_one(t: Type) -> Callable[[Sequence[Number]], Any]:
    if isinstance(t, Scalar):
        return lambda flat: flat[0]
    return partial(make_value, t)
