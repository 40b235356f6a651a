"""What every step of a compilation runs in."""

import gc
from collections.abc import Iterator

import pytest

import heald as wp
from heald.driver.deep import deeply


@pytest.fixture(params=[True, False], ids=["on", "off"])
def collector(request: pytest.FixtureRequest) -> Iterator[bool]:
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


def test_no_collector_runs_in_a_step(collector: bool) -> None:
    assert deeply(gc.isenabled, "k") is False
    assert gc.isenabled() is collector


def test_the_collector_is_back_after_a_mistake(collector: bool) -> None:
    def mistaken() -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        deeply(mistaken, "k")
    assert gc.isenabled() is collector


def test_no_collector_runs_in_a_step_that_starts_again(collector: bool) -> None:
    seen = []

    def deep(left: int) -> bool:
        return deep(left - 1) if left else gc.isenabled()

    def step() -> bool:
        seen.append(gc.isenabled())
        return deep(5000)

    assert deeply(step, "k") is False
    assert seen == [False, False]
    assert gc.isenabled() is collector


def test_what_is_too_deep_is_refused(collector: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heald.driver.deep._FRAMES", 0)

    def deep(left: int) -> int:
        return deep(left - 1) if left else 0

    with pytest.raises(wp.CompileError, match="H0101"):
        deeply(lambda: deep(5000), "k")
    assert gc.isenabled() is collector
