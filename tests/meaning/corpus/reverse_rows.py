"""Views and slices: each thread reverses every other element of its row."""

from typing import Any

import numpy as np

import heald as wp

DIM = 9


@wp.func
def swap_ends(v: wp.array(dtype=wp.int16)):
    n = v.shape[0]
    for k in range(n // 2):
        other = n - 1 - k
        kept = v[k]
        v[k] = v[other]
        v[other] = kept


@wp.kernel
def kernel(a: wp.array(dtype=wp.int16, ndim=2), last: wp.array(dtype=wp.int16)):
    i = wp.tid()
    row = a[i]
    swap_ends(row[::2])
    backwards = row[::-1]
    last[i] = backwards[0] - row[1:][0] + a[:, 1][i]


def arguments(random: np.random.Generator) -> dict[str, Any]:
    a = random.integers(-(1 << 15), 1 << 15, (DIM, 7)).astype(np.int16)
    return {"a": a, "last": np.zeros(DIM, np.int16)}


def expected(a: Any, last: Any) -> dict[str, Any]:
    out = a.copy()
    out[:, ::2] = a[:, ::2][:, ::-1]
    return {"a": out, "last": out[:, -1]}
