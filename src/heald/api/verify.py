"""``wp.verify``: proofs about kernels, and witnesses where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from heald.api.adapt import adapt_arguments, check_rank, table_arguments
from heald.api.kernel import Kernel
from heald.api.scalars import describe
from heald.api.struct import StructValue
from heald.diagnostics import Diagnostic, LaunchError
from heald.driver import Argument, Program, needs_wide_index
from heald.driver.cache_store import open_store
from heald.driver.verify import (
    Question,
    contract_error,
    contradicts,
    launch_facts,
    verify_program,
)
from heald.driver.verify_names import Names
from heald.driver.verify_report import Report
from heald.proof import PROPERTIES, Clause, parse_clauses
from heald.proof.contracts import NOTHING
from heald.runtime import Device, check_dims, get_device


def verify(
    kernel: Kernel,
    dim: int | Sequence[int] | None = None,
    args: Sequence[Any] | None = None,
    properties: Sequence[str] | str | None = None,
    *,
    given: str | Sequence[str] = (),
) -> Report:
    """Prove that a kernel is right in every launch, or show a launch in which it is not.

    Without ``dim``, ``args`` and ``given`` the answer is about all launches, and a proof may ask
    something of them (``dim[0] <= a.shape[0]``), which the report says.  With them it is about the
    launches that they describe.

    Args:
        kernel: made by ``@wp.kernel``.
        dim: extents of the launch.
        args: arguments; their types, shapes and integers count, not what arrays hold.
        properties: some of ``bounds``, ``division``, ``assertions``, ``handles``, ``overflow``,
            ``races``, ``aliasing``, ``divergence``, ``initialised`` and ``contracts``; all by
            default.
        given: facts about launches in the form in which reports show conditions, such as
            ``"dim[0] == a.shape[0]"``.

    Raises:
        CompileError: the kernel is outside the language.
        LaunchError: ``dim`` or ``args`` do not fit the kernel, ``dim`` has no threads, a property
            does not exist, or ``given`` cannot be read.
        ProofError: the contracts of the kernel contradict each other (H0607).
    """
    if not isinstance(kernel, Kernel):
        raise LaunchError(
            Diagnostic(
                "H0707",
                f"wp.verify takes a kernel, not {describe(kernel)}",
                hint="decorate the function with @wp.kernel",
            )
        )
    wanted = check_properties(properties)
    dims = None if dim is None else check_dims(dim)
    arguments = None if args is None else adapt_arguments(kernel, args, _device_of(args))
    program = _program(kernel, arguments, dims)
    if args is not None and arguments is not None:
        arguments += table_arguments(kernel, program, _device_of(args))
    _check_threads(kernel, program, dims)
    facts = [*launch_facts(program.wir, dims, arguments), *_given(program, given)]
    infer = dim is None and args is None and not given
    promises = program.promises or NOTHING
    question = Question(program.wir, kernel.key, tuple(facts), infer, wanted, promises)
    report = verify_program(question, store=open_store())
    wrong = contract_error(report)
    if wrong is not None:
        raise wrong
    if contradicts(report):
        raise LaunchError(Diagnostic("H0707", "dim, args and given contradict each other"))
    return report


def _device_of(args: Sequence[Any]) -> Device:
    """Where such a launch would be; what is proved does not depend on it."""
    for a in args:
        parts = a.__heald_type__.fields if isinstance(a, StructValue) else ()
        for value in (a, *(getattr(a, name) for name, _ in parts)):
            device = getattr(value, "device", None)
            if isinstance(device, Device):
                return device
    return get_device("cpu")


def check_properties(properties: Sequence[str] | str | None) -> tuple[str, ...]:
    """The properties asked for, in the order of reports.

    Raises:
        LaunchError: one of them does not exist.
    """
    if properties is None:
        return PROPERTIES
    names = _texts("properties", properties)
    hint = f"the properties are {', '.join(PROPERTIES)}"
    if not names:
        raise LaunchError(Diagnostic("H0707", "no property is asked for", hint=hint))
    for name in names:
        if name not in PROPERTIES:
            raise LaunchError(Diagnostic("H0707", f"no property '{name}'", hint=hint))
    return tuple(name for name in PROPERTIES if name in names)


def _texts(what: str, given: object) -> list[str]:
    """One text, or several, as a list."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Iterable):
        found = list(given)
        if all(isinstance(text, str) for text in found):
            return found
    message = f"{what} is a text or a list of texts, not {describe(given)}"
    raise LaunchError(Diagnostic("H0707", message))


def _check_threads(kernel: Kernel, program: Program, dims: tuple[int, ...] | None) -> None:
    """Refuse dims with which the kernel cannot be launched, or without threads."""
    if dims is None:
        return
    check_rank(kernel, program, dims)
    if 0 in dims:
        message = f"a launch with dim {dims} has no threads, of which something could be proved"
        raise LaunchError(Diagnostic("H0707", message))


def _program(
    kernel: Kernel, arguments: Sequence[Argument] | None, dims: Sequence[int] | None
) -> Program:
    if arguments is None:
        return kernel.program(kernel.concrete_types())
    wide = needs_wide_index(arguments, dims or ())
    return kernel.program([argument.type for argument in arguments], wide_index=wide)


def _given(program: Program, given: str | Sequence[str]) -> list[Clause]:
    texts = _texts("given", given)
    names = Names(program.wir).symbols()
    found: list[Clause] = []
    for text in texts:
        try:
            found += parse_clauses(text, names)
        except ValueError as error:
            raise LaunchError(Diagnostic("H0707", f"given={text!r}: {error}")) from None
    return found
