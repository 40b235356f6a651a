"""``@wp.func``: functions that kernels inline, callable from Python too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from heald.api.calls import HostCall
from heald.api.edge import at_edge
from heald.diagnostics import Diagnostic, TypingError
from heald.frontend import own_signature, remember
from heald.frontend.signatures import accepted

_REGISTRY: dict[tuple[str, str], Function] = {}
"""Functions by module and qualified name, so that a second definition adds an overload."""


class Function:
    """A function of the kernel language: one name, one or more overloads.

    Attributes:
        key: its name in messages.
        func: the Python function of the first overload.
    """

    def __init__(
        self, name: str, functions: list[FunctionType], updates: tuple[str, ...] = ()
    ) -> None:
        self.key = name
        self.updates = updates
        self._functions = functions
        self._host = self._host_call()
        if functions:
            functools.update_wrapper(self, functions[0])

    def __reduce__(self) -> str:
        """It is copied and pickled by its name, as functions are."""
        return str(getattr(self, "__qualname__", self.key))

    @property
    def func(self) -> FunctionType:
        """The Python function of the first overload."""
        return self._functions[0]

    @property
    def __heald_overloads__(self) -> tuple[FunctionType, ...]:
        return tuple(self._functions)

    def add_overload(self, function: FunctionType) -> None:
        """Another definition under the same name.  One with the same parameters replaces the old
        one."""
        signature = _annotations(function)
        kept = [f for f in self._functions if _annotations(f) != signature]
        self._functions[:] = [*kept, function]
        self._host = self._host_call()

    def _host_call(self) -> HostCall:
        names = list(own_signature(self._functions[0]).parameters) if self.updates else []
        positions = [names.index(name) for name in self.updates]
        return HostCall(self.key, lambda: self._functions, positions)

    @at_edge
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate on the host; the same bits as in a kernel."""
        if kwargs:
            args = self._ordered(args, kwargs)
        return self._host(*args)

    def _ordered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        for function in self._functions:
            try:
                bound = own_signature(function).bind(*args, **kwargs)
            except TypeError:
                continue
            bound.apply_defaults()
            return bound.args
        given = ", ".join([*(["..."] if args else []), *(f"{name}=" for name in kwargs)])
        notes = accepted(self.key, self._functions)
        raise TypingError(
            Diagnostic("H0305", f"'{self.key}' has no parameters for ({given})", notes=notes)
        )

    def __repr__(self) -> str:
        return f"<heald function {self.key}>"


def _annotations(function: FunctionType) -> tuple[str, ...]:
    """What tells overloads apart: the types of the parameters, not their names."""
    return tuple(str(p.annotation) for p in own_signature(function).parameters.values())


def func(
    f: Callable[..., Any] | None = None, *, name: str | None = None, module: Any = None
) -> Any:
    """Decorator: a function that kernels (and other functions) can call.

    A second function of the same name in the same module adds an overload.

    Raises:
        TypingError: what is decorated is no plain Python function.
    """
    if f is None:
        return lambda g: func(g, name=name, module=module)
    if not isinstance(f, FunctionType):
        raise TypingError(
            Diagnostic("H0102", f"@wp.func decorates a Python function, not {type(f).__name__}")
        )
    remember(f)
    if f.__name__ == "<lambda>":
        return Function(name or f.__name__, [f])  # all have one name, which makes no overloads
    key = (f.__module__, name or f.__qualname__)
    known = _REGISTRY.get(key)
    if known is not None and _is_redefinition(known, f):
        known = None
    if known is None:
        _REGISTRY[key] = known = Function(name or f.__name__, [f])
    else:
        known.add_overload(f)
    return known


def _is_redefinition(known: Function, f: FunctionType) -> bool:
    """A notebook cell or factory that runs again defines anew; overloads differ in their
    parameters.

    In a notebook one overload can be replaced alone; a factory makes a new function each time, and
    those that it made before keep their meaning.
    """
    same = [_annotations(g) == _annotations(f) for g in known.__heald_overloads__]
    return all(same) or (any(same) and "<locals>" in f.__qualname__)
