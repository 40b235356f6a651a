"""The structural check: what must hold of every kernel between any two passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from heald.diagnostics import CompileError, Diagnostic, Note
from heald.ir.core import Kernel, Op, Region, Value
from heald.ir.effects import Effect
from heald.ir.rules import INDEX_TYPES, RULES, type_problem
from heald.ir.structure import (
    ATOMICS,
    EXITS,
    MAX_NESTING,
    MAX_RANK,
    OBLIGATIONS,
    STRUCTURAL,
    TERMINATORS,
    ValueOps,
)
from heald.ir.text import describe_ops
from heald.types import Array, Type, b1

MAX_ERRORS = 10
_WRITES = ATOMICS | {"store", "alloc", "block_sync"}
_OUTSIDE = Effect.WRITE | Effect.SYNC | Effect.PRINT
_ALLOWED_ATTRS = {name: op.attrs for name, op in STRUCTURAL.items()}

Types = tuple[Type, ...]


def check(kernel: Kernel, table: ValueOps) -> None:
    """Check the structure of ``kernel``: it is well formed or this raises.

    Definitions dominate uses and are unique; every region ends in exactly one terminator that
    carries what its target takes; operand, result and attribute types follow the rules of the ops.

    Raises:
        CompileError: H0904, with the first ten violations, each with its op and its span.
    """
    checker = _Checker(kernel, table)
    checker.kernel()
    if checker.faults:
        raise CompileError(*_diagnose(kernel, checker.faults))


@dataclass(frozen=True, slots=True)
class _Fault:
    op: Op | None
    message: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the terminators of a region carry; None where one has no target."""

    yields: Types | None
    loop: Types | None
    returns: Types | None
    condition: bool = False
    depth: int = 0


def _types(values: Sequence[Value]) -> Types:
    return tuple([v.type for v in values])


def _show(types: Types) -> str:
    return f"({', '.join(map(str, types))})"


