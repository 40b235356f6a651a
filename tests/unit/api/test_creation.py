"""Functions that make and copy arrays."""

import numpy as np
import pytest

from heald import types
from heald.api import values as wp
from heald.api.array import array
from heald.api.creation import (
    clone,
    copy,
    empty,
    empty_like,
    from_numpy,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from heald.api.struct import struct
from heald.diagnostics import LaunchError, TypingError
from heald.runtime import CPU, SIM


@struct
class Pair:
    a: int
    b: wp.vec2


def test_zeros_and_ones():
    assert zeros(3).list() == [0.0] * 3
    assert zeros(3).element_type is types.f32
    assert zeros((2, 2), int).numpy().tolist() == [[0, 0], [0, 0]]
    assert ones(2, wp.vec3).list() == [wp.vec3(1)] * 2
    assert ones(2, wp.mat22)[0] == wp.mat22(1, 1, 1, 1)
    assert ones(2, bool).list() == [True, True]
    assert ones(1, wp.vector(2, bool))[0] == wp.vector(2, bool)(True)
    assert ones(1, types.bf16)[0] == 1.0
    assert zeros(2, Pair).list() == [Pair(), Pair()]
    with pytest.raises(TypingError):
        ones(2, Pair)


def test_zeros_are_zero_in_used_memory():
    for _ in range(20):
        a = full(1000, 7)
        del a
        assert not zeros(1000, int).numpy().any()


def test_empty_has_the_shape_asked_for():
    a = empty((2, 3), types.f64, "sim")
    assert (a.shape, a.element_type, a.device) == ((2, 3), types.f64, SIM)
    a.zero_()
    assert not a.numpy().any()


@pytest.mark.parametrize(
    ("value", "element"),
    [
        (1, types.i32),
        (1.5, types.f32),
        (True, types.b1),
        (np.float64(1.5), types.f64),
        (np.int8(1), types.i8),
        (np.bool_(True), types.b1),
        (wp.vec3(1, 2, 3), types.Vector(types.f32, 3)),
        (Pair(a=1), Pair.__heald_type__),
    ],
    ids=str,
)
def test_full_takes_the_type_of_its_value(value, element):
    a = full((2, 2), value)
    assert a.element_type is element
    assert a.shape == (2, 2)
    assert a[1, 1] == value


def test_full_with_a_dtype():
    assert full(2, 3, float).list() == [3.0, 3.0]
    assert full(2, 3, wp.vec2).list() == [wp.vec2(3)] * 2
    assert full(2).list() == [0, 0]
    with pytest.raises(TypingError, match="H0201"):
        full(2, 1.5, int)
    with pytest.raises(TypingError, match="H0202"):
        full(2, 2**40)
    with pytest.raises(TypingError, match="say dtype="):
        full(2, "x")
    with pytest.raises(TypingError, match="say dtype="):
        full(2, 1j)


def test_the_like_family():
    src = array(np.arange(12.0).reshape(3, 4), dtype=types.f64, device="sim")[:, ::2]
    for made, content in [
        (zeros_like(src), 0),
        (ones_like(src), 1),
        (full_like(src, 5), 5),
        (empty_like(src).fill_(7), 7),
    ]:
        assert made.shape == (3, 2)
        assert made.element_type is types.f64
        assert made.device is SIM
        assert made.is_contiguous
        assert (made.numpy() == content).all()
    assert zeros_like(src, "cpu").device is CPU
    assert ones_like(zeros(2, bool)).list() == [True, True]
    for make in (zeros_like, ones_like, empty_like, clone):
        with pytest.raises(TypingError, match=r"wp.array\(x\)"):
            make(np.zeros(2))


def test_clone():
    src = array([1, 2, 3])
    twin = clone(src, "sim")
    src[0] = 9
    assert twin.list() == [1, 2, 3]
    assert twin.device is SIM


def test_from_numpy_copies():
    x = np.arange(6.0)
    a = from_numpy(x, dtype=wp.vec3, shape=(2, 1), device="sim")
    x[0] = 9
    assert a.numpy().tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
    assert a.device is SIM


def test_copy_between_arrays_and_devices():
    dest, src = zeros((2, 3), int), array([[1, 2, 3], [4, 5, 6]], device="sim")
    copy(dest, src)
    assert dest.numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    copy(dest[:, ::2], src[:, 1:])
    assert dest.numpy().tolist() == [[2, 2, 3], [5, 5, 6]]
    copy(dest[::-1], dest)
    assert dest.numpy().tolist() in ([[5, 5, 6], [2, 2, 3]],)


def test_copy_of_a_range():
    dest, src = zeros(6, int), array(range(1, 7))
    copy(dest, src, dest_offset=1, src_offset=2, count=3)
    assert dest.list() == [0, 3, 4, 5, 0, 0]
    copy(dest, src, src_offset=4)
    assert dest.list() == [5, 6, 4, 5, 0, 0]
    copy(dest.reshape(2, 3), src)
    assert dest.list() == [1, 2, 3, 4, 5, 6]
    copy(dest, zeros(0, int))
    assert dest.list() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("offsets", "role"),
    [
        ({"dest_offset": 4, "count": 3}, "dest"),
        ({"src_offset": 7}, "from number 7 of src .* src has 6"),
        ({"count": 7}, "copy of 7 elements .* dest has 6"),
        ({"dest_offset": -1}, "dest_offset=-1 is negative; src has 6 elements, dest has 6"),
        ({"src_offset": -1, "count": 2}, "src_offset=-1 is negative"),
        ({"count": -2}, "count=-2 is negative"),
    ],
)
def test_copy_stays_inside(offsets, role):
    dest = zeros(6, int)
    with pytest.raises(LaunchError, match=role) as caught:
        copy(dest, array(range(6)), **offsets)
    assert caught.value.codes == ("H0711",)
    assert dest.list() == [0] * 6


def test_copy_refuses_other_types_and_gaps():
    with pytest.raises(TypingError, match="copy needs one element type, not int32 to float32"):
        copy(zeros(2), zeros(2, int))
    with pytest.raises(TypingError, match="copy takes an array"):
        copy(zeros(2), [1, 2])
    with pytest.raises(LaunchError, match="gaps"):
        copy(zeros((2, 3))[:, :2], zeros(2), count=1)
    with pytest.raises(LaunchError):
        copy(zeros(2), zeros(3))
