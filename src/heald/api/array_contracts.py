"""Contracts in annotations: what a kernel may count on of an array, and what it may do to it."""

from __future__ import annotations

from typing import Any

from heald.api.array_types import annotation
from heald.api.scalars import describe
from heald.diagnostics import Diagnostic, TypingError
from heald.types import Array, Contract, Contracted, Elements, Scalar
from heald.types.contracts import ACCESS

Size = int | str


def index(n: Size) -> Elements:
    """In ``wp.array(elem=...)``: every element is an index below ``n``, ``0 <= x < n``.

    Args:
        n: a number, or the name of a size: ``"n"``, ``"2 * n"``, ``"a.shape[0]"``.

    Raises:
        TypingError: it is something else (H0211).
    """
    size = _size(n)
    return Elements(
        "0", f"{size} - 1" if size.isidentifier() else f"({size}) - 1", f"wp.index({n!r})"
    )


def within(low: Size, high: Size) -> Elements:
    """In ``wp.array(elem=...)``: every element lies between two sizes, ``low <= x <= high``.

    Args:
        low: a number, or the name of a size.
        high: the same.

    Raises:
        TypingError: they are something else (H0211).
    """
    return Elements(_size(low), _size(high), f"wp.within({low!r}, {high!r})")


def is_promise(shape: object) -> bool:
    """Does a shape name sizes, rather than say them all in numbers?"""
    if isinstance(shape, (tuple, list)):
        return any(isinstance(size, str) for size in shape)
    return isinstance(shape, str) and not shape.isdigit()


def contracted(
    dtype: Any,
    ndim: Any,
    shape: Any,
    elem: Any,
    monotone: object,
    injective: object,
    access: object,
) -> Contracted:
    """An array annotation with a contract.

    Raises:
        TypingError: no element type (H0207, H0208), or a contract that cannot be (H0211).
        LaunchError: ``ndim`` is not 1 to 4 (H0711).
    """
    sizes = None
    if shape is not None:
        given = shape if isinstance(shape, (tuple, list)) else (shape,)
        sizes = tuple(_size(size) for size in given)
        if ndim is None:
            ndim = len(sizes)
        if ndim != len(sizes):
            raise _refusal(f"shape={shape!r} is of {len(sizes)} dimensions, and ndim is {ndim}")
    pattern = annotation(dtype, ndim)
    if elem is not None and not isinstance(elem, Elements):
        hint = 'write elem=wp.index("n") or elem=wp.within(0, "n")'
        raise _refusal(f"elem is a range of elements, not {describe(elem)}", hint)
    if access is not None and access not in ACCESS:
        raise _refusal(f"access is one of {', '.join(ACCESS)}, not {access!r}")
    for name, flag in (("monotone", monotone), ("injective", injective)):
        if not isinstance(flag, bool):
            raise _refusal(f"{name} is True or False, not {describe(flag)}")
        if flag and not (isinstance(pattern, Array) and pattern.ndim == 1):
            raise _refusal(f"{name} is said of arrays of one axis, whose elements have an order")
    contract = Contract(sizes, elem, bool(monotone), bool(injective), str(access or ""))
    if contract.speaks_of_contents and not _has_integers(pattern):
        raise _refusal(
            "elem, monotone and injective are said of arrays of integers",
            "write dtype=int, or leave them out",
        )
    return Contracted(pattern, contract)


def _has_integers(pattern: object) -> bool:
    if not isinstance(pattern, Array):
        return False
    element = pattern.dtype
    return isinstance(element, Scalar) and element.is_integer


def _size(size: object) -> str:
    if isinstance(size, str) and size.strip():
        return size.strip()
    if isinstance(size, int) and not isinstance(size, bool):
        return str(size)
    raise _refusal(
        f"a size in a contract is a number or a text, not {describe(size)}",
        'write "n", 3, "2 * n" or "a.shape[0]"',
    )


def _refusal(message: str, hint: str = "") -> TypingError:
    return TypingError(Diagnostic("H0211", message, hint=hint))
