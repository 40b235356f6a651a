"""A thread that faults lets the others of its block go on; nothing hangs, and the fault is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import HealdError, KernelFault, LaunchError, OutOfBoundsError

DEVICES = ["sim", "cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)]


@wp.kernel
def parted(a: wp.array(dtype=float)):
    i = wp.tid()
    if a[i] > 0.0:
        wp.block_sync()
    a[i] = 5.0


@wp.kernel
def parted_loop(a: wp.array(dtype=float)):
    i = wp.tid()
    for _ in range(int(a[i])):
        wp.block_sync()


@wp.kernel
def parted_while(a: wp.array(dtype=float)):
    i = wp.tid()
    while a[i] > 0.0:
        a[i] = a[i] - 1.0
        wp.block_sync()


@wp.kernel
def in_rounds(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    x = b[i]
    while wp.any(x < 100, scope="block"):
        s[t] = x
        wp.block_sync()
        x = x + a[s[t] * 3 - 20] + 1
        wp.block_sync()
    for _ in range(10):
        x += wp.shuffle_down(x, 1)
        wp.block_sync()
    b[i] = x


@wp.kernel
def would_never_end(n: int):
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    s[t] = 0
    wp.block_sync()
    while wp.all(s[0] == 0, scope="block"):
        if t == 3:
            s[n] = 1
        wp.block_sync()


@wp.kernel
def warps_would_never_end(a: wp.array(dtype=int), n: int):
    t = wp.thread_index()
    x = t
    while wp.any(x >= 0):
        x = wp.shuffle_down(x, 1)
        a[n + t] = 1
        if t % 32 == 31:
            x = a[n]


@wp.kernel
def checked(a: wp.array(dtype=int)):
    t = wp.thread_index()
    for k in range(3):
        assert a[t] != 7 or k < 2
        wp.block_sync()
        a[t] = a[t] + wp.shuffle_xor(a[t], 1) * 0


@wp.kernel
def in_wide_phases(a: wp.array(dtype=int), b: wp.array(dtype=int), n: int):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    x = a[i]
    s[t] = x
    wp.block_sync()
    for k in range(20):
        x += b[(x + k) & n]
    wp.block_sync()
    for k in range(20):
        x += s[k] + b[(x ^ k) & n]
    wp.block_sync()
    a[i] = x


def launch(kernel: Any, given: list[Any], device: str, dim: int) -> None:
    inputs = []
    for x in given:
        is_array = isinstance(x, np.ndarray)
        t = float if is_array and x.dtype == np.float32 else int
        inputs.append(wp.array(x, dtype=t, device=device) if is_array else x)
    wp.launch(kernel, dim, inputs, device=device, block_dim=64)
    wp.synchronize()


def fault_of(kernel: Any, given: list[Any], device: str, dim: int = 64) -> HealdError:
    with pytest.raises(HealdError) as caught:
        launch(kernel, given, device, dim)
    return caught.value


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", [parted, parted_loop, parted_while])
def test_threads_that_part_before_a_barrier(kernel: Any, device: str) -> None:
    error = fault_of(kernel, [np.array([0, 1] * 64, np.float32)], device, 128)
    assert error.codes == ("H0408",)
    assert isinstance(error, KernelFault)
    assert error.diagnostics[0].span is not None


@pytest.mark.parametrize("device", DEVICES)
def test_threads_that_stay_together_pass(device: str) -> None:
    a = wp.array([1.0, 1.0, 0.0, 0.0], dtype=float, device=device)
    for kernel in (parted, parted_loop, parted_while):
        wp.launch(kernel, 4, [a], device=device, block_dim=2)
    assert (a.numpy() >= 0.0).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kernel", "arrays", "thread", "index"),
    [
        (in_rounds, [np.ones(30, np.int32), np.arange(128, dtype=np.int32)], 0, -20),
        (would_never_end, [64], 3, 64),
        (warps_would_never_end, [np.ones(64, np.int32), 64], 0, 64),
    ],
)
def test_others_do_not_wait_for_a_thread_that_faulted(
    kernel: Any, arrays: list[Any], thread: int, index: int, device: str
) -> None:
    error = fault_of(kernel, arrays, device)
    assert isinstance(error, OutOfBoundsError)
    assert f"index {index} outside" in str(error)
    assert f"in thread {thread} of" in str(error)


@pytest.mark.parametrize("device", DEVICES)
def test_each_thread_is_counted_once(device: str) -> None:
    numbers = np.where(np.arange(64) % 8 == 5, 7, 0).astype(np.int32)
    error = fault_of(checked, [numbers], device)
    assert error.codes == ("H0404",)
    assert "thread 5 " in str(error)
    assert "8 threads faulted" in str(error)


@pytest.mark.parametrize("device", DEVICES)
def test_faults_where_several_threads_run_at_once(device: str) -> None:
    numbers = np.where(np.arange(64) % 16 == 9, 7, 0).astype(np.int32)
    error = fault_of(in_wide_phases, [numbers, np.zeros(28, np.int32), 31], device)
    assert isinstance(error, OutOfBoundsError)
    assert "index 30 outside 'b' of shape 28, in thread 9 " in str(error)
    assert "4 threads faulted" in str(error)
    error = fault_of(in_wide_phases, [numbers, np.zeros(18, np.int32), 31], device)
    assert "index 18 outside 'b' of shape 18, in thread 0 " in str(error)
    assert "64 threads faulted" in str(error)


def test_blocks_have_a_limit() -> None:
    with pytest.raises(LaunchError, match="1 to 1024"):
        wp.launch(parted, 2, [wp.zeros(2, dtype=float)], block_dim=1025)


# -- what the simulator alone finds ----------------------------------------------------------------


@wp.kernel
def races(x: wp.array(dtype=int), how: int):
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    s[t] = t
    wp.block_sync()
    if how == 0:  # all read what none writes
        x[t] = s[63 - t]
    elif how == 1:  # a write and a read
        s[t] = 1
        x[t] = s[t ^ 1]
    elif how == 2:  # two writes
        s[t // 2] = t
    elif how == 3:  # two writes of the same
        s[t // 2] = 5
    elif how == 4:  # updates
        s[0] += t
    elif how == 5:  # an update and a read
        s[0] += t
        x[t] = s[0]
    elif how == 6:  # a read, then a write by another
        x[t] = s[t]
        s[63 - t] = 1
    elif how == 7:  # its own
        s[t] = x[t]
        x[t] = s[t]


@pytest.mark.parametrize(
    ("how", "race"),
    [(0, False), (1, True), (2, True), (3, False), (4, False), (5, True), (6, True), (7, False)],
)
def test_races_between_barriers(how: int, race: bool) -> None:
    x = wp.zeros(64, dtype=int, device="sim")
    if not race:
        wp.launch(races, 64, [x, how], device="sim", block_dim=64)
        return
    error = fault_of(races, [np.zeros(64, np.int32), how], "sim")
    assert error.codes == ("H0409",)
    assert "'s'" in str(error)


@wp.kernel
def unwritten(x: wp.array(dtype=int)):
    t = wp.thread_index()
    s = wp.shared_array(64, int)
    s[t] = 1
    wp.block_sync()
    x[t] = s[t + 1]


def test_reads_of_what_was_never_written() -> None:
    error = fault_of(unwritten, [np.zeros(64, np.int32)], "sim", 40)
    assert error.codes == ("H0405",)
    assert "element 40 of 's'" in str(error)
