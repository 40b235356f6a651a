"""Floats of numpy in the carriers of float types, and back.

Every function takes arrays or numpy scalars of any shape and gives the same kind back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heald.types.descriptors import (
    Scalar,
    bf16,
    f16,
    f32,
    f64,
    from_bfloat16,
    to_bfloat16,
    to_float32_odd,
)


def widen(t: Scalar, x: Any) -> Any:
    """A float as one to compute on: 16-bit ones as float32 (exact), others as they are."""
    if t is f16:
        return x.astype(np.float32)
    return from_bfloat16(x) if t is bf16 else x


def narrow(t: Scalar, x: Any) -> Any:
    """A float of ``widen``'s dtype in the carrier of ``t``, rounded to nearest even."""
    if t is f16:
        return x.astype(np.float16)
    return to_bfloat16(x) if t is bf16 else x


def from_float64(t: Scalar, x: Any) -> Any:
    """A float64 in the carrier of the float type ``t``, rounded once to nearest even."""
    if t is f64:
        return x
    return x.astype(np.float32) if t is f32 else narrow(t, to_float32_odd(x))
