"""What GPUs scan and sort with, run by a CPU: blocks mean the same there."""

from __future__ import annotations

import numpy as np
import pytest

import heald as wp
from heald.utils import blocks

pytestmark = pytest.mark.cpu
DTYPES = {"int32": wp.int32, "uint32": wp.uint32, "int64": wp.int64, "uint64": wp.uint64}


def wild(name: str, count: int, seed: int = 3) -> np.ndarray:
    limits = np.iinfo(name)
    return np.random.default_rng(seed).integers(
        limits.min, limits.max, count, dtype=name, endpoint=True
    )


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("count", [1, 255, blocks.TILE, 2 * blocks.TILE + 17])
def test_scans(name: str, count: int) -> None:
    x = wild(name, count)
    given = wp.array(x, dtype=DTYPES[name])
    out = wp.zeros_like(given)
    wanted = np.cumsum(x, dtype=name)
    blocks.scan(given, out, inclusive=True)
    np.testing.assert_array_equal(out.numpy(), wanted)
    blocks.scan(given, given, inclusive=False)
    np.testing.assert_array_equal(given.numpy(), wanted - x)


@pytest.mark.parametrize("name", ["int32", "uint64"])
@pytest.mark.parametrize(("tiles", "added"), [(5, 1), (5, 4), (blocks.THREADS + 2, 1 << 12)])
def test_scans_of_many_tiles(name: str, tiles: int, added: int, monkeypatch) -> None:
    """The sums of tiles are scanned first, or there are more of them than threads add at a time."""
    monkeypatch.setattr(blocks, "_ADDED", added)
    x = wild(name, tiles * blocks.TILE - 5)
    given = wp.array(x, dtype=DTYPES[name])
    wanted = np.cumsum(x, dtype=name)
    scanner = blocks.Scanner(len(x), given.dtype, given.device)
    for _ in range(2):  # in the same room
        out = wp.zeros_like(given)
        scanner.run(given, out, inclusive=True)
        np.testing.assert_array_equal(out.numpy(), wanted)
    scanner.run(given, given, inclusive=False)
    np.testing.assert_array_equal(given.numpy(), wanted - x)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(("count", "spread"), [(2, 3), (700, 5), (blocks.TILE + 300, 1 << 20)])
def test_sorts_are_stable(name: str, count: int, spread: int) -> None:
    keys = wild(name, count)
    keys = keys % np.array(spread).astype(name) if spread < 10 else keys
    order = np.argsort(keys, kind="stable")
    pairs = [wp.array(keys, dtype=DTYPES[name]), wp.array(np.arange(count, dtype=np.int32))]
    both = tuple((a, wp.zeros_like(a)) for a in pairs)
    found = blocks.sort_pairs(*both, bits=8 * keys.itemsize)
    assert found == 0
    np.testing.assert_array_equal(both[0][found].numpy(), keys[order])
    np.testing.assert_array_equal(both[1][found].numpy(), order)


def test_values_of_any_size() -> None:
    keys = wild("int32", 5000) % 100
    order = np.argsort(keys, kind="stable")
    values = np.random.default_rng(1).random((5000, 3), dtype=np.float32)
    first = (wp.array(keys), wp.zeros(5000, dtype=int))
    second = (wp.array(values, dtype=wp.vec3), wp.zeros(5000, dtype=wp.vec3))
    assert blocks.sort_pairs(first, second, bits=32) == 0
    np.testing.assert_array_equal(second[0].numpy(), values[order])


def test_sorts_by_few_bits() -> None:
    keys = wild("uint32", 5000) % 1000
    order = np.argsort(keys, kind="stable")
    both = tuple(
        (wp.array(a), wp.zeros(5000, dtype=d))
        for a, d in (
            (keys.astype(np.uint32), wp.uint32),
            (np.arange(5000, dtype=np.int32), wp.int32),
        )
    )
    found = blocks.sort_pairs(*both, bits=17)
    assert found == 1
    np.testing.assert_array_equal(both[1][found].numpy(), order)
