"""What arrays are made of: data, dtypes, shapes, annotations, shared and foreign memory."""

import ctypes
import gc
import re
import typing
import weakref

import numpy as np
import pytest
from elements import ELEMENTS, Body, sample
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from heald import types
from heald.api import values as wp
from heald.api.array import array
from heald.api.array_ranked import array1d, array2d, array3d, array4d, indexedarray2d
from heald.api.creation import empty, from_ptr, zeros
from heald.api.indexed import indexedarray
from heald.api.struct import struct
from heald.diagnostics import DeviceError, LaunchError, TypingError
from heald.runtime import CPU, set_device
from heald.types import Array, ArrayPattern, Matrix, Quaternion, Vector


@struct
class Holder:
    data: array(dtype=float)
    n: int


@pytest.fixture(autouse=True)
def _restore_device():
    yield
    set_device("cpu")


def named(value):
    """A name for a case, without addresses, so that every process has the same."""
    return re.sub(r" at 0x\w+", "", str(value))


def refused(code, kind=TypingError):
    return pytest.raises(kind, match=code)


# --------------------------------------------------------------------------- data and its type


@pytest.mark.parametrize(
    ("data", "element", "shape"),
    [
        ([1.0, 2.0], types.f32, (2,)),
        ([1, 2, 3], types.i32, (3,)),
        ([True, False], types.b1, (2,)),
        ([1, 2.5], types.f32, (2,)),
        ([True, 2], types.i32, (2,)),
        ([[1, 2], [3, 4]], types.i32, (2, 2)),
        ([(1.0,), (2.0,)], types.f32, (2, 1)),
        ((1, 2), types.i32, (2,)),
        (range(4), types.i32, (4,)),
        ([range(2), range(2)], types.i32, (2, 2)),
        ([], types.f32, (0,)),
        ([[], []], types.f32, (2, 0)),
        (5, types.i32, (1,)),
        (5.0, types.f32, (1,)),
        (True, types.b1, (1,)),
        (np.float64(5), types.f64, (1,)),
        (np.array(5, np.int16), types.i16, (1,)),
        ([np.float64(1), np.float64(2)], types.f64, (2,)),
        ([np.int8(1), np.int8(2)], types.i8, (2,)),
        (np.zeros((2, 3, 4, 5), np.uint64), types.u64, (2, 3, 4, 5)),
        (np.zeros(3), types.f64, (3,)),
        (np.zeros(3, ">f4"), types.f32, (3,)),
        (np.zeros(0, np.float16), types.f16, (0,)),
        (memoryview(b"abc"), types.u8, (3,)),
        ([wp.vec3(1), wp.vec3(2)], Vector(types.f32, 3), (2,)),
        ([[wp.vec2i(1)], [wp.vec2i(2)]], Vector(types.i32, 2), (2, 1)),
        (wp.mat22d(1), Matrix(types.f64, 2, 2), (1,)),
        ([wp.quat()], Quaternion(types.f32), (1,)),
        ([Body(), Body()], Body.__heald_type__, (2,)),
        ([[Body()], [Body()]], Body.__heald_type__, (2, 1)),
        (Body(), Body.__heald_type__, (1,)),
    ],
    ids=lambda x: named(x)[:30],
)
def test_the_type_of_data(data, element, shape):
    a = array(data)
    assert a.element_type is element
    assert a.shape == shape
    assert a.ndim == len(shape)
    assert a.size == np.prod(shape)
    assert a.device is CPU
    assert a.is_contiguous
    assert not a.read_only
    assert a.__heald_type__ is Array(element, len(shape))


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_elements_survive_the_way_in_and_out(t):
    items = [sample(t, k) for k in range(5)]
    a = array(items, dtype=t)
    assert a.element_type is t
    assert a.list() == items
    assert list(a) == items
    assert [a[k] for k in range(-5, 0)] == items
    assert array(a).list() == items
    assert array(a.numpy(), dtype=t).list() == items
    b = zeros(5, dtype=t)
    for k, item in enumerate(items):
        b[k] = item
    assert b.list() == items
    assert bytes(ctypes.string_at(a.ptr, a.capacity)) == bytes(ctypes.string_at(b.ptr, b.capacity))


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_dtypes_are_what_users_write(t):
    a = zeros(2, dtype=t)
    assert types.as_type(a.dtype) is t
    if t is Vector(types.f32, 3):
        assert a.dtype is wp.vec3
    if t is types.f32:
        assert a.dtype is types.f32
    if isinstance(t, types.Struct):
        assert a.dtype is Body


