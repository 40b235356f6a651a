"""What users hand to ``wp.array``: lists, numpy arrays, host values, anything numpy can read."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from numbers import Integral, Number
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.casting import cast_elements, misfit, no_numbers, scalar_of
from heald.api.host_value import HostValue
from heald.api.scalars import describe, integer_of, is_number
from heald.api.struct import StructValue, require_element, spell, struct_leaves
from heald.diagnostics import Diagnostic, LaunchError, Note, TypingError
from heald.runtime import byte_size, byte_span, codec_of, contiguous_strides
from heald.types import (
    BY_NAME,
    Array,
    Bfloat16,
    Scalar,
    Struct,
    Type,
    align_of,
    as_concrete,
    as_type,
    b1,
    bf16,
    f32,
    fits,
    i32,
    leaves,
    numpy_dtype,
    size_of,
)
from heald.types.descriptors import Element

NDArray = npt.NDArray[Any]

MAX_RANK = 4
_EXACT_FLOATS = 2.0**53
"""Integers below are float64 numbers, all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Elements ready to be copied or shared.

    Attributes:
        values: numbers with the axes of ``shape`` and then those of ``element``, or records.
        element: their type.
        shape: the axes of the array, one to four.
    """

    values: NDArray
    element: Element
    shape: tuple[int, ...]


def element_of(dtype: Any) -> Element:
    """The element type that a user names as a dtype.

    Raises:
        TypingError: it is none (H0207), or a struct with an array inside (H0208).
    """
    t = as_concrete(dtype)
    if t is None or isinstance(t, Array):
        raise TypingError(_no_element(dtype))
    if isinstance(t, Struct):
        require_element(t)
    return t


def _no_element(dtype: Any) -> Diagnostic:
    hint = "use bool, int, float, wp.int8 to wp.float64, wp.vec3 and its kin, or a struct"
    if isinstance(dtype, str) and any(dtype == t.public for t in BY_NAME.values()):
        hint = f"use wp.{dtype}, without quotes"
    elif isinstance(dtype, int):
        hint = "the number of dimensions goes into ndim=, the extents into shape="
    elif isinstance(as_type(dtype), Array):
        hint = "an array of more dimensions has ndim=2; there are no arrays of arrays"
    elif as_type(dtype) is not None:
        hint = "name one concrete type, such as float"
    return Diagnostic("H0207", f"{describe(dtype)} is no element type", hint=hint)


def check_shape(shape: Any) -> tuple[int, ...]:
    """A shape as one to four ints that are not negative.

    Raises:
        LaunchError: it is something else (H0711).
    """
    given = list(shape) if isinstance(shape, (tuple, list, np.ndarray)) else [shape]
    extents = []
    for entry in given:
        extent = integer_of(entry)
        if extent is None:
            raise bad_shape(f"a shape is an integer or a tuple of them, not {shape!r}")
        extents.append(extent)
    if any(extent < 0 for extent in extents):
        raise bad_shape(f"shape {shape!r} has a negative extent")
    check_rank(len(extents))
    return tuple(extents)


def check_rank(ndim: int) -> None:
    """Refuse a number of dimensions that arrays do not have.

    Raises:
        LaunchError: it is not 1 to 4 (H0711).
    """
    if not 1 <= ndim <= MAX_RANK:
        raise bad_shape(
            f"arrays have 1 to {MAX_RANK} dimensions, not {ndim}",
            "join dimensions with reshape" if ndim > MAX_RANK else "",
        )


def bad_shape(message: str, hint: str = "") -> LaunchError:
    """The error of a shape that cannot be."""
    return LaunchError(Diagnostic("H0711", message, hint=hint))


def refuse_gradients(requires_grad: object) -> None:
    """Refuse to keep gradients: arrays have none.

    Raises:
        LaunchError: they were asked for (H0716).
    """
    if requires_grad:
        raise LaunchError(
            Diagnostic(
                "H0716",
                "requires_grad=True: this version of Heald has no gradients",
                hint="leave requires_grad out",
            )
        )


def read_only_error(what: str) -> Diagnostic:
    """Why ``what`` cannot be written."""
    return Diagnostic(
        "H0705",
        f"{what} cannot be written: it shares the memory of a read-only numpy array",
        hint="make it without copy=False, or set `x.flags.writeable = True` before",
    )


def read_data(
    data: Any, element: Element | None, shape: tuple[int, ...] | None, *, convert: bool = True
) -> Elements:
    """The elements that ``data`` means.

    Without ``element`` Python floats become float32, Python ints int32, and everything that has a
    type keeps it.  Numbers for vectors and the like have their axes last, or in groups along the
    last axis.  A list of numbers is rounded or cut only where ``element`` was named to ``convert``
    it.

    Raises:
        TypingError: no numbers, or numbers that do not fit (H0712).
        LaunchError: a shape that does not suit (H0711), or memory of another device (H0704).
    """
    leaf_types = _leaf_types(data)
    if any(issubclass(t, StructValue) for t in leaf_types):
        values, element = _read_structs(data, element)
    else:
        if element is None:
            element = _own_type(data, leaf_types)
        source = _to_numpy(data, leaf_types)
        convert = convert and element is not None
        if element is None:
            element = _infer(source, leaf_types)
        if not convert:
            _refuse_losses(data, source, element, leaf_types)
        if source.dtype.kind == "f" and isinstance(data, (list, tuple)):
            source = _exact(data, source, element)
        values = cast_elements(source, element)
    inner = numpy_dtype(element).shape
    outer = _outer_shape(values.shape, inner, element) if shape is None else shape
    check_rank(len(outer))
    if prod(outer) * prod(inner) != values.size:
        raise bad_shape(
            f"shape {outer} takes {prod(outer)} elements of {spell(element)}, the data has "
            f"{values.size // max(1, prod(inner))}"
        )
    return Elements(values.reshape(outer + inner), element, outer)


def is_single(value: Any) -> bool:
    """Is it one value for all elements, rather than data of as many?"""
    return is_number(value) or isinstance(value, (HostValue, StructValue))


def has_memory(data: Any) -> bool:
    """Is there an array or another buffer behind ``data`` whose memory could be shared?"""
    if hasattr(data, "__array_interface__"):
        return True
    if isinstance(data, (HostValue, StructValue)):
        return False
    if hasattr(type(data), "__array__"):
        return True  # a tensor of another library; whether it gives its memory is checked later
    try:
        memoryview(data)
    except (TypeError, ValueError):
        return False
    return True


def check_sharing(given: Elements, origin: NDArray) -> None:
    """Refuse to share the memory of ``origin`` where its elements are not ``given`` as they stand.

    Raises:
        TypingError: numbers were converted, or lie otherwise than elements do (H0712).
    """
    values, element = given.values, given.element
    if not values.size:
        return
    split, align = len(given.shape), align_of(element)
    component = numpy_dtype(element)
    packed = contiguous_strides(component.shape, component.base.itemsize)
    why = ""
    if not np.may_share_memory(values, origin):
        why = f"data of dtype {origin.dtype} and shape {origin.shape} must be converted first"
    elif values.strides[split:] != packed:
        why = f"the components of a {spell(element)} must lie side by side"
    elif not _aligned(values.ctypes.data, given.shape, values.strides[:split], align):
        why = f"a {spell(element)} must lie at a multiple of {align} bytes"
    if why:
        raise TypingError(
            Diagnostic(
                "H0712",
                f"this memory cannot be shared: {why}",
                hint="copy it, wp.array(x), or convert the numpy array before",
            )
        )


def pin_memory(values: NDArray) -> list[object]:
    """What keeps the memory of a numpy array in its place.

    ``resize(refcheck=False)`` frees the memory of an array under all that share it, unless somebody
    has a weak reference to the array.
    """
    pins: list[object] = []
    while isinstance(values, np.ndarray):
        pins.append(weakref.ref(values))
        values = values.base  # type: ignore[assignment]
    return pins


def check_pointer(
    ptr: Any, element: Element, shape: tuple[int, ...], strides: Any
) -> tuple[int, ...]:
    """The byte strides of memory at an address, contiguous where None are given.

    Raises:
        LaunchError: no address, or strides that do not suit (H0711).
        DeviceError: more bytes than an address can reach (H0802).
    """
    byte_size(shape, size_of(element))
    steps = contiguous_strides(shape, size_of(element))
    if strides is not None:
        given = strides if isinstance(strides, (tuple, list)) else [strides]
        steps = tuple(step for step in map(integer_of, given) if step is not None)
        if len(steps) != len(given) or len(steps) != len(shape):
            raise bad_shape(f"strides={strides!r} are not {len(shape)} numbers of bytes")
    count = prod(shape)
    if type(ptr) is not int or (count and not 0 < ptr < 1 << 63):
        raise bad_shape(
            f"ptr= is the address of {count} elements, not {ptr!r}", "give an int, such as a.ptr"
        )
    low, high = byte_span(shape, steps, size_of(element))
    if count and not (ptr + low > 0 and ptr + high < 1 << 63):
        raise bad_shape(
            f"shape {shape} with strides {steps} reaches from address {ptr + low:#x} to "
            f"{ptr + high:#x}: there is no such memory"
        )
    if not _aligned(ptr, shape, steps, align_of(element)):
        raise bad_shape(
            f"address {ptr:#x} and strides {steps} must be multiples of {align_of(element)}, the "
            f"alignment of {spell(element)}"
        )
    return steps


def check_aligned(
    element: Element, ptr: int, layout: tuple[tuple[int, ...], tuple[int, ...]], what: str
) -> None:
    """Refuse memory whose address or byte strides do not suit an element type.

    Raises:
        TypingError: naming both (H0712).
    """
    shape, strides = layout
    align = align_of(element)
    if not _aligned(ptr, shape, strides, align):
        raise TypingError(
            Diagnostic(
                "H0712",
                f"{what} needs addresses that are multiples of {align}; the memory is at {ptr:#x} "
                f"with strides {strides}",
                hint="copy it into an array of its own, a.clone().view(...)",
            )
        )


def _aligned(ptr: int, shape: tuple[int, ...], strides: tuple[int, ...], align: int) -> bool:
    used = [stride for extent, stride in zip(shape, strides, strict=True) if extent > 1]
    return not any(number % align for number in (ptr, *used))


def _outer_shape(
    given: tuple[int, ...], inner: tuple[int, ...], element: Element
) -> tuple[int, ...]:
    """The axes of the array, when the numbers have shape ``given`` and an element ``inner``."""
    if not inner:
        return given or (1,)
    split = len(given) - len(inner)
    if split >= 0 and given[split:] == inner:
        return given[:split] or (1,)
    count = prod(inner)
    if given and given[-1] == count:
        return given[:-1] or (1,)
    if given and given[-1] % count == 0:
        return (*given[:-1], given[-1] // count)
    raise bad_shape(
        f"data of shape {given} does not divide into elements of {spell(element)}",
        f"its last axes should be {inner}" + (f", or its last a multiple of {count}"),
    )


# -- from Python objects ---------------------------------------------------------------------------


def _leaf_types(data: Any) -> set[type]:
    """The types of what a nested list or tuple holds; of anything else its own type."""
    if not isinstance(data, (list, tuple, range)):
        return {type(data)}
    found: set[type] = set(map(type, data))
    nested = [t for t in found if issubclass(t, (list, tuple, range))]
    if nested:
        found -= set(nested)
        for item in data:
            if isinstance(item, (list, tuple, range)):
                found |= _leaf_types(item)
    return found


def _own_type(data: Any, leaf_types: set[type]) -> Element | None:
    """The type of host values, where the data is made of them."""
    if leaf_types == {Bfloat16}:
        return bf16
    values = [t for t in leaf_types if issubclass(t, HostValue)]
    if not values:
        return None
    if len(leaf_types) > 1:
        names = ", ".join(sorted(t.__name__ for t in leaf_types))
        raise TypingError(
            Diagnostic("H0712", f"the data mixes {names}", hint="say dtype=, or use one type")
        )
    t: Element = values[0].__heald_type__
    return t


def _to_numpy(data: Any, leaf_types: set[type]) -> NDArray:
    # Only who has loaded numpy.ma has masked arrays, and loading it takes milliseconds.
    if "numpy.ma" in sys.modules and isinstance(data, np.ma.MaskedArray):
        message = "a masked array has elements without a value; those of Heald all have one"
        hint = "fill them first, for example with x.filled(0.0)"
        raise TypingError(Diagnostic("H0712", message, hint=hint))
    if isinstance(data, np.ndarray):
        return data.view(np.ndarray)
    if hasattr(data, "__cuda_array_interface__") and not hasattr(data, "__array_interface__"):
        message = f"{type(data).__name__} lives on a CUDA device, the array would be on the host"
        raise LaunchError(Diagnostic("H0704", message, hint="copy it to the host first"))
    if isinstance(data, (set, frozenset, dict, str, bytes)):
        raise _not_an_array(data)
    try:
        source = np.asarray(data)
    except (ValueError, TypeError, OverflowError, RuntimeError, BufferError) as error:
        first = str(error).partition("\n")[0]
        is_tensor = hasattr(type(data), "__dlpack__")
        raise TypingError(
            Diagnostic(
                "H0712",
                f"{describe(data)} does not make an array",
                notes=(Note(f"numpy says: {first}"),),
                hint="wp.from_torch and wp.from_dlpack take tensors as they are"
                if is_tensor
                else "rows need equal lengths, and every entry must be a number",
            )
        ) from None
    if source.dtype == object or (source.dtype.kind in "SU" and isinstance(data, (list, tuple))):
        raise _not_an_array(data)
    return source


def _not_an_array(data: Any) -> TypingError:
    if isinstance(data, np.ndarray):
        return no_numbers(data.dtype)
    if isinstance(data, (list, tuple)):
        bad = [x for x in _walk(data) if not _is_numeric(x)]
        if bad:
            message = f"the data holds {describe(bad[0])}, which is no number"
        else:
            message = "an integer of the data is beyond 64 bits"
        return TypingError(Diagnostic("H0712", message))
    hint = "use list(x)" if isinstance(data, Iterable) else "use a list or a numpy array"
    return TypingError(Diagnostic("H0712", f"{describe(data)} does not make an array", hint=hint))


def _walk(data: Any) -> Iterable[Any]:
    for item in data:
        if isinstance(item, (list, tuple)):
            yield from _walk(item)
        else:
            yield item


def _is_numeric(item: Any) -> bool:
    return isinstance(item, (bool, int, float, HostValue)) or (
        isinstance(item, (np.generic, np.ndarray)) and item.dtype.kind in "biuf"
    )


def _exact(data: Any, source: NDArray, element: Element) -> NDArray:
    """Numbers for integers, none of them rounded on the way.

    numpy makes floats of a list that holds floats, too, or integers that need both signs and all
    bits; ``source`` is what it made.
    """
    t = leaves(element)[0]
    if not (isinstance(t, Scalar) and t.is_integer) or np.all(np.abs(source) < _EXACT_FLOATS):
        return source
    numbers = np.array(data, dtype=object)
    if numbers.shape != source.shape or not np.all(np.isfinite(source)):
        return source
    whole = [int(x) for x in numbers.ravel()]
    for at, number in enumerate(whole):
        if not t.lowest <= number <= t.highest:
            raise misfit(numbers, at, f"{t.public} holds {t.lowest} to {t.highest}")
    return np.array(whole, t.carrier).reshape(source.shape)


def _refuse_losses(data: Any, source: NDArray, element: Element, leaf_types: set[type]) -> None:
    """Refuse numbers of a list that an element cannot hold, though it may round floats: as a single
    number is refused where it is assigned."""
    t = leaves(element)[0]
    if not isinstance(t, Scalar) or source.dtype.kind not in "iuf" or not source.size:
        return
    if isinstance(data, np.ndarray) or not any(issubclass(x, Number) for x in leaf_types):
        return
    if t is b1:
        other = (source != 0) & (source != 1)
        if other.any():
            raise misfit(source, int(np.argmax(other)), "bool holds True and False", "compare it")
        return
    if t.is_integer:
        if source.dtype.kind != "f":
            return  # whether they are in range is looked at where they are cast
        cut = np.isfinite(source) & (source != np.trunc(source))
        if cut.any():
            why = f"{t.public} has no fractions"
            raise misfit(source, int(np.argmax(cut)), why, "cut it off where that will do, int(x)")
        return
    digits = 8 if t is bf16 else np.finfo(t.carrier).nmant + 1
    whole = any(issubclass(x, Integral) for x in leaf_types)
    if not whole or np.all(np.abs(source.astype(np.float64)) < 2.0**digits):
        return
    numbers = np.array(data, dtype=object)
    for at, number in enumerate(numbers.ravel()):
        integer = integer_of(number)
        if integer is not None and not fits(integer, t):
            why = f"{t.public} cannot hold this integer exactly"
            raise misfit(numbers, at, why, f"write {float(integer)!r} where a rounded one will do")


def _infer(source: NDArray, leaf_types: set[type]) -> Element:
    """The element type of numbers when none was asked for."""
    if leaf_types <= {bool, int, float}:
        if source.dtype.kind == "b":
            return b1
        whole = float not in leaf_types if leaf_types else source.dtype.kind in "iu"
        return i32 if whole else f32
    t = scalar_of(source.dtype)
    if t is None:
        raise no_numbers(source.dtype)
    return t


def _read_structs(data: Any, element: Element | None) -> tuple[NDArray, Struct]:
    """Records of struct instances in a nested list."""
    first = data if isinstance(data, StructValue) else next(iter(_walk(data)))
    wanted: Any = element if element is not None else getattr(first, "__heald_type__", None)
    records = bytearray()
    shape = _nested_shape(data)
    for item in [data] if isinstance(data, StructValue) else _walk(data):
        given: Type | None = getattr(item, "__heald_type__", None)
        if given is not wanted or not isinstance(item, StructValue):
            shown = describe(item) if given is None else f"a {spell(given)}"
            raise TypingError(
                Diagnostic("H0712", f"an array of {spell(wanted)} cannot hold {shown}")
            )
        if not records:
            require_element(item.__heald_type__)
        records += codec_of(wanted).encode(struct_leaves(item))
    assert isinstance(wanted, Struct)
    return np.frombuffer(records, numpy_dtype(wanted)).reshape(shape), wanted


def _nested_shape(data: Any) -> tuple[int, ...]:
    if not isinstance(data, (list, tuple)):
        return ()
    shapes = {_nested_shape(item) for item in data}
    if len(shapes) != 1:
        raise TypingError(Diagnostic("H0712", "the rows of the data differ in length"))
    return (len(data), *shapes.pop())
