"""``--suite gpu``: what launches cost, and kernels against CUDA C and CUB.

Times of kernels are those of the GPU, by events around some launches one behind the other.  Every
result is compared with what numpy or the peer makes.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import heald as wp
from benchmarks import gpu_cold
from benchmarks.figures import Figure
from benchmarks.gpu_peers import MissingError, Peers
from heald.runtime.cuda import driver_version

DEVICE = "cuda:0"
LARGE = {"full": 1 << 28, "quick": 1 << 26, "tiny": 1 << 20}
WARP_SUM = 0.57
"""Gelem/s of warp-lang 1.19 for a sum by atomics on an H200 (one run, 2026)."""


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    """One sum a thread: 12 bytes."""
    i = wp.tid()
    c[i] = a[i] + b[i]


@wp.kernel(safety="guarded")
def guarded_add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    """The same with every guard."""
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
def nothing(n: int):
    """What a launch costs the GPU."""


@wp.kernel
def waves(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """Exact transcendental functions."""
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(x[i])


@wp.kernel
def stencil(u: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float, ndim=2)):
    """Five points: 8 bytes of memory an element."""
    i, j = wp.tid()
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        out[i, j] = u[i, j] + 0.1 * (around - 4.0 * u[i, j])


def _nbody(p: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    x = p[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = p[j] - x
        inv = 1.0 / wp.sqrt(wp.dot(d, d) + 0.01)
        total += d * (inv * inv * inv)
    f[i] = total


nbody = wp.kernel(_nbody, name="nbody")
nbody_fast = wp.kernel(_nbody, name="nbody_fast", fast_math=True)


@wp.kernel
def block_sums(x: wp.array(dtype=wp.vec4), sums: wp.array(dtype=float)):
    """The sum of each block's share: 16 bytes a step of a thread."""
    total = wp.vec4(0.0, 0.0, 0.0, 0.0)
    for k in range(wp.tid(), x.shape[0], sums.shape[0] * wp.block_dim()):
        total += x[k]
    y = wp.reduce_sum((total[0] + total[1]) + (total[2] + total[3]))
    if wp.thread_index() == 0:
        sums[wp.block_index()] = y


@wp.kernel
def whole_sum(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    """Everything to one element; the threads of a warp go together."""
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.kernel(warp_reduce=True)
def float_sum(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """The same for floats, which has to be asked for."""
    wp.atomic_add(out, 0, x[wp.tid()])


TABLE = wp.constant(np.arange(1024, dtype=np.float32))


@wp.kernel
def look_up(x: wp.array(dtype=int), y: wp.array(dtype=float)):
    """64 numbers of a table for each thread."""
    i = wp.tid()
    total = 0.0
    for k in range(64):
        total += TABLE[(x[i] + k) & 1023]
    y[i] = total


# -- times -----------------------------------------------------------------------------------------


def milliseconds(run: Callable[[], object], repeats: int = 10) -> float:
    """The median time of a call by events of the GPU."""
    events = [wp.Event(DEVICE, enable_timing=True) for _ in range(2)]
    for _ in range(3):
        run()
    times = []
    for _ in range(9):
        wp.record_event(events[0])
        for _ in range(repeats):
            run()
        wp.record_event(events[1])
        wp.synchronize_event(events[1])
        times.append(wp.get_event_elapsed_time(*events) / repeats)
    return statistics.median(times)


def submission(run: Callable[[], object], count: int = 500) -> float:
    """Microseconds to give a launch to the GPU, in rounds that do not fill its queue."""
    times = []
    for _ in range(20):
        run()
        wp.synchronize(DEVICE)
        start = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - start) / count)
    wp.synchronize(DEVICE)
    return statistics.median(times) * 1e6


def graph_milliseconds(kernel: wp.Kernel, inputs: list[object], launches: int = 1000) -> float:
    """The median time of a captured graph, from its launch to its end."""
    with wp.ScopedCapture(DEVICE) as capture:
        for _ in range(launches):
            wp.launch(kernel, dim=32, inputs=inputs, device=DEVICE)
    times = []
    for _ in range(22):
        wp.synchronize(DEVICE)
        start = time.perf_counter()
        wp.capture_launch(capture.graph)
        wp.synchronize_stream(DEVICE)
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:]) * 1e3


