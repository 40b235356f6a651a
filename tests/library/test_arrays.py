"""Builtins that work on arrays or on types known at compile time: they can be called in kernels
only."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

import heald as wp
from heald.diagnostics import CompileError
from heald.types import f32, f64, i32, i64, u32

NDArray = npt.NDArray[Any]
DEVICES = pytest.mark.parametrize(
    "device", ["sim", pytest.param("cpu", marks=pytest.mark.cpu)], ids=str
)


@wp.kernel
def search(
    a: wp.array(dtype=wp.Any),
    values: wp.array(dtype=wp.Any),
    begin: wp.int32,
    end: wp.int32,
    whole: wp.array(dtype=wp.int32),
    part: wp.array(dtype=wp.int32),
) -> None:
    i = wp.tid()
    whole[i] = wp.lower_bound(a, values[i])
    part[i] = wp.lower_bound(a, begin, end, values[i])


@DEVICES
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_lower_bound(device: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 64):
        a = np.sort(rng.integers(0, 40, size)).astype(dtype)
        values = np.arange(42).astype(dtype)
        whole, part = (wp.zeros(42, dtype=wp.int32, device=device) for _ in range(2))
        begin, end = size // 3, size - size // 4
        inputs = [wp.array(a, device=device), wp.array(values, device=device), begin, end]
        wp.launch(search, dim=42, inputs=inputs, outputs=[whole, part], device=device)
        wanted = np.searchsorted(a, values)
        assert whole.numpy().tolist() == np.minimum(wanted, size - 1).tolist()
        wanted = begin + np.searchsorted(a[begin:end], values)
        assert part.numpy().tolist() == np.minimum(wanted, end - 1).tolist()


def test_lower_bound_takes_arrays_of_one_type() -> None:
    @wp.kernel
    def wrong(a: wp.array(dtype=wp.int32), y: wp.array(dtype=wp.int32)) -> None:
        y[0] = wp.lower_bound(a, 2.5)

    with pytest.raises(CompileError, match="'lower_bound' does not take"):
        wp.launch(wrong, dim=1, inputs=[wp.zeros(1, dtype=wp.int32), wp.zeros(1, dtype=wp.int32)])


SPELLED = wp.types.matrix((2, 2), wp.uint32)


@wp.kernel
def draw_bins(cdf: wp.array(dtype=wp.float32), bins: wp.array(dtype=wp.int32)) -> None:
    i = wp.tid()
    state = wp.rand_init(3, i)
    bins[i] = wp.sample_cdf(state, cdf)


@DEVICES
def test_sample_cdf_draws_bins_with_their_probabilities(device: str) -> None:
    probability = np.array([0.1, 0.0, 0.4, 0.25, 0.25])
    cdf = wp.array(np.cumsum(probability).astype(np.float32), device=device)
    bins = wp.zeros(20_000, dtype=wp.int32, device=device)
    wp.launch(draw_bins, dim=20_000, inputs=[cdf], outputs=[bins], device=device)
    counts = np.bincount(bins.numpy(), minlength=5)
    assert len(counts) == 5
    assert counts[1] == 0
    spread = np.sqrt(20_000 * probability * (1 - probability))
    assert (np.abs(counts - 20_000 * probability) <= 5 * spread).all()


BITS = np.array([0, 1, 0x3FC00000, 0x7FC00001, 0x80000000, 0xFF800000], np.uint32)


def test_cast_keeps_the_bits() -> None:
    (floats,) = evaluate("wp.cast(x0, float32)", Typed(u32, BITS), results=[f32])
    assert floats.view(np.uint32).tolist() == BITS.tolist()
    (back,) = evaluate("wp.cast(x0, int32)", Typed(f32, floats), results=[i32])
    assert back.view(np.uint32).tolist() == BITS.tolist()
    wide = np.array([1.5, -0.0, np.inf])
    (bits,) = evaluate("wp.cast(x0, int64)", Typed(f64, wide), results=[i64])
    assert bits.tolist() == wide.view(np.int64).tolist()


@wp.kernel
def cast_composites(
    v: wp.array(dtype=wp.vec3),
    a: wp.array(dtype=wp.mat22),
    w: wp.array(dtype=wp.vec3i),
    b: wp.array(dtype=SPELLED),
) -> None:
    i = wp.tid()
    w[i] = wp.cast(v[i], wp.vec3i)
    b[i] = wp.cast(a[i], SPELLED)


def test_cast_goes_component_by_component() -> None:
    v = np.resize(BITS, (4, 3)).view(np.float32)
    a = np.resize(BITS, (4, 2, 2)).view(np.float32)
    w, b = wp.zeros(4, dtype=wp.vec3i), wp.zeros(4, dtype=SPELLED)
    inputs = [wp.array(v, dtype=wp.vec3), wp.array(a, dtype=wp.mat22)]
    wp.launch(cast_composites, dim=4, inputs=inputs, outputs=[w, b])
    assert np.array_equal(w.numpy().view(np.uint32), v.view(np.uint32))
    assert np.array_equal(b.numpy(), a.view(np.uint32))


def test_cast_refuses_another_size() -> None:
    with pytest.raises(CompileError, match="numbers of one size"):
        evaluate("wp.cast(x0, float64)", Typed(f32, np.zeros(1, np.float32)), results=[f64])
