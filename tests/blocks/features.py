"""Features of the language in kernels whose threads meet: what lives across a barrier, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
from blocks.kernels import Case, floats, ints

import heald as wp


@wp.kernel
def views(x: wp.array(dtype=float, ndim=2), y: wp.array(dtype=float, ndim=2)):
    i, j = wp.tid()
    t = wp.thread_index()
    tile = wp.shared_array((8, 8), float)
    own = wp.zeros(shape=(2, 3), dtype=float)
    row = tile[t // 8]
    line = own[1]
    part = x[i, 1:5]
    row[t % 8] = x[i, j]
    line[t % 3] = part[t % 4]
    wp.block_sync()
    other = tile[:, t // 8]
    wp.block_sync()
    y[i, j] = other[t % 8] + line[0] + line[1] * 2.0 + line[2] * 4.0 + part[0] + own[1, t % 3]


@wp.kernel
def kinds(
    a: wp.array(dtype=wp.float64),
    b: wp.array(dtype=wp.uint8),
    c: wp.array(dtype=wp.float16),
    d: wp.array(dtype=wp.int64),
    e: wp.array(dtype=wp.bool),
):
    i = wp.tid()
    p = a[i]
    q = b[i]
    r = c[i]
    s = d[i]
    f = e[i]
    h = wp.bfloat16(p)
    wp.block_sync()
    p = wp.shuffle_down(p, 1) + p
    q = wp.shuffle_up(q, 1) + q
    r = wp.shuffle_xor(r, 1) + r
    s = wp.shuffle_idx(s, 3) + s
    f = wp.shuffle_xor(f, 2) and not f
    h = wp.shuffle_down(h, 2)
    wp.block_sync()
    a[i] = p + wp.float64(h) + wp.reduce_max(p)
    b[i] = q + wp.reduce_min(q)
    c[i] = r
    d[i] = s + wp.reduce_sum(s)
    e[i] = f


@wp.func
def settle(s: wp.array(dtype=int), n: int):
    t = wp.thread_index()
    for k in range(10):
        s[t] = s[t] + k
        wp.block_sync()
        if k == n:
            return s[wp.block_dim() - 1 - t]
        wp.block_sync()
    return -1


@wp.kernel
def returns(v: wp.array(dtype=int), n: int):
    i = wp.tid()
    s = wp.shared_array(32, int)
    s[wp.thread_index()] = v[i]
    wp.block_sync()
    x = settle(s, n)
    wp.block_sync()
    y = settle(s, n + 20)
    k = 0
    while True:
        wp.block_sync()
        k += 1
        if k > n:
            break
        if k % 2 == 0:
            continue
        x += wp.shuffle_down(x, 1)
    v[i] = x + 1000 * y


@wp.kernel
def generic(x: wp.array(dtype=wp.Any), y: wp.array(dtype=wp.Any)):
    i = wp.tid()
    z = wp.reduce_sum(x[i])
    y[i] = z - x[i]


@wp.kernel
def nested_masks(v: wp.array(dtype=int)):
    i = wp.tid()
    x = v[i]
    if x % 2 == 0:
        x += wp.shuffle_xor(x, 1)
        if x % 3 == 0:
            x += wp.shuffle_xor(x, 2)
            k = 0
            while k < x % 4:
                x += wp.shuffle_down(x, 1) & 3
                if x % 7 == 0:
                    break
                k += 1
        else:
            x -= wp.shuffle_up(x, 1)
        x += int(wp.bit_count(wp.ballot(x > 10)))
    elif x % 3 == 0:
        for k in range(x % 5):
            if wp.any(x % 4 == k):
                x += wp.reduce_sum(k, scope="warp")
    v[i] = x


@wp.kernel
def own_arrays(v: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    total = 0
    for k in range(3):
        stack = wp.zeros(shape=4, dtype=int)
        stack[(t + k) % 4] = v[i] + k
        s[t] = stack[k % 4]
        wp.block_sync()
        stack[(t + 1) % 4] += s[(t + 1) % wp.block_threads()]
        wp.block_sync()
        for m in range(4):
            total += stack[m] * (m + 1)
    v[i] = total


@wp.kernel
def one_thread_each(v: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(1, int)
    s[0] = v[i]
    wp.block_sync()
    v[i] = s[0] + wp.reduce_sum(v[i]) + wp.shuffle_down(v[i], 1) + wp.block_index()


@wp.kernel
def updates(v: wp.array(dtype=int), w: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array((7, 4), int)
    f = wp.shared_array(4, float)
    b = wp.shared_array(4, wp.bool)
    if t < 7:
        for k in range(4):
            s[t, k] = 60 * (k % 2)
    if t < 4:
        f[t] = 0.5
        b[t] = False
    wp.block_sync()
    row = s[t % 2]
    row[0] += v[i]
    row[1] -= v[i]
    wp.atomic_max(s, 2, 0, v[i])
    wp.atomic_min(s, 3, 1, v[i])
    s[4, t % 4] |= v[i]
    s[5, t % 4] ^= v[i]
    s[6, 1] &= v[i] | 8
    wp.atomic_max(f, t % 4, w[i])
    if v[i] > 40:
        b[t % 4] |= True
    if t == 0:
        wp.atomic_exch(s, 2, 2, v[i])
        wp.atomic_cas(s, 2, 3, 60, v[i])
    wp.block_sync()
    x = 0
    for k in range(7):
        x = x * 3 + s[k, t % 4]
    if b[t % 4]:
        x += 1
    v[i] = x
    w[i] = f[t % 4]


@wp.kernel
def tiled_bodies(p: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    t = wp.thread_index()
    here = wp.block_threads()
    s = wp.shared_array(64, wp.vec3)
    x = p[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for tile in range((p.shape[0] + here - 1) // here):
        s[t] = p[wp.min(tile * here + t, p.shape[0] - 1)]
        wp.block_sync()
        for k in range(here):
            d = s[k] - x
            r2 = wp.dot(d, d) + 0.01
            if r2 < 0.5:
                total += d * (1.0 / (r2 * wp.sqrt(r2)))
        wp.block_sync()
    f[i] = total


@wp.kernel
def tiled_columns(a: wp.array(dtype=float, ndim=2), b: wp.array(dtype=float, ndim=2)):
    i, j = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array((4, 40), float)
    s[0, t] = a[i, j]
    s[1, t] = float(i) + 0.25 * float(j)
    wp.block_sync()
    total = 0.0
    for k in range(wp.block_threads()):
        if (k + t) % 3 == 0:
            total += s[0, k] * s[1, t]
        else:
            total = wp.max(total, s[1, k])
    s[2, t] = total
    wp.block_sync()
    b[i, j] = s[2, (t + 1) % wp.block_threads()]


def halves(*shape: int) -> Any:
    return (floats(*shape) * 8).astype(np.float16)


FEATURES = {
    "views": Case(views, (8, 8), 64, {"x": floats(8, 8), "y": np.zeros((8, 8), np.float32)}),
    "kinds": Case(
        kinds,
        90,
        40,
        {
            "a": floats(90).astype(np.float64),
            "b": ints(90).astype(np.uint8),
            "c": halves(90),
            "d": ints(90).astype(np.int64) << 33,
            "e": ints(90) % 2 == 0,
        },
    ),
    "returns": Case(returns, 64, 32, {"v": ints(64), "n": 4}),
    "nested_masks": Case(nested_masks, 130, 50, {"v": ints(130)}),
    "own_arrays": Case(own_arrays, 100, 40, {"v": ints(100)}),
    "tiled_bodies": Case(
        tiled_bodies, 150, 64, {"p": floats(150, 3), "f": np.zeros((150, 3), np.float32)}
    ),
    "tiled_columns": Case(
        tiled_columns, (9, 11), 40, {"a": floats(9, 11), "b": np.zeros((9, 11), np.float32)}
    ),
    "updates": Case(updates, 100, 40, {"v": ints(100), "w": floats(100)}),
    "one_thread_each": Case(one_thread_each, 5, 1, {"v": ints(5)}),
}
