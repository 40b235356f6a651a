"""A function that returns from inside two loops, with several results."""

from typing import Any

import numpy as np

import heald as wp

DIM = 80


@wp.func
def factors(n: int):
    for d in range(2, n):
        while n % d == 0:
            if d % 2 == 1:
                return d, n // d
            n = n // d
    return 0, n


@wp.kernel
def kernel(divisor: wp.array(dtype=int), rest: wp.array(dtype=int)):
    i = wp.tid()
    d, r = factors(i)
    divisor[i] = d
    rest[i] = r


def arguments(random: np.random.Generator) -> dict[str, Any]:
    return {"divisor": np.zeros(DIM, np.int32), "rest": np.zeros(DIM, np.int32)}


def expected(divisor: Any, rest: Any) -> dict[str, Any]:
    def one(n: int) -> tuple[int, int]:
        for d in range(2, n):
            while n % d == 0:
                if d % 2:
                    return d, n // d
                n //= d
        return 0, n

    pairs = np.array([one(n) for n in range(DIM)], np.int32)
    return {"divisor": pairs[:, 0], "rest": pairs[:, 1]}
