"""Tokens of the text form, and where they stand."""

from __future__ import annotations

import bisect
import json
import linecache
import re
from dataclasses import dataclass, replace

from heald.diagnostics import Diagnostic, Span

_STRING = r'"(?:[^"\\\n]|\\.)*"(?:\.[0-9]+)?'
# A string without an end takes the rest of its line, so that no text costs quadratic time.
_TOKEN = re.compile(
    rf"""(?:\s++|;[^\n]*+)*+(
    {_STRING} | "[^\n]*
    | [%@](?:[\w.]+|{_STRING})
    | ![0-9]+
    | [0-9]+:[0-9]+-[0-9]+:[0-9]+
    | -?0x[0-9a-f]+(?:\.[0-9a-f]*)?p[+-]?[0-9]+
    | -?[\w?]+(?:\.\w+)*
    | ->
    | \S
    | \Z
    )""",
    re.VERBOSE,
)
_SUFFIX = re.compile(r"\.[0-9]+$")
_is_place = re.compile(r"([0-9]{1,9}):([0-9]{1,9})-([0-9]{1,9}):([0-9]{1,9})").fullmatch
_is_number = re.compile(r"-?[0-9]{1,20}").fullmatch
_is_float = re.compile(r"-?0x[0-9a-f.]{1,40}p[+-]?[0-9]{1,6}|-?inf|nan").fullmatch
_MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at a token, by its number, or behind it where its line ends too early."""

    token: int
    message: str
    hint: str = ""
    behind: bool = False


class Refusal(Exception):
    """Raised inside the parser to give up the line at hand; without a fault when that is known."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__()
        self.fault = fault


class Enough(Exception):
    """Raised inside the parser to give up the text; every fault is noted already."""


def tokenize(text: str) -> list[str]:
    """The tokens of ``text``; empty ones at the end let a reader look ahead."""
    tokens = _TOKEN.findall(text)
    while tokens and not tokens[-1]:
        tokens.pop()
    tokens += ("", "")
    return tokens


def shorten(token: str) -> str:
    """A token as an error message shows it."""
    return token if len(token) <= _MAX_SHOWN else token[: _MAX_SHOWN - 3] + "..."


class Places:
    """Line and column of every token; made only when something has to be pointed at."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._text = text
        self._extents = [m.span(1) for m in _TOKEN.finditer(text) if m[1]]
        self._lines = [0]
        self._lines += (m.end() for m in re.finditer("\n", text))

    def line(self, token: int) -> int:
        """The line that a token stands on, from 1."""
        return bisect.bisect_right(self._lines, self._extent(token)[0])

    def span(self, first: int, last: int) -> Span:
        """From the start of one token to the end of another."""
        start, stop = self._extent(first)[0], self._extent(last)[1]
        line = bisect.bisect_right(self._lines, start)
        end_line = bisect.bisect_right(self._lines, stop)
        col, end_col = start - self._lines[line - 1], stop - self._lines[end_line - 1]
        return Span(self._file, line, col, end_line, end_col)

    def _extent(self, token: int) -> tuple[int, int]:
        if token < len(self._extents):
            return self._extents[token]
        end = len(self._text.rstrip())
        return end, end

    def diagnose(self, fault: Fault, token: str) -> Diagnostic:
        """The fault as a diagnostic with carets in the text."""
        span = self.span(fault.token, fault.token)
        if fault.behind:
            span = replace(span, line=span.end_line, col=span.end_col, end_col=span.end_col + 1)
            found = "the line ends here"
        elif not token:
            found = "the text ends here"
        else:
            found = f"found {shorten(token)}" if fault.message.startswith("expected") else ""
        return Diagnostic("H0901", fault.message, span, found, hint=fault.hint)

    def register(self) -> None:
        """Let error messages show lines of the text."""
        lines = [line + "\n" for line in self._text.split("\n")]
        linecache.cache[self._file] = (len(self._text), None, lines, self._file)


# -- meaning of tokens -----------------------------------------------------------------------------


def string_of(token: str) -> str | None:
    """What a string token stands for, or None when it is none."""
    if len(token) < 2 or token[0] != '"' or token[-1] != '"':
        return None
    if "\\" not in token:
        return token[1:-1]
    try:
        text = json.loads(token)
    except ValueError:
        return None
    return text if isinstance(text, str) else None


def name_of(token: str) -> str | None:
    """The source name in a name token without its first character; None when it is malformed.

    The number that made it unique is left out; a name that is only a number is no name.
    """
    if token.isidentifier():
        return token
    if token.isdigit() and token.isascii():
        return ""
    base = _SUFFIX.sub("", token)
    if base.startswith('"'):
        return string_of(base)
    return base if all(base.split(".")) else None


def number_of(token: str) -> int | None:
    """A decimal integer of at most 20 digits, or None."""
    return int(token) if _is_number(token) else None


def float_of(token: str) -> float | None:
    """A hexadecimal float, infinity or NaN, or None."""
    if not _is_float(token):
        return None
    try:
        return float.fromhex(token)
    except (ValueError, OverflowError):
        return None


def place_of(token: str) -> tuple[int, int, int, int] | None:
    """``line:col-line:col``, or None."""
    match = _is_place(token)
    if match is None:
        return None
    line, col, end_line, end_col = map(int, match.groups())
    return line, col, end_line, end_col
