"""Structs on the host: declaration, instances, conversion to numpy, refusals with carets."""

import copy
import ctypes
import pickle
import typing

import numpy as np
import pytest

from heald import types
from heald.api import values as wp
from heald.api.array import array
from heald.api.struct import (
    StructValue,
    from_leaves,
    make_value,
    spell,
    struct,
    struct_class,
    struct_leaves,
    take_leaves,
)
from heald.diagnostics import TypingError
from heald.types import Array, Matrix, Struct, Transform, Vector


@struct
class Inner:
    """What lies inside."""

    flag: bool
    x: types.f64


@struct
class Outer:
    a: types.i8
    v: wp.vec3
    inner: Inner
    h: types.f16
    m: wp.matrix((2, 2), int)


@struct
class Particles:
    positions: array(dtype=wp.vec3)
    grid: array(dtype=float, ndim=2)
    count: int

    def total(self):
        return self.count + 1


# ----------------------------------------------------------------------------------- declaration


def test_the_type_has_the_annotated_fields_in_order():
    t = Outer.__heald_type__
    assert t is Struct(
        "Outer",
        (
            ("a", types.i8),
            ("v", Vector(types.f32, 3)),
            ("inner", Struct("Inner", (("flag", types.b1), ("x", types.f64)))),
            ("h", types.f16),
            ("m", Matrix(types.i32, 2, 2)),
        ),
    )
    assert types.as_type(Outer) is t
    assert struct_class(t) is Outer
    assert Particles.__heald_type__.fields[1] == ("grid", Array(types.f32, 2))


def test_the_class_keeps_its_names_and_behaviour():
    assert Inner.__name__ == "Inner"
    assert Inner.__module__ == __name__
    assert Inner.__doc__ == "What lies inside."
    assert issubclass(Inner, StructValue)
    p = Particles()
    p.count = 4
    assert p.total() == 5


def test_a_struct_may_have_a_constructor():
    @struct
    class Sphere:
        radius: float
        center: wp.vec3

        def __init__(self, radius):
            self.radius = radius

    @struct
    class Pair:
        first: Sphere
        second: Sphere

    s = Sphere(2.5)
    assert (s.radius, s.center) == (2.5, wp.vec3())
    assert copy.copy(s) == s
    assert from_leaves(Sphere, [1, 2, 3, 4]).center == wp.vec3(2, 3, 4)
    assert Pair(second=s).first.radius == 0.0
    assert array([s, Sphere(1)])[1].radius == 1.0


def test_annotations_as_text_see_local_names():
    local_type = wp.vec2

    @struct
    class Local:
        here: "local_type"
        module: "Inner"
        nested: "wp.quat"
        plain: "float"

    assert local_type is wp.vec2
    assert [t for _, t in Local.__heald_type__.fields] == [
        Vector(types.f32, 2),
        Inner.__heald_type__,
        types.Quaternion(types.f32),
        types.f32,
    ]


def test_annotations_as_text_by_a_future_import(tmp_path):
    source = "from __future__ import annotations\nTOP = int\ndef make(struct, T):\n"
    source += "    @struct\n    class S:\n        a: T\n        b: TOP\n    return S, T\n"
    names = {"__name__": "made_up"}
    exec(compile(source, str(tmp_path / "made_up.py"), "exec"), names)
    made, _ = names["make"](struct, wp.vec4)
    assert [t for _, t in made.__heald_type__.fields] == [Vector(types.f32, 4), types.i32]


# ------------------------------------------------------------------------------------- instances


def test_instances_start_as_zeros():
    s = Outer()
    assert struct_leaves(s) == [0, 0.0, 0.0, 0.0, False, 0.0, 0.0, 0, 0, 0, 0]
    assert (Particles().positions, Particles().count) == (None, 0)


def test_instances_take_fields_by_name():
    s = Inner(x=2.5, flag=True)
    assert (s.x, s.flag) == (2.5, True)
    with pytest.raises(TypingError, match="Inner has no field y"):
        Inner(y=1)


