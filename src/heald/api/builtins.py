"""The builtins of the library as functions that kernels and Python code call."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from heald.api.edge import at_edge
from heald.api.function import Function
from heald.api.intrinsics import kernels_only
from heald.frontend import own_signature
from heald.library.registry import Builtin, load_topics, lookup


class _InKernels(Function):
    """A builtin with arguments that are known at compile time, which Python's never are."""

    @at_edge
    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: kernels call it."""
        kernels_only(self.key)


@cache
def find_builtin(name: str) -> Function | None:
    """The builtin of a name as a callable, or None."""
    builtin = lookup(name)
    if builtin is None:
        return None
    kind = _InKernels if _is_static(builtin) else Function
    function = kind(name, list(builtin.overloads), builtin.updates)
    function.__doc__ = builtin.doc
    return function


def _is_static(builtin: Builtin) -> bool:
    """Must an argument be known at compile time?  Such parameters have no type."""
    parameters = own_signature(builtin.overloads[0]).parameters.values()
    return any(p.annotation is p.empty and p.default is p.empty for p in parameters)


def builtin_names() -> list[str]:
    """The names of all builtins."""
    return sorted(load_topics())
