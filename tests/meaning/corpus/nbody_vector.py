"""The same with vectors, a function and a loop that skips itself."""

from typing import Any

import numpy as np

import heald as wp

DIM = 24
TOLERANCE = 2e-5


@wp.func
def pull(here: wp.vec3, there: wp.vec3, soft: float):
    d = there - here
    r2 = wp.dot(d, d) + soft
    return d / (r2 * wp.sqrt(r2))


@wp.kernel
def kernel(p: wp.array(dtype=wp.vec3), a: wp.array(dtype=wp.vec3), soft: float):
    i = wp.tid()
    total = wp.vec3()
    for j in range(p.shape[0]):
        if j == i:
            continue
        total += pull(p[i], p[j], soft)
    a[i] = total


def arguments(random: np.random.Generator) -> dict[str, Any]:
    p = random.normal(size=(DIM, 3)).astype(np.float32)
    return {"p": p, "a": np.zeros((DIM, 3), np.float32), "soft": 0.0625}


def expected(p: Any, a: Any, soft: float) -> dict[str, Any]:
    d = p[None].astype(float) - p[:, None]
    r2 = (d * d).sum(-1) + soft
    return {"a": (d / (r2 * np.sqrt(r2))[..., None]).sum(1)}
