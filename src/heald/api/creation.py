"""Functions that make and copy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from heald.api.array import array, new_array
from heald.api.array_input import bad_shape, check_shape, element_of
from heald.api.casting import scalar_of
from heald.api.scalars import describe
from heald.api.struct import spell
from heald.diagnostics import Diagnostic, TypingError
from heald.frontend import intrinsic
from heald.runtime import get_device
from heald.types import Element, b1, leaves, literal_type


@intrinsic("zeros")
def zeros(shape: Any, dtype: Any = float, device: Any = None) -> array:
    """A new array of zeros.  In a kernel: an array of the thread, of a static shape.

    Args:
        shape: extents, one to four.
        dtype: element type.
        device: where; the current device by default.

    Raises:
        TypingError: no element type (H0207).
        LaunchError: no shape (H0711).
        DeviceError: unknown device, or not enough memory (H0801, H0802).
    """
    return new_array(element_of(dtype), check_shape(shape), get_device(device), zeroed=True)


def empty(shape: Any, dtype: Any = float, device: Any = None) -> array:
    """A new array with unspecified contents; arguments and errors as :func:`zeros`."""
    return new_array(element_of(dtype), check_shape(shape), get_device(device))


def full(shape: Any, value: Any = 0, dtype: Any = None, device: Any = None) -> array:
    """A new array whose elements are all ``value``; without ``dtype``, of the type of ``value``.

    Raises:
        TypingError: no element type (H0207), or the value is none of it (H0201, H0202).
        LaunchError, DeviceError: as :func:`zeros`.
    """
    element = _type_of_value(value) if dtype is None else element_of(dtype)
    return new_array(element, check_shape(shape), get_device(device)).fill_(value)


def ones(shape: Any, dtype: Any = float, device: Any = None) -> array:
    """A new array of ones (vectors and matrices: every component); errors as :func:`full`."""
    element = element_of(dtype)
    return new_array(element, check_shape(shape), get_device(device)).fill_(_one(element))


def empty_like(src: array, device: Any = None) -> array:
    """A new contiguous array with shape and element type of ``src``, on its device or another.

    Raises:
        TypingError: ``src`` is no array (H0702).
        DeviceError: as :func:`zeros`.
    """
    return _like(src, device, zeroed=False)


def zeros_like(src: array, device: Any = None) -> array:
    """As :func:`empty_like`, with zeros."""
    return _like(src, device, zeroed=True)


def ones_like(src: array, device: Any = None) -> array:
    """As :func:`empty_like`, with ones."""
    made = _like(src, device, zeroed=False)
    return made.fill_(_one(made.element_type))


def full_like(src: array, value: Any, device: Any = None) -> array:
    """As :func:`empty_like`, with every element ``value``."""
    return _like(src, device, zeroed=False).fill_(value)


def clone(src: array, device: Any = None) -> array:
    """A contiguous copy of an array, on its device or another.

    Raises:
        TypingError: ``src`` is no array (H0702).
    """
    return _checked(src, "clone").clone(device)


def copy(
    dest: array, src: array, dest_offset: int = 0, src_offset: int = 0, count: int = 0
) -> None:
    """Copy elements from one array to another of the same element type, on whatever devices they
    live.

    Args:
        dest: array to write.
        src: array to read.
        dest_offset: first element to write; needs a contiguous ``dest``.
        src_offset: first element to read; needs a contiguous ``src``.
        count: how many elements; 0 stands for all of ``src`` from ``src_offset`` on.

    Raises:
        TypingError: not two arrays of one element type (H0702).
        LaunchError: shapes or ranges do not fit (H0711), or ``dest`` is read-only (H0705).
    """
    _checked(dest, "copy")
    _checked(src, "copy")
    if dest.element_type is not src.element_type:
        raise TypingError(
            Diagnostic(
                "H0702",
                f"copy needs one element type, not {spell(src.element_type)} to "
                f"{spell(dest.element_type)}",
                hint="dest.assign(src) converts",
            )
        )
    if not (dest_offset or src_offset or count) and dest.shape == src.shape:
        dest.assign(src)
        return
    length = count or src.size - src_offset
    for a, offset, role in ((dest, dest_offset, "dest"), (src, src_offset, "src")):
        if offset < 0 or length < 0 or offset + length > a.size:
            raise bad_shape(
                f"{role} has {a.size} elements; {length} from {offset} on are outside it"
            )
    if length:
        span = slice(dest_offset, dest_offset + length)
        dest.flatten()[span].assign(src.flatten()[src_offset : src_offset + length])


def from_numpy(arr: Any, dtype: Any = None, shape: Any = None, device: Any = None) -> array:
    """A copy of a numpy array; arguments and errors as :class:`array`."""
    made: array = array(arr, dtype, shape, device=device)
    return made


def _like(src: array, device: Any, *, zeroed: bool) -> array:
    _checked(src, "a function of the _like family")
    place = src.device if device is None else get_device(device)
    return new_array(src.element_type, src.shape, place, zeroed=zeroed)


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
    own = getattr(value, "__heald_type__", None)
    t = scalar_of(value.dtype) if isinstance(value, np.generic) else own
    if t is None:
        raise TypingError(
            Diagnostic("H0207", f"{describe(value)} has no element type", hint="say dtype=")
        )
    return element_of(t)
