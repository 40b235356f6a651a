"""The guarded and unchecked variants that the table compares are what they say."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))  # benchmarks is no part of the package

import heald as wp
from benchmarks import kernels
from heald.ir import walk

pytestmark = pytest.mark.cpu


def guards(kernel):
    (program,) = kernel.programs()
    ops = walk(program.guarded(bounds=False).body)
    return sum(op.attrs.get("guard") is True for op in ops)


def launched(variant):
    kernel = variant(kernels.saxpy)
    x, y = wp.array(np.arange(100, dtype=np.float32)), wp.zeros(100)
    for _ in range(3):
        wp.launch(kernel, dim=100, inputs=[2.0, x, y])
    assert y.list() == [6.0 * i for i in range(100)]
    return kernel, x, y


def test_guarded_variant_keeps_every_guard_where_the_condition_holds():
    kernel, _, _ = launched(kernels.guarded_variant)
    assert guards(kernel) == 3
    (program,) = kernel.programs()
    assert all("dim" not in v.artifact.condition.describe(str) for v in variants(program))


def variants(program):
    found = list(program.compiled().values())
    assert found
    return found


def test_guarded_variant_still_faults():
    kernel, x, y = launched(kernels.guarded_variant)
    with pytest.raises(wp.OutOfBoundsError):
        wp.launch(kernel, dim=101, inputs=[2.0, x, y])


def test_unchecked_variant_has_no_guards():
    kernel, _, _ = launched(kernels.unchecked_variant)
    assert guards(kernel) == 0


def test_the_kernel_itself_runs_without_guards_where_its_condition_holds():
    wp.launch(kernels.saxpy, dim=8, inputs=[2.0, wp.zeros(8), wp.zeros(8)])
    (program,) = kernels.saxpy.programs()
    assert any("dim" in v.artifact.condition.describe(str) for v in variants(program))
