"""Python and numpy numbers to values of a scalar type, rounded, or the reason why not."""

from __future__ import annotations

import operator
import struct
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from heald.diagnostics import Diagnostic, TypingError
from heald.types import Scalar, b1, bf16, f32, f64, fits, is_ml_bfloat16
from heald.types.descriptors import from_bfloat16
from heald.types.rounding import from_float64

Number = bool | int | float

_F32 = struct.Struct("<f")


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a value is none of a type: the code, a sentence, and what to type instead."""

    code: str
    why: str
    hint: str = ""


def convert(t: Scalar, value: object) -> Number | Misfit:
    """``value`` as a Python number that a ``t`` holds exactly, or why there is none.

    Floats round to nearest; a finite one never becomes infinite.  Integers must be in range, and
    exact where they become floats.  Bool and number do not mix.  numpy scalars count as Python
    numbers.
    """
    if t is f32 and type(value) is float:
        try:
            rounded: float = _F32.unpack(_F32.pack(value))[0]
        except OverflowError:
            return _too_large(t, value)
        return rounded
    if isinstance(value, (np.generic, np.ndarray)):
        is_float = value.dtype.kind == "f" or is_ml_bfloat16(value.dtype)
        if value.ndim or not (is_float or value.dtype.kind in "biu"):
            return Misfit("H0201", f"{describe(value)} is no {t.public}")
        value = float(value) if is_float else value.item()
    if isinstance(value, bool):
        if t is b1:
            return bool(value)
        return Misfit("H0201", f"{value} is a bool, not {_a(t)}", f"write {int(value)}")
    if isinstance(value, float):
        return _from_float(t, value)
    integer = integer_of(value)
    if integer is not None:
        return _from_integer(t, integer)
    return Misfit("H0201", f"{describe(value)} is no {t.public}")


def convert_or_raise(t: Scalar, value: object, what: str) -> Number:
    """As :func:`convert`; ``what`` names the place that takes the value.

    Raises:
        TypingError: the value is none of that type (H0201) or does not fit it (H0202).
    """
    number = convert(t, value)
    if isinstance(number, Misfit):
        refuse(number, what)
    return number


def refuse(misfit: Misfit, what: str) -> NoReturn:
    """Raise the TypingError of a misfit at the place ``what``."""
    raise TypingError(Diagnostic(misfit.code, f"{what}: {misfit.why}", hint=misfit.hint))


def is_number(value: object) -> bool:
    """Is it one number, rather than a sequence or some other object?"""
    if isinstance(value, (bool, int, float)):
        return True
    return isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0


def integer_of(value: Any) -> int | None:
    """The Python int of anything that is an integer and no bool, else None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def zero(t: Scalar) -> Number:
    """The zero of a type as a Python number."""
    return False if t is b1 else 0.0 if t.is_float else 0


def shortest(t: Scalar, value: Number) -> str:
    """The shortest text that means this value of ``t``, in the form that Python gives floats."""
    if t is f64 or not t.is_float:
        return repr(value)
    with np.errstate(all="ignore"):
        digits = str(np.float32(value) if t is bf16 else t.carrier.type(value))
    return repr(float(digits))


def describe(value: object) -> str:
    """A value in an error message: its type and, where that is short, itself."""
    text = repr(value)
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        return f"a numpy array of dtype {value.dtype} and shape {value.shape}"
    return f"{kind} {text}" if len(text) <= 40 and "\n" not in text else f"an object of type {kind}"


def _from_float(t: Scalar, value: float) -> Number | Misfit:
    if not t.is_float:
        if t is b1:
            return Misfit("H0201", f"{value!r} is a float, not a bool", "write a comparison")
        return Misfit("H0201", f"{value!r} is a float, not {_a(t)}", "int(x) cuts its fraction off")
    if t is f64:
        return float(value)
    with np.errstate(all="ignore"):
        carried: Any = from_float64(t, np.float64(value))
        rounded = float(from_bfloat16(carried) if t is bf16 else carried)
    return _too_large(t, value) if np.isinf(rounded) and np.isfinite(value) else rounded


def _from_integer(t: Scalar, value: int) -> Number | Misfit:
    if t is b1:
        return Misfit("H0201", f"{value} is an integer, not a bool", f"write {bool(value)}")
    if fits(value, t):
        return float(value) if t.is_float else value
    if t.is_integer:
        return Misfit("H0202", f"{_a(t)} holds {t.lowest} to {t.highest}, not {value}")
    return Misfit(
        "H0202",
        f"{_a(t)} cannot hold the integer {value} exactly",
        f"write float({value}) where a rounded value will do",
    )


def _too_large(t: Scalar, value: object) -> Misfit:
    largest = float(np.finfo(t.carrier).max) if t is not bf16 else 3.3895313892515355e38
    return Misfit("H0202", f"{value!r} is beyond the largest {t.public}, {largest:g}")


def _a(t: Scalar) -> str:
    return f"an {t.public}" if t.public.startswith("i") else f"a {t.public}"
