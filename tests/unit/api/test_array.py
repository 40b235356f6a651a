"""Arrays: elements, views, protocols of Python and numpy, devices."""

import copy
import ctypes
import pickle
import struct

import numpy as np
import pytest
from elements import ELEMENTS, Body, sample
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from heald import types
from heald.api import values as wp
from heald.api.array import array, make_array
from heald.api.array_ranked import array2d
from heald.api.creation import full, zeros
from heald.diagnostics import DeviceError, LaunchError, OutOfBoundsError, TypingError
from heald.runtime import CPU, SIM, ZERO_PAGE, array_signature, set_device
from heald.runtime.descriptors import READ_ONLY


@pytest.fixture(autouse=True)
def _restore_device():
    yield
    set_device("cpu")


def refused(code, kind=TypingError):
    return pytest.raises(kind, match=code)


# ---------------------------------------------------------------------------- elements and views


@given(st.data())
def test_views_and_assignments_are_those_of_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    reference = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    a = array(reference)
    key = data.draw(
        hnp.basic_indices(shape, allow_newaxis=False)
        | st.tuples(*[st.integers(-1, 0)] * len(shape))
    )
    expected = reference[key]
    found = a[key]
    if isinstance(found, array):
        assert found.numpy().tolist() == expected.tolist()
        assert found.shape == expected.shape
    else:
        assert found == expected
        assert type(found) is int
    a[key] = 77
    reference[key] = 77
    assert a.numpy().tolist() == reference.tolist()
    if isinstance(found, array):
        new = np.arange(found.size, dtype=np.int64).reshape(found.shape)
        a[key] = new
        reference[key] = new
        assert a.numpy().tolist() == reference.tolist()


def test_views_share_memory():
    a = array(np.arange(12.0).reshape(3, 4))
    row, column = a[1], a[:, -1]
    row[0] = 50
    assert a[1, 0] == 50
    column[0] = 60
    assert a[0, 3] == 60
    assert column.strides == (32,)
    assert not column.is_contiguous
    back = a[::-1, ::-2]
    assert back.strides == (-32, -16)
    assert back.numpy().tolist() == a.numpy()[::-1, ::-2].tolist()
    assert back.capacity == 16 * 4 + 16 + 8


def test_indices_outside_are_errors():
    a = array(np.zeros((2, 3)))
    for key in [2, -3, (0, 3), (0, -4), (0, 0, 0), (slice(None), 5)]:
        with refused("H0401", OutOfBoundsError):
            a[key]
        with refused("H0401", OutOfBoundsError):
            a[key] = 1
    for key in ["x", 1.0, None, True, [0], (0, None), np.zeros(2, bool)]:
        with refused("H0201"):
            a[key]


def test_elements_are_copies_that_cannot_be_changed():
    a = array([wp.vec3(1, 2, 3)])
    with pytest.raises(TypingError, match=r"copy of element \[0\] of an array"):
        a[0].x = 5
    b = array([Body()])
    with pytest.raises(TypingError, match=r"copy of element \[0\] of an array"):
        b[0].mass = 5
    v = wp.vec3(a[0])
    v.x = 5
    a[0] = v
    assert a[0] == wp.vec3(5, 2, 3)


def test_assigned_elements_are_checked():
    a, v, s = array([1, 2]), array([wp.vec3()]), array([Body()])
    for target, value, code in [
        (a, 1.5, "H0201"),
        (a, 2**31, "H0202"),
        (a, "x", "H0201"),
        (a, None, "H0201"),
        (v, wp.vec3d(), "H0201"),
        (v, (1, 2), "H0206"),
        (s, 1.0, "H0201"),
        (s, wp.vec3(), "H0201"),
    ]:
        before = target.list()
        with refused(code):
            target[0] = value
        assert target.list() == before


def test_assigning_to_a_view():
    a = array(np.zeros((3, 4)))
    a[1] = [1, 2, 3, 4]
    a[:, 0] = array([7.0, 8.0, 9.0], dtype=types.f64)
    a[2, 1:] = 5
    assert a.numpy().tolist() == [[7, 0, 0, 0], [8, 2, 3, 4], [9, 5, 5, 5]]
    for bad in ([1, 2], np.zeros((1, 4)), np.zeros((3, 4))):
        with refused("H0711", LaunchError):
            a[1] = bad
    a[1:] = a[:-1]  # they overlap
    assert a.numpy()[:, 0].tolist() == [7, 7, 8]
    v = zeros((2,), wp.vec3)
    v[:] = wp.vec3(1, 2, 3)
    assert v.list() == [wp.vec3(1, 2, 3)] * 2


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
@pytest.mark.parametrize("key", [slice(None), slice(None, None, 2), slice(None, None, -1)])
def test_filling_touches_the_elements_of_a_view_only(t, key):
    a = zeros(5, dtype=t)
    item = sample(t, 3)
    a[key].fill_(item)
    zero = zeros(1, dtype=t)[0]
    expected = [zero] * 5
    expected[key] = [item] * len(expected[key])
    assert a.list() == expected
    a[key].zero_()
    assert a.list() == [zero] * 5


