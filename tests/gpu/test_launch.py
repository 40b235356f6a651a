"""Launches on a GPU: faults, prints, atomics, resources, devices."""

from __future__ import annotations

import itertools
import linecache
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu.support import at_once
from rich.console import Console

import heald as wp
from heald.cli.demo import check_demo
from heald.cli.demos import DEMOS
from heald.diagnostics import (
    HealdError,
    KernelFault,
    LaunchError,
    OutOfBoundsError,
)
from heald.runtime import get_device
from heald.types import SCALARS, b1, bf16

pytestmark = pytest.mark.gpu
GPU = "cuda:0"


@wp.kernel
def shifted(a: wp.array(dtype=wp.float32), by: int, out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = a[i + by]


@wp.kernel
def five_points(u: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]


@wp.kernel
def grid3(out: wp.array(dtype=int, ndim=3)):
    i, j, k = wp.tid()
    out[i, j, k] = i * 10000 + j * 100 + k


@wp.kernel
def spin(n: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    k = 0
    while k < n[0]:
        k += out[i + 1000000]
    out[i] = 7


@wp.kernel
def divide(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    a[i] = a[i] // b[i]


@wp.kernel
def demand(a: wp.array(dtype=int)):
    i = wp.tid()
    assert a[i] < 5, "too large"


@wp.kernel
def tell(a: wp.array(dtype=wp.float32)):
    i = wp.tid()
    if i % 1000 == 3:
        wp.printf("%d: %g\n", i, a[i])
        wp.printf("again %d\n", i)


@wp.kernel
def histogram(values: wp.array(dtype=int), counts: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(counts, values[i], 1)


@wp.kernel
def handled(grid: wp.uint64, out: wp.array(dtype=int)):
    i = wp.tid()
    n = 0
    for _ in wp.hash_grid_query(grid, wp.vec3(0.0, 0.0, 0.0), 0.5):
        n += 1
    out[i] = n


@wp.kernel
def picked_sums(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    row = x[i]
    part = x[:, ::-1]
    out[i, j] = row[j] + part[i, j] * 2.0


@wp.kernel
def add_one(x: wp.indexedarray2d(dtype=float)):
    i, j = wp.tid()
    row = x[i]
    x[i, j] = row[j] + 1.0


@wp.kernel
def mark(seen: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    seen[i] += wp.uint8(1)


@wp.kernel
def mark_plane(seen: wp.array2d(dtype=wp.uint8)):
    i, j = wp.tid()
    seen[i, j] += wp.uint8(1)


@wp.kernel
def count_threads(total: wp.array(dtype=wp.int64)):
    wp.atomic_add(total, 0, wp.int64(1))


def outcome(kernel: Any, dim: Any, inputs: Any, device: str) -> tuple[str, list[Any]]:
    """What a launch says, and what its arrays hold."""
    given = [wp.array(x, device=device) if isinstance(x, np.ndarray) else x for x in inputs]
    text = ""
    try:
        wp.launch(kernel, dim=dim, inputs=given, device=device)
        wp.synchronize(device)
    except KernelFault as error:
        text = f"{type(error).__name__} {at_once(error)}"
    return text, [x.numpy().tolist() for x in given if isinstance(x, wp.array)]


def test_the_device() -> None:
    device = get_device(GPU)
    assert device in wp.get_devices()
    assert wp.is_cuda_available()
    assert wp.get_preferred_device() == GPU
    assert "NVIDIA" in device.name
    wp.synchronize()
    wp.synchronize_device(GPU)


@pytest.mark.parametrize("block_dim", [1, 32, 100, 1024])
def test_three_dimensions_and_blocks(block_dim: int) -> None:
    out = wp.zeros((7, 33, 19), dtype=int, device=GPU)
    wp.launch(grid3, dim=(7, 33, 19), inputs=[out], device=GPU, block_dim=block_dim)
    i, j, k = np.indices((7, 33, 19))
    np.testing.assert_array_equal(out.numpy(), i * 10000 + j * 100 + k)


BORDER = 1 << 32
"""Of numbers of 32 bits; the last block is not full, so the border of launches is below it."""


@pytest.mark.parametrize("block_dim", [96, 256])
@pytest.mark.parametrize(
    "dim", [(BORDER - 1025,), (BORDER - 5,), (BORDER + 77,), (65537, 65536)], ids=str
)
def test_as_many_threads_as_numbers_of_32_bits(dim: tuple[int, ...], block_dim: int) -> None:
    """Every thread runs once."""
    seen = wp.zeros(dim, dtype=wp.uint8, device=GPU)
    kernel = mark if len(dim) == 1 else mark_plane
    wp.launch(kernel, dim=dim, inputs=[seen], device=GPU, block_dim=block_dim)
    left = seen.numpy()
    assert (left.min(), left.max()) == (1, 1)
    total = wp.zeros(1, dtype=wp.int64, device=GPU)
    wp.launch(count_threads, dim=dim, inputs=[total], device=GPU, block_dim=block_dim)
    assert total.numpy()[0] == left.size


LARGE = (1 << 22) + 77


@pytest.mark.parametrize("count", [LARGE, LARGE + 50])
def test_a_thread_of_a_large_launch_runs_several(count: int) -> None:
    """Of the longer one the end is out of bounds, and is reported as on a CPU."""
    a = np.arange(LARGE, dtype=np.float32)
    there, here = (
        outcome(shifted, count, [a, 0, np.zeros(LARGE, np.float32)], device)
        for device in (GPU, "cpu")
    )
    assert there == here
    assert bool(there[0]) == (count > LARGE)


def test_small_launches_before_and_after_large_ones() -> None:
    """Code for small ones has no lanes; large ones replace it, also where it is recorded or part of
    a graph."""
    out = wp.zeros(LARGE, dtype=int, device=GPU)

    @wp.kernel
    def count(out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = out[i] + 1

    def launch(n: int, **how: Any) -> Any:
        return wp.launch(count, dim=n, inputs=[out], device=GPU, **how)

    for _ in range(4):  # the last of them through an entry
        launch(100)
    small = launch(100, record_cmd=True)
    with wp.ScopedCapture(GPU) as capture:
        launch(100)
        small.launch()
    for _ in range(4):
        launch(LARGE)
        launch(100)
        small.launch()
        wp.capture_launch(capture.graph)
    small.set_dim(LARGE)
    small.launch()
    left = out.numpy()
    assert (left[:100] == 4 + 4 * 5 + 1).all()
    assert (left[100:] == 4 + 1).all()


@pytest.mark.parametrize("start", [0, 1])
def test_neighbours_in_a_large_grid(start: int) -> None:
    u = np.random.default_rng(5).random((2049, 2051 + start), dtype=np.float32)
    given = wp.array(u, device=GPU)[:, start:]
    out = wp.zeros((2049, 2051), dtype=float, device=GPU)
    wp.launch(five_points, dim=(2049, 2051), inputs=[given, out], device=GPU)
    v = u[:, start:]
    wanted = np.zeros((2049, 2051), np.float32)
    wanted[1:-1, 1:-1] = ((v[:-2, 1:-1] + v[2:, 1:-1]) + v[1:-1, :-2]) + v[1:-1, 2:]
    np.testing.assert_array_equal(out.numpy(), wanted)


@pytest.mark.parametrize("by", [3, -2, 1 << 29])
def test_the_lowest_fault_is_told_as_on_a_cpu(by: int) -> None:
    a, out = np.arange(5000, dtype=np.float32), np.zeros(5000, np.float32)
    there, here = (outcome(shifted, 5000, [a, by, out], device) for device in (GPU, "cpu"))
    assert there == here
    assert there[0].startswith("OutOfBoundsError")


def test_a_device_is_usable_after_a_fault() -> None:
    a = wp.array(np.arange(8, dtype=np.float32), device=GPU)
    out = wp.zeros(8, device=GPU)
    for _ in range(3):
        wp.launch(shifted, dim=8, inputs=[a, 5, out], device=GPU)
        with pytest.raises(OutOfBoundsError):
            wp.synchronize()
        wp.launch(shifted, dim=8, inputs=[a, 0, out], device=GPU)
        assert out.numpy().tolist() == list(range(8))


@pytest.mark.parametrize("indices", [[[3, 0], None], [None, [4, 1, 2]], [[2], [0]], [None, None]])
def test_indexed_arrays(indices: Any) -> None:
    left = []
    for device in (GPU, "cpu", "sim"):
        x = wp.indexedarray(
            wp.array(np.arange(20.0).reshape(4, 5), dtype=float, device=device), indices
        )
        out = wp.zeros(x.shape, device=device)
        wp.launch(picked_sums, dim=x.shape, inputs=[x, out], device=device)
        wp.launch(add_one, dim=x.shape, inputs=[x], device=device)
        left.append((x.list(), x.data.list(), out.list()))
    assert left[0] == left[1] == left[2]


@pytest.mark.parametrize(("rows", "dim"), [([0, 9], (2, 5)), ([0, -1], (2, 5)), ([0, 1], (3, 5))])
@pytest.mark.parametrize("kernel", [picked_sums, add_one])
def test_indexed_arrays_are_guarded_as_on_a_cpu(
    kernel: Any, rows: list[int], dim: tuple[int, int]
) -> None:
    told = []
    for device in (GPU, "cpu"):
        data = wp.zeros((4, 5), device=device)
        indices = wp.array([0, 1], device=device)
        x = wp.indexedarray(data, [indices])
        indices.assign(rows)
        inputs = [x] if kernel is add_one else [x, wp.zeros(dim, device=device)]
        message = ""
        try:
            wp.launch(kernel, dim=dim, inputs=inputs, device=device)
            wp.synchronize(device)
        except OutOfBoundsError as error:
            message = at_once(error)
        assert message
        told.append((message, data.list()))
    assert told[0] == told[1]


def test_many_faults() -> None:
    """All of four million threads, most of them after the slots are used up."""
    n = 1 << 22
    a, out = wp.zeros(1, device=GPU), wp.zeros(n, device=GPU)
    wp.launch(shifted, dim=n, inputs=[a, 0, out], device=GPU)
    with pytest.raises(OutOfBoundsError, match=rf"{n - 1} threads faulted"):
        wp.synchronize()
    wp.launch(shifted, dim=n, inputs=[a, 0, out], device=GPU)
    with pytest.raises(OutOfBoundsError, match=r"index 1 outside 'a' of shape 1, in thread 1 "):
        wp.synchronize()


def test_a_loop_that_faults_ends() -> None:
    n, out = wp.array(np.array([5], np.int32), device=GPU), wp.zeros(100, dtype=int, device=GPU)
    wp.launch(spin, dim=100, inputs=[n, out], device=GPU)
    with pytest.raises(OutOfBoundsError, match="100 threads faulted"):
        wp.synchronize()
    assert out.numpy().tolist() == [7] * 100


def test_other_faults() -> None:
    a, b = np.arange(9, dtype=np.int32), np.array([1, 2, 0, 3, 0, 1, 1, 1, 1], np.int32)
    for kernel, inputs in ((divide, [a, b]), (demand, [a])):
        there, here = (outcome(kernel, 9, inputs, device) for device in (GPU, "cpu"))
        assert there == here
        assert there[0].startswith(("DivisionFault", "AssertFault"))


def test_prints_come_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for device in ("cpu", GPU):
        a = wp.array(np.arange(20000, dtype=np.float32) / 3, device=device)
        wp.launch(tell, dim=20000, inputs=[a], device=device)
        wp.synchronize()
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert texts[0].count("\n") == 40


def test_prints_that_do_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    @wp.kernel
    def loud():
        wp.printf("%d\n", wp.tid())

    wp.launch(loud, dim=100_000, device=GPU)
    wp.synchronize()
    lines = capsys.readouterr().out.splitlines()
    assert "did not fit" in lines[-1]
    numbers = [int(line) for line in lines[:-1]]
    assert numbers == sorted(numbers)
    assert len(numbers) == (1 << 20) // 32


@pytest.mark.parametrize("dtype", [wp.uint8, wp.float16, wp.float32, wp.float64, wp.vec3, wp.bool])
def test_copies_with_gaps(dtype: Any) -> None:
    count = 6 * 5 * 8 * 7
    inner = (3,) if dtype is wp.vec3 else ()
    numbers = np.random.default_rng(3).integers(0, 2, (6, 5, 8, 7, *inner))
    a = wp.array(numbers, dtype=dtype, device=GPU)
    expected = a.numpy()
    twin = a.transpose((3, 1, 0, 2)).contiguous()
    np.testing.assert_array_equal(twin.numpy(), np.moveaxis(expected, (3, 1, 0, 2), range(4)))
    a[::-2, 1:3].assign(a[1::2, 3:])
    expected[::-2, 1:3] = expected[1::2, 3:].copy()
    a[..., ::3].zero_()
    expected[:, :, :, ::3] = 0
    np.testing.assert_array_equal(a.numpy(), expected)
    flat = a.flatten()
    flat[1:].assign(flat[:-1])
    line = expected.reshape(count, *inner)
    line[1:] = line[:-1].copy()
    np.testing.assert_array_equal(flat.numpy(), line)


def test_atomics_meet() -> None:
    values = np.random.default_rng(1).integers(0, 7, 1 << 20).astype(np.int32)
    counts = wp.zeros(7, dtype=int, device=GPU)
    inputs = [wp.array(values, device=GPU), counts]
    wp.launch(histogram, dim=len(values), inputs=inputs, device=GPU)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(values, minlength=7))


@pytest.mark.parametrize("t", [t for t in SCALARS if t not in (b1, bf16)], ids=str)
@pytest.mark.parametrize("kind", ["add", "max"])
def test_atomics_of_every_type(t: Any, kind: str) -> None:
    """Neighbouring small elements share a word; every update of each must count."""
    array = wp.array(dtype=t)
    names: dict[str, Any] = {"wp": wp, "array": array, "t": t}
    text = (
        "@wp.kernel\ndef kernel(x: array, values: array):\n    i = wp.tid()\n"
        f"    wp.atomic_{kind}(x, i % 5, values[i])\n"
    )
    file = f"<atomic {kind} {t}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    count = 200 if t.bits == 8 else 2000
    values = (np.arange(count) % (2 if kind == "add" else 100)).astype(t.carrier)
    found = []
    for device in ("cpu", GPU):
        x = wp.zeros(5, dtype=t, device=device)
        given = wp.array(values, dtype=t, device=device)
        wp.launch(names["kernel"], dim=count, inputs=[x, given], device=device)
        found.append(x.numpy())
    np.testing.assert_array_equal(found[0], found[1])


def test_hash_grids_and_handles() -> None:
    points = np.random.default_rng(2).normal(size=(3000, 3)).astype(np.float32) * 0.3
    results = []
    for device in ("cpu", GPU):
        grid = wp.HashGrid(16, 16, 16, device=device)
        grid.build(wp.array(points, dtype=wp.vec3, device=device), radius=0.5)
        out = wp.zeros(4, dtype=int, device=device)
        wp.launch(handled, dim=4, inputs=[grid.id, out], device=device)
        results.append(out.numpy().tolist())
    assert results[0] == results[1]
    stale = grid.id
    del grid
    wp.launch(handled, dim=4, inputs=[stale, out], device=GPU)
    with pytest.raises(KernelFault, match="handle"):
        wp.synchronize()


@pytest.mark.parametrize("name", DEMOS)
def test_demos_give_the_bits_of_the_simulator(name: str) -> None:
    assert check_demo(DEMOS[name], Console(quiet=True), GPU)


def test_sums_scans_and_sorts() -> None:
    values = np.random.default_rng(3).normal(size=50_000).astype(np.float32)
    sums, scans = [], []
    for device in ("cpu", GPU):
        a = wp.array(values, device=device)
        sums.append(wp.utils.array_sum(a))
        out = wp.zeros_like(a)
        wp.utils.array_scan(a, out)
        scans.append(out.numpy())
    assert sums[0] == sums[1]
    np.testing.assert_array_equal(scans[0], scans[1])


def test_what_does_not_belong_together() -> None:
    out = wp.zeros(4, device=GPU)
    with pytest.raises(LaunchError) as caught:
        wp.launch(shifted, dim=4, inputs=[wp.zeros(4, device="cpu"), 0, out], device=GPU)
    assert caught.value.codes == ("H0704",)
    with pytest.raises(HealdError):
        wp.launch(shifted, dim=4, inputs=[np.zeros(4, np.float32), 0, out], device=GPU)
    with pytest.raises(HealdError, match="bytes on 'cuda:0'") as memory:
        wp.zeros(1 << 50, dtype=wp.int8, device=GPU)
    assert memory.value.codes == ("H0802",)


def test_recorded_launches_and_stored_kernels(tmp_path: Path) -> None:
    a, out = wp.array(np.arange(6, dtype=np.float32), device=GPU), wp.zeros(6, device=GPU)
    command = wp.launch(shifted, dim=4, inputs=[a, 1, out], device=GPU, record_cmd=True)
    command.launch()
    command.set_param_at_index(1, 2)
    command.launch()
    assert out.numpy().tolist() == [2, 3, 4, 5, 0, 0]
    wp.save_ir(shifted, tmp_path / "k.wir")
    with wp.ScopedDevice(GPU):
        stored = wp.load_ir(tmp_path / "k.wir")
        stored.prepare()
        wp.launch(stored, dim=4, inputs=[a, 0, out])
    assert out.numpy().tolist()[:4] == [0, 1, 2, 3]


def test_threads_launch_at_once() -> None:
    n, faults = 20_000, []

    def work(number: int) -> None:
        a = wp.array(np.full(n, number, np.float32), device=GPU)
        out = wp.zeros(n, device=GPU)
        stream = wp.Stream(GPU)
        stream.wait_stream(wp.get_stream(GPU))
        for _ in range(20):
            wp.launch(shifted, dim=n, inputs=[a, 0, out], stream=stream)
            if number % 2:
                wp.launch(shifted, dim=n, inputs=[a, number, out], stream=stream)
                try:
                    wp.synchronize(stream)
                except OutOfBoundsError as error:
                    faults.append((number, str(error)))
        wp.synchronize_stream(stream)
        assert (out.numpy()[: n - number] == number).all()

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, number) for number in range(6)]:
            done.result()
    assert len(faults) == 60
    assert all(f"in thread {n - number} of" in text for number, text in faults)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_is_told() -> None:
    wp.zeros(3, device=GPU)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            wp.zeros(3, device=GPU)
            os.write(writer, b"works")
        except HealdError as error:
            os.write(writer, error.codes[0].encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"H0809"
    assert wp.ones(2, device=GPU).list() == [1.0, 1.0]


def test_the_next_process_finds_the_code(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import heald as wp\nfrom heald.driver import program\n"
        "@wp.kernel\ndef k(a: wp.array(dtype=int)):\n    a[wp.tid()] = 7\n"
        "import heald.driver.program as p\n"
        "real = p.compile_for_gpu\n"
        "def counted(*a, **how):\n    print('compiled')\n    return real(*a, **how)\n"
        "p.compile_for_gpu = counted\n"
        "a = wp.zeros(3, dtype=int, device='cuda:0')\n"
        "wp.launch(k, dim=3, inputs=[a], device='cuda:0')\nprint(a.list())\n"
    )
    environment = {**os.environ, "HEALD_CACHE_DIR": str(tmp_path / "cache")}
    texts = [
        subprocess.run(
            [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert texts == ["compiled\n[7, 7, 7]\n", "[7, 7, 7]\n"]


def test_torch_shares_memory() -> None:
    torch = pytest.importorskip("torch")
    a = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), device=GPU)
    tensor = torch.as_tensor(a, device="cuda")
    tensor += 1
    torch.cuda.synchronize()
    assert a.numpy().tolist() == [[1, 2, 3], [4, 5, 6]]


@wp.kernel
def total(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])
    wp.atomic_max(out, 1, x[i])
    if i % 3 == 1:
        wp.atomic_xor(out, 2, x[i])


@wp.kernel
def float_total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, i % 7, x[i])


@pytest.mark.parametrize("count", [1, 31, 1000, (1 << 20) + 3, (1 << 22) + 5])
def test_integers_of_all_threads(count: int) -> None:
    x = np.random.default_rng(count).integers(-(1 << 31), 1 << 31, count).astype(np.int32)
    there, here = (outcome(total, count, [x, np.zeros(3, np.int32)], d) for d in (GPU, "cpu"))
    assert there == here


@pytest.mark.parametrize("start", [0.0, -0.0, 1e-40, 3.0])
@pytest.mark.parametrize("value", [0.0, -0.0, 1e-40, -1e-40, 2.0**-100, 2.0**-101, 0.5])
def test_sums_of_floats_keep_subnormals(start: float, value: float) -> None:
    """Each element is added to seven times, all times the same: the order does not matter."""
    x = np.full(49, value, np.float32)
    out = np.full(7, start, np.float32)
    there, here = (outcome(float_total, 49, [x, out], d) for d in (GPU, "cpu"))
    bits = [np.array(r[1][1], np.float32).view(np.uint32).tolist() for r in (there, here)]
    assert bits[0] == bits[1]


@wp.kernel
def own_counts(at: wp.array(dtype=int), out: wp.array(dtype=int)):
    """Local arrays lie at the same address in every thread."""
    i = wp.tid()
    own = wp.zeros(shape=4, dtype=wp.int8)
    for k in range(8):
        wp.atomic_add(own, at[(i + k) % at.shape[0]], wp.int8(k + 1))
    for k in range(4):
        out[i * 4 + k] = int(own[k])


def test_small_integers_of_local_arrays() -> None:
    at = np.random.default_rng(7).integers(0, 4, 300).astype(np.int32)
    given = [at, np.zeros(1200, np.int32)]
    there, here = (outcome(own_counts, 300, given, d) for d in (GPU, "cpu"))
    assert there == here
    assert sum(here[1][1]) == 300 * 36


@wp.kernel(warp_reduce=True)
def whole_total(
    x: wp.array(dtype=float), y: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    wp.atomic_add(out, 0, wp.float64(x[i]))
    if i % 5 == 2:
        wp.atomic_sub(out, 1, y[i])


@pytest.mark.parametrize("count", [1, 32, 999, (1 << 22) + 5])
def test_floats_of_all_threads(count: int) -> None:
    """Whole numbers, so that every order gives the same."""
    x = np.random.default_rng(count).integers(-1000, 1000, count).astype(np.float32)
    given = [x, x.astype(np.float64), np.zeros(2)]
    there, here = (outcome(whole_total, count, given, d) for d in (GPU, "cpu"))
    assert there[1][2] == here[1][2] == [x.sum(dtype=np.float64), -x[2::5].sum(dtype=np.float64)]


@wp.kernel
def ends(
    x: wp.array(dtype=float),
    y: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.float64),
    lo: wp.array(dtype=float),
):
    i = wp.tid()
    wp.atomic_min(lo, 0, x[i])
    wp.atomic_max(out, 0, y[i])
    if i % 5 == 2:
        wp.atomic_max(lo, 1, x[i])
        wp.atomic_min(out, 1, y[i])


@pytest.mark.parametrize("count", [1, 32, 999, (1 << 22) + 5])
@pytest.mark.parametrize("values", ["any", "zeros", "negative zeros", "no number"])
def test_extrema_of_floats_of_all_threads(count: int, values: str) -> None:
    """NaN changes nothing, whoever has it."""
    random = np.random.default_rng(count)
    given = {"any": 1.0, "zeros": 0.0, "negative zeros": -0.0, "no number": np.nan}[values]
    x = np.full(count, given, np.float32)
    if values == "any":
        x = random.normal(size=count).astype(np.float32) * np.float32(1e-38)
    x[random.random(count) < 0.3] = np.nan
    far = [np.inf, -np.inf]
    arrays = [x, x.astype(np.float64), np.array(far[::-1]), np.array(far, np.float32)]
    there, here = (outcome(ends, count, arrays, d)[1][2:] for d in (GPU, "cpu"))
    assert np.array(there).tobytes() == np.array(here).tobytes()
    wanted = [np.fmin.reduce(x, initial=np.inf), np.fmax.reduce(x[2::5], initial=-np.inf)]
    np.testing.assert_array_equal(there[1], wanted)


ZEROS_OF_BOTH_SIGNS = np.array([-0.0, 0.0, 0.0, -0.0] * 500, np.float32)


def test_least_of_zeros_of_both_signs() -> None:
    """One of them, as if the threads had come one by one in some order."""
    x = ZEROS_OF_BOTH_SIGNS
    arrays = [x, x.astype(np.float64), np.array([-5.0, 5.0]), np.array([5.0, -5.0], np.float32)]
    _, left = outcome(ends, len(x), arrays, GPU)
    assert left[2:] == [[0.0, 0.0], [0.0, 0.0]]


def test_a_stored_kernel_runs(tmp_path: Path) -> None:
    wp.save_ir(five_points, tmp_path / "kernel.wir")
    stored = wp.load_ir(tmp_path / "kernel.wir")
    u = np.random.default_rng(3).random((70, 90), dtype=np.float32)
    results = [
        outcome(k, u.shape, [u, 0 * u], d) for k in (five_points, stored) for d in (GPU, "cpu")
    ]
    assert results.count(results[0]) == 4


TABLE = wp.constant(np.array([1.5, 2.5, 4.0], dtype=np.float32))


@wp.kernel
def looked_up(x: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = TABLE[x[i] % TABLE.shape[0]]


@wp.kernel
def looked_up_again_and_again(out: wp.array(dtype=float)):
    total = 0.0
    for k in range(20000):
        total += TABLE[k % TABLE.shape[0]]
    out[wp.tid()] = total


def test_tables_do_not_change_under_launches_of_other_streams() -> None:
    streams = [wp.Stream(GPU) for _ in range(3)]
    outs = [wp.zeros(1 << 16, dtype=float, device=GPU) for _ in streams]
    for round_ in range(1, 4):
        TABLE.assign([float(round_)] * 3)
        for stream, out in zip(streams, outs, strict=True):
            wp.launch(looked_up_again_and_again, dim=out.size, inputs=[out], stream=stream)
        TABLE.assign([100.0] * 3)
        for out in outs:
            np.testing.assert_array_equal(out.numpy(), np.float32(20000 * round_))


def test_tables_change_between_launches() -> None:
    x = wp.array(np.arange(1000, dtype=np.int32), device=GPU)
    out = wp.zeros(1000, dtype=float, device=GPU)
    for values in ([1.5, 2.5, 4.0], [7.0, 8.0, 9.0], [0.5, 0.25, 0.125]):
        TABLE.assign(values)
        for _ in range(3):
            wp.launch(looked_up, dim=1000, inputs=[x, out], device=GPU)
        wanted = np.array(values, np.float32)[np.arange(1000) % 3]
        np.testing.assert_array_equal(out.numpy(), wanted)
    assert len(looked_up.programs()) == 1


CHOICES = tuple(itertools.permutations((0.0, -0.0, 1.0, -1.0, 2.0), 2))


@pytest.mark.parametrize("t", [wp.float16, wp.float32, wp.float64], ids=str)
def test_signs_of_zeros_that_are_chosen(t: Any) -> None:
    """ptxas makes numbers of predicates where it may not."""

    @wp.kernel
    def choose(a: wp.array(dtype=t), s: t, out: wp.array2d(dtype=t)):
        i = wp.tid()
        for k in wp.static(range(len(CHOICES))):
            out[i, k] = wp.where(a[i] < s, t(CHOICES[k][0]), t(CHOICES[k][1]))
        out[i, wp.static(len(CHOICES))] = a[i] * t(0.0) - t(a[i] < s)

    left = []
    for device in ("cpu", GPU):
        a = wp.array([-2.0, 2.0], dtype=t, device=device)
        out = wp.zeros((2, len(CHOICES) + 1), dtype=t, device=device)
        for s in (0.0, -3.0, 3.0):
            wp.launch(choose, dim=2, inputs=[a, s, out], device=device)
            left.append(out.numpy().tobytes())
    assert left[:3] == left[3:]
