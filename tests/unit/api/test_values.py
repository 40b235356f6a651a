"""Host vectors, matrices, quaternions and transformations."""

import copy
import math
import pickle
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald import types
from heald.api import host_value, values
from heald.api.host_value import HostValue, value_class
from heald.api.values import (
    mat22,
    mat22d,
    mat33,
    mat44h,
    matrix,
    quat,
    quatd,
    quaternion,
    spatial_matrix,
    spatial_vector,
    transform,
    transformation,
    transformd,
    vec,
    vec2,
    vec2i,
    vec3,
    vec3d,
    vec3h,
    vec3i,
    vec4,
    vec4ub,
    vector,
)
from heald.diagnostics import InternalError, OutOfBoundsError, TypingError
from heald.types import Matrix, Quaternion, Transform, Vector

NAMED = [
    name
    for name in values.__all__
    if isinstance(getattr(values, name), type) and name != "HostValue"
]


# --------------------------------------------------------------------------------------- classes


def test_the_named_classes_are_those_of_warp():
    suffixes = {
        "h": types.f16,
        "f": types.f32,
        "d": types.f64,
        "b": types.i8,
        "ub": types.u8,
        "s": types.i16,
        "us": types.u16,
        "i": types.i32,
        "ui": types.u32,
        "l": types.i64,
        "ul": types.u64,
    }
    expected = {f"vec{n}{s}": Vector(t, n) for n in (2, 3, 4) for s, t in suffixes.items()}
    for s in "hfd":
        t = suffixes[s]
        expected |= {f"mat{n}{n}{s}": Matrix(t, n, n) for n in (2, 3, 4)}
        expected |= {f"quat{s}": Quaternion(t), f"transform{s}": Transform(t)}
        expected |= {f"spatial_vector{s}": Vector(t, 6), f"spatial_matrix{s}": Matrix(t, 6, 6)}
    plain = ["vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform"]
    expected |= {
        name: expected[f"{name}f"] for name in [*plain, "spatial_vector", "spatial_matrix"]
    }
    assert {name: getattr(values, name).__heald_type__ for name in NAMED} == expected
    for name in NAMED:
        own = getattr(values, name).__name__
        assert own in (name, f"{name}f")


def test_one_class_for_each_type():
    assert vector(3, float) is vec3
    assert vector(length=3, dtype=np.float32) is vec3
    assert vec(length=6, dtype=types.f32) is spatial_vector
    assert matrix((2, 2), types.f64) is mat22d
    assert matrix(shape=(6, 6), dtype=float) is spatial_matrix
    assert quaternion(dtype=float) is quat
    assert transformation(dtype=types.f64) is transformd
    assert value_class(Vector(types.f32, 3)) is vec3
    assert vector(5, int) is vector(5, types.i32)
    assert vector(5, int).__name__ == "vec5i"
    assert matrix((2, 3), bool).__name__ == "mat23bool"
    assert types.as_type(vec3) is Vector(types.f32, 3)


def test_generic_factories_give_patterns():
    assert vector(typing.Any, float) == types.VectorPattern(types.f32, typing.Any)
    assert vector(3, types.FLOAT) == types.VectorPattern(types.FLOAT, 3)
    assert matrix((typing.Any, 3), typing.Any) == types.MatrixPattern(typing.Any, typing.Any, 3)
    assert quaternion(types.FLOAT) == types.QuaternionPattern(types.FLOAT)
    assert transformation(typing.Any) == types.TransformPattern(typing.Any)


@pytest.mark.parametrize(
    "make",
    [
        lambda: vector(0, float),
        lambda: vector(-1, float),
        lambda: vector(True, float),
        lambda: vector(2.0, float),
        lambda: vector(3, str),
        lambda: vector(3, vec3),
        lambda: vector(3, None),
        lambda: matrix((2,), float),
        lambda: matrix(4, float),
        lambda: matrix((0, 2), float),
        lambda: quaternion(int),
        lambda: transformation(bool),
    ],
)
def test_factories_refuse_what_is_no_type(make):
    with pytest.raises(TypingError) as caught:
        make()
    assert caught.value.codes == ("H0207",)


# ---------------------------------------------------------------------------------- construction

