"""Hints: given once, to those who asked, at the line that launched."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import heald as wp


@pytest.fixture(autouse=True)
def hints() -> Iterator[None]:
    wp.config.hints = True
    yield
    wp.config.hints = False


def kernel(*, prepared: bool = True) -> wp.Kernel:
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = a[i] * 2.0

    if prepared:
        scale.prepare()
    return scale


def hinted(count: int, *args: Any, **options: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(count):
            wp.launch(*args, **options)
    return caught


def codes(caught: list[warnings.WarningMessage]) -> list[str]:
    messages = [w.message for w in caught]
    assert all(isinstance(m, wp.Hint) for m in messages)
    return [m.diagnostic.code for m in messages if isinstance(m, wp.Hint)]


def test_code_made_by_a_launch_is_told_once() -> None:
    a = wp.zeros(1000, dtype=float)
    caught = hinted(3, kernel(prepared=False), dim=1000, inputs=[a])
    assert codes(caught) == ["H1002"]
    assert caught[0].filename == __file__


def test_a_layout_that_was_not_prepared_is_told() -> None:
    a = wp.zeros(1000, dtype=float)
    assert codes(hinted(1, kernel(), dim=500, inputs=[a[::2]])) == ["H1002"]


def test_nothing_is_said_of_a_prepared_kernel_nor_without_asking() -> None:
    a = wp.zeros(1000, dtype=float)
    assert not hinted(3, kernel(), dim=1000, inputs=[a])
    wp.config.hints = False
    assert not hinted(3, kernel(prepared=False), dim=1000, inputs=[a])


@pytest.mark.parametrize(("dim", "block_dim", "told"), [(4, 256, 1), (5, 256, 0), (8, 128, 1)])
def test_blocks_are_taken_for_threads(dim: int, block_dim: int, told: int) -> None:
    a = wp.zeros(1000, dtype=float)
    caught = hinted(1, kernel(), dim=dim, inputs=[a], block_dim=block_dim)
    assert codes(caught) == ["H1003"] * told


@pytest.mark.parametrize(
    ("dim", "block_dim", "length", "told"),
    [
        (256, 256, 1 << 20, 1),
        (256, 256, 4096, 1),
        (256, 256, 4095, 0),
        (128, 128, 1 << 20, 1),
        (128, 256, 1 << 20, 0),
        (1, 1, 1 << 20, 0),
    ],
)
def test_a_block_is_taken_for_all_threads(dim: int, block_dim: int, length: int, told: int) -> None:
    a, k = wp.zeros(length, dtype=float), kernel()
    assert codes(hinted(1, k, dim=dim, inputs=[a], block_dim=block_dim)) == ["H1003"] * told
    caught = hinted(1, k, dim=dim, inputs=[a], block_dim=block_dim, record_cmd=True)
    assert codes(caught) == ["H1003"] * told
    assert all(w.filename == __file__ for w in caught)
    assert not hinted(1, k, dim=(length,), inputs=[a], block_dim=block_dim)


@wp.kernel
def of_chunks(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(64):
        out[i] += a[i * 64 + k]


@wp.kernel
def in_strides(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    for k in range(wp.tid(), len(a), 64):
        a[k] = 1.0
    out[wp.tid()] = 1.0


@wp.kernel
def in_a_loop(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 0.0
    while i < len(a):
        a[i] = 1.0
        i += 64


@wp.kernel
def of_a_window(a: wp.array(dtype=float), start: int):
    a[start + wp.tid()] = 1.0


@wp.kernel
def of_a_view(a: wp.array(dtype=float), start: int):
    part = a[start:]
    part[wp.tid()] = 1.0


@wp.kernel
def picked(a: wp.array(dtype=float), at: wp.array(dtype=int)):
    a[at[wp.tid()]] = 1.0


@wp.kernel
def all_pairs(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(len(a)):
        out[i] += a[k] - a[i]


@wp.kernel
def beside(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0 and i + 1 < len(a):
        out[i] = a[i - 1] + a[i + 1]


@wp.kernel
def rows(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(a.shape[1]):
        out[i] += a[i, k]


@wp.kernel
def counted(a: wp.array(dtype=float), count: wp.array(dtype=int)):
    wp.atomic_add(count, 0, 1)
    a[wp.tid()] = 1.0


MANY = 64 * 100
ROWS = wp.zeros((MANY, 2))


@pytest.mark.parametrize(
    ("given", "first", "second", "told"),
    [
        (of_chunks, wp.zeros(MANY), wp.zeros(64), 0),
        (in_strides, wp.zeros(MANY), wp.zeros(64), 0),
        (in_a_loop, wp.zeros(MANY), wp.zeros(64), 0),
        (of_a_window, wp.zeros(MANY), 5, 0),
        (of_a_view, wp.zeros(MANY), 5, 0),
        (picked, wp.zeros(MANY), wp.zeros(64, dtype=int), 0),
        (picked, wp.zeros(MANY), wp.zeros(MANY, dtype=int), 1),
        (all_pairs, wp.zeros(MANY), wp.zeros(64), 0),
        (all_pairs, wp.zeros(MANY), wp.zeros(MANY), 1),
        (beside, wp.zeros(MANY), wp.zeros(MANY), 1),
        (rows, ROWS, wp.zeros(MANY), 1),
        (rows, ROWS[:64], wp.zeros(64), 0),
        (counted, wp.zeros(MANY), wp.zeros(1, dtype=int), 1),
    ],
    ids=lambda x: x.key if isinstance(x, wp.Kernel) else "",
)
def test_a_thread_for_each_part_of_an_array_is_no_mistake(
    given: wp.Kernel, first: Any, second: Any, told: int
) -> None:
    """Only where each thread uses elements of its own are there too few of them."""
    given.prepare()
    caught = hinted(1, given, dim=64, inputs=[first, second], block_dim=64)
    assert codes(caught) == ["H1003"] * told


def test_a_storm_of_small_launches_is_told_once() -> None:
    a, k = wp.zeros(1000, dtype=float), kernel()
    assert not hinted(999, k, dim=1000, inputs=[a])
    assert codes(hinted(1002, k, dim=1000, inputs=[a])) == ["H1001"]


def test_large_launches_are_no_storm() -> None:
    a, k = wp.zeros(1 << 20, dtype=float), kernel()
    assert not hinted(1001, k, dim=1 << 20, inputs=[a])


def test_launches_that_fail_leave_hints_as_they_are() -> None:
    a, k = wp.zeros(4, dtype=float), kernel(prepared=False)
    with pytest.raises(wp.LaunchError):
        wp.launch(k, dim=(2, 2), inputs=[a])
    assert codes(hinted(1, k, dim=4, inputs=[a])) == ["H1002"]
    with pytest.raises(wp.OutOfBoundsError):
        wp.launch(k, dim=5, inputs=[a])
