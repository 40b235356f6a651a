"""Arrays that share memory, and what is no array, handed to the host tools."""

import numpy as np
import pytest

import heald as wp
from heald.utils import CHUNK

u = wp.utils


@pytest.mark.parametrize("size", [10, 2 * CHUNK + 5])
@pytest.mark.parametrize("shift", [-3, 1, 3])
@pytest.mark.parametrize("inclusive", [False, True])
def test_scans_of_overlapping_arrays(size, shift, inclusive):
    x = np.arange(size + 6, dtype=np.int32)
    a = wp.array(x)
    start = 3 + shift
    u.array_scan(a[3 : 3 + size], a[start : start + size], inclusive)
    sums = np.cumsum(x[3 : 3 + size], dtype=np.int32)
    x[start : start + size] = sums if inclusive else sums - np.arange(3, 3 + size)
    assert np.array_equal(a.numpy(), x)


def test_a_scan_into_the_same_memory_in_reverse():
    x = np.arange(2 * CHUNK, dtype=np.int32)
    a = wp.array(x)
    u.array_scan(a, a[::-1])
    assert np.array_equal(a.numpy()[::-1], np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_along_an_axis_into_the_array_itself(axis):
    x = np.arange(3000, dtype=np.int32).reshape((1000, 3) if axis else (3, 1000))
    a = wp.array(x)
    out = a.flatten()[5:1005].reshape((1000, 1) if axis else (1, 1000))
    u.array_sum(a, out=out, axis=axis)
    assert np.array_equal(out.numpy(), x.sum(axis, dtype=np.int32, keepdims=True))


def test_runs_are_written_over_what_they_are_found_in():
    x = np.repeat(np.arange(700, dtype=np.int32), 3)
    expected, counts = np.unique(x, return_counts=True)
    a = wp.array(x)
    lengths = wp.zeros(700, dtype=int)
    assert u.runlength_encode(a, a[1:], lengths) == 700
    assert np.array_equal(a.numpy()[1:701], expected)
    assert np.array_equal(lengths.numpy(), counts)


def test_keys_that_are_the_values_too():
    a = wp.array([3, 1, 2, 0, 0, 0], dtype=int)
    u.radix_sort_pairs(a, a, 3)
    assert a.list()[:3] == [1, 2, 3]


def test_outputs_that_would_overwrite_each_other_are_refused():
    a = wp.array(np.arange(12, dtype=np.int32))
    x, one = wp.array([1, 1, 3]), wp.zeros(1, dtype=int)
    for call in (
        lambda: u.radix_sort_pairs(a[:8], a[4:], 4),
        lambda: u.radix_sort_pairs(a[:8], a[:8].view(wp.float32), 4),
        lambda: u.runlength_encode(x, a[:6], a[3:9]),
        lambda: u.runlength_encode(x, a[:3], a[3:6], a[5:6]),
    ):
        with pytest.raises(wp.LaunchError, match=r"(?s)H0711.*share memory"):
            call()
    for count in (wp.zeros(1), wp.zeros(2, dtype=int)):
        with pytest.raises(wp.LaunchError, match=r"(?s)H0711.*run_count is one int32"):
            u.runlength_encode(x, a[:3], a[3:6], count)
    assert a.list() == list(range(12))
    assert u.runlength_encode(x, a[:3], a[3:6], one) is None
    assert one.list() == [2]


def calls(a, out, ints):
    """Each tool with an array, an output and integers in every place that takes them."""
    return (
        lambda: u.array_sum(a),
        lambda: u.array_sum(ints, out=out),
        lambda: u.array_inner(a, a),
        lambda: u.array_inner(ints, a),
        lambda: u.array_scan(ints, out),
        lambda: u.radix_sort_pairs(out, ints, 2),
        lambda: u.radix_sort_pairs(ints, out, 2),
        lambda: u.runlength_encode(a, ints, ints.clone()),
        lambda: u.runlength_encode(ints, out, ints.clone()),
        lambda: u.runlength_encode(ints, ints.clone(), out),
        lambda: u.array_cast(a, ints),
        lambda: u.array_cast(ints, out),
    )


def test_what_is_no_array_is_refused():
    ints = wp.zeros(4, dtype=int)
    picked = wp.indexedarray(ints, [[0, 1, 2, 3]])
    for wrong in (np.zeros(4, np.int32), [0, 0, 0, 0], 7, picked):
        for call in calls(wrong, wrong, ints):
            with pytest.raises(wp.TypingError, match=r"(?s)H0702.* is an array, not "):
                call()


def test_arrays_of_two_devices_are_refused():
    ints, other = wp.zeros(4, dtype=int), wp.zeros(4, dtype=int, device="sim")
    for call in (
        lambda: u.array_sum(ints, out=other),
        lambda: u.array_inner(ints, other),
        lambda: u.array_scan(ints, other),
        lambda: u.radix_sort_pairs(ints, other, 2),
        lambda: u.runlength_encode(ints, other, ints),
        lambda: u.array_cast(other, ints),
    ):
        with pytest.raises(wp.LaunchError, match=r"(?s)H0704.*'sim'.*'cpu'|H0704.*'cpu'.*'sim'"):
            call()


def test_outputs_that_must_not_be_written_are_refused():
    memory = np.arange(4, dtype=np.int32)
    memory.flags.writeable = False
    ints, frozen = wp.zeros(4, dtype=int), wp.array(memory, copy=False)
    for call in (
        lambda: u.array_sum(ints, out=frozen[:1]),
        lambda: u.array_scan(ints, frozen),
        lambda: u.radix_sort_pairs(ints, frozen, 2),
        lambda: u.runlength_encode(ints, frozen, ints.clone()),
        lambda: u.array_cast(ints, frozen),
    ):
        with pytest.raises(wp.LaunchError, match="H0705"):
            call()
    assert u.array_sum(frozen) == 6


def test_what_has_no_sum_is_refused():
    flags = wp.array([True, True])
    for call in (
        lambda: u.array_sum(flags),
        lambda: u.array_sum(flags, axis=0),
        lambda: u.array_inner(flags, flags),
        lambda: u.array_scan(flags, wp.array([True, True])),
    ):
        with pytest.raises(wp.TypingError, match=r"(?s)H0201.*not elements of bool"):
            call()


@pytest.mark.parametrize("wrong", [1.0, True, "a", -9, 1 << 70])
def test_counts_and_axes_are_integers(wrong):
    ints = wp.zeros(4, dtype=int)
    for call in (
        lambda: u.array_sum(ints, value_count=wrong),
        lambda: u.array_sum(ints, axis=wrong),
        lambda: u.array_inner(ints, ints, count=wrong),
        lambda: u.radix_sort_pairs(ints, wp.zeros(4), wrong),
        lambda: u.runlength_encode(ints, ints.clone(), ints.clone(), value_count=wrong),
        lambda: u.array_cast(ints, wp.zeros(4), wrong),
    ):
        with pytest.raises(wp.LaunchError, match="H0711"):
            call()
