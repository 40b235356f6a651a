"""Copies within a GPU between arrays that have gaps: how they are planned, and their kernels."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heald as wp
from heald.api.content_kernels import MOVES
from heald.api.moving import Plan, plan
from heald.runtime import byte_span

ALIGNED = 1 << 20


def test_dense_elements_are_one_line_of_large_words() -> None:
    found = plan((3, 4), 4, (ALIGNED, (16, 4)), (ALIGNED, (16, 4)))
    assert found == Plan(4, (12,), (4,), (4,))
    assert plan((3, 4), 8, (ALIGNED, (32, 8)), (ALIGNED + 4, (32, 8))) == Plan(4, (24,), (4,), (4,))
    assert plan((5,), 24, (ALIGNED, (24,)), (ALIGNED, (24,))) == Plan(8, (15,), (8,), (8,))


def test_neighbours_write_side_by_side() -> None:
    found = plan((3, 4), 4, (ALIGNED, (4, 12)), (ALIGNED, (16, 4)))
    assert found == Plan(4, (4, 3), (12, 4), (4, 16))


def test_one_element_is_written_once() -> None:
    assert plan((1, 1), 4, (ALIGNED, (4, 4)), (ALIGNED, (4, 4))) == Plan(4, (1,), (4,), (4,))
    assert plan((3,), 4, (ALIGNED, (4,)), (ALIGNED, (0,))) == Plan(4, (3,), (4,), (0,))


@pytest.mark.parametrize("steps", [(0,), (2,)])
def test_elements_on_each_other_are_left_to_the_host(steps: tuple[int, ...]) -> None:
    assert plan((3,), 4, (ALIGNED, steps), (ALIGNED, (4,))) is None


def test_words_of_an_element_are_moved_one_by_one_where_too_many_axes_are_left() -> None:
    shape, steps, turned = (2, 3, 5, 2), (720, 240, 48, 24), (24, 48, 144, 720)
    assert plan(shape, 12, (ALIGNED, steps), (ALIGNED, steps)) == Plan(4, (60, 3), (24, 4), (24, 4))
    axes = (shape, steps, turned)
    assert plan(shape, 12, (ALIGNED, steps), (ALIGNED, turned)) == Plan(4, *axes, parts=3)
    assert plan(shape, 4, (ALIGNED, steps), (ALIGNED, turned)) == Plan(4, *axes)


def test_no_axis_is_longer_than_an_index() -> None:
    half = 1 << 30
    found = plan((4, half), 1, (ALIGNED, (half, 1)), (ALIGNED, (half, 1)))
    assert found == Plan(1, (4, half), (half, 1), (half, 1))
    assert plan((4 * half,), 1, (ALIGNED, (1,)), (ALIGNED, (2,))) is None


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], int, list[np.ndarray[Any, Any]]]:
    """Two views of memory with the same shape, of elements of so many bytes."""
    rank = draw(st.integers(1, 4))
    itemsize = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16]))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    views = []
    for _ in range(2):
        order = draw(st.permutations(range(rank)))
        gaps = [draw(st.integers(1, 3)) for _ in range(rank)]
        signs = [draw(st.sampled_from([1, -1])) for _ in range(rank)]
        whole = np.zeros([shape[k] * gaps[k] for k in order] + [itemsize], np.uint8)
        cut = whole[tuple(slice(None, None, signs[k] * gaps[k]) for k in order)]
        back = [order.index(k) for k in range(rank)]
        views.append(cut.transpose([*back, rank]))
    return shape, itemsize, views


@given(layouts())
def test_every_byte_comes_where_it_belongs(
    case: tuple[tuple[int, ...], int, list[np.ndarray[Any, Any]]],
) -> None:
    shape, itemsize, (dest, source) = case
    source[...] = np.random.default_rng(1).integers(0, 255, source.shape, dtype=np.uint8)
    places = [(a.ctypes.data, a.strides[:-1]) for a in (dest, source)]
    found = plan(shape, itemsize, *places)
    if found is None:
        return
    assert prod(found.shape) * found.word * found.parts == prod(shape) * itemsize
    for start in range(0, found.parts * found.word, found.word):
        views = []
        for a, strides in ((dest, found.dest), (source, found.source)):
            assert not a.ctypes.data % found.word
            assert not any(step % found.word for step in strides)
            low, high = byte_span(found.shape, strides, found.word)
            place = a.ctypes.data + start + low
            memory = (np.ctypeslib.ctypes.c_uint8 * (high - low)).from_address(place)
            views.append(np.ndarray(found.shape, f"u{found.word}", memory, -low, strides))
        views[0][...] = views[1]
    np.testing.assert_array_equal(dest, source)


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [wp.uint8, wp.uint16, wp.uint32, wp.uint64])
def test_kernels_copy(dtype: Any, rank: int, device: str) -> None:
    shape = (3, 2, 4, 5)[:rank]
    numbers = np.arange(prod(shape)).reshape(shape) + 1
    source = wp.array(numbers, dtype=dtype, device=device)
    dest = wp.zeros([2 * n for n in shape], dtype=dtype, device=device)
    part = dest[(slice(None, None, -2),) * rank]
    wp.launch(MOVES[rank - 1], dim=shape, inputs=[part, source], device=device)
    np.testing.assert_array_equal(part.numpy(), source.numpy())
    assert int(dest.numpy().sum()) == int(numbers.sum())
