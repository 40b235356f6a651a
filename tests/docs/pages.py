"""Markdown pages and the code in them."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unit.frontend.harness import lower

import heald as wp
from heald.cli.pages import Block, blocks_of
from heald.diagnostics import HealdError, Hint
from heald.ir import check, parse
from heald.ops import TABLE

ROOT = Path(__file__).parents[2]
FILE = "example.py"


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page."""
    return blocks_of(path.read_text(encoding="utf-8"))


def bless(path: Path, block: Block, text: str) -> None:
    """Show ``text`` as the output of a block of a page."""
    page = path.read_text(encoding="utf-8")
    code = f"```{block.language}\n{block.text}```\n\n```text\n"
    assert page.count(code) == 1
    path.write_text(page.replace(f"{code}{block.output}", f"{code}{text}"), encoding="utf-8")


def run(text: str, names: dict[str, Any], file: str = FILE) -> str:
    """Run Python source statement by statement and lower every kernel that it makes.

    Gives what it printed.

    Raises:
        HealdError: what the first refused statement or kernel was refused with.
    """
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names.setdefault("__name__", Path(file).stem)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(text).body:
            before = set(map(id, names.values()))
            exec(compile(ast.Module([statement], []), file, "exec"), names)
            for kernel in kernels_of(names):
                if id(kernel) not in before and not kernel.is_generic:
                    lower(kernel)
    return printed.getvalue()


def kernels_of(names: dict[str, Any]) -> Iterator[wp.Kernel]:
    return (value for value in list(names.values()) if isinstance(value, wp.Kernel))


def answer(block: Block, names: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """What a block prints, or the text and codes of its error."""
    try:
        if block.language == "wir":
            check(parse(block.text, TABLE, file="example.wir", locate=True), TABLE)
            return "", ()
        return run(block.text, names), ()
    except HealdError as error:
        return f"{error}\n", error.codes
    except Hint as hint:  # in tests, a warning is an error
        text = re.sub(r"took \d+ ms", "took 60 ms", str(hint))
        return f"{text}\n", (hint.diagnostic.code,)
    finally:
        wp.config.hints = False
