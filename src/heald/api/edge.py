"""Where errors leave Heald: the frames of its inside are cut, so that the user's own line is last.

``wp.config.traceback = "full"`` (``HEALD_TRACEBACK=full``) keeps them.  Bugs of Heald itself
(``InternalError``) always keep them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from heald.config import config
from heald.diagnostics import HealdError, InternalError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def cut(error: HealdError) -> HealdError:
    """The error as it leaves: without the frames it went through, unless they are wanted."""
    if config.traceback == "full" or isinstance(error, InternalError):
        return error
    error.__cause__ = None
    error.__suppress_context__ = True
    return error.with_traceback(None)


def at_edge(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator for public functions that are not on a hot path."""

    @functools.wraps(function)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except HealdError as error:
            raise cut(error)  # noqa: B904 - `cut` decides about the cause

    return guarded
