"""What the host tools check before they launch anything."""

from __future__ import annotations

from typing import Any

import numpy as np

import heald as wp
from heald.api.array_input import read_only_error
from heald.api.scalars import describe, integer_of
from heald.diagnostics import Diagnostic, LaunchError, TypingError
from heald.types import Struct, b1


def refused(message: str, hint: str = "") -> LaunchError:
    """The error of shapes, dtypes or counts that do not fit."""
    return LaunchError(Diagnostic("H0711", message, hint=hint))


def check_arrays(tool: str, *, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
    """Refuse what are no arrays of one device, and outputs that must not be written.

    Raises:
        TypingError: no array (H0702).
        LaunchError: arrays of two devices (H0704), or a read-only output (H0705).
    """
    given = inputs | outputs
    for name, a in given.items():
        if not isinstance(a, wp.array):
            hint = "make it an array with wp.array(x)" if isinstance(a, (np.ndarray, list)) else ""
            if isinstance(a, wp.indexedarray):
                hint = "pass x.contiguous()"
            message = f"{name} of {tool} is an array, not {describe(a)}"
            raise TypingError(Diagnostic("H0702", message, hint=hint))
    first, place = next((name, a.device) for name, a in given.items())
    for name, a in given.items():
        if a.device != place:
            message = f"{name} of {tool} lives on '{a.device}', {first} on '{place}'"
            hint = f"copy it with .to('{place}')"
            raise LaunchError(Diagnostic("H0704", message, hint=hint))
    for name, a in outputs.items():
        if a.read_only:
            raise LaunchError(read_only_error(f"{name} of {tool}"))


def check_addends(tool: str, a: wp.array) -> None:
    """Refuse elements that have no sum.

    Raises:
        TypingError: bools or structs (H0201).
    """
    if a.element_type is b1 or isinstance(a.element_type, Struct):
        hint = "convert them first: wp.map(lambda x: int(x), a)" if a.element_type is b1 else ""
        message = f"{tool} adds up numbers or vectors, not elements of {name_of(a)}"
        raise TypingError(Diagnostic("H0201", message, hint=hint))


def check_count(name: str, count: object, a: wp.array) -> int:
    """A number of elements that an array of one dimension has.

    Raises:
        LaunchError: it is none (H0711).
    """
    number = integer_of(count)
    if number is None or a.ndim != 1 or not 0 <= number <= a.size:
        raise refused(f"{name}={count!r} of an array of shape {a.shape}")
    return number


def name_of(a: wp.array) -> str:
    """The element type as users write it."""
    return getattr(a.dtype, "__name__", None) or str(getattr(a.dtype, "public", a.dtype))
