"""What threads that meet print: thread by thread, each in the order of its kernel."""

from __future__ import annotations

from typing import Any

import pytest

import heald as wp
from heald.diagnostics import OutOfBoundsError

DEVICES = ["sim", "cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)]


@wp.kernel
def between_barriers(a: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_index()
    s = wp.shared_array(4, int)
    wp.printf("%d first\n", i)
    wp.printf("%d starts with %d\n", i, a[i])
    s[t] = a[i]
    wp.block_sync()
    for k in range(2):
        other = s[(t + 1) % wp.block_threads()]
        if i % 2 == k:
            wp.printf("%d saw %d in round %d\n", i, other, k)
        wp.block_sync()
        s[t] = other
        wp.block_sync()
    wp.printf("%d last\n", i)


@wp.kernel
def around_exchanges(a: wp.array(dtype=int)):
    i = wp.tid()
    wp.printf("%d has %d\n", i, a[i])
    x = a[i] + wp.shuffle_xor(a[i], 1)
    wp.printf("%d and its neighbour %d\n", i, x)
    if wp.any(x > 40, scope="block"):
        wp.printf("%d all %d\n", i, wp.reduce_sum(x))


@wp.kernel
def around_faults(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    wp.printf("%d before\n", i)
    wp.block_sync()
    wp.printf("%d at %d\n", i, a[i + n])
    wp.block_sync()
    wp.printf("%d behind\n", i)
    wp.printf("%d end\n", i)


def launch(kernel: Any, given: list[Any], device: str) -> None:
    """Six threads in blocks of four."""
    a = wp.array([10 * k for k in range(6)], dtype=int, device=device)
    wp.launch(kernel, 6, [a, *given], device=device, block_dim=4)
    wp.synchronize()


@pytest.mark.parametrize("device", DEVICES)
def test_prints_between_barriers(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    launch(between_barriers, [], device)
    wanted = []
    for i in range(6):
        block, size = (0, 4) if i < 4 else (4, 2)
        seen = 10 * (block + (i - block + 1 + i % 2) % size)
        wanted += [f"{i} first", f"{i} starts with {10 * i}"]
        wanted += [f"{i} saw {seen} in round {i % 2}", f"{i} last"]
    assert capsys.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize("device", DEVICES)
def test_prints_around_exchanges(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    launch(around_exchanges, [], device)
    wanted = []
    for i in range(6):
        pair = 10 * (i + (i ^ 1))
        total = 120 if i < 4 else 180
        wanted += [f"{i} has {10 * i}", f"{i} and its neighbour {pair}", f"{i} all {total}"]
    assert capsys.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize("device", DEVICES)
def test_a_thread_that_faults_prints_on(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What it could not read is 0 to it, in the order that it has everywhere."""
    with pytest.raises(OutOfBoundsError, match="in thread 4 of"):
        launch(around_faults, [2], device)
    wanted = []
    for i in range(6):
        seen = 10 * (i + 2) if i < 4 else 0
        wanted += [f"{i} before", f"{i} at {seen}", f"{i} behind", f"{i} end"]
    assert capsys.readouterr().out.splitlines() == wanted