def test_assignment_rounds_and_converts():
    s = Outer()
    s.h = 0.1
    s.v = (1, 2, 0.1)
    s.a = np.int64(-3)
    s.inner.x = 0.1
    s.m = [[1, 2], [3, 4]]
    assert s.h == float(np.float16(0.1))
    assert type(s.v) is wp.vec3
    assert s.v.z == float(np.float32(0.1))
    assert (s.a, s.inner.x, s.m[1, 0]) == (-3, 0.1, 3)


def test_parts_can_be_changed_in_place_and_assignment_copies():
    s, inner, v = Outer(), Inner(x=1.0), wp.vec3(1, 2, 3)
    s.inner, s.v = inner, v
    s.inner.x = 5.0
    s.v.x = 7.0
    assert (inner.x, v.x) == (1.0, 1.0)
    assert (s.inner.x, s.v.x) == (5.0, 7.0)
    other = Outer()
    other.v, other.inner = s.v, s.inner
    other.v.x = other.inner.x = 0.0
    assert (s.v.x, s.inner.x) == (7.0, 5.0)


@pytest.mark.parametrize(
    ("field", "value", "code", "message"),
    [
        ("a", 128, "H0202", "field a of Outer: an int8 holds -128 to 127, not 128"),
        ("a", 1.5, "H0201", "field a of Outer: 1.5 is a float, not an int8"),
        ("h", "x", "H0201", "field h of Outer: str 'x' is no float16"),
        ("h", 1e6, "H0202", "field h of Outer: 1000000.0 is beyond the largest float16, 65504"),
        ("v", "abc", "H0201", "field v of Outer takes a vec3f, not str 'abc'"),
        ("v", wp.vec3d(), "H0201", "field v of Outer takes a vec3f, not a vec3d"),
        ("v", (1, 2), "H0206", "field v of Outer: vec3f cannot be made of shape (2,)"),
        ("v", Inner(), "H0201", "field v of Outer takes a vec3f, not a Inner"),
        ("inner", 3, "H0201", "field inner of Outer takes a Inner, not int 3"),
        ("inner", wp.vec3(), "H0201", "field inner of Outer takes a Inner, not a vec3f"),
        ("w", 3, "H0303", "Outer has no field w"),
    ],
)
def test_wrong_values_are_refused(field, value, code, message):
    s = Outer(a=1)
    with pytest.raises(TypingError) as caught:
        setattr(s, field, value)
    assert caught.value.codes == (code,)
    assert caught.value.diagnostics[0].message == message
    assert s == Outer(a=1)


def test_a_misspelt_field_gets_the_nearest_name():
    with pytest.raises(TypingError) as caught:
        Outer().innner = 3
    assert caught.value.diagnostics[0].hint == "did you mean inner?"
    with pytest.raises(AttributeError):
        _ = Outer().innner


def test_array_members_are_held_by_reference():
    p = Particles()
    positions = array([[1, 2, 3]], dtype=wp.vec3)
    p.positions = positions
    assert p.positions is positions
    p.positions = None
    assert p.positions is None
    for wrong in (
        array([1.0]),
        array([[[1, 2, 3]]], dtype=wp.vec3),
        np.zeros((1, 3), np.float32),
        [wp.vec3()],
    ):
        with pytest.raises(TypingError, match=r"takes a array\(dtype=vec3f, ndim=1\)"):
            p.positions = wrong


def test_equality_and_text():
    assert Inner(x=1.0) == Inner(x=1.0)
    assert Inner(x=1.0) != Inner(x=2.0)
    assert Inner() != Outer()
    assert Inner() != 0
    a = array([1.0, 2.0])
    grid = a.reshape(1, 2)
    assert Particles(grid=grid) == Particles(grid=grid)
    assert Particles(grid=grid) != Particles(grid=a.reshape(1, 2))
    assert repr(Outer(h=0.1)).startswith("Outer(a=0, v=vec3f([0.0, 0.0, 0.0]), inner=Inner(")
    assert "h=0.1" in repr(Outer(h=0.1))
    with pytest.raises(TypeError):
        hash(Inner())


def test_copies_and_pickles():
    s = Outer(a=1, v=(1, 2, 3), inner=Inner(flag=True))
    for twin in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert type(twin) is Outer
        assert twin == s
        twin.inner.x = 9.0
        assert twin != s


# ---------------------------------------------------------------------------------------- leaves


