"""Kernels of ``--suite gpu`` in the language that Heald and warp-lang share.

:mod:`benchmarks.gpu_warp` builds this text once more with the other library under the name ``wp``.
So variables that loops change are made by ``float(...)``, and nothing here is Heald's alone.
"""

import heald as wp


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    """One sum a thread: 12 bytes."""
    i = wp.tid()
    c[i] = a[i] + b[i]


@wp.kernel
def four(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
):
    """Four arrays."""
    i = wp.tid()
    d[i] = a[i] + b[i] * c[i]


@wp.kernel
def stencil(u: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float, ndim=2)):
    """Five points: 8 bytes of memory an element."""
    i, j = wp.tid()
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        out[i, j] = u[i, j] + 0.1 * (around - 4.0 * u[i, j])


def all_pairs(p: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: int):
    """The softened pull of all bodies on each."""
    i = wp.tid()
    x = p[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = p[j] - x
        inv = 1.0 / wp.sqrt(wp.dot(d, d) + 0.01)
        total += d * (inv * inv * inv)
    f[i] = total


nbody = wp.kernel(all_pairs, name="nbody")


@wp.kernel
def int_sum(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    """Everything to one element."""
    wp.atomic_add(out, 0, x[wp.tid()])


def add_floats(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """The same for floats."""
    wp.atomic_add(out, 0, x[wp.tid()])


float_sum = wp.kernel(add_floats, name="float_sum")


@wp.kernel
def density(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    radius: float,
    scale: float,
    out: wp.array(dtype=float),
):
    """The density sum of smoothed particle hydrodynamics, over neighbours from a hash grid."""
    i = wp.tid()
    xi = x[i]
    h2 = radius * radius
    total = float(0.0)  # noqa: UP018 - warp-lang tells variables from constants by it
    for j in wp.hash_grid_query(grid, xi, radius):
        d = xi - x[j]
        w = h2 - wp.dot(d, d)
        if w > 0.0:
            total += w * w * w
    out[i] = scale * total
