"""Array views: what they show, what they refuse, and that nothing beyond them is touched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald.interp import ArrayView
from heald.interp.memory import Memory
from heald.types import (
    Matrix,
    Struct,
    Vector,
    b1,
    bf16,
    f32,
    f64,
    i8,
    i16,
    i32,
    numpy_dtype,
    u8,
)


def test_from_numpy_shares_memory_whatever_the_strides() -> None:
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    for array in (base, base[::2, ::-1], base.T, base[1:1], base[3:0:-2, 5:1:-3]):
        view = ArrayView.from_numpy(array)
        assert view.shape == array.shape
        assert view.dtype is f32
        assert (view.leaf() == array).all()
    view = ArrayView.from_numpy(base[::-1, 1])
    view.leaf()[0] = 99
    assert base[3, 1] == 99


def test_from_numpy_sees_components_and_fields() -> None:
    vectors = np.arange(12, dtype=np.float64).reshape(4, 3)
    view = ArrayView.from_numpy(vectors[::2], Vector(f64, 3))
    assert view.shape == (2,)
    assert (view.leaf(1) == vectors[::2, 1]).all()
    matrices = np.arange(12, dtype=np.int32).reshape(2, 2, 3)
    assert (ArrayView.from_numpy(matrices, Matrix(i32, 2, 3)).leaf(4) == matrices[:, 1, 1]).all()
    pair = Struct("Pair", (("small", i8), ("big", Vector(f32, 2))))
    records = np.zeros(3, numpy_dtype(pair))
    records["big"] = [[1, 2], [3, 4], [5, 6]]
    view = ArrayView.from_numpy(records, pair)
    assert view.leaf(2).tolist() == [2, 4, 6]
    brains = np.array([0x3F80], np.uint16)
    assert ArrayView.from_numpy(brains, bf16).leaf().tolist() == [0x3F80]
    assert ArrayView.from_numpy(np.array([True, False])).dtype is b1


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.zeros(3, np.float32), i32),
        (np.zeros((3, 2), np.float32), Vector(f32, 3)),
        (np.zeros((2, 3), np.float32).T, Vector(f32, 2)),
    ],
)
def test_from_numpy_refuses_what_it_would_misread(array: np.ndarray, dtype: object) -> None:
    with pytest.raises(ValueError, match=r"holds no|not packed"):
        ArrayView.from_numpy(array, dtype)  # type: ignore[arg-type]


def test_one_vector_is_a_view_without_axes() -> None:
    view = ArrayView.from_numpy(np.array([1, 2, 3], np.float32), Vector(f32, 3))
    assert view.shape == ()
    assert view.leaf(2)[()] == 3


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (0, (5,), (4,)),
        (1, (4,), (4,)),
        (-4, (1,), (4,)),
        (8, (4,), (-4,)),
        (0, (2, 2), (16, 4)),
        (0, (1 << 40,), (1,)),
        (0, (2,), (1 << 62,)),
    ],
)
def test_views_beyond_their_buffer_are_refused(
    offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="16-byte buffer"):
        ArrayView(np.zeros(16, np.uint8), offset, shape, strides, i32)


def test_malformed_views_are_refused() -> None:
    buffer = np.zeros(16, np.uint8)
    with pytest.raises(ValueError, match="differ in length"):
        ArrayView(buffer, 0, (1, 1), (4,), i32)
    with pytest.raises(ValueError, match="negative extent"):
        ArrayView(buffer, 0, (-1,), (4,), i32)
    with pytest.raises(ValueError, match="contiguous 1-D uint8"):
        ArrayView(buffer[::2], 0, (1,), (4,), i32)
    with pytest.raises(ValueError, match="contiguous 1-D uint8"):
        ArrayView(buffer.view(np.int8), 0, (1,), (4,), i32)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one entry for each byte"):
        ArrayView(buffer, 0, (1,), (4,), i32, np.zeros(4, bool))


def test_an_empty_view_may_point_anywhere() -> None:
    view = ArrayView(np.zeros(0, np.uint8), 1000, (3, 0), (1 << 40, -8), i32)
    assert view.leaf().shape == (3, 0)


def test_negative_zero_and_odd_strides_reach_the_right_bytes() -> None:
    buffer = np.arange(16, dtype=np.uint8)
    assert ArrayView(buffer, 12, (4,), (-4,), u8).leaf().tolist() == [12, 8, 4, 0]
    assert ArrayView(buffer, 5, (1 << 40,), (0,), u8).leaf()[-1] == 5
    odd = ArrayView(buffer, 1, (3,), (3,), i16).leaf()
    assert odd.tolist() == [0x0201, 0x0504, 0x0807]


@given(
    st.sampled_from([np.int8, np.uint16, np.float32, np.float64]),
    st.lists(st.integers(0, 40), min_size=1, max_size=20),
)
def test_reading_and_writing_at_any_address(carrier: type[np.generic], places: list[int]) -> None:
    dtype = np.dtype(carrier)
    bytes_ = np.arange(48, dtype=np.uint8)
    memory = Memory(bytes_.copy(), np.zeros(48, bool))
    address = np.array(places)
    found = memory.read(dtype, address)
    expected = [np.frombuffer(bytes_.tobytes(), dtype, 1, a)[0] for a in places]
    assert found.tobytes() == np.array(expected, dtype).tobytes()
    numbers = np.arange(len(places)).astype(dtype)
    memory.write(address, numbers)
    by_hand = bytearray(bytes_.tobytes())
    written = np.zeros(48, bool)
    for a, x in zip(places, numbers, strict=True):
        by_hand[a : a + dtype.itemsize] = x.tobytes()
        written[a : a + dtype.itemsize] = True
    assert memory.buffer.tobytes() == bytes(by_hand)
    assert memory.written is not None
    assert (memory.written == written).all()


def test_a_bool_is_true_unless_its_byte_is_zero() -> None:
    memory = Memory(np.array([0, 1, 2, 255], np.uint8))
    assert memory.read(np.dtype(bool), np.arange(4)).tolist() == [False, True, True, True]


def test_allocate_tracks_initialisation_on_request() -> None:
    assert ArrayView.allocate(f32, (2, 3)).written is None
    view = ArrayView.allocate(Vector(f32, 3), (2,), initialised=False)
    assert view.written is not None
    assert view.written.shape == (24,)
    assert view.strides == (12,)
