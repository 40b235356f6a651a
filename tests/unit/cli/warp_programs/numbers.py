# ruff: noqa
# fmt: off
"""Kernels that compute something else, or that are refused, under Heald."""

import warp as wp  #~ import


@wp.struct
class Grid:
    data: wp.array(dtype=float)
    size: int


@wp.struct
class World:
    grid: Grid


@wp.kernel
def numbers(a: wp.array(dtype=int), b: wp.array(dtype=wp.float32), n: int, w: wp.uint32):
    i = wp.tid()
    half = i / 2  #~ int-division
    n /= 3  #~ int-division
    mean = a[0] / len(a)  #~ int-division
    exact = float(i) / 2.0
    mixed = b[i] / float(n)
    r = (i - n) % 4  #~ remainder
    s = i % 4
    t = a[i] % 4  #~ remainder
    u = i % -4  #~ remainder
    v = w % wp.uint32(7)
    x = b[0] % 2.0  #~ remainder
    y = wp.abs(a[0]) % 3
    z = wp.max(n, 0) % 3
    q = 5
    for k in range(3):
        q = q + k
    p = q % 3
    for d in range(9, -1, -1):
        p = d % 2
    for e in range(9, -9, -1):
        p = e % 2  #~ remainder


@wp.func
def paths(a: wp.array(dtype=float), i: int):
    if i > 3:
        x = 1.0
    elif i > 1:
        x = 2.0
    else:
        return 0.0
    if i > 2:
        y = x
    for k in range(i):
        z = 1.0
    if wp.static(True):
        c = 1.0
    for k in range(3):
        pass
    return x + y + z + c + float(k)  #~ unset-variable unset-variable


@wp.kernel
def indices(a: wp.array(dtype=float), v: wp.array2d(dtype=wp.vec3), n: int, s: int):
    i, j = wp.tid()
    last = a[-1]
    a[-n] = last  #~ negative-index
    b = a[i - 1]  #~ negative-index
    if j > 0:
        b = b + v[i, j - 1][0]
    where = -1
    if b > 0.0:
        where = 2
    a[where] = 1.0  #~ negative-index
    part = a[0:4:s]  #~ slice-step
    for k in range(2):
        b = b + float(v.shape[k])  #~ unrolled-loop
        b = b + wp.static(k * 2)  #~ unrolled-loop
    for k in reversed(range(3)):  #~ reversed
        b = b + 1.0
    for k in wp.static(range(2)):
        b = b + float(v.shape[k])
    p = wp.vec3(*a[:3])  #~ spread
    m = wp.types.vector(1.0, 2.0)  #~ types-constructor
    e = a[0] or b  #~ bool-operator
    f = n > 0 and j > 0
    if i and not j:
        f = True


@wp.kernel
def optional(a: wp.array(dtype=float), b: "wp.array(dtype=float)", worlds: wp.array(dtype=World)):  #~ struct-array-element
    i = wp.tid()
    if b and i > 0:  #~ array-truth
        a[i] = b[i]
    a[0] = wp.where(b, 1.0, 2.0)  #~ array-truth
    g = Grid()  #~ struct-default
    c = wp.array(ptr=wp.uint64(0), shape=(4,), dtype=float)  #~ kernel-array


@wp.kernel
def results(m: wp.array(dtype=wp.mat33), q: wp.array(dtype=wp.quat), s: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    U = wp.mat33()
    V = wp.mat33()
    sigma = wp.vec3()
    wp.svd3(m[i], U, sigma, V)  #~ results-as-arguments other-results
    U, sigma, V = wp.svd3(m[i])  #~ other-results
    w = wp.spatial_vector(1.0, dtype=float)  #~ spatial-dtype
    x = wp.randf(s[i])  #~ random-state
    x = wp.randf(wp.rand_init(1, i))
    state = s[i]
    x = wp.randf(state)


@wp.kernel
def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for j in wp.hash_grid_query(grid, points[i], 1.0):  #~ hash-grid-order
        total += wp.length(points[j])
    out[i] = total


worlds = wp.zeros(4, dtype=World)  #~ struct-array-element
grids = wp.empty(4, dtype=Grid)  #~ struct-array-element
wp.launch(indices, dim=(4, 4), inputs=[])
wp.launch(indices, dim=[4], inputs=[])  #~ launch-rank
wp.launch(kernel=numbers, dim=(4, 4), inputs=[])  #~ launch-rank
wp.launch(numbers, dim=(*grids.shape, 1), inputs=[])
identity = wp.transform()  #~ empty-transform