def most(
    case: str, name: str, value: float, unit: str, limit: float | None, **detail: Any
) -> Figure:
    """A figure that is good where it is small."""
    return Figure(case, name, value, unit, limit, "<=", detail)


def least(
    case: str, name: str, value: float, unit: str, limit: float | None, **detail: Any
) -> Figure:
    """A figure that is good where it is large."""
    return Figure(case, name, value, unit, limit, ">=", detail)


def skipped(case: str, name: str, limit: float | None, why: str) -> Figure:
    """A figure of a peer that is not here."""
    return Figure(case, name, None, "x", limit, ">=", {}, why)


# -- cases -----------------------------------------------------------------------------------------


def launches(size: str, peers: Peers | None) -> Iterator[Figure]:
    """Python to the driver, and graphs."""
    small = [wp.ones(32, dtype=float) for _ in range(4)]
    for _ in range(4):
        wp.launch(four, dim=32, inputs=small)
    wp.synchronize()
    time_of = submission(lambda: wp.launch(four, dim=32, inputs=small[:3], outputs=small[3:]))
    yield most("launch", "4 arrays", time_of, "us", 4.2)
    command = wp.launch(four, dim=32, inputs=small, record_cmd=True)
    yield most("launch", "recorded, 4 arrays", submission(command.launch), "us", 3.5)
    yield most("launch", "graph of 1000, 4 arrays", graph_milliseconds(four, [*small]), "ms", 0.6)
    yield most("launch", "graph of 1000, empty", graph_milliseconds(nothing, [1]), "ms", None)
    if peers is not None:
        there = [peers.cupy.asarray(a) for a in small]
        other = peers.graph_milliseconds("four", (*there, np.int32(32)))
        yield most("launch", "graph of 1000, CUDA C", other, "ms", None)


def cold(size: str, peers: Peers | None) -> Iterator[Figure]:
    """From source to result."""
    limits = iter((60.0, 800.0, 100.0))
    for name, value in gpu_cold.figures().items():
        yield most("cold", name.removesuffix(", ms"), value, "ms", next(limits))