def test_special_floats_pass_through():
    data = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    a = array(data)
    assert a.numpy().view(np.uint64).tolist() == data.view(np.uint64).tolist()
    b = array([float("nan"), float("inf"), -0.0])
    assert b.numpy().view(np.uint32).tolist() == [0x7FC00000, 0x7F800000, 0x80000000]


def test_a_dtype_converts():
    assert array([1, 2], dtype=float).element_type is types.f32
    assert array([1.9, -1.9], dtype=int).list() == [1, -1]
    assert array(np.arange(3.0), dtype=np.uint8).list() == [0, 1, 2]
    assert array([0, 2], dtype=bool).list() == [False, True]
    assert array([1.5], dtype=types.bf16).list() == [1.5]
    assert array([wp.vec3d(1, 2, 3)], dtype=wp.vec3).list() == [wp.vec3(1, 2, 3)]
    assert array([wp.vec3(1, 2, 3)], dtype=float).shape == (1, 3)
    assert array(array([1, 2]), dtype=float).list() == [1.0, 2.0]
    assert array([2**24 + 1], dtype=float).list() == [2.0**24]
    assert array([1], dtype=typing.Any).element_type is types.i32


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((4, 3), wp.vec3, (4,)),
        ((12,), wp.vec3, (4,)),
        ((3,), wp.vec3, (1,)),
        ((2, 5, 3), wp.vec3, (2, 5)),
        ((2, 6), wp.vec3, (2, 2)),
        ((4, 2, 2), wp.mat22, (4,)),
        ((4, 4), wp.mat22, (4,)),
        ((2, 2), wp.mat22, (1,)),
        ((4,), wp.mat22, (1,)),
        ((8,), wp.mat22, (2,)),
        ((5, 7), wp.transform, (5,)),
        ((5, 4), wp.quat, (5,)),
        ((0, 3), wp.vec3, (0,)),
        ((0,), wp.vec3, (0,)),
        ((1, 2, 3, 4, 3), wp.vec3, (1, 2, 3, 4)),
    ],
)
def test_numbers_group_into_elements(shape, dtype, expected):
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    a = array(data, dtype=dtype)
    assert a.shape == expected
    assert a.numpy().shape == expected + dtype.shape
    assert a.numpy().ravel().tolist() == data.ravel().tolist()


def test_data_takes_a_shape():
    assert array(range(6), shape=(2, 3)).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array(range(6), dtype=wp.vec2, shape=(3, 1)).shape == (3, 1)
    assert array(array(range(6)), shape=(3, 2)).shape == (3, 2)
    a = array(np.arange(6).reshape(2, 3).T, shape=6)
    assert a.list() == [0, 3, 1, 4, 2, 5]
    for bad in (5, (2, 2), (0,)):
        with refused("H0711", LaunchError):
            array(range(6), shape=bad)
    with refused("H0711", LaunchError):
        array(array(range(6)), shape=5)


