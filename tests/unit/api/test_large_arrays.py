"""Kernels on arrays of more bytes and elements than 32 bits count, in memory that is mostly never
touched."""

import mmap

import numpy as np
import pytest

import heald as wp

SIZE = 5 << 30
THREADS = 64


@wp.kernel
def put(a: wp.array(dtype=float), by: int):
    i = wp.tid()
    a[i + by] = float(i + 1)


@wp.kernel
def put_vectors(a: wp.array2d(dtype=wp.vec3), row: int, column: int):
    i, j = wp.tid()
    a[i + row, j + column] = wp.vec3(float(i), float(j), 1.0)


@wp.kernel
def put_bytes(a: wp.array(dtype=wp.uint8), by: wp.int64):
    i = wp.tid()
    a[wp.int64(i) + by] = wp.uint8(i + 1)


@wp.kernel
def ends(a: wp.array(dtype=wp.uint8), out: wp.array(dtype=wp.int64)):
    n = a.shape[0]
    last = a[n - 5 :]
    out[0] = wp.int64(a[n - 1])
    out[1] = wp.int64(n)
    out[2] = wp.int64(last.shape[0])
    out[3] = wp.int64(last[4])
    a[-2] = wp.uint8(9)


@wp.kernel
def pick(x: wp.indexedarray(dtype=wp.uint8), out: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    out[i] = x[i]


@pytest.fixture
def memory():
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        return mmap.mmap(-1, SIZE, flags=flags)
    except (OSError, OverflowError):
        pytest.skip("this machine maps no 5 GiB")


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_more_bytes_than_elements(memory, device):
    x = np.frombuffer(memory, np.float32)
    first = 1_200_000_000
    wp.launch(put, THREADS, inputs=[wp.array(x, copy=False, device=device), first], device=device)
    found = x[first - 2 : first + THREADS + 2]
    assert found.tolist() == [0, 0, *range(1, THREADS + 1), 0, 0]


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_rows_that_lie_far_apart(memory, device):
    x = np.frombuffer(memory, np.float32, 3 * 400_000_000).reshape(200, 2_000_000, 3)
    a = wp.array(x, dtype=wp.vec3, copy=False, device=device)
    wp.launch(put_vectors, (3, 40), inputs=[a, 190, 1_999_000], device=device)
    i, j = np.indices((3, 40))
    expected = np.zeros((3, 44, 3), np.float32)
    expected[:, 2:42] = np.stack([i, j, np.ones_like(i)], -1)
    assert (x[190:193, 1_998_998:1_999_042] == expected).all()


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_more_elements(memory, device):
    x = np.frombuffer(memory, np.uint8)
    a, out = wp.array(x, copy=False, device=device), wp.zeros(4, dtype=wp.int64, device=device)
    first = SIZE - THREADS
    wp.launch(put_bytes, THREADS, inputs=[a, first], device=device)
    assert x[first - 2 :].tolist() == [0, 0, *range(1, THREADS + 1)]
    wp.launch(ends, 1, inputs=[a, out], device=device)
    assert out.list() == [THREADS, SIZE, 5, THREADS]
    assert x[-2] == 9
    with pytest.raises(wp.OutOfBoundsError, match=f"index {SIZE} outside 'a' of shape {SIZE}"):
        wp.launch(put_bytes, THREADS, inputs=[a, first + 1], device=device)


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_indices_beyond_32_bits(memory, device):
    x = np.frombuffer(memory, np.uint8)
    x[-3:] = 5, 6, 7
    picked = wp.indexedarray(wp.array(x, copy=False, device=device), [[SIZE - 1, 0, SIZE - 3]])
    assert picked.indices[0].dtype is wp.int64
    assert picked.list() == [7, 0, 5]
    out = wp.zeros(3, dtype=wp.uint8, device=device)
    wp.launch(pick, 3, inputs=[picked, out], device=device)
    assert out.list() == [7, 0, 5]
