"""Memory: too much of it, and what elsewhere is freed too early or twice."""

from __future__ import annotations

import gc

import numpy as np
from errors.everyday.checks import refused

import heald as wp


@wp.kernel
def double(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * 2.0


def test_out_of_memory() -> None:
    with refused("H0802", "128.0 TiB", remedy="smaller arrays"):
        wp.zeros(1 << 45, dtype=float)


def test_nothing_is_used_after_it_was_freed() -> None:
    whole = wp.array(np.arange(8, dtype=np.float32))
    part, shared = whole[2:4], whole.numpy()
    command = wp.launch(double, dim=8, inputs=[whole], record_cmd=True)
    del whole
    gc.collect()
    command.launch()
    assert part.list() == [4.0, 6.0]
    assert shared[2] == 4.0


def test_memory_of_others_is_freed_once() -> None:
    freed = []
    given = np.zeros(4, np.float32)
    a = wp.array(
        ptr=given.ctypes.data,
        shape=4,
        dtype=float,
        deleter=lambda ptr, nbytes: freed.append((ptr, nbytes)),
    )
    view = a[1:]
    del a
    gc.collect()
    assert not freed
    del view
    gc.collect()
    assert freed == [(given.ctypes.data, 16)]


def test_each_array_over_an_address_frees_it_once() -> None:
    """Two of them free it twice: what nobody can know."""
    freed = []
    given = np.zeros(4, np.float32)
    over = {"ptr": given.ctypes.data, "shape": 4, "dtype": float}
    both = [wp.array(**over, deleter=lambda ptr, nbytes: freed.append(ptr)) for _ in range(2)]
    del both
    gc.collect()
    assert freed == [given.ctypes.data] * 2
