"""Of kernels whose threads wait for each other nothing is proved, and the reason is given."""

from __future__ import annotations

import pytest

import heald as wp
from heald.driver.verify_issue import Verdict


@wp.kernel
def guarded_by_a_barrier(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = 1
    wp.block_sync()
    if i > 0:
        y[i] = x[i - 1]


@wp.kernel
def harmless_but_for_the_barrier(x: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = 1
    if x[i] > 0:
        wp.block_sync()


@wp.kernel
def block_vote(x: wp.array(dtype=int)):
    i = wp.tid()
    if wp.any(x[i] > 0, scope="block"):
        x[i] = 2


@wp.kernel
def race_in_shared_memory(x: wp.array(dtype=int)):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = t
    x[wp.tid()] = s[63 - t]


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (guarded_by_a_barrier, "wait for each other"),
        (harmless_but_for_the_barrier, "wait for each other"),
        (block_vote, "wait for each other"),
        (race_in_shared_memory, "shared memory"),
    ],
)
def test_they_are_not_judged(kernel: wp.Kernel, reason: str) -> None:
    report = wp.verify(kernel)
    assert report.verdict is Verdict.UNKNOWN
    assert reason in str(report)


@wp.kernel
def exchange(x: wp.array(dtype=int)):
    i = wp.tid()
    x[wp.shuffle_xor(i, 1)] = i


def test_what_another_thread_gives_may_be_anything() -> None:
    report = wp.verify(exchange)
    (races,) = (p for p in report.properties if p.name == "races")
    assert races.verdict is Verdict.UNKNOWN