class _Checker:
    def __init__(self, kernel: Kernel, table: ValueOps) -> None:
        self._kernel = kernel
        self._table = table
        self._visible: dict[Value, bool] = {}  # False: defined, but its region has ended
        self._typed: set[Type] = set()
        self.faults: list[_Fault] = []

    def _fault(self, op: Op | None, message: str) -> None:
        self.faults.append(_Fault(op, message))

    # -- kernel and regions ------------------------------------------------------------------

    def kernel(self) -> None:
        kernel = self._kernel
        if not kernel.name:
            self._fault(None, "the kernel has no name")
        if not 0 <= kernel.rank <= MAX_RANK:
            self._fault(None, f"the launch rank is {kernel.rank}, not in 0..{MAX_RANK}")
        if kernel.body.args:
            self._fault(None, "the body takes arguments; parameters are in `params`")
        for value in kernel.params:
            if isinstance(value.type, Array) and value.type.space not in ("global", "constant"):
                self._fault(None, f"a parameter is {value.type}; only its thread could have it")
        for t in kernel.results:
            self._type(None, t)
        self._attr_values(None, kernel.attrs)
        self._define(None, kernel.params)
        self._region(None, kernel.body, _Frame(None, None, kernel.results))

    def _define(self, op: Op | None, values: Sequence[Value]) -> None:
        visible = self._visible
        for value in values:
            if value in visible:
                self._fault(op, f"a value of type {value.type} is defined twice")
            visible[value] = True
            if value.type not in self._typed:
                self._type(op, value.type)

    def _type(self, op: Op | None, t: Type) -> None:
        self._typed.add(t)
        if problem := type_problem(t):
            self._fault(op, problem)

    def _region(self, owner: Op | None, region: Region, frame: _Frame) -> None:
        if frame.depth > MAX_NESTING:
            self._fault(owner, f"regions are nested more than {MAX_NESTING} deep")
            return
        ops = region.ops
        if not ops or ops[-1].name not in TERMINATORS:
            self._fault(owner, "a region does not end in a terminator")
        self._define(owner, region.args)
        visible = self._visible
        last = len(ops) - 1
        for number, op in enumerate(ops):
            for value in op.operands:
                if not visible.get(value):
                    self._undefined(op, value)
            if op.attrs:
                self._attrs(op)
            rule = RULES.get(op.name)
            if rule is not None:
                self._simple(op, rule(op), frame)
            elif op.name in TERMINATORS:
                self._terminator(op, ops, number, frame)
            elif op.name in STRUCTURAL:
                self._control(op, ops[number + 1].name if number < last else "", frame)
            elif op.name in self._table:
                self._value_op(op, frame)
            else:
                self._fault(op, f"{op.name} is no op")
            if op.results:
                self._define(op, op.results)
        for value in region.args:
            visible[value] = False
        for op in ops:
            for value in op.results:
                visible[value] = False

    def _undefined(self, op: Op, value: Value) -> None:
        k = op.operands.index(value)
        why = "is not visible here" if value in self._visible else "is not defined before this use"
        self._fault(op, f"operand {k} of {op.name} {why}: its definition does not dominate it")

    # -- ops without regions -----------------------------------------------------------------

    def _value_op(self, op: Op, frame: _Frame) -> None:
        record = self._table[op.name]
        try:
            answer = record.type_rule(op)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            answer = f"its type rule cannot read it ({type(error).__name__}: {error})"
        self._simple(op, answer, frame)
        if frame.condition and record.effects & _OUTSIDE:
            self._fault(op, f"a while condition must not run {op.name}, which has effects")

    def _simple(self, op: Op, answer: Types | str, frame: _Frame) -> None:
        """An op whose result types a rule gives."""
        if isinstance(answer, str):
            self._fault(op, f"{op.name}: {answer}")
        elif answer != (found := _types(op.results)):
            self._fault(op, f"{op.name} gives {_show(answer)}, not {_show(found)}")
        if op.regions:
            self._fault(op, f"{op.name} takes no regions")
        match op.name:
            case "tid":
                axis, rank = op.attrs.get("axis"), self._kernel.rank
                if type(axis) is int and axis >= rank:
                    self._fault(op, f"tid reads axis {axis} of a kernel with launch rank {rank}")
            case "alloc" if frame.depth and _is_shared(op):
                self._fault(op, "a shared array is allocated outside of every region")
            case name if frame.condition and name in _WRITES:
                self._fault(op, f"a while condition must not run {name}, which has effects")

    def _terminator(self, op: Op, ops: Sequence[Op], number: int, frame: _Frame) -> None:
        if number != len(ops) - 1:
            self._fault(op, f"{op.name} stands in the middle of a region")
        if op.results or op.regions:
            self._fault(op, f"{op.name} has neither results nor regions")
        wanted: Types | None
        match op.name:
            case "yield":
                wanted = frame.yields
            case "break" | "continue":
                wanted = frame.loop
            case "return":
                wanted = frame.returns
            case _:
                wanted = ()
                if number == 0 or not _never_falls(ops[number - 1]):
                    self._fault(op, "unreachable must follow an `if` that never yields")
        found = _types(op.operands)
        if wanted is None:
            self._fault(op, f"{op.name} has no target here{_ADVICE.get(op.name, '')}")
        elif found != wanted:
            self._fault(op, f"{op.name} carries {_show(found)}, its target takes {_show(wanted)}")

    # -- attributes --------------------------------------------------------------------------

    def _attrs(self, op: Op) -> None:
        attrs = op.attrs
        allowed = _ALLOWED_ATTRS.get(op.name)
        if allowed is not None and not allowed >= attrs.keys():
            unknown = ", ".join(sorted(attrs.keys() - allowed))
            self._fault(op, f"{op.name} has no attribute {unknown}")
        self._attr_values(op, attrs)
        if type(attrs.get("warp", False)) is not bool:
            self._fault(op, f"attribute warp is {attrs['warp']!r}, not true or false")
        if "id" in attrs:
            number = attrs["id"]
            if type(number) is not int or number < 0:
                self._fault(op, f"attribute id is {number!r}, not a number from 0")
        if "guard" in attrs:
            if type(attrs["guard"]) is not bool:
                self._fault(op, f"attribute guard is {attrs['guard']!r}, not true or false")
            if op.name not in OBLIGATIONS:
                self._fault(op, f"{op.name} cannot fault, so it has no guard")
            elif "id" not in attrs:
                self._fault(op, "attribute guard comes with an id")

    def _attr_values(self, op: Op | None, attrs: Mapping[str, object]) -> None:
        for key, value in attrs.items():
            match value:
                case bool() | float() | str():
                    continue
                case int() if abs(value) < _INTEGER_LIMIT:
                    continue
                case tuple() if all(type(n) is int and abs(n) < _INTEGER_LIMIT for n in value):
                    continue
            self._fault(op, f"attribute {key} holds {value!r}")

    # -- control flow ------------------------------------------------------------------------

    def _control(self, op: Op, following: str, frame: _Frame) -> None:
        match op.name:
            case "if":
                self._if(op, following, frame)
            case "for":
                self._for(op, frame)
            case "while":
                self._while(op, frame)
            case "scope":
                self._scope(op, frame)
            case "threads":
                self._threads(op, frame)

    def _regions(self, op: Op, *args: Types) -> bool:
        """Are there as many regions as ``args``, with arguments of these types?"""
        if len(op.regions) != len(args):
            regions = "region" if len(args) == 1 else "regions"
            self._fault(op, f"{op.name} takes {len(args)} {regions}, not {len(op.regions)}")
            return False
        for region, wanted in zip(op.regions, args, strict=True):
            found = _types(region.args)
            if found != wanted:
                self._fault(op, f"a region of {op.name} takes {_show(wanted)}, not {_show(found)}")
        return True

    def _if(self, op: Op, following: str, frame: _Frame) -> None:
        given = _types(op.operands)
        if given != (b1,):
            self._fault(op, f"if takes one b1, not {_show(given)}")
        if not self._regions(op, (), ()):
            return
        inner = replace(frame, yields=_types(op.results), depth=frame.depth + 1)
        for region in op.regions:
            self._region(op, region, inner)
        if _never_falls(op):
            if op.results:
                self._fault(op, "an `if` that never yields has no results")
            if following != "unreachable":
                self._fault(op, "an `if` that never yields must be followed by unreachable")

    def _for(self, op: Op, frame: _Frame) -> None:
        given, carried = _types(op.operands), _types(op.results)
        bounds = given[:3]
        if len(bounds) < 3 or bounds[0] not in INDEX_TYPES or len(set(bounds)) > 1:
            self._fault(op, f"for takes three bounds of one type, i32 or i64, not {_show(bounds)}")
            return
        if given[3:] != carried:
            self._fault(op, f"for starts with {_show(given[3:])} and gives {_show(carried)}")
        if self._regions(op, (bounds[0], *carried)):
            inner = replace(frame, yields=carried, loop=carried, depth=frame.depth + 1)
            self._region(op, op.regions[0], inner)

    def _while(self, op: Op, frame: _Frame) -> None:
        given, carried = _types(op.operands), _types(op.results)
        if given != carried:
            self._fault(op, f"while starts with {_show(given)} and gives {_show(carried)}")
        if not self._regions(op, carried, carried):
            return
        condition, body = op.regions
        depth = frame.depth + 1
        self._region(op, condition, _Frame((b1,), None, None, condition=True, depth=depth))
        self._region(op, body, replace(frame, yields=carried, loop=carried, depth=depth))

    def _scope(self, op: Op, frame: _Frame) -> None:
        if op.operands:
            self._fault(op, f"scope takes no operands, not {_show(_types(op.operands))}")
        if self._regions(op, ()):
            returns = _types(op.results)
            inner = _Frame(None, None, returns, frame.condition, frame.depth + 1)
            self._region(op, op.regions[0], inner)

    def _threads(self, op: Op, frame: _Frame) -> None:
        if op.operands or op.results:
            self._fault(op, "threads takes no operands and has no results")
        if self._kernel.attrs.get("blocks") is not True or frame.condition:
            self._fault(op, "threads stands in the body of a program of whole blocks")
        if self._regions(op, ()):
            self._region(op, op.regions[0], _Frame((), None, None, False, frame.depth + 1))


