"""Kernels on the CPU against C++, numpy, numba and Warp, and guarded against unguarded.

Every case gives all its ways the same inputs, where they are in one process the same memory, and
the same number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import heald as wp
from benchmarks import kernels
from benchmarks.figures import Cost, Duration, Reading, Size, Speed, Work
from benchmarks.peers import Cpp, PythonPeers, bind
from benchmarks.timing import Local, Way
from heald.cli.demos.sph import REST_DENSITY, DamBreak

OURS = "heald"
CPP = "c++"
FAST = "c++ -ffast-math"
GUARDED = "guarded"
UNCHECKED = "unchecked"
CELLS = 64


@dataclass(frozen=True, slots=True)
class Bench:
    """What a case is made with: the size, the threads, and the peers that are there."""

    size: Size
    threads: int
    cpp: Cpp | None
    python: PythonPeers | None

    def pick(self, full: int, quick: int, tiny: int) -> int:
        """One of three numbers, by size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]

    def has(self, package: str) -> bool:
        """Is this package there?"""
        return self.python is not None and package in self.python.versions

    def ours(self, call: Callable[[], object], out: wp.array, threads: int | None = None) -> Local:
        """A way that launches kernels."""
        count = self.threads if threads is None else threads

        def use_threads() -> None:
            if wp.config.num_threads != count:
                wp.config.num_threads = count
                for _ in range(3):
                    call()  # a changed setting makes the launch entry anew

        return Local(call, out.numpy, use_threads, count)

    def launching(
        self,
        kernel: Any,
        dim: int | tuple[int, int],
        inputs: list[Any],
        out: wp.array,
        threads: int | None = None,
    ) -> Local:
        """A way that launches one kernel."""
        call = partial(wp.launch, kernel, dim=dim, inputs=inputs, device="cpu")
        return self.ours(call, out, threads)

    def compiled(self, name: str, out: wp.array, *arguments: Any) -> dict[str, Way]:
        """A function of ``peers.cpp`` as compiled with -O3 and with -ffast-math too."""
        if self.cpp is None:
            return {}
        libraries = {CPP: self.cpp.plain, FAST: self.cpp.fast}
        return {
            way: Local(bind(getattr(library, name), *arguments), out.numpy, threads=self.threads)
            for way, library in libraries.items()
        }

    def remote(
        self, package: str, case: str, arrays: Mapping[str, Any], **scalars: float
    ) -> dict[str, Way]:
        """The way of a package in the other interpreter, where it is there."""
        if self.python is None or not self.has(package):
            return {}
        return {package: self.python.way(package, case, arrays, scalars)}

    def guards(
        self, kernel: Any, dim: int | tuple[int, int], inputs: list[Any], out: wp.array
    ) -> dict[str, Way]:
        """The kernel with every guard, and without those of arrays."""
        named = {GUARDED: kernels.guarded_variant, UNCHECKED: kernels.unchecked_variant}
        return {
            name: self.launching(variant(kernel), dim, inputs, out)
            for name, variant in named.items()
        }


def _uniform(seed: int, *shape: int, low: float = -1.0, high: float = 1.0) -> Any:
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return values.astype(np.float32)


def saxpy(bench: Bench) -> Work:
    """``y = a x + y``; memory bound."""
    n = bench.pick(1 << 24, 1 << 22, 1000)
    x, y0 = _uniform(1, n), _uniform(2, n)
    a, y = wp.array(x), wp.array(y0)
    view = y.numpy()
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.saxpy, n, [0.5, a, y], y),
        **bench.compiled("saxpy", y, n, 0.5, a.numpy(), view),
        **bench.remote("numba", "saxpy", {"x": x, "y": y0}, a=0.5),
    }
    expected = 0.5 * x + y0
    return Work(
        ways,
        expected,
        _speeds(0.9, CPP) + _speeds(None, "numba"),
        reset=lambda: np.copyto(view, y0),
    )


