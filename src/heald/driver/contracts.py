"""Contracts of array parameters: read in the terms of launches, and checked where that is cheap."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

from heald.artifact import LaunchCondition, Symbol
from heald.diagnostics import CompileError, Diagnostic, LaunchError, Note, Span
from heald.driver.verify_names import Names
from heald.frontend import parameter_places
from heald.ir import ATOMICS, MEMORY, Kernel, Op, walk
from heald.passes.array_roots import array_roots
from heald.proof.conditions import Clause, Product, Sums, parse_sum
from heald.proof.contracts import NOTHING, ArrayPromise, Promises, Range, ShapePromise, Sum
from heald.types import Contract

Contracts = Sequence[Contract | None]
"""One for each parameter."""


def read_promises(kernel: Kernel, contracts: Contracts, function: FunctionType) -> Promises:
    """Contracts in the terms of launches.

    Args:
        kernel: which has names and types of parameters.
        contracts: of its parameters.
        function: whose source errors show.

    Raises:
        CompileError: a size names nothing that there is (H0211).
    """
    if not any(contracts):
        return NOTHING
    names = Names(kernel)
    sizes: dict[str, Symbol | Sums] = {
        name: s for name, s in names.symbols().items() if isinstance(s, Symbol)
    }
    taken = {*sizes, *(kernel.name_of(p) for p in kernel.params)}
    origins: dict[str, str] = {}
    for plain in (True, False):  # ``n`` says more plainly what n is than ``n + 1``
        for number, contract in enumerate(contracts):
            for axis, text in enumerate(contract.shape or () if contract else ()):
                name, offset = _named(text)
                if name and name not in taken and (offset == 0) == plain:
                    taken.add(name)
                    symbol = Symbol("shape", number, 0, axis)
                    sizes[name] = {(symbol,): 1, (): -offset} if offset else symbol
                    origins[name] = _shifted(names.symbol(symbol), -offset)
    reader = _Reader(function, sizes)
    shapes, arrays = [], []
    for number, contract in enumerate(contracts):
        if contract is None:
            continue
        for axis, text in enumerate(contract.shape or ()):
            extent = Symbol("shape", number, 0, axis)
            size = reader.sum(number, text)
            if size != (((extent,), 1),):
                origin = _origin(text, origins)
                shapes.append(ShapePromise(extent, size, text, origin, contract.fixed))
        if contract.speaks_of_contents:
            arrays.append(reader.array(number, contract))
    return Promises(tuple(shapes), tuple(arrays))


def _named(text: str) -> tuple[str, int]:
    """The name in ``n``, ``n + 1`` or ``n - 1``, and what is added; no name in other texts."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return "", 0
    match tree:
        case ast.Name(id=name):
            return name, 0
        case ast.BinOp(
            left=ast.Name(id=name),
            op=ast.Add() | ast.Sub() as operator,
            right=ast.Constant(value=int() as number),
        ):
            return name, number if isinstance(operator, ast.Add) else -number
    return "", 0


def _shifted(text: str, offset: int) -> str:
    return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else text


def _origin(text: str, origins: Mapping[str, str]) -> str:
    """Where names of sizes come from."""
    found = {n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}
    return ", ".join(f"{name} is {origins[name]}" for name in sorted(found) if name in origins)


class _Reader:
    """Reads sizes, and says where one is wrong."""

    def __init__(self, function: FunctionType, sizes: Mapping[str, Symbol | Sums]) -> None:
        self._function = function
        self._sizes = sizes

    def sum(self, number: int, text: str) -> Sum:
        try:
            found = parse_sum(text, self._sizes)
        except ValueError as error:
            raise bad_contract(self._function, number, str(error)) from None
        return tuple(sorted(found.items()))

    def array(self, number: int, contract: Contract) -> ArrayPromise:
        ends = None
        words = [name for name in ("monotone", "injective") if getattr(contract, name)]
        if contract.elements is not None:
            low, high = contract.elements.low, contract.elements.high
            ends = Range(self.sum(number, low), self.sum(number, high))
            words.insert(0, f"elem={contract.elements.text}")
        return ArrayPromise(number, ends, contract.monotone, contract.injective, ", ".join(words))


