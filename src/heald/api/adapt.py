"""From what users give a launch to what a program takes: checked, converted, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from heald.api.array import array
from heald.api.dlpack import is_on_host
from heald.api.foreign import is_on_gpu
from heald.api.indexed import indexedarray
from heald.api.scalars import Misfit, convert, describe
from heald.api.struct import spell, take_leaves
from heald.diagnostics import (
    CompileError,
    Diagnostic,
    HealdError,
    LaunchError,
    Note,
    TypingError,
)
from heald.driver import Argument, ArrayArgument, LeafValue, Program, needs_wide_index
from heald.runtime import Allocation, Device
from heald.runtime.cuda import PinnedMemory
from heald.types import (
    Anything,
    Array,
    ArrayPattern,
    IndexedPattern,
    Pattern,
    Scalar,
    Struct,
    Type,
    TypeClass,
    as_concrete,
    as_indexed,
    b1,
    f32,
    i32,
    i64,
    is_generic,
    leaves,
    match_pattern,
)

if TYPE_CHECKING:
    from heald.api.kernel import Kernel

_INT32 = range(i32.lowest, i32.highest + 1)


def adapt_arguments(kernel: Kernel, values: Sequence[Any], device: Device) -> list[Argument]:
    """Each value as what its parameter takes.

    Raises:
        LaunchError: wrong count, type, rank or device, naming parameter, expected and given.
    """
    parameters, defaults = kernel.parameters, kernel.defaults
    missing = len(parameters) - len(values)
    if not 0 <= missing <= len(defaults):
        raise LaunchError(_wrong_count(kernel, len(values)))
    values = [*values, *defaults[len(defaults) - missing :]]
    bound: dict[str, Any] = {}
    return [
        _adapt(kernel, name, pattern, value, device, bound)
        for (name, pattern), value in zip(parameters, values, strict=True)
    ]


def adapt_argument(kernel: Kernel, index: int, t: Type, value: Any, device: Device) -> Argument:
    """A value as what parameter ``index`` takes, whose type is known.

    Raises:
        LaunchError: as above.
    """
    name, _ = kernel.parameters[index]
    return _adapt(kernel, name, t, value, device, {})


def _wrong_count(kernel: Kernel, given: int) -> Diagnostic:
    names = [name for name, _ in kernel.parameters]
    message = f"kernel '{kernel.key}' takes {len(names)} arguments, {given} given"
    hint = f"missing: {', '.join(names[given:])}" if given < len(names) else ""
    note = Note(f"its parameters are {', '.join(names) or 'none'}")
    return Diagnostic("H0701", message, notes=(note,), hint=hint)


def _refusal(code: str, kernel: Kernel, name: str, why: str, hint: str = "") -> LaunchError:
    return LaunchError(
        Diagnostic(code, f"argument '{name}' of kernel '{kernel.key}' {why}", hint=hint)
    )


def _adapt(
    kernel: Kernel, name: str, pattern: Pattern, value: Any, device: Device, bound: dict[str, Any]
) -> Argument:
    concrete = as_concrete(pattern)
    if isinstance(concrete, Array) or isinstance(pattern, ArrayPattern):
        return _array_argument(kernel, name, pattern, value, device)
    if isinstance(pattern, IndexedPattern) or (concrete and as_indexed(concrete)):
        return _indexed_argument(kernel, name, pattern, value, device)
    if isinstance(concrete, Scalar):
        return _scalar_argument(kernel, name, concrete, value)
    if concrete is not None:
        return _composite_argument(kernel, name, concrete, value, device)
    if isinstance(value, (array, np.ndarray)):
        if pattern is Anything:
            return _array_argument(kernel, name, ArrayPattern(Anything, Anything), value, device)
        raise _refusal("H0702", kernel, name, f"takes {pattern!r}, not an array")
    if pattern is Anything and isinstance(value, indexedarray):
        anything = IndexedPattern(Anything, Anything)
        return _indexed_argument(kernel, name, anything, value, device)
    t = _own_type(kernel, name, value)
    if isinstance(pattern, TypeClass) and isinstance(value, int) and t not in pattern.members:
        t = bound.get(pattern.name, f32)
    if not match_pattern(pattern, t, bound):
        raise _refusal("H0702", kernel, name, f"takes {pattern!r}, not {spell(t)}")
    return _adapt(kernel, name, t, value, device, bound)


def _own_type(kernel: Kernel, name: str, value: Any) -> Type:
    """The type that a value has by itself, for generic parameters."""
    if isinstance(value, bool):
        return b1
    if isinstance(value, int):
        return i32 if value in _INT32 else i64
    if isinstance(value, float) and not isinstance(value, np.generic):
        return f32
    t = as_concrete(type(value))
    if t is None:
        raise _refusal("H0702", kernel, name, f"cannot be {describe(value)}")
    return t


def _scalar_argument(kernel: Kernel, name: str, t: Scalar, value: Any) -> Argument:
    converted = convert(t, value)
    if isinstance(converted, Misfit):
        hint = converted.hint or _instead(value)
        raise _refusal("H0702", kernel, name, f"is {t.public}: {converted.why}", hint)
    return Argument(t, (converted,))


def _instead(value: Any) -> str:
    """What to pass where a number is taken."""
    if isinstance(value, (array, indexedarray, np.ndarray)):
        return "pass one element of it, or annotate the parameter with wp.array(dtype=...)"
    if isinstance(getattr(type(value), "id", None), property):
        return "kernels take its handle: write .id behind it"
    return ""


def _composite_argument(kernel: Kernel, name: str, t: Type, value: Any, device: Device) -> Argument:
    try:
        parts = take_leaves(t, value, f"argument '{name}' of kernel '{kernel.key}'")
    except TypingError as error:
        raise LaunchError(*(_as_launch(d) for d in error.diagnostics)) from None
    out: list[LeafValue] = []
    for leaf, part in zip(leaves(t), parts, strict=True):
        if isinstance(leaf, Array):
            out.append(_descriptor(kernel, name, leaf, part, device))
        else:
            out.append(part)
    return Argument(t, tuple(out))


def _as_launch(d: Diagnostic) -> Diagnostic:
    return Diagnostic("H0702", d.message, d.span, d.label, d.notes, d.hint)


def _array_argument(
    kernel: Kernel, name: str, pattern: Pattern, value: Any, device: Device
) -> Argument:
    if value is None and isinstance(pattern, Array):
        return Argument(pattern, (_empty(pattern),))
    if device.is_cuda and is_on_host(value):
        raise _refusal(
            "H0704",
            kernel,
            name,
            f"is in memory of the host, the launch is on '{device}'",
            f"copy the {type(value).__name__} there: wp.array(x, device='{device}')",
        )
    if isinstance(value, np.ndarray) or is_on_gpu(value):
        try:
            dtype = _wanted(pattern)[0] if is_on_gpu(value) else None
            value = array(value, dtype, copy=False, device=device)
        except HealdError as error:
            whose = f"argument '{name}' of kernel '{kernel.key}'"
            named = (replace(d, message=f"{whose}: {d.message}") for d in error.diagnostics)
            raise LaunchError(*named) from None
    if not isinstance(value, array):
        expected = spell(pattern) if not is_generic(pattern) else repr(pattern)
        raise _refusal(
            "H0702",
            kernel,
            name,
            f"is {expected}, not {describe(value)}",
            _array_instead(value, device),
        )
    _check_kind(kernel, name, *_wanted(pattern), value)
    t = Array(value.element_type, value.ndim)
    if is_generic(pattern) and not match_pattern(pattern, t, {}):
        raise _refusal("H0702", kernel, name, f"takes {pattern!r}, not {spell(t)}")
    return Argument(t, (_descriptor(kernel, name, t, value, device),))


def _array_instead(value: Any, device: Device) -> str:
    """What to pass where an array is taken."""
    if isinstance(value, indexedarray):
        return "annotate it with wp.indexedarray(dtype=...), or pass x.contiguous()"
    if is_on_host(value):
        return "take it as an array, without a copy: wp.from_dlpack(x)"
    where = f", device='{device}'" if device.is_cuda else ""
    return f"make one with wp.array(...{where}) or wp.zeros(...{where})"


def _indexed_argument(
    kernel: Kernel, name: str, pattern: Pattern, value: Any, device: Device
) -> Argument:
    """``pattern`` may be one type, which says what dimensions have indices."""
    known = as_indexed(pattern) if isinstance(pattern, Struct) else None
    if not isinstance(value, indexedarray):
        raise _refusal(
            "H0702",
            kernel,
            name,
            f"is an indexed array, not {describe(value)}",
            "make one with wp.indexedarray(a, [indices or None, ...])",
        )
    if known is not None:
        _check_kind(kernel, name, known.dtype, known.ndim, value)
    else:
        assert isinstance(pattern, IndexedPattern)
        ndim = pattern.ndim if isinstance(pattern.ndim, int) else None
        _check_kind(kernel, name, as_concrete(pattern.dtype), ndim, value)
    t = value.__heald_type__
    if known is not None and t is not pattern:
        raise _refusal(
            "H0702",
            kernel,
            name,
            "was compiled for an array with indices of other dimensions",
            "launch the kernel with wp.launch",
        )
    if not match_pattern(pattern, t, {}):
        raise _refusal("H0702", kernel, name, f"takes {pattern!r}, not {spell(t)}")
    parts = [value.data, *(a for a in value.indices if a is not None)]
    found = [
        _descriptor(kernel, name, leaf, part, device)
        for leaf, part in zip(leaves(t), parts, strict=True)
        if isinstance(leaf, Array)
    ]
    # Kernels never write indices, so it does not matter whether they may.
    rest = (replace(leaf, read_only=False) for leaf in found[1:])
    return Argument(t, (found[0], *rest))


def _check_kind(
    kernel: Kernel, name: str, dtype: Type | None, ndim: int | None, value: array | indexedarray
) -> None:
    """Refuse another element type or number of dimensions than a parameter's."""
    if dtype is not None and value.element_type is not dtype:
        raise _refusal(
            "H0702",
            kernel,
            name,
            f"has element type {spell(dtype)}, the array given has {spell(value.element_type)}",
            f"make the array with dtype={spell(dtype)}, or change the annotation",
        )
    if ndim is not None and value.ndim != ndim:
        raise _refusal(
            "H0703",
            kernel,
            name,
            f"has {ndim} dimension{'s' * (ndim != 1)}, the array given has "
            f"{value.ndim} (shape {value.shape})",
            f"annotate it with ndim={value.ndim}, or reshape the array",
        )


