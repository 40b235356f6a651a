"""Ratios, verdicts and the check of results, on times that are made up."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))  # benchmarks is no part of the package

from benchmarks.figures import Cost, Duration, Figure, Speed, Work
from benchmarks.timing import Local, Measured, PeerError, measure

MEASURED = Measured(
    {
        "ours": [(1.0, 1.8), (2.0, 2.2), (1.0, 2.0)],
        "peer": [(3.0, 3.0), (2.0, 2.0), (2.0, 2.0)],
    },
    {"ours": 2, "peer": 1},
)


def test_speed_is_the_median_of_the_ratios_of_each_round():
    figure = Speed("ours", "peer", 2.0).of("case", MEASURED, "wall")
    assert figure.value == 2.0
    assert figure.verdict == "pass"
    assert figure.detail["wall"]["quartiles"] == [1.5, 2.5]
    assert figure.detail["processor_ms"] == {"peer": 2000.0, "ours": 2000.0}


def test_processor_time_counts_by_thread():
    figure = Speed("ours", "peer", 2.1).of("case", MEASURED, "processor")
    assert figure.value == pytest.approx(2.0)  # of 3 / 0.9, 2 / 1.1 and 2 / 1
    assert figure.verdict == "FAIL"


def test_cost_turns_the_ratio_round():
    figure = Cost("ours", "peer", 0.5).of("case", MEASURED, "wall")
    assert figure.value == 0.5
    assert figure.verdict == "pass"


def test_duration_is_in_milliseconds():
    assert Duration("ours", 999.0).of("case", MEASURED, "wall").verdict == "FAIL"
    assert Duration("ours").of("case", MEASURED, "processor").value == 2000.0


def test_a_figure_without_a_limit_has_no_verdict():
    assert Figure("case", "name", 1.0, "x", None, ">=").verdict == ""
    assert Figure("case", "name", None, "x", 1.0, ">=").verdict == "skip"


def fail():
    raise PeerError("no wheel for this machine")


def work(value, peer=lambda: None):
    ways = {
        "ours": Local(lambda: None, lambda: np.full(4, value)),
        "peer": Local(peer, lambda: np.ones(4)),
    }
    return Work(ways, np.ones(4), (Speed("ours", "peer", 1.0),))


def test_wrong_values_stop_everything():
    with pytest.raises(ValueError, match=r"ours: 100\.00% of the values are wrong"):
        work(1.001).checked()
    with pytest.raises(ValueError, match="ours"):
        work(np.nan).checked()
    assert work(1.0 + 1e-6).checked().ways.keys() == {"ours", "peer"}


def test_a_wrong_shape_is_a_wrong_value():
    made = Work({"ours": Local(lambda: None, lambda: np.ones(3))}, np.ones(4), ())
    with pytest.raises(ValueError, match=r"ours: shape \(3,\), not \(4,\)"):
        made.checked()


def test_a_peer_that_fails_is_skipped_with_what_it_said():
    checked = work(1.0, fail).checked()
    assert checked.timed().keys() == {"ours"}
    (figure,) = checked.read("case", Measured({}, {}), "wall")
    assert figure.verdict == "skip"
    assert figure.note == "no wheel for this machine"


def test_rounds_interleave():
    order = []
    ways = {n: Local(lambda n=n: order.append(n), lambda: np.ones(1)) for n in ("a", "b")}
    measured = measure(ways, rounds=2, sample=0.0)
    # three to warm up, one and one to find out how long it takes; then a warm-up and a sample each
    assert order[:10] == ["a"] * 5 + ["b"] * 5
    assert order[10:] == ["a", "a", "b", "b", "b", "b", "a", "a"]
    assert [len(samples) for samples in measured.samples.values()] == [2, 2]
