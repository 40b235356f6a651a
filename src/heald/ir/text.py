"""The text form of a kernel; ``docs/wir.md`` has the grammar, ``parser`` reads it back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from heald.diagnostics import InternalError, Span
from heald.ir.core import Attr, Kernel, Op, Region, Value
from heald.types import Array, Scalar, Struct, Type

# A name that needs no quotes.  No part after a dot starts with a digit: `%s.1` is the second `s`.
_is_bare = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*").fullmatch
_is_word = re.compile(r"\w+").fullmatch


def to_text(kernel: Kernel, *, spans: bool = False) -> str:
    """The kernel as text that ``parse`` reads back; with ``spans``, places in the source too.

    Raises:
        InternalError: an attribute holds something that is no ``Attr``.
    """
    return Printer(kernel, spans=spans).kernel_text()


def canonical_text(kernel: Kernel) -> str:
    """Text that two kernels share if and only if they are equal.

    Values are numbered in print order and attributes sorted by name; source names and spans are
    left out.
    """
    return Printer(kernel, canonical=True).kernel_text()


def quote(text: str) -> str:
    """``text`` in double quotes on one line, escaped as in JSON where it is not printable."""
    if text.isprintable():
        return json.dumps(text, ensure_ascii=False)
    shown = [c if c.isprintable() and c not in '"\\' else json.dumps(c)[1:-1] for c in text]
    return f'"{"".join(shown)}"'


def _key(name: str) -> str:
    """The name of an attribute or field, in quotes unless it is an identifier in one token."""
    return name if name.isidentifier() and _is_word(name) else quote(name)


def attr_text(value: Attr) -> str:
    """An attribute value as text; floats are hexadecimal, so no bit is lost."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case float():
            return float_text(value)
        case str():
            return quote(value)
        case tuple() if all(type(n) is int for n in value):
            return f"({', '.join(map(str, value))})"
    raise InternalError(f"an attribute holds {value!r}, which has no text form")


def float_text(value: float) -> str:
    """C99 hexadecimal without trailing zeros, ``inf``, ``-inf`` or ``nan``."""
    mantissa, p, exponent = float.hex(value).partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}" if p else mantissa


class Names:
    """Gives out names that differ: the second ``s`` is ``s.1``."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """``name``, quoted where it must be, with a number from its second use on."""
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        if name and not _is_bare(name):
            name = quote(name)
        if not name:
            return str(count)
        return f"{name}.{count}" if count else name


class Printer:
    """Prints one kernel.  Values, structs and spans are named as they are met."""

    __slots__ = (
        "_canonical",
        "_kernel",
        "_lines",
        "_names",
        "_source_names",
        "_span_ids",
        "_span_lines",
        "_span_numbers",
        "_spans",
        "_struct_lines",
        "_struct_names",
        "_types",
        "_values",
    )

    def __init__(self, kernel: Kernel, *, spans: bool = False, canonical: bool = False) -> None:
        self._kernel = kernel
        self._spans = spans
        self._canonical = canonical
        self._source_names: Mapping[Value, str] = {} if canonical else kernel.names
        self._lines: list[str] = []
        self._values: dict[Value, str] = {}
        self._names = Names()
        self._types: dict[Type, str] = {}
        self._struct_names = Names()
        self._struct_lines: list[str] = []
        self._span_ids: dict[int, str] = {}
        self._span_numbers: dict[Span, str] = {}
        self._span_lines: list[str] = []

    def kernel_text(self) -> str:
        """The whole kernel; needs a fresh printer."""
        kernel = self._kernel
        name = kernel.name if _is_bare(kernel.name) else quote(kernel.name)
        head = f"kernel @{name}<{kernel.rank}>({', '.join(map(self.typed, kernel.params))})"
        if kernel.results:
            head += f" -> ({', '.join(map(self.type_text, kernel.results))})"
        self._lines.append(f"{head}{self._attrs(kernel.attrs)} {{\n")
        for op in kernel.body.ops:
            self._op(op, "  ")
        self._lines.append(f"}}{self._span(kernel.span)}\n")
        return "".join(self._struct_lines + self._lines + self._span_lines)

    # -- ops ---------------------------------------------------------------------------------

    def head(self, op: Op) -> str:
        """One op without its regions."""
        text = op.name
        if op.results:
            text = f"{', '.join(map(self.typed, op.results))} = {text}"
        if op.operands:
            text += " " + ", ".join(map(self.value, op.operands))
        return text + self._attrs(op.attrs) if op.attrs else text

    def _op(self, op: Op, pad: str) -> None:
        text = pad + self.head(op)
        for region in op.regions:
            self._region(text, region, pad)
            text = pad + "}"
        self._lines.append(f"{text}{self._span(op.span)}\n")

    def _region(self, before: str, region: Region, pad: str) -> None:
        self._lines.append(f"{before} ({', '.join(map(self.typed, region.args))}) {{\n")
        deeper = pad + "  "
        for op in region.ops:
            self._op(op, deeper)

    def _attrs(self, attrs: Mapping[str, Attr]) -> str:
        if not attrs:
            return ""
        items = sorted(attrs.items()) if self._canonical else attrs.items()
        parts = [f"{_key(key)}={attr_text(value)}" for key, value in items]
        return f" [{', '.join(parts)}]"

    # -- values and types --------------------------------------------------------------------

    def value(self, value: Value) -> str:
        """The name of a value, with its percent sign."""
        name = self._values.get(value)
        if name is None:
            name = "%" + self._names.unique(self._source_names.get(value, ""))
            self._values[value] = name
        return name

    def typed(self, value: Value) -> str:
        """The name of a value and its type, as where it is defined."""
        return f"{self.value(value)}: {self.type_text(value.type)}"

    def type_text(self, t: Type) -> str:
        """A type; structs are declared as they are met."""
        text = self._types.get(t)
        if text is None:
            match t:
                case Struct():
                    text = self._struct(t)
                case Array() if not isinstance(t.dtype, Scalar):
                    text = t.spell(self.type_text(t.dtype))
                case _:
                    text = str(t)
            self._types[t] = text
        return text

    def _struct(self, t: Struct) -> str:
        fields = [f"{_key(name)}: {self.type_text(field)}" for name, field in t.fields]
        name = self._struct_names.unique(t.name)
        self._struct_lines.append(f"struct @{name} {{{', '.join(fields)}}}\n")
        return f"struct<{name}>"

    # -- spans -------------------------------------------------------------------------------

    def _span(self, span: Span | None) -> str:
        if span is None or not self._spans:
            return ""
        number = self._span_ids.get(id(span))  # equal spans are mostly one object: no hash needed
        if number is None:
            number = self._span_ids[id(span)] = self._span_number(span)
        return number

    def _span_number(self, span: Span) -> str:
        number = self._span_numbers.get(span)
        if number is None:
            call = span.inlined_at
            at = "" if call is None else f" at{self._span_number(call)}"
            number = f" !{len(self._span_lines)}"
            place = f"{span.line}:{span.col}-{span.end_line}:{span.end_col}"
            self._span_lines.append(f"{number[1:]} = {quote(span.file)} {place}{at}\n")
            self._span_numbers[span] = number
        return number


def describe_ops(kernel: Kernel) -> Callable[[Op], str]:
    """A function from an op of ``kernel`` to its line of text, named as in ``to_text``.

    It also serves kernels that are malformed.
    """
    printer = Printer(kernel)
    with suppress(InternalError):  # an attribute without text form; names given so far stand
        printer.kernel_text()

    def describe(op: Op) -> str:
        try:
            return printer.head(op)
        except InternalError:
            return op.name

    return describe
