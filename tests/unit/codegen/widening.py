"""Running the widened form of a kernel beside the scalar one and the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from unit.codegen.harness import Launch
from unit.codegen.test_random import Memory, bytes_after

from heald.artifact import Fault
from heald.interp import run as interpret
from heald.ir import Kernel
from heald.passes import NORMAL, SCALAR_CPU, guard, run_pipeline
from heald.passes.coalesce import coalesce, refusal


@dataclass(frozen=True)
class Forms:
    """A kernel with its guards, as the scalar and as the widened code generator take it."""

    guarded: Kernel
    scalar: Kernel
    wide: Kernel

    @property
    def width(self) -> int:
        width = self.wide.attrs["width"]
        assert isinstance(width, int)
        return width


def widen(
    kernel: Kernel, *, width: int | None = None, unit: bool = False, guards: bool = True
) -> Forms:
    """All forms; with ``width`` widened by force where that is legal, whether it pays or not."""
    guarded = guard(kernel, safety="guarded" if guards else "unchecked")
    guarded = replace(guarded, attrs={**guarded.attrs, "unit": unit})
    scalar = run_pipeline(guarded, SCALAR_CPU, check=True)
    wide = coalesce(run_pipeline(scalar, NORMAL, check=True), vector_bytes=32)
    if width is not None:
        reason = str(wide.attrs.get("scalar", ""))
        legal = not reason or "scattered" in reason
        wide = replace(wide, attrs={**wide.attrs, "width": width if legal else 1})
    return Forms(guarded, scalar, wide)


def launch(
    forms: Forms, dims: Sequence[int], args: Sequence[Any], cuts: Sequence[int] = ()
) -> Fault | None:
    """Run the widened form, cut into pieces."""
    given = [a.array() if isinstance(a, Memory) else a for a in args]
    one = Launch(forms.scalar, dims, given, wide=forms.wide)
    borders = [0, *cuts, one.total]
    for low, high in zip(borders, borders[1:], strict=False):
        one.run(low, high)
    return one.result().fault


def launch_scalar(forms: Forms, dims: Sequence[int], args: Sequence[Any]) -> Fault | None:
    """Run the scalar form."""
    given = [a.array() if isinstance(a, Memory) else a for a in args]
    one = Launch(forms.scalar, dims, given)
    one.run()
    return one.result().fault


def launch_interpreter(forms: Forms, dims: Sequence[int], args: Sequence[Any]) -> Fault | None:
    """Run the definition."""
    given = [a.view() if isinstance(a, Memory) else a for a in args]
    outcome = interpret(forms.scalar, tuple(dims), given)
    return outcome.faults[0] if outcome.faults else None


__all__ = ["Forms", "Memory", "bytes_after", "launch", "launch_interpreter", "launch_scalar", "np",
           "refusal", "widen"]
