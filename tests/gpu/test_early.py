"""Grids that begin while the one before them ends: none may see what that has not written yet."""

from __future__ import annotations

import numpy as np
import pytest

import heald as wp

pytestmark = pytest.mark.gpu
GPU = "cuda:0"
SMALL, LARGE = 4096, 1 << 20
"""Threads of grids that begin early, and of grids that do not."""


@wp.kernel
def rotate(x: wp.array(dtype=int), y: wp.array(dtype=int), by: int):
    """Reads what far blocks wrote, after some work of a length that differs by block."""
    i = wp.tid()
    v = 0
    for _ in range((i // 256) % 7 * 100):
        v = v * 3 + 1
    y[i] = x[(i + by) % x.shape[0]] + 1 + (v - v)


@wp.kernel
def smooth(x: wp.array(dtype=int)):
    """Reads and writes in place: the lines of a multiprocessor's cache hold what others write."""
    i = wp.tid()
    x[i] = x[i] + 1


@wp.kernel
def total(x: wp.array(dtype=int), out: wp.array(dtype=wp.int64), at: int):
    """Every thread reads a stretch, by loads that may be cached."""
    i = wp.tid()
    s = wp.int64(0)
    for k in range(64):
        s += wp.int64(x[(i * 64 + k) % x.shape[0]])
    wp.atomic_add(out, at, s)


@pytest.mark.parametrize("n", [SMALL, LARGE, 33])
@pytest.mark.parametrize("how", ["launch", "recorded", "graph"])
def test_a_chain_of_kernels(n: int, how: str) -> None:
    start = np.random.default_rng(5).integers(0, 1000, n, dtype=np.int32)
    x, y = wp.array(start, device=GPU), wp.zeros(n, dtype=int, device=GPU)
    pairs, by = 50, 257

    def forth() -> None:
        wp.launch(rotate, dim=n, inputs=[x, y, by])
        wp.launch(rotate, dim=n, inputs=[y, x, by])

    with wp.ScopedDevice(GPU):
        if how == "recorded":
            commands = [
                wp.launch(rotate, dim=n, inputs=[*a, by], record_cmd=True) for a in ((x, y), (y, x))
            ]
            for _ in range(pairs):
                for command in commands:
                    command.launch()
        elif how == "graph":
            with wp.ScopedCapture() as capture:
                for _ in range(10):
                    forth()
            for _ in range(pairs // 10):
                wp.capture_launch(capture.graph)
        else:
            for _ in range(pairs):
                forth()
    np.testing.assert_array_equal(x.numpy(), np.roll(start, -2 * pairs * by) + 2 * pairs)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_what_is_written_in_place_is_read_by_all(n: int) -> None:
    steps = 200
    x = wp.zeros(n, dtype=int, device=GPU)
    out = wp.zeros(steps, dtype=wp.int64, device=GPU)
    for step in range(steps):
        wp.launch(smooth, dim=n, inputs=[x], device=GPU)
        wp.launch(total, dim=SMALL, inputs=[x, out, step], device=GPU)
    np.testing.assert_array_equal(out.numpy(), (np.arange(steps) + 1) * 64 * SMALL)


def test_between_kernels_of_others() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(SMALL, dtype=torch.int32, device=GPU)
    a = wp.from_torch(x)
    stream = wp.stream_from_torch(torch.cuda.current_stream())
    for _ in range(200):
        wp.launch(smooth, dim=SMALL, inputs=[a], stream=stream)
        x += 1
        wp.launch(smooth, dim=SMALL, inputs=[a], stream=stream)
        wp.launch(smooth, dim=SMALL, inputs=[a], stream=stream)
        x *= 1
    assert (x == 800).all()


def test_in_a_graph_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(SMALL, dtype=torch.int32, device=GPU)
    a = wp.from_torch(x)
    wp.launch(smooth, dim=SMALL, inputs=[a], device=GPU)
    wp.synchronize(GPU)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = wp.stream_from_torch(torch.cuda.current_stream())
        for _ in range(3):
            wp.launch(smooth, dim=SMALL, inputs=[a], stream=stream)
            wp.launch(smooth, dim=SMALL, inputs=[a], stream=stream)
            x += torch.ones_like(x)
    before = int(x[0])
    graph.replay()
    graph.replay()
    assert (x == before + 18).all()
