"""Views: transposed, of other types, of memory of others, with zero and negative strides."""

import ctypes
import gc
import mmap
import pickle
from array import array as python_array

import numpy as np
import pytest
from elements import ELEMENTS, sample
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import heald as wp
from heald.api.array_views import overlaps_itself
from heald.types import Struct, numpy_dtype, size_of


def refused(code, match, kind=wp.HealdError):
    return pytest.raises(kind, match=f"(?s){code}.*{match}")


SCALARS = [np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64]


@given(st.data())
def test_transposed_views_are_those_of_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    reference = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    x, a = reference[key], wp.array(reference)[key]
    if not isinstance(a, wp.array):
        return
    axes = data.draw(st.none() | st.permutations([*range(x.ndim)]))
    expected = np.transpose(x, axes)
    found = a.transpose(axes)
    assert found.shape == expected.shape
    assert found.numpy().tolist() == expected.tolist()
    assert found.contiguous().list() == expected.ravel().tolist()
    assert found.size == expected.size
    assert found.transpose().transpose().strides == found.strides
    if found.size:
        found[(0,) * found.ndim] = -1
        assert a.numpy()[(0,) * x.ndim] == -1


def test_negative_axes_count_from_the_end():
    assert wp.zeros((2, 3, 4)).transpose((-1, 0, 1)).shape == (4, 2, 3)


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2), "01", (0, 1.0), (True, 0), 5])
def test_axes_that_are_no_order_are_refused(axes):
    with refused("H0711", "an array of 2 dimensions", wp.LaunchError):
        wp.zeros((2, 3)).transpose(axes)


# -- views of other types --------------------------------------------------------------------------


@given(st.data())
def test_views_as_other_scalars_are_those_of_numpy(data):
    old, new = data.draw(st.sampled_from(SCALARS)), data.draw(st.sampled_from(SCALARS))
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=8))
    x = np.arange(np.prod(shape)).astype(old).reshape(shape)
    steps = data.draw(st.tuples(*[st.sampled_from([slice(None), slice(None, None, 2)])] * x.ndim))
    a = wp.array(x)
    part = a[steps]
    try:
        expected = a.numpy()[steps].view(new)
    except ValueError:
        with refused("H0712", "cannot be seen as|needs addresses"):
            part.view(new)
        return
    if not expected.flags.aligned:
        with refused("H0712", "needs addresses"):
            part.view(new)
        return
    found = part.view(new)
    assert found.shape == expected.shape
    assert found.numpy().tobytes() == expected.tobytes()
    if found.size:
        found.fill_(1)
        assert np.all(expected == 1)


def test_vectors_split_and_join():
    a = wp.array(np.arange(24, dtype=np.float32).reshape(2, 12))
    vectors = a.view(wp.vec3)
    assert vectors.shape == (2, 4)
    assert vectors[1, 2] == wp.vec3(18, 19, 20)
    assert vectors.view(float).numpy().tolist() == a.numpy().tolist()
    vectors[0, 0] = (7, 8, 9)
    assert a.list()[:3] == [7, 8, 9]
    assert a.view(wp.mat22).shape == (2, 3)
    assert wp.zeros(4, dtype=wp.vec2).view(wp.float64).shape == (4,)


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_every_type_is_its_bytes(t):
    a = wp.array([sample(t, k) for k in range(4)], dtype=t)
    raw = a.view(wp.uint8)
    assert raw.shape == (4 * size_of(t),)
    assert raw.numpy().tobytes() == ctypes.string_at(a.ptr, a.capacity)
    assert raw.view(a.dtype).list() == a.list()


def test_a_view_keeps_what_it_views():
    x = np.zeros(4, np.float32)
    x.flags.writeable = False
    a = wp.array(x, copy=False, device="sim").view(int)
    assert a.read_only
    assert a.device.alias == "sim"
    with refused("H0705", "read-only"):
        a[0] = 1
    b = wp.array(np.arange(5000.0)).view(wp.int64)
    gc.collect()
    assert b[1] == np.float64(1).view(np.int64)


def test_a_view_needs_aligned_memory():
    a = wp.zeros(9, dtype=wp.float32)
    with refused("H0712", "multiples of 8"):
        a[1:].view(wp.float64)
    with refused("H0712", "3 of them in a row"):
        wp.zeros((2, 3), dtype=float).view(wp.float64)
    with refused("H0712", "needs addresses that are multiples of 8"):
        wp.zeros((4, 3), dtype=float)[:, :2].view(wp.float64)
    with refused("H0207", "no element type"):
        a.view("float")


