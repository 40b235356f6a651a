"""Dynamic programming in a local matrix: the longest common subsequence of two words."""

from typing import Any

import numpy as np

import heald as wp

DIM = 16
SIZE = 7


@wp.kernel
def kernel(
    p: wp.array(dtype=wp.uint8, ndim=2),
    q: wp.array(dtype=wp.uint8, ndim=2),
    length: wp.array(dtype=wp.int8),
):
    i = wp.tid()
    best = wp.zeros(shape=(SIZE + 1, SIZE + 1), dtype=wp.int8)
    for a in range(SIZE):
        for b in range(SIZE):
            if p[i, a] == q[i, b]:
                best[a + 1, b + 1] = best[a, b] + 1
            else:
                best[a + 1, b + 1] = max(best[a, b + 1], best[a + 1, b])
    length[i] = best[-1, -1]


def arguments(random: np.random.Generator) -> dict[str, Any]:
    p, q = random.integers(97, 101, (2, DIM, SIZE)).astype(np.uint8)
    return {"p": p, "q": q, "length": np.zeros(DIM, np.int8)}


def expected(p: Any, q: Any, length: Any) -> dict[str, Any]:
    def subsequences(word: tuple[int, ...]) -> set[tuple[int, ...]]:
        masks = range(1 << SIZE)
        return {tuple(c for k, c in enumerate(word) if m >> k & 1) for m in masks}

    out = []
    for x, y in zip(p.tolist(), q.tolist(), strict=True):
        common = subsequences(tuple(x)) & subsequences(tuple(y))
        out.append(max(map(len, common)))
    return {"length": np.array(out, np.int8)}
