"""Where something stands in the user's source."""

from __future__ import annotations

import linecache
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import FrameType

_PACKAGE = __name__.partition(".")[0]
_OWN_FOLDER = str(Path(__file__).parents[1] / "library")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of source text.

    Lines count from 1, columns from 0 in characters.  ``inlined_at`` is the span of the call
    through which this place was reached, so a value made inside an inlined function leads back to
    the kernel.
    """

    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    inlined_at: Span | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col + 1}"

    def chain(self) -> Iterator[Span]:
        """This span, then the calls that led to it, innermost first."""
        span: Span | None = self
        while span is not None:
            yield span
            span = span.inlined_at

    @property
    def outermost(self) -> Span:
        """The place in the kernel itself."""
        *_, last = self.chain()
        return last

    @property
    def in_user_code(self) -> Span:
        """The innermost place that is not in Heald's own library; this one where all are."""
        return next((s for s in self.chain() if not s.file.startswith(_OWN_FOLDER)), self)

    def at_call(self, call: Span | None) -> Span:
        """The same place, reached through ``call``."""
        return replace(self, inlined_at=call)


def outer_frame() -> FrameType | None:
    """The nearest frame of this thread that is not Heald's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _name_of(frame).partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return frame


def _name_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def calling_span() -> Span | None:
    """The call in the user's source that is being run; of its whole line where Python keeps no
    columns."""
    frame = outer_frame()
    if frame is None:
        return None
    code, line = frame.f_code, frame.f_lineno
    places = islice(code.co_positions(), frame.f_lasti // 2, None)
    first, last, start, stop = next(places, (None, None, None, None))
    if first is None or last is None or start is None or stop is None:
        text = linecache.getline(code.co_filename, line).rstrip()
        indent = len(text) - len(text.lstrip())
        return Span(code.co_filename, line, indent, line, max(indent, len(text)))
    where = _column(code.co_filename, first, start), _column(code.co_filename, last, stop)
    return Span(code.co_filename, first, where[0], last, where[1])


def _column(file: str, line: int, offset: int) -> int:
    """Characters before a number of bytes."""
    text = linecache.getline(file, line).encode()[:offset]
    return len(text.decode(errors="replace")) if text else offset


def display_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal: wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def source_line(span: Span) -> str | None:
    """The first source line of ``span`` without its line break, or None when the file is gone."""
    try:
        line = linecache.getline(span.file, span.line)
    except ValueError:  # a name that no file can have, such as one with a zero byte
        return None
    return line.rstrip("\r\n").expandtabs(1) if line else None


def excerpt(span: Span, label: str = "") -> list[str]:
    """The place, its source line and carets under the stretch, ready to print."""
    gutter = " " * len(str(span.line))
    lines = [f"{gutter}--> {span}"]
    text = source_line(span)
    if text is not None:
        end = span.end_col if span.end_line == span.line else len(text)
        pad = " " * display_width(text[: span.col])
        carets = "^" * max(1, display_width(text[span.col : end]))
        lines += [
            f"{gutter} |",
            f"{span.line} | {text}",
            f"{gutter} | {pad}{carets}{' ' + label if label else ''}",
        ]
    elif label:
        lines.append(f"{gutter} = {label}")
    lines += [f"{gutter} = called from {call}" for call in list(span.chain())[1:]]
    return lines
