"""Host calls: a kernel with results as a Python function on Python numbers.

WIR becomes Python source: scalars are locals, composites are their leaves, regions are Python's own
blocks. One call costs what its ops cost, a fraction of a microsecond each, where a numpy array of
one element would cost ten times that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from heald.artifact import Fault, FaultKind, Site, fault_error
from heald.diagnostics import Diagnostic, HealdError, InternalError, KernelFault
from heald.interp.expressions import expression, literal, namespace, rounded
from heald.interp.memory import c_strides
from heald.interp.operations import DIVISIONS
from heald.interp.values import from_number, to_number
from heald.ir import Kernel, Op, Region, Value, has_exit, op_ids, walk
from heald.ops import TABLE
from heald.types import Array, Scalar, b1, leaves

Number = bool | int | float
Closure = Callable[[Sequence[Number]], tuple[Number, ...]]

_REFUSED = frozenset(
    {
        *("tid", "launch_dim", "block_dim", "block_index", "thread_index", "lane"),
        *("block_sync", "shuffle", "vote", "resource_array", "resource_scalar"),
        *("subview", "printf", "threads"),
    }
)
HANDLED = frozenset(
    {
        *("if", "for", "while", "scope", "yield", "break", "continue", "return", "unreachable"),
        *("const", "compose", "extract", "insert", "load", "store", "alloc", "dim", "stride"),
    }
)
"""Structural ops that closures have code for."""


def compile_closure(kernel: Kernel) -> Closure:
    """A function from the leaves of all arguments, in order, to the leaves of all results.

    Floats are Python floats and are rounded to the types of the parameters; integers must lie
    inside theirs. Results are numbers that their types hold exactly.  A fault raises at once:
    ``OutOfBoundsError``, ``DivisionFault`` or ``AssertFault`` with the span of the op.  The caller
    keeps the closure.

    Raises:
        HealdError: the kernel needs threads, arrays from outside, or prints; or it is nested too
            deep.
    """
    _refuse_foreign(kernel)
    writer = _Writer(kernel)
    source = writer.function()
    scope = {**namespace(), **writer.known}
    try:
        exec(compile(source, f"<closure of {kernel.name}>", "exec"), scope)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise _refusal(kernel, f"it is nested too deep ({error})", None) from None
    closure: Closure = scope["closure"]
    return closure


def _refusal(kernel: Kernel, why: str, op: Op | None) -> HealdError:
    span = op.span if op else kernel.span
    message = f"{kernel.name!r} cannot be called from the host: {why}"
    return HealdError(Diagnostic("H0710", message, span))


def _refuse_foreign(kernel: Kernel) -> None:
    for p in kernel.params:
        if not all(isinstance(leaf, Scalar) for leaf in leaves(p.type)):
            raise _refusal(kernel, f"it takes an array ({p.type})", None)
    for op in walk(kernel.body):
        if op.name in _REFUSED or op.name.startswith("atomic_"):
            raise _refusal(kernel, f"{op.name} belongs to a launch", op)


class _Writer:
    """Turns a kernel into the source of one Python function.

    Attributes:
        known: objects that the source names.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.known: dict[str, Any] = {}
        self._kernel = kernel
        self._ids = op_ids(kernel)
        self._lines: list[str] = []
        self._indent = 0
        self._count = 0
        self._names: dict[Value, tuple[str, ...]] = {}

    def function(self) -> str:
        """The source of ``closure``."""
        self._line("def closure(leaves):")
        with self._block():
            own = [leaf for p in self._kernel.params for leaf in leaves(p.type)]
            names = [self._fresh() for _ in own]
            if names:
                self._line(f"({', '.join(names)},) = leaves")
            for t, name in zip(own, names, strict=True):
                assert isinstance(t, Scalar)
                if t.is_float:
                    self._line(f"{name} = {rounded(t, f'float({name})')}")
            rest = iter(names)
            for p in self._kernel.params:
                self._names[p] = tuple(next(rest) for _ in leaves(p.type))
            self._region(self._kernel.body, _Exits(lambda parts: [f"return {_tuple(parts)}"]))
        return "\n".join(self._lines)

    # -- text ------------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append(" " * self._indent + text)

    @contextmanager
    def _block(self) -> Iterator[None]:
        """What is written inside is one step to the right; nothing becomes ``pass``."""
        before = len(self._lines)
        self._indent += 1
        yield
        if len(self._lines) == before:
            self._line("pass")
        self._indent -= 1

    def _fresh(self, letter: str = "v") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _name_all(self, values: Sequence[Value]) -> list[str]:
        """New names for the leaves of values."""
        for v in values:
            self._names[v] = tuple(self._fresh() for _ in leaves(v.type))
        return self._parts(values)

    def _parts(self, values: Sequence[Value]) -> list[str]:
        return [name for v in values for name in self._names[v]]

    def _one(self, value: Value) -> str:
        (name,) = self._names[value]
        return name

    def _assign(self, targets: Sequence[str], parts: Sequence[str]) -> list[str]:
        """One parallel assignment, without what would not change."""
        pairs = [(t, p) for t, p in zip(targets, parts, strict=True) if t != p]
        if not pairs:
            return []
        return [f"{', '.join(t for t, _ in pairs)} = {', '.join(p for _, p in pairs)}"]

    def _bind(self, value: Value, source: str) -> None:
        name = self._fresh()
        self._line(f"{name} = {source}")
        self._names[value] = (name,)

    def _know(self, thing: Any) -> str:
        name = self._fresh("k")
        self.known[name] = thing
        return name

    # -- regions ---------------------------------------------------------------------------------

    def _region(self, region: Region, exits: _Exits) -> None:
        for op in region.ops:
            match op.name:
                case "yield":
                    self._write_all(exits.fall(self._parts(op.operands)))
                case "return":
                    self._write_all(exits.out(self._parts(op.operands)))
                case "break":
                    self._write_all([*exits.turn(self._parts(op.operands)), "break"])
                case "continue":
                    self._write_all([*exits.turn(self._parts(op.operands)), "continue"])
                case "unreachable":
                    self._line("raise AssertionError")
                case "if":
                    self._if(op, exits)
                case "for":
                    self._for(op, exits)
                case "while":
                    self._while(op, exits)
                case "scope":
                    self._scope(op)
                case _:
                    self._plain(op)

    def _write_all(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._line(line)

    def _if(self, op: Op, exits: _Exits) -> None:
        results = self._name_all(op.results)
        inner = replace(exits, fall=lambda parts: self._assign(results, parts))
        condition = self._one(op.operands[0])
        for head, region in zip((f"if {condition}:", "else:"), op.regions, strict=True):
            self._line(head)
            with self._block():
                self._region(region, inner)

    def _for(self, op: Op, exits: _Exits) -> None:
        low, high, step = (self._one(v) for v in op.operands[:3])
        body = op.regions[0]
        carried = self._enter_loop(op, op.operands[3:], body.args[1:])
        (iv,) = self._name_all(body.args[:1])
        self._line(f"if {step} == 0: raise {self._fault(op, FaultKind.STEP)}()")
        self._line(f"for {iv} in range({low}, {high}, {step}):")
        with self._block():
            self._region(body, self._inside_loop(exits, carried))

    def _while(self, op: Op, exits: _Exits) -> None:
        condition, body = op.regions
        carried = self._enter_loop(op, op.operands, body.args)
        for arg, like in zip(condition.args, body.args, strict=True):
            self._names[arg] = self._names[like]
        self._line("while True:")
        with self._block():
            self._region(condition, _Exits(_nowhere, lambda parts: [f"if not {parts[0]}: break"]))
            self._region(body, self._inside_loop(exits, carried))

    def _inside_loop(self, exits: _Exits, carried: Sequence[str]) -> _Exits:
        def turn(parts: Sequence[str]) -> Sequence[str]:
            return self._assign(carried, parts)

        return replace(exits, fall=turn, turn=turn)

    def _enter_loop(self, op: Op, init: Sequence[Value], args: Sequence[Value]) -> list[str]:
        """Give carried values their first values; the results of the loop share their names."""
        carried = self._name_all(args)
        self._write_all(self._assign(carried, self._parts(init)))
        for result, arg in zip(op.results, args, strict=True):
            self._names[result] = self._names[arg]
        return carried

    def _scope(self, op: Op) -> None:
        """A scope that only returns at its end is no block; one left from a loop is a function."""
        body = op.regions[0]
        results = self._name_all(op.results)
        if body.terminator.name == "return" and not any(
            has_exit(region, frozenset({"return"})) for o in body.ops for region in _own_regions(o)
        ):
            self._region(body, _Exits(lambda parts: self._assign(results, parts)))
        elif not _returns_from_loop(body):
            self._line("while True:")
            with self._block():
                self._region(body, _Exits(lambda parts: [*self._assign(results, parts), "break"]))
        else:
            name = self._fresh("f")
            self._line(f"def {name}():")
            with self._block():
                self._region(body, _Exits(lambda parts: [f"return {_tuple(parts)}"]))
            self._line(f"({', '.join(results)},) = {name}()" if results else f"{name}()")

    # -- ops -------------------------------------------------------------------------------------

    def _plain(self, op: Op) -> None:
        match op.name:
            case "const":
                value = op.attrs["value"]
                assert isinstance(value, bool | int | float)
                self._names[op.result] = (literal(value),)
            case "compose":
                self._names[op.result] = tuple(self._parts(op.operands))
            case "extract":
                self._names[op.result] = (self._names[op.operands[0]][_leaf(op)],)
            case "insert":
                whole, k = self._names[op.operands[0]], _leaf(op)
                part = self._one(op.operands[1])
                self._names[op.result] = (*whole[:k], part, *whole[k + 1 :])
            case "alloc":
                self._alloc(op)
            case "load" | "store":
                self._access(op)
            case "dim" | "stride":
                t = self._local(op)
                axis = op.attrs["axis"]
                assert isinstance(axis, int)
                assert t.shape is not None
                numbers = t.shape if op.name == "dim" else c_strides(t.dtype, t.shape)
                self._names[op.result] = (literal(numbers[axis]),)
            case "assert":
                check = f"if not {self._one(op.operands[0])}:"
                self._line(f"{check} raise {self._fault(op, FaultKind.ASSERT)}()")
            case "assume":
                pass
            case _:
                self._value_op(op)

    def _value_op(self, op: Op) -> None:
        names = tuple(self._parts(op.operands))
        if op.name in DIVISIONS and not _is_nonzero_literal(names[1]):
            self._line(f"if {names[1]} == 0: raise {self._fault(op, FaultKind.DIVISION)}()")
        source = expression(op, names)
        if source is None:
            source = f"{self._know(_by_record(op))}({', '.join(names)})"
        self._bind(op.result, source)

    # -- local arrays ----------------------------------------------------------------------------

    def _local(self, op: Op) -> Array:
        t = op.operands[0].type if op.operands else op.result.type
        if not isinstance(t, Array) or t.space != "local" or t.shape is None:
            raise _refusal(self._kernel, f"{op.name} of {t} belongs to a launch", op)
        return t

    def _alloc(self, op: Op) -> None:
        t = self._local(op)
        zeros = [literal(_zero(leaf)) for leaf in leaves(t.dtype)]
        self._bind(op.result, f"[{', '.join(zeros)}] * {prod(t.shape or ())}")

    def _access(self, op: Op) -> None:
        """A local array is the list of the leaves of its elements, row-major."""
        t = self._local(op)
        assert t.shape is not None
        index = [self._one(v) for v in op.operands[1 : 1 + t.ndim]]
        checks = [f"0 <= {i} < {n}" for i, n in zip(index, t.shape, strict=True)]
        fault = self._fault(op, FaultKind.BOUNDS, t.shape)
        self._line(f"if not ({' and '.join(checks)}): raise {fault}({', '.join(index)})")
        position = index[0]
        for i, n in zip(index[1:], t.shape[1:], strict=True):
            position = f"({position} * {n} + {i})"
        count = len(leaves(t.dtype))
        name = self._one(op.operands[0])
        leaf = op.attrs.get("leaf")
        chosen = range(count) if leaf is None else [_leaf(op)]
        cells = [f"{name}[{position} * {count} + {k}]" for k in chosen]
        if op.name == "store":
            self._write_all(self._assign(cells, self._parts(op.operands[-1:])))
        else:
            self._write_all(self._assign(self._name_all(op.results), cells))

    # -- faults ----------------------------------------------------------------------------------

    def _fault(self, op: Op, kind: FaultKind, shape: tuple[int, ...] = ()) -> str:
        """The name of a function from an index to the exception for a fault of ``op``."""
        place = f"host call of {self._kernel.name!r}"
        subject = op.attrs.get("message", "")
        if op.operands:
            subject = subject or self._kernel.name_of(op.operands[0])
        site = Site(op.name, op.span, str(subject))
        number = self._ids[op]

        def error(*index: int) -> KernelFault:
            return fault_error(Fault(kind, number, 0, index, shape), site, place)

        return self._know(error)


Leave = Callable[[Sequence[str]], Sequence[str]]
"""From the names of what an exit carries to the statements that it is."""


def _nowhere(parts: Sequence[str]) -> Sequence[str]:
    raise InternalError("an exit has nowhere to go")


@dataclass(frozen=True, slots=True)
class _Exits:
    """How the exits of a region are written.

    Attributes:
        out: ``return``.
        fall: ``yield``.
        turn: what precedes a ``break`` or ``continue``.
    """

    out: Leave
    fall: Leave = _nowhere
    turn: Leave = _nowhere


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)},)" if parts else "()"


