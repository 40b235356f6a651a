"""Code for small launches on a GPU and for large ones, with a driver that runs nothing."""

from __future__ import annotations

from typing import Any

import pytest
from fake_cuda import use_fake_gpu

import heald as wp
from heald.api.adapt import adapt_arguments
from heald.driver import gpu
from heald.driver.gpu import GpuVariant
from heald.driver.program import Program
from heald.runtime import get_device
from heald.runtime.cuda import filling

SMALL = 1000


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> int:
    """Threads that fill the GPU."""
    _, found = use_fake_gpu(monkeypatch)
    found.capability, found.processors = (9, 0), 132
    monkeypatch.setattr(gpu, "driver_version", lambda: 13000)
    monkeypatch.setattr(gpu, "assemble_on", lambda _gpu, ptx, _arch: ptx)
    return filling(found)


def twice(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = 2.0 * a[i]


def double_often(a: wp.array(dtype=float)):
    i = wp.tid()
    for _k in range(i):
        a[i] = 2.0 * a[i]


class Launches:
    """Of a new program, on arrays that fulfil its conditions."""

    def __init__(self, function: Any) -> None:
        self.kernel = wp.kernel(function)
        self.program: Program = self.kernel.program(self.kernel.concrete_types())
        self.device = get_device("cuda:0")

    def variant(self, threads: int) -> GpuVariant:
        a = wp.zeros(threads, dtype=float, device=self.device)
        arguments = adapt_arguments(self.kernel, [a], self.device)
        return self.program.choose_on_gpu(self.device, (threads,), arguments)

    @property
    def compiled(self) -> list[GpuVariant]:
        return list(self.program.compiled_for_gpu(self.device).values())


def test_code_for_small_launches_has_no_lanes(full: int) -> None:
    launches = Launches(twice)
    small = launches.variant(SMALL)
    assert small is launches.variant(full - 1)
    assert small.artifact.few
    assert small.artifact.lanes is None
    assert launches.compiled == [small]


def test_code_for_large_launches_takes_its_place(full: int) -> None:
    launches = Launches(twice)
    small = launches.variant(SMALL)
    large = launches.variant(full)
    assert large.artifact.lanes is not None
    assert not large.artifact.few
    assert len(large.artifact.code) > 1.5 * len(small.artifact.code)
    assert launches.variant(SMALL) is large
    assert launches.compiled == [large]


def test_code_that_is_the_same_for_all_is_made_once(full: int) -> None:
    launches = Launches(double_often)
    small = launches.variant(SMALL)
    assert not small.artifact.few
    assert launches.variant(full) is small


def test_what_is_prepared_is_for_all(full: int) -> None:
    launches = Launches(twice)
    with wp.ScopedDevice("cuda:0"):
        launches.program.prepare()
    (made,) = launches.compiled
    assert made.artifact.lanes is not None
    assert launches.variant(SMALL) is made
