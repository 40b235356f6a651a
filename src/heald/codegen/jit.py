"""Object bytes to an address in this process."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from heald.codegen.binding import LOCK, binding
from heald.codegen.objects import undefined_symbols
from heald.codegen.target import create_machine, host_target
from heald.diagnostics import InternalError

_EXACT = ("fma", "ceil", "floor", "roundeven", "trunc")
_MEMORY = ("memcpy", "memmove", "memset", "malloc", "free")
ALLOWED = frozenset({*_MEMORY, *_EXACT, *(f"{name}f" for name in _EXACT)})
"""What compiled code may ask of the process: of arithmetic what has one right result, and only
where the processor has no instruction for it."""


def load_object(
    code: bytes, names: Sequence[str], imports: Mapping[str, int] | None = None
) -> tuple[tuple[int, ...], object]:
    """Addresses of functions of an object, whose references are ``imports`` or symbols of this
    process.

    Only a few symbols of the process are allowed, so that nothing depends on what else is loaded.
    Every object becomes a library of its own, so equal symbols of two objects do not meet.  The
    second value keeps the code alive.

    Raises:
        InternalError: it refers to something else, or lacks one of ``names``.
    """
    imports = imports or {}
    unknown = undefined_symbols(code) - imports.keys() - ALLOWED
    if unknown:
        raise InternalError(f"compiled code refers to {', '.join(sorted(unknown))}")
    with LOCK:
        jit = _jit()
        builder = binding().JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in names:
            builder.export_symbol(name)
        try:
            library = builder.link(jit, f"heald_{next(_NUMBERS)}")
        except RuntimeError as error:
            raise InternalError(f"compiled code cannot be loaded: {error}") from error
        return tuple(library[name] for name in names), library


_NUMBERS = itertools.count()


@cache
def _jit() -> Any:
    return binding().create_lljit_compiler(create_machine(host_target()), use_jit_link=True)
