"""A 3-D launch over a field, its border left out by an early return."""

from typing import Any

import numpy as np

import heald as wp

DIM = (6, 7, 8)
TOLERANCE = 1e-5


@wp.kernel
def kernel(
    a: wp.array(dtype=float, ndim=3),
    w: wp.array(dtype=float, ndim=3),
    b: wp.array(dtype=float, ndim=3),
):
    i, j, k = wp.tid()
    if i == 0 or j == 0 or k == 0:
        return
    if not (i < a.shape[0] - 1 and j < a.shape[1] - 1 and k < a.shape[2] - 1):
        return
    s = 0.0
    for x in range(3):
        for y in range(3):
            for z in range(3):
                s += w[x, y, z] * a[i + x - 1, j + y - 1, k + z - 1]
    b[i, j, k] = s


def arguments(random: np.random.Generator) -> dict[str, Any]:
    a = random.normal(size=DIM).astype(np.float32)
    w = random.normal(size=(3, 3, 3)).astype(np.float32)
    return {"a": a, "w": w, "b": np.ones(DIM, np.float32)}


def expected(a: Any, w: Any, b: Any) -> dict[str, Any]:
    out = b.astype(float)
    windows = np.lib.stride_tricks.sliding_window_view(a.astype(float), (3, 3, 3))
    out[1:-1, 1:-1, 1:-1] = (windows * w).sum((3, 4, 5))
    return {"b": out}
