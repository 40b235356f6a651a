"""Nearest points satisfy the conditions of a minimum; intersections agree with exact integers."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

from heald.types import Scalar, Vector, f32, f64, i32

NDArray = npt.NDArray[Any]
ROUNDING = {f32: 2.0**-23, f64: 2.0**-52}
FLOATS = pytest.mark.parametrize("t", [f32, f64], ids=str)
COUNT = 2000


def corners(t: Scalar, count: int, seed: int) -> list[Typed]:
    """A third random, a third on a small grid (parallel, touching, degenerate), a third of points
    that lie close together."""
    rng = np.random.default_rng(seed)
    third = COUNT // 3
    x = rng.uniform(-1, 1, (count, COUNT, 3))
    x[:, :third] = rng.integers(-1, 2, (count, third, 3)) / 2
    x[:, third : 2 * third] = x[:1, third : 2 * third] + x[:, third : 2 * third] * 0.05
    return [Typed(Vector(t, 3), p.astype(t.carrier)) for p in x]


def dot(a: NDArray, b: NDArray) -> NDArray:
    return np.asarray(np.sum(a * b, axis=-1))


@FLOATS
def test_points_of_edges(t: Scalar) -> None:
    edges = corners(t, 4, 1)
    epsilon = Typed(t, np.full(COUNT, 1e-12, t.carrier))
    call = "wp.closest_point_edge_edge(x0, x1, x2, x3, x4)"
    (got,) = evaluate(call, *edges, epsilon, results=[Vector(t, 3)])
    s, u, distance = got.astype(float).T
    p1, q1, p2, q2 = (e.data.astype(float) for e in edges)
    assert ((s >= 0) & (s <= 1) & (u >= 0) & (u <= 1)).all()
    apart = p1 + s[:, None] * (q1 - p1) - p2 - u[:, None] * (q2 - p2)
    size = np.linalg.norm(apart, axis=1)
    assert np.abs(distance - size).max() < 8 * ROUNDING[t]
    # The function is convex: going to any other pair of weights must not lead down.
    for other_s, other_u in itertools.product(np.linspace(0, 1, 9), repeat=2):
        step = (other_s - s)[:, None] * (q1 - p1) - (other_u - u)[:, None] * (q2 - p2)
        assert dot(apart, step).min() > -60 * ROUNDING[t]


def test_edges_that_count_as_points() -> None:
    v3 = Vector(f64, 3)
    a, b = (Typed(v3, np.array([p])) for p in ([0.0, 0, 0], [1e-4, 0, 0]))
    c, d = (Typed(v3, np.array([p])) for p in ([-1.0, 1, 0], [3.0, 1, 0]))
    epsilon = Typed(f64, np.array([1e-6]))
    call = "wp.closest_point_edge_edge(x0, x1, x2, x3, x4)"
    assert evaluate(call, a, b, c, d, epsilon, results=[v3])[0].tolist() == [[0, 0.25, 1]]
    assert evaluate(call, c, d, a, b, epsilon, results=[v3])[0].tolist() == [[0.25, 0, 1]]
    assert evaluate(call, a, b, b, a, epsilon, results=[v3])[0].tolist() == [[0, 0, 1e-4]]


@FLOATS
def test_points_of_triangles(t: Scalar) -> None:
    a, b, c, p = corners(t, 4, 2)
    call = "wp.triangle_closest_point_barycentric(x0, x1, x2, x3), "
    call += "wp.triangle_closest_point(x0, x1, x2, x3)"
    weights, point = evaluate(call, a, b, c, p, results=[a.type, a.type])
    assert (weights >= 0).all()
    assert np.abs(weights.astype(float).sum(axis=1) - 1).max() < 2 * ROUNDING[t]
    triangle = np.stack([x.data.astype(float) for x in (a, b, c)], 1)
    near = np.einsum("nk,nkj->nj", weights.astype(float), triangle)
    assert np.abs(near - point).max() < 4 * ROUNDING[t]
    to = p.data.astype(float) - near
    for k in range(3):  # no corner lies beyond the plane through the nearest point
        rise = dot(to, triangle[:, k] - near)
        slack = np.linalg.norm(to, axis=1) + 1
        assert (rise <= 100 * ROUNDING[t] * slack).all()
    lowest = np.min(
        [
            np.linalg.norm(p.data - np.einsum("k,nkj->nj", np.array(w), triangle), axis=1)
            for w in _grid(12)
        ],
        axis=0,
    )
    assert (np.linalg.norm(to, axis=1) <= lowest + 60 * ROUNDING[t]).all()


def _grid(n: int) -> list[tuple[float, float, float]]:
    return [(i / n, j / n, (n - i - j) / n) for i in range(n + 1) for j in range(n + 1 - i)]


# -- two triangles, exactly ------------------------------------------------------------------------

Point = tuple[int, ...]


def volume(a: Point, b: Point, c: Point, d: Point) -> int:
    x, y, z = ([p - q for p, q in zip(v, a, strict=True)] for v in (b, c, d))
    return (
        x[0] * (y[1] * z[2] - y[2] * z[1])
        - x[1] * (y[0] * z[2] - y[2] * z[0])
        + x[2] * (y[0] * z[1] - y[1] * z[0])
    )


def area(a: Point, b: Point, c: Point) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def normal(a: Point, b: Point, c: Point) -> list[int]:
    planes = [(1, 2), (2, 0), (0, 1)]
    return [area(*((p[i], p[j]) for p in (a, b, c))) for i, j in planes]


def inside(p: Point, triangle: list[Point]) -> bool:
    signs = [area(triangle[k], triangle[(k + 1) % 3], p) for k in range(3)]
    return min(signs) >= 0 or max(signs) <= 0


def cross(p: Point, q: Point, a: Point, b: Point) -> bool:
    """Do two segments of the plane have a point in common?"""
    w = [area(p, q, a), area(p, q, b), area(a, b, p), area(a, b, q)]
    if w == [0, 0, 0, 0]:
        return all(
            max(min(p[k], q[k]), min(a[k], b[k])) <= min(max(p[k], q[k]), max(a[k], b[k]))
            for k in range(2)
        )
    return not (min(w[:2]) > 0 or max(w[:2]) < 0 or min(w[2:]) > 0 or max(w[2:]) < 0)


def edge_meets(p: Point, q: Point, triangle: list[Point]) -> bool:
    side_p, side_q = volume(*triangle, p), volume(*triangle, q)
    if side_p == side_q == 0:
        largest = int(np.argmax(np.abs(normal(*triangle))))
        flat = [tuple(np.delete(x, largest).tolist()) for x in (p, q, *triangle)]
        edges = [(flat[2 + k], flat[2 + (k + 1) % 3]) for k in range(3)]
        return inside(flat[0], flat[2:]) or any(cross(flat[0], flat[1], *e) for e in edges)
    if side_p > 0 < side_q or side_p < 0 > side_q:
        return False
    signs = [volume(p, q, triangle[k], triangle[(k + 1) % 3]) for k in range(3)]
    return min(signs) >= 0 or max(signs) <= 0


def meet(first: list[Point], second: list[Point]) -> bool:
    return any(
        edge_meets(one[k], one[(k + 1) % 3], other)
        for one, other in ((first, second), (second, first))
        for k in range(3)
    )


@FLOATS
def test_triangles_that_meet(t: Scalar) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.integers(-k, k + 1, (700, 6, 3)) for k in (1, 2, 6)])
    x[:200, :, 2] = 1  # in one plane
    x[200:300, :, 2] = x[200:300, :, 0] + 2 * x[200:300, :, 1]
    proper = [any(normal(*p[:3])) and any(normal(*p[3:])) for p in x.tolist()]
    x = x[proper]
    wanted = [meet(list(map(tuple, p[:3])), list(map(tuple, p[3:]))) for p in x.tolist()]
    assert 0.2 < np.mean(wanted) < 0.8
    points = [Typed(Vector(t, 3), x[:, k].astype(t.carrier)) for k in range(6)]
    call = "wp.intersect_tri_tri(x0, x1, x2, x3, x4, x5)"
    (got,) = evaluate(call, *points, results=[i32])
    assert got.tolist() == [int(w) for w in wanted]
    moved = [Typed(p.type, (p.data * 0.3 + 0.7).astype(t.carrier)) for p in points[:3]]
    back = [Typed(p.type, (p.data * 0.3 + 0.7).astype(t.carrier)) for p in points[3:]]
    (again,) = evaluate(call, *moved, *back, results=[i32])
    assert np.mean(again == got) > (0.999 if t is f64 else 0.8), "rounding moves touching ones"
