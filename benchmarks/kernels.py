"""The kernels that ``benchmarks.cpu`` and ``benchmarks.library`` time, written as a user would.

``heald dump benchmarks/kernels.py::nbody --stage asm --bounds`` shows what one becomes.
"""

from __future__ import annotations

from typing import Any

import heald as wp
from heald.artifact import LaunchCondition

LIMIT = 200
SOFTENING = 0.01
POLY6 = 1.5666814710608448  # 315 / (64 pi)


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)) -> None:
    """``y = a x + y``."""
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def triad(
    s: float, b: wp.array(dtype=float), c: wp.array(dtype=float), a: wp.array(dtype=float)
) -> None:
    """``a = b + s c``."""
    i = wp.tid()
    a[i] = b[i] + s * c[i]


@wp.kernel
def stencil(u: wp.array(dtype=float, ndim=2), v: wp.array(dtype=float, ndim=2)) -> None:
    """One explicit step of the heat equation on a 5-point star; the rim is zero."""
    i, j = wp.tid()
    if i == 0 or j == 0 or i == u.shape[0] - 1 or j == u.shape[1] - 1:
        v[i, j] = 0.0
        return
    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
    v[i, j] = u[i, j] + 0.1 * (around - 4.0 * u[i, j])


@wp.kernel
def nbody(
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
    z: wp.array(dtype=float),
    ax: wp.array(dtype=float),
    ay: wp.array(dtype=float),
    az: wp.array(dtype=float),
) -> None:
    """The softened pull of all bodies on each."""
    i = wp.tid()
    xi = x[i]
    yi = y[i]
    zi = z[i]
    sx = 0.0
    sy = 0.0
    sz = 0.0
    for j in range(x.shape[0]):
        dx = x[j] - xi
        dy = y[j] - yi
        dz = z[j] - zi
        r2 = dx * dx + dy * dy + dz * dz + SOFTENING
        inverse = 1.0 / wp.sqrt(r2)
        cube = inverse * inverse * inverse
        sx += dx * cube
        sy += dy * cube
        sz += dz * cube
    ax[i] = sx
    ay[i] = sy
    az[i] = sz


@wp.kernel
def sinexp(x: wp.array(dtype=float), y: wp.array(dtype=float)) -> None:
    """``y = sin(x) exp(x)``."""
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(x[i])


@wp.kernel
def mandelbrot(
    centre_x: float, centre_y: float, scale: float, count: wp.array(dtype=int, ndim=2)
) -> None:
    """How many iterations each pixel takes to leave."""
    i, j = wp.tid()
    half = float(count.shape[0]) * 0.5
    cx = (float(j) - half) * scale + centre_x
    cy = (float(i) - half) * scale + centre_y
    x = 0.0
    y = 0.0
    n = 0
    while n < LIMIT and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    count[i, j] = n


@wp.kernel
def gather(where: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)) -> None:
    """``y[i] = 2 x[where[i]]``."""
    i = wp.tid()
    y[i] = 2.0 * x[where[i]]


@wp.kernel
def matvec(
    m: wp.array(dtype=wp.mat33), x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)
) -> None:
    """A matrix times a vector, for each thread its own."""
    i = wp.tid()
    y[i] = m[i] * x[i]


@wp.kernel
def inverse33(a: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33)) -> None:
    """The inverse of a matrix."""
    i = wp.tid()
    out[i] = wp.inverse(a[i])


@wp.kernel
def svd33(
    a: wp.array(dtype=wp.mat33),
    u: wp.array(dtype=wp.mat33),
    v: wp.array(dtype=wp.mat33),
    sigma: wp.array(dtype=wp.vec3),
) -> None:
    """The singular value decomposition of a matrix."""
    i = wp.tid()
    left, values, right = wp.svd3(a[i])
    u[i] = left
    v[i] = right
    sigma[i] = values


@wp.kernel
def density(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    radius: float,
    scale: float,
    out: wp.array(dtype=float),
) -> None:
    """The density sum of smoothed particle hydrodynamics, over neighbours from a hash grid."""
    i = wp.tid()
    xi = x[i]
    h2 = radius * radius
    total = 0.0
    for j in wp.hash_grid_query(grid, xi, radius):
        d = xi - x[j]
        w = h2 - wp.dot(d, d)
        if w > 0.0:
            total += w * w * w
    out[i] = scale * total


def guarded_variant(kernel: Any) -> Any:
    """The same kernel with the guards that stay where the launch condition does not hold.

    Its launches here do fulfil the condition, so the condition is taken away.
    """
    made = _variant(kernel, "auto", "guarded")
    made.program(made.concrete_types())._analysed.condition = LaunchCondition(())
    return made


def unchecked_variant(kernel: Any) -> Any:
    """The same kernel without the guards of arrays."""
    return _variant(kernel, "unchecked", "unchecked")


def _variant(kernel: Any, safety: str, called: str) -> Any:
    name = f"{kernel.key}_{called}"
    return wp.kernel(kernel.__wrapped__, name=name, module=f"{__name__}.{called}", safety=safety)
