"""What kernels print, as text on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from heald.artifact import PrintFormat, PrintRecord
from heald.types import BY_NAME

_CHARACTERS = sys.maxunicode + 1


def print_records(
    records: Iterable[PrintRecord], formats: Mapping[int, PrintFormat], note: str
) -> None:
    """Write records in order, then the note about what did not fit."""
    text = "".join(_text(formats[r.op_id], r.values) for r in records)
    if note:
        text += note + "\n"
    if text:
        _write(text)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError as error:
        sys.stdout.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
    sys.stdout.flush()


def _text(form: PrintFormat, values: Sequence[bool | int | float]) -> str:
    letters = import_module("heald.ops").conversions_of(form.text)
    assert letters is not None, "the type rule of printf looked at it"
    shown = tuple(map(_shown, values, form.kinds, letters))
    return form.text % shown


class _Number(float):
    """A float32 or narrower whose ``%s`` is its own shortest form, as numpy prints it."""

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text


def _shown(value: bool | int | float, kind: str, letter: str) -> Any:
    if letter in "uxXo":
        return int(value) & ((1 << BY_NAME[kind].bits) - 1)  # as C shows negative numbers
    if letter == "c":
        return chr(int(value)) if 0 <= value < _CHARACTERS else "\ufffd"
    if kind in ("f32", "f16"):
        number = _Number(value)
        number.text = str(np.float32(value) if kind == "f32" else np.float16(value))
        return number
    return value
