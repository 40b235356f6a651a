"""Launches from several Python threads, in forked children, interrupted, and without OpenMP."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.codegen import has_entries
from heald.driver import entries, program
from heald.runtime import workers

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    yield
    wp.config.reset()
    wp.config.check = True


@pytest.fixture(params=["entry", "careful"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "careful":
        monkeypatch.setattr(entries, "has_entries", lambda: False)
        monkeypatch.setattr(entries, "make_entry", lambda *_: None)
        wp.config.touch()
    elif not has_entries():
        pytest.skip("this interpreter has no launch entries")
    return str(request.param)


def in_threads(works: Sequence[Callable[[], None]]) -> None:
    """Run all at once; the first exception comes out."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            start.wait()
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@wp.kernel
def step(a: wp.array(dtype=int), b: wp.array(dtype=int), by: int):
    i = wp.tid()
    b[i] = a[i] + by


@wp.kernel
def fail_at(a: wp.array(dtype=int), where: int):
    i = wp.tid()
    if i == where:
        a[i + a.shape[0]] = 1
    else:
        a[i] = i


def test_four_threads_launch_at_once(path: str) -> None:
    rounds = 300 if path == "entry" else 60

    def count(number: int) -> Callable[[], None]:
        def work() -> None:
            size = 50 + number
            a, b = wp.zeros(size, dtype=int), wp.zeros(size, dtype=int)
            for _ in range(rounds):
                wp.launch(step, size, [a, b, number])
                a, b = b, a
            assert (a.numpy() == rounds * number).all()

        return work

    def fault(number: int) -> Callable[[], None]:
        def work() -> None:
            a = wp.zeros(20, dtype=int)
            for k in range(rounds):
                where = (number + k) % 20
                with pytest.raises(wp.OutOfBoundsError, match=f"in thread {where} of kernel"):
                    wp.launch(fail_at, 20, [a, where])

        return work

    in_threads([count(1), count(2), fault(3), fault(4)])


def test_threads_share_a_recorded_launch(path: str) -> None:
    rounds = 300 if path == "entry" else 60
    total = wp.zeros(1, dtype=int)

    @wp.kernel
    def add(total: wp.array(dtype=int), x: int):
        total[0] += x

    command = wp.launch(add, 10, [total, 1], record_cmd=True)

    def work() -> None:
        for _ in range(rounds):
            command.launch()

    in_threads([work] * 4)
    assert total.list() == [4 * 10 * rounds]


def test_launches_see_whole_changes(path: str) -> None:
    # One thread changes arrays of two sizes and the dims with them; nobody ever sees half of that.
    small, large = wp.zeros(3, dtype=int), wp.zeros(300, dtype=int)
    command = wp.launch(step, 3, [small, small, 1], record_cmd=True)
    done = threading.Event()

    def change() -> None:
        try:
            for _ in range(40):
                for array in (large, small):
                    command.set_params([array, array, 1])
        finally:
            done.set()

    def work() -> None:
        while not done.is_set():
            command.launch()

    in_threads([change, work, work, work])
    assert small.numpy().min() > 0
    assert (large.numpy()[3:] == 0).all()
    assert large.numpy()[:3].min() >= 0


def test_arguments_that_other_threads_change_do_no_harm(path: str) -> None:
    arguments: list[Any] = [wp.zeros(64, dtype=int), wp.zeros(64, dtype=int), 1]
    step_now = [*arguments]
    done = threading.Event()

    def change() -> None:
        try:
            for k in range(3000 if path == "entry" else 300):
                size = 64 + k % 7
                step_now[0] = wp.zeros(size, dtype=int)
                step_now[1] = wp.zeros(size, dtype=int)
                step_now.append(5)
                step_now.pop()
                step_now[2] = "no number" if k % 3 else 2
                arguments[0]._owner = arguments[0]._owner
                arguments[0].packed = arguments[0].packed
        finally:
            done.set()

    def work() -> None:
        while not done.is_set():
            with contextlib.suppress(wp.LaunchError):
                wp.launch(step, 64, step_now)
            wp.launch(step, 64, arguments)

    in_threads([change, work, work])


def test_settings_that_other_threads_change_do_no_harm(path: str) -> None:
    a = wp.zeros(8, dtype=int)
    done = threading.Event()

    def change() -> None:
        try:
            for k in range(30):
                wp.config.num_threads = k % 3
                step.options["safety"] = ("guarded", "auto")[k % 2]
                time.sleep(0.001)
        finally:
            step.options.clear()
            done.set()

    def work() -> None:
        mine = wp.zeros(8, dtype=int)
        while not done.is_set():
            wp.launch(step, 8, [a, mine, 5])
            assert mine.list() == [5] * 8

    in_threads([change, work, work])


# ------------------------------------------------------------------------------------- interrupts


@wp.kernel
def spin(out: wp.array(dtype=wp.uint32), rounds: int):
    i = wp.tid()
    x = wp.uint32(i) + wp.uint32(1)
    for _ in range(rounds):
        x = x ^ (x << wp.uint32(13))
        x = x ^ (x >> wp.uint32(17))
        x = x ^ (x << wp.uint32(5))
    out[i] = x


