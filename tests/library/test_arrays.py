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
def multiply(
    sizes: wp.array(dtype=wp.vec3i),
    stored: wp.array(dtype=wp.vec2i),
    a: wp.array2d(dtype=wp.Any),
    b: wp.array2d(dtype=wp.Any),
    c: wp.array2d(dtype=wp.Any),
) -> None:
    i = wp.tid()
    s, t = sizes[i], stored[i]
    wp.dense_gemm(s[0], s[1], s[2], t[0], t[1], a[i], b[i], c[i])


@DEVICES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_gemm(device: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, (40, 3)).astype(np.int32)
    stored = rng.integers(0, 2, (40, 2)).astype(np.int32)
    a, b, wanted = (np.zeros((40, 25), dtype) for _ in range(3))
    for k, ((m, n, p), (t1, t2)) in enumerate(zip(sizes, stored, strict=True)):
        left, right = rng.normal(size=(m, p)), rng.normal(size=(p, n))
        a[k, : m * p] = (left.T if t1 else left).ravel()
        b[k, : p * n] = (right.T if t2 else right).ravel()
        wanted[k, : m * n] = (left @ right).ravel()
    c = wp.zeros((40, 25), dtype=wp.float32 if dtype is np.float32 else wp.float64, device=device)
    inputs = [wp.array(sizes, dtype=wp.vec3i, device=device)]
    inputs += [wp.array(stored, dtype=wp.vec2i, device=device)]
    inputs += [wp.array(x, device=device) for x in (a, b)]
    wp.launch(multiply, dim=40, inputs=inputs, outputs=[c], device=device)
    np.testing.assert_allclose(c.numpy(), wanted, atol=20 * float(np.finfo(dtype).eps))


@wp.kernel
def factor_and_solve(
    n: wp.int32,
    a: wp.array2d(dtype=wp.float64),
    b: wp.array2d(dtype=wp.float64),
    lower: wp.array2d(dtype=wp.float64),
    x: wp.array2d(dtype=wp.float64),
    y: wp.array2d(dtype=wp.float64),
) -> None:
    i = wp.tid()
    wp.dense_chol(n, a[i], 0.5, lower[i])
    wp.dense_subs(n, lower[i], b[i], x[i])
    wp.dense_solve(n, a[i], lower[i], b[i], y[i])


@DEVICES
@pytest.mark.parametrize("n", [1, 2, 5])
def test_dense_chol_and_solve(device: str, n: int) -> None:
    rng = np.random.default_rng(n)
    half = rng.normal(size=(30, n, n))
    a, b = half @ half.swapaxes(1, 2), rng.normal(size=(30, n))
    inputs = [n, *(wp.array(v.reshape(30, -1), device=device) for v in (a, b))]
    outputs = [wp.zeros((30, size), dtype=wp.float64, device=device) for size in (n * n, n, n)]
    wp.launch(factor_and_solve, dim=30, inputs=inputs, outputs=outputs, device=device)
    lower, x, y = (v.numpy() for v in outputs)
    damped = a + 0.5 * np.eye(n)
    np.testing.assert_allclose(lower.reshape(30, n, n), np.linalg.cholesky(damped), atol=1e-13)
    np.testing.assert_allclose(x, np.linalg.solve(damped, b[:, :, None])[:, :, 0], atol=1e-12)
    assert np.array_equal(x, y)


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
    with pytest.raises(CompileError, match="float32 has 32 bits and float64 64"):
        evaluate("wp.cast(x0, float64)", Typed(f32, np.zeros(1, np.float32)), results=[f64])
