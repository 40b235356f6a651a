"""The code of random kernels for GPUs means what the interpreter does, here without a GPU.

``HEALD_MEANING_SEED`` sets the first seed, to run a failure again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from meaning.checking import Case, case_of, variants
from meaning.gpu_code import Grid, execute
from meaning.running import Mismatch, compare, interpret
from meaning.sources import generate
from meaning.test_random_sources import EACH, FIRST
from meaning.test_widened import is_apart, is_dense
from unit.passes.strided import strided_kernel, strided_launch

from heald.codegen.loops import can_fault
from heald.diagnostics import HealdError
from heald.ir import Kernel, walk
from heald.passes import FRONT, SCALAR_CPU, analyse_intervals, guard, run_pipeline
from heald.passes.coarsen import coarsen
from heald.passes.layout import assume_apart, assume_unit
from heald.passes.loads_ahead import loads_ahead
from heald.passes.pipelines import AHEAD, TIDY, WIDE_CPU

pytestmark = pytest.mark.cpu
SPACING = 2
SCALAR_GPU = (*SCALAR_CPU, *AHEAD, *TIDY)
STRIDED = 40


def forms(case: Case) -> Iterator[tuple[str, Kernel, Kernel]]:
    """Each variant that fits the launch: its name, its scalar form and its coarsened one."""
    front = run_pipeline(case.kernel, FRONT, check=True)
    for name, guarded in variants(front, case.dims, case.args):
        for unit, apart in dict.fromkeys([(False, is_apart(case)), (is_dense(case), False)]):
            kernel = assume_unit(guarded) if unit else guarded
            kernel = assume_apart(kernel) if apart else kernel
            scalar = run_pipeline(kernel, SCALAR_GPU, check=True)
            wide = coarsen(run_pipeline(scalar, WIDE_CPU, check=True))
            if "spacing" in wide.attrs:  # launches are small here
                wide = replace(wide, attrs={**wide.attrs, "spacing": SPACING})
            yield f"{name}{' unit' * unit}{' apart' * apart}", scalar, wide


def examine(case: Case) -> int:
    """Raise where the code of a variant differs; gives how many launches took several lanes."""
    count = 0
    for name, scalar, wide in forms(case):
        expected = interpret(scalar, case.dims, case.args)
        for grid in (Grid(), Grid(3, lanes=True)):
            found = execute(scalar, case.dims, case.args, wide=wide, grid=grid)
            if found is None:
                continue
            count += grid.lanes
            compare(f"{name} {grid}", expected, found, printed=False)
    return count


@pytest.mark.parametrize("share", range(5))
def test_code_for_gpus_leaves_the_same_bits(share: int) -> None:
    for number in range(EACH):
        seed = FIRST + share * EACH + number
        case = case_of(generate(seed), seed, scale=3)
        try:
            examine(case)
        except Mismatch as error:
            pytest.fail(f"HEALD_MEANING_SEED={seed}\n{case.text}\n{error}", pytrace=False)


def test_iterations_that_load_together_leave_the_same_bits() -> None:
    """Faults too, and what is left where a thread had faulted before the loop."""
    together = ended = 0
    for seed in range(STRIDED):
        front = strided_kernel(seed)
        verdicts = analyse_intervals(front).verdicts(front) if seed % 2 else {}
        kernel = run_pipeline(guard(front, proofs=verdicts), SCALAR_GPU, check=True)
        loops = [op for op in walk(kernel.body) if op.name == "for"]
        together += any(loads_ahead(op) and not can_fault(op) for op in loops)
        for number in range(3):
            dims, args = strided_launch(kernel, 3 * seed + number, long=False)
            try:
                expected = interpret(kernel, dims, args, fuel=200)
            except HealdError as error:
                if error.codes != ("H0708",):  # millions of iterations
                    raise
                continue
            ended += 1
            found = execute(kernel, dims, args)
            assert found is not None
            compare(f"seed {seed}, launch {number}", expected, found)
    assert together > STRIDED // 3
    assert ended > STRIDED
