"""``wp.launch``: arguments checked on the host, the specialisation found, the threads run."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

from heald.api.adapt import adapt_argument, adapt_arguments, find_program
from heald.api.array import array
from heald.api.command import Launch
from heald.api.host_value import value_class
from heald.api.kernel import Kernel
from heald.api.scalars import describe
from heald.artifact import Parameter
from heald.config import config
from heald.diagnostics import Diagnostic, HealdError, LaunchError
from heald.driver import ArrayArgument, HostClasses, Pack, Program, entry_of
from heald.runtime import (
    CPU,
    DeviceLike,
    Packer,
    check_block_dim,
    check_dims,
    current_device,
    get_device,
)
from heald.types import is_generic, size_of

_HOST = HostClasses(array, "packed", "_owner", value_class, "_leaves")
_WIDE_EXTENT = 1 << 31
_OPTIONS = ("kernel", "dim", "inputs", "outputs", "device", "block_dim", "record_cmd")
_MOST_ENTRIES = 4
"""Entries that a kernel keeps, for as many combinations of argument types."""


@overload
def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: DeviceLike = None,
    block_dim: int = 256,
    *,
    record_cmd: Literal[False] = False,
) -> None: ...


@overload
def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: DeviceLike = None,
    block_dim: int = 256,
    *,
    record_cmd: bool,
) -> Launch | None: ...


def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: DeviceLike = None,
    block_dim: int = 256,
    *,
    record_cmd: bool = False,
    **unknown: object,
) -> Launch | None:
    """Run ``kernel`` on every index of ``dim`` and wait for it.

    Args:
        kernel: made by ``@wp.kernel``.
        dim: threads, or one to four extents.  An extent of 0 runs nothing.
        inputs: arguments in the order of the parameters.
        outputs: the rest of the arguments; the split is for readers only.
        device: where to run; the current device by default.  ``"sim"`` is the reference
            interpreter.
        block_dim: threads of a block, 1 to 1024.
        record_cmd: do not run it, but return a :class:`Launch` that runs it as often as asked.

    Raises:
        LaunchError: arguments, dims or device do not fit; nothing has run.
        CompileError: the kernel is outside the language; nothing has run.
        KernelFault: a thread left its array, divided by zero or failed an assertion.
    """
    if unknown:
        raise _unknown_option(next(iter(unknown)))
    if type(kernel) is Kernel and not record_cmd:
        revision, entries = kernel.entries
        if revision is config.revision and _is_cpu(device):
            for entry in entries:
                outcome = entry.call(dim, block_dim, inputs, outputs)
                if outcome is None:
                    return None
                if outcome is not NotImplemented:
                    raise entry.program.error_of(outcome)
    return _launch(kernel, dim, inputs, outputs, device, block_dim, record_cmd)


def _unknown_option(name: str) -> LaunchError:
    near = difflib.get_close_matches(name, _OPTIONS, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(_OPTIONS)}"
    return LaunchError(Diagnostic("H0707", f"wp.launch has no option '{name}'", hint=hint))


def _is_cpu(device: object) -> bool:
    if device is None:
        return current_device() is CPU
    return device is CPU or (type(device) is str and device == "cpu")


def _launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    device: DeviceLike,
    block_dim: int,
    record_cmd: bool,
) -> Launch | None:
    """The careful path: it understands every argument, and says what is wrong with others."""
    if not isinstance(kernel, Kernel):
        raise LaunchError(
            Diagnostic(
                "H0707",
                f"wp.launch takes a kernel, not {describe(kernel)}",
                hint="decorate the function with @wp.kernel",
            )
        )
    revision = config.revision
    dims, where = check_dims(dim), get_device(device)
    threads = check_block_dim(block_dim)
    given = [*_listed(inputs, "inputs"), *_listed(outputs, "outputs")]
    arguments = adapt_arguments(kernel, given, where)
    if record_cmd:
        return Launch(kernel, dims, arguments, where, threads)
    program = find_program(kernel, arguments, dims)
    try:
        program.run(where, dims, arguments, threads)
    finally:
        if where is CPU:
            _remember(kernel, program, revision)
    return None


def _listed(given: object, name: str) -> Sequence[Any]:
    """``given``, unless it is one argument instead of a list of them."""
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return given
    message = f"{name} is a list of arguments, not {describe(given)}"
    raise LaunchError(Diagnostic("H0701", message, hint=f"write {name}=[...]"))


def _remember(kernel: Kernel, program: Program, revision: object) -> None:
    """Make the entry through which later launches with such arguments go.

    The first launch makes none: most kernels of a program run once.
    """
    if program.launches < 2 or program.has_wide_index or config.debug:
        return
    known_revision, known = kernel.entries
    others = known if known_revision is revision else ()
    if any(entry.program is program and entry.is_current for entry in others):
        return
    strict = [is_generic(pattern) for _, pattern in kernel.parameters]
    made = entry_of(program, strict, _HOST, partial(_packer, kernel))
    if made is not None:
        others = tuple(entry for entry in others if entry.program is not program)
        kernel.entries = (revision, (made, *others[: _MOST_ENTRIES - 1]))


def _packer(kernel: Kernel, index: int, parameter: Parameter, written: bool) -> Pack:
    """How to make bytes of what a parameter takes that entries do not understand.

    They give None where the careful path has to refuse or to do something else.
    """
    packer = Packer([replace(parameter, offset=0)], size_of(parameter.type))

    def pack(value: object) -> tuple[bytes, object] | None:
        try:
            argument = adapt_argument(kernel, index, parameter.type, value, CPU)
        except HealdError:
            return None
        for leaf in argument.leaves:
            if isinstance(leaf, ArrayArgument) and (
                max(leaf.shape) >= _WIDE_EXTENT or (written and leaf.read_only)
            ):
                return None
        return packer.pack(argument.words()), argument

    return pack
