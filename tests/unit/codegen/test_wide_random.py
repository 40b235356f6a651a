"""Random kernels widened to 4 up to 32 lanes: memory and faults of the interpreter."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from strategies import kernels
from unit.codegen.harness import compiled
from unit.codegen.test_random import (
    SEEDS,
    Memory,
    argument,
    as_carrier,
    bytes_after,
    copied,
    number,
)
from unit.codegen.widening import launch, widen
from unit.passes.structured import structured_kernel

from heald.artifact import Fault
from heald.interp import run
from heald.ir import Kernel, to_text
from heald.types import Array, Type, leaves, numpy_dtype

pytestmark = pytest.mark.cpu


class Dense(Memory):
    """Elements follow each other along the last axis; rows may lie apart."""

    def __init__(self, t: Array, shape: tuple[int, ...], random: np.random.Generator) -> None:
        size = numpy_dtype(t.dtype).itemsize
        strides, step = [], size
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
            step += size * int(random.integers(0, 3))
        self.strides = tuple(reversed(strides))
        self.offset, self.shape, self.dtype = 16, shape, t.dtype
        self.bytes = np.full(step + 48, 0xA5, np.uint8)
        for k, leaf in enumerate(leaves(t.dtype)):
            cells = self.view().leaf(k)
            for at in np.ndindex(cells.shape):
                cells[at] = as_carrier(leaf, number(leaf, random))


@dataclass(frozen=True)
class Way:
    """How a kernel is widened and launched."""

    unit: bool
    apart: bool
    width: int
    vectors: int
    threads: int
    seed: int

    def arguments(self, kernel: Kernel, dims: tuple[int, ...]) -> list[Any]:
        random = np.random.default_rng(self.seed)
        return [self._argument(p.type, dims, random) for p in kernel.params]

    def _argument(self, t: Type, dims: tuple[int, ...], random: np.random.Generator) -> Any:
        if isinstance(t, Array):
            shape = (*dims, *(4,) * (t.ndim - len(dims)))[: t.ndim]
            return (Dense if self.unit else Memory)(t, shape, random)
        return argument(t, dims, random)


WAYS = st.builds(
    Way,
    st.booleans(),
    st.booleans(),
    st.sampled_from([4, 8, 16, 32]),
    st.sampled_from([1, 2]),
    st.integers(4, 70),
    SEEDS,
)


def interpret(kernel: Kernel, dims: tuple[int, ...], args: list[Any]) -> Fault | None:
    given_ = [a.view() if isinstance(a, Memory) else a for a in args]
    outcome = run(kernel, dims, given_)
    return outcome.faults[0] if outcome.faults else None


def compare(kernel: Kernel, way: Way) -> None:
    note(to_text(kernel))
    dims = (way.threads,) if kernel.rank == 1 else (4, way.threads)
    forms = widen(
        kernel,
        width=way.width,
        vectors=min(way.vectors, way.width // 4),
        unit=way.unit,
        apart=way.apart,
    )
    expected = way.arguments(kernel, dims)
    found, pruned = copied(expected), copied(expected)
    fault = interpret(forms.scalar, dims, expected)
    # What the widened form drops as dead may have been all that faulted.
    assume(interpret(forms.wide, dims, pruned) == fault)
    given_ = [a.array() if isinstance(a, Memory) else a for a in found]
    told = launch(forms, dims, given_, [way.seed % way.threads])
    compiled.cache_clear()
    assert told == fault
    if fault is None:  # threads that faulted may have written more or less
        assert bytes_after(found) == bytes_after(expected)


@given(st.sampled_from([1, 2]).flatmap(lambda r: kernels(rank=r, atomics=True, size=40)), WAYS)
def test_kernels_that_may_fault(kernel: Kernel, way: Way) -> None:
    compare(kernel, way)


@given(kernels(faults=False, size=60, rank=2), WAYS)
def test_kernels_that_do_not_fault(kernel: Kernel, way: Way) -> None:
    compare(kernel, way)


@given(SEEDS, WAYS)
def test_control_flow(seed: int, way: Way) -> None:
    compare(structured_kernel(seed, random.Random(seed).randrange(5, 60)), way)
