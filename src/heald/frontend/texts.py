"""Where the text of a function lies in its file, found without parsing the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import CodeType

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


def line_range(code: CodeType, lines: Sequence[str]) -> tuple[int, int]:
    """The first line of a function (of its decorators, where it has some) and its last, from 1.

    Everything that Python made code of is inside, and what follows with a deeper indentation.
    """
    first = code.co_firstlineno
    last = max(first, *_line_ends(code))
    margin = _margin(lines[first - 1]) if first <= len(lines) else 0
    for number in range(last, len(lines)):
        line = lines[number].strip()
        if not line or line.startswith("#"):
            continue
        if _margin(lines[number]) <= margin:
            break
        last = number + 1
    return first, min(last, len(lines))


def _line_ends(code: CodeType) -> Iterator[int]:
    """The last line of every instruction, nested functions and comprehensions included."""
    yield code.co_firstlineno
    for line, end_line, _, _ in code.co_positions():
        yield end_line or line or 0
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _line_ends(constant)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def parse_lines(lines: Sequence[str], first: int, last: int) -> AnyFunction | None:
    """The function that these lines of a file are, with the coordinates of the file.

    None where they are something else.
    """
    text = "".join(lines[first - 1 : last])
    if not text[:1].isspace():
        above = "\n" * (first - 1)
    elif first > 1:
        above = "\n" * (first - 2) + "if 1:\n"
    else:
        return None
    try:
        body = ast.parse(above + text).body
    except (SyntaxError, ValueError):
        return None
    if len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].body
    if len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return body[0]
    return None