def triad(bench: Bench) -> Work:
    """``a = b + s c``; memory bound."""
    n = bench.pick(1 << 24, 1 << 22, 1000)
    b, c = _uniform(1, n), _uniform(2, n)
    inputs, out = [wp.array(b), wp.array(c)], wp.zeros(n)
    arrays = [array.numpy() for array in (*inputs, out)]
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.triad, n, [0.5, *inputs, out], out),
        **bench.compiled("triad", out, n, 0.5, *arrays),
        **bench.remote("numba", "triad", {"b": b, "c": c, "a": np.zeros_like(b)}, s=0.5),
    }
    return Work(
        ways, b + np.float32(0.5) * c, _speeds(0.9, CPP) + _speeds(None, "numba"), reset=out.zero_
    )


def stencil(bench: Bench) -> Work:
    """A 5-point star on a square; the levels fit into the outer caches."""
    side = bench.pick(1024, 512, 33)
    u = _uniform(1, side, side)
    inner, v = wp.array(u), wp.zeros((side, side))
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.stencil, (side, side), [inner, v], v),
        **bench.compiled("stencil", v, side, side, inner.numpy(), v.numpy()),
        **bench.remote("numba", "stencil", {"u": u, "v": np.zeros_like(u)}),
    }
    return Work(ways, _star(u), _speeds(0.7, CPP) + _speeds(None, "numba"), reset=v.zero_)


def _star(u: Any) -> Any:
    expected = np.zeros_like(u)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    expected[1:-1, 1:-1] = u[1:-1, 1:-1] + np.float32(0.1) * (around - 4 * u[1:-1, 1:-1])
    return expected


def nbody(bench: Bench) -> Work:
    """All pairs; arithmetic bound.  The bits are those of the interpreter."""
    n = bench.pick(8192, 2048, 50)
    points = _uniform(1, 3, n)
    expected = _pulls(points)
    arrays = [wp.array(row) for row in points]
    out = wp.zeros((3, n))
    rows = [out[k] for k in range(3)]
    _same_bits_as_interpreter(points[:, :64])
    views = [array.numpy() for array in (*arrays, *rows)]
    numba_arrays = {**dict(zip("xyz", points, strict=True)), "out": np.zeros_like(points)}
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.nbody, n, [*arrays, *rows], out),
        **bench.compiled("nbody", out, n, *views),
        **bench.remote("numba", "nbody", numba_arrays),
    }
    readings = _speeds(0.85, FAST) + _speeds(2.0, CPP) + _speeds(None, "numba")
    return Work(ways, expected, readings, reset=out.zero_, relative=1e-3)


def _pulls(points: Any) -> Any:
    x = points.astype(np.float64)
    out = np.zeros_like(x)
    for begin in range(0, x.shape[1], 256):
        d = x[:, None, :] - x[:, begin : begin + 256, None]
        cube = ((d * d).sum(axis=0) + kernels.SOFTENING) ** -1.5
        out[:, begin : begin + 256] = (d * cube).sum(axis=2)
    return out


def _same_bits_as_interpreter(points: Any) -> None:
    n = points.shape[1]
    results = []
    for device in ("cpu", "sim"):
        arrays = [wp.array(row, device=device) for row in points]
        out = [wp.zeros(n, device=device) for _ in range(3)]
        wp.launch(kernels.nbody, dim=n, inputs=[*arrays, *out], device=device)
        results.append(np.stack([a.numpy() for a in out]).view(np.uint32))
    if not np.array_equal(results[0], results[1]):
        raise ValueError("n-body: the compiled kernel has other bits than the interpreter")


def sinexp(bench: Bench) -> Work:
    """``sin(x) exp(x)``; numpy works in one thread, so against it Heald does as well."""
    n = bench.pick(1 << 20, 1 << 18, 1000)
    x = _uniform(1, n, low=-8.0, high=8.0)
    source, out = wp.array(x), wp.zeros(n)
    wide = x.astype(np.float64)
    result, part = np.empty_like(x), np.empty_like(x)

    def in_numpy() -> None:
        np.sin(x, out=result)
        np.exp(x, out=part)
        np.multiply(result, part, out=result)

    single = f"{OURS}, 1 thread"
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.sinexp, n, [source, out], out),
        single: bench.launching(kernels.sinexp, n, [source, out], out, threads=1),
        "numpy": Local(in_numpy, lambda: result),
        **bench.compiled("sinexp", out, n, source.numpy(), out.numpy()),
        **bench.remote("numba", "sinexp", {"x": x, "y": np.zeros_like(x)}),
    }
    readings: tuple[Reading, ...] = (
        *_speeds(0.8, FAST),
        *_speeds(2.5, "numpy", single),
        *_speeds(None, "numba"),
    )
    return Work(ways, np.sin(wide) * np.exp(wide), readings, reset=out.zero_)


