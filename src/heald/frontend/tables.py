"""Tables that a kernel captures: arrays of fixed shape that come along with every launch."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from heald.frontend.dependencies import is_library_name, outline_of
from heald.frontend.sources import captured_value
from heald.types import Array


def table_type(value: Any) -> Array | None:
    """The type of a table (``wp.constant`` of a numpy array), or None for anything else."""
    found = getattr(type(value), "__heald_table__", None)
    t = None if found is None else value.__heald_table__
    return t if isinstance(t, Array) else None


def captured_tables(function: FunctionType) -> tuple[tuple[str, Any], ...]:
    """The tables that a kernel captures, itself or by functions that it calls, each once.

    With the names by which it captures them, in the order of the names.
    """
    found: dict[int, tuple[str, Any]] = {}
    for name, value in _captured(function, set()):
        found.setdefault(id(value), (name, value))
    return tuple(found.values())


def _captured(function: FunctionType, met: set[FunctionType]) -> Iterator[tuple[str, Any]]:
    outline = None if function in met else outline_of(function)
    met.add(function)
    if outline is None or (function.__module__ or "").startswith("heald."):
        return
    for path in outline.paths:
        found = captured_value(function, path[0])
        for attribute in path[1:]:
            if not found or table_type(found[0]) is not None:
                break
            if is_library_name(found[0], attribute):
                found = ()
                break
            try:
                found = (getattr(found[0], attribute),)
            except Exception:  # noqa: BLE001 - a property may raise anything
                found = ()
        if not found:
            continue
        (value,) = found
        if table_type(value) is not None:
            yield path[-1] if len(path) == 1 else "_".join(path), value
        for inner in getattr(value, "__heald_overloads__", ()):
            yield from _captured(inner, met)