@given(hnp.arrays(np.int32, hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)), st.data())
def test_strided_numpy_arrays_are_copied_right(data, draw):
    axes = draw.draw(st.permutations(range(data.ndim)))
    steps = [draw.draw(st.sampled_from([1, 2, -1, -2])) for _ in axes]
    view = data.transpose(axes)[tuple(slice(None, None, s) for s in steps)]
    a = array(view)
    assert a.numpy().tolist() == view.tolist()
    assert a.is_contiguous
    assert not np.shares_memory(a.numpy(), data)
    shared = array(view, copy=False)
    assert shared.numpy().tolist() == view.tolist()
    assert shared.contiguous().numpy().tolist() == view.tolist()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a"], "the data holds str 'a', which is no number"),
        ([1, None], "the data holds NoneType None"),
        ([1, "2"], "the data holds str '2'"),
        ([1j], "complex numbers"),
        ([[1, 2], [3]], "equal lengths"),
        ([[1], 2], "equal lengths"),
        ("abc", "str 'abc' does not make an array"),
        (b"abc", "does not make an array"),
        ({1, 2}, "does not make an array"),
        ({"a": 1}, "does not make an array"),
        ((x for x in [1]), "use list"),
        (object(), "use a list or a numpy array"),
        (len, "use a list or a numpy array"),
        (np.array([1, None]), "holds Python objects"),
        (np.array(["a"]), "holds text"),
        (np.zeros(2, np.complex64), "holds complex"),
        (np.zeros(2, "M8[s]"), "holds dates"),
        (np.zeros(2, [("a", "f4")]), "name the struct"),
        (
            np.ma.array([1.0, 2.0], mask=[True, False]),
            "a masked array has elements without a value",
        ),
        (np.zeros(2, np.longdouble), "say which type you want"),
        ([2**70], "beyond 64 bits"),
        ([1e300], "element 0 of the data is 1e\\+300; that is beyond the largest float32"),
        ([0, 2**31], "element 1 of the data is 2147483648; int32 holds"),
        ([wp.vec3(), wp.vec2()], "mixes vec2f, vec3f"),
        ([wp.vec3(), 1.0], "mixes float, vec3f"),
        ([Body(), 1.0], "array of Body cannot hold float 1.0"),
        ([[Body()], [Body(), Body()]], "rows of the data differ in length"),
        ([Holder()], "H0208"),
    ],
    ids=lambda x: named(x)[:25],
)
def test_what_is_no_data_is_refused(data, message):
    with pytest.raises(TypingError, match=message) as caught:
        array(data)
    assert isinstance(caught.value, TypeError)
    assert caught.value.codes[0] in ("H0712", "H0208")


def test_numbers_outside_the_dtype_are_refused():
    for data, dtype in [
        ([300], types.u8),
        ([-1], types.u64),
        (np.array([2**40]), int),
        ([np.nan], int),
        ([1e39], float),
        ([70000], types.f16),
    ]:
        with refused("H0712"):
            array(data, dtype=dtype)


def test_records_become_structs():
    data = np.zeros(3, [("fixed", "?"), ("at", "f8", (2,)), ("mass", ">f4")])
    data["mass"], data["at"], data["fixed"] = [1, 2, 3], [5, 6], True
    a = array(data, dtype=Body)
    assert a[1] == Body(mass=2, at=(5, 6), fixed=True)
    assert a.numpy().dtype == Body.numpy_dtype()
    assert array(a.numpy(), dtype=Body, copy=False)[2].mass == 3.0
    with refused("H0712"):
        array([1.0], dtype=Body)
    with refused("H0712"):
        array([Body()], dtype=float)


# --------------------------------------------------------------------------- dtypes and shapes


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [
        ("float32", "use wp.float32, without quotes"),
        ("nonsense", "use bool, int, float"),
        (str, "use bool, int, float"),
        (np.complex128, "use bool, int, float"),
        (2, "goes into ndim="),
        (array(dtype=float), "no arrays of arrays"),
        (types.FLOAT, "name one concrete type"),
        (object(), "use bool, int, float"),
    ],
    ids=named,
)
def test_what_is_no_element_type_is_refused(dtype, hint):
    for make in (
        lambda: array([1.0], dtype),
        lambda: zeros(2, dtype),
        lambda: array(shape=2, dtype=dtype),
    ):
        with pytest.raises(TypingError) as caught:
            make()
        assert caught.value.codes == ("H0207",)
        assert hint in caught.value.diagnostics[0].hint


def test_structs_with_arrays_are_no_element_type():
    for make in (lambda: zeros(2, Holder), lambda: array(dtype=Holder), lambda: array[Holder]):
        with refused("H0208"):
            make()