def mandelbrot(bench: Bench) -> Work:
    """Divergent loops.  A few pixels at the rim of the set depend on the rounding."""
    side = bench.pick(1024, 256, 24)
    view = (-0.743643, 0.131825, 0.6 / side)
    count = wp.zeros((side, side), dtype=int)
    plain = np.zeros((side, side), np.int32)
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.mandelbrot, (side, side), [*view, count], count),
        **bench.compiled("mandelbrot", count, side, *view, np.int32(kernels.LIMIT), count.numpy()),
        **bench.remote(
            "numba",
            "mandelbrot",
            {"count": plain},
            **dict(zip(("centre_x", "centre_y", "scale"), view, strict=True)),
        ),
    }
    expected = _escapes(side, *view)
    readings = _speeds(0.7, CPP) + _speeds(None, "numba")
    return Work(ways, expected, readings, reset=count.zero_, relative=1e-6, different=0.03)


def _escapes(side: int, centre_x: float, centre_y: float, scale: float) -> Any:
    place = (np.arange(side, dtype=np.float32) - np.float32(side * 0.5)) * np.float32(scale)
    cx = np.tile(place + np.float32(centre_x), side)
    cy = np.repeat(place + np.float32(centre_y), side)
    count, active = np.zeros(side * side, np.int32), np.arange(side * side)
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    for _ in range(kernels.LIMIT):
        stays = x * x + y * y <= 4
        active, x, y, cx, cy = (a[stays] for a in (active, x, y, cx, cy))
        count[active] += 1
        x, y = x * x - y * y + cx, 2 * x * y + cy
    return count.reshape(side, side)


def density(bench: Bench) -> Work:
    """The density sum over neighbours from a hash grid that is built already."""
    n = bench.pick(100_000, 20_000, 500)
    scene = DamBreak(n, "cpu")
    x = scene.x.numpy() + _uniform(1, n, 3) * np.float32(0.2 * scene.spacing)
    radius = float(np.float32(scene.radius))
    scale = float(np.float32(scene.mass * kernels.POLY6 / radius**9))
    points, out = wp.array(x, dtype=wp.vec3), wp.zeros(n)
    grid = wp.HashGrid(CELLS, CELLS, CELLS)
    grid.build(points, radius)
    expected, in_cpp = _summed(bench, points.numpy(), radius, scale, out)
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.density, n, [grid.id, points, radius, scale, out], out),
        **in_cpp,
        **bench.remote("warp", "density", {"x": x}, radius=radius, scale=scale, cells=CELLS),
        "hash grid build": bench.ours(partial(grid.build, points, radius), out),
    }
    readings = (
        *_speeds(3.0, "warp"),
        *_speeds(None, CPP),
        Duration(OURS),
        Duration("hash grid build"),
    )
    return Work(ways, expected, readings, relative=1e-4, held=grid)


def _summed(
    bench: Bench, x: Any, radius: float, scale: float, out: wp.array
) -> tuple[Any, dict[str, Way]]:
    """The densities as float64 sums in numpy, and C++ on cell lists of its own."""
    n = len(x)
    expected = np.zeros(n)
    wide = x.astype(np.float64)
    cell = np.floor(wide / radius).astype(np.int64) + 1
    dims = cell.max(axis=0) + 2
    flat = (cell[:, 0] * dims[1] + cell[:, 1]) * dims[2] + cell[:, 2]
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(int(np.prod(dims)) + 1))
    around = np.array([(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)])
    for step in around @ np.array([dims[1] * dims[2], dims[2], 1]):
        begin, end = starts[flat + step], starts[flat + step + 1]
        for k in range(int((end - begin).max())):
            here = np.flatnonzero(begin + k < end)
            d = wide[here] - wide[order[begin[here] + k]]
            w = np.maximum(radius * radius - (d * d).sum(axis=1), 0.0)
            expected[here] += w**3
    expected *= scale
    low = np.full(3, -radius, np.float32)
    sizes = dims.astype(np.int32)
    own_starts, ids = np.zeros(int(np.prod(dims)) + 1, np.int32), np.zeros(n, np.int32)
    if bench.cpp is None:
        return expected, {}
    bind(bench.cpp.plain.build_cells, n, x, radius, low, sizes, own_starts, ids)()
    arguments = (n, x, radius, low, sizes, own_starts, ids, scale, out.numpy())
    return expected, bench.compiled("density", out, *arguments)