def test_leaves_and_back():
    s = Outer(a=-1, v=(1, 2, 3), inner=Inner(flag=True, x=0.5), h=2.0, m=((1, 2), (3, 4)))
    leaves = struct_leaves(s)
    assert leaves == [-1, 1.0, 2.0, 3.0, True, 0.5, 2.0, 1, 2, 3, 4]
    assert from_leaves(Outer, leaves) == s
    assert take_leaves(Outer.__heald_type__, s, "it") == leaves


def test_copies_of_elements_refuse_to_be_changed_at_every_depth():
    s = from_leaves(Outer, struct_leaves(Outer()), "element [2] of an array")
    with pytest.raises(TypingError, match=r"this Outer is a copy of element \[2\] of an array"):
        s.a = 1
    with pytest.raises(TypingError, match="field inner of element"):
        s.inner.x = 1.0
    with pytest.raises(TypingError, match="field v of element"):
        s.v.x = 1.0
    own = copy.copy(s)
    own.a, own.inner.x, own.v.x = 1, 1.0, 1.0
    assert struct_leaves(own)[:2] == [1, 1.0]


@pytest.mark.parametrize(
    ("t", "value", "leaves"),
    [
        (types.f32, 0.1, [float(np.float32(0.1))]),
        (Vector(types.i32, 2), (1, 2), [1, 2]),
        (Vector(types.i32, 2), 3, [3, 3]),
        (Matrix(types.f32, 2, 2), np.eye(2), [1, 0, 0, 1]),
        (Transform(types.f32), wp.transform(range(7)), [0, 1, 2, 3, 4, 5, 6]),
    ],
    ids=str,
)
def test_leaves_of_values(t, value, leaves):
    assert take_leaves(t, value, "it") == leaves
    made = make_value(t, leaves)
    assert made == leaves[0] if isinstance(t, types.Scalar) else made.leaves == tuple(leaves)


def test_types_are_spelled_as_users_write_them():
    assert spell(types.f32) == "float32"
    assert spell(Vector(types.f32, 3)) == "vec3f"
    assert spell(Inner.__heald_type__) == "Inner"
    assert spell(Array(Vector(types.f64, 2), 3)) == "array(dtype=vec2d, ndim=3)"


# ----------------------------------------------------------------------------------------- numpy


def test_numpy_dtype_has_the_layout_of_the_type():
    dtype = Outer.numpy_dtype()
    assert dtype.itemsize == types.size_of(Outer.__heald_type__)
    assert [dtype.fields[name][1] for name in ("a", "v", "inner", "h", "m")] == [0, 4, 16, 32, 36]
    assert dtype["v"].shape == (3,)


def test_numpy_values_and_back():
    s = Outer(a=-1, v=(1, 2, 3), inner=Inner(flag=True, x=0.5), h=2.0, m=((1, 2), (3, 4)))
    record = s.numpy_value()
    assert record.dtype == Outer.numpy_dtype()
    assert (record["a"], record["inner"]["x"], record["h"]) == (-1, 0.5, 2.0)
    assert record["v"].tolist() == [1, 2, 3]
    assert record["m"].tolist() == [[1, 2], [3, 4]]
    assert Outer.from_numpy(record) == s
    record["a"] = 5
    assert s.a == -1
    array_of_records = np.array([s.numpy_value(), Outer().numpy_value()], Outer.numpy_dtype())
    assert Outer.from_numpy(array_of_records[0]) == s


def test_from_numpy_converts_other_layouts_by_field_name():
    packed = np.array([(2.5, 1)], dtype=[("x", ">f4"), ("flag", "u1")])
    assert Inner.from_numpy(packed) == Inner(x=2.5, flag=True)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (np.zeros(2, [("flag", "?"), ("x", "f8")]), "one record makes a Inner"),
        (np.zeros(1, [("flag", "?")]), "the records have flag"),
        (np.zeros(1, [("flag", "?"), ("y", "f8")]), "the records have flag, y"),
        (np.zeros(1, [("flag", "?"), ("x", "f8", (2,))]), "field x of Inner"),
        (np.zeros(1), "not of numpy dtype float64"),
        (3, "not of numpy dtype"),
    ],
)
def test_from_numpy_refuses_other_fields(record, message):
    with pytest.raises(TypingError, match=message) as caught:
        Inner.from_numpy(record)
    assert caught.value.codes == ("H0712",)


