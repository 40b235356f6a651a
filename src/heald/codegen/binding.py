"""llvmlite, imported on first use."""

from __future__ import annotations

import threading
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
        return llvm
