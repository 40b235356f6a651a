"""Sums, scans, sorts and run lengths against numpy, with equal bits on every host device."""

import numpy as np
import pytest

import heald as wp
from heald.utils import CHUNK, LANES, SORT_CHUNK

SIZES = [0, 1, 2, LANES - 1, LANES + 1, CHUNK, CHUNK + 1]
INTEGERS = [np.int32, np.uint32, np.int64, np.uint64]


def devices(run, names=("cpu", "sim")):
    """The results of ``run`` on cpu and sim, which must be the same bits."""
    results = []
    for device in names:
        with wp.ScopedDevice(device):
            results.append(run())
    arrays = [np.asarray(r) for r in results]
    assert all(a.tobytes() == arrays[0].tobytes() for a in arrays)
    return arrays[0]


def numbers(size, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=size).astype(dtype)
    return rng.integers(0, 100, size).astype(dtype)


def in_order(x):
    """The sum of each column, one row after the other."""
    total = np.zeros(x.shape[1:], x.dtype)
    for row in x:
        total = (total + row).astype(x.dtype)
    return total


def in_chunks(x):
    """The documented order of a sum."""
    while len(x) != 1:
        parts = [x[i : i + CHUNK] for i in range(0, max(1, len(x)), CHUNK)]
        sums = []
        for part in parts:
            lanes = [in_order(part[lane::LANES]) for lane in range(LANES)]
            sums.append(in_order(np.array(lanes, x.dtype)))
        x = np.array(sums, x.dtype)
    return x[0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint64])
def test_a_sum_is_added_up_in_the_documented_order(size, dtype):
    x = numbers(size, dtype)
    got = devices(lambda: wp.utils.array_sum(wp.array(x)))
    assert got == in_chunks(x)


def test_sums_of_vectors_shapes_counts_and_outputs():
    x = numbers((CHUNK + 5, 3), np.float32)
    got = devices(lambda: list(wp.utils.array_sum(wp.array(x, dtype=wp.vec3))))
    np.testing.assert_allclose(got, x.sum(0), rtol=1e-4)
    grid = wp.array(numbers((20, 30), np.int32))
    assert wp.utils.array_sum(grid) == grid.numpy().sum()
    flat = wp.array(numbers(100, np.int32))
    assert wp.utils.array_sum(flat, value_count=40) == flat.numpy()[:40].sum()
    out = wp.zeros(1, dtype=int)
    assert wp.utils.array_sum(flat, out=out) is out
    assert out.list() == [flat.numpy().sum()]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_sums_along_an_axis(axis):
    x = numbers((3, 4, 5), np.int32)
    got = devices(lambda: wp.utils.array_sum(wp.array(x), axis=axis).numpy())
    assert np.array_equal(got, x.sum(axis, keepdims=True))
    view = wp.array(numbers((6, 8, 5), np.int32))[::2, ::2]
    assert np.array_equal(
        wp.utils.array_sum(view, axis=axis).numpy(), view.numpy().sum(axis, keepdims=True)
    )


@pytest.mark.parametrize("size", SIZES)
def test_inner_products(size):
    a, b = numbers(size, np.float64, 1), numbers(size, np.float64, 2)
    got = devices(lambda: wp.utils.array_inner(wp.array(a), wp.array(b)))
    np.testing.assert_allclose(got, a @ b, rtol=1e-12, atol=1e-12)
    u, v = numbers((size, 2), np.int32, 1), numbers((size, 2), np.int32, 2)
    pair = [wp.array(w, dtype=wp.vec2i) for w in (u, v)]
    assert wp.utils.array_inner(*pair) == (u * v).sum()


@pytest.mark.parametrize("size", [*SIZES, CHUNK * 3])
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans(size, inclusive):
    x = numbers(size, np.int32)

    def run():
        out = wp.zeros(size, dtype=int)
        wp.utils.array_scan(wp.array(x), out, inclusive)
        return out.numpy()

    want = np.cumsum(x) if inclusive else np.cumsum(x) - x
    assert np.array_equal(devices(run), want)


