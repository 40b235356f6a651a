"""Which cores a benchmark runs on, where some are busy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))  # benchmarks is no part of the package

from benchmarks import cores

pytestmark = pytest.mark.cpu
needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system keeps no thread on a core"
)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Six cores, of which 1, 3 and 4 are busy; what they were set to, the last at the end."""
    chosen: list[set[int]] = [{0, 1, 2, 3, 4, 5}]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: chosen[-1], raising=False)
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda _, some: chosen.append(set(some)), raising=False
    )
    seconds = {0: 1.1, 1: 1.8, 2: 1.0, 3: 1.7, 4: 1.9, 5: 1.2}
    monkeypatch.setattr(cores, "_loop", lambda: seconds[min(chosen[-1])])
    return chosen


def test_the_quietest_are_taken_and_given_back(machine: list[set[int]]) -> None:
    with cores.quiet(3):
        assert machine[-1] == {0, 2, 5}
    assert machine[-1] == {0, 1, 2, 3, 4, 5}
    with pytest.raises(KeyError), cores.quiet(1):
        raise KeyError(*machine[-1])
    assert machine[-2] == {2}
    assert machine[-1] == {0, 1, 2, 3, 4, 5}


def test_there_are_fewer_than_wanted(machine: list[set[int]]) -> None:
    machine.append({1, 4})
    with cores.quiet(8):
        assert machine[-1] == {1, 4}


@needs_affinity
def test_this_machine() -> None:
    before = os.sched_getaffinity(0)
    with cores.quiet(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_where_threads_are_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    monkeypatch.setattr(cores, "quietest", lambda *_: pytest.fail("asked"))
    with cores.quiet(1):
        pass
