"""A soak: a million launches from four Python threads, every result checked.

``python -m benchmarks.soak_launch [--launches N] [--threads N]``.  Each thread has arrays of its
own; one recorded launch and one counter are shared by all.  Some launches fault, some change their
dims and arguments.  At the end every count must be right and the process must not have grown.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import threading
import time
from pathlib import Path

import numpy as np

import heald as wp

SIZE = 64
GROWTH = 1 << 20
"""Bytes that the process may grow by after its first tenth."""


@wp.kernel
def step(a: wp.array(dtype=int), b: wp.array(dtype=int), by: int) -> None:
    """Add."""
    i = wp.tid()
    b[i] = a[i] + by


@wp.kernel
def count(total: wp.array(dtype=int), by: int) -> None:
    """Add atomically."""
    wp.atomic_add(total, 0, by)


@wp.kernel
def beyond(a: wp.array(dtype=int), where: int) -> None:
    """Fault in one thread."""
    i = wp.tid()
    if i == where:
        a[i + SIZE] = 1
    else:
        a[i] = i


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Worker(threading.Thread):
    """One thread of the soak."""

    def __init__(self, seed: int, launches: int, shared: wp.Launch) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.launches = launches
        self.shared = shared
        self.counted = 0
        self.done = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        """Launch until the share of this thread is done."""
        try:
            self.work()
        except BaseException as error:
            self.error = error
            raise

    def work(self) -> None:
        """As :meth:`run`, with exceptions."""
        a, b = wp.zeros(SIZE, dtype=int), wp.zeros(SIZE, dtype=int)
        scratch = wp.zeros(SIZE, dtype=int)
        mine = wp.launch(step, SIZE, [a, b, 1], record_cmd=True)
        total = 0
        while self.done < self.launches:
            kind = self.random.random()
            by = self.random.randrange(-9, 10)
            if kind < 0.5:
                wp.launch(step, dim=SIZE, inputs=[a], outputs=[b, by])
                a, b, total = b, a, total + by
            elif kind < 0.75:
                self.shared.launch()
                self.counted += 1
            elif kind < 0.95:
                mine.set_params([a, b, by])
                mine.launch()
                a, b, total = b, a, total + by
            elif kind < 0.96:
                where = self.random.randrange(SIZE)
                with contextlib.suppress(wp.OutOfBoundsError):
                    wp.launch(beyond, SIZE, [scratch, where])
                    raise RuntimeError("a fault was lost")
            else:
                size = self.random.randrange(SIZE)
                part = wp.zeros(size, dtype=int)
                wp.launch(step, size, [a, part, by])
                assert (part.numpy() == total + by).all()
            self.done += 1
        assert (a.numpy() == total).all()


def main() -> None:
    """Run the soak and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    total = wp.zeros(1, dtype=int)
    shared = wp.launch(count, 3, [total, 2], record_cmd=True)
    share = options.launches // options.threads
    workers = [Worker(seed, share, shared) for seed in range(options.threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    early = 0
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.2)
        done = sum(worker.done for worker in workers)
        if not early and done * 10 >= options.launches:
            early = resident()
    seconds = time.perf_counter() - start
    for worker in workers:
        worker.join()
        assert worker.error is None
    done = sum(worker.done for worker in workers)
    assert done == share * options.threads
    counted = sum(worker.counted for worker in workers)
    assert total.list() == [int(np.int32(counted * 6))]
    growth = resident() - early
    print(f"{done:,} launches from {options.threads} threads in {seconds:.1f} s: all right")
    verdict = "pass" if growth <= GROWTH else "FAIL"
    print(f"{verdict}  memory grew by {growth / 1024:,.0f} KiB after the first tenth")


if __name__ == "__main__":
    main()
