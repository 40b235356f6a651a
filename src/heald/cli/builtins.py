"""``heald builtins``: what the library has, from the table of builtins."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby

import heald
from heald.frontend.signatures import result_text, signature_text
from heald.library.registry import (
    Accuracy,
    Below,
    Builtin,
    Collective,
    Domain,
    Exact,
    Interval,
    NonZero,
    Overload,
    Rounded,
    Scaled,
    Tolerance,
    Ulp,
    Unit,
    load_topics,
)

_HIDDEN = "Protocols"
_INTRINSICS = "In kernels"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a user can look up.

    Attributes:
        signatures: each as it is called, with its accuracy where that is promised.
    """

    name: str
    group: str
    doc: str
    signatures: tuple[str, ...]


def builtin_lines(words: str) -> Iterator[str]:
    """What to print about the builtins of these names, or else about those whose name or text has
    every word; all in short without one.

    ``wp.`` before a name and upper case make no difference.

    Raises:
        ValueError: there is none.
    """
    table = [*map(_entry_of, public_builtins()), *_intrinsics()]
    keys = [word.removeprefix("wp.") for word in words.lower().split()]
    if not keys:
        yield from _overview(table)
        return
    found = [e for e in table if e.name in keys]
    if {e.name for e in found} != set(keys):
        found = [e for e in table if _has_all(e.name, keys)]
        found = found or [e for e in table if _has_all(f"{e.name} {e.group} {e.doc}", keys)]
    if not found:
        near = [n for key in keys for n in get_close_matches(key, [e.name for e in table])]
        hint = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
        raise ValueError(f"no builtin has '{' '.join(words.split())}' in its name or text{hint}")
    for k, entry in enumerate(found):
        if k:
            yield ""
        yield from _describe(entry)


def _has_all(text: str, keys: Sequence[str]) -> bool:
    return all(key in text.lower() for key in keys)


def public_builtins() -> list[Builtin]:
    """The builtins that users call, in order of definition."""
    return [b for b in load_topics().values() if b.group != _HIDDEN]


def _entry_of(builtin: Builtin) -> Entry:
    signatures = []
    for record in builtin.records:
        call = f"wp.{builtin.name}{signature_text(record.function)}{result_text(record.function)}"
        promises = [promise_text(record), *fast_promise(record, "fast_math")]
        signatures.append(f"{call}    [{'; '.join(promises)}]")
    return Entry(builtin.name, builtin.group, builtin.doc, tuple(signatures))


def promise_text(record: Overload) -> str:
    """The promise about rounding, and what arguments it is made for."""
    domain = domain_text(record)
    return accuracy_text(record.accuracy) + (f" where {domain}" if domain else "")


def fast_promise(record: Overload, mode: str) -> Iterator[str]:
    """The promise under ``fast_math``, whose name is given as it is to be shown, where another."""
    if record.fast is not None:
        types = "float16 and bfloat16" if isinstance(record.fast.accuracy, Rounded) else "float32"
        yield f"{types} with {mode}: {promise_text(record.fast)}"


def _intrinsics() -> Iterator[Entry]:
    """Threads, atomics, printing: what the front end knows by itself."""
    for name in dir(heald):
        value = getattr(heald, name)
        if isinstance(value, Collective):
            signatures = tuple(f"wp.{name}{signature_text(f)}" for f in value.__heald_overloads__)
            yield Entry(name, _INTRINSICS, inspect.cleandoc(value.__doc__ or ""), signatures)
        if name in load_topics() or getattr(value, "__heald_intrinsic__", None) is None:
            continue
        parameters = inspect.signature(value).parameters.values()
        spelled = [str(p.replace(annotation=p.empty)) for p in parameters]
        yield Entry(
            name,
            _INTRINSICS,
            inspect.cleandoc(value.__doc__ or ""),
            (f"wp.{name}({', '.join(spelled)})",),
        )


def _overview(table: list[Entry]) -> Iterator[str]:
    """By group: the name, and what it is."""
    ordered = sorted(table, key=lambda e: (e.group, e.name))
    width = max(len(e.name) for e in table)
    for group, members in groupby(ordered, key=lambda e: e.group):
        yield group
        for entry in members:
            yield f"  {entry.name:{width}}  {summary(entry.doc)}"
        yield ""
    yield f"{len(table)} builtins; `heald builtins NAME` shows one with its signatures."


def _describe(entry: Entry) -> Iterator[str]:
    """Every signature with its accuracy, the group, and the text."""
    yield from entry.signatures
    yield f"  Group: {entry.group}"
    yield ""
    for line in _plain(entry.doc).splitlines():
        yield f"  {line}".rstrip()


def _plain(text: str) -> str:
    """Without the marks of reStructuredText."""
    return re.sub(r":func:`(\w+)`", r"\1", text).replace("``", "`")


def summary(doc: str, plain: Callable[[str], str] = _plain) -> str:
    """What the first sentence of a text says; ``plain`` turns its marks into something else."""
    sentence = " ".join(plain(doc.partition("\n\n")[0]).split())
    for mark in (". ", "; ", ": "):
        before, found, _ = sentence.partition(mark)
        if found and before.count("(") == before.count(")"):
            sentence = before
    return sentence.rstrip(".")


def accuracy_text(accuracy: Accuracy) -> str:
    """The promise about rounding, in words."""
    match accuracy:
        case Exact():
            return "exact"
        case Ulp(units):
            return f"{units:g} ulp"
        case Scaled(units):
            return f"{units:g} roundings of the largest term"
        case Tolerance(relative, absolute):
            parts = (_bound(relative, " of the result"), _bound(absolute, ""))
            return f"off by {' + '.join(filter(None, parts))}"
        case Rounded(before):
            return f"{accuracy_text(before)} + 0.5 ulp"


def _bound(size: float, what: str) -> str:
    return f"2^{math.log2(size):g}{what}" if size else ""


def domain_text(record: Overload) -> str:
    """What arguments must satisfy for the promise to hold; empty where they take any value."""
    return ", ".join(f"{name} {_domain(domain)}" for name, domain in record.domain.items())


def _domain(domain: Domain) -> str:
    match domain:
        case Interval(low, high):
            return f"from {low:g} to {high:g}"
        case Below(parameter):
            return f"less than {parameter}"
        case NonZero():
            return "not 0"
        case Unit():
            return "of length one"