def test_a_number_fills_vectors_and_matrices():
    assert zeros(2, wp.vec3).fill_(2).list() == [wp.vec3(2)] * 2
    assert zeros(1, wp.mat22).fill_([[1, 2], [3, 4]])[0] == wp.mat22(1, 2, 3, 4)
    assert array([Body(mass=1)]).fill_(0)[0] == Body()
    with refused("H0201"):
        zeros(2, Body).fill_(1)
    with refused("H0202"):
        zeros(2, types.u8).fill_(256)


def test_reshape_and_flatten():
    a = array(range(12))
    b = a.reshape((3, 4))
    b[1, 1] = 50
    assert a[5] == 50
    assert a.reshape(2, 3, 2).shape == (2, 3, 2)
    assert a.reshape((2, -1)).shape == (2, 6)
    assert a.reshape(-1).shape == (12,)
    assert b.flatten().shape == (12,)
    assert b.flatten().ptr == a.ptr
    assert zeros((0, 3)).reshape(3, 0).shape == (3, 0)
    assert zeros((0, 3)).reshape(-1, 3).shape == (0, 3)
    for bad in (5, (5, -1), (-1, -1), (3, 4, 1, 1, 1), (-2, -6), 2.0, "12", (0, -1)):
        with refused("H0711", LaunchError):
            a.reshape(bad)
    for view in (b[:, 1:], b[::-1], b[:, ::2]):
        with pytest.raises(LaunchError, match=r"use a.contiguous\(\)"):
            view.flatten()
        assert view.contiguous().flatten().list() == view.list()
    assert b.contiguous() is b


def test_one_long_dimensions_do_not_break_contiguity():
    a = array(np.zeros((4, 3)))
    assert a[2:3].is_contiguous
    assert a[1:3].is_contiguous
    assert not a[:, 1:2].is_contiguous
    assert array(np.zeros((4, 3)))[:1, :].strides == (24, 8)
    assert a[::3][:1].is_contiguous


# ----------------------------------------------------------------------- arrays without elements


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2, 2)])
def test_arrays_without_elements(t, shape):
    a = zeros(shape, dtype=t)
    assert (a.shape, a.size, a.capacity) == (shape, 0, 0)
    assert a.ptr == ZERO_PAGE.ptr
    assert a.is_contiguous
    assert a.list() == []
    assert a.numpy().shape[: len(shape)] == shape
    assert a.clone().shape == shape
    assert pickle.loads(pickle.dumps(a)).shape == shape
    a.zero_()
    a.fill_(sample(t))
    a.assign(a)
    assert array(a.numpy(), dtype=t).shape == shape


def test_empty_views_point_to_zeros_not_past_the_end():
    a = array([1, 2, 3])
    for view in (a[3:], a[1:1], a[5:], a[:0]):
        assert view.shape == (0,)
        assert view.ptr == ZERO_PAGE.ptr
    big = zeros(2, wp.matrix((200, 200), types.f64))
    hollow = big[2:]
    assert len(ctypes.string_at(hollow.ptr, 200 * 200 * 8).strip(b"\0")) == 0


# ------------------------------------------------------------------------------------- protocols


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_numpy_shares_memory_with_the_axes_of_elements_last(t):
    a = array([[sample(t, k) for k in range(3)] for _ in range(2)], dtype=t)
    x = a.numpy()
    inner = () if isinstance(t, (types.Scalar, types.Struct)) else t.shape
    assert x.shape == (2, 3, *inner)
    dtype = t if isinstance(t, (types.Scalar, types.Struct)) else t.dtype
    if dtype is types.bf16:
        assert x.dtype == np.float32
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        assert a.carriers().dtype == np.uint16
        return
    assert x.dtype == types.numpy_dtype(dtype)
    assert x.ctypes.data == a.ptr
    x[...] = np.zeros(1, x.dtype)
    assert a.list() == zeros((2, 3), dtype=t).list()
    for other in (np.asarray(a), np.array(a, copy=False)):
        assert other.dtype == x.dtype
        assert other.shape == x.shape
        assert np.shares_memory(other, x)
    assert not np.shares_memory(np.array(a), x)


