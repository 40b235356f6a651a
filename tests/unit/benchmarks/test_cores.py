"""Which cores a benchmark runs on, and which rounds count, where some cores are busy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))  # benchmarks is no part of the package

from benchmarks import cores

pytestmark = pytest.mark.cpu
BUSY = {1, 3, 4}


class Machine:
    """Six cores; what a thread was kept on, the last at the end."""

    def __init__(self) -> None:
        self.kept = [{0, 1, 2, 3, 4, 5}]

    def keep(self, _thread: int, some: list[int]) -> None:
        self.kept.append(set(some))

    def loop(self) -> float:
        """Quiet cores differ a little."""
        core = min(self.kept[-1])
        return 1.8 if core in BUSY else 1.0 + 0.01 * core


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: made.kept[-1], raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", made.keep, raising=False)
    monkeypatch.setattr(cores, "_loop", made.loop)
    return made


def test_the_quietest_are_taken_and_given_back(machine: Machine) -> None:
    with cores.quiet(3):
        assert machine.kept[-1] == {0, 2, 5}
    assert machine.kept[-1] == {0, 1, 2, 3, 4, 5}
    with pytest.raises(KeyError), cores.quiet(1):
        raise KeyError
    assert machine.kept[-2:] == [{0}, {0, 1, 2, 3, 4, 5}]


def test_there_are_fewer_than_wanted(machine: Machine) -> None:
    machine.kept.append({1, 4})
    with cores.quiet(8):
        assert machine.kept[-1] == {1, 4}


def test_rounds_on_busy_cores_do_not_count(machine: Machine) -> None:
    """Core 0 becomes busy after some rounds: the others are tried until one is quiet."""
    taken: list[int] = []

    def take() -> float:
        taken.append(min(machine.kept[-1]))
        if len(taken) == 5:
            BUSY.add(0)
        return float(taken[-1])

    try:
        found = cores.least_disturbed(take, wanted=8, rounds=12)
    finally:
        BUSY.discard(0)
    assert taken[:5] == [0] * 5
    assert sorted(found) == [0.0] * 4 + [2.0] * 4
    assert set(taken) == {0, 1, 2}
    assert machine.kept[-1] == {0, 1, 2, 3, 4, 5}


def test_the_pace_is_that_of_a_quiet_core(machine: Machine) -> None:
    machine.kept.append({1, 5})
    assert cores.pace() == pytest.approx(1.05 / cores._STEPS * 1e9)


def test_where_threads_are_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with cores.quiet(1):
        assert cores.least_disturbed(lambda: 3.0, wanted=2, rounds=3) == [3.0, 3.0]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads are kept nowhere")
def test_this_machine() -> None:
    before = os.sched_getaffinity(0)
    with cores.quiet(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
