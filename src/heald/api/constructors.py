"""Constructors whose type follows from their arguments, in kernels and on the host.

The classes for annotations are ``wp.vec3``, ``wp.types.vector(length, dtype)`` and so on.
"""

from __future__ import annotations

from typing import Any

from heald.api import values
from heald.api.host_value import HostValue
from heald.api.scalars import describe
from heald.diagnostics import Diagnostic, TypingError
from heald.frontend import intrinsic
from heald.frontend.operands import literal_of
from heald.types import Matrix, Scalar, Vector, as_concrete, f32, join, literal_type


@intrinsic("vector")
def vector(*args: Any, length: int | None = None, dtype: Any = None) -> Any:
    """A vector: of its components, of one number for all, of nothing (zeros), or converted.

    ``length`` is the number of components where it is not given; ``dtype`` is the type in which
    they meet, float32 for Python floats and int32 for ints.

    Raises:
        TypingError: no length is known, or a component does not fit.
    """
    own = args[0].__heald_type__ if len(args) == 1 and isinstance(args[0], HostValue) else None
    if length is None and not args:
        raise _bad("wp.vector() misses 'length'")
    if length is None:
        length = own.length if isinstance(own, Vector) else len(args)
    return values.vector(length, _dtype(args, dtype))(*args)


@intrinsic("matrix")
def matrix(*args: Any, shape: tuple[int, int] | None = None, dtype: Any = None) -> Any:
    """A matrix of ``shape`` (rows, columns): of its components row by row, of one number for all,
    of nothing (zeros), or converted.  ``dtype`` as for :func:`vector`.

    Raises:
        TypingError: no shape is known, or a component does not fit.
    """
    own = args[0].__heald_type__ if len(args) == 1 and isinstance(args[0], HostValue) else None
    if shape is None and isinstance(own, Matrix):
        shape = own.rows, own.cols
    if shape is None:
        raise _bad("wp.matrix() misses 'shape'")
    return values.matrix(shape, _dtype(args, dtype))(*args)


@intrinsic("quaternion")
def quaternion(*args: Any, dtype: Any = None, **parts: Any) -> Any:
    """A quaternion of x, y, z, w, of a vector of 3 and w (by name: ``ijk``, ``real``), of another
    one (``quat``), or of nothing (zeros).

    Raises:
        TypingError: the components do not fit.
    """
    return values.quaternion(_float((*args, *parts.values()), dtype))(*args, **parts)


@intrinsic("transformation")
def transformation(*args: Any, p: Any = None, q: Any = None, dtype: Any = None) -> Any:
    """A transform of a translation ``p`` and a rotation ``q`` (no rotation where it is left out),
    of 7 numbers, or of another one.

    Raises:
        TypingError: the components do not fit.
    """
    parts = (*args, *(x for x in (p, q) if x is not None))
    t = _float(parts, dtype)
    if len(parts) == 1 and isinstance(getattr(parts[0], "__heald_type__", None), Vector):
        parts = (parts[0], values.quaternion(t)(0.0, 0.0, 0.0, 1.0))
    return values.transformation(t)(*parts)


def _dtype(args: tuple[Any, ...], dtype: Any) -> Any:
    """The type that is given, else the one in which typed components meet, or Python's numbers."""
    if dtype is not None:
        return dtype
    typed, literals = [], []
    for value in args:
        own = value.__heald_type__.dtype if isinstance(value, HostValue) else None
        number = None if own else literal_of(value)
        known = own or as_concrete(type(value))
        if number is not None:
            literals.append(literal_type(number.value))
        elif isinstance(known, Scalar):
            typed.append(known)
        else:
            raise _bad(f"{describe(value)} is no component of a value")
    found: Scalar | None = None
    for t in typed or literals:
        found = t if found is None else join(found, t)
        if found is None:
            raise _bad("the components have no type in common: give dtype=, or convert them")
    return found or f32


def _float(args: tuple[Any, ...], dtype: Any) -> Any:
    t = _dtype(args, dtype)
    return f32 if dtype is None and t.is_integer else t


def _bad(message: str) -> TypingError:
    return TypingError(Diagnostic("H0206", message))
