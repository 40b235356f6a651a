"""What the interval analysis calls proved never fails, whatever the launch.

The interpreter checks every access, also one without a guard, and says so when such a one fails.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import kernels
from unit.passes.indexing import a_launch, indexing_kernel
from unit.passes.launches import Launch, random_arguments

from heald.artifact import Symbol
from heald.diagnostics import HealdError, InternalError
from heald.interp import run
from heald.ir import OBLIGATIONS, Kernel, op_ids, walk
from heald.passes import FRONT, Verdict, analyse_intervals, guard, run_pipeline

SEEDS = range(120)


def looked_up(symbol: Symbol, dims: tuple[int, ...], arguments: list[Any]) -> int:
    if symbol.kind == "dim":
        return dims[symbol.axis]
    argument = arguments[symbol.parameter]
    if isinstance(argument, tuple):
        argument = argument[symbol.leaf]
    return argument.shape[symbol.axis] if symbol.kind == "shape" else int(argument)


def launch_checked(kernel: Kernel, dims: tuple[int, ...], arguments: list[Any]) -> None:
    """Run; a kernel that does not end is no matter here."""
    try:
        run(kernel, dims, arguments, fuel=20_000)
    except InternalError:
        raise
    except HealdError as error:
        if error.codes != ("H0708",):
            raise


def try_kernel(kernel: Kernel, launches: list[Launch]) -> tuple[int, int]:
    """Run both variants where they may run; gives how many launches fulfilled the condition."""
    found = analyse_intervals(kernel)
    proofs = found.verdicts(kernel)
    always = guard(kernel, proofs=proofs)
    under = guard(kernel, proofs=proofs, bounds=True)
    fulfilled = 0
    for dims, arguments in launches:
        launch_checked(always, dims, arguments)
        if found.conditional.holds(lambda s, d=dims, a=arguments: looked_up(s, d, a)):
            launch_checked(under, dims, arguments)
            fulfilled += bool(found.proved_under)
    return len(proofs), fulfilled


def test_proved_accesses_of_index_kernels_never_fail():
    obligations = proofs = fulfilled = 0
    for seed in SEEDS:
        kernel = indexing_kernel(seed)
        if seed % 3 == 0:
            kernel = run_pipeline(kernel, FRONT, check=True)
        rng = random.Random(seed)
        obligations += sum(op.name in OBLIGATIONS for op in walk(kernel.body))
        found, holding = try_kernel(kernel, [a_launch(rng) for _ in range(5)])
        proofs += found
        fulfilled += holding
    assert proofs > 0.5 * obligations  # else this says nothing
    assert fulfilled > len(SEEDS) // 4


def test_a_wrong_proof_would_be_seen():
    seen = 0
    for seed in SEEDS[:30]:
        kernel = indexing_kernel(seed)
        wrong = guard(kernel, proofs=dict.fromkeys(op_ids(kernel).values(), Verdict.PROVED))
        rng = random.Random(seed)
        try:
            for _ in range(5):
                launch_checked(wrong, *a_launch(rng))
        except InternalError:
            seen += 1
    assert seen > 15


@given(kernel=kernels(faults=True, composites=False), seed=st.integers(0, 999))
def test_proved_accesses_of_random_kernels_never_fail(kernel, seed):
    launches = [
        ((dim,) * max(1, kernel.rank), random_arguments(kernel, extent, seed))
        for dim, extent in ((1, 0), (3, 3), (5, 2), (4, 7))
    ]
    try_kernel(kernel, launches)


@pytest.mark.parametrize("seed", [191, 1178])
def test_kernels_that_took_long(seed):
    kernel = indexing_kernel(seed)
    rng = random.Random(seed)
    try_kernel(kernel, [a_launch(rng) for _ in range(5)])
