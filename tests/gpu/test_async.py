"""Launches on a GPU do not wait; faults and prints come where the host waits."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import DeviceError, OutOfBoundsError

pytestmark = pytest.mark.gpu
GPU = "cuda:0"


@wp.kernel
def shifted(a: wp.array(dtype=wp.float32), by: int, out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = a[i + by]


@wp.kernel
def other(a: wp.array(dtype=wp.float32), by: int):
    i = wp.tid()
    a[i + by] = 1.0


@wp.kernel
def steps(x: wp.array(dtype=wp.float32), n: int):
    i = wp.tid()
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[i] = v


@wp.kernel
def tell(number: int):
    wp.printf("%d of %d\n", wp.tid(), number)


@wp.kernel
def gather(a: wp.array(dtype=wp.float32), s: wp.vec3, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = s * a[i]


def data(n: int = 64) -> tuple[wp.array, wp.array]:
    return wp.array(np.arange(n, dtype=np.float32), device=GPU), wp.zeros(n, device=GPU)


def test_a_launch_does_not_wait() -> None:
    x = wp.zeros(1 << 20, device=GPU)
    for _ in range(3):
        wp.launch(steps, dim=len(x), inputs=[x, 1], device=GPU)
    wp.synchronize(GPU)
    start = time.perf_counter()
    wp.launch(steps, dim=len(x), inputs=[x, 2_000_000], device=GPU)
    given = time.perf_counter() - start
    assert not wp.get_stream(GPU).is_complete
    wp.synchronize(GPU)
    assert given < 0.5 * (time.perf_counter() - start)
    assert float(x[5]) == 2.0


WAYS: dict[str, Callable[[wp.array, wp.array], object]] = {
    "numpy": lambda a, out: out.numpy(),
    "element": lambda a, out: out[0],
    "stream": lambda a, out: wp.synchronize_stream(GPU),
    "later launch": lambda a, out: wp.launch(shifted, 64, [a, 0, out], device=GPU),
    "synchronize": lambda a, out: wp.synchronize(),
}


@pytest.mark.parametrize("way", WAYS)
def test_where_a_fault_is_raised(way: str) -> None:
    a, out = data()
    for _ in range(4):
        wp.launch(shifted, dim=64, inputs=[a, 0, out], device=GPU)
    wp.launch(shifted, dim=64, inputs=[a, 7, out], device=GPU)
    time.sleep(0.2)
    with pytest.raises(OutOfBoundsError, match=r"index 64 outside 'a'.*thread 57 of kernel 's"):
        WAYS[way](a, out)
    wp.launch(shifted, dim=64, inputs=[a, 0, out], device=GPU)
    assert out.list() == list(range(64))


def test_the_first_launch_that_failed_is_told_and_the_others_counted() -> None:
    a, out = data()
    for by in (0, 1, 0, 1):
        wp.launch(shifted, dim=64, inputs=[a, by, out], device=GPU)
        with contextlib.suppress(OutOfBoundsError):
            wp.synchronize()
    wp.launch(steps, dim=64, inputs=[a, 5_000_000], device=GPU)  # so that none has run too early
    for by in (9, 5, 60):
        wp.launch(shifted, dim=64, inputs=[a, by, out], device=GPU)
    with pytest.raises(OutOfBoundsError, match="thread 55 of") as caught:
        wp.synchronize()
    assert "65 threads of other launches" in str(caught.value)
    wp.synchronize()


def test_faults_name_their_kernel_through_the_quick_path() -> None:
    a, out = data()
    for k in range(10):
        wp.launch(shifted, dim=64, inputs=[a, 0, out], device=GPU)
        wp.launch(other, dim=(64 - k), inputs=[a, k], device=GPU)
    wp.launch(other, dim=60, inputs=[a, 10], device=GPU)
    with pytest.raises(OutOfBoundsError, match="thread 54 of kernel 'other'"):
        wp.synchronize()


def test_vectors_and_structs_and_dims_through_the_quick_path() -> None:
    a = wp.array(np.arange(5, dtype=np.float32), device=GPU)
    out = wp.zeros(5, dtype=wp.vec3, device=GPU)
    for k in range(6):
        wp.launch(gather, dim=5, inputs=[a, wp.vec3(1.0, 2.0, float(k))], outputs=[out], device=GPU)
        assert out.numpy().tolist() == [[i, 2.0 * i, float(k) * i] for i in range(5)]
    with wp.ScopedDevice(GPU):
        wp.launch(gather, [5], [a, (1.0, 1.0, 1.0), out])
        assert out.numpy()[4].tolist() == [4, 4, 4]


def test_misaligned_arrays_are_refused_on_both_paths() -> None:
    raw = wp.zeros(41, dtype=wp.uint8, device=GPU)
    bad = wp.array(ptr=raw.ptr + 1, dtype=wp.uint8, shape=40, device=GPU)
    assert bad.numpy().tolist() == [0] * 40
    a, out = data()
    for _ in range(5):
        wp.launch(shifted, dim=8, inputs=[a, 0, out], device=GPU)
    made = wp.array(np.zeros(8, np.float32), device=GPU)
    assert made.ptr % 256 == 0


def test_memory_lives_until_work_has_ended() -> None:
    """Arrays that are dropped and made anew while kernels are waiting."""
    sums = []
    for k in range(200):
        x = wp.full(1 << 16, float(k), device=GPU)
        wp.launch(steps, dim=len(x), inputs=[x, 200], device=GPU)
        y = wp.clone(x)
        del x
        if k % 20 == 0:
            sums.append(y)
    for y in sums:
        assert (y.numpy() == 2.0).all()


def test_prints_come_at_the_end_and_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    wp.launch(tell, dim=3, inputs=[1], device=GPU)
    assert capsys.readouterr().out == ""
    wp.launch(tell, dim=3, inputs=[2], device=GPU)
    wp.synchronize()
    lines = [f"{i} of {k}" for k in (1, 2) for i in range(3)]
    assert capsys.readouterr().out.splitlines() == lines


def test_what_nobody_waited_for_is_told_at_exit(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import heald as wp\n"
        "@wp.kernel\ndef k(a: wp.array(dtype=int)):\n"
        "    a[wp.tid() + 1] = 7\n    wp.printf('here\\n')\n"
        "a = wp.zeros(3, dtype=int, device='cuda:0')\n"
        "wp.launch(k, dim=3, inputs=[a], device='cuda:0')\nprint('end')\n"
    )
    environment = {**os.environ, "HEALD_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "end\nhere\nhere\nhere\n"
    assert "index 3 outside 'a' of shape 3, in thread 2 of kernel 'k'" in done.stderr


def test_pools() -> None:
    assert wp.is_mempool_supported(GPU)
    assert wp.is_mempool_enabled(GPU)
    before = wp.get_mempool_used_mem_current(GPU)
    x = wp.zeros(1 << 20, dtype=wp.int8, device=GPU)
    assert wp.get_mempool_used_mem_current(GPU) >= before + (1 << 20)
    assert wp.get_mempool_used_mem_high(GPU) >= before + (1 << 20)
    del x
    wp.synchronize()
    assert wp.get_mempool_used_mem_current(GPU) <= before
    wp.set_mempool_release_threshold(GPU, 1 << 26)
    assert wp.get_mempool_release_threshold(GPU) == 1 << 26
    wp.set_mempool_release_threshold(GPU, 1 << 30)
    with wp.ScopedMempool(GPU, False):
        y = wp.full(1000, 3.0, device=GPU)
        assert not wp.is_mempool_enabled(GPU)
        assert (y.numpy() == 3).all()
        del y
    assert wp.is_mempool_enabled(GPU)


def test_out_of_memory_says_who_has_it() -> None:
    keep = wp.zeros(1 << 20, device=GPU)
    with pytest.raises(DeviceError, match="in use by arrays") as caught:
        wp.zeros((1 << 40,), dtype=wp.float64, device=GPU)
    assert caught.value.codes == ("H0802",)
    assert keep.numpy().sum() == 0


def test_pinned_arrays() -> None:
    n = 1 << 22
    pinned = wp.array(np.arange(n, dtype=np.int32), pinned=True, device="cpu")
    assert pinned.pinned
    there = wp.empty(n, dtype=wp.int32, device=GPU)
    back = wp.zeros(n, dtype=wp.int32, device="cpu", pinned=True)
    wp.copy(there, pinned)
    wp.copy(back, there)
    assert (back.numpy() == np.arange(n)).all()  # waits for the copy by itself
    back.zero_()
    wp.copy(back, there)
    del there, pinned
    assert int(back[n - 1]) == n - 1
    for _ in range(4):
        wp.launch(fill_cpu, dim=8, inputs=[back], device="cpu")
    assert back.numpy()[:8].tolist() == [5] * 8


@wp.kernel
def fill_cpu(a: wp.array(dtype=int)):
    a[wp.tid()] = 5


def test_properties() -> None:
    device: Any = wp.get_device(GPU)
    assert device.sm_count > 10
    assert device.arch >= 70
    assert 0 < device.free_memory <= device.total_memory
    assert device.has_stream
    assert not device.is_capturing


def test_launches_that_are_verified_raise_their_own_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "verify_cuda", True)
    a, out = data()
    for _ in range(5):
        wp.launch(shifted, dim=64, inputs=[a, 0, out], device=GPU)
        with pytest.raises(OutOfBoundsError):
            wp.launch(shifted, dim=64, inputs=[a, 7, out], device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(shifted, dim=64, inputs=[a, 0, out], device=GPU)
    wp.capture_launch(capture.graph)
    assert out.list() == list(range(64))
