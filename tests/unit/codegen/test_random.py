"""Random kernels: machine code leaves what the interpreter leaves, bit for bit."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from strategies import kernels
from unit.codegen.harness import Launch, compiled

from heald.artifact import Fault
from heald.interp import ArrayView, run
from heald.ir import Kernel, to_text
from heald.passes import guard, scalarise
from heald.types import Array, Scalar, Type, b1, leaves, numpy_dtype

pytestmark = pytest.mark.cpu

_SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38]


def number(t: Scalar, random: np.random.Generator) -> Any:
    """Any value of a type, small and odd ones more often."""
    if t is b1:
        return bool(random.integers(2))
    if t.is_integer:
        if random.integers(2):
            return int(random.integers(max(t.lowest, -4), 5))
        return int(random.integers(t.lowest, t.highest, endpoint=True, dtype=t.carrier))
    with np.errstate(over="ignore"):
        if random.integers(3) == 0:
            return float(t(random.choice(_SPECIAL)))
        return float(t(random.normal() * 8))


class Memory:
    """One array, as the interpreter and as machine code take it: strided, in a larger buffer."""

    def __init__(self, t: Array, shape: tuple[int, ...], random: np.random.Generator) -> None:
        size, gap = numpy_dtype(t.dtype).itemsize, int(random.integers(0, 3))
        strides, step = [], size + gap
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        self.strides = tuple(reversed(strides))
        self.offset, self.shape, self.dtype = 16 + gap, shape, t.dtype
        if random.integers(3) == 0:  # the first axis backwards
            self.offset += self.strides[0] * (shape[0] - 1)
            self.strides = (-self.strides[0], *self.strides[1:])
        self.bytes = np.full(step + 48, 0xA5, np.uint8)
        for k, leaf in enumerate(leaves(t.dtype)):
            cells = self.view().leaf(k)
            for at in np.ndindex(cells.shape):
                cells[at] = as_carrier(leaf, number(leaf, random))

    def copied(self) -> "Memory":
        other = copy.copy(self)
        other.bytes = self.bytes.copy()
        return other

    def view(self) -> ArrayView:
        return ArrayView(self.bytes, self.offset, self.shape, self.strides, self.dtype)

    def array(self) -> np.ndarray:
        """Address, extents and strides for the argument block."""
        dtype = np.dtype((np.void, numpy_dtype(self.dtype).itemsize))
        return np.ndarray(self.shape, dtype, self.bytes.data, self.offset, self.strides)


def as_carrier(t: Scalar, value: Any) -> Any:
    if t.name == "bf16":
        return (np.float32(value).view(np.uint32) >> 16).astype(np.uint16)
    return t.carrier.type(value)


def argument(t: Type, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    if isinstance(t, Array):
        return Memory(t, (*shape, *(4,) * (t.ndim - len(shape)))[: t.ndim], random)
    own = tuple(number(leaf, random) for leaf in leaves(t) if isinstance(leaf, Scalar))
    return own[0] if isinstance(t, Scalar) else own


def copied(args: list[Any]) -> list[Any]:
    """The same arguments in other memory; copying numbers costs less than drawing them again."""
    return [a.copied() if isinstance(a, Memory) else a for a in args]


def bytes_after(args: list[Any]) -> list[Any]:
    """Memory, with every NaN the same NaN."""
    found = []
    for memory in (a for a in args if isinstance(a, Memory)):
        for k, leaf in enumerate(leaves(memory.dtype)):
            cells = memory.view().leaf(k)
            if leaf.name == "bf16":
                cells[(cells & 0x7FFF) > 0x7F80] = 0x7FC0
            elif isinstance(leaf, Scalar) and leaf.is_float:
                cells[np.isnan(cells)] = np.nan
        found.append(memory.bytes.tobytes())
    return found


def launch_interpreter(kernel: Kernel, dims: tuple[int, ...], args: list[Any]) -> Fault | None:
    given_ = [a.view() if isinstance(a, Memory) else a for a in args]
    outcome = run(kernel, dims, given_)
    return outcome.faults[0] if outcome.faults else None


def launch_machine_code(
    kernel: Kernel, dims: tuple[int, ...], args: list[Any], cut: int
) -> Fault | None:
    given_ = [a.array() if isinstance(a, Memory) else a for a in args]
    launch = Launch(kernel, dims, given_)
    launch.run(cut, None)
    launch.run(0, cut)
    return launch.result().fault


def compare(kernel: Kernel, seed: int) -> None:
    note(to_text(kernel))
    dims = (7,) if kernel.rank == 1 else (4, 5)
    guarded = guard(kernel)
    lowered = scalarise(guarded)
    random = np.random.default_rng(seed)
    given_ = [argument(p.type, dims, random) for p in kernel.params]
    sides = []
    for launch in (
        lambda args: launch_interpreter(guarded, dims, args),
        lambda args: launch_machine_code(lowered, dims, args, seed % 7),
    ):
        args = copied(given_)
        fault = launch(args)
        sides.append((fault, bytes_after(args)))
    compiled.cache_clear()
    assert sides[0][0] == sides[1][0]
    assert sides[0][1] == sides[1][1]


SEEDS = st.integers(0, 2**32)


@given(st.sampled_from([1, 2]).flatmap(lambda r: kernels(rank=r, atomics=True, size=40)), SEEDS)
def test_kernels_that_may_fault(kernel: Kernel, seed: int) -> None:
    compare(kernel, seed)


@given(kernels(faults=False, size=60, rank=2), SEEDS)
def test_kernels_that_do_not_fault(kernel: Kernel, seed: int) -> None:
    compare(kernel, seed)
