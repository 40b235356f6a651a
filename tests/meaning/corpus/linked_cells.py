"""A loop like a query: neighbours from linked lists of cells, cell after cell."""

from typing import Any

import numpy as np

import heald as wp

DIM = 30
CELLS = 5


@wp.func
def advance(cell: int, item: int, last: int, head: wp.array(dtype=int), link: wp.array(dtype=int)):
    if item >= 0:
        item = link[item]
    while item < 0 and cell < last:
        cell += 1
        item = head[cell]
    return cell, item


@wp.kernel
def kernel(
    x: wp.array(dtype=int),
    head: wp.array(dtype=int),
    link: wp.array(dtype=int),
    radius: int,
    total: wp.array(dtype=int),
    order: wp.array(dtype=wp.int64),
):
    i = wp.tid()
    low = wp.max(x[i] - radius, 0) // 10
    high = wp.min((x[i] + radius) // 10, head.shape[0] - 1)
    cell = low - 1
    item = -1
    cell, item = advance(cell, item, high, head, link)
    while item >= 0:
        if item != i and wp.abs(x[item] - x[i]) <= radius:
            total[i] = total[i] + x[item]
            order[i] = order[i] * wp.int64(31) + wp.int64(item)
        cell, item = advance(cell, item, high, head, link)


def arguments(random: np.random.Generator) -> dict[str, Any]:
    x = random.integers(0, 10 * CELLS, DIM).astype(np.int32)
    head, link = np.full(CELLS, -1, np.int32), np.full(DIM, -1, np.int32)
    for i in range(DIM):
        link[i], head[x[i] // 10] = head[x[i] // 10], i
    zeros = np.zeros(DIM, np.int32)
    return {
        "x": x,
        "head": head,
        "link": link,
        "radius": 7,
        "total": zeros,
        "order": np.zeros(DIM, np.int64),
    }


def expected(x: Any, head: Any, link: Any, radius: int, total: Any, order: Any) -> dict[str, Any]:
    totals, orders = [], []
    for i in range(DIM):
        near = [j for j in range(DIM) if j != i and abs(int(x[j]) - int(x[i])) <= radius]
        near.sort(key=lambda j: (x[j] // 10, -j))
        number = 0
        for j in near:
            number = (number * 31 + j) % (1 << 64)
        totals.append(sum(int(x[j]) for j in near))
        orders.append(number - (1 << 64) if number >> 63 else number)
    return {"total": np.array(totals, np.int32), "order": np.array(orders, np.int64)}
