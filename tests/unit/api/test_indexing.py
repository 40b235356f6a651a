"""Host indexing gives the views that numpy gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald.api.indexing import find_view, key_text
from heald.diagnostics import OutOfBoundsError, TypingError

ends = st.none() | st.integers(-7, 7)
steps = st.sampled_from([None, 1, 2, 3, -1, -2, -5])
entry = st.one_of(st.integers(-6, 6), st.builds(slice, ends, ends, steps), st.just(...))
keys = entry | st.lists(entry, max_size=5).map(tuple)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), keys, st.booleans())
def test_views_are_those_of_numpy(shape, key, transposed):
    base = np.arange(max(1, int(np.prod(shape))), dtype=np.int32)[: int(np.prod(shape))]
    base = base.reshape(shape)
    if transposed:
        base = base.T
    dots = sum(k is ... for k in (key if isinstance(key, tuple) else (key,)))
    if dots > 1:
        with pytest.raises(TypingError):
            find_view(key, base.shape, base.strides)
        return
    try:
        expected = base[key]
    except IndexError:
        with pytest.raises(OutOfBoundsError):
            find_view(key, base.shape, base.strides)
        return
    offset, found_shape, strides = find_view(key, base.shape, base.strides)
    assert found_shape == expected.shape
    if not expected.size:
        return
    expected = np.asarray(expected)
    found = np.ndarray(found_shape, np.int32, memory(base), offset, strides)
    assert (found == expected).all()


def memory(view):
    """The buffer of a view whose first element is the first of its memory."""
    while view.base is not None:
        view = view.base
    return view


@pytest.mark.parametrize("key", [1.0, "0", None, True, [0], np.zeros(2, bool), (0, None), 1j])
def test_other_keys_are_refused(key):
    with pytest.raises(TypingError) as caught:
        find_view(key, (3, 3), (12, 4))
    assert caught.value.codes == ("H0201",)


@pytest.mark.parametrize("key", [slice(None, None, 0), slice("a", None), slice(0.5, 1)])
def test_bad_slices_are_refused(key):
    with pytest.raises(TypingError, match="slice"):
        find_view(key, (3,), (4,))


def test_an_index_outside_says_where():
    with pytest.raises(OutOfBoundsError) as caught:
        find_view((0, -4), (2, 3), (12, 4))
    assert caught.value.codes == ("H0401",)
    assert "index -4 is outside axis 1 of an array of shape (2, 3)" in str(caught.value)
    with pytest.raises(IndexError, match="2 indices are too many for an array of rank 1"):
        find_view((0, 0), (2,), (4,))


def test_numpy_integers_are_integers():
    assert find_view(np.int64(-1), (3,), (4,)) == (8, (), ())


def test_key_text():
    assert key_text(3) == "[3]"
    assert key_text((1, -2)) == "[1, -2]"
