"""The builtins of the library as functions that kernels and Python code call."""

from __future__ import annotations

from functools import cache

from heald.api.function import Function
from heald.library.registry import load_topics, lookup


@cache
def find_builtin(name: str) -> Function | None:
    """The builtin of a name as a callable, or None."""
    builtin = lookup(name)
    if builtin is None:
        return None
    function = Function(name, list(builtin.overloads), builtin.updates)
    function.__doc__ = builtin.doc
    return function


def builtin_names() -> list[str]:
    """The names of all builtins."""
    return sorted(load_topics())
