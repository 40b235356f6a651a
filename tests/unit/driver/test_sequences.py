"""Launches that may run at the same time: what keeps them apart, and what only seems to."""

from __future__ import annotations

import numpy as np
import pytest

import heald as wp
from heald.api.sequence import SequenceReport
from heald.driver import sequences as driver
from heald.driver.verify_issue import Verdict


@wp.kernel
def fill(a: wp.array(dtype=float), value: float):
    a[wp.tid()] = value


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = b[i] + a[i]


@wp.kernel
def every_second(a: wp.array(dtype=float), first: int):
    a[2 * wp.tid() + first] = 1.0


@wp.kernel
def count_own(a: wp.array(dtype=int)):
    a[0] += 1


@wp.kernel
def count_all(a: wp.array(dtype=int)):
    wp.atomic_add(a, 0, 1)


@wp.kernel
def scatter(idx: wp.array(dtype=int), a: wp.array(dtype=float)):
    i = idx[wp.tid()]
    if i >= 0 and i < a.shape[0]:
        a[i] = 2.0


@wp.kernel
def shared(a: wp.array(dtype=float)):
    s = wp.shared_array(4, float)
    s[wp.thread_index() % 4] = 1.0
    a[wp.tid()] = 1.0


def record(kernel: wp.Kernel, dim: int, *arguments: object) -> wp.Launch:
    return wp.launch(kernel, dim=dim, inputs=list(arguments), record_cmd=True)


def judge(*launches: wp.Launch, order: tuple[tuple[int, int], ...] = ()) -> SequenceReport:
    return wp.verify_sequence(launches, order)


@pytest.fixture
def arrays() -> tuple[wp.array, wp.array]:
    return wp.zeros(12), wp.zeros(12)


def test_other_arrays_are_no_concern(arrays) -> None:
    a, b = arrays
    assert judge(record(fill, 12, a, 1.0), record(fill, 12, b, 1.0)).proved


def test_a_race_between_launches_is_seen(arrays) -> None:
    a, b = arrays
    report = judge(record(fill, 12, a, 1.0), record(add, 12, a, b))
    assert report.verdict is Verdict.REFUTED
    (pair,) = report.pairs
    (issue,) = pair.issues
    assert (issue.code, len(issue.notes)) == ("H0605", 1)
    assert "of kernel 'fill' and thread" in issue.message
    assert report.to_json()["pairs"][0]["launches"] == [0, 1]
    assert "0 (fill) and 1 (add): refuted" in str(report)


def test_memory_between_arrays_does_not_count() -> None:
    far = np.empty(1 << 27, np.float32)  # large arrays lie in mappings of their own
    a, b = (wp.array(part, dtype=float, copy=False) for part in (far[:12], far[-12:]))
    report = judge(record(fill, 12, a, 1.0), record(add, 12, a, b))
    assert report.verdict is Verdict.REFUTED


def test_edges_order_launches_and_chains_of_them_do_too(arrays) -> None:
    a, b = arrays
    launches = record(fill, 12, a, 1.0), record(add, 12, a, b), record(fill, 12, b, 0.0)
    assert judge(*launches, order=((0, 1), (1, 2))).proved
    assert judge(*launches, order=((0, 1), (1, 2))).pairs == ()
    left = judge(*launches, order=((0, 1),))
    assert [(p.first, p.second) for p in left.pairs] == [(0, 2), (1, 2)]
    assert [p.verdict for p in left.pairs] == [Verdict.PROVED, Verdict.REFUTED]


def test_interleaved_views_are_compared_by_address(arrays) -> None:
    a, _ = arrays
    assert judge(record(fill, 6, a[::2], 1.0), record(fill, 6, a[1::2], 2.0)).proved
    overlapping = judge(record(fill, 6, a[:6], 1.0), record(fill, 6, a[5:11], 2.0))
    assert overlapping.verdict is Verdict.REFUTED
    assert judge(record(fill, 6, a[:6], 1.0), record(fill, 6, a[6:], 2.0)).proved


def test_indices_keep_launches_apart_in_one_array(arrays) -> None:
    a, _ = arrays
    assert judge(record(every_second, 6, a, 0), record(every_second, 6, a, 1)).proved
    assert not judge(record(every_second, 6, a, 0), record(every_second, 5, a, 2)).proved


def test_launches_that_stay_inside_their_part_are_apart(arrays) -> None:
    a, _ = arrays
    assert judge(record(fill, 6, a, 1.0), record(fill, 6, a[6:], 2.0)).proved
    assert not judge(record(fill, 7, a, 1.0), record(fill, 6, a[6:], 2.0)).proved


