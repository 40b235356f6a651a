"""Host memory: alignment, exact sizes, overflow, lifetime."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald.diagnostics import DeviceError
from heald.runtime import memory
from heald.runtime.memory import (
    ZERO_PAGE,
    allocate,
    byte_size,
    byte_span,
    contiguous_strides,
    empty_memory,
    memory_bytes,
)


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, 1 << 20])
@pytest.mark.parametrize("zeroed", [False, True])
def test_allocations_are_aligned_and_of_exact_size(nbytes, zeroed):
    block = allocate(nbytes, zeroed=zeroed)
    assert block.ptr % 64 == 0
    assert block.nbytes == nbytes == block.buffer.nbytes
    assert nbytes == 0 or block.buffer.ctypes.data == block.ptr
    block.buffer[:] = 7
    if zeroed:
        assert not allocate(nbytes, zeroed=True).buffer.any()


@pytest.mark.parametrize("nbytes", [1 << 62, (1 << 63) - 1, 1 << 63, 1 << 100])
def test_too_much_memory_is_refused_with_its_size(nbytes):
    with pytest.raises(DeviceError) as caught:
        allocate(nbytes)
    assert caught.value.codes == ("H0802",)
    assert f"{nbytes:,} bytes" in str(caught.value)


def test_an_exhausted_machine_is_reported_in_readable_units(monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(memory.np, "empty", refuse)
    with pytest.raises(DeviceError, match=r"3,221,225,472 bytes \(3\.0 GiB\)"):
        allocate(3 << 30)


def test_sizes_that_no_address_reaches_are_refused():
    assert byte_size((3, 5), 4) == 60
    assert byte_size((1 << 61,), 2) == 1 << 62
    for shape in [(1 << 31, 1 << 31, 1 << 31), (1 << 62,), (0, 1 << 62)]:
        with pytest.raises(DeviceError) as caught:
            byte_size(shape, 4)
        assert caught.value.codes == ("H0802",)
        assert str(shape) in str(caught.value)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.sampled_from([1, 2, 4, 12]))
def test_strides_and_spans_agree_with_numpy(shape, itemsize):
    dtype = np.dtype(f"V{itemsize}")
    reference = np.zeros([max(1, n) for n in shape], dtype)
    assert contiguous_strides(shape, itemsize) == reference.strides
    span = byte_span(shape, contiguous_strides(shape, itemsize), itemsize)
    assert span == (0, int(np.prod(shape)) * itemsize)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-40, 40)), min_size=1, max_size=3))
def test_a_span_holds_exactly_what_elements_touch(axes):
    shape, strides = zip(*axes, strict=True)
    starts = {
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(shape)
    }
    assert byte_span(shape, strides, 4) == (min(starts), max(starts) + 4)


def test_arrays_without_elements_point_to_zeros():
    assert empty_memory(4) is ZERO_PAGE
    assert ZERO_PAGE.ptr % 64 == 0
    assert not ZERO_PAGE.buffer.any()
    with pytest.raises(ValueError, match="read-only"):
        ZERO_PAGE.buffer[0] = 1
    large = empty_memory(1 << 20)
    assert large.nbytes == 1 << 20
    assert not large.buffer.any()


def test_bytes_of_foreign_memory_keep_their_owner_alive():
    class Owner:
        def __init__(self):
            self.block = allocate(16, zeroed=True)

    owner = Owner()
    gone = weakref.ref(owner)
    view = memory_bytes(owner.block.ptr + 4, 8, owner)
    view[:] = 9
    assert owner.block.buffer.tolist() == [0] * 4 + [9] * 8 + [0] * 4
    del owner
    gc.collect()
    assert gone() is not None
    del view
    gc.collect()
    assert gone() is None


def test_read_only_bytes_cannot_be_written():
    block = allocate(8, zeroed=True)
    view = memory_bytes(block.ptr, 8, block, read_only=True)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
