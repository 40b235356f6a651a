"""Scans, sorts, sums, runs and hash grids: a GPU leaves what a CPU leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heald as wp

pytestmark = pytest.mark.gpu
DEVICES = ("cuda:0", "cpu")
COUNTS = (1, 4096, 100_003, 1 << 20)
DTYPES = {"int32": wp.int32, "uint32": wp.uint32, "int64": wp.int64, "uint64": wp.uint64}


def whole(name: str, count: int) -> np.ndarray[Any, Any]:
    limits = np.iinfo(name)
    return np.random.default_rng(count).integers(
        limits.min, limits.max, count, dtype=name, endpoint=True
    )


def wild(name: str, count: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(count)
    edges = np.array([0.0, np.inf, -np.inf, np.nan, -np.nan])
    return random.choice(np.append(edges, random.standard_normal(100)), count).astype(name)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", [*DTYPES, "float32"])
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans(name: str, count: int, inclusive: bool) -> None:
    x = whole(name, count) if name in DTYPES else np.random.default_rng(2).random(count, np.float32)
    left = []
    for device in DEVICES:
        given = wp.array(x, dtype=DTYPES.get(name, wp.float32), device=device)
        out = wp.zeros_like(given)
        wp.utils.array_scan(given, out, inclusive=inclusive)
        sums = (wp.utils.array_sum(given), wp.utils.array_inner(given, given))
        left.append((out.numpy().tobytes(), sums))
    assert left[0] == left[1]


@pytest.mark.parametrize("count", [2, 4097, 300_001])
@pytest.mark.parametrize("name", [*DTYPES, "float32", "float64"])
def test_sorts(name: str, count: int) -> None:
    keys = whole(name, count) if name in DTYPES else wild(name, count)
    keys[count // 2 :] = keys[: count - count // 2]  # equal keys, to see that it is stable
    order = np.argsort(keys, kind="stable")
    for device in DEVICES:
        k = wp.zeros(2 * count, dtype=np.dtype(name), device=device)
        v = wp.zeros(2 * count, dtype=int, device=device)
        wp.copy(k, wp.array(keys, device=device), count=count)
        wp.copy(v, wp.array(np.arange(count, dtype=np.int32), device=device), count=count)
        wp.utils.radix_sort_pairs(k, v, count)
        np.testing.assert_array_equal(k.numpy()[:count], keys[order])
        np.testing.assert_array_equal(v.numpy()[:count], order)


def test_runs() -> None:
    x = np.repeat(np.arange(5000), np.arange(5000) % 7 + 1).astype(np.int32)
    left = []
    for device in DEVICES:
        given = wp.array(x, device=device)
        values, lengths = wp.zeros_like(given), wp.zeros(len(x), dtype=int, device=device)
        total = wp.utils.runlength_encode(given, values, lengths)
        left.append((total, values.numpy()[:total].tolist(), lengths.numpy()[:total].tolist()))
    assert left[0] == left[1]
    assert left[0][0] == 5000


@wp.kernel
def neighbours(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    order: wp.array(dtype=int),
    sums: wp.array(dtype=float),
):
    i = wp.tid()
    order[i] = wp.hash_grid_point_id(grid, i)
    total = 0.0
    for j in wp.hash_grid_query(grid, points[i], radius):
        total = total * 1.0001 + wp.length(points[j] - points[i])
    sums[i] = total


@pytest.mark.parametrize("count", [1, 3000, 60_000])
@pytest.mark.parametrize("dims", [(8, 8, 8), (64, 32, 128), (1, 1, 1)])
def test_hash_grids(count: int, dims: tuple[int, int, int]) -> None:
    if dims == (1, 1, 1):
        count = min(count, 3000)
    points = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
    left = []
    for device in DEVICES:
        with wp.ScopedDevice(device):
            p = wp.array(points, dtype=wp.vec3)
            grid = wp.HashGrid(*dims)
            for moved in (0.0, 0.1):  # built again, the handle stays
                q = wp.array(points + np.float32(moved), dtype=wp.vec3)
                grid.build(q, 0.1)
            order, sums = wp.zeros(count, dtype=int), wp.zeros(count, dtype=float)
            wp.launch(neighbours, dim=count, inputs=[grid.id, q, 0.1, order, sums])
            left.append((order.numpy().tolist(), sums.numpy().tobytes(), len(grid), len(p)))
    assert left[0] == left[1]