def rounds_for(seconds: float) -> int:
    out, rounds = wp.zeros(8, dtype=wp.uint32), 1000
    while True:
        start = time.perf_counter()
        wp.launch(spin, 8, [out, rounds])
        if time.perf_counter() - start > seconds:
            return rounds
        rounds *= 2


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("recorded", [False, True])
def test_an_interrupt_comes_when_the_launch_has_ended(path: str, recorded: bool) -> None:
    rounds = rounds_for(0.2)
    expected, out = wp.zeros(8, dtype=wp.uint32), wp.zeros(8, dtype=wp.uint32)
    wp.launch(spin, 8, [expected, rounds])
    command = wp.launch(spin, 8, [out, rounds], record_cmd=True)
    command.launch()
    out.zero_()
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt may come a little later
        if recorded:
            command.launch()
        else:
            wp.launch(spin, 8, [out, rounds])
        time.sleep(5)
    timer.join()
    assert (out.numpy() == expected.numpy()).all()
    wp.launch(spin, 8, [out, 1])
    assert (out.numpy() != expected.numpy()).any()


@wp.kernel
def endless(a: wp.array(dtype=int)):
    while a[0] == 0:
        a[1] = 1 - a[1]


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_a_simulated_launch() -> None:
    a = wp.zeros(2, dtype=int, device="sim")
    wp.launch(endless, 1, [wp.ones(2, dtype=int, device="sim")], device="sim")  # compiled
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wp.launch(endless, 1, [a], device="sim")
    timer.join()


ENDLESS = """
import resource, signal, sys
import heald as wp
sys.path[:0] = [%r]
from unit.api.test_launch_threads import endless

signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # background jobs of a shell ignore it
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
wp.launch(endless, 1, [wp.ones(2, dtype=int)])
print("begins", flush=True)
wp.launch(endless, 1, [wp.zeros(2, dtype=int)])
"""


def test_the_quit_signal_ends_a_loop_without_end() -> None:
    tests = str(Path(__file__).parents[2])
    child = subprocess.Popen(
        [sys.executable, "-c", ENDLESS % tests], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "begins\n"
        time.sleep(0.2)
        assert child.poll() is None
        child.send_signal(signal.SIGQUIT)
        assert child.wait(60) == -signal.SIGQUIT
    finally:
        child.kill()
        child.communicate()


# ------------------------------------------------------------------------------------------- forks

FORKING = """
import os, sys
import numpy as np
import heald as wp
sys.path[:0] = [%r]
from unit.api.test_launch_threads import spin, step

def small():
    a, b = wp.zeros(9, dtype=int), wp.zeros(9, dtype=int)
    for _ in range(3):
        wp.launch(step, 9, [a, b, 4])
    return b.list() == [4] * 9

def large():
    out = wp.zeros(5000, dtype=wp.uint32)
    for _ in range(3):
        wp.launch(spin, 5000, [out, 100])
    return out.numpy()[[0, 2500, 4999]].tolist()

before = [small(), large()]
statuses = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if [small(), large()] == before else 1)
    statuses.append(os.waitpid(child, 0)[1])
print(statuses, before[0], [small(), large()] == before)
"""


def test_forked_children_launch() -> None:
    tests = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING % tests],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0, 0, 0] True True\n"


# -------------------------------------------------------------------------------------- no OpenMP


@pytest.fixture
def _no_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (program, entries):
        monkeypatch.setattr(module, "parallel_launcher", lambda: None)
    monkeypatch.setattr(workers, "core_count", lambda: 3)
    monkeypatch.setattr(workers.TEAM, "_size", 0)
    wp.config.touch()


@pytest.mark.usefixtures("_no_openmp")
def test_python_threads_share_a_launch_where_there_is_no_openmp(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = wp.zeros(9000, dtype=wp.uint32)
    wp.config.num_threads = 1
    wp.launch(spin, 9000, [out, 50])
    expected = out.numpy().copy()
    shares: list[tuple[int, int]] = []
    original = workers.Team.run

    def spy(team: workers.Team, run: Any, *args: Any, **options: Any) -> None:
        def noted(lo: int, hi: int) -> None:
            shares.append((lo, hi))
            run(lo, hi)

        original(team, noted, *args, **options)

    monkeypatch.setattr(workers.Team, "run", spy)
    for cores in (0, 2, 3, 7):
        wp.config.num_threads = cores
        for _ in range(3):
            out.zero_()
            shares.clear()
            wp.launch(spin, 9000, [out, 50])
            assert (out.numpy() == expected).all()
            assert sorted(shares) == workers.split(9000, cores or 3)
            assert len(shares) == (cores or 3)
    wp.launch(spin, 2, [out, 1])
    shares.clear()
    wp.launch(spin, 2, [out, 1])  # not worth it
    assert shares == []


@pytest.mark.usefixtures("_no_openmp")
def test_faults_of_shared_launches(path: str) -> None:
    a = wp.zeros(400_000, dtype=int)
    for where in (399_999, 0, 200_001):
        for _ in range(3):
            with pytest.raises(wp.OutOfBoundsError, match=f"in thread {where} of"):
                wp.launch(fail_at, 400_000, [a, where])
            assert np.count_nonzero(a.numpy() != np.arange(400_000)) <= 3


def test_num_threads_counts_from_the_next_launch_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # The launcher itself says how many threads it was asked for: a wrapper stands in for it.
    asked: list[int] = []
    original = program.ParallelLauncher.run

    def spy(self: Any, *args: Any) -> None:
        asked.append(args[3].cores)
        original(self, *args)

    monkeypatch.setattr(program.ParallelLauncher, "run", spy)
    monkeypatch.setattr(entries, "make_entry", lambda *_: None)
    if program.parallel_launcher() is None:
        pytest.skip("no OpenMP runtime")
    out = wp.zeros(9000, dtype=wp.uint32)
    for cores in (2, 1, 0, 2):
        wp.config.num_threads = cores
        wp.launch(spin, 9000, [out, 50])
    assert asked == [2, 0, 2]
