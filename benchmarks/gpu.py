"""``--suite gpu``: what launches cost, and kernels against CUDA C, CUB and warp-lang.

Times of kernels are those of the GPU, by events around some launches one behind the other.  Every
result is compared with what numpy or the peer makes.  What a peer cannot do is skipped.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import heald as wp
from benchmarks import gpu_cold, gpu_kernels
from benchmarks.cores import pace
from benchmarks.figures import Figure
from benchmarks.gpu_peers import Peers, driver_costs
from benchmarks.gpu_timing import (
    DEVICE,
    MissingError,
    checked,
    graph_milliseconds,
    least,
    milliseconds,
    most,
    reference,
    references,
    skipped,
    speed,
)
from benchmarks.gpu_warp import Side, warp_here, warp_side
from heald.runtime.cuda import driver_version

LARGE = {"full": 1 << 28, "quick": 1 << 26, "tiny": 1 << 20}


class Others:
    """The peers, each made where it is first asked for; what is not here says so each time."""

    @functools.cached_property
    def cuda(self) -> Peers:
        """CUDA C and CUB."""
        return Peers()

    @functools.cached_property
    def warp(self) -> Side:
        """warp-lang."""
        return warp_side()

    def versions(self) -> dict[str, str]:
        """What the figures are taken against, or why not."""
        found = {}
        try:
            found.update(self.cuda.versions)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from being here
            found["CUDA C"] = str(error)
        try:
            found["warp-lang"] = str(warp_here().__version__)
        except Exception as error:  # noqa: BLE001 - as above
            found["warp-lang"] = str(error)
        return found


@wp.kernel(safety="guarded")
def guarded_add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    """``add`` with every guard."""
    i = wp.tid()
    c[i] = a[i] + b[i]


@wp.kernel
def nothing(n: int):
    """What a launch costs the GPU."""


@wp.kernel
def waves(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """Exact transcendental functions."""
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(x[i])


nbody_fast = wp.kernel(gpu_kernels.all_pairs, name="nbody_fast", fast_math=True)


@wp.kernel
def block_sums(x: wp.array(dtype=wp.vec4), sums: wp.array(dtype=float)):
    """The sum of each block's share: 16 bytes a step of a thread."""
    total = wp.vec4(0.0, 0.0, 0.0, 0.0)
    for k in range(wp.tid(), x.shape[0], sums.shape[0] * wp.block_dim()):
        total += x[k]
    y = wp.reduce_sum((total[0] + total[1]) + (total[2] + total[3]))
    if wp.thread_index() == 0:
        sums[wp.block_index()] = y


float_sum_by_warps = wp.kernel(gpu_kernels.add_floats, name="float_sum_by_warps", warp_reduce=True)
"""Threads of a warp go together, as they always do for integers."""


TABLE = wp.constant(np.arange(1024, dtype=np.float32))


@wp.kernel
def look_up(x: wp.array(dtype=int), y: wp.array(dtype=float)):
    """64 numbers of a table for each thread."""
    i = wp.tid()
    total = 0.0
    for k in range(64):
        total += TABLE[(x[i] + k) & 1023]
    y[i] = total


# -- cases -----------------------------------------------------------------------------------------


def launches(size: str, others: Others) -> Iterator[Figure]:
    """Python to the driver, and graphs."""
    own, found = Side("heald"), {}
    ways = (
        ("4 arrays", Side.submission, "us", 4.2),
        ("recorded, 4 arrays", Side.resubmission, "us", 3.5),
        ("graph of 1000, 4 arrays", Side.graph, "ms", 0.6),
    )
    for name, way, unit, limit in ways:
        found[name] = way(own)
        yield most("launch", name, found[name], unit, limit)
    yield most("launch", "graph of 1000, empty", graph_milliseconds(nothing, [1]), "ms")

    def by_cupy() -> float:
        there = [others.cuda.cupy.asarray(a) for a in own.small()]
        return others.cuda.graph_milliseconds("four", (*there, np.int32(32)))

    yield reference("launch", "graph of 1000, CUDA C", "ms", by_cupy)
    yield from from_c(found)
    yield most("launch", "1000 steps of a loop of Python", pace(), "us")
    for name, way, unit, _ in ways:
        yield reference("launch", f"{name}, warp-lang", unit, lambda: way(others.warp))  # noqa: B023


