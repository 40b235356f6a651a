"""``heald builtins``: what the library has, from the table of builtins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import groupby

from heald.frontend.mismatch import result_text, signature_text
from heald.library.registry import Accuracy, Builtin, Exact, Scaled, Ulp, load_topics

_HIDDEN = "Protocols"


def builtin_lines(word: str) -> Iterator[str]:
    """What to print about the builtins whose name or text has ``word``; all in short without one.

    Raises:
        ValueError: there is none.
    """
    table = [b for b in load_topics().values() if b.group != _HIDDEN]
    if not word:
        yield from _overview(table)
        return
    found = [b for b in table if b.name == word] or [b for b in table if word in b.name]
    found = found or [b for b in table if word.lower() in f"{b.group} {b.doc}".lower()]
    if not found:
        near = get_close_matches(word, [b.name for b in table])
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise ValueError(f"no builtin has '{word}' in its name or text{hint}")
    for k, builtin in enumerate(found):
        if k:
            yield ""
        yield from _entry(builtin)


def _overview(table: list[Builtin]) -> Iterator[str]:
    """By group: the name, how many signatures, and what it is."""
    ordered = sorted(table, key=lambda b: (b.group, b.name))
    width = max(len(b.name) for b in table)
    for group, members in groupby(ordered, key=lambda b: b.group):
        yield group
        for builtin in members:
            yield f"  {builtin.name:{width}}  {_first_sentence(builtin.doc)}"
        yield ""
    yield f"{len(table)} builtins; `heald builtins NAME` shows one with its signatures."


def _entry(builtin: Builtin) -> Iterator[str]:
    """Every signature with its accuracy, the group, and the text."""
    for record in builtin.records:
        signature = f"{builtin.name}{signature_text(record.function)}"
        yield f"wp.{signature}{result_text(record.function)}    [{_accuracy(record.accuracy)}]"
    yield f"  Group: {builtin.group}"
    yield ""
    for line in _plain(builtin.doc).splitlines():
        yield f"  {line}".rstrip()


def _plain(text: str) -> str:
    """Without the marks of reStructuredText."""
    return re.sub(r":func:`(\w+)`", r"\1", text).replace("``", "`")


def _first_sentence(text: str) -> str:
    paragraph = " ".join(_plain(text).partition("\n\n")[0].split())
    return paragraph.partition(": ")[0].partition(".  ")[0].partition("; ")[0].rstrip(".")


def _accuracy(accuracy: Accuracy) -> str:
    match accuracy:
        case Exact():
            return "exact"
        case Ulp(units):
            return f"{units:g} ulp"
        case Scaled(units):
            return f"{units:g} roundings of the largest term"