def test_structs_with_arrays_are_no_elements():
    for use in (
        Particles.numpy_dtype,
        Particles().numpy_value,
        lambda: Particles.from_numpy(np.zeros(1)),
    ):
        with pytest.raises(TypingError, match="cannot be an array element") as caught:
            use()
        assert caught.value.codes == ("H0208",)


# -------------------------------------------------------------------------------------- refusals


def refusals(declare):
    with pytest.raises(TypingError) as caught:
        declare()
    assert isinstance(caught.value, TypeError)
    assert set(caught.value.codes) == {"H0208"}
    return caught.value


def test_every_bad_member_is_underlined_at_its_annotation(golden):
    def declare():
        @struct
        class Bad:
            good: float
            numbers: list[float]
            table: dict
            name: str
            raw: ctypes.POINTER(ctypes.c_float)
            address: ctypes.c_void_p
            thing: object
            start: float = 3.0
            loose = 5
            any_type: typing.Any
            picture: np.ndarray
            missing: "Nowhere"  # noqa: F821
            größe: set; after: tuple  # fmt: skip # noqa: E702, PLC2401
            numpy_dtype: int
            twice: array(dtype=typing.Any)

    error = refusals(declare)
    # Line numbers move with every edit of this file; all else is compared.
    lines = str(error).splitlines()
    shown = []
    for line in lines:
        head, mark, rest = line.partition("|")
        if "-->" in line:
            place = line.rpartition(":")[2]
            shown.append(f"  --> test_struct.py:LINE:{place}")
        elif mark and head.strip().isdigit():
            shown.append(f"{' ' * len(head)}|{rest}")
        else:
            shown.append(line)
    golden("bad_members.txt", "\n".join(shown))


def test_without_source_there_is_no_caret_but_all_else():
    names = {"struct": struct, "__name__": "made_up"}
    with pytest.raises(TypingError) as caught:
        exec("@struct\nclass Bad:\n    xs: list\n", names)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is None
    assert "no fixed size" in diagnostic.message


def test_of_several_classes_of_one_name_the_right_one_is_underlined():
    def first():
        @struct
        class Same:
            ok: float
            xs: list

    def second():
        @struct
        class Same:
            ys: list

    (a,) = refusals(first).diagnostics
    (b,) = refusals(second).diagnostics
    assert b.span.line > a.span.line
    assert "Same" in a.message
    assert a.span.end_col - a.span.col == len("list")


def test_structs_have_no_base_classes_and_at_least_one_member():
    def inherit():
        @struct
        class Derived(dict):
            x: float

    def nothing():
        @struct
        class Nothing:
            pass

    assert "inherits from dict" in str(refusals(inherit))
    assert "has no members" in str(refusals(nothing))
    assert "decorates a class" in str(refusals(lambda: struct(3)))
    assert "decorates a class" in str(refusals(lambda: struct(lambda: 3)))


def test_structs_of_equal_name_and_fields_are_one_type():
    def make():
        @struct
        class Twin:
            x: float

        return Twin

    first, second = make(), make()
    assert first.__heald_type__ is second.__heald_type__
    outer = Struct("Unseen", (("x", types.f32),))
    assert struct_class(outer) is struct_class(outer)
    assert struct_class(outer)(x=1.0).x == 1.0


def test_a_value_of_a_struct_that_was_defined_again_is_told_apart() -> None:
    old, new = struct_named("Again", types.i32), struct_named("Again", types.f32)
    t = new.__heald_type__
    with pytest.raises(TypingError, match="s takes a Again, not one of another struct Again") as e:
        make_value(t, take_leaves(t, old(), "s"))
    assert "make the value anew" in str(e.value)


def test_a_struct_in_place_of_its_value_is_named() -> None:
    made = struct_named("Whole", types.i32)
    with pytest.raises(TypingError, match="s takes a Whole, not the class Whole") as e:
        make_value(made.__heald_type__, take_leaves(made.__heald_type__, made, "s"))
    assert "make a value: Whole(...)" in str(e.value)


def struct_named(name: str, kind: object) -> typing.Any:
    return struct(type(name, (), {"__annotations__": {"x": kind}}))