def from_c(found: dict[str, float]) -> Iterator[Figure]:
    """Launches by the driver alone, and how much longer ours take."""
    try:
        driver = driver_costs(wp.get_device(DEVICE).arch)
    except Exception as error:  # noqa: BLE001 - as other peers
        yield skipped("launch", "the driver alone, from C", error)
        return
    names = {
        "the driver alone, from C": ("non_blocking_us", "us"),
        "the driver alone, blocking stream": ("blocking_us", "us"),
        "graph of 1000, from C": ("graph_ms", "ms"),
    }
    for name, (key, unit) in names.items():
        yield most("launch", name, driver[key], unit)
    for name, value in found.items():
        key, unit = names[
            "graph of 1000, from C" if "graph" in name else "the driver alone, from C"
        ]
        yield most("launch", f"{name} - driver", value - driver[key], unit)


def cold(size: str, others: Others) -> Iterator[Figure]:
    """From source to result."""
    limits = {gpu_cold.SMALL: 60.0, gpu_cold.MANY: 800.0, gpu_cold.CACHED: 100.0}
    own = gpu_cold.figures()
    for name, value in own.items():
        yield most("cold", name, value, "ms", limits[name])
    peer = functools.cache(_cold_peer)
    for who, called in (
        ("nvrtc", "NVRTC"),
        ("warp", "warp-lang"),
        ("warp-forward", "warp-lang without backward"),
    ):
        yield from references("cold", called, "ms", functools.partial(peer, who))
        many, name = own[gpu_cold.MANY], f"30 kernels, heald / {called}"
        limit = 1.2 if who == "nvrtc" else None
        yield speed("cold", name, many, lambda: peer(who)[gpu_cold.MANY], limit)  # noqa: B023


def _cold_peer(who: str) -> dict[str, float]:
    if not gpu_cold.is_here(who):
        raise MissingError(f"{gpu_cold.PACKAGES[who]} is not installed")
    rounds = gpu_cold.ROUNDS if who == "nvrtc" else 1  # nothing depends on the others
    return gpu_cold.figures(who, rounds)


def streams(size: str, others: Others) -> Iterator[Figure]:
    """Memory-bound kernels."""
    count, own = LARGE[size], Side("heald")

    def rate(side: Side) -> float:
        return 12 * count / milliseconds(checked(side.add(count), [3.75])) / 1e6

    plain = rate(own)
    limit = 4300.0 if size == "full" else None
    yield least("stream", "c = a + b", plain, "GB/s", limit)
    yield reference("stream", "c = a + b, warp-lang", "GB/s", lambda: rate(others.warp), kind=least)
    a, b, c = (wp.full(count, x, dtype=float) for x in (1.5, 2.25, 0.0))
    guarded = milliseconds(lambda: wp.launch(guarded_add, dim=count, inputs=[a, b, c]))
    assert float(c[count - 1]) == 3.75
    proved = 12 * count / plain / 1e6
    yield most("stream", "time guarded / proved", guarded / proved, "x", 1.03, ms=guarded)
    copied = milliseconds(lambda: wp.copy(c, a))
    assert float(c[count - 1]) == 1.5
    yield least("stream", "copy (read and write)", 8 * count / copied / 1e6, "GB/s")
    yield from sums_of_blocks(count, others)
    few = min(1 << 22, count)
    x = np.linspace(-3.0, 3.0, few, dtype=np.float32)
    angles, made = wp.array(x), c[:few]
    wave = milliseconds(lambda: wp.launch(waves, dim=few, inputs=[angles, made]))
    np.testing.assert_allclose(made.numpy(), np.sin(x) * np.exp(x), rtol=1e-5, atol=1e-5)
    yield least("stream", "sin(x) exp(x)", few / wave / 1e6, "Gelem/s")


