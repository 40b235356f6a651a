"""Code for small launches on a GPU and for large ones, with a driver that runs nothing."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from fake_cuda import Fake, use_fake_gpu

import heald as wp
from heald.api.adapt import adapt_arguments
from heald.artifact import Lanes
from heald.codegen import EntryTable
from heald.driver import entries, gpu, program
from heald.driver.arguments import Argument
from heald.driver.entries import fixed_replay_of, replay_of
from heald.driver.gpu import GpuVariant
from heald.driver.program import Program
from heald.runtime import get_device
from heald.runtime.cuda import devices, filling

SMALL = 1000
GPU = "cuda:0"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """Threads of the smallest launch that takes lanes, on a GPU whose code nobody has made."""
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    _, found = use_fake_gpu(monkeypatch)
    found.capability, found.processors = (9, 0), 132
    monkeypatch.setattr(gpu, "driver_version", lambda: 13000)
    monkeypatch.setattr(gpu, "assemble_on", lambda _gpu, ptx, _arch: ptx)
    return Lanes.fewest(filling(found))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For what was compiled: was it for few threads?"""
    found = []
    compile_for_gpu = program.compile_for_gpu

    def noted(*how: Any, few: bool) -> Any:
        found.append(few)
        return compile_for_gpu(*how, few=few)

    monkeypatch.setattr(program, "compile_for_gpu", noted)
    return found


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[EntryTable]:
    """Those of the entries that were made."""
    found: list[EntryTable] = []
    make_entry = entries.make_entry

    def noted(table: EntryTable, keepalive: Any) -> Any:
        found.append(table)
        return make_entry(table, keepalive)

    monkeypatch.setattr(entries, "make_entry", noted)
    return found


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
        self.device = get_device(GPU)

    def arguments(self, threads: int) -> list[Argument]:
        a = wp.zeros(threads, dtype=float, device=self.device)
        return adapt_arguments(self.kernel, [a], self.device)

    def variant(self, threads: int) -> GpuVariant:
        return self.program.choose_on_gpu(self.device, (threads,), self.arguments(threads))

    @property
    def compiled(self) -> list[GpuVariant]:
        return list(self.program.compiled_for_gpu(self.device).values())


def test_lanes_need_as_many_threads(full: int) -> None:
    """Of no smaller launch the threads of a grid by lanes would fill the GPU."""
    least = filling(devices.discover().gpus[0])
    for dims in ((full - 1,), (full // 113, 112), (full // 128, 127), (full // 97, 96)):
        for width in (4, 8, 16):
            assert Lanes(width, 32).grid(dims, len(dims)) < least
    assert Lanes(4, 32).grid((full // 112, 112), 2) == least


def test_code_for_small_launches_has_no_lanes(full: int) -> None:
    launches = Launches(twice)
    small = launches.variant(SMALL)
    assert small is launches.variant(full - 1)
    assert small.artifact.few
    assert small.artifact.lanes is None
    assert launches.compiled == [small]


def test_code_for_large_launches_goes_before_it(full: int) -> None:
    """That for small ones stays: graphs of others may run it."""
    launches = Launches(twice)
    small = launches.variant(SMALL)
    large = launches.variant(full)
    assert large.artifact.lanes is not None
    assert not large.artifact.few
    assert large.artifact.work == small.artifact.work
    assert len(large.artifact.code) > 1.5 * len(small.artifact.code)
    assert launches.variant(SMALL) is small
    assert launches.compiled == [large]


def test_code_that_is_the_same_for_all_is_made_once(full: int) -> None:
    launches = Launches(double_often)
    small = launches.variant(SMALL)
    assert not small.artifact.few
    assert launches.variant(full) is small


@pytest.mark.parametrize("by", ["prepare", "large"])
def test_code_for_all_does_for_small_launches(full: int, by: str) -> None:
    launches = Launches(twice)
    if by == "large":
        launches.variant(full)
    else:
        with wp.ScopedDevice(GPU):
            launches.program.prepare()
    (made,) = launches.compiled
    assert made.artifact.lanes is not None
    assert launches.variant(SMALL) is made


@pytest.mark.parametrize("threads", [SMALL, None])
def test_launches_take_the_code_for_their_threads(
    full: int, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = []
    monkeypatch.setattr(program, "run_on_gpu", lambda variant, *_: run.append(variant))
    launches, count = Launches(twice), threads or full
    device, arguments = launches.device, launches.arguments(count)
    launches.program.compile_for(device, (count,), arguments)
    (variant,) = launches.compiled
    launches.program.run(device, (count,), arguments, 256)
    assert run == [variant]
    assert variant.artifact.few == (threads == SMALL)


def test_entries_refuse_launches_that_want_other_code(full: int, tables: list[EntryTable]) -> None:
    launches = Launches(twice)
    launches.variant(SMALL)
    before = replay_of(launches.program, launches.device)
    assert before is not None
    assert before.is_current
    large = launches.variant(full)
    assert not before.is_current
    after = replay_of(launches.program, launches.device)
    assert after is not None
    assert after.is_current
    assert hash(after) != hash(before)
    ((few,), (rest,)) = (table.variants.values() for table in tables)
    assert (few.few, few.least, few.lanes) == (True, full, None)  # type: ignore[union-attr]
    known = (rest.few, rest.least, rest.lanes)  # type: ignore[union-attr]
    assert known == (False, large.code.least, large.artifact.lanes)


def test_recorded_launches_keep_the_code_for_their_threads(
    full: int, tables: list[EntryTable]
) -> None:
    launches = Launches(twice)
    device, found = launches.device, []
    for threads in (SMALL, full, SMALL):
        arguments = launches.arguments(threads)
        entry = fixed_replay_of(launches.program, device, (threads,), arguments)
        assert entry is not None
        assert entry.is_current
        found.append(entry)
        assert entry.variants == {0: launches.variant(threads)}
    assert found[0] is found[2]
    assert [table.conditions for table in tables] == [(), ()]


@pytest.mark.parametrize(
    ("function", "first", "then", "wanted"),
    [
        (twice, "prepare", SMALL, [False]),
        (twice, None, SMALL, [False]),
        (twice, SMALL, SMALL, [True]),
        (twice, SMALL, None, [True, False]),
        (double_often, SMALL, None, [True]),
        (double_often, None, SMALL, [False]),
    ],
)
def test_the_disk_has_code_that_will_do(
    full: int, made: list[bool], function: Any, first: object, then: int | None, wanted: list[bool]
) -> None:
    """A program made anew is a process made anew."""
    before = Launches(function)
    if first == "prepare":
        with wp.ScopedDevice(GPU):
            before.program.prepare()
    else:
        before.variant(SMALL if first == SMALL else full)
    Launches(function).variant(then or full)
    assert made == wanted


def test_nothing_is_unloaded_while_others_may_run_it(
    full: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything waited for."""
    launches = Launches(twice)
    gc.collect()  # what was its kernel before
    unloaded: list[Any] = []
    monkeypatch.setattr(Fake, "cuModuleUnload", lambda _, *what: unloaded.append(what), False)
    launches.variant(SMALL)
    replay_of(launches.program, launches.device)
    launches.variant(full)
    replay_of(launches.program, launches.device)
    assert not unloaded
