"""Transforms changed in place and taken out of matrices."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

import heald as wp
from heald.diagnostics import TypingError
from heald.types import Matrix, Quaternion, Scalar, Transform, Vector, f16, f32, f64

NDArray = npt.NDArray[Any]
ROUNDING = {f16: 2.0**-10, f32: 2.0**-23, f64: 2.0**-52}
FLOATS = pytest.mark.parametrize("t", [f16, f32, f64], ids=str)


def transforms(t: Scalar, seed: int = 0, count: int = 300) -> Typed:
    x = np.random.default_rng(seed).normal(size=(count, 7))
    x[:, 3:] /= np.linalg.norm(x[:, 3:], axis=1, keepdims=True)
    return Typed(Transform(t), x.astype(t.carrier))


def positive(x: NDArray) -> NDArray:
    """Quaternions with the sign for which the first component that is not small is positive."""
    x = x.astype(float)
    rows = np.arange(len(x))
    return np.asarray(x * np.sign(x[rows, np.abs(x).argmax(axis=1)])[:, None])


@FLOATS
def test_parts_are_set_in_place(t: Scalar) -> None:
    a, b = transforms(t, 1), transforms(t, 2)
    body = (
        "x = x0\nwp.transform_set_translation(x, x1.p)\ny = x0\nwp.transform_set_rotation(y, x1.q)"
    )
    moved, turned = evaluate(f"{body}\nx, y", a, b, results=[a.type, a.type])
    assert np.array_equal(moved, np.concatenate([b.data[:, :3], a.data[:, 3:]], 1))
    assert np.array_equal(turned, np.concatenate([a.data[:, :3], b.data[:, 3:]], 1))


def test_parts_are_set_in_place_on_the_host() -> None:
    x = wp.transform_identity()
    wp.transform_set_translation(x, wp.vec3(1.0, 2.0, 3.0))
    wp.transform_set_rotation(x, wp.quat(0.0, 1.0, 0.0, 0.0))
    assert list(x) == [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]
    element = wp.array([x], dtype=wp.transform).numpy()
    assert element.tolist() == [list(x)]


def test_what_cannot_be_set_in_place_refuses_it() -> None:
    poses = wp.zeros(2, dtype=wp.transform)
    with pytest.raises(TypingError, match="a change of it would be lost"):
        wp.transform_set_translation(poses[0], wp.vec3(1.0, 2.0, 3.0))


@FLOATS
def test_matrices_give_the_transform_back(t: Scalar) -> None:
    x = transforms(t)
    (back,) = evaluate("wp.transform_from_matrix(wp.transform_to_matrix(x0))", x, results=[x.type])
    assert np.array_equal(back[:, :3], x.data[:, :3])
    error = np.abs(positive(back[:, 3:]) - positive(x.data[:, 3:])).max()
    assert error < 8 * ROUNDING[t]


@FLOATS
def test_matrices_are_decomposed(t: Scalar) -> None:
    x = transforms(t)
    scale = np.random.default_rng(3).uniform(0.5, 3, (len(x.data), 3)).astype(t.carrier)
    scale[:5] = [1.0, 2.0, 4.0]
    p, q, s = evaluate(
        "p, q, s = wp.transform_decompose(wp.transform_compose(x0.p, x0.q, x1))\np, q, s",
        x,
        Typed(Vector(t, 3), scale),
        results=[Vector(t, 3), Quaternion(t), Vector(t, 3)],
    )
    assert np.array_equal(p, x.data[:, :3])
    assert np.abs(positive(q) - positive(x.data[:, 3:])).max() < 12 * ROUNDING[t]
    assert np.abs(s.astype(float) / scale - 1).max() < 12 * ROUNDING[t]


def test_a_column_of_zeros_has_no_scale() -> None:
    m = np.zeros((1, 4, 4), np.float32)
    m[0, 0, 0], m[0, 1, 1] = 2, 3
    call = "p, q, s = wp.transform_decompose(x0)\np, q, s"
    results = [Vector(f32, 3), Quaternion(f32), Vector(f32, 3)]
    _, q, s = evaluate(call, Typed(Matrix(f32, 4, 4), m), results=results)
    assert s.tolist() == [[2, 3, 0]]
    assert np.isfinite(q).all()
