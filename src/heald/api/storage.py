"""Kernels in files: they run again without their Python source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from heald.api.edge import at_edge
from heald.api.kernel import Kernel, Module
from heald.artifact.serialise import from_plain, to_plain
from heald.diagnostics import CompileError, Diagnostic, LaunchError
from heald.driver import Analysed, Program, write_whole
from heald.frontend import Options
from heald.ir import Kernel as WirKernel
from heald.ir import dump_kernels, load_kernels, walk
from heald.ops import TABLE, misprint
from heald.types import Anything, Type, i64

if TYPE_CHECKING:
    from heald.ir import KernelFile
    from heald.proof.contracts import Promises

_CONTRACTS = "contracts"
"""Metadata with the contracts of each kernel, where there are any."""
_FORM = "form"
"""Metadata that says, for each kernel, its index type and whether it is ``strict_fp`` and
``fast_math``."""


@at_edge
def save_ir(
    kernel: Kernel,
    path: str | os.PathLike[str],
    *,
    types: Sequence[object] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write the WIR of a kernel to a file that :func:`load_ir` reads on any machine.

    Every specialisation compiled so far is stored.  Tables that the kernel captures become
    parameters behind the others.

    Args:
        kernel: made by ``@wp.kernel``.
        path: the file; written whole or not at all.
        types: parameter types of a generic kernel; None stores what was compiled so far.
        metadata: free text to keep with it.

    Raises:
        CompileError: the kernel does not compile.
        LaunchError: a generic kernel without ``types`` that was not compiled yet.
        OSError: the file cannot be written.
    """
    if types is not None or not kernel.is_generic:
        kernel.program(kernel.concrete_types(types))
    stored = kernel.stored_programs()
    if not stored:
        raise LaunchError(
            Diagnostic(
                "H0702",
                f"generic kernel '{kernel.key}' was not compiled for any types yet",
                hint="give types=[...], one for each parameter",
            )
        )
    forms = ",".join(_form(options) for options, _ in stored)
    facts = {**(metadata or {}), _FORM: forms}
    if any(program.promises for _, program in stored):
        facts[_CONTRACTS] = json.dumps([to_plain(program.promises) for _, program in stored])
    write_whole(path, dump_kernels([p.wir for _, p in stored], metadata=facts))


@at_edge
def load_ir(path: str | os.PathLike[str]) -> Kernel:
    """A kernel from a file of :func:`save_ir`, ready to be launched.

    Raises:
        CompileError: a file of another format version (H0902), damaged (H0903), or malformed
            (H0904).
        OSError: the file cannot be read.
    """
    file = load_kernels(Path(path).read_bytes(), TABLE)
    forms = file.metadata.get(_FORM, "").split(",")
    if not file.kernels or len(forms) != len(file.kernels):
        message = f"'{os.fspath(path)}' is a file of kernels, but was not written by wp.save_ir"
        raise CompileError(Diagnostic("H0903", message))
    for wir in file.kernels:
        _check_prints(wir)
    known: dict[tuple[tuple[Type, ...], str], tuple[WirKernel, Promises | None]] = {}
    for wir, form, promises in zip(file.kernels, forms, _contracts(file), strict=True):
        known[tuple(p.type for p in wir.params), form] = wir, promises
    first = file.kernels[0]

    def compile_for(types: Sequence[Type], safety: str, options: Options, checked: bool) -> Program:
        found = known.get((tuple(types), _form(options)))
        if found is None:
            raise LaunchError(_not_stored(first.name, _form(options)))
        wir, promises = found
        return Program(
            wir.name,
            Analysed.of(wir),
            safety=safety,
            wide_index=options.index is i64,
            promises=promises,
            check_contracts=checked,
            warp_reduce=options.warp_reduce,
        )

    generic = len({types for types, _ in known}) > 1
    patterns = tuple((first.name_of(p), Anything if generic else p.type) for p in first.params)
    return Kernel(first.name, Module(str(path)), lambda: patterns, compile_for, {})


def _contracts(file: KernelFile) -> list[Promises | None]:
    """The contracts of the kernels of a file."""
    text = file.metadata.get(_CONTRACTS)
    if text is None:
        return [None] * len(file.kernels)
    promises = import_module("heald.proof.contracts").Promises  # it loads what proofs are made of
    try:
        found = [from_plain(promises | None, plain) for plain in json.loads(text)]
    except (ValueError, TypeError):
        found = []
    if len(found) != len(file.kernels):
        raise CompileError(Diagnostic("H0903", "the contracts in a file of kernels are damaged"))
    return found


def _check_prints(wir: WirKernel) -> None:
    for op in walk(wir.body):
        why = misprint(op) if op.name == "printf" else ""
        if why:
            raise CompileError(
                Diagnostic("H0904", f"printf of kernel '{wir.name}': {why}", op.span)
            )


def _form(options: Options) -> str:
    modes = (" strict" if options.strict_fp else "") + (" fast" if options.fast_math else "")
    return f"{options.index}{modes}"


def _not_stored(name: str, form: str) -> Diagnostic:
    what = "these parameter types" if form == "i32" else f"these parameter types as {form}"
    return Diagnostic(
        "H0702",
        f"the file of kernel '{name}' holds no code for {what}",
        hint="store it again with types=[...]",
    )
