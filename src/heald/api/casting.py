"""numpy arrays of any dtype to arrays on the carriers of Heald's types, or a refusal that says why.

The rules are those of ``astype``, except that a number which the new type cannot hold is refused:
an integer out of range, a finite float that would become infinite, a NaN or infinity as an integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heald.diagnostics import Diagnostic, TypingError
from heald.types import (
    Array,
    Scalar,
    Struct,
    as_type,
    bf16,
    f32,
    is_ml_bfloat16,
    numpy_dtype,
)
from heald.types.descriptors import Element, from_bfloat16, to_bfloat16
from heald.types.rounding import from_float64

NDArray = npt.NDArray[Any]


def scalar_of(dtype: np.dtype[Any]) -> Scalar | None:
    """The scalar type of a numpy dtype in any byte order (``ml_dtypes.bfloat16`` included), or
    None."""
    found = as_type(dtype if is_ml_bfloat16(dtype) else dtype.newbyteorder("="))
    return found if isinstance(found, Scalar) else None


def cast_scalars(source: NDArray, t: Scalar) -> NDArray:
    """``source`` on the carrier of ``t``; the array itself where nothing has to change.

    Raises:
        TypingError: the dtype holds no numbers, or a number does not fit (H0712).
    """
    if is_ml_bfloat16(source.dtype):
        bits = source.view(np.uint16)
        return bits if t is bf16 else cast_scalars(from_bfloat16(bits), t)
    if source.dtype.kind not in "biuf":
        raise no_numbers(source.dtype)
    native = source.astype(source.dtype.newbyteorder("="), copy=False)
    if t is not bf16 and native.dtype == t.carrier:
        return native
    with np.errstate(all="ignore"):
        if t.is_integer:
            _check_range(native, t)
        result = _to_bfloat16(native) if t is bf16 else native.astype(t.carrier)
        if t.is_float:
            _check_overflow(native, result, t)
    return result


def cast_elements(source: NDArray, t: Element) -> NDArray:
    """An array of elements: numbers whose trailing axes are those of ``t``, or records with its
    fields.

    Raises:
        TypingError: wrong dtype, fields or numbers (H0712).
    """
    if not isinstance(t, Struct):
        return cast_scalars(source, t if isinstance(t, Scalar) else t.dtype)
    if source.dtype == numpy_dtype(t):
        return source
    result = np.zeros(source.shape, numpy_dtype(t))
    _fill_fields(result, source, t)
    return result


def no_numbers(dtype: np.dtype[Any]) -> TypingError:
    """The refusal of a dtype that Heald has no type for."""
    kinds = {
        "O": "holds Python objects",
        "S": "holds bytes",
        "U": "holds text",
        "c": "holds complex numbers",
        "M": "holds dates",
        "m": "holds time spans",
        "V": "holds records" if dtype.names else "holds raw bytes",
    }
    hint = "convert the data first, for example with `np.array(x, dtype=np.float32)`"
    if dtype.names:
        hint = "name the struct, `wp.array(x, dtype=YourStruct)`"
    if dtype.kind == "f":
        hint = "say which type you want, `wp.array(x, dtype=wp.float64)`"
    why = kinds.get(dtype.kind, "has no counterpart")
    return TypingError(
        Diagnostic("H0712", f"numpy dtype {dtype} {why}; Heald has no such type", hint=hint)
    )


def _fill_fields(result: NDArray, source: NDArray, t: Struct) -> None:
    own = [name for name, _ in t.fields]
    if source.dtype.names is None:
        raise TypingError(
            Diagnostic(
                "H0712",
                f"{t.name} is made of records with fields {', '.join(own)}, not of numpy dtype "
                f"{source.dtype}",
                hint=f"use `np.zeros(n, dtype={t.name}.numpy_dtype())` and fill its fields",
            )
        )
    if set(source.dtype.names) != set(own):
        raise TypingError(
            Diagnostic(
                "H0712",
                f"{t.name} has the fields {', '.join(own)}, the records have "
                f"{', '.join(source.dtype.names)}",
            )
        )
    for name, field in t.fields:
        assert not isinstance(field, Array)  # checked where the element type was chosen
        given, place = source[name], result[name]
        if isinstance(field, Struct):
            _fill_fields(place, given, field)
            continue
        if given.shape != place.shape:
            inner = given.shape[source.ndim :]
            raise TypingError(
                Diagnostic(
                    "H0712",
                    f"field {name} of {t.name} is {field!r}, the records have shape {inner} there",
                )
            )
        place[...] = cast_elements(given, field)


def _to_bfloat16(source: NDArray) -> NDArray:
    if source.dtype == f32.carrier:
        return np.asarray(to_bfloat16(source))
    return np.asarray(from_float64(bf16, source.astype(np.float64)))


def _check_range(source: NDArray, t: Scalar) -> None:
    """Refuse numbers that are outside an integer type once their fraction is cut off."""
    if not source.size or source.dtype.kind == "b" or np.can_cast(source.dtype, t.carrier):
        return
    if source.dtype.kind == "f":
        # Both bounds are powers of two or zero, so they are exact floats.
        cut = np.trunc(source.astype(np.result_type(source.dtype, np.float64)))
        bad = ~((cut >= float(t.lowest)) & (cut < float(t.highest + 1)))
        if not bad.any():
            return
        at = int(np.argmax(bad))
    else:
        low, high = int(np.argmin(source)), int(np.argmax(source))
        if t.lowest <= int(source.flat[low]) and int(source.flat[high]) <= t.highest:
            return
        at = low if int(source.flat[low]) < t.lowest else high
    raise misfit(source, at, f"{t.public} holds {t.lowest} to {t.highest}")


def _check_overflow(source: NDArray, result: NDArray, t: Scalar) -> None:
    """Refuse finite numbers that became infinite."""
    infinite = np.isinf(from_bfloat16(result) if t is bf16 else result)
    if source.dtype.kind == "f":
        infinite &= np.isfinite(source)
    if infinite.any():
        raise misfit(source, int(np.argmax(infinite)), f"that is beyond the largest {t.public}")


def misfit(
    source: NDArray,
    at: int,
    why: str,
    hint: str = "choose a wider dtype, or narrow the data yourself with `astype`",
) -> TypingError:
    """The refusal of one number of an array, which is at ``at`` in row-major order."""
    place = [int(k) for k in np.unravel_index(at, source.shape)]
    where = f"element {place if len(place) > 1 else place[0]}" if place else "the number"
    return TypingError(
        Diagnostic(
            "H0712",
            f"{where} of the data is {source.flat[at]!s}; {why}",
            hint=hint,
        )
    )