ROWS = ((1.0, 2.0), (3.0, 4.0))


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        (vec3(), (0, 0, 0)),
        (vec3(2), (2, 2, 2)),
        (vec3(np.float64(2)), (2, 2, 2)),
        (vec3(1, 2, 3), (1, 2, 3)),
        (vec3([1, 2, 3]), (1, 2, 3)),
        (vec3((1, 2.5, 3)), (1, 2.5, 3)),
        (vec3(np.array([1, 2, 3])), (1, 2, 3)),
        (vec3(vec3(1, 2, 3)), (1, 2, 3)),
        (vec3(vec3i(1, 2, 3)), (1, 2, 3)),
        (vec3(range(3)), (0, 1, 2)),
        (vec4(quat(1, 2, 3, 4)), (1, 2, 3, 4)),
        (vec4ub(255, 0, 1, 2), (255, 0, 1, 2)),
        (vector(2, bool)(True, False), (True, False)),
        (vector(1, float)(5), (5,)),
        (mat22(), (0, 0, 0, 0)),
        (mat22(7), (7, 7, 7, 7)),
        (mat22(1, 2, 3, 4), (1, 2, 3, 4)),
        (mat22(ROWS), (1, 2, 3, 4)),
        (mat22(*ROWS), (1, 2, 3, 4)),
        (mat22(vec2(1, 2), vec2(3, 4)), (1, 2, 3, 4)),
        (mat22([vec2(1, 2), (3, 4)]), (1, 2, 3, 4)),
        (mat22([1, 2, 3, 4]), (1, 2, 3, 4)),
        (mat22(np.array(ROWS)), (1, 2, 3, 4)),
        (mat22(mat22d(ROWS)), (1, 2, 3, 4)),
        (matrix((2, 3), int)([1, 2, 3], [4, 5, 6]), (1, 2, 3, 4, 5, 6)),
        (matrix((3, 1), int)(1, 2, 3), (1, 2, 3)),
        (matrix((1, 3), int)([1, 2, 3]), (1, 2, 3)),
        (quat(), (0, 0, 0, 0)),
        (quat(1, 2, 3, 4), (1, 2, 3, 4)),
        (quat(vec3(1, 2, 3), 4), (1, 2, 3, 4)),
        (quat((1, 2, 3), 4), (1, 2, 3, 4)),
        (quat(quatd(1, 2, 3, 4)), (1, 2, 3, 4)),
        (quat([1, 2, 3, 4]), (1, 2, 3, 4)),
        (transform(), (0,) * 7),
        (transform(vec3(1, 2, 3), quat(4, 5, 6, 7)), (1, 2, 3, 4, 5, 6, 7)),
        (transform((1, 2, 3), (4, 5, 6, 7)), (1, 2, 3, 4, 5, 6, 7)),
        (transform(p=(1, 2, 3), q=(4, 5, 6, 7)), (1, 2, 3, 4, 5, 6, 7)),
        (transform((1, 2, 3), q=(4, 5, 6, 7)), (1, 2, 3, 4, 5, 6, 7)),
        (transform(vec3(1, 2, 3)), (1, 2, 3, 0, 0, 0, 1)),
        (transform(q=(4, 5, 6, 7)), (0, 0, 0, 4, 5, 6, 7)),
        (transform(1, 2, 3, 4, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7)),
        (transform(range(7)), (0, 1, 2, 3, 4, 5, 6)),
        (transform(transformd(range(7))), (0, 1, 2, 3, 4, 5, 6)),
        (transform(2), (2,) * 7),
    ],
    ids=lambda x: repr(x) if isinstance(x, HostValue) else "",
)
def test_construction(value, leaves):
    assert value.leaves == leaves
    kinds = {type(leaf) for leaf in value.leaves}
    dtype = type(value).__heald_type__.dtype
    assert kinds == {bool if dtype is types.b1 else float if dtype.is_float else int}