@pytest.mark.parametrize(
    "shape", [-1, (2, -1), 2.0, "3", None, True, (), (1,) * 5, (2, None), np.ones(2), {1}]
)
def test_what_is_no_shape_is_refused(shape):
    if shape is None:
        assert isinstance(array(shape=None), ArrayPattern)
        return
    for make in (lambda: zeros(shape), lambda: array(shape=shape, dtype=float)):
        with refused("H0711", LaunchError):
            make()


def test_numpy_integers_make_shapes():
    a = zeros((np.int64(2), np.uint8(3)))
    assert a.shape == (2, 3)
    assert all(type(n) is int for n in a.shape)
    assert zeros(np.array([2, 3])).shape == (2, 3)


def test_sizes_that_cannot_be_are_refused():
    for shape in [(1 << 40, 1 << 40), (1 << 61,), (0, 1 << 62), (1 << 70,)]:
        with refused("H0802", DeviceError):
            empty(shape, dtype=types.f64)
    with refused("H0802", DeviceError):
        zeros(1 << 47, dtype=types.f64)


def test_data_of_too_many_dimensions_is_refused():
    with refused("H0711", LaunchError):
        array(np.zeros((1,) * 5))
    with refused("H0711", LaunchError):
        array(np.zeros((1,) * 5), dtype=wp.mat22)


def test_data_that_does_not_divide_is_refused():
    for shape, dtype in [((4,), wp.vec3), ((3, 4), wp.vec3), ((3, 3), wp.mat22), ((), wp.vec3)]:
        with pytest.raises(LaunchError, match="does not divide into elements") as caught:
            array(np.zeros(shape), dtype=dtype)
        assert caught.value.codes == ("H0711",)


def test_ndim_is_checked():
    assert array([[1, 2]], ndim=2).shape == (1, 2)
    with refused("H0703", LaunchError):
        array([1, 2], ndim=2)
    with refused("H0703", LaunchError):
        array2d([1, 2])


# --------------------------------------------------------------------------------- annotations


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (array(dtype=float), Array(types.f32, 1)),
        (array(dtype=int, ndim=3), Array(types.i32, 3)),
        (array(dtype=wp.vec3), Array(Vector(types.f32, 3), 1)),
        (array(dtype=Body), Array(Body.__heald_type__, 1)),
        (array(float), Array(types.f32, 1)),
        (array(float, ndim=2), Array(types.f32, 2)),
        (array(types.f64), Array(types.f64, 1)),
        (array(np.dtype("int8")), Array(types.i8, 1)),
        (array(bool), Array(types.b1, 1)),
        (array(wp.mat22), Array(Matrix(types.f32, 2, 2), 1)),
        (array[float], Array(types.f32, 1)),
        (array[wp.vec3, 2], Array(Vector(types.f32, 3), 2)),
        (array1d(dtype=float), Array(types.f32, 1)),
        (array2d(dtype=float), Array(types.f32, 2)),
        (array3d(float), Array(types.f32, 3)),
        (array4d[float], Array(types.f32, 4)),
        (array(), ArrayPattern(typing.Any, 1)),
        (array(ndim=2), ArrayPattern(typing.Any, 2)),
        (array(dtype=typing.Any), ArrayPattern(typing.Any, 1)),
        (array(typing.Any), ArrayPattern(typing.Any, 1)),
        (array(dtype=types.FLOAT), ArrayPattern(types.FLOAT, 1)),
        (array(dtype=float, ndim=typing.Any), ArrayPattern(types.f32, typing.Any)),
        (array2d[typing.Any], ArrayPattern(typing.Any, 2)),
    ],
    ids=named,
)
def test_annotations_are_types(annotation, expected):
    assert annotation == expected
    assert type(annotation) is type(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: array(float, 2),
        lambda: array(float, int),
        lambda: array(dtype="float"),
        lambda: array(dtype=float, ndim=2.0),
        lambda: array(dtype=float, ndim=True),
        lambda: array[float, 2, 3],
        lambda: array[str],
        lambda: array(dtype=array(dtype=float)),
    ],
)
def test_bad_annotations_are_refused(make):
    with refused("H0207"):
        make()


