"""What can be said of the numbers of a kernel from its text: integer or float, negative or not.

Of every local all assignments are taken together, whatever their order; what is not plain is not
guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

Resolve = Callable[[ast.expr], str | None]

_SIGNED = {"int", "int8", "int16", "int32", "int64"}
_UNSIGNED = {"uint8", "uint16", "uint32", "uint64"}
_FLOATS = {"float", "float16", "float32", "float64", "bfloat16"}
_SAME = {"min", "max", "abs", "clamp"}
_KNOWN_EARLY = {"constant", "static"}


class Number(Enum):
    """The kind of a value."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    ARRAY = "array"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a value.

    Attributes:
        element: what an array holds.
        struct: the name that the struct may have which the value or its elements are.
    """

    number: Number = Number.OTHER
    is_negative_possible: bool = True
    element: Number = Number.OTHER
    unsigned: bool = False
    struct: str = ""

    def joined(self, other: Known) -> Known:
        """What is known of a value that is one or the other."""
        if self == other:
            return self
        return Known(
            self.number if self.number is other.number else Number.OTHER,
            self.is_negative_possible or other.is_negative_possible,
            self.element if self.element is other.element else Number.OTHER,
            self.unsigned and other.unsigned,
            self.struct if self.struct == other.struct else "",
        )


_NOTHING = Known()
_INDEX = Known(Number.INT, is_negative_possible=False)


@dataclass(frozen=True, slots=True)
class Module:
    """What a function can know from its file.

    Attributes:
        names: what the assignments of the module say.
        structs: of each struct the fields.
    """

    names: Mapping[str, Known] = field(default_factory=dict)
    structs: Mapping[str, Mapping[str, Known]] = field(default_factory=dict)


def module_of(tree: ast.Module, structs: Mapping[str, ast.ClassDef], resolve: Resolve) -> Module:
    """Read the numbers and the structs of a file."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef("module", nothing, [], [])
    function.body = [s for s in tree.body if isinstance(s, ast.Assign | ast.AnnAssign)]
    fields = {
        name: {
            statement.target.id: annotated(statement.annotation, resolve)
            for statement in definition.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        }
        for name, definition in structs.items()
    }
    return Module(Kinds(function, resolve, Module(structs=fields)).known, fields)


