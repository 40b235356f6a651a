"""What every step of a compilation runs in: no garbage collector, and a larger stack where sources
are nested deeply."""

from __future__ import annotations

import contextvars
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from heald.diagnostics import CompileError, Diagnostic, Span
from heald.forks import ForkSafeLock

if TYPE_CHECKING:
    from heald.ir import Kernel

T = TypeVar("T")

_STACK = 256 << 20
"""Bytes of the larger stack; pages that are not touched cost nothing."""
_FRAMES = 50_000
"""Python frames that it holds, with 5 KiB for each that C code lies below."""
_SHALLOW = 40
"""Regions in each other that any stack has room for."""
_LOCK = ForkSafeLock()


class _DeepThread(threading.Thread):
    """A thread that runs one function and keeps what it gives or raises."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__(name="heald deep")
        self._make = make
        self._context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._context.run(self._make)
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            self.error = error


def deeply(make: Callable[[], T], name: str, span: Span | None = None) -> T:
    """What ``make`` gives; where the stack is too small for it, it starts again with a larger one.

    Few kernels need it: passes call themselves for each level of nesting, and the usual thousand
    frames are enough for about a hundred of them.

    Args:
        make: a step of a compilation.
        name: of what is compiled.
        span: where that stands.

    Raises:
        CompileError: the larger stack is too small, too (H0101).
    """
    try:
        with _COLLECTOR.held():
            return make()
    except RecursionError:
        if isinstance(threading.current_thread(), _DeepThread):
            raise  # to the thread that waits for this one
    try:
        with _COLLECTOR.held():
            return with_room(make)
    except RecursionError:
        message = f"'{name}' has an expression or a block that is nested too deep"
        hint = "bind parts of it to names, or move them into a @wp.func"
        raise CompileError(Diagnostic("H0101", message, span, hint=hint)) from None


class _Collector:
    """Python's collector of garbage, off while any thread compiles.

    It visits every object of the process and would find none here: a compilation makes hundreds of
    thousands of objects and hardly a cycle, so what is not needed goes by its count of references.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._steps = 0
        self._was_on = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """For a step of a compilation."""
        with self._lock:
            if not self._steps:
                self._was_on = gc.isenabled()
                gc.disable()
            self._steps += 1
        try:
            yield
        finally:
            with self._lock:
                self._steps -= 1
                if not self._steps and self._was_on:
                    gc.enable()

    def let_go(self) -> None:
        """In a forked child, which has none of the threads that compiled."""
        if self._steps and self._was_on:
            gc.enable()
        self._steps = 0


_COLLECTOR = _Collector()
os.register_at_fork(after_in_child=_COLLECTOR.let_go)


def is_deep(kernel: Kernel) -> bool:
    """Is a kernel nested so deeply that the usual stack may be too small to interpret it?

    For what must not start again: half of its effects would be there already.
    """
    level = [kernel.body]
    for _ in range(_SHALLOW):
        level = [inner for region in level for op in region.ops for inner in op.regions]
    return bool(level)


def with_room(make: Callable[[], T]) -> T:
    """What ``make`` gives in a thread with the larger stack."""
    thread = _DeepThread(make)
    with _LOCK:
        size, limit = threading.stack_size(_STACK), sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _FRAMES))
        try:
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(size)
    if thread.error is not None:
        raise thread.error
    result: T = thread.result
    return result