def test_annotations_have_one_to_four_dimensions():
    for ndim in (0, 5, -1):
        with refused("H0711", LaunchError):
            array(dtype=float, ndim=ndim)


# -------------------------------------------------------------------------------------- sharing


def test_sharing_goes_both_ways():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    a = array(x, copy=False)
    assert a.ptr == x.ctypes.data
    a[0, 1] = 50
    x[1, 2] = 60
    assert x[0, 1] == 50
    assert a[1, 2] == 60
    assert np.shares_memory(a.numpy(), x)


def test_copying_is_the_default():
    x = np.arange(3.0)
    a = array(x)
    x[0] = 9
    assert a[0] == 0.0
    b = array(a)
    b[0] = 7
    assert a[0] == 0.0


def test_shared_memory_is_kept_alive():
    class Tracked(np.ndarray):
        pass

    x = np.arange(1000.0).view(Tracked)
    gone = weakref.ref(x)
    view = array(x, copy=False)[::2]
    del x
    gc.collect()
    assert gone() is not None
    assert view.list() == list(np.arange(0.0, 1000.0, 2))
    out = view.numpy()
    del view
    gc.collect()
    assert gone() is not None
    assert out[1] == 2.0
    del out
    gc.collect()
    assert gone() is None


def test_own_memory_outlives_the_array_in_views():
    a = array(np.arange(1000.0))
    view, out = a[10:20], a.numpy()[5:]
    owner = weakref.ref(a)
    del a
    gc.collect()
    assert owner() is None
    junk = [np.full(1000, 7.0) for _ in range(50)]
    assert view.list() == list(np.arange(10.0, 20.0))
    assert out[0] == 5.0
    assert junk


def test_vectors_are_shared_too():
    x = np.zeros((4, 3), np.float32)
    a = array(x, dtype=wp.vec3, copy=False)
    a[2] = (1, 2, 3)
    assert x[2].tolist() == [1, 2, 3]
    b = array(x[::2], dtype=wp.vec3, copy=False)
    assert b.strides == (24,)
    assert b[1] == wp.vec3(1, 2, 3)


