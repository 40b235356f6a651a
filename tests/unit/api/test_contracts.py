"""Contracts at launches: shapes always, contents and conditions where they are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heald as wp


@pytest.fixture(params=["cpu", "sim"])
def device(request):
    with wp.ScopedDevice(request.param):
        yield request.param


@pytest.fixture
def checked(monkeypatch):
    monkeypatch.setattr(wp.config, "check_contracts", True)


@wp.kernel
def shifted(a: wp.array(dtype=Any, shape=("n",)), b: wp.array(dtype=Any, shape=("n + 1",))):
    i = wp.tid()
    b[i + 1] = a[i]


@wp.kernel
def filled(a: wp.array(dtype=float, shape=("n * m",)), n: int, m: int):
    a[wp.tid()] = 1.0


def refused(code: str, *parts: str):
    return pytest.raises(wp.HealdError, match=rf"(?s){code}.*{'.*'.join(parts)}")


# -- shapes ----------------------------------------------------------------------------------------


def test_shapes_are_compared_at_every_launch(device) -> None:
    a, b = wp.zeros(3), wp.zeros(4)
    for _ in range(4):
        wp.launch(shifted, dim=3, inputs=[a, b])
        with refused("H0717", r"b.shape\[0\] of kernel 'shifted' is 3", "n \\+ 1, which is 4"):
            wp.launch(shifted, dim=3, inputs=[a, a])
    with refused("H0717"):
        wp.launch(shifted, dim=0, inputs=[a, a])


@wp.kernel
def paired(a: wp.array(dtype=float, shape=("n",)), b: wp.array(dtype=float, shape=("n",))):
    i = wp.tid()
    b[i] = a[i]


def test_shapes_are_compared_where_the_first_launch_was_refused(device) -> None:
    a, b = wp.zeros(3), wp.zeros(4)
    for _ in range(3):
        with refused("H0717", r"b.shape\[0\] of kernel 'paired' is 4", "n, which is 3"):
            wp.launch(paired, dim=3, inputs=[a, b])
        wp.launch(paired, dim=3, inputs=[a, a])
    command = wp.launch(paired, dim=3, inputs=[a, b], record_cmd=True)
    with refused("H0717"):
        command.launch()


def test_recorded_launches_are_compared_too() -> None:
    command = wp.launch(shifted, dim=3, inputs=[wp.zeros(3), wp.zeros(4)], record_cmd=True)
    for _ in range(4):
        command.launch()
    command.set_param_by_name("b", wp.zeros(3))
    with refused("H0717"):
        command.launch()
    command.set_param_by_name("b", wp.zeros(4))
    command.launch()


def test_sizes_may_be_products_of_arguments() -> None:
    for _ in range(4):
        wp.launch(filled, dim=6, inputs=[wp.zeros(6), 2, 3])
    with refused("H0717", "is 7", "n \\* m, which is 6", "n is 2, m is 3"):
        wp.launch(filled, dim=6, inputs=[wp.zeros(7), 2, 3])


def test_stored_kernels_keep_their_contracts(tmp_path) -> None:
    wp.save_ir(filled, tmp_path / "filled.wir")
    again = wp.load_ir(tmp_path / "filled.wir")
    wp.launch(again, dim=6, inputs=[wp.zeros(6), 2, 3])
    with refused("H0717"):
        wp.launch(again, dim=6, inputs=[wp.zeros(7), 2, 3])


# -- contents --------------------------------------------------------------------------------------


@wp.kernel
def moved(
    to: wp.array(dtype=int, shape=("n",), elem=wp.index("n"), injective=True),
    starts: wp.array(dtype=wp.uint64, elem=wp.within(0, 100), monotone=True),
    signs: wp.array(dtype=wp.int8, ndim=3, elem=wp.within(-1, 1)),
):
    i = wp.tid()
    if i == 2:
        to[i] = to[i - 1]


def launch_moved(dim=2, to=(2, 1, 0), starts=(1, 1, 5), sign=0) -> None:
    signs = wp.full((2, 2, 2), sign, dtype=wp.int8)
    starts = wp.array(np.array(starts, np.uint64))
    wp.launch(moved, dim=dim, inputs=[wp.array(list(to), dtype=int), starts, signs])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"to": (2, 3, 0)}, r"to\[1\] is 3"),
        ({"to": (2, -1, 0)}, r"to\[1\] is -1"),
        ({"to": (2, 0, 2)}, r"to\[2\] is 2"),
        ({"starts": (1, 0)}, r"starts\[1\] is 0"),
        ({"starts": (1, 101)}, r"starts\[1\] is 101"),
        ({"starts": (1, 2**64 - 1)}, r"starts\[1\] is 18446744073709551615"),
        ({"sign": 2}, r"signs\[0, 0, 0\] is 2"),
    ],
)
def test_contents_are_looked_at_before_a_launch(device, checked, wrong, told) -> None:
    launch_moved()
    with pytest.raises(wp.LaunchError, match=f"H0412.*{told}"):
        launch_moved(**wrong)


def test_contents_are_looked_at_after_a_launch(device, checked) -> None:
    with pytest.raises(wp.KernelFault, match=r"to\[2\] is 1 after the launch"):
        launch_moved(dim=3)


def test_nobody_looks_unless_asked() -> None:
    launch_moved(dim=3, to=(5, 5, 5), sign=9)


@wp.kernel
def spread(a: wp.array(dtype=wp.int64, injective=True), b: wp.array(dtype=int, ndim=2)):
    pass


def test_numbers_far_apart_differ_too(checked) -> None:
    b = wp.zeros((1, 1), dtype=int)
    far = np.array([-(2**63), 2**63 - 1, 0])
    wp.launch(spread, dim=1, inputs=[wp.array(far), b])
    with refused("H0412"):
        wp.launch(spread, dim=1, inputs=[wp.array(np.append(far, 2**63 - 1)), b])
    wp.launch(spread, dim=1, inputs=[wp.zeros(0, dtype=wp.int64), b])


# -- conditions in the body ------------------------------------------------------------------------


@wp.kernel
def conditions(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    wp.requires(n > 0)
    for _k in range(2):
        wp.invariant(a[i] < 10)
        a[i] = a[i] + 1
    wp.assume(a[i] != 7)
    wp.ensures(a[i] < 5)


@pytest.mark.parametrize(
    ("start", "n", "told"),
    [(11, 1, "invariant"), (5, 1, "assume"), (4, 1, "ensures"), (1, 1, "")],
)
def test_conditions_are_assertions_where_they_are_checked(device, checked, start, n, told) -> None:
    a = wp.array([start], dtype=int)
    if told:
        with pytest.raises(wp.AssertFault, match=rf"wp\.{told}\("):
            wp.launch(conditions, dim=1, inputs=[a, n])
    else:
        wp.launch(conditions, dim=1, inputs=[a, n])
        assert a.list() == [start + 2]


@wp.struct
class Window:
    first: int
    step: float


@wp.kernel
def copy_window(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, w: Window):
    wp.requires(n > 0 and n <= a.shape[0] - w.first)
    i = wp.tid()
    wp.requires(wp.block_dim() % 32 == 0 and w.step > 0.5)
    wp.requires(i < n)
    b[i] = a[w.first + i]


def window(first: int, step: float = 1.0) -> Window:
    made = Window()
    made.first, made.step = first, step
    return made


@pytest.mark.parametrize(
    ("n", "first", "step", "block_dim", "told"),
    [
        (3, 2, 1.0, 64, r"a.shape\[0\] is 4, n is 3, w.first is 2"),
        (0, 2, 1.0, 64, "n is 0"),
        (2, 2, 0.5, 64, "w.step is 0.5"),
        (2, 2, 1.0, 48, "block_dim is 48"),
    ],
)
def test_what_is_required_of_launches_is_looked_at_before(
    device, checked, n: int, first: int, step: float, block_dim: int, told: str
) -> None:
    a, b = wp.full(4, 7.0), wp.zeros(4)
    with refused("H0717", told) as caught:
        inputs = [a, b, n, window(first, step)]
        wp.launch(copy_window, dim=1, inputs=inputs, block_dim=block_dim)
    assert "does not hold of this launch" in str(caught.value)
    assert b.list() == [0.0] * 4
    wp.launch(copy_window, dim=0, inputs=[a, b, n, window(first, step)], block_dim=block_dim)


def test_launches_that_keep_what_is_required_run(device, checked) -> None:
    a, b = wp.full(4, 7.0), wp.zeros(4)
    for _ in range(3):  # the quick way of later launches, too
        wp.launch(copy_window, dim=2, inputs=[a, b, 2, window(2)])
    assert b.list() == [7.0, 7.0, 0.0, 0.0]
    with refused("H0717"):
        wp.launch(copy_window, dim=2, inputs=[a, b, 3, window(2)])
    recorded = wp.launch(copy_window, dim=2, inputs=[a, b, 2, window(2)], record_cmd=True)
    recorded.launch()
    recorded.set_param_by_name("n", 3)
    with refused("H0717"):
        recorded.launch()


def test_what_is_required_of_threads_is_an_assertion(device, checked) -> None:
    a, b = wp.full(4, 7.0), wp.zeros(4)
    with pytest.raises(wp.AssertFault, match=r"wp\.requires\(i < n\)"):
        wp.launch(copy_window, dim=3, inputs=[a, b, 2, window(2)])


@wp.kernel
def after_a_return(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    if i >= a.shape[0]:
        return
    wp.requires(n > 0)
    a[i] = n


def test_what_stands_behind_a_return_is_asked_only_of_those_who_come_there(device, checked) -> None:
    wp.launch(after_a_return, dim=3, inputs=[wp.zeros(0, dtype=int), 0])
    with pytest.raises(wp.AssertFault, match="requires"):
        wp.launch(after_a_return, dim=3, inputs=[wp.zeros(2, dtype=int), 0])


def test_conditions_run_no_code_otherwise(device) -> None:
    a = wp.array([20], dtype=int)
    wp.launch(conditions, dim=1, inputs=[a, 0])
    assert a.list() == [22]


def test_an_access_in_a_condition_is_none() -> None:
    @wp.kernel
    def outside(a: wp.array(dtype=int)):
        i = wp.tid()
        wp.requires(a[i + 100] == 0)
        a[i] = 1

    a = wp.zeros(2, dtype=int)
    wp.launch(outside, dim=2, inputs=[a])
    assert a.list() == [1, 1]
    assert not wp.verify(outside, given="dim == a.shape")["bounds"].verdict.is_proof
