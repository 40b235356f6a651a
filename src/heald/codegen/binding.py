"""llvmlite, imported on first use."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

LOCK = threading.RLock()
"""Held around every use of LLVM, which llvmlite serialises anyway, call by call."""


@cache
def binding() -> Any:
    """``llvmlite.binding``, ready for this machine's processor."""
    with LOCK:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _FORK.calls = getattr(llvm.ffi.lib, "_lock", _FORK.calls)
        return llvm


@cache
def initialise_nvptx() -> None:
    """Make LLVM's code generator for NVIDIA GPUs ready.

    llvmlite offers no way to name one target, so all that it was built with are made known.
    """
    with LOCK:
        llvm = binding()
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


class _ForkGate:
    """Lets a fork wait until LLVM is between two uses.

    A child then finds no lock held by a thread that it does not have.  ``calls`` is llvmlite's own
    lock, which is private; should a version hide it elsewhere, what remains unsafe is to fork while
    another thread drops compiled code.
    """

    def __init__(self) -> None:
        self.calls: AbstractContextManager[object] = nullcontext()

    def close(self) -> None:
        """Before a fork."""
        LOCK.acquire()
        self.calls.__enter__()

    def open(self) -> None:
        """After it, in parent and child."""
        self.calls.__exit__(None, None, None)
        LOCK.release()


_FORK = _ForkGate()
os.register_at_fork(before=_FORK.close, after_in_parent=_FORK.open, after_in_child=_FORK.open)