def test_components_are_rounded_to_the_type():
    assert vec3(0.1).x == float(np.float32(0.1))
    assert vec3d(0.1).x == 0.1
    assert vec3h(0.1).x == float(np.float16(0.1))
    assert vec3(vec3d(0.1)).x == float(np.float32(0.1))
    assert vector(2, types.bf16)(1.00390625)[0] == 1.0


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: vec3(1, 2), "H0206"),
        (lambda: vec3(1, 2, 3, 4), "H0206"),
        (lambda: vec3([1, 2]), "H0206"),
        (lambda: vec3([[1, 2, 3]]), "H0206"),
        (lambda: vec3(vec2(1, 2), 3), "H0206"),
        (lambda: vec3("abc"), "H0201"),
        (lambda: vec3(None), "H0201"),
        (lambda: vec3("a", "b", "c"), "H0206"),
        (lambda: vec3(x=1), "H0305"),
        (lambda: vec3(1e300), "H0202"),
        (lambda: vec3(2**24 + 1), "H0202"),
        (lambda: vec3(True), "H0201"),
        (lambda: vec3i(1.5), "H0201"),
        (lambda: vec3i(2**31), "H0202"),
        (lambda: vec4ub(-1), "H0202"),
        (lambda: vec3i(vec3(1.0)), "H0201"),
        (lambda: mat22(1, 2, 3), "H0206"),
        (lambda: mat22((1, 2), (3,)), "H0206"),
        (lambda: mat22((1, 2, 3), (4, 5, 6)), "H0206"),
        (lambda: mat22(mat33()), "H0206"),
        (lambda: mat22([(1, 2), 3]), "H0206"),
        (lambda: quat(1, 2), "H0206"),
        (lambda: quat(vec2(1, 2), 3), "H0206"),
        (lambda: transform((1, 2)), "H0206"),
        (lambda: transform((1, 2, 3), (1, 2, 3)), "H0206"),
        (lambda: transform((1, 2, 3), p=(1, 2, 3)), "H0305"),
        (lambda: transform(r=1), "H0305"),
        (lambda: transform(1, 2), "H0206"),
    ],
)
def test_construction_refuses(make, code):
    with pytest.raises(TypingError) as caught:
        make()
    assert caught.value.codes == (code,)


def test_a_refusal_says_what_is_taken():
    with pytest.raises(TypingError) as caught:
        vec3(1, 2)
    assert caught.value.diagnostics[0].message == "vec3f cannot be made of 2 arguments"
    assert "3 numbers, one number that fills it, or nothing" in caught.value.diagnostics[0].hint
    with pytest.raises(TypingError, match=r"component 1 of vec3i: 2\.5 is a float, not an int32"):
        vec3i(1, 2.5, 3)


def test_from_leaves():
    assert mat22.from_leaves((1, 2, 3, 4)) == mat22(1, 2, 3, 4)
    with pytest.raises(InternalError):
        vec3.from_leaves((1, 2))


# -------------------------------------------------------------------------------------- indexing

axis = st.one_of(
    st.integers(-5, 5),
    st.builds(
        slice,
        st.none() | st.integers(-5, 5),
        st.none() | st.integers(-5, 5),
        st.sampled_from([None, 1, 2, -1, -2]),
    ),
)
KINDS = [vec4, vec3i, quat, transform, mat33, matrix((2, 4), int)]


@given(st.sampled_from(KINDS), axis | st.tuples(axis) | st.tuples(axis, axis))
def test_indexing_is_that_of_numpy(kind, key):
    count = len(kind().leaves)
    value = kind(range(count))
    reference = np.arange(count).reshape(kind.shape)
    try:
        expected = reference[key]
    except IndexError:
        with pytest.raises(OutOfBoundsError):
            value[key]
        return
    if 0 in expected.shape:
        with pytest.raises(OutOfBoundsError):
            value[key]
        return
    found = value[key]
    if expected.ndim == 0:
        assert found == expected
        assert isinstance(found, (int, float))
    else:
        assert type(found).shape == expected.shape
        assert type(found).dtype is kind.dtype
        assert found.leaves == tuple(expected.flat)


@given(st.sampled_from(KINDS), axis | st.tuples(axis, axis))
def test_assignment_is_that_of_numpy(kind, key):
    count = len(kind().leaves)
    value = kind(range(count))
    reference = np.arange(count).reshape(kind.shape)
    try:
        size = reference[key].size
    except IndexError:
        with pytest.raises(OutOfBoundsError):
            value[key] = 0
        return
    reference[key] = 50
    value[key] = 50
    assert value.leaves == tuple(reference.flat)
    if size and reference[key].ndim:
        new = np.arange(100, 100 + size).reshape(reference[key].shape)
        reference[key] = new
        value[key] = new.tolist()
        assert value.leaves == tuple(reference.flat)


def test_named_components():
    v = vec4(1, 2, 3, 4)
    assert (v.x, v.y, v.z, v.w) == (1, 2, 3, 4)
    v.x, v.w = 9, 0.1
    assert v == (9, 2, 3, float(np.float32(0.1)))
    q = quat(1, 2, 3, 4)
    q.w = 7
    assert q.leaves == (1, 2, 3, 7)
    for name in "zw":
        with pytest.raises(AttributeError):
            getattr(vec2(), name)
        with pytest.raises(AttributeError):
            setattr(vec2(), name, 1)
    for value in (mat22(), transform()):
        with pytest.raises(AttributeError):
            _ = value.x


