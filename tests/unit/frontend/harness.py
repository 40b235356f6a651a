"""Kernels on the public surface: lowered, checked, run by the interpreter, or refused."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Sequence
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import CompileError, Diagnostic
from heald.driver import resolve
from heald.frontend import Options, lower_kernel, parameter_patterns
from heald.interp import ArrayView, Outcome, run
from heald.ir import Kernel, check, walk
from heald.ops import TABLE
from heald.types import Array, Type, usual_type

_CELLS = count(1)
assert wp.kernel  # the first public name loads the surface, `wp.types.vector` included


def cell(text: str, **given: Any) -> dict[str, Any]:
    """Run source text as a notebook does: the source can be read, no file holds it."""
    text = textwrap.dedent(text)
    file = f"<cell {next(_CELLS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"wp": wp, "__name__": file} | given
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def function_of(kernel: Any) -> FunctionType:
    """The Python function under ``@wp.kernel``."""
    function = getattr(kernel, "__wrapped__", kernel)
    assert isinstance(function, FunctionType)
    return function


def lower(kernel: Any, types: Sequence[Type] | None = None, **options: Any) -> Kernel:
    """The checked WIR of the front end; types of generic parameters must be given."""
    function = function_of(kernel)
    found = types or [usual_type(pattern) for _, pattern in parameter_patterns(function)]
    wir = lower_kernel(function, [t for t in found if t is not None], resolve, Options(**options))
    check(wir, TABLE)
    return wir


def launch(kernel: Any, dims: int | tuple[int, ...], *arguments: Any, **options: Any) -> Outcome:
    """Run a kernel in the interpreter; numpy arrays are written in place.

    An array may be given as ``(array, type)`` where numpy has no name for its element type.
    """
    wir = kernel if isinstance(kernel, Kernel) else lower(kernel, **options)
    given = []
    for parameter, argument in zip(wir.params, arguments, strict=True):
        t = parameter.type
        is_array = isinstance(argument, np.ndarray) and isinstance(t, Array)
        given.append(ArrayView.from_numpy(argument, t.dtype) if is_array else argument)
    return run(wir, (dims,) if isinstance(dims, int) else dims, given)


def refuse(kernel: Any, **options: Any) -> tuple[Diagnostic, ...]:
    """The diagnostics with which a kernel is refused."""
    with pytest.raises(CompileError) as caught:
        lower(kernel, **options)
    assert "InternalError" not in str(caught.value)
    return caught.value.diagnostics


def refuse_text(text: str, **given: Any) -> Diagnostic:
    """The one diagnostic with which the kernel ``k`` of a source text is refused."""
    (only,) = refuse(cell(text, **given)["k"])
    return only


def pointed_at(diagnostic: Diagnostic) -> str:
    """The characters under the carets."""
    span = diagnostic.span
    assert span is not None
    line = linecache.getline(span.file, span.line)
    return line[span.col : span.end_col if span.end_line == span.line else None].rstrip("\n")


def count_ops(wir: Kernel, *names: str) -> int:
    """How many ops of these names a kernel holds, regions included."""
    return sum(op.name in names for op in walk(wir.body))
