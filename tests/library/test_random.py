"""Random numbers: the sequences of NVIDIA Warp, and the distributions that the texts promise."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

from heald.types import Type, Vector, f32, i32, u32

NDArray = npt.NDArray[Any]
VEC2, VEC3 = Vector(f32, 2), Vector(f32, 3)
THREADS = Typed(i32, np.arange(6, dtype=np.int32))
STATE = "s = wp.rand_init(x0 * 77 - 5, x0 + 3)\n"

# What warp-lang 1.19 gives on a CPU.
SEEDS = [3027111404, 3381499952, 1276674169, 3863035474, 1845753654, 3521134969]
STATES = [3395608143, 3199905096, 3423197931, 251786572, 2834890277, 3772093651]
NEXT = [418518317, 3809428145, 2599467112, 252118458, 2726612908, 2115844727]
FROM_MINUS_10_TO_32 = [-5, -1, 13, 31, 12, 4]
FROM_5_TO_69999 = [18217, 20270, 62802, 66468, 27683, 35872]
UNIFORM = [-1.31789279, 4.20866108, 2.23664904, -1.58909392, 2.44387293, 1.44843435]
NORMAL = [-1.58684134, 0.36885229, 0.95245850, 2.03772998, -0.18512484, 0.59379238]
SPHERE = [
    [-0.31148964, 0.28708094, 0.57500708],
    [0.43228468, 0.37772739, -0.70150983],
    [0.79227672, -0.25920007, -0.17946863],
    [0.30945721, 0.18712275, 0.67891520],
    [-0.09925531, 0.50138116, -0.14313863],
    [0.41061476, 0.71309316, 0.01212466],
]


def values(body: str, *results: Type) -> tuple[NDArray, ...]:
    return evaluate(body, THREADS, results=results)


def test_states_and_integers_are_those_of_warp() -> None:
    assert values("wp.rand_init(x0 * 77 - 5)", u32)[0].tolist() == SEEDS
    assert values(STATE + "s", u32)[0].tolist() == STATES
    assert values(STATE + "wp.randu(s)", u32)[0].tolist() == NEXT
    assert values(STATE + "wp.randi(s)", i32)[0].view(np.uint32).tolist() == NEXT
    assert values(STATE + "wp.randi(s, -10, 33)", i32)[0].tolist() == FROM_MINUS_10_TO_32
    call = "wp.randu(s, uint32(5), uint32(70000))"
    assert values(STATE + call, u32)[0].tolist() == FROM_5_TO_69999


def test_a_call_advances_its_state() -> None:
    first, second, state = values(
        STATE + "r = wp.randf(s)\nn = wp.randu(s)\nr, n, s", f32, u32, u32
    )
    assert (first * 2.0**24).astype(np.uint32).tolist() == [n >> 8 for n in NEXT]
    assert second.tolist() == state.tolist() != NEXT
    again = values(STATE + "r = wp.randn(s)\ns", u32)[0]
    assert again.tolist() == state.tolist(), "randn draws twice"


def test_floats_are_those_of_warp_within_rounding() -> None:
    np.testing.assert_allclose(values(STATE + "wp.randf(s, -2.0, 5.0)", f32)[0], UNIFORM, 3e-7)
    np.testing.assert_allclose(values(STATE + "wp.randn(s)", f32)[0], NORMAL, 3e-6)
    np.testing.assert_allclose(values(STATE + "wp.sample_unit_sphere(s)", VEC3)[0], SPHERE, 3e-5)


COUNTS = [[4, 25], [7, 137], [4, 211], [11, 422]]
"""Of ``poisson``, for these states one after the other."""
POISSON_STATES = [3485385464, 367860371, 770692085, 1017093381]
RATES = [
    [5.1463942527771, 17.797378540039062],
    [6.438389301300049, 126.01708984375],
    [2.5817129611968994, 197.0162353515625],
    [6.773218631744385, 416.1999206542969],
]
LAST = [36329, 51783, 63452, 25259]


def test_poisson_numbers_are_those_of_warp() -> None:
    rates = np.array(RATES, np.float32)
    inputs = [Typed(u32, np.array(POISSON_STATES, np.uint32))]
    inputs += [Typed(f32, rates[:, k]) for k in range(2)]
    body = "s = x0\na = wp.poisson(s, x1)\nb = wp.poisson(s, x2)\na, b, s % uint32(65536)"
    a, b, state = evaluate(body, *inputs, results=[u32, u32, u32])
    assert np.stack([a, b], 1).tolist() == COUNTS
    assert state.tolist() == LAST


@pytest.mark.parametrize("rate", [0.3, 4.0, 9.5, 10.0, 37.0, 1e4])
def test_poisson_numbers(rate: float) -> None:
    x = sample(f"poisson(s, {rate})", u32).astype(float)
    assert abs(x.mean() - rate) < 5 * np.sqrt(rate / len(x))
    assert abs(x.var() / rate - 1) < 5 * np.sqrt((2 + 1 / rate) / len(x))
    if rate < 50:
        counts = np.bincount(x.astype(int))[:40]
        expected = len(x) * np.exp(
            [k * np.log(rate) - rate - math.lgamma(k + 1) for k in range(len(counts))]
        )
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected + 1)).all()


def test_poisson_numbers_of_odd_rates() -> None:
    rates = Typed(f32, np.array([0.0, -0.0, -3.0, np.nan, np.inf], np.float32))
    states = Typed(u32, np.full(5, 7, np.uint32))
    got, state = evaluate("s = x0\nr = wp.poisson(s, x1)\nr, s", states, rates, results=[u32] * 2)
    assert got.tolist() == [0, 0, 0, 0, 2**32 - 1]
    assert state[:2].tolist() == [7, 7]


def sample(call: str, result: Type) -> NDArray:
    """One value of ``call`` for each of 20,000 threads."""
    threads = Typed(i32, np.arange(20_000, dtype=np.int32))
    (found,) = evaluate(f"s = wp.rand_init(7, x0)\nwp.{call}", threads, results=[result])
    return found


def is_uniform(x: NDArray, low: float, high: float) -> bool:
    """All inside, and 20 bins equally full: 5 standard deviations of a binomial at most."""
    counts, _ = np.histogram(x, 20, (low, high))
    share = len(x) / 20
    inside = (x >= low).all() and (x <= high).all()
    return bool(inside and np.abs(counts - share).max() < 5 * np.sqrt(share * 0.95))


def test_uniform_numbers() -> None:
    assert is_uniform(sample("randf(s)", f32), 0, 1)
    assert sample("randf(s)", f32).max() < 1
    assert is_uniform(sample("randf(s, -3.0, 2.0)", f32), -3, 2)
    assert is_uniform(sample("randu(s)", u32).astype(float), 0, 2.0**32)
    assert is_uniform(sample("randi(s)", i32).astype(float), -(2.0**31), 2.0**31)
    assert set(sample("randi(s, 3, 6)", i32).tolist()) == {3, 4, 5}


def test_normal_numbers() -> None:
    x = sample("randn(s)", f32).astype(float)
    assert np.isfinite(x).all()
    assert abs(x.mean()) < 0.04
    assert abs(x.std() - 1) < 0.03
    assert abs((x**4).mean() - 3) < 0.3


def radius(p: NDArray) -> NDArray:
    return np.asarray(np.linalg.norm(p, axis=1), np.float64)


@pytest.mark.parametrize("name", ["ring", "sphere_surface", "hemisphere_surface"])
def test_points_on_surfaces(name: str) -> None:
    p = sample(f"sample_unit_{name}(s)", VEC2 if name == "ring" else VEC3).astype(float)
    assert np.abs(radius(p) - 1).max() < 1e-6
    assert is_uniform(np.arctan2(p[:, 1], p[:, 0]), -np.pi, np.pi)
    if name != "ring":  # Archimedes: heights on a sphere are uniform
        assert is_uniform(p[:, 2], -1 if name == "sphere_surface" else 0, 1)


@pytest.mark.parametrize("name", ["disk", "sphere", "hemisphere"])
def test_points_inside(name: str) -> None:
    p = sample(f"sample_unit_{name}(s)", VEC2 if name == "disk" else VEC3).astype(float)
    content = radius(p) ** p.shape[1]
    assert is_uniform(np.minimum(content, 1.0), 0, 1)
    assert is_uniform(np.arctan2(p[:, 1], p[:, 0]), -np.pi, np.pi)
    assert name != "hemisphere" or p[:, 2].min() >= 0


@pytest.mark.parametrize(("name", "result"), [("square", VEC2), ("cube", VEC3)])
def test_points_in_boxes(name: str, result: Type) -> None:
    p = sample(f"sample_unit_{name}(s)", result)
    assert all(is_uniform(column, -0.5, 0.5) for column in p.T)


def test_points_in_triangles() -> None:
    u, v = sample("sample_triangle(s)", VEC2).astype(float).T
    assert u.min() >= 0
    assert v.min() >= 0
    assert (u + v).max() <= 1 + 1e-6
    assert is_uniform((1 - u) ** 2, 0, 1)