def annotated(annotation: ast.expr | None, resolve: Resolve) -> Known:
    """What the annotation of a parameter says."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return _NOTHING
    if annotation is None:
        return _NOTHING
    array = _array_element(annotation, resolve)
    if array is not None:
        inside = annotated(array, resolve)
        unsigned, struct = inside.unsigned, inside.struct
        return Known(Number.ARRAY, element=inside.number, unsigned=unsigned, struct=struct)
    known = _number_type(annotation, resolve)
    if known is None and isinstance(annotation, ast.Name):
        return Known(struct=annotation.id)
    return known or _NOTHING


def _number_type(node: ast.expr, resolve: Resolve) -> Known | None:
    name = node.id if isinstance(node, ast.Name) and resolve(node) is None else resolve(node)
    if name in _SIGNED:
        return Known(Number.INT)
    if name in _UNSIGNED:
        return Known(Number.INT, is_negative_possible=False, unsigned=True)
    if name in _FLOATS:
        return Known(Number.FLOAT)
    if name == "bool":
        return Known(Number.BOOL, is_negative_possible=False)
    return None


def _array_element(node: ast.expr, resolve: Resolve) -> ast.expr | None:
    """The dtype in ``wp.array(dtype=...)``, ``wp.array2d(...)``, ``wp.array[...]``."""
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords):
            name = resolve(function) or ""
            if not name.startswith(("array", "indexedarray")):
                return None
            for keyword in keywords:
                if keyword.arg == "dtype":
                    return keyword.value
            return arguments[0] if arguments else ast.Constant(None)
        case ast.Subscript(value=value, slice=dtype):
            if (resolve(value) or "").startswith("array"):
                return dtype
    return None


class Kinds:
    """The kinds of the parameters and locals of one function.

    Attributes:
        known: what is known of each name, those of the module among them.
        written_negative: locals to which a negative literal is assigned.
        lowered: locals to which another name less a number is assigned, and those names.
    """

    def __init__(self, function: ast.FunctionDef, resolve: Resolve, module: Module) -> None:
        self._resolve, self._structs = resolve, module.structs
        arguments = function.args
        assigned = list(_assignments(function))
        locals_ = {name for name, _ in assigned}
        self.known: dict[str, Known] = {
            name: known for name, known in module.names.items() if name not in locals_
        }
        for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self.known[a.arg] = annotated(a.annotation, resolve)
        self.written_negative = {
            name
            for name, value in assigned
            if isinstance(value, ast.expr) and _literal(value, 0) < 0
        }
        self.lowered: dict[str, set[str]] = {}
        for name, value in assigned:
            match value:
                case ast.BinOp(left=ast.Name(id=whole), op=ast.Sub(), right=ast.Constant()):
                    self.lowered.setdefault(name, set()).add(whole)
        given = {name: known for name, known in self.known.items() if name in locals_}
        # A local is unknown until something plain is assigned to it; knowledge spreads by a local a
        # round, and is then lost at most three times by each.
        for _ in range(4 * len(locals_) + 2):
            found = dict(given)
            for name, value in assigned:
                if isinstance(value, ast.expr) and self._hangs(value, locals_):
                    continue
                known = value if isinstance(value, Known) else self.of(value)
                found[name] = found[name].joined(known) if name in found else known
            stable = all(self.known.get(name) == known for name, known in found.items())
            self.known.update(found)
            if stable:
                break
        else:
            self.known.update(dict.fromkeys(locals_, _NOTHING))

    def _hangs(self, value: ast.expr, locals_: set[str]) -> bool:
        """Does it read a local of which nothing is known yet?"""
        reads = (n.id for n in ast.walk(value) if isinstance(n, ast.Name))
        return any(name in locals_ and name not in self.known for name in reads)

    def of(self, node: ast.expr) -> Known:
        """What is known of an expression."""
        match node:
            case ast.Constant(value=bool()):
                return Known(Number.BOOL, is_negative_possible=False)
            case ast.Constant(value=int() as value):
                return Known(Number.INT, is_negative_possible=value < 0)
            case ast.Constant(value=float() as number):
                return Known(Number.FLOAT, is_negative_possible=number < 0)
            case ast.Name(id=name):
                return self.known.get(name, _NOTHING)
            case ast.Compare():
                return Known(Number.BOOL, is_negative_possible=False)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inside = self.of(operand)
                return Known(inside.number, is_negative_possible=not inside.unsigned)
            case ast.UnaryOp(op=ast.UAdd() | ast.Invert(), operand=operand):
                return Known(self.of(operand).number)
            case ast.IfExp(body=body, orelse=orelse):
                return self.of(body).joined(self.of(orelse))
            case ast.BinOp(left=left, op=operator, right=right):
                return self._operation(self.of(left), operator, self.of(right))
            case ast.Call():
                return self._call(node)
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return _INDEX
            case ast.Attribute(value=value, attr=attribute):
                return self._structs.get(self.of(value).struct, {}).get(attribute, _NOTHING)
            case ast.Subscript(value=value, slice=index):
                return self._element(self.of(value), index)
            case _:
                return _NOTHING

    def _operation(self, left: Known, operator: ast.operator, right: Known) -> Known:
        numbers = {left.number, right.number}
        if not numbers <= {Number.INT, Number.FLOAT, Number.BOOL}:
            return _NOTHING
        number = Number.FLOAT if Number.FLOAT in numbers else Number.INT
        unsigned = left.unsigned and right.unsigned
        signs = left.is_negative_possible or right.is_negative_possible
        match operator:
            case ast.Sub() | ast.Pow():
                negative = True
            case ast.BitAnd():
                negative = left.is_negative_possible and right.is_negative_possible
            case ast.Mod() | ast.FloorDiv() | ast.RShift() | ast.LShift():  # divisors are positive
                negative = left.is_negative_possible
            case _:
                negative = signs
        return Known(number, is_negative_possible=negative and not unsigned, unsigned=unsigned)

    def _call(self, node: ast.Call) -> Known:
        name = self._resolve(node.func)
        if name is None and isinstance(node.func, ast.Name):
            name = node.func.id
        if name in {"tid", "len", "block_dim"}:
            return _INDEX
        if name is not None and name in self._structs:
            return Known(struct=name)
        if name in _KNOWN_EARLY and len(node.args) == 1:
            return self.of(node.args[0])
        converted = _number_type(node.func, self._resolve)
        if converted is not None:
            negative = not node.args or self.of(node.args[0]).is_negative_possible
            return Known(
                converted.number,
                is_negative_possible=negative and not converted.unsigned,
                unsigned=converted.unsigned,
            )
        if name not in _SAME or not node.args:
            return _NOTHING
        arguments = [self.of(argument) for argument in node.args]
        known = arguments[0]
        for argument in arguments[1:]:
            known = known.joined(argument)
        if name == "abs" or (name == "max" and not all(a.is_negative_possible for a in arguments)):
            return Known(known.number, is_negative_possible=False, unsigned=known.unsigned)
        if name == "clamp" and len(arguments) == 3:  # between its bounds
            low = arguments[1].is_negative_possible
            return Known(known.number, is_negative_possible=low, unsigned=known.unsigned)
        return known

    def _element(self, base: Known, index: ast.expr) -> Known:
        if base.number is not Number.ARRAY or isinstance(index, ast.Slice):
            return _NOTHING
        unsigned, struct = base.unsigned, base.struct
        return Known(base.element, not unsigned, unsigned=unsigned, struct=struct)


def _assignments(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | Known]]:
    """Every value that a local takes, by its name."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _targets(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                yield name, ast.BinOp(ast.Name(name, ast.Load()), operator, value)
            case ast.For(target=ast.Name(id=name), iter=iterated):
                yield name, _iterated(iterated)


def _targets(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr | Known]]:
    match target:
        case ast.Name(id=name):
            yield name, value
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            values: list[ast.expr | Known] = [_NOTHING] * len(targets)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
                values = list(value.elts)
            elif isinstance(value, ast.Call) and _last(value.func) == "tid":
                values = [_INDEX] * len(targets)
            for one, given in zip(targets, values, strict=True):
                if isinstance(one, ast.Name):
                    yield one.id, given


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _iterated(iterated: ast.expr) -> ast.expr | Known:
    """The value of a loop variable."""
    match iterated:
        case ast.Call(func=function, args=[inner]) if _last(function) == "static":
            return _iterated(inner)
        case ast.Call(func=ast.Name(id="range"), args=[_]):
            return _INDEX
        case ast.Call(func=ast.Name(id="range"), args=[first, stop, *step]):
            if not step or _literal(step[0], 1) > 0:
                return ast.BinOp(first, ast.Add(), ast.Constant(0))  # its sign is that of the start
            return Known(Number.INT, is_negative_possible=_literal(stop, -2) < -1)
        case _:
            return _NOTHING


def _literal(node: ast.expr, default: int) -> int:
    """An integer as written, or another where it is none."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return default
    return value if isinstance(value, int) else default
