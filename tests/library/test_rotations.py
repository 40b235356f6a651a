"""Rotations from and to angles, about an axis, and between vectors."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate
from library.references import _axis_angle, _hamilton, _rotate

from heald.types import Quaternion, Scalar, Vector, f16, f32, f64, i32

NDArray = npt.NDArray[Any]
ROUNDING = {f16: 2.0**-10, f32: 2.0**-23, f64: 2.0**-52}
FLOATS = pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
COUNT = 400


def rotations(t: Scalar, seed: int = 0) -> Typed:
    """Random ones, and all 24 that permute the axes, with both signs."""
    q = np.random.default_rng(seed).normal(size=(COUNT, 4))
    whole = [v for v in itertools.product((-1, 0, 1), repeat=4) if any(v)]
    q[: len(whole)] = whole
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return Typed(Quaternion(t), q.astype(t.carrier))


def directions(t: Scalar, seed: int) -> Typed:
    v = np.random.default_rng(seed).normal(size=(COUNT, 3))
    v[:3] = np.eye(3)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    return Typed(Vector(t, 3), v.astype(t.carrier))


def distance(a: NDArray, b: NDArray) -> float:
    """How far rotations are apart at most; a quaternion and its negative are one rotation."""
    a, b = a.astype(float), b.astype(float)
    sign = np.where(np.sum(a * b, axis=1, keepdims=True) < 0, -1, 1)
    return float(np.abs(a * sign - b).max())


def axes(*numbers: int) -> list[Typed]:
    return [Typed(i32, np.full(COUNT, n, np.int32)) for n in numbers]


@FLOATS
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_euler_angles_give_the_rotation_back(t: Scalar, order: tuple[int, ...]) -> None:
    q = rotations(t)
    e, back = evaluate(
        "e = wp.quat_to_euler(x0, x1, x2, x3)\ne, wp.quat_from_euler(e, x1, x2, x3)",
        q,
        *axes(*order),
        results=[Vector(t, 3), q.type],
    )
    assert distance(back, q.data) < 12 * ROUNDING[t]
    second = e[:, order[1]].astype(float)
    assert np.abs(second).max() <= math.pi / 2 + 4 * ROUNDING[t]
    assert np.abs(e).max() <= 2 * math.pi + 8 * ROUNDING[t]


@pytest.mark.parametrize("order", [(0, 1, 0), (2, 0, 2), (1, 2, 1)], ids=str)
def test_proper_euler_angles(order: tuple[int, int, int]) -> None:
    i, j, _ = order
    q = rotations(f64)
    (e,) = evaluate("wp.quat_to_euler(x0, x1, x2, x3)", q, *axes(*order), results=[Vector(f64, 3)])
    about = [np.tile(np.eye(3)[k], (COUNT, 1)) for k in (i, j)]
    parts = [_axis_angle(about[0], e[:, i]), _axis_angle(about[1], e[:, j])]
    last = _axis_angle(about[0], e[:, 3 - i - j])
    assert distance(_hamilton(last, _hamilton(parts[1], parts[0])), q.data) < 1e-14
    assert e[:, j].min() >= 0
    assert e[:, j].max() <= math.pi


@FLOATS
def test_roll_pitch_yaw_are_euler_angles(t: Scalar) -> None:
    q = rotations(t)
    steep = np.abs(2 * (q.data[:, 3] * q.data[:, 1] - q.data[:, 2] * q.data[:, 0])) > 0.99
    rpy, back = evaluate(
        "e = wp.quat_to_rpy(x0)\ne, wp.quat_rpy(e[0], e[1], e[2])",
        q,
        results=[Vector(t, 3), q.type],
    )
    assert distance(back[~steep], q.data[~steep]) < 200 * ROUNDING[t]
    assert np.abs(rpy[:, 1].astype(float)).max() <= math.pi / 2 + 2 * ROUNDING[t]


@FLOATS
def test_twist_about_an_axis(t: Scalar) -> None:
    """A twist after a swing about a perpendicular axis is found again."""
    rng = np.random.default_rng(1)
    axis = directions(t, 2)
    across = np.cross(axis.data.astype(float), rng.normal(size=(COUNT, 3)))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angle = rng.uniform(-3, 3, COUNT)
    twist = _axis_angle(axis.data.astype(float), angle)
    q = _hamilton(twist, _axis_angle(across, rng.uniform(-2, 2, COUNT)))
    got, signed, size = evaluate(
        "wp.quat_twist(x0, x1), wp.quat_twist_angle_signed(x0, x1), wp.quat_twist_angle(x0, x1)",
        axis,
        Typed(Quaternion(t), q.astype(t.carrier)),
        results=[Quaternion(t), t, t],
    )
    assert distance(got, twist) < 16 * ROUNDING[t]
    assert np.abs(signed.astype(float) - angle).max() < 32 * ROUNDING[t]
    assert np.abs(size.astype(float) - np.abs(angle)).max() < 32 * ROUNDING[t]


def test_angles_of_the_negative_quaternion() -> None:
    """The documented ranges where w is negative."""
    z = Typed(Vector(f64, 3), np.array([[0.0, 0.0, 1.0]]))
    q = Typed(Quaternion(f64), -_axis_angle(z.data, np.array([1.0])))
    call = "wp.quat_twist_angle(x0, x1), wp.quat_twist_angle_signed(x0, x1)"
    size, signed = evaluate(call, z, q, results=[f64, f64])
    assert size[0] == pytest.approx(2 * math.pi - 1)
    assert signed[0] == pytest.approx(1 - 2 * math.pi)


@FLOATS
def test_rotation_between_vectors(t: Scalar) -> None:
    a, b = directions(t, 3), directions(t, 4)
    near = 10.0 ** -np.arange(COUNT // 4) * np.where(np.arange(COUNT // 4) % 2, 1, -1)
    for k, sign in enumerate((-1, 1)):  # nearly and exactly opposite and equal ones
        rows = slice(10 + k * COUNT // 4, 10 + (k + 1) * COUNT // 4)
        turned = a.data[rows].astype(float) * sign + near[:, None] * b.data[rows]
        b.data[rows] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    longer = Typed(b.type, b.data * 2.5)
    (q,) = evaluate("wp.quat_between_vectors(x0, x1)", a, longer, results=[Quaternion(t)])
    q = q.astype(float)
    assert np.abs(np.linalg.norm(q, axis=1) - 1).max() < 4 * ROUNDING[t]
    unit = [x.data / np.linalg.norm(x.data.astype(float), axis=1, keepdims=True) for x in (a, b)]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    assert np.abs(_rotate(q, unit[0]) - unit[1]).max() < 12 * ROUNDING[t]
    shortest = np.linalg.norm(unit[0] + unit[1], axis=1) / 2
    assert np.abs(q[:, 3] - shortest).max() < 8 * ROUNDING[t]


def test_no_direction_means_no_rotation() -> None:
    zero = Typed(Vector(f32, 3), np.zeros((1, 3), np.float32))
    one = Typed(Vector(f32, 3), np.ones((1, 3), np.float32))
    for pair in ((zero, one), (one, zero), (zero, zero)):
        (q,) = evaluate("wp.quat_between_vectors(x0, x1)", *pair, results=[Quaternion(f32)])
        assert q.tolist() == [[0, 0, 0, 1]]
