"""Indexed arrays: what numpy's ``ix_`` picks."""

import copy
import pickle

import numpy as np
import pytest
from elements import ELEMENTS, sample
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import heald as wp


def refused(code, match):
    return pytest.raises(wp.HealdError, match=f"(?s){code}.*{match}")


@given(st.data())
def test_elements_are_those_of_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    lists = [data.draw(st.none() | st.lists(st.integers(0, n - 1), max_size=5)) for n in shape]
    mesh = np.ix_(
        *(
            np.arange(n) if k is None else np.array(k, int)
            for n, k in zip(shape, lists, strict=True)
        )
    )
    a = wp.array(x)
    given_as = [k if k is None else wp.array(k, dtype=int) for k in lists]
    found = wp.indexedarray(a, given_as)
    expected = x[mesh]
    assert found.shape == expected.shape
    assert found.size == expected.size
    assert found.numpy().tolist() == expected.tolist()
    assert found.list() == expected.ravel().tolist()
    assert found.contiguous().is_contiguous
    assert wp.clone(found).numpy().tolist() == expected.tolist()
    key = data.draw(hnp.basic_indices(expected.shape, allow_newaxis=False))
    part = found[key]
    if isinstance(part, wp.indexedarray):
        assert part.numpy().tolist() == expected[key].tolist()
        assert part.shape == expected[key].shape
    else:
        assert part == expected[key]
    new = np.arange(100, 100 + expected.size, dtype=np.int32).reshape(expected.shape)
    found.assign(new)
    x[mesh] = new
    assert a.numpy().tolist() == x.tolist()


@given(st.data())
def test_assigned_parts_are_those_of_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    lists = [data.draw(st.none() | st.lists(st.integers(0, n - 1), unique=True)) for n in shape]
    axes = [range(n) if k is None else k for n, k in zip(shape, lists, strict=True)]
    mesh = np.ix_(*(np.array(k, int) for k in axes))
    a = wp.array(x)
    picked = wp.indexedarray(a, lists)
    changed = x[mesh]
    key = data.draw(hnp.basic_indices(changed.shape, allow_newaxis=False))
    value = data.draw(st.integers(-9, -1))
    several = isinstance(picked[key], wp.indexedarray) and data.draw(st.booleans())
    picked[key] = np.full_like(changed[key], value) if several else value
    changed[key] = value
    x[mesh] = changed
    assert a.numpy().tolist() == x.tolist()


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_every_element_type(t):
    a = wp.array([sample(t, k) for k in range(4)], dtype=t)
    picked = wp.indexedarray(a, [3, 1, 1])
    assert picked.list() == [sample(t, 3), sample(t, 1), sample(t, 1)]
    assert picked[0] == sample(t, 3)
    assert picked.dtype is a.dtype
    picked.zero_()
    assert a.list() == [
        sample(t, 0),
        wp.zeros(1, dtype=t)[0],
        sample(t, 2),
        wp.zeros(1, dtype=t)[0],
    ]


def test_writes_reach_the_array_and_copies_do_not():
    a = wp.array([1.0, 2.0, 3.0])
    picked = wp.indexedarray(a, wp.array([2, 0]))
    own = picked.contiguous()
    wp.copy(picked, wp.array([30.0, 10.0]))
    assert a.list() == [10.0, 2.0, 30.0]
    assert own.list() == [3.0, 1.0]
    wp.copy(own, picked)
    assert own.list() == [30.0, 10.0]
    assert picked.fill_(5).data is a
    assert a.list() == [5.0, 2.0, 5.0]


def test_indices_in_an_int32_array_are_shared():
    rows = wp.array([1, 0])
    picked = wp.indexedarray(wp.array([1.0, 2.0]), [rows])
    assert picked.indices[0] is rows
    rows[1] = 1
    assert picked.list() == [2.0, 2.0]
    assert picked[1] == 2.0
    rows[0] = 77
    with refused("H0401", "index 77 .number 0 of dimension 0."):
        picked.numpy()
    with refused("H0401", "index 77 .number 0 of dimension 0."):
        picked[0]
    with refused("H0401", "index 77"):
        picked.fill_(1.0)
    assert picked[1:].list() == [2.0]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles(again):
    a = wp.array([[1.0, 2.0], [3.0, 4.0]])
    picked = wp.indexedarray(a, [None, [1]])
    made = again(picked)
    assert made.list() == [2.0, 4.0]
    assert made.indices[0] is None
    made.fill_(9.0)
    assert picked.list() == ([9.0, 9.0] if again is copy.copy else [2.0, 4.0])


