"""From a Python function and argument types to a program; and functions for calls from the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import heald.driver.compiler as compiler
import heald.frontend as frontend
import heald.interp as interp
from heald.codegen import has_entries, host_target, parallel_launcher, prepare_compiler
from heald.config import config
from heald.driver.analysed import Analysed
from heald.driver.arguments import is_wide
from heald.driver.cache import ProgramCache, analyse
from heald.driver.deep import deeply
from heald.driver.program import Program
from heald.driver.tracing import show_source
from heald.frontend import (
    Options,
    Reading,
    captured_tables,
    parameter_contracts,
    read_source,
    reading,
)
from heald.library.registry import load_topics, lookup
from heald.types import Type, i64

if TYPE_CHECKING:
    from heald.ir import Kernel


def resolve(name: str) -> Any:
    """The library builtin of a name, or None."""
    return lookup(name)


def compile_program(
    function: FunctionType,
    types: Sequence[Type],
    *,
    name: str,
    safety: str,
    options: Options,
    check_contracts: bool = False,
) -> Program:
    """A kernel for concrete parameter types, ready to be launched; code is made on first demand.

    It keeps what it captures now, tables too.

    Raises:
        CompileError: every mistake found in the source.
    """
    known: Reading = {}
    with reading(known):
        return _compile(function, types, name, safety, options, check_contracts, known)


def _compile(
    function: FunctionType,
    types: Sequence[Type],
    name: str,
    safety: str,
    options: Options,
    check_contracts: bool,
    known: Reading,
) -> Program:
    """The same, with names as ``known`` has them."""
    show_source(function)
    tables = captured_tables(function)
    contracts = parameter_contracts(function, tables)
    if any(is_wide(table.shape) for _, table in tables.named):
        options = replace(options, index=i64)

    def lower() -> Kernel:
        wir = frontend.lower_kernel(function, types, resolve, options, name=name, tables=tables)
        wir = compiler.structured(wir)
        if any(contracts):
            import_module("heald.driver.contracts").check_access(wir, contracts, function)
        return wir

    stated = f" {contracts}" if any(contracts) else ""
    stated += " checked" * check_contracts  # the code differs, if not the program
    # Of two tables of one type, which name means which: they are told apart by nothing else.
    stated += f" {tables.meant} {tables.types}" * bool(tables.named)
    chosen = f"{options} {safety=} {name=}{stated}"
    span = read_source(function).name_span(None)

    def analysed_kernel() -> tuple[Analysed, ProgramCache]:
        with reading(known):  # perhaps in a thread with more room
            return analyse(function, types, chosen, lower)

    analysed, cache = deeply(analysed_kernel, name, span)
    promises = None
    if any(contracts):
        reader = import_module("heald.driver.contracts")
        promises = reader.read_promises(analysed.kernel, contracts, function)
    return Program(
        name,
        analysed,
        safety=safety,
        wide_index=options.index is i64,
        cache=cache,
        promises=promises,
        check_contracts=check_contracts,
        warp_reduce=options.warp_reduce,
        tables=tables.named,
    )


def compile_call(
    name: str, functions: Sequence[FunctionType], types: Sequence[Type]
) -> tuple[interp.Closure, tuple[Type, ...]]:
    """The overload that fits ``types`` as a Python function on leaves, and its result types.

    Raises:
        CompileError: no overload fits, or its body has mistakes.
        HealdError: the function needs what only a launch has.
    """

    def compiled() -> tuple[interp.Closure, tuple[Type, ...]]:
        kernel = frontend.lower_call(name, functions, types, resolve, _options_of_host())
        kernel = compiler.run_front(kernel)
        return interp.compile_closure(kernel), kernel.results

    return deeply(compiled, name)


def result_types(
    name: str, functions: Sequence[FunctionType], types: Sequence[Type]
) -> tuple[Type, ...]:
    """What the overload that fits ``types`` gives; nothing where it returns nothing.

    Raises:
        CompileError: no overload fits, or its body has mistakes.
    """
    options = _options_of_host()
    return deeply(
        lambda: frontend.lower_call(name, functions, types, resolve, options).results, name
    )


def _options_of_host() -> Options:
    """What calls from Python are compiled for."""
    return Options(strict_fp=config.strict_fp, fast_math=config.fast_math)


def warm_up() -> None:
    """Load what every first compilation needs: its steps, LLVM, the builtins, the threads; and what
    launches of kernels that were launched before need: the entry."""
    for steps in ("frontend.lower", "driver.compiler.front", "driver.compiler.variants"):
        import_module(f"heald.{steps}")
    load_topics()
    prepare_compiler(host_target())
    parallel_launcher()
    has_entries()
