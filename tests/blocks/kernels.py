"""Kernels whose threads work together: each with a launch, and what numpy says that it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import heald as wp


@dataclass(frozen=True)
class Case:
    """A launch: arrays by parameter, of which ``wanted`` gives those that must come out."""

    kernel: Any
    dim: Any
    block_dim: int
    arrays: dict[str, Any]
    wanted: Callable[..., dict[str, Any]] | None = None


R = np.random.default_rng(7)


@wp.kernel
def tree_sum(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = wp.shared_array(256, float)
    t = wp.thread_index()
    s[t] = x[wp.tid()]
    wp.block_sync()
    stride = wp.block_dim() // 2
    while stride > 0:
        if t < stride:
            s[t] = s[t] + s[t + stride]
        wp.block_sync()
        stride = stride // 2
    if t == 0:
        out[wp.block_index()] = s[0]


def tree_sums(x: Any, out: Any) -> dict[str, Any]:
    rows = x.reshape(len(out), -1)
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return {"out": rows[:, 0]}


@wp.kernel
def histogram(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    t = wp.thread_index()
    bins = wp.shared_array(16, int)
    if t < 16:
        bins[t] = 0
    wp.block_sync()
    bins[x[wp.tid()]] += 1
    wp.block_sync()
    if t < 16:
        wp.atomic_add(out, t, bins[t])


TILE = 8


@wp.kernel
def transpose(a: wp.array(dtype=float, ndim=2), b: wp.array(dtype=float, ndim=2)):
    tile = wp.shared_array((TILE, TILE), float)
    across = a.shape[1] // TILE
    row = wp.block_index() // across * TILE
    col = wp.block_index() % across * TILE
    i = wp.thread_index() // TILE
    j = wp.thread_index() % TILE
    tile[i, j] = a[row + i, col + j]
    wp.block_sync()
    b[col + i, row + j] = tile[j, i]


@wp.kernel
def stencil(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = x.shape[0]
    t = wp.thread_index()
    s = wp.shared_array(66, float)
    s[t + 1] = x[i]
    if t == 0:
        s[0] = 0.0
        if i > 0:
            s[0] = x[i - 1]
    if t == wp.block_dim() - 1 or i == n - 1:
        s[t + 2] = 0.0
        if i + 1 < n:
            s[t + 2] = x[i + 1]
    wp.block_sync()
    y[i] = 0.25 * s[t] + 0.5 * s[t + 1] + 0.25 * s[t + 2]


@wp.kernel
def shuffles(v: wp.array(dtype=int), out: wp.array(dtype=int, ndim=2)):
    i = wp.tid()
    x = v[i]
    out[0, i] = wp.shuffle_down(x, 1)
    out[1, i] = wp.shuffle_up(x, 2)
    out[2, i] = wp.shuffle_xor(x, 5)
    out[3, i] = wp.shuffle_idx(x, i % 40 - 3)


def shuffled(v: Any, out: Any) -> dict[str, Any]:
    wanted = out.copy()
    for i in range(len(v)):
        lane, block = i % 50 % 32, i // 50
        sources = (lane + 1, lane - 2, lane ^ 5, i % 40 - 3)
        for k, source in enumerate(sources):
            j = i - lane + source
            there = 0 <= source < 32 and j < len(v) and j // 50 == block
            wanted[k, i] = v[j] if there else v[i]
    return {"out": wanted}


@wp.kernel
def parted_warps(v: wp.array(dtype=int), bits: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    x = v[i]
    if x % 3 == 0:
        x = wp.shuffle_xor(x, 3)
        bits[i] = wp.ballot(x % 2 == 0)
    elif wp.any(x > 20):
        x = x + wp.shuffle_down(x, 1)
    for k in range(i % 5):
        x = x + wp.shuffle_up(x, k)
        if wp.all(x < 50):
            x = x + 100
    v[i] = x


@wp.kernel
def early_return(v: wp.array(dtype=int), n: int):
    i = wp.tid()
    if i >= n:
        return
    x = v[i]
    while x < 100:
        y = wp.shuffle_down(x, 1)
        if y > 60:
            break
        x = x + y + 1
    v[i] = x


@wp.kernel
def rounds(v: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, float)
    x = v[i]
    y = x * 0.5
    for k in range(n):
        s[t] = x + y
        wp.block_sync()
        x = s[(t + 1) % wp.block_dim()]
        z = s[(t + k) % wp.block_dim()]
        wp.block_sync()
        x, y = y, x + z
    v[i] = x - y


@wp.kernel
def until_calm(v: wp.array(dtype=int), steps: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    x = v[i]
    n = 0
    while wp.any(x > 1, scope="block"):
        s[t] = x
        wp.block_sync()
        left = s[wp.max(t - 1, 0)]
        wp.block_sync()
        x = wp.min(x, left) // 2 + x % 2
        x = wp.min(x, 40 - n)
        n += 1
    v[i] = x
    steps[i] = n


@wp.kernel
def agreed_branch(v: wp.array(dtype=int), flag: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    x = v[i]
    if flag[wp.block_index()] > 0:
        s[t] = x
        wp.block_sync()
        x = s[wp.block_dim() - 1 - t]
        trips = flag[wp.block_index()]
        for k in range(trips):
            wp.block_sync()
            s[t] = x
            wp.block_sync()
            x = s[t ^ 1] + k
    v[i] = x


@wp.struct
class Pair:
    a: float
    v: wp.vec3


@wp.kernel
def structs(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(32, Pair)
    own = wp.zeros(shape=3, dtype=float)
    own[t % 3] = x[i]
    p = Pair()
    p.a = x[i]
    p.v = wp.vec3(x[i], 1.0, 2.0)
    s[t] = p
    wp.block_sync()
    q = s[31 - t]
    own[(t + 1) % 3] = q.a
    wp.block_sync()
    s[t].v = q.v + wp.shuffle_up(q.v, 1)
    wp.block_sync()
    y[i] = s[t ^ 1].v + wp.vec3(own[0], own[1], own[2])


@wp.func
def swap_with(s: wp.array(dtype=wp.float64), x: wp.float64, other: int):
    s[wp.thread_index()] = x
    wp.block_sync()
    y = s[other]
    wp.block_sync()
    return y


@wp.kernel
def functions(a: wp.array(dtype=wp.float64, ndim=2)):
    i, j = wp.tid()
    s = wp.shared_array(64, wp.float64)
    t = wp.thread_index()
    x = swap_with(s, a[i, j], t ^ 1)
    y = swap_with(s, x + wp.float64(i), t ^ 2)
    a[i, j] = x * y


@wp.kernel
def automatic_tree(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(64, float, sync="auto")
    s[t] = x[wp.tid()]
    width = wp.block_dim() // 2
    while width > 0:
        if t < width:
            s[t] = s[t] + s[t + width]
        width = width // 2
    if t == 0:
        out[wp.block_index()] = s[0]


@wp.kernel
def automatic_rounds(v: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, int, sync="auto")
    x = v[i]
    for k in range(4):
        s[t] = x
        if t % 2 == 0:
            y = s[(t + k) % wp.block_dim()]
            s[(t + 3) % wp.block_dim()] = y + 1
            x = y
        else:
            s[(t + 5) % wp.block_dim()] = k
            x = x + s[t]
        x = x + s[t ^ 1]
        if x > 1000:
            break
    v[i] = x


@wp.kernel
def reductions(
    x: wp.array(dtype=float), o: wp.array(dtype=float, ndim=2), w: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    o[0, i] = wp.reduce_sum(x[i])
    o[1, i] = wp.reduce_min(x[i])
    o[2, i] = wp.reduce_max(x[i], scope="warp")
    if i % 3 != 1:
        o[3, i] = wp.reduce_sum(x[i], "warp")
    w[i] = wp.reduce_sum(wp.vec3(x[i], 1.0, float(i)))


def reduced(x: Any, o: Any, w: Any) -> dict[str, Any]:
    """Sums of float32 as trees of Python; ``w`` counts exactly in two of its components."""
    o, w = o.copy(), w.copy()
    for first in range(0, len(x), 100):
        block = x[first : first + 100]
        warps = [block[k : k + 32] for k in range(0, len(block), 32)]
        total = tree(np.array([tree(warp) for warp in warps], np.float32))
        here = slice(first, first + len(block))
        o[0, here], o[1, here] = total, block.min()
        o[2, here] = np.repeat([warp.max() for warp in warps], [len(warp) for warp in warps])
        w[here] = total, len(block), sum(range(first, first + len(block)))
        for k, warp in enumerate(warps):
            some = [j for j in range(len(warp)) if (first + 32 * k + j) % 3 != 1]
            in_turn = warp[some[0]]
            for j in some[1:]:
                in_turn = in_turn + warp[j]
            o[3, [first + 32 * k + j for j in some]] = in_turn
    return {"o": o, "w": w}


@wp.kernel
def flags(x: wp.array(dtype=int), n: wp.array(dtype=int, ndim=2), b: wp.array(dtype=bool, ndim=2)):
    i = wp.tid()
    large = x[i] > 20
    n[0, i] = wp.reduce_sum(large)
    n[1, i] = wp.reduce_sum(large, scope="warp")
    n[2, i] = wp.reduce_sum(True) + wp.reduce_sum(1)
    b[0, i] = wp.reduce_min(large)
    b[1, i] = wp.reduce_max(large)
    b[2, i] = wp.reduce_min(large, "warp")
    b[3, i] = wp.reduce_max(large, "warp")


def counted(x: Any, n: Any, b: Any) -> dict[str, Any]:
    """Blocks of 40, so warps of 32 and of 8."""
    n, b = n.copy(), b.copy()
    for first in range(0, len(x), 40):
        block = slice(first, min(first + 40, len(x)))
        large = x[block] > 20
        n[0, block], n[2, block] = large.sum(), 2 * len(large)
        b[0, block], b[1, block] = large.all(), large.any()
        for start in (first, first + 32):
            warp = slice(start, min(start + 32, block.stop))
            large = x[warp] > 20
            n[1, warp], b[2, warp], b[3, warp] = large.sum(), large.all(), large.any()
    return {"n": n, "b": b}


@wp.kernel
def extents(p: wp.array(dtype=wp.vec3), lo: wp.array(dtype=wp.vec3), hi: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    low = wp.reduce_min(p[i])
    high = wp.reduce_max(p[i])
    if wp.thread_index() == 0:
        lo[wp.block_index()] = low
        hi[wp.block_index()] = high
    p[i] = wp.reduce_max(p[i], "warp") - wp.reduce_min(p[i], "warp")


def spans(p: Any, lo: Any, hi: Any) -> dict[str, Any]:
    blocks, warps = p.reshape(-1, 64, 3), p.reshape(-1, 32, 3)
    return {
        "lo": blocks.min(axis=1),
        "hi": blocks.max(axis=1),
        "p": np.repeat(warps.max(axis=1) - warps.min(axis=1), 32, axis=0),
    }


def tree(values: Any) -> Any:
    """The sum of at most 32 numbers in the order of reductions."""
    values = list(values)
    for step in (16, 8, 4, 2, 1):
        for k in range(len(values)):
            if k < step and k + step < len(values):
                values[k] = values[k] + values[k + step]
    return values[0]


@wp.func
def rotated_sum(x: int, by: int):
    return x + wp.shuffle_idx(x, (wp.thread_index() + by) % 32) + wp.reduce_max(x, scope="warp")


@wp.kernel
def mapped(v: wp.array(dtype=int)):
    i = wp.tid()
    v[i] = wp.warp_map(rotated_sum, v[i], 3)


def ints(n: int, high: int = 60) -> Any:
    return R.integers(0, high, n).astype(np.int32)


def floats(*shape: int) -> Any:
    return R.random(shape, dtype=np.float32)


CASES = {
    "tree_sum": Case(
        tree_sum, 1024, 256, {"x": floats(1024), "out": np.zeros(4, np.float32)}, tree_sums
    ),
    "histogram": Case(
        histogram,
        1000,
        128,
        {"x": ints(1000, 16), "out": np.zeros(16, np.int32)},
        lambda x, out: {"out": np.bincount(x, minlength=16).astype(np.int32)},
    ),
    "transpose": Case(
        transpose,
        16 * 24,
        64,
        {"a": floats(16, 24), "b": np.zeros((24, 16), np.float32)},
        lambda a, b: {"b": a.T},
    ),
    "stencil": Case(stencil, 150, 64, {"x": floats(150), "y": np.zeros(150, np.float32)}),
    "shuffles": Case(
        shuffles, 130, 50, {"v": ints(130), "out": np.zeros((4, 130), np.int32)}, shuffled
    ),
    "parted_warps": Case(parted_warps, 150, 60, {"v": ints(150), "bits": np.zeros(150, np.uint32)}),
    "early_return": Case(early_return, 100, 64, {"v": ints(100), "n": 77}),
    "rounds": Case(rounds, 192, 64, {"v": floats(192), "n": 5}),
    "until_calm": Case(until_calm, 128, 32, {"v": ints(128), "steps": np.zeros(128, np.int32)}),
    "agreed_branch": Case(
        agreed_branch, 128, 32, {"v": ints(128), "flag": np.array([0, 3, 1, -1], np.int32)}
    ),
    "structs": Case(structs, 96, 32, {"x": floats(96), "y": np.zeros((96, 3), np.float32)}),
    "automatic_tree": Case(
        automatic_tree, 256, 64, {"x": floats(256), "out": np.zeros(4, np.float32)}, tree_sums
    ),
    "automatic_rounds": Case(automatic_rounds, 128, 64, {"v": ints(128)}),
    "reductions": Case(
        reductions,
        270,
        100,
        {
            "x": floats(270),
            "o": np.zeros((4, 270), np.float32),
            "w": np.zeros((270, 3), np.float32),
        },
        reduced,
    ),
    "mapped": Case(
        mapped,
        128,
        64,
        {"v": ints(128)},
        lambda v: {"v": np.concatenate([x + np.roll(x, -3) + x.max() for x in v.reshape(-1, 32)])},
    ),
    "functions": Case(functions, (12, 16), 64, {"a": R.random((12, 16))}),
    "flags": Case(
        flags,
        150,
        40,
        {
            "x": np.r_[np.arange(-5, 85), [30] * 40, [0] * 20].astype(np.int32),
            "n": np.zeros((3, 150), np.int32),
            "b": np.zeros((4, 150), np.bool_),
        },
        counted,
    ),
    "extents": Case(
        extents,
        128,
        64,
        {"p": floats(128, 3), "lo": floats(2, 3), "hi": floats(2, 3)},
        spans,
    ),
}
