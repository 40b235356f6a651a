"""The builtins of the library as functions that kernels and Python code call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from heald.api.edge import at_edge
from heald.api.function import Function
from heald.diagnostics import CompileError, Diagnostic, Note, TypingError
from heald.frontend import own_signature
from heald.frontend.signatures import accepted
from heald.library.registry import Builtin, load_topics, lookup


class _Static(Function):
    """A builtin with arguments that are known at compile time, such as types.

    Python's are not, so on the host each of them makes a function of its own.
    """

    @at_edge
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate on the host; the same bits as in a kernel."""
        given = self._ordered(args, kwargs)
        parameters = own_signature(self.__heald_overloads__[0]).parameters.values()
        static = [p.annotation is p.empty for p in parameters]
        fixed = tuple(x for x, is_static in zip(given, static, strict=True) if is_static)
        rest = [x for x, is_static in zip(given, static, strict=True) if not is_static]
        try:
            return _fix(self, len(rest), *fixed)(*rest)
        except (CompileError, TypeError) as error:
            raise self._refusal(given, error) from None

    def _refusal(self, given: Sequence[object], error: Exception) -> TypingError:
        """What tells the caller, who has not written what does not compile."""
        values = ", ".join(x.__name__ if isinstance(x, type) else repr(x) for x in given)
        message = f"'{self.key}' does not take ({values})"
        if isinstance(error, CompileError):
            notes = error.diagnostics[-1].notes
        else:
            notes = Note(str(error)), *accepted(self.key, self.__heald_overloads__)
        return TypingError(Diagnostic("H0203", message, notes=notes))


@lru_cache(maxsize=None, typed=True)
def _fix(builtin: Function, count: int, *fixed: Any) -> Function:
    """A builtin whose static arguments are captured, and which takes ``count`` others before."""
    first, last = fixed[0], fixed[-1]

    def of_two() -> Any:
        return builtin(first, last)

    def of_one() -> Any:
        return builtin(last)

    def of_value(a: Any) -> Any:
        return builtin(a, last)

    chosen: Any = of_value if count else (of_two if len(fixed) == 2 else of_one)
    return Function(builtin.key, [chosen])


@cache
def find_builtin(name: str) -> Function | None:
    """The builtin of a name as a callable, or None."""
    builtin = lookup(name)
    if builtin is None:
        return None
    kind = _Static if _is_static(builtin) else Function
    function = kind(name, list(builtin.overloads), builtin.updates)
    function.__doc__ = builtin.doc
    return function


def _is_static(builtin: Builtin) -> bool:
    """Is an argument known at compile time?  Such parameters have no type."""
    parameters = own_signature(builtin.overloads[0]).parameters.values()
    return any(p.annotation is p.empty for p in parameters)


def builtin_names() -> list[str]:
    """The names of all builtins."""
    return sorted(load_topics())
