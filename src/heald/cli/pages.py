"""Markdown pages as modules: their fenced ``python`` blocks, run one after another."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import ModuleType

from heald.api.kernel import Kernel
from heald.cli.dump import kernels_of
from heald.diagnostics import HealdError

SUFFIX = ".md"
_FENCE = re.compile(r"^(```+)(\w*)[^\n`]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_SHOWN_ERROR = re.compile(r"error\[(\w+)\]: ")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page.

    Attributes:
        language: what stands behind the opening fence; blocks of ``python`` are run.
        text: what stands between the fences.
        line: the line of the opening fence.
        output: the ``text`` block right behind it, where only blank lines part them.
    """

    language: str
    text: str
    line: int
    output: str | None

    @property
    def shown_error(self) -> str:
        """The code of the error that the block is shown to end with; empty for none."""
        match = _SHOWN_ERROR.match(self.output or "")
        return match[1] if match else ""


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks of the text of a page."""
    found = list(_FENCE.finditer(page))
    out = []
    for k, match in enumerate(found):
        _, language, text = match.groups()
        output = None
        if k + 1 < len(found) and language != "text":
            following = found[k + 1]
            if following[2] == "text" and not page[match.end() : following.start()].strip():
                output = following[3]
        out.append(Block(language, text, page.count("\n", 0, match.start()) + 1, output))
    return out


@dataclass(slots=True)
class Page:
    """What running a page gave.

    Attributes:
        kernels: all that its blocks defined, in order, also those whose name another one took
            later; without those of which the page shows that the compiler refuses them.
        error: what ended it early; empty where it ran to its end.
    """

    kernels: list[Kernel] = field(default_factory=list)
    error: str = ""


def run_page(path: Path) -> Page:
    """Run the ``python`` blocks of a page as one module, whose lines are those of the page.

    A block that is shown to end with an error is expected to.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    parts = [b for b in blocks_of(text) if b.language == "python"]
    source = ""
    for block in parts:
        source += "\n" * (block.line - source.count("\n")) + block.text
    # Whoever reads the source of a kernel or a struct finds Python there, not the page.
    lines = StringIO(source).readlines()  # as Python's parser, which knows no other breaks
    linecache.cache[str(path)] = (len(source), None, lines, str(path))
    module = ModuleType(str(path))  # a name that no module of Python's has
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    page = Page()
    seen: set[Kernel] = set()
    for block in parts:
        made: dict[Kernel, None] = {}
        try:
            for _ in _run(block, module):
                own = (k for k in kernels_of(module) if k.__module__ == module.__name__)
                made |= dict.fromkeys(own)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - pages may raise anything
            if not (isinstance(error, HealdError) and block.shown_error in error.codes):
                what = f"{type(error).__name__}: {error}"
                page.error = f"cannot run '{path}', the block at line {block.line}: {what}"
        new = [k for k in made if k not in seen]
        page.kernels += [k for k in new if not _is_refused(k, block.shown_error)]
        seen.update(new)
        if page.error:
            break
    return page


def _run(block: Block, module: ModuleType) -> Iterator[None]:
    """Run a block; stops after each statement."""
    tree = ast.parse("\n" * block.line + block.text, str(module.__file__))
    for statement in tree.body:
        exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), vars(module))
        yield


def _is_refused(kernel: Kernel, code: str) -> bool:
    """Does the compiler refuse a kernel with this error?"""
    if not code or kernel.is_generic:
        return False
    try:
        kernel.program(kernel.concrete_types())
    except HealdError as error:
        return code in error.codes
    return False