def test_only_atomics_by_name_are_atomic_across_launches() -> None:
    n = wp.zeros(1, dtype=int)
    assert judge(record(count_all, 4, n), record(count_all, 4, n)).proved
    for other in (count_all, count_own):
        report = judge(record(other, 4, n), record(count_own, 4, n))
        assert report.verdict is Verdict.REFUTED


def test_what_memory_holds_now_proves_nothing(arrays) -> None:
    a, _ = arrays
    idx = wp.array([0, 1, 2, 3], dtype=int)
    report = judge(record(scatter, 4, idx, a), record(fill, 4, a[8:], 1.0))
    assert report.verdict is Verdict.UNKNOWN


def test_arrays_of_other_types_over_the_same_bytes(arrays) -> None:
    a, _ = arrays
    pairs = wp.array(ptr=a.ptr, dtype=wp.vec2, shape=6)

    @wp.kernel
    def fill_pairs(v: wp.array(dtype=wp.vec2)):
        v[wp.tid()] = wp.vec2(1.0, 2.0)

    assert not judge(record(fill_pairs, 3, pairs), record(fill, 1, a[5:], 1.0)).proved
    assert judge(record(fill_pairs, 3, pairs), record(fill, 6, a[6:], 1.0)).proved


def test_blocks_are_judged_but_not_replayed(arrays) -> None:
    a, b = arrays
    assert judge(record(shared, 12, a), record(fill, 12, b, 1.0)).proved
    assert judge(record(shared, 12, a), record(fill, 12, a, 2.0)).verdict is Verdict.UNKNOWN


def test_nothing_runs(arrays) -> None:
    a, b = arrays
    judge(record(fill, 12, a, 1.0), record(add, 12, a, b))
    assert a.list() == [0.0] * 12
    assert b.list() == [0.0] * 12


def test_what_is_no_launch_or_no_edge_is_refused(arrays) -> None:
    a, _ = arrays
    one = record(fill, 12, a, 1.0)
    circle = ([one, one], ((0, 1), (1, 0)))
    for launches, order in (([fill], ()), ([one], ((0, 1),)), ([one, one], ((0, 0),)), circle):
        with pytest.raises(wp.LaunchError) as caught:
            wp.verify_sequence(launches, order)
        assert caught.value.codes == ("H0707",)


def test_what_does_not_tell_its_launches_is_refused(arrays) -> None:
    with pytest.raises(wp.LaunchError, match="takes recorded launches, not") as caught:
        wp.verify_sequence(object())  # such as a graph
    assert "say with order= and streams= what orders them" in str(caught.value)


def test_launches_of_one_stream_are_ordered(arrays) -> None:
    a, b = arrays
    launches = record(fill, 12, a, 1.0), record(fill, 12, b, 0.0), record(add, 12, a, b)
    assert wp.verify_sequence(launches, streams=["left", "left", "left"]).pairs == ()
    found = wp.verify_sequence(launches, streams=["left", "right", "right"])
    assert [(p.first, p.second) for p in found.pairs] == [(0, 1), (0, 2)]
    assert found.verdict is Verdict.REFUTED
    assert wp.verify_sequence(launches, [(0, 2)], streams=["left", "right", "right"]).proved


@pytest.mark.parametrize(
    ("streams", "order", "why"),
    [
        (["left"], (), "streams has 1 of them for 2 launches"),
        (3, (), "streams is a list of streams or names, not int 3"),
        (None, 5, "order holds pairs of numbers of 2 launches, not 5"),
        (["left", "left"], ((1, 0),), "goes in a circle: 0 waits for itself"),
        ([["left"], ["right"]], (), "streams holds streams or names of them, not list"),
    ],
)
def test_streams_that_do_not_fit_are_refused(arrays, streams, order, why: str) -> None:
    a, b = arrays
    with pytest.raises(wp.LaunchError, match=why):
        wp.verify_sequence(
            [record(fill, 12, a, 1.0), record(fill, 12, b, 1.0)], order, streams=streams
        )


def test_without_the_solver_nothing_is_known_of_arrays_that_overlap(monkeypatch) -> None:
    def give_up(*launches: object) -> None:
        raise ImportError

    monkeypatch.setattr(driver, "collisions", give_up)
    a = wp.zeros(12)
    found = wp.verify_sequence([record(fill, 12, a, 1.0), record(fill, 12, a, 2.0)])
    assert found.verdict is Verdict.UNKNOWN
    (issue,) = found.pairs[0].issues
    assert issue.message == "not judged: no solver"
    assert "pip install z3-solver" in issue.hint
    apart = record(fill, 6, a[:6], 1.0), record(fill, 6, a[6:], 2.0)
    assert wp.verify_sequence(apart).proved
