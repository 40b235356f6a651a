"""Where this interpreter's objects keep what launch entries read.

Nothing is assumed: known values are looked for inside the memory of objects, which is the one thing
that may be read without knowing anything.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

_POINTER = 8
_HEAD = 16  # reference count and type: what every object of a build with a GIL begins with


@dataclass(frozen=True, slots=True)
class ObjectLayout:
    """Places inside objects, in bytes from their address.

    Attributes:
        type: pointer to the type.
        size: number of items of a list, tuple or bytes.
        bytes: first byte of bytes.
        tuple: pointer to the first item of a tuple.
        number: value of a numpy scalar.
    """

    type: int
    size: int
    bytes: int
    tuple: int
    number: int


def measure_objects() -> ObjectLayout | None:
    """The layout of this interpreter; None where it is not one that entries are for.

    They are for CPython with a GIL on 64 bits, in its main interpreter.
    """
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != _POINTER:
        return None
    if object.__basicsize__ != _HEAD or not _is_main_interpreter():
        return None
    marker, text = object(), bytes(range(65, 90))
    pair = (marker, object())
    collected = sys.getsizeof(()) - tuple.__basicsize__  # what lies before such an object
    found = {
        "type": [_places_of(x, id(type(x)), _HEAD) for x in (marker, text, 0.5, [])],
        "size": [_places_of(x, len(x), _HEAD + _POINTER) for x in (text, [7] * 19, (7,) * 23)],
        "tuple": [_places_of(pair, id(marker), sys.getsizeof(pair) - collected)],
        "number": [_numpy_places()],
    }
    places = {name: set.intersection(*sets) for name, sets in found.items()}
    start = ctypes.string_at(id(text), sys.getsizeof(text)).find(text)
    if start <= 0 or start % _POINTER or any(len(where) != 1 for where in places.values()):
        return None
    return ObjectLayout(bytes=start, **{name: where.pop() for name, where in places.items()})


def slot_offset(cls: type, name: str) -> int | None:
    """Where instances of a class keep a slot; None where that is not found."""
    one: Any = object.__new__(cls)
    found = set(range(cls.__basicsize__))
    for marker in (object(), object()):
        setattr(one, name, marker)
        found &= _places_of(one, id(marker), cls.__basicsize__)
    delattr(one, name)
    found &= _places_of(one, 0, cls.__basicsize__)
    return found.pop() if len(found) == 1 else None


def _places_of(one: object, word: int, size: int) -> set[int]:
    """Where in the first ``size`` bytes of an object a word stands, the first word left out."""
    count = size // _POINTER
    words = struct.unpack(f"<{count}Q", ctypes.string_at(id(one), count * _POINTER))
    return {_POINTER * k for k, found in enumerate(words) if found == word and k > 0}


def _numpy_places() -> set[int]:
    """Where the numpy scalars that entries read keep their value."""
    numbers = (np.float32(1.37), np.float64(-2.91), np.int32(0x1234567), np.int64(-(1 << 61) + 5))
    found = {_HEAD, _HEAD + _POINTER}
    for number in numbers:
        memory = ctypes.string_at(id(number), type(number).__basicsize__)
        found &= {at for at in found if memory[at:].startswith(number.tobytes())}
    return found


def _is_main_interpreter() -> bool:
    try:
        current, main = (
            ctypes.PYFUNCTYPE(ctypes.c_void_p)((name, ctypes.pythonapi))
            for name in ("PyInterpreterState_Get", "PyInterpreterState_Main")
        )
    except AttributeError:
        return False
    return bool(current() == main())
