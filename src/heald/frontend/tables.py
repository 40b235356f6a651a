"""Tables that a kernel captures: arrays of fixed shape that come along with every launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a kernel captures as its names are bound now, itself or by functions that it
    calls.

    Attributes:
        named: each once, with the first name by which it is captured.
        meant: which of them each captured name is that is a table, in the order of the walk.
    """

    named: tuple[tuple[str, Any], ...] = ()
    meant: tuple[int, ...] = ()

    @property
    def types(self) -> tuple[Array, ...]:
        """What the parameters for them are."""
        return tuple(table.__heald_table__ for _, table in self.named)


def captured_tables(function: FunctionType) -> Tables:
    """The tables that a kernel captures."""
    found: dict[int, tuple[str, Any]] = {}
    met = []
    for name, value in _captured(function, set()):
        found.setdefault(id(value), (name, value))
        met.append(id(value))
    order = list(found)
    return Tables(tuple(found.values()), tuple(map(order.index, met)))


def _captured(function: FunctionType, met: set[FunctionType]) -> Iterator[tuple[str, Any]]:
    outline = None if function in met else outline_of(function)
    met.add(function)
    if outline is None or (function.__module__ or "").startswith("heald."):
        return
    for path in outline.paths:
        found, read = captured_value(function, path[0]), 1
        for attribute in path[1:]:
            if not found or table_type(found[0]) is not None:
                break
            read += 1
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
            yield "_".join(path[:read]), value
        for inner in getattr(value, "__heald_overloads__", ()):
            yield from _captured(inner, met)
