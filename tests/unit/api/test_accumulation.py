"""``a[i] += v`` adds up whatever memory the elements share: strides of zero, windows, all types."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import heald as wp
from heald.types import ARITHMETIC, bf16

COUNT = {"cpu": 400_000, "sim": 700}


@wp.struct
class Body:
    hits: wp.int16
    force: wp.vec3


@wp.kernel
def count(a: wp.array(dtype=wp.Scalar)):
    i = wp.tid()
    a[i] += a.dtype(1)


@wp.kernel
def push(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a[i] += wp.vec3(1.0, 2.0, 3.0)


@wp.kernel
def hit(a: wp.array(dtype=Body)):
    i = wp.tid()
    a[i].force.y += 2.0
    a[i].hits += wp.int16(1)


@wp.kernel
def cover(a: wp.array2d(dtype=int)):
    i, j = wp.tid()
    a[i, j] += 1


@wp.kernel
def flip(a: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    a[i] ^= wp.uint32(i)


@wp.kernel
def cover_picked(x: wp.indexedarray(dtype=int)):
    x[wp.tid()] += 1


@pytest.fixture(params=["cpu", "sim"])
def device(request, monkeypatch):
    monkeypatch.setattr(wp.config, "num_threads", 2)
    return request.param


def shared(x, shape, strides, device, dtype=None):
    return wp.array(as_strided(x, shape, strides), dtype=dtype, copy=False, device=device)


@pytest.mark.parametrize("t", [t for t in ARITHMETIC if t is not bf16], ids=str)
def test_all_threads_add_to_one_element(device, t):
    n = COUNT[device]
    x = np.zeros(1, t.carrier)
    a = shared(x, (n,), (0,), device)
    for _ in range(3):  # the last ones through launch entries
        x[0] = 0
        wp.launch(count, n, inputs=[a], device=device)
        most = 1 << 11 if t.bits == 16 and t.is_float else n  # 2048 + 1 is 2048 in float16
        assert x[0] == np.array(min(n, most)).astype(t.carrier)


def test_components_and_fields(device):
    n = COUNT[device]
    x = np.zeros(3, np.float32)
    wp.launch(push, n, inputs=[shared(x, (n, 3), (0, 4), device, wp.vec3)], device=device)
    assert x.tolist() == [n, 2 * n, 3 * n]
    record = np.zeros(1, Body.numpy_dtype())
    wp.launch(hit, n, inputs=[shared(record, (n,), (0,), device, Body)], device=device)
    assert record["force"][0].tolist() == [0, 2 * n, 0]
    assert record["hits"][0] == np.array(n).astype(np.int16)


def test_windows_that_overlap(device):
    rows, columns = (400, 2000) if device == "cpu" else (21, 30)
    x = np.zeros(rows + columns - 1, np.int32)
    for _ in range(3):
        x[:] = 0
        a = shared(x, (rows, columns), (4, 4), device)
        wp.launch(cover, (rows, columns), inputs=[a], device=device)
        expected = np.convolve(np.ones(rows, int), np.ones(columns, int))
        assert x.tolist() == expected.tolist()


def test_strides_below_zero(device):
    x = np.zeros(1000, np.int32)
    for k in range(1, 4):
        wp.launch(count, 500, inputs=[wp.array(x[::-2], copy=False, device=device)], device=device)
        assert x.tolist() == [0, k] * 500


def test_other_operators(device):
    n = COUNT[device]
    x = np.zeros(1, np.uint32)
    wp.launch(flip, n, inputs=[shared(x, (n,), (0,), device)], device=device)
    assert x[0] == np.bitwise_xor.reduce(np.arange(n, dtype=np.uint32))


def test_elements_that_are_picked_often(device):
    n = COUNT[device]
    a = wp.zeros(3, dtype=int, device=device)
    picked = wp.indexedarray(a, [np.arange(n) % 2])
    wp.launch(cover_picked, n, inputs=[picked], device=device)
    assert a.list() == [n // 2, n // 2, 0]
