"""The front pipeline, and what the analysis says of what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heald.artifact import LaunchCondition
from heald.config import config
from heald.driver.tracing import trace
from heald.ir import Kernel, check, code_hash, dump_kernels, load_kernels
from heald.ops import TABLE
from heald.passes import FRONT, Verdict, analyse_intervals, run_pipeline
from heald.passes.layout import apart_condition, unit_condition
from heald.passes.place_barriers import place_barriers
from heald.passes.refuse_divergence import refuse_divergence


@dataclass(frozen=True, slots=True)
class Front:
    """A kernel after the front pipeline; see ``driver.analysed`` for what the rest means."""

    kernel: Kernel
    condition: LaunchCondition
    layout: LaunchCondition
    apart: LaunchCondition
    verdicts: Mapping[int, Verdict]


def structured(wir: Kernel) -> Kernel:
    """What the front end made, whose structure is checked where checks are on."""
    if config.check:
        check(wir, TABLE)
    return wir


def run_front(wir: Kernel) -> Kernel:
    """A function after the passes that calls from the host need, too."""
    return run_pipeline(wir, FRONT, check=config.check, trace=trace())


def front_of(wir: Kernel) -> Front:
    """Run the front pipeline and the analysis on a kernel.

    Raises:
        CompileError: some threads of every block miss a barrier (H0408).
    """
    kernel = run_front(wir)
    refuse_divergence(kernel)
    placed = run_pipeline(kernel, (place_barriers,), check=config.check, trace=trace())
    if placed is not kernel:
        refuse_divergence(placed, placed=True)
    kernel = placed
    intervals = analyse_intervals(kernel)
    conditions = intervals.conditional, unit_condition(kernel), apart_condition(kernel)
    return Front(kernel, *conditions, intervals.verdicts(kernel))


def verdicts_of(kernel: Kernel) -> Mapping[int, Verdict]:
    """What is proved of each obligation of such a kernel, by op id."""
    return analyse_intervals(kernel).verdicts(kernel)


def packed(kernel: Kernel) -> bytes:
    """A kernel in its file form."""
    return dump_kernels([kernel], metadata={})


def unpacked(data: bytes) -> Kernel:
    """The kernel of :func:`packed`."""
    (kernel,) = load_kernels(data, TABLE).kernels
    return kernel


def content_of(kernel: Kernel) -> str:
    """The hash of a kernel without places and names."""
    return code_hash(kernel)
