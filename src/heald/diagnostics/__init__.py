"""Spans, diagnostics with codes and carets, exception classes.  Imports nothing of Heald."""

from heald.diagnostics.codes import CODES, Code
from heald.diagnostics.diagnostic import Diagnostic, Note
from heald.diagnostics.errors import (
    AssertFault,
    CompileError,
    DeviceError,
    DivisionFault,
    HealdError,
    Hint,
    InternalError,
    KernelFault,
    LaunchError,
    OutOfBoundsError,
    ProofError,
    TypingError,
)
from heald.diagnostics.spans import Span

__all__ = [
    "CODES",
    "AssertFault",
    "Code",
    "CompileError",
    "DeviceError",
    "Diagnostic",
    "DivisionFault",
    "HealdError",
    "Hint",
    "InternalError",
    "KernelFault",
    "LaunchError",
    "Note",
    "OutOfBoundsError",
    "ProofError",
    "Span",
    "TypingError",
]
