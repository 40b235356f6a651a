"""Threads that wait for each other and share memory: kernels made to have too much concluded."""

from __future__ import annotations

import pytest

import heald as wp
from heald.driver.verify_issue import Verdict
from heald.driver.verify_report import Report


def judge(kernel: wp.Kernel, given: str) -> Report:
    return wp.verify(kernel, given=given)


def verdict(kernel: wp.Kernel, name: str, given: str) -> Verdict:
    return judge(kernel, given)[name].verdict


# -- what barriers order ---------------------------------------------------------------------------


@wp.kernel
def of_the_block_before(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = 1
    wp.block_sync()
    if i > 0:
        y[i] = x[i - 1]


def test_barriers_do_not_order_blocks() -> None:
    assert not verdict(of_the_block_before, "races", "dim == x.shape and dim == y.shape").is_proof


@wp.kernel
def of_the_own_block(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = 1
    wp.block_sync()
    if wp.thread_index() > 0:
        y[i] = x[i - 1]


def test_barriers_order_the_threads_of_a_block() -> None:
    given = "dim == x.shape and dim == y.shape"
    assert verdict(of_the_own_block, "races", given).is_proof


@wp.kernel
def mirrored(x: wp.array(dtype=int)):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = x[wp.tid()]
    x[wp.tid()] = s[63 - t]


@wp.kernel
def overwritten(x: wp.array(dtype=int)):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = x[wp.tid()]
    wp.block_sync()
    s[t] = s[63 - t]


@pytest.mark.parametrize("kernel", [mirrored, overwritten], ids=lambda k: k.key)
def test_races_in_shared_memory_are_refuted(kernel: wp.Kernel) -> None:
    given = "block_dim == 64 and dim[0] == 128 and dim == x.shape"
    assert verdict(kernel, "races", given) is Verdict.REFUTED


@wp.kernel
def tickets(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    count = wp.shared_array(1, int)
    if wp.thread_index() == 0:
        count[0] = 0
    wp.block_sync()
    p = wp.atomic_add(count, 0, 1)
    if p >= 0 and p < out.shape[0]:
        out[p] = wp.tid()


def test_tickets_of_different_blocks_are_equal() -> None:
    assert not verdict(tickets, "races", "dim == x.shape").is_proof


# -- divergence ------------------------------------------------------------------------------------


@wp.func
def place_of(x: wp.array(dtype=int), number: int):
    for k in range(x.shape[0]):
        if x[k] == number:
            return k
    return -1


@wp.kernel
def after_a_search(x: wp.array(dtype=int)):
    s = wp.shared_array(8, int)
    t = wp.thread_index()
    s[t] = place_of(x, t)
    wp.block_sync()
    x[wp.tid()] = s[7 - t]


@wp.kernel
def after_some_have_gone(x: wp.array(dtype=int)):
    s = wp.shared_array(8, int)
    t = wp.thread_index()
    for k in range(x.shape[0]):
        if x[k] == t:
            return
    s[t] = t
    wp.block_sync()
    x[wp.tid()] = s[7 - t]


def test_a_return_in_a_loop_leaves_the_kernel_or_the_function() -> None:
    given = "block_dim == 8 and dim == x.shape and dim[0] == 16"
    properties = "divergence", "initialised"
    assert all(verdict(after_a_search, name, given).is_proof for name in properties)
    assert not any(verdict(after_some_have_gone, name, given).is_proof for name in properties)


@wp.kernel
def late(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    if i >= n:
        return
    wp.block_sync()
    x[i] = 0


@wp.kernel
def by_content(x: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] > 0:
        wp.block_sync()


@wp.kernel
def by_warp(x: wp.array(dtype=int)):
    i = wp.tid()
    if wp.any(x[i] > 0, scope="warp"):
        wp.block_sync()


@wp.kernel
def by_block(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    if n > 3 and wp.block_index() < n:
        wp.block_sync()
    if wp.any(x[i] > 0, scope="block"):
        wp.block_sync()


@pytest.mark.parametrize("kernel", [late, by_content, by_warp], ids=lambda k: k.key)
def test_threads_that_part_before_a_barrier(kernel: wp.Kernel) -> None:
    report = judge(kernel, "dim == x.shape")
    assert not report["divergence"].verdict.is_proof
    assert not report["races"].verdict.is_proof


def test_what_is_the_same_for_a_block_parts_nobody() -> None:
    assert verdict(late, "divergence", "dim == x.shape") is Verdict.REFUTED
    assert verdict(by_block, "divergence", "dim == x.shape") is Verdict.PROVED


@wp.kernel
def after_a_loop(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = x[i]
    while k > n:
        k = k // 2 - 1
    wp.block_sync()
    x[i] = k


@wp.kernel
def after_a_loop_with_return(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = x[i]
    while k > n:
        k = k // 2 - 1
        if k == 5:
            return
    wp.block_sync()
    x[i] = k


@wp.kernel
def by_the_end_of_a_loop(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = x[i]
    while k > n:
        k = k // 2 - 1
    if k < n:
        wp.block_sync()
    x[i] = k


@wp.kernel
def behind_a_test_like_that_of_a_loop(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    if x[i] > 0:
        while n > i:
            x[i] = x[i] - 1
    if n <= i:
        wp.block_sync()


def test_loops_that_end_part_nobody() -> None:
    given = "dim == x.shape and block_dim == 4"
    assert verdict(after_a_loop, "divergence", given) is Verdict.PROVED
    for kernel in (
        after_a_loop_with_return,
        by_the_end_of_a_loop,
        behind_a_test_like_that_of_a_loop,
    ):
        assert not verdict(kernel, "divergence", given).is_proof, kernel.key


# -- loops -----------------------------------------------------------------------------------------


@wp.kernel
def rounds(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    for k in range(n):
        s[t] = k
        wp.block_sync()
        x[wp.tid()] = s[63 - t]
        wp.block_sync()


@wp.kernel
def one_barrier(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    for k in range(n):
        s[t] = k
        wp.block_sync()
        x[wp.tid()] = s[63 - t]


@wp.kernel
def before_the_loop(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = 0
    for _k in range(n):
        x[wp.tid()] = s[63 - t]
        wp.block_sync()


@wp.kernel
def after_the_loop(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = 0
    for k in range(n):
        wp.block_sync()
        s[t] = k
    x[wp.tid()] = s[63 - t]


@wp.kernel
def sometimes(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    for k in range(n):
        s[t] = k
        if k % 2 == 0:
            wp.block_sync()
        x[wp.tid()] = s[63 - t]


@wp.kernel
def own_rounds(x: wp.array(dtype=int)):
    i = wp.tid()
    for _k in range(x[i]):
        wp.block_sync()
        x[i] = 0


LOOP = "block_dim == 64 and dim[0] == 128 and dim == x.shape"


def test_a_loop_with_two_barriers_is_free_of_races() -> None:
    report = judge(rounds, f"{LOOP} and n >= 0")
    assert report["races"].verdict is Verdict.PROVED
    assert report["divergence"].verdict is Verdict.PROVED
    assert report["initialised"].verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "kernel", [one_barrier, before_the_loop, after_the_loop], ids=lambda k: k.key
)
def test_every_barrier_of_a_loop_is_missed(kernel: wp.Kernel) -> None:
    assert verdict(kernel, "races", f"{LOOP} and n == 2") is Verdict.REFUTED
    assert not verdict(kernel, "races", f"{LOOP} and n >= 0").is_proof


@pytest.mark.parametrize("kernel", [sometimes, own_rounds], ids=lambda k: k.key)
def test_barriers_that_not_every_iteration_has(kernel: wp.Kernel) -> None:
    assert not verdict(kernel, "races", LOOP).is_proof
    assert not verdict(kernel, "divergence", LOOP).is_proof


@wp.kernel
def faulting(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = 0
    while k < n:
        wp.block_sync()
        k += 64 // x[i]
    wp.block_sync()
    x[k - n] = 1


@wp.kernel
def faulting_in_few(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    k = 0
    while k < 3:
        wp.block_sync()
        x[i] = 3 // x[i]
        k += 1
    y[k - 3] = 1


def test_a_fault_of_another_thread_ends_a_while() -> None:
    assert not verdict(faulting, "bounds", "dim == x.shape").is_proof
    report = judge(faulting_in_few, "dim == x.shape and y.shape[0] >= 1")
    assert report["division"].verdict is not Verdict.PROVED
    assert not report["bounds"].verdict.is_proof
    alone = wp.verify(
        faulting_in_few, given="dim == x.shape and y.shape[0] >= 1", properties="bounds"
    )
    assert not alone.proved


# -- what shared arrays hold -----------------------------------------------------------------------


@wp.kernel
def half(x: wp.array(dtype=int)):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    if t < 32:
        s[t] = x[wp.tid()]
    wp.block_sync()
    x[wp.tid()] = s[63 - t]


@wp.kernel
def all_of_them(x: wp.array(dtype=int)):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[63 - t] = x[wp.tid()]
    wp.block_sync()
    x[wp.tid()] = s[t]


@wp.kernel
def by_rows(x: wp.array(dtype=int)):
    s = wp.shared_array((4, 16), int)
    t = wp.thread_index()
    s[t // 16, t % 16] = x[wp.tid()]
    wp.block_sync()
    x[wp.tid()] = s[t % 4, t // 4]


@wp.kernel
def too_early(x: wp.array(dtype=int)):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    x[wp.tid()] = s[t]
    s[t] = 0


def test_elements_are_written_before_they_are_read() -> None:
    assert verdict(half, "initialised", LOOP) is Verdict.REFUTED
    assert verdict(too_early, "initialised", LOOP) is Verdict.REFUTED
    assert verdict(all_of_them, "initialised", LOOP) is Verdict.PROVED
    assert verdict(by_rows, "initialised", LOOP) is Verdict.PROVED


def test_the_last_block_may_be_smaller() -> None:
    part = "block_dim == 64 and dim[0] == 100 and dim == x.shape"
    assert verdict(all_of_them, "initialised", part) is Verdict.REFUTED


# -- exchange and launches -------------------------------------------------------------------------


@wp.kernel
def exchange(x: wp.array(dtype=int)):
    i = wp.tid()
    x[wp.shuffle_xor(i, 1)] = i


def test_what_another_thread_gives_may_be_anything() -> None:
    assert judge(exchange, "dim == x.shape")["races"].verdict is Verdict.UNKNOWN


@wp.kernel(safety="strict")
def strict_block(x: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = x[i]
    wp.block_sync()
    x[i] = s[t] + 1


def test_strict_launches_are_judged_for_their_blocks() -> None:
    x = wp.zeros(128, dtype=int)
    wp.launch(strict_block, dim=128, inputs=[x], block_dim=64)
    assert x.list() == [1] * 128
    with pytest.raises(wp.ProofError):
        wp.launch(strict_block, dim=128, inputs=[x], block_dim=128)


# -- loops that are left early, or go on without a barrier -----------------------------------------


@wp.kernel
def until_the_limit(x: wp.array(dtype=int), n: int, m: int):
    i = wp.tid()
    for k in range(n):
        wp.block_sync()
        if k == m:
            break
    x[i] = 1


@wp.kernel
def until_the_limit_beyond(x: wp.array(dtype=int), n: int, m: int):
    i = wp.tid()
    for k in range(n):
        wp.block_sync()
        if k == m:
            break
    x[i + 1] = 1


@wp.kernel
def shared_until_the_limit(x: wp.array(dtype=int), n: int, m: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    for k in range(n):
        s[t] = k
        wp.block_sync()
        if k == m:
            break
        x[wp.tid()] = s[63 - t]


@wp.kernel
def own_limit(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    t = wp.thread_index()
    for k in range(n):
        if k == t:
            continue
        wp.block_sync()
    x[i] = 1


def test_loops_that_are_left_early_are_judged_as_if_without_barriers() -> None:
    report = judge(until_the_limit, LOOP)
    assert report["bounds"].verdict is Verdict.PROVED
    assert report["races"].verdict.is_proof
    assert report["divergence"].verdict is Verdict.UNKNOWN
    assert "without `break`" in report["divergence"].issues[0].hint
    assert verdict(until_the_limit_beyond, "bounds", LOOP) is Verdict.REFUTED


def test_races_in_loops_that_are_left_early() -> None:
    assert verdict(shared_until_the_limit, "races", f"{LOOP} and n == 2 and m == 5") is (
        Verdict.REFUTED
    )
    assert not verdict(shared_until_the_limit, "races", LOOP).is_proof


def test_barriers_that_are_skipped_are_seen_in_a_replay() -> None:
    assert verdict(own_limit, "divergence", LOOP) is Verdict.REFUTED


# -- while -----------------------------------------------------------------------------------------


@wp.kernel
def halving(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    k = n
    while k > 0:
        s[t] = k
        wp.block_sync()
        x[wp.tid()] = s[63 - t]
        wp.block_sync()
        k = k // 2


@wp.kernel
def halving_with_one_barrier(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    k = n
    while k > 0:
        s[t] = k
        wp.block_sync()
        x[wp.tid()] = s[63 - t]
        k = k // 2


@wp.kernel
def read_after_the_last(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = 0
    wp.block_sync()
    k = 0
    while k < n:
        wp.block_sync()
        if k > 0:
            s[t] = k
        k += 1
    x[wp.tid()] = s[63 - t]


@wp.kernel
def read_after_a_late_one(x: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = 0
    wp.block_sync()
    k = n
    while k > 0:
        if k < n:
            s[t] = k
        if k > 1:
            wp.block_sync()
        else:
            wp.block_sync()
            if k < n:
                s[t] = 1 - k
        k = k // 2
    x[wp.tid()] = s[63 - t]


@wp.kernel
def own_steps(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    t = wp.thread_index()
    k = 0
    while k < n:
        wp.block_sync()
        k += t % 2 + 1
    x[i] = 1


@wp.kernel
def steps_that_grow_apart(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    t = wp.thread_index()
    k = 0
    step = 1
    while k < n:
        wp.block_sync()
        k += step
        if t > 40:
            step = 2
    x[i] = 1


@wp.kernel
def rounds_of_the_block(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = wp.block_index() + n
    while k > 0:
        wp.block_sync()
        if i % 64 == 0 and k < x.shape[0]:
            x[k] = wp.block_index()
        k = k // 2


@wp.kernel
def read_again(x: wp.array(dtype=int)):
    while x[0] > 0:
        wp.block_sync()
        x[wp.tid()] = 0


def test_a_while_over_uniform_numbers_has_rounds() -> None:
    report = judge(halving, LOOP)
    for name in ("races", "divergence", "initialised"):
        assert report[name].verdict is Verdict.PROVED, name
    assert verdict(halving_with_one_barrier, "races", f"{LOOP} and n == 3") is Verdict.REFUTED
    assert not verdict(halving_with_one_barrier, "races", LOOP).is_proof


@pytest.mark.parametrize(
    "kernel", [read_after_the_last, read_after_a_late_one], ids=lambda k: k.key
)
def test_the_last_round_of_a_while_is_not_over_for_all(kernel: wp.Kernel) -> None:
    assert verdict(kernel, "races", f"{LOOP} and n == 3") is Verdict.REFUTED
    assert not verdict(kernel, "races", LOOP).is_proof


@pytest.mark.parametrize("kernel", [own_steps, steps_that_grow_apart], ids=lambda k: k.key)
def test_threads_that_leave_a_while_before_others(kernel: wp.Kernel) -> None:
    assert verdict(kernel, "divergence", f"{LOOP} and n == 5") is Verdict.REFUTED
    assert not verdict(kernel, "divergence", LOOP).is_proof


def test_rounds_of_different_blocks_are_not_those_of_one() -> None:
    assert verdict(rounds_of_the_block, "races", f"{LOOP} and n == 3") is Verdict.REFUTED
    assert not verdict(rounds_of_the_block, "races", LOOP).is_proof


@wp.kernel
def faster_by_vote(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = n
    while k > 0:
        wp.block_sync()
        k = k // 2
        if wp.any(i + k > 80, scope="block"):
            k = k // 2
    x[i] = 1


@wp.kernel
def faster_by_vote_of_a_warp(x: wp.array(dtype=int), n: int):
    i = wp.tid()
    k = n
    while k > 0:
        wp.block_sync()
        k = k // 2
        if wp.any(i + k > 80):
            k = k // 2
    x[i] = 1


def test_threads_agree_on_what_their_block_says_not_their_warp() -> None:
    assert verdict(faster_by_vote, "divergence", LOOP) is Verdict.PROVED
    assert not verdict(faster_by_vote_of_a_warp, "divergence", LOOP).is_proof


def test_what_is_read_in_a_condition_may_differ() -> None:
    assert not verdict(read_again, "divergence", LOOP).is_proof
    assert not verdict(read_again, "races", LOOP).is_proof


# -- contracts -------------------------------------------------------------------------------------


@wp.kernel
def next_places(places: wp.array(dtype=int, shape=("n",), elem=wp.index("n"))):
    s = wp.shared_array(64, int)
    i = wp.tid()
    s[wp.thread_index()] = i
    wp.block_sync()
    places[i] = s[wp.thread_index()] + 1


def test_stores_of_blocks_against_a_contract_are_refuted() -> None:
    given = "block_dim == 64 and dim == places.shape"
    assert verdict(next_places, "contracts", given) is Verdict.REFUTED