def scan(bench: Bench) -> Work:
    """Running sums of integers."""
    n = bench.pick(1 << 23, 1 << 21, 9000)
    values = np.random.default_rng(1).integers(-1000, 1000, n).astype(np.int32)
    source, out = wp.array(values), wp.zeros(n, dtype=int)
    summed = np.empty_like(values)
    ways: dict[str, Way] = {
        OURS: bench.ours(partial(wp.utils.array_scan, source, out), out),
        "numpy": Local(lambda: np.cumsum(values, dtype=np.int32, out=summed), lambda: summed),
        **bench.compiled("scan", out, n, source.numpy(), out.numpy()),
    }
    expected = np.cumsum(values, dtype=np.int32)
    readings = _speeds(0.7, CPP) + _speeds(None, "numpy")
    return Work(ways, expected, readings, reset=out.zero_, relative=0.0)


def sort(bench: Bench) -> Work:
    """Pairs sorted by unsigned keys; each run begins with a copy of the unsorted ones."""
    n = bench.pick(1 << 21, 1 << 19, 2000)
    keys = np.random.default_rng(1).integers(0, 1 << 32, n).astype(np.uint32)
    values = np.arange(n, dtype=np.int32)
    own_keys, own = wp.zeros(2 * n, dtype=wp.uint32), wp.zeros(2 * n, dtype=int)
    key_view, view = own_keys.numpy(), own.numpy()

    def fill() -> None:
        key_view[:n] = keys
        view[:n] = values

    def ours() -> None:
        fill()
        wp.utils.radix_sort_pairs(own_keys, own, n)

    ordered = np.empty_like(values)

    def in_numpy() -> None:
        ordered[:] = np.argsort(keys, kind="stable")

    ways: dict[str, Way] = {
        OURS: bench.ours(ours, own[:n]),
        "numpy": Local(in_numpy, lambda: ordered),
    }
    for name, way in bench.compiled("sort_pairs", own[:n], n, key_view, view).items():
        assert isinstance(way, Local)
        ways[name] = replace(way, call=partial(_in_turn, fill, way.call))
    readings = _speeds(0.7, CPP) + _speeds(None, "numpy")
    return Work(ways, np.argsort(keys, kind="stable"), readings, relative=0.0)


def _in_turn(*calls: Callable[[], object]) -> None:
    for call in calls:
        call()


def matvec(bench: Bench) -> Work:
    """A 3x3 matrix times a vector for each thread; memory bound."""
    n = bench.pick(1 << 21, 1 << 19, 1000)
    m, x = _uniform(1, n, 3, 3), _uniform(2, n, 3)
    matrices, vectors = wp.array(m, dtype=wp.mat33), wp.array(x, dtype=wp.vec3)
    out = wp.zeros(n, dtype=wp.vec3)
    views = [a.numpy() for a in (matrices, vectors, out)]
    ways: dict[str, Way] = {
        OURS: bench.launching(kernels.matvec, n, [matrices, vectors, out], out),
        **bench.compiled("matvec", out, n, *views),
    }
    expected = np.einsum("nij,nj->ni", m, x)
    return Work(ways, expected, _speeds(0.9, CPP), reset=out.zero_)


# ------------------------------------------------------------------------------ guards and the demo


def streaming_guards(bench: Bench) -> Work:
    """saxpy, small enough for the inner caches, so that memory does not hide what guards cost."""
    n = bench.pick(1 << 17, 1 << 17, 1000)
    x, y0 = _uniform(1, n), _uniform(2, n)
    y = wp.array(y0)
    ways = bench.guards(kernels.saxpy, n, [0.5, wp.array(x), y], y)
    reset = partial(np.copyto, y.numpy(), y0)
    return Work(ways, 0.5 * x + y0, _guard_cost(1.15), reset=reset)


