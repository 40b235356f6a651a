"""DLPack with numpy and hand-made peers, and ``__array_interface__``."""

import gc
import weakref

import numpy as np
import pytest
from elements import ELEMENTS, Body, sample

import heald as wp
from heald.types import SCALARS, Struct, bf16, leaves, numpy_dtype

PLAIN = [t for t in ELEMENTS if not isinstance(t, Struct)]


def refused(code, match):
    return pytest.raises(wp.HealdError, match=f"(?s){code}.*{match}")


@pytest.mark.parametrize("t", PLAIN, ids=str)
def test_arrays_pass_through_dlpack(t):
    a = wp.array([sample(t, k) for k in range(4)], dtype=t)
    b = wp.from_dlpack(a, dtype=a.dtype)
    assert b.element_type is t
    assert b.ptr == a.ptr
    assert b.list() == a.list()
    b[0] = sample(t, 3)
    assert a[0] == sample(t, 3)
    part = wp.from_dlpack(a[1::2], dtype=a.dtype)
    assert part.list() == a[1::2].list()
    assert part.strides == a[1::2].strides


@pytest.mark.parametrize("t", [t for t in PLAIN if leaves(t)[0] is not bf16], ids=str)
def test_numpy_takes_arrays_with_the_axes_of_elements_last(t):
    a = wp.array([sample(t, k) for k in range(4)], dtype=t)
    x = np.from_dlpack(a)
    assert x.dtype == numpy_dtype(t).base
    assert x.tolist() == a.numpy().tolist()
    assert x.ctypes.data == a.ptr
    assert np.asarray(a).ctypes.data == a.ptr


@pytest.mark.parametrize("t", [t for t in SCALARS if t is not bf16], ids=str)
def test_tensors_of_numpy_become_arrays(t):
    x = np.array([1, 0, 1], t.carrier)
    a = wp.from_dlpack(x)
    assert a.element_type is t
    assert a.ptr == x.ctypes.data
    assert not a.read_only
    x[1] = 1
    assert a[1] == 1


def test_the_type_asked_for_is_checked():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert wp.from_dlpack(x, dtype=wp.vec3)[2] == wp.vec3(6, 7, 8)
    assert wp.from_dlpack(x, dtype=float).shape == (4, 3)
    for dtype, match in (
        (wp.float64, "holds float32, not float64"),
        (wp.vec3d, "holds float32, not vec3d"),
        (Body, "holds float32, not Body"),
        (wp.bfloat16, "holds float32, not bfloat16"),
    ):
        with refused("H0712", match):
            wp.from_dlpack(x, dtype=dtype)
    with refused("H0712", "components of a vec3f must lie side by side"):
        wp.from_dlpack(x[::-1, ::-1], dtype=wp.vec3)
    with refused("H0711", "does not divide"):
        wp.from_dlpack(x, dtype=wp.vec2)
    with refused("H0712", "holds complex numbers"):
        wp.from_dlpack(np.zeros(3, complex))
    with refused("H0711", "1 to 4 dimensions, not 5"):
        wp.from_dlpack(np.zeros((1,) * 5))
    with refused("H0712", "holds bfloat16, not uint16"):
        wp.from_dlpack(wp.zeros(3, dtype=wp.bfloat16), dtype=wp.uint16)


def test_no_dimensions_are_one():
    assert wp.from_dlpack(np.array(3.0)).shape == (1,)
    assert wp.from_dlpack(np.zeros((3, 0))).shape == (3, 0)


def test_read_only_memory_stays_so():
    x = np.arange(3)
    x.flags.writeable = False
    a = wp.from_dlpack(x)
    assert a.read_only
    with refused("H0705", "read-only"):
        a[0] = 1
    shared = np.from_dlpack(a)
    assert not shared.flags.writeable
    with pytest.raises(BufferError):
        a.__dlpack__()  # a version that cannot say so


def test_old_capsules_cannot_be_written():
    class Old:
        def __dlpack__(self):
            return np.arange(3.0).__dlpack__()

    assert wp.from_dlpack(Old()).read_only
    capsule = np.arange(3.0).__dlpack__()
    assert wp.from_dlpack(capsule).list() == [0.0, 1.0, 2.0]
    with refused("H0702", "can be used once"):
        wp.from_dlpack(capsule)


def test_memory_lives_as_long_as_either_side():
    class Tracked(np.ndarray):
        pass

    x = np.arange(1000.0).view(Tracked)
    gone = weakref.ref(x)
    view = wp.from_dlpack(x)[::2]
    del x
    gc.collect()
    assert gone() is not None
    assert view[1] == 2.0
    del view
    gc.collect()
    assert gone() is None
    a = wp.array(np.arange(1000.0))
    out = np.from_dlpack(a)
    del a
    gc.collect()
    junk = [np.full(1000, 7.0) for _ in range(50)]
    assert out.tolist() == list(range(1000))
    assert junk


class Elsewhere:
    """A tensor on a device of Vulkan; its memory is never asked for."""

    def __dlpack_device__(self):
        return (7, 1)

    def __dlpack__(self, **_):
        raise AssertionError("asked for")


def test_what_is_no_tensor_of_the_host_is_refused():
    with refused("H0704", r"device \(7, 1\), neither the host"):
        wp.from_dlpack(Elsewhere())
    for bad in ([1.0], None, 3, object()):
        with refused("H0702", "no DLPack tensor"):
            wp.from_dlpack(bad)


def test_structs_have_no_tensor():
    with pytest.raises(BufferError, match="Body"):
        np.from_dlpack(wp.zeros(3, dtype=Body))
    with pytest.raises(BufferError):
        wp.zeros(3).__dlpack__(dl_device=(2, 0))
    assert wp.zeros(3).__dlpack_device__() == (1, 0)
    assert wp.zeros(3, device="sim").__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_numpy_gets_no_copy_where_it_asks_for_none(t):
    a = wp.zeros((2, 3), dtype=t)[::-1]
    if leaves(t)[0] is bf16 and not isinstance(t, Struct):
        with pytest.raises(ValueError, match="cannot share an array of"):
            np.asarray(a, copy=False)
    else:
        assert np.shares_memory(np.asarray(a, copy=False), a.numpy())
    assert np.asarray(a[:0], copy=False).shape[:2] == (0, 3)
    assert not np.shares_memory(np.array(a, copy=True), a.numpy())


class Interface:
    """An owner that is known by its array interface only."""

    def __init__(self, x):
        self.x = x
        self.__array_interface__ = x.__array_interface__


def test_the_array_interface_goes_both_ways():
    owner = Interface(np.arange(6, dtype=np.float32).reshape(2, 3))
    a = wp.array(owner, copy=False, dtype=wp.vec3)
    assert a.ptr == owner.x.ctypes.data
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is not None
    assert a[1] == wp.vec3(3, 4, 5)
    again = wp.array(Interface(a), copy=False)
    assert again.shape == (2, 3)
    again[0, 0] = 9
    assert a[0] == wp.vec3(9, 1, 2)


@pytest.mark.parametrize("device", ["x", 1, (1,), (1, 2, 3), ("x", 0), None])
def test_a_device_that_is_none_is_refused(device):
    class Liar:
        def __dlpack__(self, **options):
            return np.zeros(3).__dlpack__()

        def __dlpack_device__(self):
            return device

    with pytest.raises(wp.TypingError, match=r"H0702.*__dlpack_device__ of Liar"):
        wp.from_dlpack(Liar())
