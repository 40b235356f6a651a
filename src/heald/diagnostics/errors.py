"""The exceptions that Heald raises.  Every one survives pickling and carries its diagnostics."""

from __future__ import annotations

from collections.abc import Iterable

from heald.diagnostics.diagnostic import Diagnostic


class HealdError(Exception):
    """Base of every error that Heald raises on purpose.

    Made of diagnostics, of one plain sentence, or of both.
    """

    def __init__(self, *parts: Diagnostic | str) -> None:
        self.diagnostics = tuple(p for p in parts if isinstance(p, Diagnostic))
        self._parts = parts
        texts = (p.render() if isinstance(p, Diagnostic) else p for p in parts)
        super().__init__("\n\n".join(texts))

    def __reduce__(self) -> tuple[type[HealdError], tuple[Diagnostic | str, ...]]:
        return type(self), self._parts

    @property
    def parts(self) -> tuple[Diagnostic | str, ...]:
        """What it was made of."""
        return self._parts

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the diagnostics, in order."""
        return tuple(d.code for d in self.diagnostics)


class CompileError(HealdError, RuntimeError):
    """A kernel is outside the language; no code was made."""


class TypingError(CompileError, TypeError):
    """A kernel, function or struct whose types do not fit."""


class LaunchError(HealdError, RuntimeError):
    """A launch refused on the host before anything ran."""


class KernelFault(HealdError):
    """A thread did something that its kernel promised not to do."""


class OutOfBoundsError(KernelFault, IndexError):
    """An index outside its array; the read gave zero, the write was dropped."""


class DivisionFault(KernelFault, ZeroDivisionError):
    """An integer division or remainder by zero, or a range with step zero."""


class AssertFault(KernelFault, AssertionError):
    """An ``assert`` or ``expect_*`` in a kernel failed."""


class ProofError(HealdError):
    """``safety="strict"`` met a property that is not proved."""


class DeviceError(HealdError, RuntimeError):
    """A device, driver or memory request failed."""


class Hint(UserWarning):
    """Nothing is wrong, but something could be better; shown with ``HEALD_HINTS=1``."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic)

    def __str__(self) -> str:
        return self.diagnostic.render()


class InternalError(HealdError):
    """A bug of Heald itself."""


def collect(diagnostics: Iterable[Diagnostic]) -> CompileError:
    """One exception for all errors of a kernel; a ``TypingError`` when all are about types, or
    about arguments that fit no parameters (H0305), where Python has its ``TypeError``, too."""
    found = tuple(diagnostics)
    is_typing = all(d.code.startswith("H02") or d.code == "H0305" for d in found)
    kind = TypingError if is_typing else CompileError
    return kind(*found)