def test_read_only_memory_stays_so():
    x = np.arange(4.0)
    x.flags.writeable = False
    a = array(x, copy=False)
    assert a.read_only
    assert a[1:].read_only
    assert a.reshape(2, 2).read_only
    for write in (
        lambda: a.__setitem__(0, 1.0),
        lambda: a[1:].__setitem__(0, 1.0),
        lambda: a.fill_(1.0),
        a.zero_,
        lambda: a.assign([1, 2, 3, 4]),
    ):
        with refused("H0705", LaunchError):
            write()
    with pytest.raises(ValueError, match="read-only"):
        a.numpy()[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(a)[0] = 1
    assert x.tolist() == [0, 1, 2, 3]
    assert not array(x).read_only
    assert array(np.broadcast_to(1.0, 5), copy=False).read_only


@pytest.mark.parametrize(
    ("x", "dtype", "why"),
    [
        (np.arange(4), float, "must be converted first"),
        (np.arange(4.0, dtype=">f8"), None, "must be converted first"),
        (np.zeros((4, 3), np.float32)[:, ::-1], wp.vec3, "must lie side by side"),
        (np.zeros((3, 4), np.float32).T, wp.vec3, "must lie side by side"),
        (np.frombuffer(bytes(33), np.uint8)[1:].view(np.float32), None, "multiple of 4 bytes"),
        (np.zeros(4, [("a", "u1"), ("b", "f4")])["b"], None, "multiple of 4 bytes"),
    ],
)
def test_what_cannot_be_shared_is_refused(x, dtype, why):
    with pytest.raises(TypingError, match=why) as caught:
        array(x, dtype=dtype, copy=False)
    assert caught.value.codes == ("H0712",)
    assert array(x, dtype=dtype).numpy().ravel().tolist() == x.ravel().tolist()


def test_a_shape_that_needs_a_copy_cannot_be_shared():
    x = np.arange(6.0).reshape(2, 3)
    assert array(x, shape=6, copy=False).ptr == x.ctypes.data
    with refused("H0712"):
        array(x.T, shape=6, copy=False)


def test_lists_have_no_memory_to_share():
    a = array([1, 2], copy=False)
    assert a.list() == [1, 2]


def test_arrays_share_with_arrays():
    a = array([1.0, 2.0])
    b = array(a, copy=False)
    b[0] = 5
    assert a[0] == 5


# ----------------------------------------------------------------------------------- pointers


def test_memory_at_a_pointer():
    x = np.arange(12, dtype=np.int32)
    a = array(ptr=x.ctypes.data, dtype=int, shape=(3, 4))
    a[1, 1] = 50
    assert x[5] == 50
    b = array(ptr=x.ctypes.data, dtype=int, shape=(3, 2), strides=(16, 8))
    assert b.numpy().tolist() == [[0, 2], [4, 6], [8, 10]]
    c = array(ptr=x.ctypes.data + 44, dtype=int, shape=12, strides=(-4,))
    assert c.list() == x[::-1].tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"ptr": 0, "shape": 1},
        {"ptr": -4, "shape": 1},
        {"ptr": 1 << 64, "shape": 1},
        {"ptr": 64.0, "shape": 1},
        {"ptr": True, "shape": 1},
        {"ptr": 66, "shape": 1},
        {"ptr": np.uint64(64), "shape": 1},
        {"ptr": (1 << 63) - 4, "shape": 4},
        {"ptr": 1024, "shape": 4000, "strides": (-4,)},
        {"ptr": 1 << 20, "shape": 4, "strides": (1 << 62,)},
        {"ptr": 64, "shape": 2, "strides": (6,)},
        {"ptr": 64, "shape": 2, "strides": (4, 4)},
        {"ptr": 64, "shape": 2, "strides": ("4",)},
        {"ptr": 64},
        {"ptr": 64, "shape": 1, "data": [1]},
        {"shape": 1, "strides": (4,)},
    ],
    ids=named,
)
def test_bad_pointers_are_refused(options):
    with refused("H0711", LaunchError):
        array(dtype=float, **options)


def test_a_pointer_needs_a_dtype():
    with refused("H0711", LaunchError):
        array(ptr=64, shape=1)


def test_a_pointer_is_an_address():
    with refused("H0711.*not None", LaunchError):
        from_ptr(None, 4, float)
    with refused("H0702.*deleter= .* int 5 cannot be called"):
        from_ptr(64, 4, float, deleter=5)


@pytest.mark.parametrize(
    ("data", "element", "expected"),
    [
        ([2**53 + 1, 0.5], types.i64, [2**53 + 1, 0]),
        ([[2**63 + 1], [5]], types.u64, [[2**63 + 1], [5]]),
        ([2**63 - 1, -0.5], types.i64, [2**63 - 1, 0]),
        ([-(2**63), 1.0], types.i64, [-(2**63), 1]),
        ((2**64 - 1, np.int8(3)), types.u64, [2**64 - 1, 3]),
        ([[2**63 + 1, 1, 2**63 + 2]], Vector(types.u64, 3), [[2**63 + 1, 1, 2**63 + 2]]),
    ],
)
def test_integers_beyond_floats_are_not_rounded(data, element, expected):
    made = array(data, element)
    assert made.numpy().tolist() == expected
    if any(x % 1 for x in made.numpy().ravel() - np.array(data, object).ravel()):
        with refused("H0712.*has no fractions"):
            made.assign(data)
    else:
        assert made.fill_(7).assign(data).numpy().tolist() == expected


@pytest.mark.parametrize("data", [[2**64 - 1, -1], [2**64 - 1, 0.5, -1], [2**53 + 1, -1, 0.5]])
def test_the_integer_that_does_not_fit_is_named(data):
    with refused(rf"H0712.*element {data.index(-1)} of the data is -1; uint64"):
        array(data, types.u64)


