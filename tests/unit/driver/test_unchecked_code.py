"""Where its launch condition holds, a guarded kernel has the code of an unchecked one."""

from __future__ import annotations

import pytest

import heald as wp
from heald.driver import dump


def kernels(safety: str) -> dict[str, wp.Kernel]:
    """Kernels all of whose accesses are proved under a launch condition."""

    @wp.kernel(safety=safety)
    def saxpy(s: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = s * x[i] + y[i]

    @wp.kernel(safety=safety)
    def star(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float)):
        i, j = wp.tid()
        if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
            v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]

    @wp.kernel(safety=safety)
    def matvec(m: wp.array2d(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        total = 0.0
        for k in range(x.shape[0]):
            total += m[i, k] * x[k]
        y[i] = total

    @wp.kernel(safety=safety)
    def count(x: wp.array(dtype=wp.vec3), bins: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(bins, 0, wp.where(wp.length(x[i]) > 1.0, 1, 0))

    return {kernel.key: kernel for kernel in (saxpy, star, matvec, count)}


def code(kernel: wp.Kernel, *, bounds: bool) -> str:
    return dump(kernel.program(kernel.concrete_types()), "asm", bounds=bounds)


@pytest.mark.parametrize("name", kernels("guarded"))
def test_a_true_condition_leaves_no_trace_of_guards(name: str) -> None:
    guarded, unchecked = kernels("guarded")[name], kernels("unchecked")[name]
    bare = code(unchecked, bounds=False)
    assert code(guarded, bounds=True) == bare
    assert code(guarded, bounds=False) != bare