def stencil_guards(bench: Bench) -> Work:
    """The 5-point star."""
    side = bench.pick(1024, 512, 33)
    u = _uniform(1, side, side)
    v = wp.zeros((side, side))
    ways = bench.guards(kernels.stencil, (side, side), [wp.array(u), v], v)
    return Work(ways, _star(u), _guard_cost(1.25), reset=v.zero_)


def nbody_guards(bench: Bench) -> Work:
    """All pairs."""
    n = bench.pick(8192, 2048, 50)
    points = _uniform(1, 3, n)
    out = wp.zeros((3, n))
    inputs = [*(wp.array(row) for row in points), *(out[k] for k in range(3))]
    ways = bench.guards(kernels.nbody, n, inputs, out)
    return Work(ways, _pulls(points), _guard_cost(1.25), reset=out.zero_, relative=1e-3)


def gather_guards(bench: Bench) -> Work:
    """``y[i] = 2 x[where[i]]``: an index from memory is never proved."""
    n = bench.pick(1 << 18, 1 << 18, 1000)
    x = _uniform(1, n)
    where = np.random.default_rng(2).integers(0, n, n).astype(np.int32)
    places, source, y = wp.array(where), wp.array(x), wp.zeros(n)
    ways = bench.guards(kernels.gather, n, [places, source, y], y)
    compiled = bench.compiled("gather", y, n, places.numpy(), source.numpy(), y.numpy())
    ways |= {CPP: compiled[CPP]} if compiled else {}
    readings = (*_guard_cost(1.5), *_speeds(None, CPP, GUARDED))
    return Work(ways, 2 * x[where], readings, reset=y.zero_)


def density_guards(bench: Bench) -> Work:
    """The density sum over neighbours."""
    n = bench.pick(100_000, 20_000, 500)
    scene = DamBreak(n, "cpu")
    x = scene.x.numpy() + _uniform(1, n, 3) * np.float32(0.2 * scene.spacing)
    radius = float(np.float32(scene.radius))
    scale = float(np.float32(scene.mass * kernels.POLY6 / radius**9))
    points, out = wp.array(x, dtype=wp.vec3), wp.zeros(n)
    grid = wp.HashGrid(CELLS, CELLS, CELLS)
    grid.build(points, radius)
    expected, _ = _summed(bench, points.numpy(), radius, scale, out)
    ways = bench.guards(kernels.density, n, [grid.id, points, radius, scale, out], out)
    readings = _guard_cost(1.5)
    return Work(ways, expected, readings, reset=out.zero_, relative=1e-4, held=grid)


def demo_sph(bench: Bench) -> Work:
    """``heald demo sph``: one step of the dam break.  The check looks at the first density."""
    scene = DamBreak(bench.pick(100_000, 20_000, 500), "cpu")
    x = scene.x.numpy().copy()
    scale = scene.mass * kernels.POLY6 / scene.radius**9
    expected, _ = _summed(bench, x, float(np.float32(scene.radius)), scale, scene.density)
    if not 0.5 * REST_DENSITY < np.median(expected) < 1.5 * REST_DENSITY:
        raise ValueError("the water of the demo has not the density of water")
    limit = 75.0 if bench.size == "full" else None
    ways: dict[str, Way] = {"step": bench.ours(scene.step, scene.density)}
    return Work(ways, expected, (Duration("step", limit),), relative=1e-3)


def _speeds(limit: float | None, peer: str, way: str = OURS) -> tuple[Reading, ...]:
    return (Speed(way, peer, limit),)


def _guard_cost(limit: float) -> tuple[Reading, ...]:
    return (Cost(GUARDED, UNCHECKED, limit),)


CASES: Mapping[str, Callable[[Bench], Work]] = {
    "saxpy": saxpy,
    "triad": triad,
    "stencil": stencil,
    "nbody": nbody,
    "sinexp": sinexp,
    "mandelbrot": mandelbrot,
    "density": density,
    "scan": scan,
    "sort": sort,
    "matvec": matvec,
    "guard stream": streaming_guards,
    "guard star": stencil_guards,
    "guard nbody": nbody_guards,
    "guard gather": gather_guards,
    "guard sph": density_guards,
    "demo sph": demo_sph,
}