def bad_contract(function: FunctionType, number: int, why: str) -> CompileError:
    """The error for a contract of parameter ``number``."""
    name, span = parameter_places(function)[number]
    hint = "sizes are numbers, by-value integers, dim[0], a.shape[0], and names that shapes give"
    message = f"the contract of parameter '{name}' cannot be read: {why}"
    return CompileError(Diagnostic("H0211", message, span, "in this contract", hint=hint))


# -- how arrays are used ---------------------------------------------------------------------------


def check_access(kernel: Kernel, contracts: Contracts, function: FunctionType) -> None:
    """Refuse a kernel that uses an array against its ``access``.

    Raises:
        CompileError: H0411, with every such place.
    """
    modes = {k: c.access for k, c in enumerate(contracts) if c is not None and c.access}
    if not modes:
        return
    roots = array_roots(kernel)
    errors = []
    seen: set[tuple[int, Span | None]] = set()
    for op in walk(kernel.body):
        if op.name not in MEMORY:
            continue
        for number, leaf in sorted(roots.get(op.operands[0], ())):
            if leaf:
                continue  # of a struct, which has no contract
            wrong = _misuse(op, modes.get(number, ""))
            if wrong and (number, op.span) not in seen:
                seen.add((number, op.span))
                name, span = parameter_places(function)[number]
                note = Note("its contract", span)
                message = f"'{name}' has access=\"{modes[number]}\", and this {wrong} it"
                hint = 'write access="readwrite", or use another array'
                errors.append(
                    Diagnostic("H0411", message, op.span, f"{wrong} '{name}'", (note,), hint)
                )
    if errors:
        raise CompileError(*errors)


def _misuse(op: Op, mode: str) -> str:
    """What an access does that a mode does not allow."""
    if mode == "read" and op.name != "load":
        return "writes"
    if mode == "write" and (op.name == "load" or op.name in ATOMICS):
        return "reads"
    return ""


# -- shapes at launches ----------------------------------------------------------------------------


def shape_condition(promises: Promises) -> LaunchCondition | None:
    """What shape contracts ask of a launch, or None where they multiply sizes."""
    parts = []
    for promise in promises.shapes:
        terms = promise.clause.terms
        for sign in (1, -1):
            half = Clause(tuple((product, sign * n) for product, n in terms)).linear()
            if half is None:
                return None
            parts.append(half)
    return LaunchCondition(tuple(parts))


def check_shapes(
    kernel: Kernel, name: str, promises: Promises, lookup: Callable[[Symbol], int]
) -> None:
    """Refuse a launch whose arrays are not of the shapes that contracts say.

    Raises:
        LaunchError: H0717, naming both sides.
    """
    for promise in promises.shapes:
        if promise.clause.holds(lookup):
            continue
        names = Names(kernel)
        extent = names.symbol(promise.extent)
        wanted = sum(n * _product(product, lookup) for product, n in promise.size)
        text = promise.text if promise.text.isdigit() else f"{promise.text}, which is {wanted}"
        numbers = dict.fromkeys(s for product, _ in promise.size for s in product)
        told = [f"{names.symbol(s)} is {lookup(s)}" for s in numbers]
        array = names.argument(promise.extent.parameter, promise.extent.leaf)
        notes = [Note(text) for text in (promise.origin, ", ".join(told)) if text]
        raise LaunchError(
            Diagnostic(
                "H0717",
                f"{extent} of kernel '{name}' is {lookup(promise.extent)}, and its contract says "
                f"{text}",
                notes=tuple(notes),
                hint=f"pass an array '{array}' of that shape, or change its contract",
            )
        )


def _product(product: Product, lookup: Callable[[Symbol], int]) -> int:
    total = 1
    for symbol in product:
        total *= lookup(symbol)
    return total
