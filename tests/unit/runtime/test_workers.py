"""Python threads that share a launch: every thread runs once, whatever happens meanwhile."""

import ctypes
import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald.runtime import workers
from heald.runtime.workers import GRANULE, Team, cut, split


@given(st.integers(0, 100_000), st.integers(1, 70))
def test_ranges_cover_everything_once(total, count):
    ranges = split(total, count)
    assert len(ranges) <= count
    assert [k for lo, hi in ranges for k in (lo, hi)] == sorted(k for r in ranges for k in r)
    assert all(lo < hi for lo, hi in ranges)
    assert [lo for lo, _ in ranges[1:]] == [hi for _, hi in ranges[:-1]]
    assert not ranges if total == 0 else (ranges[0][0], ranges[-1][1]) == (0, total)
    if total // count >= 16 * GRANULE:
        assert all(lo % GRANULE == 0 for lo, _ in ranges)
        assert max(hi - lo for lo, hi in ranges) - total // count <= 2 * GRANULE
    elif total >= count:
        assert len(ranges) == count


@given(st.integers(0, 100_000), st.integers(1, 70), st.sampled_from([1, 8, 64]))
def test_pieces_cover_everything_once(total, cores, grain):
    pieces = cut(total, cores, grain)
    assert [t for lo, hi in pieces for t in range(lo, hi)] == list(range(total))
    assert all(lo % grain == 0 for lo, _ in pieces)
    assert len(pieces) >= min(16 * cores, total // grain) // 2
    assert len(pieces) <= 16 * cores * 2


@pytest.fixture
def team(monkeypatch):
    monkeypatch.setattr(workers, "core_count", lambda: 4)
    return Team()


@pytest.mark.parametrize("cores", [0, 1, 2, 3, 9])
def test_every_thread_runs_once(team, cores):
    for total in (0, 1, 2, 5, 4096, 99_991):
        count = np.zeros(total, np.int32)

        def run(lo, hi, count=count):
            count[lo:hi] += 1

        team.run(run, total, cores)
        assert (count == 1).all()


def test_a_range_that_takes_long_does_not_hold_up_the_rest(team):
    rest, done = [], threading.Event()

    def run(lo, hi):
        if lo == 0:
            assert done.wait(20)
        else:
            rest.append(hi - lo)
            if sum(rest) == 1000 - 31:
                done.set()

    team.run(run, 1000, 2, grain=1)
    assert sum(rest) == 1000 - 31


def test_several_threads_work_at_the_same_time(team):
    meeting = threading.Barrier(4, timeout=20)  # breaks unless four ranges run at once
    team.run(lambda lo, hi: meeting.wait() and None, 4, 0)


def test_several_launches_at_once(team):
    counts = [np.zeros(1000, np.int32) for _ in range(4)]

    def work(count):
        def run(lo, hi):
            count[lo:hi] += 1

        for _ in range(50):
            team.run(run, len(count), 3)

    threads = [threading.Thread(target=work, args=(count,)) for count in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((count == 50).all() for count in counts)


def test_a_launch_ends_when_its_last_range_has_ended(team):
    ended = []

    def run(lo, hi):
        if threading.current_thread() is not caller:
            time.sleep(0.2)
        ended.append((lo, hi))

    caller = threading.current_thread()
    for _ in range(3):
        ended.clear()
        team.run(run, 8, 4)
        assert sorted(ended) == split(8, 4)


def test_nothing_is_kept_afterwards(team):
    class Kept:
        pass

    kept = Kept()
    gone = weakref.ref(kept)
    blocked, go = threading.Event(), threading.Event()
    caller = threading.current_thread()

    def block(lo, hi):
        if threading.current_thread() is not caller:
            blocked.set()
            go.wait(20)

    # While one launch keeps the helpers busy, another leaves nothing with them.
    other = threading.Thread(target=team.run, args=(lambda lo, hi: go.wait(20), 4, 4))
    other.start()
    for _ in range(100):
        team.run(lambda lo, hi: None, 4, 4, kept)
    del kept
    go.set()
    other.join()
    gc.collect()
    assert gone() is None


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_waits_for_the_end(team):
    ended = []
    started = threading.Event()

    def run(lo, hi):
        if threading.current_thread() is threading.main_thread():
            started.wait(20)
            os.kill(os.getpid(), signal.SIGINT)
        else:
            started.set()
            time.sleep(0.3)
            ended.append((lo, hi))

    with pytest.raises(KeyboardInterrupt):
        team.run(run, 2, 2)
    # The range of the helper had ended when the interrupt came out.
    assert len(ended) == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    count = np.zeros(64, np.int32)

    def run(lo, hi):
        count[lo:hi] += 1

    workers.TEAM.run(run, 64, 4)
    child = os.fork()
    if child == 0:
        workers.TEAM.run(run, 64, 4)
        os._exit(0 if (count == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (count == 1).all()


def test_memory_lives_as_long_as_a_helper_uses_it(team):
    # An interrupt at the worst moment may end the launch early: the job itself holds what it uses.
    memory = ctypes.create_string_buffer(8)
    gone = weakref.ref(memory)
    address = ctypes.addressof(memory)
    job = workers._Job(lambda lo, hi: ctypes.memset(address, 7, 8), [(0, 1)], memory)
    del memory
    gc.collect()
    assert gone() is not None
    job.help()
    job.wait()
    assert gone().raw == bytes([7] * 8)
    job.close()
    gc.collect()
    assert gone() is None