_INTEGER_LIMIT = 1 << 64
_ADVICE = {
    "yield": ": a kernel and a scope are left by return",
    "break": ": there is no loop that it could leave",
    "continue": ": there is no loop that it could continue",
    "return": ": a while condition cannot be left",
}


def _is_shared(op: Op) -> bool:
    return any(isinstance(v.type, Array) and v.type.space == "shared" for v in op.results)


def _never_falls(op: Op) -> bool:
    """Is this an ``if`` both of whose arms exit?"""
    if op.name != "if" or not op.regions:
        return False
    return all(region.ops and region.ops[-1].name in EXITS for region in op.regions)


def _diagnose(kernel: Kernel, faults: Sequence[_Fault]) -> list[Diagnostic | str]:
    describe = describe_ops(kernel)
    found: list[Diagnostic | str] = []
    for fault in faults[:MAX_ERRORS]:
        if fault.op is None:
            notes = (Note(f"in kernel @{kernel.name}"),)
            span = kernel.span
        else:
            notes = (Note(f"in kernel @{kernel.name}: {describe(fault.op)}"),)
            span = fault.op.span
        found.append(Diagnostic("H0904", fault.message, span, notes=notes))
    if len(faults) > MAX_ERRORS:
        found.append(f"and {len(faults) - MAX_ERRORS} more")
    return found
