"""``//`` and ``%`` are those of Python, on integers and floats of either sign."""

from typing import Any

import numpy as np

import heald as wp

DIM = 100


@wp.kernel
def kernel(
    a: wp.array(dtype=int),
    b: wp.array(dtype=int),
    x: wp.array(dtype=wp.float64),
    y: wp.array(dtype=wp.float64),
    c: wp.array(dtype=int, ndim=2),
    z: wp.array(dtype=wp.float64, ndim=2),
):
    i = wp.tid()
    c[i, 0] = a[i] // b[i]
    c[i, 1] = a[i] % b[i]
    z[i, 0] = x[i] // y[i]
    z[i, 1] = x[i] % y[i]


def arguments(random: np.random.Generator) -> dict[str, Any]:
    a = random.integers(-50, 50, DIM).astype(np.int32)
    b = random.integers(1, 9, DIM).astype(np.int32) * random.choice([-1, 1], DIM).astype(np.int32)
    x, y = random.normal(size=(2, DIM)) * [[1e3], [7.0]]
    x[::9], x[1::9], y[::6] = -0.0, np.round(x[1::9]), np.round(y[::6]) + 0.5
    return {
        "a": a,
        "b": b,
        "x": x,
        "y": y,
        "c": np.zeros((DIM, 2), np.int32),
        "z": np.zeros((DIM, 2)),
    }


def expected(a: Any, b: Any, x: Any, y: Any, c: Any, z: Any) -> dict[str, Any]:
    whole = [divmod(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    real = [(p // q, p % q) for p, q in zip(x.tolist(), y.tolist(), strict=True)]
    return {"c": np.array(whole, np.int32), "z": np.array(real)}
