"""Kernels leave the same bits behind on a GPU, on a CPU and in the interpreter."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from gpu import support
from meaning.checking import case_of, variants
from meaning.running import compare, execute, interpret
from meaning.sources import generate
from meaning.test_corpus import NAMES, _host_struct, load
from meaning.test_gpu_code import forms
from meaning.test_indexed_sources import indexed_case

import heald as wp
from heald.codegen.nvptx import lanes_of
from heald.ir import Kernel
from heald.passes import FRONT, SCALAR_CPU, run_pipeline
from heald.passes.layout import assume_unit, unit_condition
from heald.types import Array, Struct

pytestmark = pytest.mark.gpu
SHARES = 20
EACH = 15
FIRST = int(os.environ.get("HEALD_MEANING_SEED", "0"))


def check_everywhere(
    kernel: Kernel, dims: tuple[int, ...], args: list[Any], block_dim: int = 64
) -> None:
    front = run_pipeline(kernel, FRONT, check=False)
    for name, guarded in variants(front, dims, args):
        lowered = run_pipeline(guarded, SCALAR_CPU, check=False)
        expected = interpret(lowered, dims, args)
        found = support.execute(lowered, dims, args, block_dim=block_dim)
        compare(f"{name} gpu", expected, found)
        compare(f"{name} gpu and cpu", execute(lowered, dims, args), found)


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus(name: str) -> None:
    loaded = load(name)
    kernel = loaded.kernel()
    check_everywhere(kernel, loaded.dims, loaded.views(kernel))


@pytest.mark.parametrize("name", NAMES)
def test_dense_arrays_change_nothing(name: str) -> None:
    loaded = load(name)
    kernel = run_pipeline(loaded.kernel(), FRONT, check=False)
    if not unit_condition(kernel).clauses:
        return
    args = loaded.views(kernel)
    for variant, guarded in variants(kernel, loaded.dims, args):
        lowered = run_pipeline(assume_unit(guarded), SCALAR_CPU, check=False)
        compare(
            variant,
            interpret(lowered, loaded.dims, args),
            support.execute(lowered, loaded.dims, args),
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_launch_is_right(name: str) -> None:
    loaded = load(name)
    kernel = loaded.module.kernel
    inputs: list[Any] = []
    arrays: dict[str, Any] = {}
    for (key, t), x in zip(kernel.parameters, loaded.arguments.values(), strict=True):
        if isinstance(t, Array):
            arrays[key] = wp.array(x, dtype=t.dtype, device="cuda:0")
            inputs.append(arrays[key])
        else:
            inputs.append(_host_struct(loaded.module, t, x) if isinstance(t, Struct) else x)
    wp.launch(kernel, dim=loaded.module.DIM, inputs=inputs, device="cuda:0")
    for key in loaded.wanted:
        loaded.check(key, arrays[key].numpy())


@pytest.mark.parametrize("share", range(SHARES))
def test_random_kernels(share: int) -> None:
    for number in range(EACH):
        seed = FIRST + share * EACH + number
        case = case_of(generate(seed), seed)
        try:
            check_everywhere(case.kernel, case.dims, case.args)
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}\n\n{case.text}", pytrace=False)


@pytest.mark.parametrize("seed", range(20))
def test_random_kernels_of_many_threads(seed: int) -> None:
    case = case_of(generate(seed), seed, scale=150)
    check_everywhere(
        case.kernel, case.dims, case.args, block_dim=int(np.array([33, 128])[seed % 2])
    )


@pytest.mark.parametrize("share", range(4))
def test_random_kernels_of_several_lanes(share: int) -> None:
    count = 0
    for number in range(2 * EACH):
        seed = FIRST + share * 2 * EACH + number
        case = case_of(generate(seed), seed, scale=3)
        for name, scalar, wide in forms(case):
            if lanes_of(scalar, wide) is None:
                continue
            found = support.execute(scalar, case.dims, case.args, wide=wide)
            try:
                compare(f"{name} gpu", interpret(scalar, case.dims, case.args), found)
            except AssertionError as error:
                pytest.fail(f"seed {seed}: {error}\n\n{case.text}", pytrace=False)
            count += 1
    assert count


@pytest.mark.parametrize("share", range(4))
def test_random_kernels_of_indexed_arrays(share: int) -> None:
    for number in range(EACH):
        seed = FIRST + share * EACH + number
        random = np.random.default_rng(seed)
        case, _ = indexed_case(case_of(generate(seed), seed, scale=3), seed, random)
        try:
            check_everywhere(case.kernel, case.dims, case.args)
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}\n\n{case.text}", pytrace=False)