@pytest.mark.parametrize("kind", [list, np.array, lambda x: wp.array(x, dtype=wp.int64)])
def test_other_indices_are_copied(kind):
    rows = kind([1, 0])
    picked = wp.indexedarray(wp.array([1.0, 2.0]), [rows])
    rows[0] = 0
    assert picked.list() == [2.0, 1.0]
    assert picked.indices[0].dtype is wp.int32


@pytest.mark.parametrize(
    ("indices", "code", "match"),
    [
        ([[0, 3]], "H0401", "index 3 .number 1 of dimension 0. .*shape .3, 4."),
        ([None, [-1]], "H0401", "index -1"),
        ([[0.5]], "H0702", "integers"),
        ([[True]], "H0702", "integers"),
        ([[0], [0], [0]], "H0711", "3 lists .* 2 dimensions"),
        ([[[0, 1]]], "H0711", "one dimension"),
        (3, "H0711", "one dimension"),
        ("abc", "H0702", "integers"),
    ],
)
def test_bad_indices_are_refused(indices, code, match):
    with refused(code, match):
        wp.indexedarray(wp.zeros((3, 4)), indices)


def test_parts_are_assigned_and_moved():
    a = wp.zeros((3, 2))
    picked = wp.indexedarray(a, [[2, 0]])
    picked[0, 1] = 5
    picked[1] = [1.0, 2.0]
    assert a.list() == [1.0, 2.0, 0.0, 0.0, 0.0, 5.0]
    picked[:, 0] = wp.indexedarray(wp.array([7.0, 8.0]), [[1, 0]])
    assert a.list() == [7.0, 2.0, 0.0, 0.0, 8.0, 5.0]
    picked[...] = 3.0
    assert [row.list() for row in picked] == [[3.0, 3.0], [3.0, 3.0]]
    with refused("H0711", "shape"):
        picked[0] = [1.0]
    with refused("H0201", "no float32"):
        picked[0, 0] = "x"
    with refused("H0401", "index 2 is outside"):
        picked[2] = 1.0
    assert picked.to("cpu") is picked
    moved = picked.to("sim")
    assert (moved.device.alias, moved.list()) == ("sim", [3.0] * 4)


def test_what_is_no_array_is_refused():
    with refused("H0702", "made of an array, not of list"):
        wp.indexedarray([1, 2], [0])
    with refused("H0207", "no element type"):
        wp.indexedarray(dtype="float")
    with refused("H0711", "1 to 4 dimensions"):
        wp.indexedarray(dtype=float, ndim=5)
    with refused("H0702", "float32"):
        wp.indexedarray(wp.zeros(3), [0], dtype=int)
    with refused("H0703", "ndim=2"):
        wp.indexedarray(wp.zeros(3), [0], ndim=2)


def test_writes_need_memory_that_can_be_written():
    x = np.zeros(3, np.float32)
    x.flags.writeable = False
    picked = wp.indexedarray(wp.array(x, copy=False), [0])
    with refused("H0705", "read-only"):
        picked.fill_(1.0)
    with refused("H0711", "shape"):
        wp.indexedarray(wp.zeros(3), [0, 1]).assign([1.0])
    with refused("H0702", "one element type"):
        wp.copy(wp.indexedarray(wp.zeros(3), [0]), wp.zeros(1, dtype=int))
    with refused("H0711", "without offsets"):
        wp.copy(wp.indexedarray(wp.zeros(3), [0]), wp.zeros(1), count=1)
    with refused("H0702", "copy takes an array"):
        wp.copy(wp.indexedarray(wp.zeros(3), [0]), [1.0])


def test_arrays_are_made_of_them():
    a = wp.array(np.arange(6), dtype=wp.vec3)
    picked = wp.indexedarray1d(a, [1])
    assert wp.array(picked).list() == [wp.vec3(3, 4, 5)]
    assert wp.array(picked).dtype is wp.vec3
    b = wp.zeros(1, dtype=wp.vec3)
    b.assign(picked)
    assert b.list() == [wp.vec3(3, 4, 5)]
    with refused("H0703", "ndim=2"):
        wp.indexedarray2d(a, [1])
