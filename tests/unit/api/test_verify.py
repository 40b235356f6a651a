"""``wp.verify`` and ``safety="strict"`` as users have them."""

from __future__ import annotations

import warnings

import pytest

import heald as wp
from heald.driver.verify_issue import Verdict


@wp.kernel
def gather(a: wp.array(dtype=float), j: wp.array(dtype=int), o: wp.array(dtype=float)):
    i = wp.tid()
    k = j[i]
    if k >= 0 and k < a.shape[0]:
        o[i] = a[k]


@wp.kernel
def unchecked(a: wp.array(dtype=float), j: wp.array(dtype=int), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = a[j[i]]


@wp.kernel
def total(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[0] = o[0] + a[i]


@wp.kernel(safety="strict")
def strict_gather(a: wp.array(dtype=float), j: wp.array(dtype=int), o: wp.array(dtype=float)):
    i = wp.tid()
    k = j[i]
    if k >= 0 and k < a.shape[0]:
        o[i] = a[k]


@wp.kernel(safety="strict")
def strict_total(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[0] = o[0] + a[i]


@wp.kernel(safety="strict")
def strict_product(a: wp.array(dtype=float), w: int):
    i, j = wp.tid()
    a[i * w + j] = float(i * 10 + j)


def test_all_launches_are_judged_with_conditions() -> None:
    report = wp.verify(gather)
    assert report.verdict is Verdict.CONDITIONAL
    assert report["bounds"].condition == "dim[0] <= j.shape[0] and dim[0] <= o.shape[0]"
    assert wp.verify(unchecked).verdict is Verdict.REFUTED


def test_one_launch_is_judged_as_it_is() -> None:
    a, j, o = wp.zeros(3), wp.zeros(4, dtype=int), wp.zeros(4)
    assert wp.verify(gather, dim=4, args=[a, j, o])["bounds"].verdict is Verdict.PROVED
    report = wp.verify(gather, dim=5, args=[a, j, o])
    assert report["bounds"].verdict is Verdict.REFUTED
    assert report.witness.dims == (5,)
    assert wp.verify(gather, dim=5, given="j.shape[0] >= 5 and o.shape[0] >= 5").proved


def test_only_the_properties_asked_for_are_judged() -> None:
    report = wp.verify(total, properties=["races", "bounds"])
    assert [p.name for p in report.properties] == ["bounds", "races"]
    assert report["races"].verdict is Verdict.REFUTED
    assert wp.verify(total, properties="division").proved


@wp.kernel
def search(a: wp.array(dtype=float), x: float, o: wp.array(dtype=int)):
    i = wp.tid()
    low = 0
    high = a.shape[0]
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    o[i] = low


def test_what_loops_keep_leads_to_sizes_for_which_sums_fit() -> None:
    report = wp.verify(search, properties=["bounds", "overflow"])
    assert report.verdict is Verdict.CONDITIONAL
    assert "a.shape[0] <= 1073741823" in report.condition
    assert wp.verify(search, given="a.shape[0] <= 1073741823", properties="overflow").proved
    larger = wp.verify(search, given="a.shape[0] == 2147483647", properties="bounds")
    assert not larger.proved


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"properties": "speed"}, "no property 'speed'"),
        ({"properties": []}, "no property is asked for"),
        ({"properties": ["races", 3]}, "properties is a text or a list of texts, not list"),
        ({"given": 5}, "given is a text or a list of texts, not int 5"),
        ({"given": "n <= 3"}, "'n' is no launch size"),
        ({"dim": (2, 2)}, "reads 1 thread index, but dim \\(2, 2\\) has 2"),
        ({"dim": 0}, "dim \\(0,\\) has no threads"),
        ({"given": ["dim[0] <= 3", "dim[0] >= 4"]}, "contradict each other"),
        ({"dim": 3, "given": "dim[0] >= 4"}, "contradict each other"),
        ({"args": []}, "takes 3 arguments"),
        ({"dim": -1}, "dim"),
    ],
)
def test_wrong_questions_are_refused(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(wp.LaunchError, match=why):
        wp.verify(gather, **arguments)


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(wp.LaunchError, match=r"wp\.verify takes a kernel"):
        wp.verify(len)


def test_strict_launches_run_what_the_prover_proves_and_intervals_do_not() -> None:
    a = wp.zeros(6)
    wp.launch(strict_product, dim=(2, 3), inputs=[a, 3])
    assert a.list() == [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]
    with pytest.raises(wp.ProofError, match="H0606"):
        wp.launch(strict_product, dim=(2, 3), inputs=[a, 4])
    with pytest.raises(wp.ProofError, match="a race on 'a'"):
        wp.launch(strict_product, dim=(2, 3), inputs=[a, 0])


def test_strict_launches_with_races_or_overlapping_arrays_are_refused() -> None:
    a, o = wp.ones(4), wp.zeros(4)
    with pytest.raises(wp.ProofError, match="a race on 'o'"):
        wp.launch(strict_total, dim=4, inputs=[a, o])
    assert o.list() == [0.0] * 4
    wp.launch(strict_total, dim=1, inputs=[a, o])
    assert o.list()[0] == 1.0
    j = wp.array([3, 2, 1, 0], dtype=int)
    wp.launch(strict_gather, dim=4, inputs=[a, j, o])
    assert o.list() == [1.0] * 4
    with pytest.raises(wp.ProofError, match="overlap"):
        wp.launch(strict_gather, dim=4, inputs=[a, j, a])


@wp.struct
class Held:
    x: wp.array(dtype=float)


@wp.kernel
def put_in(held: Held):
    i = wp.tid()
    if i < held.x.shape[0]:
        held.x[i] = 1.0


def test_arrays_in_structs_may_be_of_any_device():
    held = Held(x=wp.zeros(4, device="sim"))
    assert wp.verify(put_in, dim=3, args=[held], properties="bounds").verdict == Verdict.PROVED


def test_arrays_may_be_of_any_device():
    with wp.ScopedDevice("sim"):
        args = [wp.zeros(4), wp.zeros(3, dtype=int), wp.zeros(3)]
    report = wp.verify(gather, dim=3, args=args, properties="bounds")
    assert report.verdict == Verdict.PROVED


def test_a_witness_that_overflows_warns_of_nothing():
    @wp.kernel
    def large(x: wp.array(dtype=int), h: wp.float16):
        j = int(h)
        if h >= wp.float16(0.0) and j < x.shape[0]:
            x[j] = 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wp.verify(large)
