"""All pairs, spelled out in numbers."""

from typing import Any

import numpy as np

import heald as wp

DIM = 24
TOLERANCE = 2e-5


@wp.kernel
def kernel(p: wp.array(dtype=float, ndim=2), a: wp.array(dtype=float, ndim=2), soft: float):
    i = wp.tid()
    ax = 0.0
    ay = 0.0
    az = 0.0
    for j in range(p.shape[0]):
        dx = p[j, 0] - p[i, 0]
        dy = p[j, 1] - p[i, 1]
        dz = p[j, 2] - p[i, 2]
        r2 = dx * dx + dy * dy + dz * dz + soft
        f = 1.0 / (r2 * wp.sqrt(r2))
        ax += dx * f
        ay += dy * f
        az += dz * f
    a[i, 0] = ax
    a[i, 1] = ay
    a[i, 2] = az


def arguments(random: np.random.Generator) -> dict[str, Any]:
    p = random.normal(size=(DIM, 3)).astype(np.float32)
    return {"p": p, "a": np.zeros((DIM, 3), np.float32), "soft": 0.0625}


def expected(p: Any, a: Any, soft: float) -> dict[str, Any]:
    d = p[None].astype(float) - p[:, None]
    r2 = (d * d).sum(-1) + soft
    return {"a": (d / (r2 * np.sqrt(r2))[..., None]).sum(1)}
