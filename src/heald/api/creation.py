"""Functions that make and copy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from heald.api.array import array, new_array
from heald.api.array_input import (
    bad_shape,
    check_shape,
    element_of,
    read_only_error,
    refuse_gradients,
)
from heald.api.indexed import indexedarray
from heald.api.scalars import describe, integer_of
from heald.api.struct import spell
from heald.diagnostics import Diagnostic, LaunchError, TypingError
from heald.frontend import intrinsic
from heald.runtime import get_device
from heald.runtime.cuda import ScopedStream, Stream
from heald.types import Element, as_concrete, b1, leaves, literal_type

Source = array | indexedarray


@intrinsic("zeros")
def zeros(
    shape: Any,
    dtype: Any = float,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
) -> array:
    """A new array of zeros.  In a kernel: an array of the thread, of a static shape.

    Args:
        shape: extents, one to four.
        dtype: element type.
        device: where; the current device by default.
        requires_grad: must be False.
        pinned: in memory of the host that GPUs copy from and to while the host goes on.

    Raises:
        TypingError: no element type (H0207).
        LaunchError: no shape (H0711), or gradients asked for (H0716).
        DeviceError: unknown device, not enough memory (H0801, H0802), or no GPU that could pin it
            (H0806).
    """
    refuse_gradients(requires_grad)
    place, extents = get_device(device), check_shape(shape)
    return new_array(element_of(dtype), extents, place, zeroed=True, pinned=pinned)


def empty(
    shape: Any,
    dtype: Any = float,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
) -> array:
    """A new array with unspecified contents; arguments and errors as :func:`zeros`."""
    refuse_gradients(requires_grad)
    return new_array(element_of(dtype), check_shape(shape), get_device(device), pinned=pinned)


def full(
    shape: Any,
    value: Any = 0,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
) -> array:
    """A new array whose elements are all ``value``; without ``dtype``, of the type of ``value``.

    Raises:
        TypingError: no element type (H0207), or the value is none of it (H0201, H0202).
        LaunchError, DeviceError: as :func:`zeros`.
    """
    refuse_gradients(requires_grad)
    element = _type_of_value(value) if dtype is None else element_of(dtype)
    made = new_array(element, check_shape(shape), get_device(device), pinned=pinned)
    return made.fill_(value)


def ones(
    shape: Any,
    dtype: Any = float,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
) -> array:
    """A new array of ones (vectors and matrices: every component); errors as :func:`full`."""
    refuse_gradients(requires_grad)
    element = element_of(dtype)
    made = new_array(element, check_shape(shape), get_device(device), pinned=pinned)
    return made.fill_(_one(element))


def empty_like(
    src: array, device: Any = None, requires_grad: bool = False, pinned: bool = False
) -> array:
    """A new contiguous array with shape and element type of ``src``, on its device or another.

    Raises:
        TypingError: ``src`` is no array (H0702).
        LaunchError: gradients asked for (H0716).
        DeviceError: as :func:`zeros`.
    """
    return _like(src, device, requires_grad, pinned)


def zeros_like(
    src: array, device: Any = None, requires_grad: bool = False, pinned: bool = False
) -> array:
    """As :func:`empty_like`, with zeros."""
    return _like(src, device, requires_grad, pinned, zeroed=True)


def ones_like(
    src: array, device: Any = None, requires_grad: bool = False, pinned: bool = False
) -> array:
    """As :func:`empty_like`, with ones."""
    made = _like(src, device, requires_grad, pinned)
    return made.fill_(_one(made.element_type))


def full_like(
    src: array,
    value: Any,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
) -> array:
    """As :func:`empty_like`, with every element ``value``."""
    return _like(src, device, requires_grad, pinned).fill_(value)


def clone(
    src: Source, device: Any = None, requires_grad: bool = False, pinned: bool = False
) -> array:
    """A contiguous copy of an array or indexed array, on its device or another.

    Raises:
        TypingError: ``src`` is no array (H0702).
        LaunchError: gradients asked for (H0716).
    """
    refuse_gradients(requires_grad)
    if isinstance(src, indexedarray):
        src = src.contiguous()
        if not pinned:
            return src if device is None else src.to(device)
    return _checked(src, "clone").clone(device, pinned=pinned)


def copy(
    dest: Source,
    src: Source,
    dest_offset: int = 0,
    src_offset: int = 0,
    count: int = 0,
    stream: Stream | None = None,
) -> None:
    """Copy elements from one array to another of the same element type, on whatever devices they
    live.

    Both may lie in the same memory and overlap: what is written is what was there before the call.

    Args:
        dest: array to write.
        src: array to read.
        dest_offset: first element to write; needs ``dest`` contiguous or of one dimension.
        src_offset: first element to read; needs ``src`` contiguous or of one dimension.
        count: how many elements; 0 stands for all of ``src`` from ``src_offset`` on.
        stream: of the GPU that is written, or read by the host; the current one by default.

    Raises:
        TypingError: not two arrays of one element type (H0702).
        LaunchError: shapes or ranges do not fit (H0711), or ``dest`` is read-only (H0705).
    """
    if stream is not None:
        with ScopedStream(stream, sync_enter=False):
            copy(dest, src, dest_offset, src_offset, count)
        return
    if isinstance(src, indexedarray):
        src = src.contiguous()
    if isinstance(dest, indexedarray):
        _scatter(dest, _checked(src, "copy"), (dest_offset, src_offset, count))
        return
    _checked(dest, "copy")
    _checked(src, "copy")
    _check_types(dest, src)
    if dest.read_only:
        raise LaunchError(read_only_error("dest"))
    start, first, length = _range_numbers(dest_offset, src_offset, count)
    if not (start or first or length) and dest.shape == src.shape:
        dest.assign(src)
        return
    for name, number in (("dest_offset", start), ("src_offset", first), ("count", length)):
        if number < 0:
            sizes = f"src has {src.size} elements, dest has {dest.size}"
            raise bad_shape(f"{name}={number} is negative; {sizes}")
    length = length or max(src.size - first, 0)
    for a, offset, role in ((dest, start, "dest"), (src, first, "src")):
        if offset + length > a.size:
            raise bad_shape(
                f"copy of {length} elements from number {first} of src (shape {src.shape}) to "
                f"number {start} of dest (shape {dest.shape}): {role} has {a.size}"
            )
    line, other = _in_a_line(dest, "dest"), _in_a_line(src, "src")
    if length:
        line[start : start + length].assign(other[first : first + length])


def _check_types(dest: Source, src: array) -> None:
    if dest.element_type is not src.element_type:
        raise TypingError(
            Diagnostic(
                "H0702",
                f"copy needs one element type, not {spell(src.element_type)} to "
                f"{spell(dest.element_type)}",
                hint="dest.assign(src) converts",
            )
        )


def _range_numbers(*given: Any) -> list[int]:
    numbers = []
    for name, value in zip(("dest_offset", "src_offset", "count"), given, strict=True):
        number = integer_of(value)
        if number is None:
            raise bad_shape(f"{name} is a number of elements, not {describe(value)}")
        numbers.append(number)
    return numbers


def _in_a_line(a: array, role: str) -> array:
    """The elements in one dimension, in the same memory."""
    if a.ndim == 1:
        return a
    if not a.is_contiguous:
        raise bad_shape(
            f"a range of {role} needs it contiguous; it has shape {a.shape} with gaps (strides "
            f"{a.strides})",
            "copy between slices of equal shape, copy(dest[...], src[...])",
        )
    return a.flatten()


def _scatter(dest: indexedarray, src: array, numbers: tuple[Any, ...]) -> None:
    if any(_range_numbers(*numbers)):
        raise bad_shape("a copy to an indexed array is one of all elements, without offsets")
    _check_types(dest, src)
    dest.assign(src)


def from_numpy(
    arr: Any,
    dtype: Any = None,
    shape: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> array:
    """A copy of a numpy array; arguments and errors as :class:`array`."""
    made: array = array(arr, dtype, shape, device=device, requires_grad=requires_grad)
    return made


def from_ptr(
    ptr: int,
    length: Any,
    dtype: Any = float,
    device: Any = None,
    *,
    strides: Any = None,
    deleter: Callable[[int, int], object] | None = None,
) -> array:
    """An array over memory of somebody else, who must keep it; nothing is copied.

    Args:
        ptr: address of element (0, ..., 0).
        length: number of elements, or a shape.
        dtype: element type.
        device: where the memory is; the current device by default.
        strides: bytes from one element to the next in each dimension; contiguous by default.
        deleter: called with the address and the number of bytes when nothing uses the memory any
            more.

    Raises:
        TypingError: no element type (H0207).
        LaunchError: no address, shape or strides that can be (H0711).
        DeviceError: unknown device, or more bytes than an address can reach (H0801, H0802).
    """
    if ptr is None:
        raise bad_shape("from_ptr takes the address of memory, not None", "use wp.empty(length)")
    made: array = array(
        ptr=ptr, dtype=dtype, shape=length, strides=strides, device=device, deleter=deleter
    )
    return made


def _like(
    src: array, device: Any, requires_grad: bool, pinned: bool, *, zeroed: bool = False
) -> array:
    refuse_gradients(requires_grad)
    _checked(src, "a function of the _like family")
    place = src.device if device is None else get_device(device)
    return new_array(src.element_type, src.shape, place, zeroed=zeroed, pinned=pinned)


def _one(element: Element) -> bool | int:
    return True if leaves(element)[0] is b1 else 1


def _checked(src: Any, what: str) -> array:
    if isinstance(src, array):
        return src
    hint = "make it an array with wp.array(x)" if isinstance(src, (np.ndarray, list)) else ""
    raise TypingError(Diagnostic("H0702", f"{what} takes an array, not {describe(src)}", hint=hint))


def _type_of_value(value: Any) -> Element:
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return literal_type(value)
    t = as_concrete(type(value))
    if t is None:
        raise TypingError(
            Diagnostic("H0207", f"{describe(value)} has no element type", hint="say dtype=")
        )
    return element_of(t)