def test_views_without_elements():
    assert wp.zeros((3, 0), dtype=wp.uint8).view(wp.float64).shape == (3, 0)
    assert wp.zeros((0, 2), dtype=float).view(wp.float64).shape == (0, 1)
    with refused("H0712", "3 of them in a row"):
        wp.zeros((0, 3), dtype=float).view(wp.float64)


# -- odd strides -----------------------------------------------------------------------------------


def test_more_elements_than_32_bits_count():
    n = (1 << 31) + 5
    x = np.broadcast_to(np.float32(3), n)
    a = wp.array(x, copy=False)
    assert (a.size, a.strides, a.capacity, a.read_only) == (n, (0,), 4, True)
    assert a[n - 1] == a[-n] == 3.0
    assert a[:: 1 << 20].size == -(-n >> 20)
    assert a[5:].shape == (n - 5,)
    assert not a.is_contiguous
    with refused("H0711", "gaps"):
        a.reshape(-1)
    with pytest.raises(wp.OutOfBoundsError):
        a[n]
    pair = wp.array(np.broadcast_to(np.int8(2), (1 << 20, 1 << 20)), copy=False)
    assert pair.size == 1 << 40
    assert pair.transpose()[-1, -1] == 2


def test_kernels_read_and_write_through_odd_strides():
    @wp.kernel
    def double(a: wp.array(dtype=int, ndim=2), b: wp.array(dtype=int, ndim=2)):
        i, j = wp.tid()
        b[i, j] = 2 * a[i, j]

    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    wide = wp.array(np.broadcast_to(x[0], (3, 4)), copy=False)
    out = wp.zeros((4, 3), dtype=int)
    wp.launch(double, dim=(3, 4), inputs=[wide], outputs=[out.transpose()[:, ::-1]])
    assert out.numpy().tolist() == (2 * np.broadcast_to(x[0], (3, 4)))[:, ::-1].T.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-40, 40)), min_size=1, max_size=3),
    st.integers(1, 8),
)
def test_overlaps_are_never_missed(axes, itemsize):
    shape, strides = tuple(a[0] for a in axes), tuple(a[1] for a in axes)
    starts = [sum(i * s for i, s in zip(k, strides, strict=True)) for k in np.ndindex(shape)]
    taken = [byte for start in starts for byte in range(start, start + itemsize)]
    if not overlaps_itself((shape, strides), itemsize):
        assert len(taken) == len(set(taken))


def test_contiguous_arrays_do_not_overlap_themselves():
    for a in (wp.zeros((3, 4)), wp.zeros((3, 4)).transpose(), wp.zeros(9)[::-2]):
        assert not overlaps_itself((a.shape, a.strides), a.itemsize)
    assert overlaps_itself(((3,), (0,)), 4)


# -- memory of others ------------------------------------------------------------------------------


def test_buffers_are_shared_and_kept_open():
    data = bytearray(b"abcd")
    a = wp.array(data, copy=False)
    a[0] = 255
    assert data[0] == 255
    with pytest.raises(BufferError):
        data.extend(b"more")
    with mmap.mmap(-1, 4096) as memory:
        view = wp.array(memory, copy=False).view(float)[::2]
        view[1] = 1.5
        assert np.frombuffer(memory[8:12], np.float32)[0] == 1.5
        with pytest.raises(BufferError):
            memory.close()
        del view
        gc.collect()
    numbers = python_array("d", [1.0, 2.0])
    b = wp.array(numbers, copy=False)
    numbers[1] = 5.0
    assert b.list() == [1.0, 5.0]
    assert b.dtype is wp.float64


@pytest.mark.parametrize("share", [lambda x: wp.array(x, copy=False), wp.from_dlpack])
def test_numpy_cannot_free_memory_that_is_shared(share):
    x = np.arange(4.0)
    kept = [share(x)[1:], share(x[::2]), share(x).numpy()[:2]]
    with pytest.raises(ValueError, match="cannot resize"):
        x.resize(1 << 20, refcheck=False)
    assert kept[0].list() == [1, 2, 3]
    assert kept[1].list() == [0, 2]
    del kept
    gc.collect()
    x.resize(2, refcheck=False)
    assert x.tolist() == [0, 1]


class Elsewhere:
    """An array on a device of CUDA."""

    def __init__(self):
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (1, False)}


