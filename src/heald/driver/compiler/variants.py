"""Variants of a program: the forms that their code is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from heald.artifact import Artifact, LaunchCondition
from heald.codegen import build, host_target
from heald.config import config
from heald.driver.choice import Choice
from heald.driver.tracing import trace
from heald.ir import LOOPS, Kernel, walk
from heald.passes import Pass, Verdict, guard, normalise_exits, run_pipeline
from heald.passes.coalesce import coalesce
from heald.passes.coarsen import coarsen
from heald.passes.contracts import settle_contracts
from heald.passes.layout import assume_apart, assume_unit
from heald.passes.meetings import shares_block
from heald.passes.own_updates import own_updates
from heald.passes.pipelines import AHEAD, BLOCKS, EXPAND, PHASES, TIDY, WARPS
from heald.passes.warp_reduce import warp_reduce
from heald.passes.widen_phases import widen_phases

_REDUCES = 80
"""The first architecture whose warps add up integers in one instruction."""


def guarded(
    kernel: Kernel,
    proofs: Mapping[int, Verdict],
    *,
    bounds: bool,
    safety: str,
    check_contracts: bool,
) -> Kernel:
    """A kernel of the front pipeline with guards decided."""
    decided = guard(kernel, proofs=proofs, bounds=bounds, safety=safety)
    return settle_contracts(decided, check=check_contracts)


def assume(kernel: Kernel, choice: Choice) -> Kernel:
    """A guarded kernel for arrays that lie as ``choice`` says."""
    kernel = assume_unit(kernel) if choice.unit else kernel
    return assume_apart(kernel) if choice.apart else kernel


def _tidied(before: Kernel, passes: Sequence[Pass], *, was_tidy: bool = True) -> Kernel:
    """A kernel after passes, tidied up unless it was tidy and they leave it as it is."""
    kernel = run_pipeline(before, passes, check=config.check, trace=trace())
    if kernel is before and was_tidy:
        return kernel
    return run_pipeline(kernel, TIDY, check=config.check, trace=trace())


def _lower(kernel: Kernel) -> Kernel:
    """A guarded kernel as scalar code generators take it."""
    # What was hoisted out of loops last may stand there twice; everything else is tidy.
    has_loop = any(op.name in LOOPS for op in walk(kernel.body))
    kernel = _tidied(kernel, EXPAND, was_tidy=not has_loop)
    if shares_block(kernel):
        kernel = run_pipeline(kernel, BLOCKS, check=config.check, trace=trace())
    return kernel


def lower_for_cpu(kernel: Kernel) -> Kernel:
    """A guarded kernel as the scalar code generator takes it for a CPU, where updates of what
    belongs to one thread take no atomics."""
    lowered = _lower(kernel)
    if shares_block(kernel):
        return lowered
    return run_pipeline(lowered, (own_updates,), check=config.check, trace=trace())


def widen(lowered: Kernel) -> Kernel:
    """A lowered kernel as the code generator for vectors takes it, with the width chosen."""
    kernel = _tidied(lowered, (normalise_exits,))
    return coalesce(kernel, vector_bytes=host_target().vector_bytes)


def lower_for_gpu(kernel: Kernel, arch: str, *, floats: bool = False) -> Kernel:
    """A guarded kernel as the scalar code generator takes it for a GPU, such as ``sm_90``.

    ``floats`` says that the threads of a warp may add up floats too (pass ``warp_reduce``).
    """
    kernel = _tidied(_lower(kernel), AHEAD)
    if int(arch.removeprefix("sm_").rstrip("a")) >= _REDUCES:
        passes = (partial(warp_reduce, floats=True),) if floats else WARPS
        kernel = run_pipeline(kernel, passes, check=config.check, trace=trace())
    return kernel


def widen_for_gpu(lowered: Kernel) -> Kernel:
    """A lowered kernel as the code generator for GPUs takes it beside the scalar form."""
    return coarsen(_tidied(lowered, (normalise_exits,)))


def compile_variant(lowered: Kernel, condition: LaunchCondition) -> Artifact:
    """Machine code of a lowered kernel for launches that fulfil ``condition``.

    Raises:
        CompileError: the kernel uses what CPUs do not have.
        DeviceError: this processor is not supported.
    """
    if shares_block(lowered):
        target = host_target()
        widening = partial(widen_phases, vector_bytes=target.vector_bytes)
        blocks = run_pipeline(lowered, (*PHASES, widening), check=config.check, trace=trace())
        return build(lowered, target, blocks=blocks, condition=condition)
    return build(lowered, host_target(), wide=widen(lowered), condition=condition)