def test_parts_of_transformations():
    t = transform(range(7))
    assert type(t.p) is vec3
    assert type(t.q) is quat
    assert (t.p, t.q) == (vec3(0, 1, 2), quat(3, 4, 5, 6))
    t.p = (7, 8, 9)
    t.q = quatd(0, 0, 0, 1)
    assert t == (7, 8, 9, 0, 0, 0, 1)
    with pytest.raises(TypingError):
        t.p = (1, 2)
    assert type(transformd().p) is vec3d


def test_copies_of_parts_refuse_to_be_changed():
    """In a kernel `t.p.x = 1` stores into t; here it would change a copy and be lost."""
    t, m, v = transform(range(7)), mat33(range(9)), vec4(1)
    for change in (
        lambda: setattr(t.p, "x", 1),
        lambda: m[0].__setitem__(1, 1),
        lambda: m[1:].__setitem__((0, 0), 1),
        lambda: v[1:].__setitem__(0, 1),
        lambda: setattr(t[:3], "x", 1),
        lambda: next(iter(m)).__setitem__(0, 1),
    ):
        with pytest.raises(TypingError, match="is a copy of") as caught:
            change()
        assert caught.value.codes == ("H0109",)
    own = vec3(t.p)
    own.x = 5
    assert own.x == 5
    assert copy.copy(m[0]).leaves == (0, 1, 2)
    fresh = copy.copy(m[0])
    fresh[0] = 9
    assert m[0, 0] == 0


@pytest.mark.parametrize("key", [1.0, "x", None, True, [0, 1], ..., (0, None)])
def test_other_keys_are_refused(key):
    with pytest.raises(TypingError):
        mat33()[key]
    with pytest.raises(TypingError):
        mat33()[key] = 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (0, [1, 2]),
        (0, "1"),
        (slice(0, 2), [1, 2, 3]),
        (slice(0, 2), "ab"),
        (slice(0, 2), [1.5, None]),
        (0, 1e300),
    ],
)
def test_a_refused_assignment_changes_nothing(key, value):
    v = vec3(1, 2, 3)
    with pytest.raises(TypingError):
        v[key] = value
    assert v == (1, 2, 3)


# ------------------------------------------------------------------------------------- protocols


def test_length_and_iteration():
    assert len(vec3()) == 3
    assert len(matrix((2, 3), float)()) == 2
    assert len(transform()) == 7
    assert list(vec3(1, 2, 3)) == [1, 2, 3]
    assert [row.leaves for row in mat22(1, 2, 3, 4)] == [(1, 2), (3, 4)]
    x, y, z = vec3(4, 5, 6)
    assert (x, y, z) == (4, 5, 6)
    assert 5 in vec3(4, 5, 6)


def test_equality():
    assert vec3(1, 2, 3) == vec3(1, 2, 3)
    assert vec3(1, 2, 3) == vec3d(1, 2, 3)
    assert vec3(0.1) != vec3d(0.1)
    assert vec3(1, 2, 3) == (1, 2, 3)
    assert vec3(1, 2, 3) == [1, 2, 3]
    assert vec3(1, 2, 3) != (1, 2)
    assert vec3(1, 2, 3) != ("a", "b", "c")
    assert vec3(1, 2, 3) != vec4(1, 2, 3, 4)
    assert vec4(1) != quat(1)
    assert mat22(1, 2, 3, 4) == ((1, 2), (3, 4))
    assert mat22(1, 2, 3, 4) != (1, 2, 3, 4)
    assert vec3(1) != 1
    assert vec3(math.nan) != vec3(math.nan)
    v = vec3(math.nan)
    assert v != v
    assert vec2(0.0) == vec2(-0.0)
    with pytest.raises(TypeError):
        hash(vec3())


@pytest.mark.parametrize(
    ("value", "long", "short"),
    [
        (vec3(0.1, 2, math.inf), "vec3f([0.1, 2.0, inf])", "[0.1, 2.0, inf]"),
        (vec2i(-1, 2), "vec2i([-1, 2])", "[-1, 2]"),
        (mat22(1, 2, 3, 4), "mat22f([[1.0, 2.0], [3.0, 4.0]])", "[[1.0, 2.0],\n [3.0, 4.0]]"),
        (quat(0, 0, 0, 1), "quatf([0.0, 0.0, 0.0, 1.0])", "[0.0, 0.0, 0.0, 1.0]"),
        (spatial_vector(1), f"spatial_vectorf([{', '.join(['1.0'] * 6)}])", None),
    ],
)
def test_text(value, long, short):
    assert repr(value) == long
    if short is not None:
        assert str(value) == short