@pytest.mark.parametrize("copy", [True, False])
def test_memory_of_another_device_is_refused(copy, no_driver):
    with refused("H0806", "no CUDA device"):
        wp.array(Elsewhere(), copy=copy)


class Tensor:
    """A tensor of another library, which numpy reads by its method."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class Converting(Tensor):
    """One that makes its numbers when it is asked."""

    def __array__(self, dtype=None, copy=None):
        return self.x.copy()


def test_tensors_are_shared_or_refused():
    tensor = Tensor(np.arange(3.0))
    a = wp.array(tensor, copy=False)
    a[0] = 9.0
    assert tensor.x[0] == 9.0
    with refused("H0712", "this memory cannot be shared"):
        wp.array(Converting(np.arange(3.0)), copy=False)
    assert wp.array(Converting(np.arange(3.0))).list() == [0, 1, 2]


def test_a_closed_buffer_is_refused():
    view = memoryview(bytearray(8))
    view.release()
    with refused("H0712", "released"):
        wp.array(view, copy=False)
    memory = mmap.mmap(-1, 64)
    memory.close()
    with refused("H0712", "does not make an array"):
        wp.array(memory, copy=False)


def test_a_read_only_buffer_stays_so():
    a = wp.array(memoryview(b"abc"), copy=False)
    assert a.read_only
    with refused("H0705", "read-only"):
        a.zero_()


def test_memory_is_given_back_when_nothing_uses_it():
    memory = (ctypes.c_float * 6)(*range(6))
    address = ctypes.addressof(memory)
    given_back = []

    def give_back(ptr, nbytes):
        given_back.append((ptr, nbytes))

    a = wp.from_ptr(address, (2, 3), dtype=float, deleter=give_back)
    assert a.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    out = a[1:].view(int).numpy()
    other = a.transpose()
    del a, other
    gc.collect()
    assert not given_back
    assert out.view(np.float32).tolist() == [[3, 4, 5]]
    del out
    gc.collect()
    assert given_back == [(address, 24)]


def test_memory_without_elements_is_given_back_too():
    given_back = []
    a = wp.from_ptr(64, 0, dtype=float, deleter=lambda ptr, nbytes: given_back.append(nbytes))
    assert a.size == 0
    gc.collect()
    assert given_back == [0]


def test_a_deleter_needs_a_pointer():
    with refused("H0711", "ptr="):
        wp.array([1.0], deleter=print)
    with refused("H0711", "ptr="):
        wp.from_ptr("here", 3)


def test_from_ptr_takes_strides():
    memory = (ctypes.c_int32 * 6)(*range(6))
    a = wp.from_ptr(ctypes.addressof(memory) + 20, 3, dtype=int, strides=-8)
    assert a.list() == [5, 3, 1]
    del memory


# -- copies ----------------------------------------------------------------------------------------


@given(st.data())
def test_overlapping_copies_are_those_of_numpy(data):
    n = data.draw(st.integers(1, 24))
    t = data.draw(st.sampled_from([wp.int8, wp.int32, wp.vec3, wp.float64]))
    a = wp.zeros(n, dtype=t)
    a.view(wp.uint8).assign(np.arange(n * a.itemsize, dtype=np.uint8))
    x = a.raw().copy()
    slices = st.slices(n)
    to = data.draw(slices)
    length = len(x[to])
    froms = [
        slice(s, None if e < 0 else e, k)
        for k in (-2, -1, 1, 2)
        for s in range(n)
        for e in [s + k * length]
        if len(range(*slice(s, None if e < 0 else e, k).indices(n))) == length
    ]
    taken = data.draw(st.sampled_from(froms or [to]))
    wp.copy(a[to], a[taken])
    x[to] = x[taken].copy()
    assert a.raw().tobytes() == x.tobytes()


@given(st.data())
def test_ranges_are_those_of_numpy(data):
    n, m = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    start, first, count = (data.draw(st.integers(-1, 7)) for _ in range(3))
    dest, src = wp.zeros(2 * n, dtype=int)[::2], wp.array(np.arange(1, m + 1, dtype=np.int32))
    expected = np.zeros(n, np.int32)
    length = count or max(m - first, 0)
    numbers = {"dest_offset": start, "src_offset": first, "count": count}
    negative = next((f"{name}=-1" for name, number in numbers.items() if number < 0), None)
    if negative is not None:
        with refused("H0711", f"{negative} is negative; src has {m} elements, dest has {n}"):
            wp.copy(dest, src, start, first, count)
    elif start + length > n or first + length > m:
        role = r"dest has \d" if start + length > n else r"src has \d"
        with refused("H0711", rf"of src .shape .{m},.*of dest .shape .{n},.*: {role}"):
            wp.copy(dest, src, start, first, count)
    else:
        wp.copy(dest, src, start, first, count)
        expected[start : start + length] = np.arange(1, m + 1)[first : first + length]
    assert dest.list() == expected.tolist()


def test_copies_say_what_does_not_fit():
    a = wp.zeros((2, 4), dtype=int)
    with refused("H0711", "a range of dest .*strides"):
        wp.copy(a[:, ::2], wp.zeros(2, dtype=int), count=2)
    with refused("H0711", "src_offset is a number of elements, not float"):
        wp.copy(a, a, 0, 1.0)
    with refused("H0705", "dest cannot be written"):
        x = np.zeros(2, np.int32)
        x.flags.writeable = False
        wp.copy(wp.array(x, copy=False), wp.zeros(1, dtype=int), count=1)


# -- elements, structs -----------------------------------------------------------------------------


@wp.struct
class Inner:
    flag: bool
    at: wp.vec3d


@wp.struct
class Outer:
    small: wp.int8
    inner: Inner
    rot: wp.mat22
    tag: wp.uint16


def test_structs_come_from_packed_and_aligned_records():
    aligned = Outer.numpy_dtype()
    inner = np.dtype([("flag", "?"), ("at", "f8", (3,))])
    packed = np.dtype(
        [("small", "i1"), ("inner", inner), ("rot", "f4", (2, 2)), ("tag", ">u2")], align=False
    )
    assert packed.itemsize < aligned.itemsize
    x = np.zeros(3, packed)
    x["small"], x["tag"] = [1, -2, 3], [7, 8, 65535]
    x["inner"]["flag"] = [True, False, True]
    x["inner"]["at"] = np.arange(9).reshape(3, 3) / 3
    x["rot"] = np.arange(12).reshape(3, 2, 2)
    a = wp.array(x, dtype=Outer)
    assert a[2].small == 3
    assert a[1].inner.at == wp.vec3d(1, 4 / 3, 5 / 3)
    back = a.numpy()
    assert back.dtype == aligned
    for name in ("small", "tag", "rot"):
        assert back[name].tolist() == x[name].tolist()
    assert back["inner"]["at"].tolist() == x["inner"]["at"].tolist()
    shared = wp.array(back, dtype=Outer, copy=False)
    back["small"][0] = 99
    assert shared[0].small == a[0].small == 99
    with refused("H0712", "must be converted first"):
        wp.array(x, dtype=Outer, copy=False)
    assert wp.array(back.astype(packed), dtype=Outer).list() == a.list()


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_elements_of_views_are_read_and_written(t):
    a = wp.zeros((3, 4), dtype=t)
    view = a.transpose()[::-1, 1:]
    for k, index in enumerate(np.ndindex(4, 2)):
        view[index] = sample(t, k)
    expected = np.zeros((3, 4), object)
    for k, (i, j) in enumerate(np.ndindex(4, 2)):
        expected[j + 1, 3 - i] = sample(t, k)
    for i, j in np.ndindex(2, 4):
        assert a[i + 1, j] == expected[i + 1, j]
    assert a[0].list() == wp.zeros(4, dtype=t).list()
    assert pickle.loads(pickle.dumps(view)).list() == view.list()
    assert view.numpy().shape[:2] == (4, 2)
    if not isinstance(t, Struct):
        assert view.carriers().dtype == numpy_dtype(t).base


def test_gradients_are_refused():
    for make in (
        lambda: wp.zeros(3, requires_grad=True),
        lambda: wp.ones(3, requires_grad=True),
        lambda: wp.empty(3, requires_grad=True),
        lambda: wp.full(3, 1.0, requires_grad=True),
        lambda: wp.zeros_like(wp.zeros(3), requires_grad=True),
        lambda: wp.full_like(wp.zeros(3), 1.0, requires_grad=True),
        lambda: wp.clone(wp.zeros(3), requires_grad=True),
        lambda: wp.from_numpy(np.zeros(3), requires_grad=True),
        lambda: wp.array([1.0], requires_grad=True),
    ):
        with refused("H0716", "gradients"):
            make()
    assert wp.zeros(3, requires_grad=False).requires_grad is False
