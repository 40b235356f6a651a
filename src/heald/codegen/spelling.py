"""How types and constants are written in LLVM text."""

from __future__ import annotations

import struct

import numpy as np

from heald.diagnostics import InternalError
from heald.types import Array, Scalar, Type, b1, bf16
from heald.types.descriptors import to_bfloat16

_TYPES = {"f16": "half", "bf16": "i16", "f32": "float", "f64": "double"}
_SUFFIXES = {"half": "f16", "float": "f32", "double": "f64"}


def scalar_type(t: Scalar, width: int = 1) -> str:
    """The LLVM type of ``width`` values; bfloat16 is held as its bits."""
    single = _TYPES.get(t.name, f"i{t.bits}")
    return single if width == 1 else f"<{width} x {single}>"


def memory_type(t: Scalar) -> str:
    """The LLVM type of a value in memory; a b1 takes a byte, of which any bit set means true."""
    return "i8" if t is b1 else scalar_type(t)


def bits_type(t: Scalar) -> str:
    """The LLVM integer type of the bits of a value in memory."""
    return f"i{max(8, t.bits)}"


def intrinsic_suffix(t: Scalar, width: int = 1) -> str:
    """The suffix by which LLVM's overloaded intrinsics name the type of ``width`` values."""
    single = scalar_type(t)
    suffix = _SUFFIXES.get(single, single)
    return suffix if width == 1 else f"v{width}{suffix}"


def literal(t: Scalar, value: bool | int | float) -> str:
    """A constant.  ``value`` is one that ``t`` holds (bfloat16: as float)."""
    if t is b1:
        return "true" if value else "false"
    if t.is_integer:
        number = int(value)
        return str(number - (1 << t.bits) if number >= 1 << (t.bits - 1) else number)
    if t is bf16:
        return str(int(np.int16(np.uint16(to_bfloat16(value)).view(np.int16))))
    if t.bits == 16:
        return f"0xH{np.float16(value).view(np.uint16):04X}"
    (word,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{word:016X}"  # LLVM spells float constants, too, as the double of the same value


def splat(t: Scalar, value: bool | int | float, width: int = 1) -> str:
    """A constant of ``width`` equal values."""
    single = literal(t, value)
    return single if width == 1 else f"splat ({scalar_type(t)} {single})"


def component_types(t: Type) -> tuple[str, ...]:
    """LLVM types of the values that one WIR value becomes.

    A scalar is one; an array is its pointer, its extents and its byte strides.

    Raises:
        InternalError: for composites, which the pass ``scalarise`` removes.
    """
    match t:
        case Scalar():
            return (scalar_type(t),)
        case Array():
            return ("ptr",) + ("i64",) * (2 * t.ndim)
        case _:
            raise InternalError(f"a value of type {t} reached the code generator: scalarise first")
