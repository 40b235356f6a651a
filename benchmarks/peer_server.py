"""numba and Warp, asked over pipes by ``peers.py``: one JSON object a line, in and out.

It runs in the environment that ``--peers`` names, which has no Heald.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the packages print must not come between the answers

try:
    import numba
except ImportError:
    numba = None
try:
    import warp
except ImportError:
    warp = None

LIMIT = 200


# ------------------------------------------------------------------------------------------- numba


def numba_ways() -> dict[str, Any]:
    """Case to a function of arrays and scalars that gives (call, output)."""
    loop = numba.njit(parallel=True)
    fast = numba.njit(parallel=True, fastmath=True)

    @loop
    def saxpy(a, x, y):
        for i in numba.prange(len(x)):
            y[i] = a * x[i] + y[i]

    @loop
    def triad(s, b, c, a):
        for i in numba.prange(len(a)):
            a[i] = b[i] + s * c[i]

    @loop
    def stencil(u, v):
        rows, columns = u.shape
        for i in numba.prange(rows):
            for j in range(columns):
                if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
                    v[i, j] = np.float32(0)
                else:
                    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    v[i, j] = u[i, j] + np.float32(0.1) * (around - np.float32(4) * u[i, j])

    @fast
    def nbody(x, y, z, out):
        for i in numba.prange(len(x)):
            sx = sy = sz = np.float32(0)
            for j in range(len(x)):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                r2 = dx * dx + dy * dy + dz * dz + np.float32(0.01)
                inverse = np.float32(1) / np.sqrt(r2)
                cube = inverse * inverse * inverse
                sx += dx * cube
                sy += dy * cube
                sz += dz * cube
            out[0, i], out[1, i], out[2, i] = sx, sy, sz

    @fast
    def sinexp(x, y):
        for i in numba.prange(len(x)):
            y[i] = np.sin(x[i]) * np.exp(x[i])

    @loop
    def mandelbrot(centre_x, centre_y, scale, count):
        side = count.shape[0]
        half = np.float32(side * 0.5)
        for i in numba.prange(side):
            for j in range(side):
                cx = (np.float32(j) - half) * scale + centre_x
                cy = (np.float32(i) - half) * scale + centre_y
                x = y = np.float32(0)
                n = 0
                while n < LIMIT and x * x + y * y <= np.float32(4):
                    x, y = x * x - y * y + cx, np.float32(2) * x * y + cy
                    n += 1
                count[i, j] = n

    def one(f, *arguments, out):
        return lambda: f(*arguments), lambda: out

    f32 = np.float32
    return {
        "saxpy": lambda d, a: one(saxpy, f32(a), d["x"], d["y"], out=d["y"]),
        "triad": lambda d, s: one(triad, f32(s), d["b"], d["c"], d["a"], out=d["a"]),
        "stencil": lambda d: one(stencil, d["u"], d["v"], out=d["v"]),
        "nbody": lambda d: one(nbody, d["x"], d["y"], d["z"], d["out"], out=d["out"]),
        "sinexp": lambda d: one(sinexp, d["x"], d["y"], out=d["y"]),
        "mandelbrot": lambda d, centre_x, centre_y, scale: one(
            mandelbrot, f32(centre_x), f32(centre_y), f32(scale), d["count"], out=d["count"]
        ),
    }


# -------------------------------------------------------------------------------------------- warp


def warp_ways() -> dict[str, Any]:
    """As :func:`numba_ways`."""
    wp = warp
    wp.config.quiet = True
    wp.init()

    @wp.kernel
    def density(
        grid: wp.uint64,
        x: wp.array(dtype=wp.vec3),
        radius: float,
        scale: float,
        out: wp.array(dtype=float),
    ):
        i = wp.tid()
        xi = x[i]
        h2 = radius * radius
        total = float(0.0)  # noqa: UP018 - Warp tells variables from constants by it
        for j in wp.hash_grid_query(grid, xi, radius):
            d = xi - x[j]
            w = h2 - wp.dot(d, d)
            if w > 0.0:
                total += w * w * w
        out[i] = scale * total

    def make_density(d, radius, scale, cells):
        x = wp.array(d["x"], dtype=wp.vec3, device="cpu")
        out = wp.zeros(len(x), dtype=float, device="cpu")
        grid = wp.HashGrid(int(cells), int(cells), int(cells), device="cpu")
        grid.build(x, radius)
        inputs = [grid.id, x, radius, scale, out]

        def call(_grid=grid):
            wp.launch(density, dim=len(x), inputs=inputs, device="cpu")

        return call, out.numpy

    @wp.kernel
    def inverse33(a: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33)):
        i = wp.tid()
        out[i] = wp.inverse(a[i])

    def make_inverse33(d):
        a = wp.array(d["a"], dtype=wp.mat33, device="cpu")
        out = wp.zeros(len(a), dtype=wp.mat33, device="cpu")
        return lambda: wp.launch(inverse33, len(a), [a, out], device="cpu"), out.numpy

    @wp.kernel
    def svd33(
        a: wp.array(dtype=wp.mat33),
        u: wp.array(dtype=wp.mat33),
        v: wp.array(dtype=wp.mat33),
        sigma: wp.array(dtype=wp.vec3),
    ):
        i = wp.tid()
        left, values, right = wp.svd3(a[i])
        u[i] = left
        v[i] = right
        sigma[i] = values

    def make_svd33(d):
        a = wp.array(d["a"], dtype=wp.mat33, device="cpu")
        u, v = (wp.zeros(len(a), dtype=wp.mat33, device="cpu") for _ in range(2))
        sigma = wp.zeros(len(a), dtype=wp.vec3, device="cpu")

        def found():
            return np.sort(np.abs(sigma.numpy()), axis=1)

        return lambda: wp.launch(svd33, len(a), [a, u, v, sigma], device="cpu"), found

    return {"density": make_density, "inverse33": make_inverse33, "svd33": make_svd33}


# ------------------------------------------------------------------------------------------ server


def answer(order: dict[str, Any], made: dict[str, Any]) -> Any:
    """Carry out one order."""
    match order["order"]:
        case "versions":
            known = {"numba": numba, "warp": warp, "numpy": np}
            return {name: m.__version__ for name, m in known.items() if m is not None}
        case "sample":
            if order["name"] not in made:
                ways = {"numba": numba_ways, "warp": warp_ways}[order["package"]]()
                data = dict(np.load(order["path"]))
                made[order["name"]] = ways[order["case"]](data, **order["scalars"])
            call, _ = made[order["name"]]
            repeats = order["repeats"]
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(repeats):
                call()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            return [wall / repeats, cpu / repeats]
        case "result":
            np.save(order["path"], made[order["name"]][1]())
            return None
    raise ValueError(f"no order {order['order']!r}")


def main() -> None:
    """Answer until the input ends."""
    made: dict[str, Any] = {}
    for line in sys.stdin:
        try:
            said = {"answer": answer(json.loads(line), made)}
        except Exception as error:  # noqa: BLE001 - whatever it is, the asker shall hear of it
            said = {"error": f"{type(error).__name__}: {error}"}
        ANSWERS.write(json.dumps(said) + "\n")
        ANSWERS.flush()


if __name__ == "__main__":
    main()
