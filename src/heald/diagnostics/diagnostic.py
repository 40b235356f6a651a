"""One message to the user: what is wrong, where, why, and what to type instead."""

from __future__ import annotations

from dataclasses import dataclass

from heald.diagnostics.codes import CODES, HINTS
from heald.diagnostics.spans import Span, excerpt


@dataclass(frozen=True, slots=True)
class Note:
    """A second fact that explains the first, with its own place where it has one."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """``message`` says what is wrong in the user's words, ``label`` the fact at ``span``, ``hint``
    what to type."""

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    notes: tuple[Note, ...] = ()
    hint: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is not in the table of diagnostic codes")

    def render(self) -> str:
        """The diagnostic as text: place, source line, carets, notes, hint.

        What happens inside a builtin is shown where the user's code calls it.
        """
        kind = "hint" if self.code.startswith(HINTS) else "error"
        lines = [f"{kind}[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += excerpt(self.span.in_user_code, self.label)
        for note in self.notes:
            lines.append(f"note: {note.text}")
            if note.span is not None:
                lines += excerpt(note.span.in_user_code)
        if self.hint:
            lines.append(f"{'try' if kind == 'hint' else 'hint'}: {self.hint}")
        return "\n".join(lines)
