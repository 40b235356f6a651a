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
