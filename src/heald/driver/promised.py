"""Whether what arrays hold keeps their contracts."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.artifact import Symbol
from heald.proof import Suspect
from heald.proof.contracts import ArrayPromise, Sum

Numbers = npt.NDArray[Any]
Lookup = Callable[[Symbol], int]


def sizes_of(suspect: Suspect) -> Lookup:
    """The sizes of a launch by symbol."""
    numbers = dict(suspect.numbers)
    numbers |= {Symbol("dim", axis=k): extent for k, extent in enumerate(suspect.dims)}
    return lambda symbol: numbers.get(symbol, 1 if symbol.kind == "dim" else 0)


def total(size: Sum, lookup: Lookup) -> int:
    """A size in one launch."""
    return sum(n * prod(map(lookup, product)) for product, n in size)


def ends_of(promise: ArrayPromise, lookup: Lookup) -> tuple[int, int] | None:
    """Between which numbers elements lie in one launch, or None."""
    if promise.elements is None:
        return None
    return total(promise.elements.low, lookup), total(promise.elements.high, lookup)


def first_broken(
    promise: ArrayPromise, cells: Numbers, ends: tuple[int, int] | None
) -> tuple[int, ...] | None:
    """The first index at which contents break a contract, or None."""
    numbers = cells.astype(object) if cells.dtype == np.uint64 else cells.astype(np.int64)
    wrong = np.zeros(cells.shape, bool)
    if ends is not None:
        wrong |= np.asarray((numbers < ends[0]) | (numbers > ends[1]), bool)
    if promise.monotone:
        wrong[1:] |= np.asarray(numbers[1:] < numbers[:-1], bool)
    if promise.injective:
        _, first = np.unique(numbers, return_index=True)
        repeated = np.ones(cells.shape, bool)
        repeated[first] = False
        wrong |= repeated
    places = np.argwhere(wrong)
    return tuple(int(i) for i in places[0]) if len(places) else None
