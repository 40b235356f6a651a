"""A loop that each thread leaves at another time."""

from typing import Any

import numpy as np

import heald as wp

DIM = (12, 15)
LIMIT = 24


@wp.kernel
def kernel(count: wp.array(dtype=int, ndim=2)):
    row, col = wp.tid()
    cx = wp.float64(col) * 0.2 - 2.0
    cy = wp.float64(row) * 0.2 - 1.1
    x = wp.float64(0.0)
    y = wp.float64(0.0)
    n = 0
    while x * x + y * y <= 4.0 and n < LIMIT:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    count[row, col] = n


def arguments(random: np.random.Generator) -> dict[str, Any]:
    return {"count": np.zeros(DIM, np.int32)}


def expected(count: Any) -> dict[str, Any]:
    """Rounding decides nothing here: no orbit comes near the circle, which this asserts."""
    out = np.zeros(DIM, np.int32)
    for row, col in np.ndindex(*DIM):
        c, z, n = complex(col * 0.2 - 2.0, row * 0.2 - 1.1), 0j, 0
        while abs(z) ** 2 <= 4 and n < LIMIT:
            z, n = z * z + c, n + 1
            assert abs(abs(z) ** 2 - 4) > 1e-9
        out[row, col] = n
    return {"count": out}
