"""``wp.utils.array_cast``: what conversions in kernels do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heald as wp

NUMBERS = [wp.int8, wp.uint8, wp.int32, wp.int64, wp.float16, wp.float32, wp.float64, wp.bfloat16]


def refused(code, match=""):
    return pytest.raises(wp.HealdError, match=f"(?s){code}.*{match}")


@given(st.data())
def test_casts_are_conversions(data):
    old, new = data.draw(st.sampled_from(NUMBERS)), data.draw(st.sampled_from(NUMBERS))
    numbers = data.draw(st.lists(st.integers(0, 100), min_size=1, max_size=9))
    count = data.draw(st.none() | st.integers(0, len(numbers)))
    a, out = wp.array(numbers, dtype=old), wp.full(len(numbers), 7, dtype=new)
    wp.utils.array_cast(a, out, count)
    size = len(numbers) if count is None else count
    assert out.list() == numbers[:size] + [7] * (len(numbers) - size)


def test_floats_are_cut_and_saturate():
    a = wp.array([1.9, -1.9, 1e20, -1e20, np.nan, np.inf])
    out = wp.zeros(6, dtype=wp.int16)
    wp.utils.array_cast(a, out)
    assert out.list() == [1, -1, 32767, -32768, 0, 32767]
    wide = wp.array([300, -1])
    narrow = wp.zeros(2, dtype=wp.uint8)
    wp.utils.array_cast(wide, narrow)
    assert narrow.list() == [44, 255]


def test_vectors_are_cast_by_component():
    a = wp.array([[1.5, 2.5, -3.5]], dtype=wp.vec3)
    out = wp.zeros(1, dtype=wp.vec3d)
    wp.utils.array_cast(a, out)
    assert out.list() == [wp.vec3d(1.5, 2.5, -3.5)]


def test_any_shape_and_strides():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    out = wp.zeros((4, 3), dtype=wp.float64).transpose()
    wp.utils.array_cast(wp.array(x), out)
    assert out.numpy().tolist() == x.tolist()
    part = wp.zeros((3, 8), dtype=float)[:, ::2]
    wp.utils.array_cast(wp.array(x), part, 5)
    assert part.list() == [0, 1, 2, 3, 4] + [0] * 7


def test_what_does_not_fit_is_refused():
    a = wp.zeros(3)
    with refused("H0711", r"shape \(3,\) cannot go to shape \(4,\)"):
        wp.utils.array_cast(a, wp.zeros(4))
    for count in (-1, 4, True):
        with refused("H0711", f"count={count}"):
            wp.utils.array_cast(a, wp.zeros(3, dtype=int), count)
    x = np.zeros(3)
    x.flags.writeable = False
    with refused("H0705", "cannot be written"):
        wp.utils.array_cast(a, wp.array(x, copy=False))
    with pytest.raises(wp.CompileError):
        wp.utils.array_cast(wp.zeros(3, dtype=wp.vec3), a)
