"""Random numbers in conditions, on one side of a choice and behind a short circuit."""

from typing import Any

import numpy as np

import heald as wp

DIM = 25


@wp.kernel
def kernel(end: wp.array(dtype=int), steps: wp.array(dtype=int)):
    i = wp.tid()
    state = wp.rand_init(i)
    x = 0
    n = 0
    while wp.randi(state, 0, 12) != 0 and n < 50:
        x += wp.randi(state, 1, 4) if n % 2 == 0 else -1
        if x > 3 and wp.randi(state, 0, 2) == 0:
            x = 0
        n += 1
    end[i] = x
    steps[i] = n


def arguments(random: np.random.Generator) -> dict[str, Any]:
    return {"end": np.zeros(DIM, np.int32), "steps": np.zeros(DIM, np.int32)}


def _hash(x: int) -> int:
    x = (x * 747796405 + 2891336453) % (1 << 32)
    word = ((x >> ((x >> 28) + 4)) ^ x) * 277803737 % (1 << 32)
    return (word >> 22) ^ word


def expected(end: Any, steps: Any) -> dict[str, Any]:
    ends, counts = [], []
    for i in range(DIM):
        state = _hash(i)

        def randi(low: int, high: int) -> int:
            nonlocal state
            state = _hash(state)
            return state % (high - low) + low

        x = n = 0
        while randi(0, 12) != 0 and n < 50:
            x += randi(1, 4) if n % 2 == 0 else -1
            if x > 3 and randi(0, 2) == 0:
                x = 0
            n += 1
        ends.append(x)
        counts.append(n)
    return {"end": np.array(ends, np.int32), "steps": np.array(counts, np.int32)}
