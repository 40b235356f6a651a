"""Contents that keep contracts, for replays; and whether contents keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from heald.driver.promised import Numbers, ends_of, first_broken, sizes_of
from heald.driver.replay import Case, arguments_of, view_of
from heald.ir import Kernel
from heald.proof.contracts import ArrayPromise, Promises

_MOST = 1 << 20
"""Elements of an array that is filled so that it keeps a contract."""


def obey(kernel: Kernel, case: Case, promises: Promises) -> Case | None:
    """A launch like a case in which contracts are kept, or None where it cannot keep them.

    What the case says of contents stays where a contract lets it; the rest is chosen.
    """
    lookup = sizes_of(case.suspect)
    if not all(promise.clause.holds(lookup) for promise in promises.shapes):
        return None
    if not promises.arrays:
        return replace(case, promises=promises)
    arguments = arguments_of(kernel, case)
    memory = dict(case.memory)
    for promise in promises.arrays:
        view = view_of(arguments, promise.parameter, 0)
        if 0 in view.shape:
            continue
        cells = view.leaf(0)
        if cells.size > _MOST:
            return None
        ends = ends_of(promise, lookup)
        wanted = {
            content.index: content.value
            for content in case.suspect.contents
            if (content.parameter, content.leaf) == (promise.parameter, 0)
            and all(0 <= i < n for i, n in zip(content.index, cells.shape, strict=True))
        }
        for wish in (wanted, {}):  # what was read may be what the kernel wrote itself
            made = _filled(promise, cells, wish, ends, case.fill)
            if made is not None and first_broken(promise, made, ends) is None:
                break
        else:
            return None
        cells[...] = made
        memory[promise.parameter, 0] = view.buffer.tobytes()
    return replace(case, memory=tuple(memory.items()), promises=promises)


def _filled(
    promise: ArrayPromise,
    cells: Numbers,
    wanted: Mapping[tuple[int, ...], int],
    ends: tuple[int, int] | None,
    fill: int,
) -> Numbers | None:
    """Contents that are likely to keep a contract."""
    limits = np.iinfo(cells.dtype)
    low, high = (int(limits.min), int(limits.max)) if ends is None else ends
    low, high = max(low, int(limits.min)), min(high, int(limits.max))
    if low > high:
        return cells if not cells.size else None
    made = np.clip(cells, low, high)
    if promise.monotone and not (wanted or promise.injective):
        made.sort()
    elif promise.monotone:
        _rise(made, wanted, low, 1 if promise.injective else 0)
    elif promise.injective and not _differ(made, wanted, low, high, fill):
        return None
    for index, value in wanted.items():
        if not limits.min <= value <= limits.max:
            return None
        made[index] = value
    return made


def _rise(cells: Numbers, wanted: Mapping[tuple[int, ...], int], low: int, step: int) -> None:
    """From one number that is wanted to the next, as low as can be."""
    highest = int(np.iinfo(cells.dtype).max)
    least = min(wanted.values(), default=0) if low == np.iinfo(cells.dtype).min else low
    for k in range(len(cells)):
        here = wanted.get((k,), least)
        least = min(max(here, least), highest)
        cells[k] = least
        least += step


def _differ(
    cells: Numbers, wanted: Mapping[tuple[int, ...], int], low: int, high: int, fill: int
) -> bool:
    """Numbers that nobody wants, in some order; False where there are too few."""
    start = low if low > np.iinfo(cells.dtype).min else min(0, high)
    count = min(high - start + 1, 2 * len(cells) + len(wanted))
    taken = set(wanted.values())
    free = [start + k for k in range(count) if start + k not in taken]
    places = [k for k in range(len(cells)) if (k,) not in wanted]
    if len(free) < len(places):
        return False
    if fill:
        free = [int(n) for n in np.random.default_rng(fill).permutation(free[: len(places) + 2])]
    for k, number in zip(places, free, strict=False):
        cells[k] = number
    return True
