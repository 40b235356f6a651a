"""What kernels capture: numbers, enums, vectors, structs, functions, containers; and what not."""

import enum
import types
from collections import namedtuple

import numpy as np
import pytest
from unit.frontend.harness import cell, launch, lower, pointed_at, refuse_text

import heald as wp
from heald.ir import to_text


class Colour(enum.Enum):
    RED = 3
    SHADE = 0.25
    UP = wp.vec3(0.0, 1.0, 0.0)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 7


class Bits(enum.Flag):
    READ = 1
    WRITE = 2


@wp.struct
class Inner:
    v: wp.vec2
    flag: bool


@wp.struct
class Outer:
    leaves: float  # a field may have the name of a method of vectors
    inner: Inner
    h: wp.bfloat16


Setting = namedtuple("Setting", "gain steps")
SETTING = Setting(0.5, (2, 5))
TABLE = [1.0, 2.0, [3.0, 4.0]]
SPACE = types.SimpleNamespace(scale=2.0, nested=types.SimpleNamespace(offset=-1))
AXIS = wp.vec3(1.0, 2.0, 3.0)
TURN = wp.mat22(1.0, 2.0, 3.0, 4.0)
OUTER = Outer()
OUTER.leaves = 1.5
OUTER.inner.v = wp.vec2(2.0, 3.0)
OUTER.inner.flag = True
OUTER.h = 0.75
WIDE = np.float64(0.1)
BYTE = np.uint8(200)


@wp.kernel
def numbers(a: wp.array(dtype=float)):
    a[0] = float(Colour.RED.value + Level.HIGH + Level.LOW.value)
    a[1] = Colour.SHADE
    a[2] = Colour.UP.value.y + Colour.UP.y
    a[3] = SETTING.gain + float(SETTING.steps[1])
    a[4] = TABLE[0] + TABLE[-1][0]
    a[5] = SPACE.scale + float(SPACE.nested.offset)
    a[6] = AXIS[2] + AXIS.x + TURN[1, 0]
    a[7] = OUTER.leaves + OUTER.inner.v[1] + float(OUTER.inner.flag) + float(OUTER.h)
    a[8] = float(Bits.WRITE.value)


def test_captured_numbers_have_their_values() -> None:
    a = np.zeros(9, np.float32)
    launch(numbers, 1, a)
    assert a.tolist() == [11.0, 0.25, 2.0, 5.5, 4.0, 1.0, 7.0, 6.25, 2.0]


@wp.kernel
def typed(d: wp.array(dtype=wp.float64), u: wp.array(dtype=wp.uint8)):
    d[0] = d[0] + WIDE
    u[0] = BYTE + u[0]


def test_numpy_scalars_keep_their_type() -> None:
    d, u = np.array([0.2]), np.array([100], np.uint8)
    launch(typed, 1, d, u)
    assert d[0] == 0.1 + 0.2
    assert u[0] == 44  # 200 + 100 wraps in uint8


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def thrice(x: float):
    return 3.0 * x


@wp.func
def apply(f: wp.Any, x: float):
    return f(f(x))


def make(f, k):
    @wp.kernel
    def made(a: wp.array(dtype=float)):
        a[0] = apply(f, a[0]) + k
        a[1] = apply(thrice, a[1])

    return made


@pytest.mark.parametrize(("f", "k", "first"), [(twice, 1.0, 5.0), (thrice, -1.0, 8.0)])
def test_functions_are_values(f: object, k: float, first: float) -> None:
    a = np.ones(2, np.float32)
    launch(make(f, k), 1, a)
    assert a.tolist() == [first, 9.0]


def test_classes_are_no_functions_that_somebody_forgot_to_call() -> None:
    """Of a function it is said that it is called with ()."""
    source = """
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            {}
    """
    names = {"Options": types.SimpleNamespace, "f": twice}
    lower(cell(source.format("Options"), **names)["k"])
    assert "write f()" in refuse_text(source.format("f"), **names).hint
    assert "with ()" in refuse_text(source.format("a[0] = f"), **names).hint
    found = refuse_text(source.format("a[0] = Options"), **names)
    assert "the class 'SimpleNamespace'" in found.message
    assert found.hint == ""


CHOICE = None


@wp.kernel
def optional(a: wp.array(dtype=float)):
    if CHOICE is None:
        a[0] = 1.0
    else:
        a[0] = CHOICE(a[0])  # never compiled
    if TABLE is not None and Colour.RED is not None:
        a[1] = 2.0


def test_none_decides_at_compile_time() -> None:
    a = np.zeros(2, np.float32)
    launch(optional, 1, a)
    assert a.tolist() == [1.0, 2.0]
    assert " if " not in to_text(lower(optional))


def test_arrays_compare_with_none_by_identity() -> None:
    kernels = cell(
        """
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            if data is not None:
                a[0] = 1.0
        """,
        data=np.arange(3),
    )
    a = np.zeros(1, np.float32)
    launch(kernels["k"], 1, a)
    assert a[0] == 1.0


@pytest.mark.parametrize(
    ("expression", "code", "under"),
    [
        ("data[0]", "H0304", "data"),
        ("data + 1.0", "H0304", "data"),
        ("float(table['x'])", "H0304", "table"),
        ("a[0] + table", "H0304", "table"),
        ("float(date)", "H0304", "date"),
        ("a[0] + array", "H0304", "array"),
        ("holder.a[0]", "H0304", "holder"),
        ("a[0] + max", "H0107", "max"),
        ("a[0] + float", "H0107", "float"),
        ("a[0] + 'x'", "H0107", "'x'"),
        ("None", "H0107", "None"),
        ("space.scalle", "H0303", "space.scalle"),
        ("colour.REED", "H0303", "colour.REED"),
        ("space.broken", "H0303", "space.broken"),
    ],
)
def test_what_cannot_be_captured_is_underlined(expression: str, code: str, under: str) -> None:
    @wp.struct
    class Holder:
        a: wp.array(dtype=float)

    class Space:
        scale = 1.0

        @property
        def broken(self):
            raise RuntimeError("no such day")

    found = refuse_text(
        f"""
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[0] = {expression}
        """,
        data=np.arange(3.0),
        table={"x": 1.0},
        date=np.datetime64("2020-01-01"),
        array=wp.zeros(3, dtype=float),
        holder=Holder(),
        space=Space(),
        colour=Colour,
    )
    assert (found.code, pointed_at(found)) == (code, under)
