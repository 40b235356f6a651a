"""Running the widened form of a kernel beside the definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from unit.codegen.harness import Launch

from heald.artifact import Fault
from heald.interp import ArrayView
from heald.interp import run as interpret
from heald.ir import Kernel
from heald.passes import NORMAL, SCALAR_CPU, guard, run_pipeline
from heald.passes.coalesce import coalesce
from heald.passes.layout import assume_apart, assume_unit
from heald.runtime import byte_span, memory_bytes
from heald.types import Array, Type, size_of

WIDTH = 8


@dataclass(frozen=True)
class Forms:
    """A kernel with its guards, as the scalar and as the widened code generator take it."""

    scalar: Kernel
    wide: Kernel

    @property
    def width(self) -> int:
        width = self.wide.attrs["width"]
        assert isinstance(width, int)
        return width


def widen(
    kernel: Kernel,
    *,
    width: int | None = WIDTH,
    vectors: int = 1,
    unit: bool = False,
    apart: bool = False,
    safety: str = "guarded",
) -> Forms:
    """Both forms; with ``width`` widened by force where that is legal, whether it pays or not,
    to lanes of so many ``vectors``."""
    guarded = guard(kernel, safety=safety)
    guarded = assume_unit(guarded) if unit else guarded
    guarded = assume_apart(guarded) if apart else guarded
    scalar = run_pipeline(guarded, SCALAR_CPU, check=True)
    wide = coalesce(run_pipeline(scalar, NORMAL, check=True), vector_bytes=32)
    if width is not None:
        reason = str(wide.attrs.get("scalar", ""))
        legal = not reason or "scattered" in reason
        wide = replace(
            wide, attrs={**wide.attrs, "width": width if legal else 1, "vectors": vectors}
        )
    return Forms(scalar, wide)


def launch(
    forms: Forms,
    dims: Sequence[int],
    args: Sequence[Any],
    cuts: Sequence[int] = (),
    **options: Any,
) -> Fault | None:
    """Run the widened form, in pieces that end at ``cuts``."""
    one = Launch(forms.scalar, dims, args, wide=forms.wide, **options)
    for low, high in pairwise([0, *cuts, one.total]):
        one.run(low, high)
    return one.result().fault


def define(
    kernel: Kernel, dims: Sequence[int], args: Sequence[Any], **options: Any
) -> Fault | None:
    """Run the interpreter."""
    given = [_datum(p.type, arg) for p, arg in zip(kernel.params, args, strict=True)]
    outcome = interpret(kernel, tuple(dims), given, **options)
    return outcome.faults[0] if outcome.faults else None


def _datum(t: Type, arg: Any) -> Any:
    if not isinstance(t, Array):
        return arg
    shape, strides, size = arg.shape[: t.ndim], arg.strides[: t.ndim], size_of(t.dtype)
    low, high = byte_span(shape, strides, size)
    if low == high:
        return ArrayView.allocate(t.dtype, shape)
    memory = memory_bytes(arg.ctypes.data + low, high - low, arg)
    return ArrayView(memory, -low, shape, strides, t.dtype)


def agree(
    kernel: Kernel,
    make: Callable[[int], Sequence[Any]],
    *,
    counts: Sequence[int] = (1, 7, 8, 9, 17, 24),
    units: Sequence[bool] = (False, True),
    width: int = WIDTH,
    vectors: int = 1,
    safety: str = "guarded",
    same_memory: bool = True,
) -> None:
    """Widened code leaves what the interpreter leaves, and reports the same fault.

    ``make(n)`` makes the arguments for n threads, the same each time.  Without ``same_memory``
    threads that faulted may have written more or less.
    """
    for unit in units:
        forms = widen(kernel, width=width, vectors=vectors, unit=unit, safety=safety)
        assert forms.width == width, forms.wide.attrs["scalar"]
        for count in counts:
            expected, found = make(count), make(count)
            told = define(forms.scalar, (count,), expected)
            assert launch(forms, (count,), found) == told, (unit, count)
            if same_memory or told is None:
                assert_equal(expected, found, f"unit={unit}, {count} threads")


def assert_equal(expected: Sequence[Any], found: Sequence[Any], where: str = "") -> None:
    """All arrays hold the same bits; NaN is NaN."""
    for n, (one, other) in enumerate(zip(expected, found, strict=True)):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(_plain(one), _plain(other), f"argument {n}, {where}")


def _plain(array: np.ndarray) -> np.ndarray:
    """The bits of an array, with one NaN for all."""
    copy = np.array(array)
    if copy.dtype.kind == "f":
        copy[np.isnan(copy)] = np.nan
    return copy.view(f"u{copy.dtype.itemsize}") if copy.dtype.kind in "fiu" else copy
