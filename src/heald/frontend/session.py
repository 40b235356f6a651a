"""The state of lowering one kernel: builder, frames, errors, and the helpers everything else
uses."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heald.diagnostics import Diagnostic, Note, Span
from heald.frontend.operands import (
    Binding,
    Entry,
    Literal,
    Operand,
    Refused,
    Static,
    Target,
    Unset,
    describe,
    is_foreign,
    is_function,
)
from heald.frontend.options import Options, Resolver
from heald.ir import Builder, Value
from heald.ir.builder import round_constant
from heald.ops import TABLE
from heald.types import Scalar, Type, array_like, literal_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heald.frontend.sources import FunctionSource
    from heald.ir.core import Op

MAX_ERRORS = 10
"""How many mistakes of a kernel are told."""
_MOST_KEPT = 200
"""How many are kept inside loops, which may be lowered again with wider types."""


@dataclass(slots=True)
class Frame:
    """One function being lowered: the kernel, or a function inlined into it."""

    source: FunctionSource
    call: Span | None
    env: dict[str, Entry]
    targets: list[Target]
    declared: dict[str, Type] = field(default_factory=dict)

    def enclosing(self, *kinds: str) -> Target | None:
        """The innermost target of one of these kinds."""
        return next((t for t in reversed(self.targets) if t.kind in kinds), None)


class Session:
    """Lowers one kernel.  ``expression`` and ``block`` are the two mutually recursive halves.

    ``tables`` are the parameters for captured tables, by identity, and ``shapes`` their extents.
    ``shared`` collects the allocations of shared arrays, which stand at the head of the kernel.
    ``failures`` counts statements that failed, ``open_loops`` the loops around the statement whose
    types may still grow.
    """

    def __init__(
        self,
        resolver: Resolver,
        options: Options,
        frame: Frame,
        expression: Callable[[Session, ast.expr], Operand],
        block: Callable[[Session, Sequence[ast.stmt]], bool],
        call_builtin: Callable[[Session, ast.AST, str, tuple[Operand, ...]], Operand],
    ) -> None:
        self.builder = Builder(TABLE)
        self.resolver = resolver
        self.options = options
        self.rank = 0
        self.shared: list[Op] = []
        self.names: dict[Value, str] = {}
        self.tables: dict[int, Value] = {}
        self.shapes: dict[Value, tuple[int, ...]] = {}
        self.literals: dict[Value, bool | int | float] = {}
        self.errors: list[Diagnostic] = []
        self.failures = 0
        self.open_loops = 0
        self.frame = frame
        self.inlining: list[tuple[Any, ...]] = []
        self._expression = expression
        self._block = block
        self._call_builtin = call_builtin

    # -- places and errors -------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """The place of a node in the function being lowered."""
        return self.frame.source.span(node, self.frame.call)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Ops made inside get the place of ``node``."""
        before = self.builder.span
        self.builder.span = self.span(node)
        try:
            yield
        finally:
            self.builder.span = before

    def refuse(
        self,
        node: ast.AST | Span,
        code: str,
        message: str,
        label: str = "",
        notes: Sequence[Note] = (),
        hint: str = "",
    ) -> Refused:
        """The exception that reports a mistake at ``node``."""
        span = node if isinstance(node, Span) else self.span(node)
        return Refused(Diagnostic(code, message, span, label, tuple(notes), hint))

    def report(self, refused: Refused) -> None:
        """Keep a mistake and go on; repeats are dropped: a loop is lowered again, a function is
        called from several places."""
        self.failures += 1
        found = refused.diagnostic
        if found is None or len(self.errors) >= _MOST_KEPT:
            return
        if not any(_same_mistake(found, other) for other in self.errors):
            self.errors.append(found)

    def mistakes(self) -> tuple[int, int]:
        """How much was reported so far, for :meth:`forget`."""
        return self.failures, len(self.errors)

    def forget(self, mistakes: tuple[int, int]) -> None:
        """Drop what was reported since: it is lowered again, and reported again where it stays."""
        self.failures = mistakes[0]
        del self.errors[mistakes[1] :]

    # -- the two halves ----------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Operand:
        """Lower an expression; its ops get its place."""
        before, here = self.builder.span, self.span(node)
        self.builder.span = here
        try:
            operand = self._expression(self, node)
        finally:
            self.builder.span = before
        return Literal(operand.value, here) if isinstance(operand, Literal) else operand

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Lower statements; False when control cannot fall out of their end."""
        return self._block(self, statements)

    def call_builtin(
        self, node: ast.AST, name: str, operands: tuple[Value | Literal, ...]
    ) -> Value | Literal:
        """The value of a library function that an operator stands for."""
        return self.as_number(node, self._call_builtin(self, node, name, operands))

    def number(self, node: ast.expr) -> Value | Literal:
        """Lower an expression that must be a value."""
        return self.as_number(node, self.expression(node))

    def as_number(self, node: ast.AST, operand: Operand) -> Value | Literal:
        """``operand`` where a value is needed."""
        if isinstance(operand, (Value, Literal)):
            return operand
        raise self.no_value(node, operand)

    def no_value(self, node: ast.AST, operand: Operand) -> Refused:
        """The error for a compile-time object where a kernel needs a value."""
        if isinstance(operand, Static) and is_foreign(operand.object):
            hint = "numbers, vectors, functions and types are compiled in; "
            hint += "pass arrays as arguments, and pick numbers out with wp.static(...)"
            what = f"{describe(operand)} cannot be used in a kernel"
            return self.refuse(node, "H0304", what, "captured by the kernel", hint=hint)
        return self.refuse(
            node,
            "H0107",
            f"{describe(operand)} is not a value that a kernel can compute with",
            "a number, vector, matrix, struct or array is needed here",
            hint="a function has a value where it is called, with ()"
            if is_function(operand)
            else "",
        )

    # -- names -------------------------------------------------------------------------------------

    def bind(self, name: str, operand: Operand, node: ast.AST | None) -> None:
        """Give a name a meaning in the current frame."""
        if isinstance(operand, Value):
            self.names.setdefault(operand, name)
        span = self.span(node) if node is not None else None
        self.frame.env[name] = Binding(operand, span)

    def poison(self, names: Iterable[str]) -> None:
        """Names of a statement that failed say no more when read; arrays keep their meaning."""
        for name in names:
            entry = self.frame.env.get(name)
            operand = entry.operand if isinstance(entry, Binding) else None
            if not (isinstance(operand, Value) and array_like(operand.type) is not None):
                self.frame.env[name] = Unset(None)

    # -- emitting ----------------------------------------------------------------------------------

    def op(self, name: str, *operands: Value, type: Type | None = None, **attrs: Any) -> Value:
        """Append a value op."""
        return self.builder.op(name, *operands, type=type, **attrs)

    def const(self, t: Scalar, value: bool | int | float) -> Value:
        """A constant whose number the front end remembers."""
        made = self.builder.const(t, value)
        self.literals[made] = round_constant(t, value)
        return made

    def static_int(self, operand: Operand) -> int | None:
        """The number of an operand that is an integer known at compile time."""
        value = operand.value if isinstance(operand, Literal) else None
        if isinstance(operand, Value):
            value = self.literals.get(operand)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def type_of(self, operand: Value | Literal) -> Type:
        """The type of an operand, or the one a literal takes by default."""
        return literal_type(operand.value) if isinstance(operand, Literal) else operand.type


def _same_mistake(a: Diagnostic, b: Diagnostic) -> bool:
    """At one place in the source, reached by whatever calls."""
    if a.span is None or b.span is None:
        return a == b
    return (a.code, a.message, a.span.at_call(None)) == (b.code, b.message, b.span.at_call(None))


def near_miss(name: str, names: Iterable[str]) -> str:
    """``'a', 'b'``: up to three names that look like ``name``; empty when none does."""
    close = difflib.get_close_matches(name, list(dict.fromkeys(names)), n=3, cutoff=0.7)
    return " or ".join(f"'{c}'" for c in close)
