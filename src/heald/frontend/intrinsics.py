"""Builtins that the front end lowers by itself: threads, memory, printing, checks, compile-time
questions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heald.frontend.arithmetic import binary, compare
from heald.frontend.conversions import as_value, composite_scalar, shape_of, widen
from heald.frontend.indexing import array_index, element_at, extent_of
from heald.frontend.operands import (
    Literal,
    Operand,
    Several,
    Shape,
    Static,
    describe,
    spell,
)
from heald.frontend.session import Session, near_miss
from heald.ir import ATOMICS, Value
from heald.ops import MAX_WIDTH
from heald.types import (
    Array,
    Element,
    Matrix,
    Scalar,
    Struct,
    Type,
    array_leaves,
    array_like,
    as_concrete,
    b1,
    describe_type,
    f32,
    f64,
    leaves,
    ordered_parts,
)

_MAX_RANK = 4
_MAX_LOCAL_ELEMENTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Arguments:
    """The operands of a call, and where each is written: ``places`` of the positional ones in
    order, then of the named ones."""

    node: ast.AST
    positional: tuple[Operand, ...]
    named: Mapping[str, Operand]
    places: tuple[ast.AST, ...] = ()

    def at(self, operand: Operand) -> ast.AST:
        """Where an argument is written; the whole call where it is none."""
        given = (*self.positional, *self.named.values())
        pairs = zip(self.places, given, strict=False)
        return next((place for place, o in pairs if o is operand), self.node)

    @property
    def callee(self) -> str:
        """What is called, as written."""
        return ast.unparse(self.node.func) if isinstance(self.node, ast.Call) else "this"

    def only_positional(self, s: Session) -> tuple[Operand, ...]:
        """The positional operands of a call that takes no keywords."""
        for name, operand in self.named.items():
            raise s.refuse(self.at(operand), "H0305", f"{self.callee} has no parameter '{name}'")
        return self.positional

    def ordered(self, s: Session, orders: Sequence[tuple[str, ...]]) -> tuple[Operand, ...]:
        """The operands of a call that takes parts by position, or by the names of one of the
        orders."""
        if not self.named or not orders:
            return self.only_positional(s)
        names = ordered_parts(orders, len(self.positional), self.named)
        if isinstance(names, str):
            place = self.at(next(iter(self.named.values())))
            raise s.refuse(place, "H0305", f"{self.callee} {names}")
        return (*self.positional, *(self.named[name] for name in names))

    def bind(self, s: Session, names: tuple[str, ...], required: int) -> dict[str, Operand]:
        """Operands by name; the first ``required`` names must be given."""
        if len(self.positional) > len(names):
            most = f"at most {len(names)} arguments" if names else "no arguments"
            raise s.refuse(
                self.at(self.positional[len(names)]),
                "H0305",
                f"{self.callee} takes {most}, not {len(self.positional)}",
            )
        bound = dict(zip(names, self.positional, strict=False))
        for name, operand in self.named.items():
            if name not in names or name in bound:
                near = near_miss(name, names) if name not in names else ""
                hint = f"did you mean {near}?" if near else f"parameters are {', '.join(names)}"
                what = f"is given '{name}' twice" if name in bound else f"has no parameter '{name}'"
                raise s.refuse(self.at(operand), "H0305", f"{self.callee} {what}", hint=hint)
            bound[name] = operand
        for name in names[:required]:
            if name not in bound:
                raise s.refuse(self.node, "H0305", f"{self.callee} misses '{name}'")
        return bound


Intrinsic = Callable[[Session, Arguments], Operand]
INTRINSICS: dict[str, Intrinsic] = {}


def intrinsic(name: str) -> Callable[[Intrinsic], Intrinsic]:
    """Enters what lowers the calls of an intrinsic."""

    def enter(function: Intrinsic) -> Intrinsic:
        INTRINSICS[name] = function
        return function

    return enter


# -- threads ---------------------------------------------------------------------------------------


def thread_indices(s: Session, node: ast.AST, count: int) -> tuple[Value, ...]:
    """``tid`` on ``count`` dimensions."""
    if not 1 <= count <= _MAX_RANK:  # the targets of `i, j = wp.tid()`
        raise s.refuse(node, "H0206", f"a launch has 1 to {_MAX_RANK} dimensions, not {count}")
    s.rank = max(s.rank, count)
    return tuple(s.builder.emit("tid", (), (s.options.index,), axis=k)[0] for k in range(count))


@intrinsic("tid")
def _tid(s: Session, arguments: Arguments) -> Operand:
    arguments.bind(s, (), 0)
    (index,) = thread_indices(s, arguments.node, 1)
    return index


# -- compile-time questions ------------------------------------------------------------------------


@intrinsic("len")
def _len(s: Session, arguments: Arguments) -> Operand:
    operand = arguments.bind(s, ("x",), 1)["x"]
    match operand:
        case Several(items):
            return Literal(len(items))
        case Shape(array):
            t = array_like(array.type)
            assert t is not None
            return Literal(t.ndim)
        case Value(type=own) if array_like(own) is not None:
            return extent_of(s, operand, 0)
        case Value() if composite_scalar(operand.type) is not None:
            return Literal(shape_of(operand.type)[0])
    raise s.refuse(arguments.at(operand), "H0201", f"{describe(operand)} has no length")


@intrinsic("type")
def _type(s: Session, arguments: Arguments) -> Operand:
    operand = arguments.bind(s, ("x",), 1)["x"]
    if isinstance(operand, (Value, Literal)):
        return Static(s.type_of(operand))
    raise s.refuse(arguments.at(operand), "H0107", f"{describe(operand)} has no type in a kernel")


# -- memory ----------------------------------------------------------------------------------------


@intrinsic("zeros")
def _zeros(s: Session, arguments: Arguments) -> Operand:
    """``wp.zeros(shape=8, dtype=float)``: an array local to the thread."""
    bound = arguments.bind(s, ("shape", "dtype"), 2)
    shape = static_shape(s, arguments, bound["shape"], "local", _MAX_LOCAL_ELEMENTS)
    dtype = element_type(s, arguments, bound["dtype"], "local")
    t = Array(dtype, len(shape), "local", shape)
    (value,) = s.builder.emit("alloc", (), (t,))
    return value


def element_type(s: Session, arguments: Arguments, annotation: Operand, space: str) -> Element:
    """The element type of an array that a kernel makes in memory of its own."""
    dtype = as_concrete(annotation.object) if isinstance(annotation, Static) else None
    if dtype is None or isinstance(dtype, Array) or array_leaves(dtype):
        raise s.refuse(
            arguments.at(annotation),
            "H0207",
            f"{describe(annotation)} cannot be the element type of a {space} array",
            hint="elements are scalars, vectors, matrices, or structs without arrays",
        )
    return dtype


_TOO_LARGE = {"local": "H0407", "shared": "H0410"}
_REMEDIES = {
    "local": "pass a global array with a row for each thread",
    "shared": "pass a global array with a row for each block",
}


def static_shape(
    s: Session, arguments: Arguments, operand: Operand, space: str, most: int
) -> tuple[int, ...]:
    """The shape of an array that a kernel makes, of at most ``most`` elements."""
    items = operand.items if isinstance(operand, Several) else (operand,)
    extents = [s.static_int(item) for item in items]
    shape = tuple(e for e in extents if e is not None)
    total = 1
    for extent in shape:
        total *= extent
    if len(shape) != len(extents) or not 1 <= len(shape) <= _MAX_RANK or min(shape) < 1:
        raise s.refuse(
            arguments.at(operand),
            "H0107",
            f"the shape of a {space} array is 1 to 4 positive integers known at compile time",
            describe(operand),
            hint="literals and captured numbers are known; for a size known at run time "
            f"{_REMEDIES[space]}",
        )
    if total > most:
        raise s.refuse(
            arguments.at(operand),
            _TOO_LARGE[space],
            f"a {space} array of {spell(total)} elements is too large",
            hint=f"the limit is {most} elements; {_REMEDIES[space]}",
        )
    return shape


def _atomic(kind: str) -> Intrinsic:
    """``atomic_add(array, i, ..., value)``; gives the old value."""

    def lower(s: Session, arguments: Arguments) -> Operand:
        array, *rest = _atomic_operands(s, arguments, kind) or (Static(None),)
        t = array_like(array.type) if isinstance(array, Value) else None
        if not isinstance(array, Value) or t is None:
            raise s.refuse(
                arguments.at(array),
                "H0203",
                f"atomic_{kind} takes an array, its indices and a value, not {describe(array)}",
            )
        check_atomic(s, arguments.at(array), kind, t.dtype)
        values = 2 if kind == "cas" else 1
        indices = [i for o in rest[: len(rest) - values] for i in _flat(o)]
        if len(rest) < values or len(indices) != t.ndim:
            raise s.refuse(
                arguments.node,
                "H0203",
                f"atomic_{kind} of an array of {t.ndim} dimension{'s' * (t.ndim != 1)} takes "
                f"{t.ndim} index{'es' * (t.ndim != 1)} and {values} value{'s' * (values != 1)}",
                f"{len(rest)} arguments after the array",
            )
        given = [
            array_index(s, arguments.at(o), array, axis, s.as_number(arguments.at(o), o))
            for axis, o in enumerate(indices)
        ]
        operands = [
            widen(s, arguments.at(o), s.as_number(arguments.at(o), o), t.dtype)
            for o in rest[len(rest) - values :]
        ]
        data, at = element_at(s, array, given)
        (old,) = s.builder.emit(f"atomic_{kind}", (data, *at, *operands), (t.dtype,))
        return old

    return lower


def _atomic_operands(s: Session, arguments: Arguments, kind: str) -> tuple[Operand, ...]:
    """The operands in order; NVIDIA Warp's names are ``arr``, ``i`` to ``l``, ``compare`` and
    ``value``."""
    values = ("compare", "value") if kind == "cas" else ("value",)
    counts = range(1, len(_INDICES) + 1)
    return arguments.ordered(s, [("arr", *_INDICES[:count], *values) for count in counts])


_INDICES = ("i", "j", "k", "l")


def check_atomic(s: Session, node: ast.AST, kind: str, t: Type) -> None:
    """Refuse an atomic operation that the elements of an array do not have."""
    for leaf in leaves(t):
        assert isinstance(leaf, Scalar)
        if kind in ("and", "or", "xor") and leaf.is_float:
            accepted = "integers and bools"
        elif kind not in ("and", "or", "xor", "exch", "cas") and leaf is b1:
            accepted = "numbers"
        else:
            continue
        raise s.refuse(
            node, "H0201", f"atomic {kind} works on {accepted}, not on {describe_type(leaf)}"
        )


def _flat(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Several) else (operand,)


for _name in ATOMICS:
    INTRINSICS[_name] = _atomic(_name.removeprefix("atomic_"))


# -- printing --------------------------------------------------------------------------------------

_CONVERSION = re.compile(r"%([-+ #0]*)(\d*)(\.\d+)?(?:hh|h|ll|l|z|j|t|L)?([A-Za-z%])")


@intrinsic("print")
def _print(s: Session, arguments: Arguments) -> Operand:
    """Values separated by blanks, a line break at the end, as Python prints them."""
    pieces, values = [], []
    for operand in arguments.only_positional(s):
        text, parts = _printed(s, arguments, operand)
        pieces.append(text)
        values += parts
    _emit_print(s, " ".join(pieces) + "\n", values)
    return Static(None)


def _printed(s: Session, arguments: Arguments, operand: Operand) -> tuple[str, list[Value]]:
    match operand:
        case Static(str() as text):
            return text.replace("%", "%%"), []
        case Literal():
            return "%s", [as_value(s, arguments.node, operand)]
        case Several(items):
            printed = [_printed(s, arguments, item) for item in items]
            return f"({', '.join(t for t, _ in printed)})", [v for _, p in printed for v in p]
        case Value() if array_like(operand.type) is None:
            if array_leaves(operand.type):
                raise s.refuse(
                    arguments.at(operand), "H0201", "a struct with arrays cannot be printed"
                )
            return _template(operand.type), list(s.builder.parts(operand))
    hint = "print its elements" if isinstance(operand, Value) else ""
    what = f"{describe(operand)} cannot be printed"
    raise s.refuse(arguments.at(operand), "H0201", what, hint=hint)


def _template(t: Type) -> str:
    """Where the leaves of a value stand in its printed form."""
    match t:
        case Scalar():
            return "%s"
        case Matrix():
            row = "[" + ", ".join(["%s"] * t.cols) + "]"
            return "[" + ",\n ".join([row] * t.rows) + "]"
        case Struct():
            inner = ", ".join(f"{name}={_template(field)}" for name, field in t.fields)
            return f"{t.name}({inner})"
        case _:
            return "[" + ", ".join(["%s"] * len(leaves(t))) + "]"


def _emit_print(s: Session, text: str, values: list[Value]) -> None:
    kinds = ",".join(str(v.type) for v in values)
    s.builder.emit("printf", values, (), (), text=text, kinds=kinds)


@intrinsic("printf")
def _printf(s: Session, arguments: Arguments) -> Operand:
    """C's printf with the conversions d i u x X o c e E f F g G."""
    template, *rest = arguments.only_positional(s) or (Static(None),)
    if not (isinstance(template, Static) and isinstance(template.object, str)):
        raise s.refuse(
            arguments.at(template), "H0107", "the first argument of printf is a string literal"
        )
    text, letters = _parse_template(s, arguments.at(template), template.object)
    if len(letters) != len(rest):
        raise s.refuse(
            arguments.node,
            "H0206",
            f"the format has {len(letters)} conversion{'s' * (len(letters) != 1)}, "
            f"{len(rest)} value{'s' * (len(rest) != 1)} given",
        )
    values = []
    for letter, operand in zip(letters, rest, strict=True):
        place = arguments.at(operand)
        value = as_value(s, place, s.as_number(place, operand))
        wants_float = letter in "eEfFgG"
        t = value.type
        if not isinstance(t, Scalar) or (t.is_float != wants_float):
            kind = "a float" if wants_float else "an integer"
            raise s.refuse(place, "H0201", f"%{letter} prints {kind}, not {describe(value)}")
        values.append(value)
    _emit_print(s, text, values)
    return Static(None)


