"""More threads than elements: the guard that users write."""

from typing import Any

import numpy as np

import heald as wp

DIM = 128


@wp.kernel
def kernel(n: int, x: wp.array(dtype=int), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    if i >= n:
        return
    y[i] = wp.int64(x[i]) * wp.int64(x[i])


def arguments(random: np.random.Generator) -> dict[str, Any]:
    x = random.integers(-(1 << 31), 1 << 31, 100).astype(np.int32)
    return {"n": 100, "x": x, "y": np.zeros(100, np.int64)}


def expected(n: int, x: Any, y: Any) -> dict[str, Any]:
    return {"y": x.astype(np.int64) ** 2}
