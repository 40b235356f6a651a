"""Random kernels: all ways to run agree, and closures give what runs give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from strategies import kernels
from unit.interp.support import agree, same_bits

from heald.diagnostics import KernelFault
from heald.interp import ArrayView, compile_closure, run
from heald.interp.values import from_number, to_number
from heald.ir import Kernel, to_text
from heald.types import Array, Scalar, Type, b1, bf16, leaf_offsets, leaves

_SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38]


def number(t: Scalar, random: np.random.Generator) -> bool | int | float:
    """Any value of a type, as Python holds it."""
    if t is b1:
        return bool(random.integers(2))
    if t.is_integer:
        if random.integers(2):
            return int(random.integers(max(t.lowest, -4), 5))
        return int(random.integers(t.lowest, t.highest, endpoint=True, dtype=t.carrier))
    x = random.choice(_SPECIAL) if random.integers(3) == 0 else random.normal() * 8
    with np.errstate(over="ignore"):
        return to_number(t, from_number(t, x)[0])


def fill(view: ArrayView, random: np.random.Generator) -> None:
    for k, leaf in enumerate(leaves(view.dtype)):
        assert isinstance(leaf, Scalar)
        cells = view.leaf(k)
        for at in np.ndindex(cells.shape):
            cells[at] = from_number(leaf, number(leaf, random))[0]


def launch_argument(t: Type, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    if isinstance(t, Array):
        view = ArrayView.allocate(t.dtype, (*shape, *(4,) * (t.ndim - len(shape)))[: t.ndim])
        fill(view, random)
        return view
    own = tuple(number(leaf, random) for leaf in leaves(t) if isinstance(leaf, Scalar))
    return own[0] if isinstance(t, Scalar) else own


@given(
    st.sampled_from([1, 2]).flatmap(
        lambda rank: kernels(rank=rank, faults=True, atomics=True, size=40)
    ),
    st.integers(0, 2**32),
)
def test_all_ways_to_run_agree(kernel: Kernel, seed: int) -> None:
    random = np.random.default_rng(seed)
    dims = (7,) if kernel.rank == 1 else (4, 5)
    args = [launch_argument(p.type, dims, random) for p in kernel.params]
    note(to_text(kernel))
    with np.errstate(all="raise"):  # the interpreter is quiet by itself
        agree(kernel, dims, args)


def host_values(t: Type, values: Any) -> list[Any]:
    """One thread's result as its leaves, in the carriers."""
    parts = values if isinstance(values, tuple) else (values,)
    assert len(parts) == len(leaf_offsets(t))
    return [part[0] for part in parts]


@given(kernels(function=True, faults=True, size=40), st.integers(0, 2**32))
def test_closures_give_what_runs_give(kernel: Kernel, seed: int) -> None:
    random = np.random.default_rng(seed)
    args = [launch_argument(p.type, (), random) for p in kernel.params]
    note(to_text(kernel))
    closure = compile_closure(kernel)
    flat = [x for a in args for x in (a if isinstance(a, tuple) else (a,))]
    outcome = run(kernel, (1,), args)
    if outcome.faults:
        with pytest.raises(KernelFault):
            closure(flat)
        return
    found = closure(flat)
    types = [leaf for t in kernel.results for leaf in leaves(t)]
    expected = [
        x
        for t, values in zip(kernel.results, outcome.results, strict=True)
        for x in host_values(t, values)
    ]
    assert len(found) == len(expected)
    for t, got, wanted in zip(types, found, expected, strict=True):
        assert isinstance(t, Scalar)
        assert type(got) is (bool if t is b1 else float if t.is_float else int)
        bits = from_number(t, got)[0]
        if t is bf16 and np.isnan(got):
            assert wanted & 0x7FFF > 0x7F80
        else:
            assert same_bits(bits, wanted), (t, got, wanted)