def _wanted(pattern: Pattern) -> tuple[Type | None, int | None]:
    if isinstance(pattern, Array):
        return pattern.dtype, pattern.ndim
    assert isinstance(pattern, ArrayPattern)
    ndim = pattern.ndim if isinstance(pattern.ndim, int) else None
    return as_concrete(pattern.dtype), ndim


def _empty(t: Array) -> ArrayArgument:
    zeros = (0,) * t.ndim
    return ArrayArgument(0, zeros, zeros, t.dtype, None)


def _descriptor(kernel: Kernel, name: str, t: Array, value: Any, device: Device) -> ArrayArgument:
    if value is None:
        return _empty(t)
    if value.device != device:
        raise _refusal(
            "H0704",
            kernel,
            name,
            f"lives on '{value.device}', the launch is on '{device}'",
            f"launch with device='{value.device}', or copy the array with .to('{device}')",
        )
    owner = value.owner
    return ArrayArgument(
        value.address,
        value.shape,
        value.strides,
        value.element_type,
        (value, owner),
        value.read_only,
        owner if isinstance(owner, Allocation) else None,
        owner if isinstance(owner, PinnedMemory) else None,
    )


# -- programs --------------------------------------------------------------------------------------


def find_program(
    kernel: Kernel, arguments: Sequence[Argument], dims: Sequence[int], device: Device
) -> tuple[Program, list[Argument]]:
    """The program for a launch, with some variant compiled, and what it takes: the arguments, and
    the tables that it captured.

    Raises:
        LaunchError: the kernel reads another number of indices (H0706), would write read-only
            memory (H0705), or does not type with the 64-bit indices that are needed (H0210).
        CompileError: the kernel is outside the language.
    """
    program = _specialise(kernel, arguments, dims)
    check_rank(kernel, program, dims)
    taken = [*arguments, *table_arguments(kernel, program, device)]
    program.compile_for(device, dims, taken)
    _check_writable(kernel, program, arguments)
    return program, taken


