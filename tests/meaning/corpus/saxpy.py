"""The first kernel that anybody writes."""

from typing import Any

import numpy as np

import heald as wp

DIM = 101
TOLERANCE = 1e-6


@wp.kernel
def kernel(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def arguments(random: np.random.Generator) -> dict[str, Any]:
    x, y = random.normal(size=(2, DIM)).astype(np.float32)
    return {"a": 2.5, "x": x, "y": y}


def expected(a: float, x: Any, y: Any) -> dict[str, Any]:
    return {"y": a * x.astype(float) + y}
