"""Noise: the fields of NVIDIA Warp, and what defines them: zeros, periods, no divergence."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

from heald.types import Type, Vector, f32, i32, u32

NDArray = npt.NDArray[Any]

# What warp-lang 1.19 gives on a CPU.
STATES = [3485385464, 367860371, 770692085, 1017093381]
POINTS = [
    [5.1463943, -0.35594755, -8.5138445, 0.66458815],
    [6.4383893, 2.5203419, 2.5825043, -1.9629219],
    [-2.581713, 3.9403248, -7.5999975, 6.5959067],
    [6.7732186, 8.3239985, -6.5578032, -6.9232049],
]
PERIODS = [3, 3, 1, 2]
NOISE = [
    [0.078797139, 0.40497524, -0.22978255, 0.14633831],
    [-0.083571851, -0.3805317, 0.14223656, -0.015191589],
    [0.15193449, -0.19767159, -0.066524439, 0.12162225],
    [0.047248721, 0.057694584, 0.17944488, -0.14580718],
]
PERIODIC = [
    [-0.14586857, -0.38710186, 0.072418317, -0.0085225701],
    [-0.18380696, -0.014535487, 0.098608077, 0.0647012],
    [-0.03371793, -0.077231809, -0.34661424, 0.058144793],
    [-0.075625658, -0.059839182, -0.095363349, 0.14756072],
]
CURL = [
    [
        0.4924122,
        0.0109886,
        0.4359368,
        -0.6510839,
        -0.6333349,
        0.9098098,
        0.1979416,
        -0.2736344,
    ],
    [-0.2740382, -0.6656587, 0.5811014, 1.064366, 0.6457994, 1.263217, -0.9428618, -0.4203576],
    [
        -0.8160328,
        0.6663184,
        0.1049179,
        0.9119207,
        0.1676222,
        -0.6338938,
        -0.1332412,
        0.329936,
    ],
    [0.1631973, 0.1744407, 1.276092, 1.175957, -0.5734899, -1.261795, -0.4542924, 0.456959],
]


def points(values: NDArray, axes: int) -> Typed:
    """The first coordinates, as a number or a vector."""
    t: Type = f32 if axes == 1 else Vector(f32, axes)
    return Typed(t, values[:, 0] if axes == 1 else values[:, :axes])


STATE = Typed(u32, np.array(STATES, np.uint32))
WHERE = np.array(POINTS, np.float32)
PERIOD_ARGUMENTS = ["x2", "x2, x2 + 1", "x2, x2 + 1, x2 + 2", "x2, x2 + 1, x2 + 2, x2 + 3"]


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_fields_are_those_of_warp(axes: int) -> None:
    (got,) = evaluate("wp.noise(x0, x1)", STATE, points(WHERE, axes), results=[f32])
    np.testing.assert_allclose(got, np.array(NOISE)[:, axes - 1], atol=2e-6)
    call = f"wp.pnoise(x0, x1, {PERIOD_ARGUMENTS[axes - 1]})"
    periods = Typed(i32, np.array(PERIODS, np.int32))
    (got,) = evaluate(call, STATE, points(np.abs(WHERE), axes), periods, results=[f32])
    np.testing.assert_allclose(got, np.array(PERIODIC)[:, axes - 1], atol=2e-6)


@pytest.mark.parametrize(
    ("axes", "call", "columns"),
    [
        (2, "wp.curlnoise(x0, x1, uint32(3))", slice(0, 2)),
        (3, "wp.curlnoise(x0, x1, uint32(2), 3.0, 0.25)", slice(2, 5)),
        (4, "wp.curlnoise(x0, x1)", slice(5, 8)),
    ],
)
def test_curls_are_those_of_warp(axes: int, call: str, columns: slice) -> None:
    result = Vector(f32, min(axes, 3))
    (got,) = evaluate(call, STATE, points(WHERE, axes), results=[result])
    np.testing.assert_allclose(got, np.array(CURL)[:, columns], atol=5e-6)


RNG = np.random.default_rng(0)
MANY = RNG.uniform(-20, 20, (2000, 4)).astype(np.float32)
SEEDS = Typed(u32, RNG.integers(0, 1 << 32, 2000, dtype=np.uint64).astype(np.uint32))


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_noise_is_zero_on_the_lattice_and_small_elsewhere(axes: int) -> None:
    (got,) = evaluate("wp.noise(x0, x1)", SEEDS, points(np.round(MANY), axes), results=[f32])
    assert not got.any()
    (got,) = evaluate("wp.noise(x0, x1)", SEEDS, points(MANY, axes), results=[f32])
    assert np.abs(got).max() <= 1
    assert np.abs(got).mean() > 0.05
    assert abs(got.mean()) < 0.02


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_periodic_noise_repeats_and_is_noise_inside(axes: int) -> None:
    whole = np.round(MANY * 64) / 64  # exact when periods are added
    shift = np.array([7, -16, 27, 40], np.float32)
    periods = ", ".join(["7", "8", "9", "10"][:axes])
    call = f"wp.pnoise(x0, x1, {periods})"
    (here,) = evaluate(call, SEEDS, points(whole, axes), results=[f32])
    (there,) = evaluate(call, SEEDS, points(whole + shift, axes), results=[f32])
    assert np.array_equal(here, there)
    (plain,) = evaluate("wp.noise(x0, x1)", SEEDS, points(whole, axes), results=[f32])
    inside = ((whole[:, :axes] >= 0) & (whole[:, :axes] < 6)).all(axis=1)
    assert np.array_equal(here[inside], plain[inside])
    assert inside.sum() > 0 or axes == 4


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_curls_have_no_divergence(axes: int) -> None:
    """Differences over 1/64 are right to a few hundredths, the terms themselves being about 3."""
    space, step, count = min(axes, 3), 1 / 64, 100
    centre = np.floor(MANY[:count]) + RNG.uniform(0.1, 0.9, (count, 4))
    shifts = [np.eye(4)[k] * step * sign for k in range(space) for sign in (1, -1)]
    ends = np.concatenate([centre + shift for shift in shifts]).astype(np.float32)
    seeds = Typed(u32, np.tile(SEEDS.data[:count], len(shifts)))
    result = Vector(f32, space)
    (field,) = evaluate("wp.curlnoise(x0, x1)", seeds, points(ends, axes), results=[result])
    both = field.astype(float).reshape(space, 2, count, space)
    slopes = [(both[k, 0, :, k] - both[k, 1, :, k]) / (2 * step) for k in range(space)]
    total, size = np.sum(slopes, axis=0), np.sum(np.abs(slopes), axis=0)
    assert np.abs(total).max() < 0.05
    assert size.mean() > 1


def test_octaves_are_weighted_fields() -> None:
    """Where gain is 0 only the first octave counts; none gives zeros."""
    p = points(MANY, 2)
    v2 = Vector(f32, 2)
    one, same, two, second, none = evaluate(
        "wp.curlnoise(x0, x1), wp.curlnoise(x0, x1, uint32(5), 2.0, 0.0), "
        "wp.curlnoise(x0, x1, uint32(2), 2.0, 0.5), wp.curlnoise(x0, x1 * 2.0), "
        "wp.curlnoise(x0, x1, uint32(0))",
        SEEDS,
        p,
        results=[v2] * 5,
    )
    assert np.array_equal(one, same)
    np.testing.assert_allclose(two, one + 0.5 * second, atol=1e-6)
    assert not none.any()


def test_no_number_has_no_noise() -> None:
    x = Typed(f32, np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32))
    state = Typed(u32, np.zeros(5, np.uint32))
    (got,) = evaluate("wp.noise(x0, x1)", state, x, results=[f32])
    assert np.isnan(got[:3]).all()
    assert not got[3:].any()


def test_negative_periods_repeat_after_their_magnitude() -> None:
    x = np.array([0.75, 4.75, -3.25, -7.25], np.float32)
    plane = np.stack([x, x[[0, 2, 1, 3]] + 0.5], axis=1)
    for call, t, points in (
        ("wp.pnoise(s, x0, -4)", f32, x),
        ("wp.pnoise(s, x0, -4, -4)", Vector(f32, 2), plane),
    ):
        (got,) = evaluate(f"s = uint32(3)\n{call}", Typed(t, points), results=[f32])
        assert got[0] != 0
        assert (got == got[0]).all()