@pytest.mark.parametrize("name", NAMED)
def test_pickles_and_copies_are_equal_and_independent(name):
    cls = getattr(values, name)
    value = cls(range(len(cls().leaves)))
    for twin in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert type(twin) is cls
        assert twin.leaves == value.leaves
        twin[0] = 9
        assert twin != value


@pytest.mark.parametrize("name", NAMED)
def test_conversion_to_numpy(name):
    cls = getattr(values, name)
    t = cls.__heald_type__
    value = cls(range(len(cls().leaves)))
    found = np.asarray(value)
    assert found.dtype == t.dtype.carrier
    assert found.shape == t.shape
    assert found.ravel().tolist() == list(value.leaves)
    assert np.array(value, np.float64).dtype == np.float64
    assert cls(found) == value


def test_numpy_sees_bfloat16_as_float32():
    found = np.asarray(vector(2, types.bf16)(1.5, -2))
    assert found.dtype == np.float32
    assert found.tolist() == [1.5, -2.0]


def test_numpy_cannot_share_a_value():
    with pytest.raises(ValueError, match="shares no memory"):
        np.array(vec3(), copy=False)


# ------------------------------------------------------------------------------------- operators


@pytest.fixture
def evaluated():
    """Calls of the hook, which answers with what it was asked."""
    before = host_value._OPERATORS.evaluate
    values.set_operators(lambda op, lhs, rhs: (op, lhs, rhs))
    yield
    host_value._OPERATORS.evaluate = before


def test_operators_go_through_the_hook(evaluated):
    v, m = vec3(1, 2, 3), mat33()
    assert v + v == ("+", v, v)
    assert v - 1 == ("-", v, 1)
    assert 1 - v == ("-", 1, v)
    assert 2 + v == ("+", 2, v)
    assert v * 2 == ("*", v, 2)
    assert 2 * v == ("*", 2, v)
    assert v / 2 == ("/", v, 2)
    assert 1 / v == ("/", 1, v)
    assert v % 2 == ("%", v, 2)
    assert 2 % v == ("%", 2, v)
    assert m @ v == ("@", m, v)
    assert (1, 2, 3) @ m == ("@", (1, 2, 3), m)
    assert -v == ("neg", v, None)
    assert ~v == ("~", v, None)
    assert v // 2 == ("//", v, 2)
    assert 2 // v == ("//", 2, v)
    assert (v & m, v | m, v ^ m) == (("&", v, m), ("|", v, m), ("^", v, m))
    assert (1 & v, 1 | v, 1 ^ v) == (("&", 1, v), ("|", 1, v), ("^", 1, v))
    assert (v << 1, v >> 1) == (("<<", v, 1), (">>", v, 1))
    assert (1 << v, 1 >> v) == (("<<", 1, v), (">>", 1, v))


def test_numpy_leaves_operators_to_the_value(evaluated):
    v = vec3(1, 2, 3)
    assert np.float32(2) * v == ("*", np.float32(2), v)
    op, lhs, rhs = np.ones(3) + v
    assert (op, lhs.tolist(), rhs) == ("+", [1, 1, 1], v)


def test_plus_is_a_copy(evaluated):
    v = vec3(1, 2, 3)
    w = +v
    w.x = 9
    assert v.x == 1


def test_what_the_hook_does_not_know_is_a_type_error(evaluated):
    values.set_operators(lambda op, lhs, rhs: NotImplemented)
    with pytest.raises(TypeError):
        _ = vec3() + "x"


def test_without_a_hook_there_is_no_arithmetic(evaluated):
    host_value._OPERATORS.evaluate = None
    with pytest.raises(InternalError, match="set_operators"):
        _ = vec3() + vec3()


def test_mat44h_has_its_sixteen_components():
    assert mat44h(range(16))[3, 2] == 14


def test_vectors_have_a_limit():
    assert len(values.vector(length=4096, dtype=float)()) == 4096
    for length in (4097, 10**12):
        with pytest.raises(TypingError, match="at most 4096"):
            values.vector(length=length, dtype=float)
    with pytest.raises(TypingError, match="at most 4096"):
        values.matrix(shape=(2, 10**9), dtype=float)
