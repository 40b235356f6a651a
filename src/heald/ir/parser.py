"""Reads the text form back.  Any text is safe: it becomes a kernel or a ``CompileError``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NoReturn, TypeVar

from heald.diagnostics import CompileError, Span
from heald.ir.core import NO_ATTRS, Attr, Kernel, Op, Region, Value
from heald.ir.lexer import (
    Enough,
    Fault,
    Places,
    Refusal,
    float_of,
    name_of,
    number_of,
    place_of,
    shorten,
    string_of,
    tokenize,
)
from heald.ir.rules import SPACES, type_problem
from heald.ir.structure import MAX_NESTING, STRUCTURAL, ValueOps
from heald.types import (
    BY_NAME,
    Array,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
)

Item = TypeVar("Item")

MAX_ERRORS = 10
_CANDIDATES = 500


def parse(text: str, table: ValueOps, *, file: str = "<wir>", locate: bool = False) -> Kernel:
    """The kernel that ``text`` describes, with its names and spans.

    Args:
        text: one kernel in text form; ``;`` starts a comment.
        table: the value ops.  Names of ops are looked up; whether they are used rightly is
            ``check``'s business.
        file: what errors call the text; ``linecache`` holds it under that name after an error.
        locate: ops without a span get their own place in ``text``, so that later errors can show
            it.

    Raises:
        CompileError: H0901, with up to ten places.
    """
    return _Parser(text, table, file, locate).parse()


class _Parser:
    def __init__(self, text: str, table: ValueOps, file: str, locate: bool) -> None:
        self._text = text
        self._file = file
        self._table = table
        self._tokens = tokenize(text)
        self._next = 0
        self._places = Places(text, file) if locate else None
        self._locate = self._places
        if self._places is not None:
            self._places.register()
        self._values: dict[str, Value] = {}
        self._names: dict[Value, str] = {}
        self._structs: dict[str, Struct] = {}
        self._spans: list[Span] = []
        self._faults: list[Fault] = []
        self._lost: set[str] = set()

    def parse(self) -> Kernel:
        try:
            kernel = self._kernel()
        except Refusal as refusal:
            self._note(refusal.fault)
        except Enough:
            pass
        if self._faults:
            places = self._places or Places(self._text, self._file)
            places.register()
            raise CompileError(*(places.diagnose(f, self._tokens[f.token]) for f in self._faults))
        return kernel

    # -- small readers -----------------------------------------------------------------------

    def _fail(self, message: str, hint: str = "", at: int | None = None) -> NoReturn:
        raise Refusal(Fault(self._next if at is None else at, message, hint))

    def _give_up(self, message: str) -> NoReturn:
        self._note(Fault(self._next, message))
        raise Enough

    def _expect(self, token: str) -> None:
        if self._tokens[self._next] != token:
            self._fail(f"expected `{token}`")
        self._next += 1

    def _accept(self, token: str) -> bool:
        if self._tokens[self._next] != token:
            return False
        self._next += 1
        return True

    def _integer(self, what: str, lowest: int, highest: int) -> int:
        number = number_of(self._tokens[self._next])
        if number is None or not lowest <= number <= highest:
            self._fail(f"expected {what}")
        self._next += 1
        return number

    def _listed(self, close: str, item: Callable[[], Item]) -> list[Item]:
        """Items with commas between them up to ``close``; the opening token is read already."""
        items: list[Item] = []
        if self._accept(close):
            return items
        while True:
            items.append(item())
            if self._accept(close):
                return items
            if not self._accept(","):
                self._fail(f"expected `,` or `{close}`")

    def _key(self, what: str) -> str:
        token = self._tokens[self._next]
        key = string_of(token) if token[:1] == '"' else token
        if not key or not (token[0] == '"' or key.isidentifier()):
            self._fail(f"expected {what}")
        self._next += 1
        return key

    # -- kernel ------------------------------------------------------------------------------

    def _kernel(self) -> Kernel:
        end = self._span_table()
        while self._accept("struct"):
            self._struct()
        start = self._next
        if not self._accept("kernel"):
            self._fail("expected `struct` or `kernel`")
        name = self._kernel_name()
        self._expect("<")
        rank = self._integer("the number of launch dimensions", 0, 99)
        self._expect(">")
        self._expect("(")
        params = tuple(self._listed(")", self._defined))
        results: list[Type] = []
        if self._accept("->"):
            self._expect("(")
            results = self._listed(")", self._type)
        attrs = self._attrs()
        last = self._next - 1
        self._expect("{")
        body = Region((), self._ops(1))
        span = self._span(start, last, end)
        if self._next != end:
            self._fail("expected the end of the kernel")
        names = MappingProxyType(self._names)
        return Kernel(name, params, body, tuple(results), rank, names, attrs, span)

    def _kernel_name(self) -> str:
        token = self._tokens[self._next]
        name = string_of(token[1:]) if token[:2] == '@"' else token[1:]
        if token[:1] != "@" or not name:
            self._fail("expected a kernel name such as `@saxpy`")
        self._next += 1
        return name

    def _struct(self) -> None:
        token = self._tokens[self._next]
        name = name_of(token[1:])
        if token[:1] != "@" or not name:
            self._fail("expected a struct name such as `@Particle`")
        if token[1:] in self._structs:
            self._fail(f"struct {shorten(token)} is declared twice")
        at = self._next
        self._next += 1
        self._expect("{")
        struct = Struct(name, tuple(self._listed("}", self._field)))
        if problem := type_problem(struct):
            self._fail(problem, at=at)
        self._structs[token[1:]] = struct

    def _field(self) -> tuple[str, Type]:
        key = self._key("a field name")
        self._expect(":")
        return key, self._type()

    def _span_table(self) -> int:
        """Read the table at the end of the text, if there is one; gives where it starts."""
        tokens = self._tokens
        start = -1
        while True:
            try:
                start = tokens.index("!0", start + 1)
            except ValueError:
                return len(tokens) - 2
            if tokens[start + 1] == "=":
                break
        self._next = start
        depths: list[int] = []
        while tokens[self._next]:
            self._span_entry(depths)
        self._next = 0
        return start

    def _span_entry(self, depths: list[int]) -> None:
        if not self._accept(f"!{len(depths)}"):
            self._fail(f"expected `!{len(depths)}`, the next span")
        self._expect("=")
        file = string_of(self._tokens[self._next])
        if file is None:
            self._fail("expected a file name in quotes")
        self._next += 1
        place = place_of(self._tokens[self._next])
        if place is None:
            self._fail("expected a place such as `3:4-3:9`")
        self._next += 1
        call, depth = None, 0
        if self._accept("at"):
            token = self._tokens[self._next]
            number = number_of(token[1:]) if token[:1] == "!" else None
            if number is None or number >= len(depths):
                self._fail("expected an earlier span such as `!0`")
            call, depth = self._spans[number], depths[number] + 1
            if depth > MAX_NESTING:
                self._fail(f"more than {MAX_NESTING} calls in one chain")
            self._next += 1
        self._spans.append(Span(file, *place, call))
        depths.append(depth)

    # -- ops ---------------------------------------------------------------------------------

    def _ops(self, depth: int) -> tuple[Op, ...]:
        """The ops of a region whose ``{`` is read, and its ``}``."""
        if depth > MAX_NESTING:
            self._give_up(f"regions are nested more than {MAX_NESTING} deep")
        tokens = self._tokens
        ops: list[Op] = []
        while tokens[self._next] != "}":
            if not tokens[self._next]:
                self._give_up("expected `}`")
            start = self._next
            try:
                ops.append(self._op(depth))
            except Refusal as refusal:
                self._recover(start, refusal.fault)
        self._next += 1
        return tuple(ops)

    def _op(self, depth: int) -> Op:
        tokens = self._tokens
        start = self._next
        results: list[tuple[int, Value]] = []
        if tokens[start][:1] == "%":
            while True:
                at = self._next
                results.append((at, self._typed()))
                if self._accept("="):
                    break
                if not self._accept(","):
                    self._fail("expected `,` or `=`")
        name = tokens[self._next]
        if name not in STRUCTURAL and name not in self._table:
            self._unknown_op(name)
        self._next += 1
        operands = self._operands()
        attrs = self._attrs() if tokens[self._next] == "[" else NO_ATTRS
        last = self._next - 1
        regions: list[Region] = []
        while tokens[self._next] == "(":
            self._next += 1
            args = tuple(self._listed(")", self._defined))
            self._expect("{")
            regions.append(Region(args, self._ops(depth + 1)))
        span = self._span(start, last)
        for at, value in results:
            self._define(at, value)
        values = tuple([value for _, value in results])
        return Op(name, operands, values, attrs, tuple(regions), span)

    def _operands(self) -> tuple[Value, ...]:
        tokens, values = self._tokens, self._values
        # A name with a colon after it starts the next op.
        if tokens[self._next][:1] != "%" or tokens[self._next + 1] == ":":
            return ()
        found: list[Value] = []
        while True:
            token = tokens[self._next]
            value = values.get(token)
            if value is None:
                self._undefined(token)
            found.append(value)
            self._next += 1
            if tokens[self._next] != ",":
                return tuple(found)
            self._next += 1

    def _attrs(self) -> Mapping[str, Attr]:
        if not self._accept("["):
            return NO_ATTRS
        at = self._next
        items = self._listed("]", self._attr)
        attrs = dict(items)
        if len(attrs) < len(items):
            self._fail("an attribute is given twice", at=at)
        return MappingProxyType(attrs)

    def _attr(self) -> tuple[str, Attr]:
        key = self._key("an attribute name")
        self._expect("=")
        return key, self._attr_value()

    def _attr_value(self) -> Attr:
        token = self._tokens[self._next]
        if token == "(":
            self._next += 1
            limit = 1 << 64
            return tuple(self._listed(")", lambda: self._integer("an integer", -limit, limit)))
        value: Attr | None
        if token in ("true", "false"):
            value = token == "true"
        elif token[:1] == '"':
            value = string_of(token)
        else:
            value = number_of(token)
            if value is None:
                value = float_of(token)
        if value is None:
            self._fail(
                "expected an attribute value",
                'one of: true, 7, 0x1.8p+1, inf, nan, "text", (1, 2)',
            )
        self._next += 1
        return value

    def _span(self, first: int, last: int, end: int = -1) -> Span | None:
        """The span after an op that goes from one token to another; ``end`` is behind it."""
        token = self._tokens[self._next]
        if token[:1] != "!" or self._next == end:
            return self._locate.span(first, last) if self._locate else None
        number = number_of(token[1:])
        if number is None or number >= len(self._spans):
            self._fail(f"span {shorten(token)} is not in the table at the end")
        self._next += 1
        return self._spans[number]

    # -- values and types --------------------------------------------------------------------

    def _typed(self) -> Value:
        """A value name, a colon and a type; the name is not defined yet."""
        if self._tokens[self._next][:1] != "%":
            self._fail("expected a value name such as `%x`")
        self._next += 1
        self._expect(":")
        return Value(self._type())

    def _defined(self) -> Value:
        at = self._next
        value = self._typed()
        self._define(at, value)
        return value

    def _define(self, at: int, value: Value) -> None:
        token = self._tokens[at]
        if token in self._values:
            self._fail(f"{shorten(token)} is defined twice", at=at)
        name = name_of(token[1:])
        if name is None:
            self._fail("expected a value name such as `%x`", at=at)
        self._values[token] = value
        if name:
            self._names[value] = name

    def _type(self) -> Type:
        at = self._next
        token = self._tokens[at]
        scalar = BY_NAME.get(token)
        if scalar is not None:
            self._next += 1
            return scalar
        if self._tokens[at + 1] != "<":
            self._fail("expected a type", _near(token, (*BY_NAME, *_HEADS)))
        self._next += 2
        found: Type
        found = self._array(token) if token in _ARRAYS else self._composite(at, token)
        self._expect(">")
        if problem := type_problem(found):
            self._fail(problem, at=at)
        return found

    def _array(self, head: str) -> Array:
        if self._tokens[self._next] in _ARRAYS:
            self._fail("an array holds scalars or composites")
        element = self._type()
        assert not isinstance(element, Array)
        self._expect(",")
        if head == "array":
            return Array(element, self._integer("the number of axes", 0, 99))
        extents = self._tokens[self._next].split("x")
        if all(extent == "?" for extent in extents):
            self._next += 1
            return Array(element, len(extents), head)
        shape = [number_of(extent) for extent in extents[:99]]
        if any(n is None or n < 0 for n in shape):
            self._fail("expected extents such as `4x4` or `?x?`")
        self._next += 1
        return Array(element, len(shape), head, tuple(n for n in shape if n is not None))

    def _composite(self, at: int, head: str) -> Type:
        if head == "struct":
            token = self._tokens[self._next]
            if token not in self._structs:
                self._fail(f"struct {shorten(token)} is not declared")
            self._next += 1
            return self._structs[token]
        if head not in _HEADS:
            self._fail("expected a type", _near(head, (*BY_NAME, *_HEADS)), at)
        scalar = BY_NAME.get(self._tokens[self._next])
        if scalar is None:
            self._fail("expected a scalar type", ", ".join(BY_NAME))
        self._next += 1
        return self._sized(head, scalar)

    def _sized(self, head: str, scalar: Scalar) -> Type:
        match head:
            case "quat":
                return Quaternion(scalar)
            case "xform":
                return Transform(scalar)
        extents: list[int] = []
        for _ in range(1 if head == "vec" else 2):
            self._expect(",")
            extents.append(self._integer("an extent", 1, 1 << 16))
        return Vector(scalar, *extents) if head == "vec" else Matrix(scalar, *extents)

    # -- errors ------------------------------------------------------------------------------

    def _unknown_op(self, name: str) -> NoReturn:
        self._fail("expected an op", _near(name, (*STRUCTURAL, *self._table)))

    def _undefined(self, token: str) -> NoReturn:
        if token[:1] != "%" or self._tokens[self._next + 1] == ":":
            self._fail("expected a value name such as `%x`")
        if token in self._lost:
            raise Refusal(None)
        near = _near(token, tuple(self._values)[:_CANDIDATES])
        self._fail(f"{shorten(token)} is not defined before this use", near)

    def _note(self, fault: Fault | None) -> None:
        if fault is not None:
            self._faults.append(fault)

    def _recover(self, start: int, fault: Fault | None) -> None:
        """Note a fault and go on at the next line, or behind the regions that were opened."""
        self._places = places = self._places or Places(self._text, self._file)
        stop = self._next - 1
        if fault is not None:
            at = fault.token
            if start < at and places.line(at - 1) < places.line(at):  # something is left out
                fault = replace(fault, token=at - 1, behind=True)
            stop = max(stop, fault.token)
        self._note(fault)
        if len(self._faults) >= MAX_ERRORS:
            raise Enough
        self._next = self._behind(start, stop, places)

    def _behind(self, start: int, stop: int, places: Places) -> int:
        """The first token behind the line of ``stop``, or behind the regions opened on the way."""
        tokens = self._tokens
        line = places.line(stop)
        at, opened = start, 0
        while tokens[at] and (at <= stop or opened > 0 or places.line(at) == line):
            token = tokens[at]
            if token == "{":
                opened += 1
            elif token == "}":
                if opened == 0:
                    break
                opened -= 1
                line = places.line(at)
            elif token[0] == "%" and tokens[at + 1] == ":":
                self._lost.add(token)
            at += 1
        return at


_ARRAYS = ("array", *SPACES[1:])
_HEADS = ("vec", "mat", "quat", "xform", "struct", *_ARRAYS)


def _near(token: str, candidates: tuple[str, ...]) -> str:
    """A hint that names what was probably meant."""
    found = difflib.get_close_matches(shorten(token), candidates, 3)
    return f"did you mean {' or '.join(found)}?" if found else ""
