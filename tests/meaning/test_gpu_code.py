"""The code of random kernels for GPUs means what the interpreter does, here without a GPU.

``HEALD_MEANING_SEED`` sets the first seed, to run a failure again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from meaning.calls import check_calls
from meaning.checking import Case, case_of, variants
from meaning.gpu_code import ARCH, Grid, execute
from meaning.running import Mismatch, compare, interpret
from meaning.sources import generate
from meaning.test_random_sources import EACH, FIRST
from meaning.test_widened import is_apart, is_dense
from unit.passes.strided import strided_kernel, strided_launch

import heald as wp
from heald.codegen.body import parameter_leaves
from heald.codegen.loops import can_fault
from heald.diagnostics import HealdError
from heald.driver.choice import Choice
from heald.driver.compiler import widen_for_gpu
from heald.interp import ArrayView
from heald.ir import Kernel, parse, walk
from heald.ops import TABLE
from heald.passes import FRONT, SCALAR_CPU, analyse_intervals, guard, run_pipeline
from heald.passes.coarsen import coarsen
from heald.passes.layout import assume_apart, assume_unit
from heald.passes.loads_ahead import loads_ahead
from heald.passes.pipelines import AHEAD, TIDY, WARPS, WIDE_CPU
from heald.types import i32

pytestmark = pytest.mark.cpu
SPACING = 2
SCALAR_GPU = (*SCALAR_CPU, *AHEAD, *TIDY, *WARPS)
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


FEWER = """
kernel @k<1>(%a: array<i32,1>, %b: array<i32,1>, %c: array<i32,1>) {
  %i: i32 = tid [axis=0]
  %x: i32 = load %a, %i
  store %b, %i, %x
  %y: i32 = load %c, %i
  %less: b1 = icmp %x, %y [pred="slt"]
  if %less () {
    return
  } () {
    return
  }
  unreachable
}
"""


def test_threads_of_several_lanes_may_need_fewer_arguments() -> None:
    """What decides between two ways to return is gone from them."""
    front = run_pipeline(parse(FEWER, TABLE), FRONT, check=True)
    scalar = run_pipeline(guard(front), SCALAR_GPU, check=True)
    wide = coarsen(run_pipeline(scalar, WIDE_CPU, check=True))
    wide = replace(wide, attrs={**wide.attrs, "spacing": SPACING})
    assert len(parameter_leaves(wide)) < len(parameter_leaves(scalar))
    numbers = np.arange(36, dtype=np.int32)
    args = [
        ArrayView((numbers * n).view(np.uint8), 0, numbers.shape, numbers.strides, i32)
        for n in (1, 2, 3)
    ]
    expected = interpret(scalar, (36,), args)
    found = execute(scalar, (36,), args, wide=wide, grid=Grid(3, lanes=True))
    assert found is not None
    compare("fewer arguments", expected, found)


@wp.kernel
def count_all(c: wp.array(dtype=int)):
    i = wp.tid()  # noqa: F841
    wp.atomic_add(c, 0, 1)


@wp.kernel
def count_before(c: wp.array(dtype=int), d: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(c, 0, 1)
    if i < d[0]:
        return


@pytest.mark.parametrize("kernel", [count_all, count_before], ids=lambda kernel: kernel.key)
def test_threads_are_counted_whose_numbers_nobody_reads(kernel: wp.Kernel) -> None:
    """Nothing is left then that says how wide numbers are; ten blocks run of each launch."""
    program = kernel.program(kernel.concrete_types(), wide_index=True)
    scalar = program.lowered_for_gpu(Choice(), ARCH)
    wide = widen_for_gpu(scalar)
    for threads in (640, 2**31 + 5, 2**32 - 200, 2**32 - 1, 2**32, 2**32 + 5):
        args = [ArrayView(np.zeros(4, np.uint8), 0, (1,), (4,), i32) for _ in scalar.params]
        found = execute(scalar, (threads,), args, wide=wide, grid=Grid(part=(0, 10)))
        assert found is not None
        assert found.fault is None
        assert int.from_bytes(found.memory[0][:4], "little") == 640, threads


@wp.kernel
def mark_rows(rows: wp.array(dtype=int)):
    i, _ = wp.tid()
    wp.atomic_add(rows, i, 1)


@pytest.mark.parametrize("block", [64, 96, 1000, 1024])
@pytest.mark.parametrize("last", [65535, 65536, 65537])
def test_no_thread_runs_again_behind_the_last_one(block: int, last: int) -> None:
    """Numbers of threads of the last block may be too large for 32 bits."""
    scalar = mark_rows.program(mark_rows.concrete_types()).lowered_for_gpu(Choice(), ARCH)
    rows = 65536 if last < 65537 else 65535
    total = rows * last
    args = [ArrayView(np.zeros(4 * rows, np.uint8), 0, (rows,), (4,), i32)]
    found = execute(scalar, (rows, last), args, grid=Grid(block, part=(-2, -1)))
    assert found is not None
    counts = np.frombuffer(found.memory[0], np.int32)[:rows]
    assert counts[:-1].sum() == 0
    assert counts[-1] == total - (-(-total // block) - 1) * block


def test_calls_that_do_not_fit_are_told() -> None:
    function = "define internal i1 @f(i64 %x, <2 x i32> %y, ptr %p) #0 {\n  ret i1 true\n}\n"
    good = "  %r = call i1 @f(i64 1, <2 x i32> <i32 0, i32 1>, ptr null)\n"
    check_calls(function + good)
    check_calls("declare i1 @f(i64, <2 x i32>, ptr) #1\n" + good)
    for bad in ("i64 1, ptr null", "i32 1, <2 x i32> zeroinitializer, ptr null"):
        with pytest.raises(AssertionError, match="called as"):
            check_calls(f"{function}  %r = call i1 @f({bad})\n")
    with pytest.raises(AssertionError, match="called as"):
        check_calls(function + good.replace("i1", "i8"))
    with pytest.raises(AssertionError, match="called as"):
        check_calls("declare i1 @f(i64, ptr)\n" + good)