def _parse_template(s: Session, node: ast.AST, text: str) -> tuple[str, list[str]]:
    """The template without C length modifiers, and the letter of each conversion."""
    letters: list[str] = []

    def one(match: re.Match[str]) -> str:
        flags, width, precision, letter = match.groups()
        if letter == "%":
            return "%%"
        if letter not in "diuxXoceEfFgG":
            raise s.refuse(
                node,
                "H0107",
                f"printf knows no conversion '{match.group()}'",
                hint="integers: d i u x X o c, floats: e f g; print(...) prints anything",
            )
        if max(len(width), len(precision or ".") - 1) > len(str(MAX_WIDTH)):
            raise s.refuse(
                node, "H0107", f"printf prints at most {MAX_WIDTH} columns for '{match.group()}'"
            )
        letters.append(letter)
        return f"%{flags}{width}{precision or ''}{letter}"

    out = _CONVERSION.sub(one, text)
    if "%" in _CONVERSION.sub("", text):
        raise s.refuse(node, "H0107", "a lone % in the format", hint="write %% to print one")
    return out, letters


# -- checks ----------------------------------------------------------------------------------------


def _expect(s: Session, arguments: Arguments, test: Operand, name: str) -> Operand:
    value = as_value(s, arguments.node, s.as_number(arguments.node, test))
    s.builder.emit("assert", (value,), (), (), message=f"{name} failed")
    return Static(None)


