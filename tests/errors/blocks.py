# ruff: noqa
# fmt: off
"""Threads of a block that do not wait for each other, and builtins that are used wrongly."""

import heald as wp


@wp.kernel
def late_barrier(a: wp.array(dtype=float)):
    if a[wp.tid()] > 0.0:  #~ H0408
        wp.block_sync()


wp.launch(late_barrier, dim=2, inputs=[wp.array([0.0, 1.0], dtype=float)], block_dim=2)


@wp.kernel
def no_barrier(a: wp.array(dtype=int)):
    i = wp.thread_index()
    s = wp.shared_array(4, int)
    s[i] = a[i]
    a[i] = s[3 - i]  #~ H0409


numbers = wp.array([1, 2, 3, 4], dtype=int, device="sim")

wp.launch(no_barrier, dim=4, inputs=[numbers], device="sim", block_dim=4)


@wp.kernel
def large_tiles(a: wp.array(dtype=float)):
    s = wp.shared_array((96, 64), float)
    z = wp.shared_array((128, 64), float)  #~ H0410
    s[0, 0] = a[0]
    z[0, 0] = a[0]


@wp.kernel
def only_the_first(a: wp.array(dtype=float)):
    if wp.thread_index() == 0:
        wp.block_sync()  #~ H0408


wp.launch(only_the_first, dim=2, inputs=[wp.zeros(2, dtype=float)])


@wp.kernel
def early(a: wp.array(dtype=float)):
    t = wp.thread_index()
    if t % 2 == 1:
        return
    for k in range(3):
        wp.block_sync()  #~ H0408
    if wp.any(a[t] > 0.0, scope="block"):  #~ H0408
        a[t] = 0.0


wp.launch(early, dim=2, inputs=[wp.zeros(2, dtype=float)])


@wp.kernel
def rounds(a: wp.array(dtype=float)):
    for k in range(wp.tid() // 4):
        wp.block_sync()  #~ H0408


wp.launch(rounds, dim=2, inputs=[wp.zeros(2, dtype=float)])


@wp.kernel
def shapes(a: wp.array(dtype=float), n: int):
    x = wp.shared_array(n, float)  #~ H0107
    y = wp.shared_array((2, 0), float)  #~ H0107
    z = wp.shared_array(100000, float)  #~ H0410
    w = wp.shared_array(4, 4)  #~ H0207
    u = wp.shared_array(4, float, sync="always")  #~ H0107


@wp.kernel
def exchanges(a: wp.array(dtype=float)):
    x = a[0]
    y = wp.shuffle_down(x, x)  #~ H0201
    z = wp.shuffle_xor(a, 1)  #~ H0201
    w = wp.shuffle_idx(x)  #~ H0305


@wp.kernel
def votes(a: wp.array(dtype=float)):
    x = wp.any(a[0])  #~ H0201
    y = wp.all(a[0] > 0.0, scope="grid")  #~ H0107
    z = wp.ballot(1)  #~ H0201
    wp.block_sync(1)  #~ H0305


@wp.func
def waits(x: float):
    wp.block_sync()
    return x


@wp.func
def shares(x: float):
    s = wp.shared_array(4, float)
    s[0] = x
    return x


@wp.kernel
def maps(a: wp.array(dtype=float)):
    x = wp.warp_map(waits, a[0])  #~ H0102
    y = wp.warp_map(shares, a[0])  #~ H0102
    z = wp.warp_map(a[0], a[0])  #~ H0107


@wp.kernel
def placed_in_rounds(a: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(64, float, sync="auto")
    for k in range(t):
        s[t] = a[t]  #~ H0408
        if a[k] > 0.0:
            a[t] = 0.5
            a[t] += s[t ^ 1]  #~ H0408


wp.launch(placed_in_rounds, dim=2, inputs=[wp.zeros(2, dtype=float)])


@wp.kernel
def placed_in_a_condition(a: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(64, float, sync="auto")
    s[t] = a[t]
    for k in range(t):
        while s[63 - t] < 1.0:  #~ H0408
            s[t] = 1.0  #~ H0408


wp.launch(placed_in_a_condition, dim=2, inputs=[wp.zeros(2, dtype=float)])


@wp.kernel
def sums_of_some(a: wp.array(dtype=float), b: wp.array(dtype=wp.vec3)):
    t = wp.thread_index()
    if t < 16:
        a[t] = wp.reduce_sum(a[t])  #~ H0408
        b[t] = wp.reduce_sum(b[t]) + wp.reduce_sum(b[0])  #~ H0408 H0408


wp.launch(sums_of_some, dim=2, inputs=[wp.zeros(2, dtype=float), wp.zeros(2, dtype=wp.vec3)])


@wp.kernel
def reductions_of_others(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=bool)):
    x = wp.reduce_min(a[0])  #~ H0203
    y = wp.reduce_sum(wp.vector(b[0], b[1]))  #~ H0203
