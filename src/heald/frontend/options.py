"""What the front end is told besides a function and types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heald.types import Scalar, i32

Resolver = Callable[[str], Any]
"""Gives the object that holds the overloads of a builtin (``__heald_overloads__``), or None."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a specialisation is compiled for.

    Attributes:
        index: type of ``tid()``, ``a.shape[k]`` and the default of ``range``: i32, or i64 where a
            launch dim or an extent reaches 2^31.
        strict_fp: emit no fma.
        fast_math: call the fast overloads of float32 functions, divide float32 by one.
        warp_reduce: on GPUs let the threads of a warp add up floats that all of them add to one
            element, which rounds in another order.
    """

    index: Scalar = i32
    strict_fp: bool = False
    fast_math: bool = False
    warp_reduce: bool = False