def _pair(s: Session, arguments: Arguments) -> tuple[Value | Literal, Value | Literal]:
    bound = arguments.bind(s, ("a", "b"), 2)
    return s.as_number(arguments.node, bound["a"]), s.as_number(arguments.node, bound["b"])


@intrinsic("expect_eq")
def _expect_eq(s: Session, arguments: Arguments) -> Operand:
    a, b = _pair(s, arguments)
    return _expect(s, arguments, compare(s, arguments.node, ast.Eq(), a, b), "expect_eq")


@intrinsic("expect_neq")
def _expect_neq(s: Session, arguments: Arguments) -> Operand:
    a, b = _pair(s, arguments)
    return _expect(s, arguments, compare(s, arguments.node, ast.NotEq(), a, b), "expect_neq")


@intrinsic("expect_near")
def _expect_near(s: Session, arguments: Arguments) -> Operand:
    """``|a - b| <= tolerance``, component by component; NaN fails."""
    node = arguments.node
    bound = arguments.bind(s, ("a", "b", "tolerance"), 2)
    a, b = s.as_number(node, bound["a"]), s.as_number(node, bound["b"])
    tolerance = s.as_number(node, bound.get("tolerance", Literal(1e-6)))
    difference = as_value(s, node, binary(s, node, "-", a, b))
    total: Value | None = None
    for part in s.builder.parts(difference):
        t = part.type
        if t not in (f32, f64):
            raise s.refuse(
                node, "H0201", f"expect_near compares float32 or float64, not {describe(part)}"
            )
        limit = widen(s, node, tolerance, t)
        near = s.op("fcmp", s.op("fabs", part), limit, pred="ole")
        total = near if total is None else s.op("iand", total, near)
    return _expect(s, arguments, total or Literal(True), "expect_near")


def _promise(role: str) -> Intrinsic:
    """A condition that the prover takes or has to show; it runs where contracts are checked."""

    def lower(s: Session, arguments: Arguments) -> Operand:
        condition = arguments.bind(s, ("condition",), 1)["condition"]
        place = arguments.at(condition)
        value = as_value(s, place, s.as_number(place, condition))
        if value.type is not b1:
            hint = "compare it with something"
            what = f"{arguments.callee} takes a truth value, not {describe(value)}"
            raise s.refuse(place, "H0201", what, hint=hint)
        message = f"wp.{role}({ast.unparse(place)})"
        s.builder.emit("assume", (value,), (), (), role=role, message=message)
        return Static(None)

    return lower


for _name in ("assume", "requires", "ensures", "invariant"):
    INTRINSICS[_name] = _promise(_name)


PYTHON: dict[Any, str] = {len: "len", type: "type", print: "print"}
"""Python's own functions that are intrinsics."""
