"""Nested loops with break and continue: primes, and pairs of them with a given sum."""

from typing import Any

import numpy as np

import heald as wp

DIM = 60


@wp.kernel
def kernel(count: wp.array(dtype=int), pairs: wp.array(dtype=int)):
    n = wp.tid()
    for a in range(2, n):
        is_prime = True
        for d in range(2, a):
            if d * d > a:
                break
            if a % d == 0:
                is_prime = False
                break
        if not is_prime:
            continue
        count[n] = count[n] + 1
        b = n - a
        if b < a:
            continue
        d = 2
        while d * d <= b:
            if b % d == 0:
                break
            d += 1
        if d * d > b and b > 1:
            pairs[n] = pairs[n] + 1


def arguments(random: np.random.Generator) -> dict[str, Any]:
    return {"count": np.zeros(DIM, np.int32), "pairs": np.zeros(DIM, np.int32)}


def expected(count: Any, pairs: Any) -> dict[str, Any]:
    primes = [p for p in range(2, DIM) if all(p % d for d in range(2, p))]
    below = [sum(p < n for p in primes) for n in range(DIM)]
    sums = [sum(p + q == n and p <= q for p in primes for q in primes) for n in range(DIM)]
    return {"count": np.array(below, np.int32), "pairs": np.array(sums, np.int32)}