def streams(size: str, peers: Peers | None) -> Iterator[Figure]:
    """Memory-bound kernels."""
    count = LARGE[size]
    a, b = (wp.full(count, x, dtype=float) for x in (1.5, 2.25))
    c = wp.zeros(count, dtype=float)
    plain = milliseconds(lambda: wp.launch(add, dim=count, inputs=[a, b, c]))
    assert float(c[count - 1]) == 3.75
    limit = 4300.0 if size == "full" else None
    yield least("stream", "c = a + b", 12 * count / plain / 1e6, "GB/s", limit, ms=plain)
    guarded = milliseconds(lambda: wp.launch(guarded_add, dim=count, inputs=[a, b, c]))
    yield most("stream", "time guarded / proved", guarded / plain, "x", 1.03, ms=guarded)
    blocks = 4 * wp.get_device(DEVICE).sm_count
    x, sums = wp.ones(count // 4, dtype=wp.vec4), wp.empty(blocks, dtype=float)
    summed = milliseconds(lambda: wp.launch(block_sums, dim=256 * blocks, inputs=[x, sums]))
    assert sums.numpy().sum() == count
    copied = milliseconds(lambda: wp.copy(c, a))
    yield least("stream", "copy (read and write)", 8 * count / copied / 1e6, "GB/s", None)
    yield least("stream", "sums of blocks", 4 * count / summed / 1e6, "GB/s", None, ms=summed)
    few = 1 << 22
    angles = wp.array(np.linspace(-3.0, 3.0, few, dtype=np.float32))
    made = c[:few]
    wave = milliseconds(lambda: wp.launch(waves, dim=few, inputs=[angles, made]))
    yield least("stream", "sin(x) exp(x)", few / wave / 1e6, "Gelem/s", None)


def stencils(size: str, peers: Peers | None) -> Iterator[Figure]:
    """A kernel with neighbours."""
    n = 4096 if size != "tiny" else 512
    u = wp.array(np.random.default_rng(1).random((n, n), dtype=np.float32))
    out = wp.zeros_like(u)
    own = milliseconds(lambda: wp.launch(stencil, dim=(n, n), inputs=[u, out]))
    yield least("stencil", f"{n}^2", 8 * n * n / own / 1e6, "GB/s", None, ms=own)
    if peers is None:
        yield skipped("stencil", "heald / CUDA C", 1.0, "CuPy is not here")
        return
    there = peers.cupy.zeros((n, n), dtype=np.float32)
    args = (peers.cupy.asarray(u), there, np.int32(n), np.int32(n))
    shapes = [(x, y) for x in (32, 64, 128) for y in (2, 4, 8)]
    grids = [((n // x, n // y), (x, y)) for x, y in shapes]
    other = peers.best("stencil", grids, args, 10)
    np.testing.assert_allclose(there.get(), out.numpy(), rtol=1e-5, atol=1e-6)
    yield least("stencil", "heald / CUDA C", other / own, "x", 1.0, cuda_ms=other)


def bodies(size: str, peers: Peers | None) -> Iterator[Figure]:
    """A kernel that computes."""
    n = 65536 if size != "tiny" else 4096
    p = wp.array(np.random.default_rng(2).random((n, 3), dtype=np.float32), dtype=wp.vec3)
    for kernel, limit in ((nbody, 0.92), (nbody_fast, 0.9)):
        f = wp.zeros(n, dtype=wp.vec3)
        own = milliseconds(lambda: wp.launch(kernel, dim=n, inputs=[p, f, n]), 1)  # noqa: B023
        yield least(kernel.key, f"{n}", 20 * n * n / own / 1e9, "TFLOP/s", None, ms=own)
        if peers is None:
            yield skipped(kernel.key, "heald / CUDA C", limit, "CuPy is not here")
            continue
        there = peers.cupy.zeros((n, 3), dtype=np.float32)
        args = (peers.cupy.asarray(p).view(np.float32), there, np.int32(n))
        grids = [((n // b,), (b,)) for b in (64, 128, 256)]
        other = peers.best(kernel.key, grids, args, 1)
        np.testing.assert_allclose(there.get(), f.numpy(), rtol=2e-3, atol=1e-2)
        yield least(kernel.key, "heald / CUDA C", other / own, "x", limit, cuda_ms=other)


def sums(size: str, peers: Peers | None) -> Iterator[Figure]:
    """Everything added to one element."""
    count = min(LARGE[size], 1 << 24)
    x, out = wp.ones(count, dtype=int), wp.zeros(1, dtype=int)
    own = milliseconds(lambda: wp.launch(whole_sum, dim=count, inputs=[x, out]))
    limit = 20 * WARP_SUM if size == "full" else None
    yield least("sum", "integers, by atomics", count / own / 1e6, "Gelem/s", limit)
    y, total = wp.ones(count, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(float_sum, dim=count, inputs=[y, total])
    assert float(total[0]) == count
    own = milliseconds(lambda: wp.launch(float_sum, dim=count, inputs=[y, total]))
    yield least("sum", "floats, warp_reduce=True", count / own / 1e6, "Gelem/s", limit)
    if peers is not None:
        given, there = peers.cupy.asarray(y), peers.cupy.zeros(1, dtype=np.float32)
        args = (given, there, np.int32(count))
        other = peers.best("total", [((count // 256,), (256,))], args, 2)
        yield least("sum", "CUDA C, atomicAdd", count / other / 1e6, "Gelem/s", None)


def tables(size: str, peers: Peers | None) -> Iterator[Figure]:
    """A captured table against constant memory: all threads at one place, and each at its own."""
    n = 1 << 22
    y = wp.zeros(n, dtype=float)
    for where, data in (
        ("one place", np.full(n, 5, dtype=np.int32)),
        ("any place", np.random.default_rng(4).integers(0, 1024, n, dtype=np.int32)),
    ):
        x = wp.array(data)
        own = milliseconds(lambda: wp.launch(look_up, dim=n, inputs=[x, y]))  # noqa: B023
        yield least("table", where, 64 * n / own / 1e6, "Glook-ups/s", None, ms=own)
        if peers is None:
            continue
        cp = peers.cupy
        values = cp.asarray(TABLE.numpy())
        cp.ndarray(1024, cp.float32, peers.variable("table"))[...] = values
        there, out = cp.asarray(data), cp.zeros(n, dtype=cp.float32)
        for name, more in (("constant", ()), ("global", (values,))):
            grids = [((n // b,), (b,)) for b in (128, 256)]
            other = peers.best(f"look_up_{name}", grids, (there, out, np.int32(n), *more), 10)
            np.testing.assert_array_equal(out.get(), y.numpy())
            label = f"{where}, CUDA C with {name} memory"
            yield least("table", label, 64 * n / other / 1e6, "Glook-ups/s", None, ms=other)


def algorithms(size: str, peers: Peers | None) -> Iterator[Figure]:
    """Scans and sorts against CUB."""
    count = 1 << 22 if size != "tiny" else 1 << 16
    keys = np.random.default_rng(3).integers(0, 1 << 31, count, dtype=np.int32)
    x, out = wp.array(keys), wp.zeros(count, dtype=int)
    scan = milliseconds(lambda: wp.utils.array_scan(x, out), 3)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(keys, dtype=np.int32))
    pairs = [wp.zeros(2 * count, dtype=int) for _ in range(2)]
    wp.copy(pairs[0], x, count=count)
    sort = milliseconds(lambda: wp.utils.radix_sort_pairs(*pairs, count), 3)
    np.testing.assert_array_equal(pairs[0].numpy()[:count], np.sort(keys))
    others = {}
    if peers is not None:
        cp = peers.cupy
        given = cp.asarray(keys)
        others = {
            "scan": peers.milliseconds(lambda: cp.cumsum(given, dtype=np.int32), 3),
            "sort": peers.milliseconds(lambda: cp.argsort(given), 3),
        }
    for name, own in (("scan", scan), ("sort", sort)):
        yield least(name, f"{count} int32", count / own / 1e6, "Gelem/s", None, ms=own)
        if peers is None:
            yield skipped(name, "heald / CUB", 0.8, "CuPy is not here")
        else:
            other = others[name]
            yield least(name, "heald / CUB", other / own, "x", 0.8, cub_ms=other)


def particles(size: str, peers: Peers | None) -> Iterator[Figure]:
    """Neighbour search, and the demo."""
    from heald.cli.demos import DEMOS  # noqa: PLC0415 - it loads what draws

    demo = DEMOS["sph"]
    count = 100_000 if size != "tiny" else 4_000
    state = demo.make(count, DEVICE)
    build = milliseconds(lambda: state.grid.build(state.x, state.radius), 3)
    yield most("sph", f"hash grid of {count}", build, "ms", None)
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


CASES: dict[str, Callable[[str, Peers | None], Iterator[Figure]]] = {
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
    peers: Peers | None = None
    try:
        peers = Peers()
        said["peers"] = peers.versions
    except MissingError as error:
        said["peers"] = {"cupy": str(error)}
    if importlib.util.find_spec("warp") is None:
        said["peers"]["warp-lang"] = "skipped: not installed here; its figures are those of one run"
    with wp.ScopedDevice(DEVICE):
        for name in chosen or CASES:
            if name not in CASES:
                raise SystemExit(f"no case {name!r}; the cases are {', '.join(CASES)}")
            try:
                yield from CASES[name](size, peers)
            except Exception as error:  # noqa: BLE001 - a GPU is rarely here, so the rest goes on
                traceback.print_exc()
                yield skipped(name, "failed", None, f"{type(error).__name__}: {error}"[:200])