def sums_of_blocks(count: int, others: Others) -> Iterator[Figure]:
    """A reduction against the fastest way to read as much."""
    processors = wp.get_device(DEVICE).sm_count
    blocks = 4 * processors
    x, sums = wp.ones(count // 4, dtype=wp.vec4), wp.empty(blocks, dtype=float)
    summed = milliseconds(lambda: wp.launch(block_sums, dim=256 * blocks, inputs=[x, sums]))
    assert sums.numpy().sum(dtype=np.float64) == count
    yield least("stream", "sums of blocks", 4 * count / summed / 1e6, "GB/s", ms=summed)
    times: dict[str, float] = {}

    def read() -> float:
        times.update(others.cuda.read(count, processors))
        return min(times.values())

    yield speed("stream", "heald / read bandwidth", summed, read, 0.9)
    for name, value in times.items():
        yield least("stream", f"read, {name}", 4 * count / value / 1e6, "GB/s", ms=value)


def stencils(size: str, others: Others) -> Iterator[Figure]:
    """A kernel with neighbours."""
    n = 4096 if size != "tiny" else 512
    u = np.random.default_rng(1).random((n, n), dtype=np.float32)
    way = Side("heald").stencil(u)
    own = milliseconds(way.run)
    yield least("stencil", f"{n}^2", 8 * n * n / own / 1e6, "GB/s", ms=own)

    def by_cuda() -> float:
        cupy = others.cuda.cupy
        there = cupy.zeros((n, n), dtype=np.float32)
        args = (cupy.asarray(u), there, np.int32(n), np.int32(n))
        shapes = [(x, y) for x in (32, 64, 128) for y in (2, 4, 8)]
        grids = [((n // x, n // y), (x, y)) for x, y in shapes]
        other = others.cuda.best("stencil", grids, args, 10)
        np.testing.assert_allclose(there.get(), way.result(), rtol=1e-5, atol=1e-6)
        return other

    def by_warp() -> float:
        return milliseconds(checked(others.warp.stencil(u), way.result(), 1e-5, 1e-6))

    yield speed("stencil", "heald / CUDA C", own, by_cuda, 1.0)
    yield speed("stencil", "heald / warp-lang", own, by_warp)


def bodies(size: str, others: Others) -> Iterator[Figure]:
    """A kernel that computes."""
    n = 65536 if size != "tiny" else 1024
    p = np.random.default_rng(2).random((n, 3), dtype=np.float32)

    def by_cuda(name: str, made: np.ndarray, *flags: str) -> float:
        cupy = others.cuda.cupy
        there = cupy.zeros((n, 3), dtype=np.float32)
        grids = [((n // b,), (b,)) for b in (64, 128, 256)]
        other = others.cuda.best(name, grids, (cupy.asarray(p), there, np.int32(n)), 1, *flags)
        np.testing.assert_allclose(there.get(), made, rtol=2e-3, atol=1e-2)
        return other

    def by_warp(made: np.ndarray) -> float:
        return milliseconds(checked(others.warp.nbody(p), made, 2e-3, 1e-2), 1)

    for kernel, limit in ((gpu_kernels.nbody, 0.92), (nbody_fast, 0.9)):
        way = Side("heald").nbody(p, kernel)
        own = milliseconds(way.run, 1)
        made = way.result()
        yield least(kernel.key, f"{n}", 20 * n * n / own / 1e9, "TFLOP/s", ms=own)
        by_nvcc = functools.partial(by_cuda, kernel.key, made)
        yield speed(kernel.key, "heald / CUDA C", own, by_nvcc, limit)
        flushing = functools.partial(by_nvcc, "-ftz=true")
        yield speed(kernel.key, "heald / CUDA C -ftz=true", own, flushing)
        if kernel is gpu_kernels.nbody:  # whose text both build with exact roots
            yield speed(kernel.key, "heald / warp-lang", own, functools.partial(by_warp, made))


def sums(size: str, others: Others) -> Iterator[Figure]:
    """Everything added to one element."""
    count = min(LARGE[size], 1 << 24)

    def by_warp(x: np.ndarray, kernel: str) -> float:
        return milliseconds(checked(others.warp.sum(x, kernel), [count]))

    def by_cuda() -> float:
        cupy = others.cuda.cupy
        args = (cupy.ones(count, np.float32), cupy.zeros(1, np.float32), np.int32(count))
        other = others.cuda.best("total", [((count // 256,), (256,))], args, 2)
        added = float(args[1].get()[0])  # by every launch, until float32 has no larger sums
        assert added >= count, added
        assert added % count == 0, added
        return count / other / 1e6

    for name, kind, kernel, theirs, limit in (
        ("integers, by atomics", np.int32, gpu_kernels.int_sum, "int_sum", 3.0),
        ("floats, warp_reduce=True", np.float32, float_sum_by_warps, "float_sum", 20.0),
    ):
        x = np.ones(count, dtype=kind)
        own = milliseconds(checked(Side("heald").sum(x, kernel), [count]))
        yield least("sum", name, count / own / 1e6, "Gelem/s", ms=own)
        peer = functools.partial(by_warp, x, theirs)
        least_ratio = None if size == "tiny" else limit
        yield speed("sum", f"heald / warp-lang, {theirs}", own, peer, least_ratio)
    yield reference("sum", "CUDA C, atomicAdd", "Gelem/s", by_cuda, kind=least)


def tables(size: str, others: Others) -> Iterator[Figure]:
    """A captured table against constant memory: all threads at one place, and each at its own."""
    n = 1 << 22 if size != "tiny" else 1 << 14
    y = wp.zeros(n, dtype=float)
    for where, data in (
        ("one place", np.full(n, 5, dtype=np.int32)),
        ("any place", np.random.default_rng(4).integers(0, 1024, n, dtype=np.int32)),
    ):
        x = wp.array(data)
        own = milliseconds(lambda: wp.launch(look_up, dim=n, inputs=[x, y]))  # noqa: B023
        yield least("table", where, 64 * n / own / 1e6, "Glook-ups/s", ms=own)
        for memory in ("constant", "global"):
            label = f"{where}, CUDA C with {memory} memory"
            find = functools.partial(_looked_up, others, memory, data, y.numpy())
            yield reference("table", label, "Glook-ups/s", find, kind=least)


def _looked_up(others: Others, memory: str, data: np.ndarray, expected: np.ndarray) -> float:
    """Giga-look-ups a second of CUDA C."""
    cp, n = others.cuda.cupy, len(data)
    values = cp.asarray(TABLE.numpy())
    cp.ndarray(1024, cp.float32, others.cuda.variable("table"))[...] = values
    there, out = cp.asarray(data), cp.zeros(n, dtype=cp.float32)
    args = (there, out, np.int32(n), *((values,) if memory == "global" else ()))
    grids = [((n // b,), (b,)) for b in (128, 256)]
    other = others.cuda.best(f"look_up_{memory}", grids, args, 10)
    np.testing.assert_array_equal(out.get(), expected)
    return 64 * n / other / 1e6


def algorithms(size: str, others: Others) -> Iterator[Figure]:
    """Scans and sorts against CUB, as CuPy calls it: with a copy of what is given first, and in
    sorts with indices of 64 bits beside keys of 32.
    """
    count = 1 << 22 if size != "tiny" else 1 << 16
    keys = np.random.default_rng(3).integers(0, 1 << 31, count, dtype=np.int32)
    x, out = wp.array(keys), wp.zeros(count, dtype=int)
    scan = milliseconds(lambda: wp.utils.array_scan(x, out), 3)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(keys, dtype=np.int32))
    pairs = [wp.zeros(2 * count, dtype=int) for _ in range(2)]
    wp.copy(pairs[0], x, count=count)
    sort = milliseconds(lambda: wp.utils.radix_sort_pairs(*pairs, count), 3)
    np.testing.assert_array_equal(pairs[0].numpy()[:count], np.sort(keys))

    def by_cub(name: str) -> float:
        cp = others.cuda.cupy
        given = cp.asarray(keys)
        calls = {
            "scan": lambda: cp.cumsum(given, dtype=np.int32),
            "sort": lambda: cp.argsort(given),
        }
        made = calls[name]().get()
        made, expected = (made, out) if name == "scan" else (keys[made], pairs[0][:count])
        np.testing.assert_array_equal(made, expected.numpy())
        return others.cuda.milliseconds(calls[name], 3)

    for name, own in (("scan", scan), ("sort", sort)):
        yield least(name, f"{count} int32", count / own / 1e6, "Gelem/s", ms=own)
        yield speed(name, "heald / CUB", own, functools.partial(by_cub, name), 0.8)


def particles(size: str, others: Others) -> Iterator[Figure]:
    """Neighbour search, and the demo."""
    from heald.cli.demos import DEMOS  # noqa: PLC0415 - it loads what draws

    demo = DEMOS["sph"]
    count = 100_000 if size != "tiny" else 4_000
    state = demo.make(count, DEVICE)
    for _ in range(5):
        state.step()
    wp.synchronize()
    times = []
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(demo.steps):
            state.step()
        wp.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    limit = 18.0 if size == "full" else None
    yield most("sph", f"frame of {demo.steps} steps", statistics.median(times), "ms", limit)
    places, radius = state.x.numpy(), float(state.radius)
    build, both = Side("heald").neighbours(places, radius)
    repeats = 50  # the host is ahead of the GPU but for the first of them
    yield most("sph", f"hash grid of {count}", milliseconds(build.run, repeats), "ms")
    own = milliseconds(both.run, repeats)
    yield most("sph", "hash grid and density", own, "ms")

    def by_warp(whole: bool) -> float:
        ways, made = others.warp.neighbours(places, radius), both.result()
        checked(ways[1], made, 1e-4, 1e-4 * float(made.max()))
        return milliseconds(ways[whole].run, repeats)

    yield reference("sph", f"hash grid of {count}, warp-lang", "ms", lambda: by_warp(False))
    limit = None if size == "tiny" else 2.0
    name = "heald / warp-lang, grid and density"
    yield speed("sph", name, own, lambda: by_warp(True), limit)


CASES: dict[str, Callable[[str, Others], Iterator[Figure]]] = {
    "launch": launches,
    "cold": cold,
    "stream": streams,
    "stencil": stencils,
    "nbody": bodies,
    "sum": sums,
    "table": tables,
    "algorithms": algorithms,
    "sph": particles,
}


def figures(size: str, chosen: list[str], said: dict[str, Any]) -> Iterator[Figure]:
    """The figures of the suite; what is known of device and peers goes into ``said``."""
    gpu = wp.get_device(DEVICE)
    said["device"] = {
        "name": gpu.name,
        "architecture": gpu.arch,
        "multiprocessors": gpu.sm_count,
        "driver": driver_version(),
    }
    others = Others()
    said["peers"] = others.versions()
    with wp.ScopedDevice(DEVICE):
        for name in chosen or CASES:
            if name not in CASES:
                raise SystemExit(f"no case {name!r}; the cases are {', '.join(CASES)}")
            try:
                yield from CASES[name](size, others)
            except Exception as error:  # noqa: BLE001 - a GPU is rarely here, so the rest goes on
                yield skipped(name, "failed", error)
