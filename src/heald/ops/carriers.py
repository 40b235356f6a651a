"""Evaluation helpers: from the numpy carriers of ``heald.types`` to types to compute in, and back.

Every function takes arrays or numpy scalars of any shape and gives the same kind back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from heald.ir import Op, Value
from heald.types import Scalar

_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: IEEE and wrap-around results are what is meant, so nothing is warned about."""

    @wraps(function)
    def silenced(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return silenced


def scalar_type(value: Value) -> Scalar:
    """The type of a value that a type rule has found to be a scalar."""
    assert isinstance(value.type, Scalar)
    return value.type


def operand_type(op: Op) -> Scalar:
    """The scalar type of the first operand."""
    return scalar_type(op.operands[0])


def result_type(op: Op) -> Scalar:
    """The scalar type of the only result."""
    return scalar_type(op.result)


def choose(condition: Any, then: Any, other: Any) -> Any:
    """``then`` where ``condition`` holds, else ``other``."""
    return np.where(condition, then, other)[()]


def as_unsigned(t: Scalar, x: Any) -> Any:
    """The bits of an integer as an unsigned integer of the same width."""
    return x.view(_UNSIGNED[t.bits])


def as_signed(t: Scalar, x: Any) -> Any:
    """The bits of an integer as a signed integer of the same width."""
    return x.view(_SIGNED[t.bits])