@pytest.mark.parametrize(
    ("t", "held", "lost"),
    [
        (types.f16, [2048, 2050, 0.5], 2049),
        (types.bf16, [256, 258], -257),
        (types.f32, [2**24, 2**24 + 2, 0.5, True], 2**24 + 1),
        (types.f32, [float("inf")], np.int64(2**24 + 1)),
        (types.f32, [], 2**64 - 1),
        (types.f64, [2**53, 2**60, 0.1], 2**53 + 1),
        (types.i8, [1, 2.0, np.float32(3)], 1.5),
        (types.i64, [-(2**63)], 0.5),
        (types.u64, [2**64 - 1], np.float16(0.5)),
        (types.b1, [True, 1, 0], 2),
    ],
    ids=named,
)
def test_lists_are_assigned_without_loss(t, held, lost):
    made = zeros((2, len(held) + 1), dtype=t)
    made[0, 1:] = held
    assert made[0].list() == [0, *held]
    made.zero_()
    with refused(rf"H0712.*of the data is {lost}; {t.public} (cannot hold|has no|holds True)"):
        made[0] = [*held, lost]
    with refused(rf"H0712.*element \[0, {len(held)}\] of the data"):
        made[:1].assign([[*held, lost]])
    with refused("H020[12]"):
        made[0, 0] = lost
    assert not any(made.list())
    assert array([*held, lost], dtype=t)[-1] != lost  # who names a dtype has it converted


@pytest.mark.parametrize("make", [zeros, lambda n: indexedarray(zeros(n), [range(n)])])
def test_a_slice_takes_whatever_an_array_is_made_of(make):
    a = make(3)
    picked = indexedarray(array([2, 0, 1]), [[1, 2, 0]])
    for source in (range(3), np.arange(3), memoryview(b"\0\1\2"), array([0, 1, 2]), picked):
        a[:] = source
        assert a.list() == [0, 1, 2]
    a[:2] = np.array(5.0)
    assert a.list() == [5, 5, 2]
    with refused("(?s)H0712.*use list"):
        a[:] = (x for x in range(3))


def test_arrays_are_converted_where_they_are_assigned():
    made = zeros(2).assign(np.array([2**24 + 1, 1]))
    assert made.assign(array([2**24 + 1, 1])).list() == [2.0**24, 1.0]
    assert zeros(2, dtype=int).assign(np.array([1.5, -1.5])).list() == [1, -1]


def test_lists_of_integers_and_floats_lose_none():
    assert array([2**24, 0.5]).list() == [2.0**24, 0.5]
    with refused(r"(?s)H0712.*element \[1, 0\].* 16777217; float32 cannot hold.*write 16777217\.0"):
        array([[0.5, 0.5], [2**24 + 1, 1.5]])


def test_integers_never_become_floats_unasked():
    with refused("H0712.*18446744073709551615; int32 holds"):
        array([2**64 - 1, -1])
    assert array([2**64 - 1, -1], types.f64).list() == [float(2**64), -1.0]


@pytest.mark.parametrize("kind", [array1d, array2d, array3d, array4d, indexedarray2d])
def test_a_ranked_name_has_its_rank(kind):
    rank = int(repr(kind)[-2])
    assert kind(dtype=float, ndim=rank).ndim == rank
    with refused(rf"H0703.*{rank}d has ndim={rank}, not 5", LaunchError):
        kind(dtype=float, ndim=5)


def test_a_reshape_takes_what_a_shape_may_be():
    for shape in ((3, 4), [3, 4], np.array([3, 4])):
        assert zeros(12).reshape(shape).shape == (3, 4)


def test_strides_beyond_addresses_are_told_from_sizes():
    with pytest.raises(DeviceError, match=r"H0802.*strides beyond"):
        zeros((1 << 62, 1 << 62, 0))
    with pytest.raises(DeviceError, match=r"H0802.* bytes, more than"):
        zeros(1 << 62)
