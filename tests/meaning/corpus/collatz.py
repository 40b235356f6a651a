"""Steps to 1, counted in a histogram that all threads share."""

from typing import Any

import numpy as np

import heald as wp

DIM = 60


@wp.kernel
def kernel(histogram: wp.array(dtype=int), longest: wp.array(dtype=int)):
    i = wp.tid()
    n = wp.int64(i + 1)
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    wp.atomic_max(longest, 0, steps)
    if steps >= histogram.shape[0]:
        return
    histogram[steps] += 1


def arguments(random: np.random.Generator) -> dict[str, Any]:
    return {"histogram": np.zeros(100, np.int32), "longest": np.zeros(1, np.int32)}


def expected(histogram: Any, longest: Any) -> dict[str, Any]:
    steps = []
    for start in range(1, DIM + 1):
        n, count = start, 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        steps.append(count)
    counts = np.bincount([s for s in steps if s < 100], minlength=100)
    return {"histogram": counts.astype(np.int32), "longest": np.array([max(steps)], np.int32)}