def _is_nonzero_literal(name: str) -> bool:
    return not name.isidentifier() and name != "0"


def _leaf(op: Op) -> int:
    leaf = op.attrs["leaf"]
    assert isinstance(leaf, int)
    return leaf


def _zero(t: object) -> Number:
    assert isinstance(t, Scalar)
    return False if t is b1 else 0.0 if t.is_float else 0


def _own_regions(op: Op) -> tuple[Region, ...]:
    """Regions from which a ``return`` would leave the scope around ``op``."""
    return () if op.name == "scope" else op.regions


def _returns_from_loop(region: Region) -> bool:
    """Is there a ``return`` of the scope with this body inside a loop?"""
    for op in region.ops:
        for inner in _own_regions(op):
            if op.name in ("for", "while"):
                if has_exit(inner, frozenset({"return"})):
                    return True
            elif _returns_from_loop(inner):
                return True
    return False


def _by_record(op: Op) -> Callable[..., Number]:
    """A value op on Python numbers through its numpy meaning."""
    record = TABLE[op.name]
    types = tuple(v.type for v in op.operands)
    result = op.result.type
    assert isinstance(result, Scalar)

    def evaluate(*numbers: Number) -> Number:
        carried = [
            from_number(t, x) for t, x in zip(types, numbers, strict=True) if isinstance(t, Scalar)
        ]
        with np.errstate(all="ignore"):
            (value,) = np.atleast_1d(record.evaluate(op, *carried))
        return to_number(result, value)

    return evaluate
