"""A product of integer matrices, exact, and of rows taken as views."""

from typing import Any

import numpy as np

import heald as wp

DIM = (7, 9)


@wp.func
def product(row: wp.array(dtype=int), column: wp.array(dtype=int)):
    s = wp.int64(0)
    for k in range(row.shape[0]):
        s += wp.int64(row[k]) * wp.int64(column[k])
    return s


@wp.kernel
def kernel(
    a: wp.array(dtype=int, ndim=2),
    b: wp.array(dtype=int, ndim=2),
    c: wp.array(dtype=wp.int64, ndim=2),
    d: wp.array(dtype=wp.int64, ndim=2),
):
    i, j = wp.tid()
    s = wp.int64(0)
    for k in range(a.shape[1]):
        s += wp.int64(a[i, k]) * wp.int64(b[k, j])
    c[i, j] = s
    d[i, j] = product(a[i], b[:, j])


def arguments(random: np.random.Generator) -> dict[str, Any]:
    a = random.integers(-(1 << 30), 1 << 30, (7, 5)).astype(np.int32)
    b = random.integers(-100, 100, (5, 9)).astype(np.int32)
    return {"a": a, "b": b, "c": np.zeros(DIM, np.int64), "d": np.zeros(DIM, np.int64)}


def expected(a: Any, b: Any, c: Any, d: Any) -> dict[str, Any]:
    out = a.astype(np.int64) @ b.astype(np.int64)
    return {"c": out, "d": out}