def test_array_protocol_with_a_dtype():
    a = array([1.5, 2.5])
    assert np.asarray(a, np.float64).dtype == np.float64
    assert np.asarray(a, np.float64).tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="without a copy"):
        array([1.5], dtype=types.bf16).__array__(np.float64, copy=False)
    assert np.add(a, 1).tolist() == [2.5, 3.5]
    assert np.asarray(array([1.5], dtype=types.bf16)).tolist() == [1.5]


def test_the_array_interface():
    a = array(np.arange(6.0).reshape(2, 3))[:, ::2]
    interface = a.__array_interface__
    assert interface["data"] == (a.ptr, False)
    assert interface["shape"] == (2, 2)
    assert interface["strides"] == (24, 16)
    assert interface["typestr"] == "<f8"
    assert zeros(2, wp.mat22).__array_interface__["shape"] == (2, 2, 2)
    for a in (zeros(2, Body), zeros(2, types.bf16)):
        assert not hasattr(a, "__array_interface__")


def test_text():
    a = array([1.0, 2.5])
    assert repr(a) == "array([1. , 2.5], shape=(2,), dtype=float32, device=cpu)"
    assert str(a) == "[1.  2.5]"
    assert repr(zeros((0, 2), wp.vec3, "sim")) == (
        "array([], shape=(0, 2), dtype=vec3f, device=sim)"
    )
    assert len(repr(zeros(100_000))) < 200
    assert repr(array2d) == "heald.array2d"
    assert "dtype=Body" in repr(array([Body()]))


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_pickles_and_copies_hold_their_own_elements(t):
    a = array([sample(t, k) for k in range(6)], dtype=t).reshape(3, 2)[::-1, 1:]
    for twin in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert twin.element_type is t
        assert twin.shape == a.shape
        assert twin.device is a.device
        assert twin.list() == a.list()
        assert twin.ptr != a.ptr
        assert twin.is_contiguous
    a = zeros(2, t, "sim")
    assert copy.deepcopy(a).device is SIM


def test_arrays_are_compared_by_identity_and_hashable():
    a = array([1, 2])
    assert a == a
    assert a != array([1, 2])
    assert {a: 1}[a] == 1
    assert len(array([[1, 2, 3]])) == 1


def test_the_bytes_of_a_launch():
    a = array(np.zeros((3, 4)))[::2, 1:]
    word = array_signature(types.f64, 2, CPU)
    assert struct.unpack("<QQ4q", a.packed) == (word, a.ptr, 2, 3, 64, 8)
    owner = object()
    made = make_array(types.f32, 4096, (2,), (4,), CPU, owner, read_only=True)
    assert made.owner is owner
    word = array_signature(types.f32, 1, CPU) | READ_ONLY
    assert struct.unpack("<QQ2q", made.packed) == (word, 4096, 2, 4)


# --------------------------------------------------------------------------------------- devices


def test_arrays_live_where_they_are_made():
    assert array([1], device="sim").device is SIM
    set_device("sim")
    assert array([1]).device is SIM
    assert zeros(3).device is SIM
    assert zeros(3, device="cpu").device is CPU
    with pytest.raises(DeviceError, match=r"H080[16]"):
        array([1], device="cuda:99")


def test_moving_between_devices():
    a = array([1, 2, 3])
    assert a.to("cpu") is a
    b = a.to("sim")
    assert b.device is SIM
    b[0] = 9
    assert a.list() == [1, 2, 3]
    a.assign(b)
    assert a.list() == [9, 2, 3]
    assert array(b).device is CPU


def test_clone_is_contiguous_and_independent():
    a = array(np.arange(6.0))[::2]
    b = a.clone()
    assert b.is_contiguous
    b[0] = 50
    assert a[0] == 0
    assert a.clone("sim").device is SIM
    assert full(2, 1.5).clone().list() == [1.5, 1.5]


def test_assign():
    a = zeros((2, 2))
    assert a.assign([[1, 2], [3, 4]]) is a
    assert a.numpy().tolist() == [[1, 2], [3, 4]]
    a.assign(array([[5, 6], [7, 8]], dtype=types.i64))
    assert a.numpy().tolist() == [[5, 6], [7, 8]]
    for bad in ([1, 2, 3, 4], 5, array([1.0])):
        with refused("H0711", LaunchError):
            a.assign(bad)
    with refused("H0712"):
        a.assign([[1, 2], [3, 1e300]])
    assert a.numpy().tolist() == [[5, 6], [7, 8]]
    v = zeros(2, wp.vec3)
    v.assign(np.arange(6).reshape(2, 3))
    assert v.list() == [wp.vec3(0, 1, 2), wp.vec3(3, 4, 5)]
