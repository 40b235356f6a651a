"""``wp.map``: a function applied to every element of arrays, by a kernel made for it."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from heald.api.array import array, make_array, new_array
from heald.api.array_input import bad_shape, read_only_error
from heald.api.array_memory import is_same, overlap
from heald.api.array_views import overlaps_itself
from heald.api.function import Function
from heald.api.host_value import HostValue
from heald.api.indexed import indexedarray
from heald.api.intrinsics import tid
from heald.api.kernel import Kernel, Module, kernel
from heald.api.launch import launch
from heald.api.scalars import describe
from heald.api.struct import StructValue, require_element, spell
from heald.config import config
from heald.diagnostics import Diagnostic, LaunchError, TypingError
from heald.driver import describe_overloads, resolve, result_types
from heald.frontend import signature_of
from heald.runtime import Device, get_device
from heald.types import (
    Array,
    Element,
    Scalar,
    Struct,
    Type,
    as_concrete,
    b1,
    f32,
    fits,
    i32,
    i64,
    leaves,
)

_MOST_KERNELS = 512
_WIDE = 1 << 31


def map_(
    func: Any,
    *inputs: Any,
    out: Any = None,
    return_kernel: bool = False,
    block_dim: int = 256,
    device: Any = None,
) -> Any:
    """Apply a function to every element of arrays.

    ``wp.map(f, a, b, 2.0)`` is ``f(a[i], b[i], 2.0)`` for every index ``i``, as an array of the
    type that ``f`` gives.  Arrays broadcast as in numpy; numbers, vectors, structs and the like go
    to every call.  A Python number takes the type of the annotation, else of the arrays: a float
    is of their widest float type (float32 where they have none), an int of their integer type
    where they have one and it fits, else int32.

    Args:
        func: made by ``@wp.func``, a builtin, or a plain Python function or lambda whose source can
            be read.
        inputs: what it is called with; at least one array, numpy array or indexed array, unless
            ``out`` is given.
        out: the array, or one for each result, to write; it may be one of the inputs or overlap
            them.
        return_kernel: do not run the kernel but return it: its parameters are those of ``func``,
            then the outputs, and its launch dims are those of the arrays.
        block_dim: threads of a block.
        device: where to run; that of the arrays by default.

    Returns:
        The output, a tuple of outputs where ``func`` gives several results, or the kernel.

    Raises:
        TypingError: an argument or ``out`` is of a wrong type (H0702), or ``func`` is no function
            (H0102).
        LaunchError: shapes do not broadcast (H0711), arrays live on several devices (H0704), or
            ``out`` is read-only (H0705) or not one for each result (H0701).
        CompileError: ``func`` does not take these types, or is outside the language.
        KernelFault: as a launch.
    """
    name, functions = _functions_of(func)
    values = [_input(name, k, value) for k, value in enumerate(inputs)]
    outputs = _given_outputs(out)
    arrays = [v for v in values if isinstance(v, array)]
    if not arrays and not outputs:
        raise _refused("H0702", f"wp.map of '{name}' needs an array to go through")
    shape = _broadcast(name, arrays) if arrays else outputs[0].shape
    types = _argument_types(name, functions, values)
    place = _common_device(name, [*arrays, *outputs], device)
    indexed = tuple(isinstance(v, array) for v in values)
    wide = max(shape) >= _WIDE
    form = _find_form(_Call(name, tuple(types), indexed, len(shape)), functions, wide)
    if outputs:
        _check_outputs(name, outputs, form.results, shape)
    if return_kernel:
        return form.kernel
    outputs = outputs or [new_array(t, shape, place) for t in form.results]
    given = [_stretch(v, shape, outputs) if isinstance(v, array) else v for v in values]
    launch(form.kernel, shape, given, outputs, place, block_dim)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _refused(code: str, message: str, hint: str = "") -> LaunchError:
    return LaunchError(Diagnostic(code, message, hint=hint))


# -- arguments -------------------------------------------------------------------------------------


def _functions_of(func: Any) -> tuple[str, list[FunctionType]]:
    """Name and overloads of what is mapped."""
    if isinstance(func, FunctionType):
        return func.__name__, [func]
    overloads = getattr(func, "__heald_overloads__", None)
    if overloads is None and any(func is known for known in (abs, min, max)):
        builtin = resolve(func.__name__)
        return func.__name__, list(builtin.__heald_overloads__)
    if overloads is None or isinstance(func, type):
        called = getattr(func, "__name__", "")
        hint = "a kernel is launched; a method, a type or an object goes into a lambda"
        if isinstance(func, BuiltinFunctionType) and resolve(called) is not None:
            hint = f"write wp.{called}"
        raise TypingError(
            Diagnostic("H0102", f"wp.map takes a function, not {describe(func)}", hint=hint)
        )
    if getattr(func, "updates", ()):
        raise TypingError(
            Diagnostic(
                "H0102",
                f"'{func.key}' changes its argument, so it cannot be mapped",
                hint="write a function that changes a copy and returns it",
            )
        )
    return func.key, list(overloads)


def _input(name: str, k: int, value: Any) -> Any:
    if isinstance(value, (array, HostValue, StructValue, bool, int, float, np.generic)):
        return value
    if isinstance(value, indexedarray):
        return value.contiguous()
    if isinstance(value, np.ndarray):
        return array(value, copy=not (value.dtype.isnative and value.flags.aligned))
    message = f"argument {k} of '{name}' in wp.map cannot be {describe(value)}"
    is_data = isinstance(value, (list, tuple)) or hasattr(type(value), "__array__")
    hint = "make it an array with wp.array(x), or share it with copy=False" if is_data else ""
    raise TypingError(Diagnostic("H0702", message, hint=hint))


def _given_outputs(out: Any) -> list[array]:
    if out is None:
        return []
    given = list(out) if isinstance(out, (list, tuple)) else [out]
    for k, one in enumerate(given):
        if isinstance(one, np.ndarray):
            given[k] = array(one, copy=False)
        elif not isinstance(one, array):
            raise TypingError(
                Diagnostic("H0702", f"out takes arrays to write, not {describe(one)}")
            )
    return given


def _broadcast(name: str, arrays: Sequence[array]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        shapes = ", ".join(str(a.shape) for a in arrays)
        message = f"arrays of shapes {shapes} do not broadcast in wp.map of '{name}'"
        hint = "counted from the last dimension, extents must be equal or 1"
        raise bad_shape(message, hint) from None


def _common_device(name: str, arrays: Sequence[array], device: Any) -> Device:
    place = arrays[0].device if device is None else get_device(device)
    for a in arrays:
        if a.device != place:
            raise _refused(
                "H0704",
                f"an array of wp.map of '{name}' lives on '{a.device}', the map is on '{place}'",
                f"copy it with .to('{place}')",
            )
    return place


def _check_outputs(
    name: str, outputs: Sequence[array], results: Sequence[Element], shape: tuple[int, ...]
) -> None:
    if len(outputs) != len(results):
        raise _refused(
            "H0701", f"'{name}' gives {len(results)} results, out has {len(outputs)} arrays"
        )
    for k, (given, t) in enumerate(zip(outputs, results, strict=True)):
        if given.element_type is not t:
            raise TypingError(
                Diagnostic(
                    "H0702",
                    f"result {k} of '{name}' is {spell(t)}, out has {spell(given.element_type)}",
                    hint="convert in the function, or make out of that dtype",
                )
            )
        if given.shape != shape:
            raise bad_shape(f"wp.map of '{name}' has shape {shape}, out has shape {given.shape}")
        if given.read_only:
            raise LaunchError(read_only_error("out"))
        if overlaps_itself((given.shape, given.strides), given.itemsize):
            raise bad_shape(f"elements of out share memory (strides {given.strides})")
    for k, one in enumerate(outputs):
        if any(overlap(one, other) for other in outputs[:k]):
            raise bad_shape("the arrays of out share memory")


def _stretch(a: array, shape: tuple[int, ...], outputs: Sequence[array]) -> array:
    """The array with the shape of the map; a copy where its elements are overwritten by others."""
    missing = len(shape) - a.ndim
    strides = [0] * missing
    strides += [
        0 if old != new else s
        for old, new, s in zip(a.shape, shape[missing:], a.strides, strict=True)
    ]
    if 0 in shape:
        return new_array(a.element_type, shape, a.device)
    for out in outputs:
        # A thread that reads and writes the same element is in nobody's way.
        if overlap(a, out) and not is_same(a, out):
            return _stretch(a.clone(), shape, ())
    return make_array(
        a.element_type, a._ptr, shape, tuple(strides), a.device, a.owner, read_only=a.read_only
    )


# -- types -----------------------------------------------------------------------------------------


def _argument_types(
    name: str, functions: Sequence[FunctionType], values: Sequence[Any]
) -> list[Type]:
    """The type of one element of each array, and of everything else."""
    scalars = {
        leaf
        for v in values
        if isinstance(v, array)
        for leaf in leaves(v.element_type)
        if isinstance(leaf, Scalar)
    }
    annotated = _annotated(functions, len(values))
    return [
        v.element_type if isinstance(v, array) else _value_type(name, v, t, scalars)
        for v, t in zip(values, annotated, strict=True)
    ]


def _annotated(functions: Sequence[FunctionType], count: int) -> list[Scalar | None]:
    """The scalar types that the only overload says its parameters are."""
    found: list[Scalar | None] = []
    if len(functions) == 1:
        for _, _, pattern, _ in (signature_of(functions[0]) or ())[:count]:
            t = as_concrete(pattern) if pattern is not None else None
            found.append(t if isinstance(t, Scalar) else None)
    return found + [None] * (count - len(found))


def _value_type(name: str, value: Any, annotated: Scalar | None, scalars: set[Scalar]) -> Type:
    if isinstance(value, (HostValue, StructValue)):
        return value.__heald_type__
    if isinstance(value, np.generic):
        t = as_concrete(type(value))
        if t is None:
            raise TypingError(
                Diagnostic("H0702", f"'{name}' in wp.map cannot take {describe(value)}")
            )
        return t
    if annotated is not None:
        return annotated
    if isinstance(value, bool):
        return b1
    if isinstance(value, float):
        return _float_type(scalars)
    own = [t for t in scalars if t.is_integer and t is not b1]
    if len(own) == 1 and fits(value, own[0]):
        return own[0]
    if not fits(value, i64):
        raise TypingError(
            Diagnostic("H0702", f"'{name}' in wp.map cannot take {value}, which needs over 64 bits")
        )
    return i32 if fits(value, i32) else i64


def _float_type(scalars: set[Scalar]) -> Scalar:
    """The widest float type; float16 and bfloat16 meet in float32."""
    floats = [t for t in scalars if t.is_float]
    widest = max((t.bits for t in floats), default=0)
    found = [t for t in floats if t.bits == widest]
    return found[0] if len(found) == 1 else f32


def _results(
    name: str, functions: Sequence[FunctionType], types: Sequence[Type]
) -> tuple[Element, ...]:
    results = []
    for t in result_types(name, functions, types):
        if isinstance(t, Array):
            raise TypingError(
                Diagnostic("H0702", f"'{name}' returns an array; wp.map takes values")
            )
        if isinstance(t, Struct):
            require_element(t)
        results.append(t)
    if not results:
        raise TypingError(
            Diagnostic(
                "H0702", f"'{name}' returns nothing to map", hint="write `return` and the result"
            )
        )
    return tuple(results)


# -- kernels ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """What is mapped.

    Attributes:
        name: of the function.
        types: of its arguments.
        indexed: which of them are elements of arrays.
        rank: number of dimensions, 1 to 4.
    """

    name: str
    types: tuple[Type, ...]
    indexed: tuple[bool, ...]
    rank: int


@dataclass(frozen=True, slots=True)
class _Form:
    """The kernel of a map, and the types of its results."""

    kernel: Kernel
    results: tuple[Element, ...]


_FORMS: dict[tuple[object, ...], _Form] = {}
"""A cache: kernels by what their functions mean; the oldest go first."""


def _find_form(call: _Call, functions: Sequence[FunctionType], wide: bool) -> _Form:
    """The kernel for a function as it is now.

    Settings and index width are part of the key, so that no kernel is ever lowered again, when the
    variables that its function captures may have changed.
    """
    described = describe_overloads(call.name, functions)
    key = (repr(described), call, wide, config.revision)
    found = _FORMS.get(key) if described is not None else None
    if found is None:
        results = _results(call.name, functions, call.types)
        found = _Form(_make_kernel(call, results, functions), results)
        if described is not None:
            _FORMS[key] = found
            while len(_FORMS) > _MOST_KERNELS:
                _FORMS.pop(next(iter(_FORMS)), None)
    return found


def _make_kernel(
    call: _Call, results: Sequence[Element], functions: Sequence[FunctionType]
) -> Kernel:
    short = call.name if call.name.isidentifier() else "lambda"
    text = _kernel_text(call, len(results), f"map_{short}")
    file = f"<wp.map of {short}: {text.splitlines()[-1].strip()}>"
    names: dict[str, Any] = {"__name__": "heald.map", "tid": tid}
    names["f"] = Function(call.name, list(functions))
    for k, t in enumerate(call.types):
        names[f"T{k}"] = Array(_element(t), call.rank) if call.indexed[k] else t
    for k, t in enumerate(results):
        names[f"R{k}"] = Array(t, call.rank)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    made: Kernel = kernel(names[f"map_{short}"], module=Module("heald.map"))
    return made


def _element(t: Type) -> Element:
    assert not isinstance(t, Array)
    return t


def _kernel_text(call: _Call, results: int, name: str) -> str:
    """A kernel of one call, which the text shows."""
    index = ", ".join("ijkl"[: call.rank])
    parameters = [f"a{k}: T{k}" for k in range(len(call.types))]
    parameters += [f"out{k}: R{k}" for k in range(results)]
    given = [f"a{k}[{index}]" if known else f"a{k}" for k, known in enumerate(call.indexed)]
    targets = ", ".join(f"out{k}[{index}]" for k in range(results))
    return (
        f"def {name}({', '.join(parameters)}):\n"
        f"    {index} = tid()\n"
        f"    {targets} = f({', '.join(given)})\n"
    )
