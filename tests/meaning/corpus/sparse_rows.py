"""Sparse rows from the last entry to the first: a counted loop that falls."""

import itertools
from typing import Any

import numpy as np

import heald as wp

DIM = 30
TOLERANCE = 1e-5


@wp.kernel
def kernel(
    start: wp.array(dtype=int),
    column: wp.array(dtype=int),
    value: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    row = wp.tid()
    s = 0.0
    for k in range(start[row + 1] - 1, start[row] - 1, -1):
        s += value[k] * x[column[k]]
    y[row] = s


def arguments(random: np.random.Generator) -> dict[str, Any]:
    counts = random.integers(0, 6, DIM)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    total = int(start[-1])
    return {
        "start": start,
        "column": random.integers(0, 20, total).astype(np.int32),
        "value": random.normal(size=total).astype(np.float32),
        "x": random.normal(size=20).astype(np.float32),
        "y": np.full(DIM, 7.0, np.float32),
    }


def expected(start: Any, column: Any, value: Any, x: Any, y: Any) -> dict[str, Any]:
    products = value.astype(float) * x[column]
    rows = [products[a:b].sum() for a, b in itertools.pairwise(start)]
    return {"y": np.array(rows)}
