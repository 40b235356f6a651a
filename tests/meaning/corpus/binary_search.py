"""Where each key would be inserted into a sorted array."""

from typing import Any

import numpy as np

import heald as wp

DIM = 60


@wp.kernel
def kernel(table: wp.array(dtype=int), keys: wp.array(dtype=int), found: wp.array(dtype=int)):
    i = wp.tid()
    key = keys[i]
    low = 0
    high = table.shape[0]
    while low < high:
        middle = (low + high) // 2
        if table[middle] < key:
            low = middle + 1
        else:
            high = middle
    found[i] = low


def arguments(random: np.random.Generator) -> dict[str, Any]:
    table = np.sort(random.integers(0, 100, 33)).astype(np.int32)
    keys = random.integers(-5, 105, DIM).astype(np.int32)
    return {"table": table, "keys": keys, "found": np.zeros(DIM, np.int32)}


def expected(table: Any, keys: Any, found: Any) -> dict[str, Any]:
    return {"found": np.searchsorted(table, keys).astype(np.int32)}
