"""Where errors leave Heald: the frames of its inside are cut, so that the user's own line is last.

``wp.config.traceback = "full"`` (``HEALD_TRACEBACK=full``) keeps them.  Bugs of Heald itself
(``InternalError``) always keep them.

Nobody has to think of it: :func:`guard` goes over everything that has a public name, whenever such
a name is first asked for.  Left out is what cuts by itself or is called at every launch
(:func:`unguarded`), and what cannot fail: properties, unless they say what they raise, lengths and
comparisons.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from heald.config import config
from heald.diagnostics import HealdError, InternalError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])

_SAFE = frozenset(
    {
        *("__len__", "__hash__", "__eq__", "__ne__", "__bool__", "__del__", "__init_subclass__"),
        *("__getstate__", "__setstate__", "__set_name__"),
    }
)
_NOT_HERE = ("typing", "diagnostics", "library", "api.constants")
"""Places of public names that hold no functions, or none that fail."""
_BEHIND = {
    "api.array_memory": "ArrayMemory",
    "api.host_value": "HostValue",
    "api.struct": "StructValue",
    "api.tables": "Table",
}
"""Classes without a public name, of objects that users have in hand."""


def cut(error: HealdError) -> HealdError:
    """The error as it leaves: without the frames it went through, unless they are wanted."""
    if config.traceback == "full" or isinstance(error, InternalError):
        return error
    error.__cause__ = None
    error.__suppress_context__ = True
    return error.with_traceback(None)


def at_edge(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator for what is called from outside, and not on a hot path."""

    @functools.wraps(function)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except HealdError as error:
            raise cut(error)  # noqa: B904 - `cut` decides about the cause

    return _marked(guarded, function)


def unguarded(function: _F) -> _F:
    """Decorator for public functions that cut by themselves, or that every launch calls."""
    return _marked(function, function)


_done: set[object] = set()
_wrapped: dict[FunctionType, Callable[..., Any]] = {}
"""Functions behind the edge: one may have several names."""


def guard_public(places: Mapping[str, str]) -> None:
    """Put all that has a public name behind the edge, in the modules that are loaded by now.

    Args:
        places: the names, by the module under ``heald`` that has them.
    """
    for place, names in (*places.items(), *_BEHIND.items()):
        module = sys.modules.get(f"heald.{place}")
        task = (place, names)
        if module is None or task in _done or place.startswith(_NOT_HERE):
            continue
        if getattr(module.__spec__, "_initializing", False):
            continue  # its names are still to come
        # Without a lock, under which modules might be imported: two threads do the same.
        guard(module.__name__, names.split())
        _done.add(task)


def guard(home: str, names: Iterable[str]) -> None:
    """Put functions and classes of a module behind the edge, in their place.

    Functions keep what they say of themselves, and are pickled by the name that they have here.
    """
    module = sys.modules[home]
    for name in names:
        own = name if hasattr(module, name) else f"{name}_"
        value = getattr(module, own)
        if not isinstance(value, FunctionType):
            _guard_class(value if isinstance(value, type) else type(value))
        elif value is not getattr(value, "__heald_edge__", None):
            made = _wrapped.setdefault(value, _edged(value))
            made.__module__ = home
            setattr(module, own, made)


def _guard_class(given: type) -> None:
    """Methods, and properties that say that they raise; those of its bases too."""
    for cls in given.__mro__:
        if cls.__module__.partition(".")[0] != "heald" or cls in _done:
            continue
        _done.add(cls)
        for name, member in list(vars(cls).items()):
            if name in _SAFE or (name.startswith("_") and not name.endswith("__")):
                continue
            made = _guard_member(member)
            if made is not member:
                setattr(cls, name, made)


def _guard_member(member: Any) -> Any:
    match member:
        case FunctionType():
            return _edged(member)
        case staticmethod() | classmethod() if isinstance(member.__func__, FunctionType):
            made = _edged(member.__func__)
            return member if made is member.__func__ else type(member)(made)
        case property():
            get, put = member.fget, member.fset
            if get is not None and "Raises:" in (get.__doc__ or ""):
                get = _edged(get)
            put = None if put is None else _edged(put)
            if (get, put) != (member.fget, member.fset):
                return property(get, put, member.fdel, member.__doc__)
    return member


def _edged(function: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(function, "__heald_edge__"):
        return function
    return _with_key(function) if function.__name__ == "__getitem__" else at_edge(function)


def _with_key(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """As :func:`at_edge`, for ``a[key]``, which is to stay quick."""

    @functools.wraps(function)
    def guarded(self: Any, key: Any) -> Any:
        try:
            return function(self, key)
        except HealdError as error:
            raise cut(error)  # noqa: B904 - `cut` decides about the cause

    return _marked(guarded, function)


def _marked(function: _F, behind: Callable[..., Any]) -> _F:
    function.__heald_edge__ = behind  # type: ignore[attr-defined]
    return function
