"""Random kernels mean the same before and after every pass and pipeline."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import kernels
from unit.passes.indexing import a_launch, indexing_kernel
from unit.passes.launches import (
    assert_same,
    launches_of,
    observe,
    random_arguments,
    reads_nan_bits,
)
from unit.passes.structured import structured_kernel

from heald.ir import Kernel, walk
from heald.passes import (
    FRONT,
    NORMAL,
    SCALAR_CPU,
    drop_dead,
    eliminate_common_subexpressions,
    fold_constants,
    forward_copies,
    guard,
    hoist_loop_invariants,
    normalise_exits,
    prune_carried,
    run_pipeline,
    scalarise,
    unroll_loops,
)
from heald.passes.hoist_guards import hoist_guards

EXACT = (
    eliminate_common_subexpressions,
    forward_copies,
    hoist_guards,
    hoist_loop_invariants,
    normalise_exits,
    scalarise,
)
"""Passes that keep every fault as it was; the others may delete an access with its fault."""
OTHERS = (drop_dead, fold_constants, prune_carried, unroll_loops)
SEEDS = range(60)


def front_then(pipeline: tuple[Callable[[Kernel], Kernel], ...], kernel: Kernel) -> Kernel:
    return run_pipeline(guard(run_pipeline(kernel, FRONT, check=True)), pipeline, check=True)


PIPELINES = {
    "front": partial(run_pipeline, passes=FRONT, check=True),
    "scalar_cpu": partial(front_then, SCALAR_CPU),
    "normal": partial(front_then, NORMAL),
}
quick = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@pytest.mark.parametrize("function", EXACT)
@quick
@given(kernel=kernels(), seed=st.integers(0, 999))
def test_exact_passes_keep_memory_and_faults(function, kernel, seed):
    assume(not reads_nan_bits(kernel))
    kernel = guard(kernel)
    assert_same(kernel, function(kernel), launches_of(kernel, seed), same_faults=True)


@pytest.mark.parametrize("function", OTHERS)
@quick
@given(kernel=kernels(), seed=st.integers(0, 999))
def test_other_passes_keep_launches_that_do_not_fault(function, kernel, seed):
    assume(not reads_nan_bits(kernel))
    assert_same(kernel, function(kernel), launches_of(kernel, seed))


@pytest.mark.parametrize("name", PIPELINES)
@quick
@given(kernel=kernels(faults=False, size=40), seed=st.integers(0, 999))
def test_pipelines_keep_bits(name, kernel, seed):
    assume(not reads_nan_bits(kernel))
    assert_same(kernel, PIPELINES[name](kernel), launches_of(kernel, seed))


@quick
@given(kernel=kernels(function=True), seed=st.integers(0, 999))
def test_pipelines_keep_results_of_functions(kernel, seed):
    assume(not reads_nan_bits(kernel))
    for pipeline in PIPELINES.values():
        assert_same(kernel, pipeline(kernel), [((1,), random_arguments(kernel, 4, seed))])


@pytest.mark.parametrize("name", [*PIPELINES, *(f.__name__ for f in (*EXACT, *OTHERS))])
def test_control_flow_keeps_its_meaning(name):
    functions = {f.__name__: f for f in (*EXACT, *OTHERS)} | PIPELINES
    seen: set[str] = set()
    for seed in SEEDS:
        kernel = structured_kernel(seed)
        seen.update(op.name for op in walk(kernel.body))
        launches = [((9,), random_arguments(kernel, 9, seed))]
        assert_same(kernel, functions[name](kernel), launches)
    assert {"for", "while", "scope", "if", "break", "continue", "return"} <= seen


@pytest.mark.parametrize("function", [*EXACT, *OTHERS])
def test_index_arithmetic_keeps_its_meaning(function):
    """Loops and divisions at the ends of their types, steps and divisors of zero."""
    faults = 0
    for seed in SEEDS:
        kernel = guard(indexing_kernel(seed))
        rng = random.Random(seed)
        launches = [a_launch(rng) for _ in range(2)]
        faults += sum(bool(observe(kernel, *launch).faults) for launch in launches)
        assert_same(kernel, function(kernel), launches, same_faults=function in EXACT)
    assert faults > 10


@pytest.mark.parametrize("function", [*EXACT, *OTHERS])
@given(kernel=kernels(spans=True))
def test_spans_of_what_stays_are_kept(function, kernel):
    before = {op.span for op in walk(kernel.body)}
    assert {op.span for op in walk(function(kernel).body)} <= before | {None}


@given(kernel=kernels())
def test_passes_reach_a_fixed_point_soon(kernel):
    for function in (eliminate_common_subexpressions, drop_dead, prune_carried):
        once = function(kernel)
        assert function(once) is once