def table_arguments(kernel: Kernel, program: Program, device: Device) -> list[Argument]:
    """The tables that a program captured, as it takes them."""
    return [
        _array_argument(kernel, name, table.__heald_table__, table.on(device), device)
        for name, table in program.tables
    ]


def _specialise(kernel: Kernel, arguments: Sequence[Argument], dims: Sequence[int]) -> Program:
    """With 64-bit indices where a dim or extent reaches 2^31."""
    types = [argument.type for argument in arguments]
    if not needs_wide_index(arguments, dims):
        return kernel.program(types)
    try:
        return kernel.program(types, wide_index=True)
    except CompileError as error:
        message = (
            f"kernel '{kernel.key}' does not compile with 64-bit indices, which this launch needs: "
            "a launch dim or an array extent is 2^31 or more"
        )
        hint = "tid(), range and a.shape[k] are int64 here; cast where the places below say so"
        raise LaunchError(Diagnostic("H0210", message, hint=hint), *error.diagnostics) from None


def check_rank(kernel: Kernel, program: Program, dims: Sequence[int]) -> None:
    """A kernel that reads n indices is launched on n dims."""
    rank = program.rank
    if rank not in (0, len(dims)):
        hint = f"launch it with {rank} dimension{'s' * (rank != 1)}"
        if rank == 1:
            hint += f"; dim counts threads: {prod(dims)} of them, in blocks of block_dim"
        names = ", ".join("ijkl"[: len(dims)])
        hint += f"; or read {len(dims)} of them, `{names} = wp.tid()`"
        raise LaunchError(
            Diagnostic(
                "H0706",
                f"kernel '{kernel.key}' reads {rank} thread "
                f"ind{'ex' if rank == 1 else 'ices'}, but dim {tuple(dims)} has {len(dims)}",
                hint=hint,
            )
        )


def _check_writable(kernel: Kernel, program: Program, arguments: Sequence[Argument]) -> None:
    written_or_not = program.written()[: len(arguments)]  # the rest are tables, which never are
    for (name, _), argument, written in zip(
        kernel.parameters, arguments, written_or_not, strict=True
    ):
        for leaf in argument.leaves:
            if written and isinstance(leaf, ArrayArgument) and leaf.read_only:
                raise _refusal(
                    "H0705",
                    kernel,
                    name,
                    "is written by the kernel, but the array given is read-only memory",
                    "pass a copy: wp.array(data, copy=True)",
                )
