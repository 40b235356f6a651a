"""Threads that work together: what they leave, on every device alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from blocks.features import FEATURES, generic
from blocks.kernels import CASES, Case

import heald as wp
from heald.types import Array


def leave(case: Case, device: str) -> dict[str, Any]:
    """What a launch leaves in the arrays."""
    inputs: list[Any] = []
    held: dict[str, Any] = {}
    for (name, t), x in zip(case.kernel.parameters, case.arrays.values(), strict=True):
        if isinstance(t, Array):
            held[name] = wp.array(x, dtype=t.dtype, device=device)
        inputs.append(held.get(name, x))
    wp.launch(case.kernel, case.dim, inputs, device=device, block_dim=case.block_dim)
    return {name: a.numpy() for name, a in held.items()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["sim", "cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_what_numpy_says(name: str, device: str) -> None:
    case = CASES[name]
    if case.wanted is None:
        return
    found = leave(case, device)
    for key, wanted in case.wanted(**case.arrays).items():
        np.testing.assert_array_equal(found[key], wanted)


@pytest.mark.parametrize("name", [*CASES, *FEATURES])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_the_same_bits_as_in_the_interpreter(name: str, device: str) -> None:
    case = CASES.get(name) or FEATURES[name]
    wanted, found = leave(case, "sim"), leave(case, device)
    for key, x in wanted.items():
        assert found[key].tobytes() == x.tobytes(), key


@pytest.mark.parametrize("device", ["sim", "cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_generic_kernels(device: str) -> None:
    for dtype in (wp.int32, wp.float64, wp.vec3):
        x = wp.ones(40, dtype=dtype, device=device)
        y = wp.zeros_like(x)
        wp.launch(generic, 40, [x, y], device=device, block_dim=32)
        found = y.numpy().reshape(40, -1)
        assert (found[:32] == 31).all()
        assert (found[32:] == 7).all()


@wp.kernel
def counted_up(a: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(64, float, sync="auto")
    s[t] = 0.0
    n = 0
    while s[63] < 5.0:
        s[t] = s[t] + 1.0
        n += 1
    a[t] = float(n)


@pytest.mark.parametrize("device", ["sim", "cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_barriers_before_a_condition_is_asked_again(device: str) -> None:
    """The simulator would notice one that is missing."""
    a = wp.zeros(64, device=device)
    wp.launch(counted_up, dim=64, inputs=[a], device=device, block_dim=64)
    assert set(a.list()) == {5.0}
