"""From a Python function to WIR: the two entries of the front end."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType, MappingProxyType

from heald.diagnostics import Diagnostic, InternalError
from heald.diagnostics.errors import collect
from heald.frontend.blocks import shared_ops
from heald.frontend.calls import call_builtin, call_overloads
from heald.frontend.conversions import as_value
from heald.frontend.expressions import expression
from heald.frontend.intrinsics import Arguments
from heald.frontend.operands import Operand, Refused, Several, Static, Target
from heald.frontend.options import Options, Resolver
from heald.frontend.session import MAX_ERRORS, Frame, Session
from heald.frontend.signatures import result_patterns
from heald.frontend.sources import (
    parameters_of,
    read_source,
)
from heald.frontend.statements import TooManyErrors, block
from heald.frontend.tables import Tables, captured_tables
from heald.ir import ATOMICS, Kernel, Region, Value, walk
from heald.passes.array_roots import array_roots
from heald.types import Type

_DEFAULT = Options()


def lower_kernel(
    function: FunctionType,
    types: Sequence[Type],
    resolver: Resolver,
    options: Options = _DEFAULT,
    *,
    name: str | None = None,
    tables: Tables | None = None,
) -> Kernel:
    """The WIR of a kernel for concrete parameter types.

    Args:
        function: the Python function under the decorator.
        types: one type for each parameter.
        resolver: finds library builtins by name.
        options: what to compile for.
        name: of the kernel, where it is not the function's.
        tables: what it captures, where that is known; they are parameters behind the others.

    Raises:
        CompileError: with every mistake found, up to ten.
    """
    source = read_source(function)
    tables = captured_tables(function) if tables is None else tables
    declared = parameters_of(function)
    params = tuple(Value(t) for t in (*types, *tables.types))
    frame = Frame(source, None, {}, [Target("kernel")])
    s = Session(resolver, options, frame, expression, block, call_builtin)
    for parameter, value in zip(declared, params[: len(declared)], strict=True):
        s.bind(parameter.name, value, source.parameter(parameter.name))
    for (called, table), value in zip(tables.named, params[len(declared) :], strict=True):
        s.tables[id(table)] = value
        s.shapes[value] = tuple(table.shape)
        s.names[value] = called
    s.builder.span = source.span(source.tree, None)
    s.builder.open()
    if result_patterns(function):
        s.report(s.refuse(source.tree.returns or source.tree, "H0105", "a kernel returns nothing"))
    try:
        if s.block(source.tree.body):
            s.builder.emit("return")
    except TooManyErrors:
        pass
    _raise_mistakes(s)
    body = s.builder.close()
    _refuse_table_writes(s, body)
    try:
        shared = shared_ops(s, body.ops)
    except Refused as refused:
        s.report(refused)
        raise collect(s.errors) from None
    return Kernel(
        name or function.__name__,
        params,
        Region((), (*shared, *body.ops)),
        (),
        s.rank,
        MappingProxyType(s.names),
        span=source.span(source.tree, None),
    )


def _refuse_table_writes(s: Session, body: Region) -> None:
    tables = tuple(s.tables.values())
    if not tables:
        return
    kernel = Kernel("", tables, body)
    roots = array_roots(kernel)
    errors = [
        Diagnostic(
            "H0413",
            "a table is read only in kernels",
            op.span,
            "writes to it",
            hint="assign its contents on the host, table.assign(...), or pass an array",
        )
        for op in walk(body)
        if (op.name == "store" or op.name in ATOMICS) and roots.get(op.operands[0])
    ]
    if errors:
        raise collect(errors)


def lower_call(
    name: str,
    functions: Sequence[FunctionType],
    types: Sequence[Type],
    resolver: Resolver,
    options: Options = _DEFAULT,
) -> Kernel:
    """A function as a kernel with results, for calls from the host.

    The overload is chosen as a kernel would choose it for arguments of these types.

    Raises:
        CompileError: no overload fits, or its body has mistakes.
    """
    source = read_source(functions[0])
    frame = Frame(source, None, {}, [Target("kernel")])
    s = Session(resolver, options, frame, expression, block, call_builtin)
    params = tuple(Value(t) for t in types)
    s.builder.span = source.span(source.tree, None)
    s.builder.open()
    values: tuple[Value, ...] = ()
    try:
        arguments = Arguments(source.tree, params, {})
        values = _results(s, call_overloads(s, arguments, name, functions))
    except Refused as refused:
        s.report(refused)
    except TooManyErrors:
        pass
    _raise_mistakes(s)
    s.builder.emit("return", values)
    return Kernel(
        name,
        params,
        s.builder.close(),
        tuple(v.type for v in values),
        s.rank,
        MappingProxyType(s.names),
        span=s.builder.span,
    )


def _raise_mistakes(s: Session) -> None:
    """Refuse the kernel for every mistake that was found."""
    if s.errors:
        raise collect(s.errors[:MAX_ERRORS])
    if s.failures:
        raise InternalError("a statement was left out and no reason given")


def _results(s: Session, operand: Operand) -> tuple[Value, ...]:
    items = operand.items if isinstance(operand, Several) else (operand,)
    if items == (Static(None),):
        return ()
    node = s.frame.source.tree
    out = []
    for item in items:
        number = s.as_number(node, item)
        out.append(as_value(s, node, number))
    return tuple(out)
