"""What kernels print, as text on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heald.artifact import PrintFormat, PrintRecord


def print_records(
    records: Iterable[PrintRecord], formats: Mapping[int, PrintFormat], note: str
) -> None:
    """Write records in order, then the note about what did not fit."""
    text = "".join(_text(formats[r.op_id], r.values) for r in records)
    if note:
        text += note + "\n"
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


def _text(form: PrintFormat, values: Sequence[bool | int | float]) -> str:
    shown = tuple(_shown(v, kind) for v, kind in zip(values, form.kinds, strict=True))
    return form.text % shown


class _Number(float):
    """A float32 or narrower whose ``%s`` is its own shortest form, as numpy prints it."""

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text


def _shown(value: bool | int | float, kind: str) -> Any:
    if kind in ("f32", "f16"):
        number = _Number(value)
        number.text = str(np.float32(value) if kind == "f32" else np.float16(value))
        return number
    return value
