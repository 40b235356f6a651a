"""The suite that measures the prover runs, and its figures say what came out."""

from __future__ import annotations

from benchmarks.verify import figures


def test_a_small_part_of_the_corpus_is_measured() -> None:
    found = {figure.name: figure for figure in figures("tiny")}
    assert found["kernels"].value == 4
    assert found["faulty called safe"].verdict == "pass"
    assert found["false alarms"].verdict == "pass"
    assert found["correct proved"].value == 1
    assert found["condition of three arrays"].unit == "ns"
    verdicts = [row[0] for row in found["kernels"].detail.values()]
    assert verdicts[:2] != verdicts[2:4]
    assert found["sequences of launches"].value == 2
    assert verdicts[4:] == ["proved", "refuted"]
