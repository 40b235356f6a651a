"""Decompositions: factors are orthogonal and give the matrix back, however degenerate it is."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

import heald as wp
from heald.types import Matrix, Scalar, Vector, bf16, f16, f32, f64

NDArray = npt.NDArray[Any]
EPSILON = {f64: 2.0**-52, f32: 2.0**-23, f16: 2.0**-10}
FLOATS = pytest.mark.parametrize("t", list(EPSILON), ids=str)
SPECTRA = [
    [1, 1, 1],
    [1, 0, 0],
    [1, 1, 0],
    [2, 1, 1],
    [-1, 1, 1],
    [1, 1e-8, 1e-8],
    [1, 1e-16, 1e-16],
    [1, 1e-20, 0],
    [1, 1 - 1e-9, 0.5],
    [1, 1e-5, 1e-10],
]


def _matrices(n: int, rng: np.random.Generator) -> Iterator[NDArray]:
    def orthogonal() -> NDArray:
        return np.asarray(np.linalg.qr(rng.normal(size=(n, n)))[0])

    yield from (np.zeros((n, n)), np.eye(n), np.ones((n, n)), -np.ones((n, n)))
    for k in range(n * n):
        yield 3 * np.eye(n * n)[k].reshape(n, n)
    for spectrum in SPECTRA:
        for _ in range(20):
            yield orthogonal() * np.array(spectrum[:n]) @ orthogonal().T
    for _ in range(100):
        yield rng.normal(size=(n, n))
        yield rng.integers(-2, 3, (n, n)).astype(float)
        yield rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-9, 4, (n, n))
    for exponent in (-1000, -500, 500, 1000):
        yield rng.normal(size=(n, n)) * 2.0**exponent


def matrices(t: Scalar, n: int = 3, *, symmetric: bool = False) -> Typed:
    """Random ones, some with repeated, vanishing or tiny singular values or badly scaled."""
    a = np.array(list(_matrices(n, np.random.default_rng(n))))
    if symmetric:
        a = np.triu(a) + np.triu(a, 1).swapaxes(1, 2)
    largest = np.abs(a).max(axis=(1, 2))
    limit = {f64: 1e305, f32: 1e30, f16: 1e4}[t]
    small = {f64: 1e-300, f32: 1e-30, f16: 1e-3}[t]
    usable = (largest < limit) & ((largest > small) | (largest == 0))
    return Typed(Matrix(t, n, n), a[usable].astype(t.carrier))


def norms(a: NDArray) -> NDArray:
    return np.asarray(np.linalg.norm(a.astype(float), axis=(1, 2)))


def check(t: Scalar, a: NDArray, product: list[NDArray], orthogonal: list[NDArray]) -> None:
    """Residual and orthogonality are at most 4 epsilon, the residual times the norm."""
    exact = a.astype(np.longdouble)
    scale = np.abs(exact).max(axis=(1, 2))
    scale[scale == 0] = 1
    left, middle, right = (x.astype(np.longdouble) for x in product)
    residual = left @ (middle / scale[:, None, None]) @ right - exact / scale[:, None, None]
    bound = 4 * EPSILON[t] * norms(exact / scale[:, None, None])
    assert (norms(residual) <= bound).all(), a[np.argmax(norms(residual) - bound)]
    for q in orthogonal:
        wide = q.astype(np.longdouble)
        assert norms(wide.swapaxes(1, 2) @ wide - np.eye(q.shape[1])).max() <= 4 * EPSILON[t]


def diagonal(v: NDArray) -> NDArray:
    return np.asarray(v[:, :, None] * np.eye(v.shape[1]))


def determinants(q: NDArray) -> NDArray:
    return np.asarray(np.linalg.det(q.astype(float)))


@FLOATS
def test_qr3(t: Scalar) -> None:
    a = matrices(t)
    q, r = evaluate("q, r = wp.qr3(x0)\nq, r", a, results=[a.type, a.type])
    check(t, a.data, [q, r, np.eye(3)[None]], [q])
    assert not np.tril(r.astype(float), -1).any()
    assert (r[:, [0, 1], [0, 1]] >= 0).all()
    assert (determinants(q) > 0.9).all()


@FLOATS
def test_svd3(t: Scalar) -> None:
    a = matrices(t)
    results = [a.type, Vector(t, 3), a.type]
    u, sigma, v = evaluate("u, s, v = wp.svd3(x0)\nu, s, v", a, results=results)
    check(t, a.data, [u, diagonal(sigma), v.swapaxes(1, 2)], [u, v])
    assert (sigma[:, :2] >= 0).all()
    assert (np.diff(np.abs(sigma), axis=1) <= 0).all()
    assert (determinants(u) > 0.9).all()
    assert (determinants(v) > 0.9).all()


@FLOATS
def test_svd2(t: Scalar) -> None:
    a = matrices(t, 2)
    results = [a.type, Vector(t, 2), a.type]
    u, sigma, v = evaluate("u, s, v = wp.svd2(x0)\nu, s, v", a, results=results)
    check(t, a.data, [u, diagonal(sigma), v.swapaxes(1, 2)], [u, v])
    assert (sigma >= 0).all()
    assert (sigma[:, 0] >= sigma[:, 1] * (1 - 2 * EPSILON[t])).all()


@FLOATS
def test_eig3(t: Scalar) -> None:
    a = matrices(t, symmetric=True)
    q, d = evaluate("q, d = wp.eig3(x0)\nq, d", a, results=[a.type, Vector(t, 3)])
    check(t, a.data, [q, diagonal(d), q.swapaxes(1, 2)], [q])
    assert (determinants(q) > 0.9).all()


def test_eig3_reads_the_upper_triangle() -> None:
    a = matrices(f64)
    symmetric = Typed(a.type, np.triu(a.data) + np.triu(a.data, 1).swapaxes(1, 2))
    results = [a.type, Vector(f64, 3)]
    got = [evaluate("q, d = wp.eig3(x0)\nq, d", x, results=results) for x in (a, symmetric)]
    for x, y in zip(*got, strict=True):
        assert np.array_equal(x, y)


def test_what_is_not_finite_gives_nan() -> None:
    a = np.tile(np.eye(3), (3, 1, 1))
    a[1:, 0, 1] = [np.nan, np.inf]
    typed = Typed(Matrix(f64, 3, 3), a)
    _, sigma, _ = evaluate(
        "u, s, v = wp.svd3(x0)\nu, s, v", typed, results=[typed.type, Vector(f64, 3), typed.type]
    )
    assert np.isfinite(sigma).all(axis=1).tolist() == [True, False, False]


def test_bfloat16_is_decomposed_too() -> None:
    ones = Typed(Matrix(bf16, 3, 3), np.full((1, 3, 3), 0x3F80, np.uint16))
    _, sigma, _ = evaluate(
        "u, s, v = wp.svd3(x0)\nu, s, v", ones, results=[ones.type, Vector(bf16, 3), ones.type]
    )
    assert sigma.tolist() == [[0x4040, 0, 0]]


@pytest.mark.cpu
@pytest.mark.parametrize("name", ["qr3", "svd3", "eig3"])
def test_cpu_gives_the_bits_of_the_simulator(name: str) -> None:
    a = matrices(f32, symmetric=True).data
    found = {}
    for device in ("sim", "cpu"):
        parts = [
            wp.zeros(len(a), dtype=wp.mat33, device=device),
            wp.zeros(len(a), dtype=wp.vec3, device=device),
        ]
        inputs = [wp.array(a, dtype=wp.mat33, device=device), *parts]
        wp.launch(KERNELS[name], dim=len(a), inputs=inputs, device=device)
        found[device] = [part.numpy().view(np.uint32) for part in parts]
    for simulated, compiled in zip(*found.values(), strict=True):
        assert np.array_equal(simulated, compiled)


@wp.kernel
def qr_kernel(a: wp.array(dtype=wp.mat33), x: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q, r = wp.qr3(a[i])
    x[i] = q
    y[i] = r * wp.vec3(1.0, 1.0, 1.0)


@wp.kernel
def svd_kernel(
    a: wp.array(dtype=wp.mat33), x: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    u, sigma, v = wp.svd3(a[i])
    x[i] = u * v
    y[i] = sigma


@wp.kernel
def eig_kernel(
    a: wp.array(dtype=wp.mat33), x: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    q, d = wp.eig3(a[i])
    x[i] = q
    y[i] = d


KERNELS = {"qr3": qr_kernel, "svd3": svd_kernel, "eig3": eig_kernel}


@pytest.mark.parametrize("n", [1, 5, 6])
@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_inverse_of_other_sizes(t: Scalar, n: int) -> None:
    a = np.random.default_rng(n).normal(size=(100, n, n)).astype(t.carrier)
    a[:10, 0, 0] = 0 if n > 1 else 1
    (y,) = evaluate("wp.inverse(x0)", Typed(Matrix(t, n, n), a), results=[Matrix(t, n, n)])
    wanted = np.linalg.inv(a.astype(float))
    condition = norms(a) * norms(wanted)
    assert (norms(y - wanted) <= 20 * EPSILON[t] * condition * norms(wanted)).all()
    singular = np.ones((1, n, n), t.carrier) * (n > 1)
    (y,) = evaluate("wp.inverse(x0)", Typed(Matrix(t, n, n), singular), results=[Matrix(t, n, n)])
    assert not y.any()