def test_a_scan_in_place_and_of_floats():
    x = numbers(2 * CHUNK + 3, np.float32)

    def run():
        a = wp.array(x)
        wp.utils.array_scan(a, a)
        return a.numpy()

    np.testing.assert_allclose(devices(run), np.cumsum(x, dtype=np.float64), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [0, 1, 2, 60, 1000, SORT_CHUNK, SORT_CHUNK + 1])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_sorts_are_stable(size, dtype):
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    keys = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    keys[: size // 2] = keys[: size // 2] % dtype(7)
    keys[: size // 20] = info.min
    keys[size - size // 20 :] = info.max

    def run():
        k = wp.array(np.concatenate([keys, keys]))
        v = wp.array(np.arange(2 * size, dtype=np.float32))
        wp.utils.radix_sort_pairs(k, v, size)
        assert np.array_equal(k.numpy()[:size], np.sort(keys, kind="stable"))
        return v.numpy()[:size]

    # The interpreter takes seconds for a chunk, which one thread sorts.
    names = ("cpu", "sim") if size < 100 else ("cpu",)
    assert np.array_equal(devices(run, names), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("size", [6, 50, 1000, SORT_CHUNK + 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sorts_of_floats(size, dtype):
    rng = np.random.default_rng(5)
    tiny, large = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, tiny, -tiny, large], dtype)
    pool = np.concatenate([edges, rng.standard_normal(size).astype(dtype)])
    keys = rng.choice(pool, size)

    def run():
        k = wp.array(np.concatenate([keys, keys]))
        v = wp.array(np.arange(2 * size, dtype=np.int32))
        wp.utils.radix_sort_pairs(k, v, size)
        order = v.numpy()[:size]
        np.testing.assert_array_equal(k.numpy()[:size], keys[order])
        zeros = keys[order] == 0
        assert np.array_equal(np.signbit(k.numpy()[:size])[zeros], np.signbit(keys[order])[zeros])
        return order

    names = ("cpu", "sim") if size < 100 else ("cpu",)
    by_sign = np.lexsort((~np.signbit(keys), keys))  # of equal keys, -0.0 is the smaller one
    wanted = [k for k in by_sign if not np.isnan(keys[k])] + list(np.flatnonzero(np.isnan(keys)))
    assert np.array_equal(devices(run, names), wanted)


def test_keys_that_are_floats_and_the_values_too():
    a = wp.array([3.0, -1.0, 2.0, 0.0, 0.0, 0.0])
    wp.utils.radix_sort_pairs(a, a, 3)
    assert a.list()[:3] == [-1, 2, 3]


@pytest.mark.parametrize("values", [[], [5], [1, 1, 1], [1, 2, 3], [1, 1, 2, 2, 2, 1], [0, 0, 5]])
def test_run_lengths(values):
    x = np.array(values, np.int32)

    def run():
        run_values, run_lengths = wp.zeros(len(x), dtype=int), wp.zeros(len(x), dtype=int)
        count = wp.utils.runlength_encode(wp.array(x), run_values, run_lengths)
        return np.stack([run_values.numpy()[:count], run_lengths.numpy()[:count]])

    got = devices(run)
    assert np.array_equal(np.repeat(got[0], got[1]), x)
    assert (np.diff(got[0]) != 0).all()


def test_run_count_goes_to_an_array():
    count = wp.zeros(1, dtype=int)
    space = wp.zeros(3, dtype=int), wp.zeros(3, dtype=int)
    x = wp.array([4, 4, 5], dtype=int)
    assert wp.utils.runlength_encode(x, *space, run_count=count) is None
    assert count.list() == [2]


def refuse(call, *args, **options):
    with pytest.raises(wp.LaunchError, match="H0711"):
        call(*args, **options)


def test_what_does_not_fit_is_refused():
    u = wp.utils
    ints, floats = wp.zeros(4, dtype=int), wp.zeros(4)
    refuse(u.array_sum, ints, value_count=5)
    refuse(u.array_sum, ints, value_count=-1)
    refuse(u.array_sum, ints, axis=1)
    refuse(u.array_sum, ints, out=wp.zeros(2, dtype=int))
    refuse(u.array_sum, ints, out=wp.zeros(1))
    refuse(u.array_sum, wp.zeros((2, 2)), out=wp.zeros((2, 2)), axis=0)
    refuse(u.array_inner, ints, floats)
    refuse(u.array_inner, ints, wp.zeros(3, dtype=int))
    refuse(u.array_inner, ints, ints, count=9)
    refuse(u.array_scan, ints, floats)
    refuse(u.array_scan, ints, wp.zeros(3, dtype=int))
    refuse(u.array_scan, wp.zeros((2, 2)), wp.zeros((2, 2)))
    refuse(u.radix_sort_pairs, wp.zeros(4, dtype=wp.float16), ints, 2)
    refuse(u.radix_sort_pairs, wp.zeros(4, dtype=wp.int16), ints, 2)
    refuse(u.radix_sort_pairs, ints, ints, 3)
    refuse(u.radix_sort_pairs, ints, ints, -1)
    refuse(u.radix_sort_pairs, ints, wp.zeros(3), 2)
    refuse(u.runlength_encode, ints, floats, ints)
    refuse(u.runlength_encode, ints, ints, floats)


def test_too_little_room_for_runs_writes_nothing():
    x = wp.array([1, 2, 3], dtype=int)
    values, lengths = wp.full(2, 9, dtype=int), wp.full(2, 9, dtype=int)
    refuse(wp.utils.runlength_encode, x, values, lengths)
    assert values.list() == lengths.list() == [9, 9]
