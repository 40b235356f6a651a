"""``wp.launch`` through compiled entries and through the careful path: the same values, the same
errors."""

import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.api import launch as launching
from heald.codegen import has_entries
from heald.driver import entries

pytestmark = pytest.mark.cpu

NO_ENTRIES = "this interpreter has no launch entries"


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    yield
    wp.config.reset()
    wp.config.check = True
    wp.set_device("cpu")


@pytest.fixture(params=["entry", "careful"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which way launches go once a kernel is warm."""
    if request.param == "careful":
        monkeypatch.setattr(entries, "has_entries", lambda: False)
        monkeypatch.setattr(entries, "make_entry", lambda *_: None)
        wp.config.touch()
    elif not has_entries():
        pytest.skip(NO_ENTRIES)
    return str(request.param)


def is_quick(call: Callable[[], object]) -> bool:
    """Does a launch go through an entry?"""
    careful: list[object] = []
    original = launching._launch

    def spy(*args: Any) -> Any:
        careful.append(args)
        return original(*args)

    launching._launch = spy
    try:
        call()
    finally:
        launching._launch = original
    return not careful


def warm(kernel: Any, dim: Any, inputs: Sequence[Any], **options: Any) -> None:
    for _ in range(3):
        wp.launch(kernel, dim, inputs, **options)


# ------------------------------------------------------------------------------------------ values


@wp.struct
class Body:
    at: wp.vec3
    mass: wp.float64
    near: wp.array(dtype=float)


@wp.kernel
def everything(
    out: wp.array(dtype=wp.float64),
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec3, ndim=2),
    c: wp.array(dtype=wp.int16, ndim=3),
    f: wp.float32,
    g: wp.float64,
    h: wp.float16,
    i: wp.int8,
    j: wp.int32,
    k: wp.int64,
    m: wp.uint8,
    n: wp.uint64,
    flag: wp.bool,
    v: wp.vec3,
    mm: wp.mat22d,
    q: wp.vec2i,
):
    t = wp.tid()
    x = wp.float64(a[t]) + wp.float64(b[t, 1].y) + wp.float64(c[t, 0, 1])
    x = x + wp.float64(f) + g + wp.float64(h) + wp.float64(i) + wp.float64(j) + wp.float64(k)
    x = x + wp.float64(m) + wp.float64(n) + wp.float64(v.z) + mm[1, 0] + wp.float64(q.y)
    if flag:
        x = -x
    out[t] = x


def everything_arguments(scale: int = 1) -> list[Any]:
    """Arguments whose sum is known: arrays of 2, 3 and 5 everywhere, numbers that double."""
    n = 6
    b = wp.array(np.full((2 * n, 4, 3), 3, np.float32), dtype=wp.vec3)[::2, ::-1]
    c = wp.array(np.full((n, 2, 3), 5, np.int16))[:, :, 1:]
    return [
        wp.zeros(n, dtype=wp.float64), wp.full(n, 2.0), b, c,
        0.5 * scale, 0.25 * scale, 0.125 * scale, scale, 2 * scale, 4 * scale, 8 * scale,
        16 * scale, scale == 2, wp.vec3(0.0, 0.0, 32.0 * scale),
        wp.mat22d(0.0, 0.0, 64.0 * scale, 0.0), wp.vec2i(0, 128 * scale),
    ]  # fmt: skip


def test_every_kind_of_parameter(path: str) -> None:
    for scale in (1, 2, 1, 3, 2, 1):
        arguments = everything_arguments(scale)
        wp.launch(everything, 6, arguments)
        total = 10 + 255.875 * scale
        assert arguments[0].list() == [-total if scale == 2 else total] * 6
    quick = is_quick(lambda: wp.launch(everything, 6, everything_arguments()))
    assert quick is (path == "entry")


@wp.kernel
def most(
    out: wp.array(dtype=wp.float64),
    a: wp.array(dtype=float),
    f: wp.float32,
    i: wp.int8,
    n: wp.uint64,
    flag: wp.bool,
    v: wp.vec3,
):
    t = wp.tid()
    out[t] = wp.float64(a[t]) * wp.float64(f) + wp.float64(i) + wp.float64(v.z)
    if flag:
        out[t] = wp.float64(n)


@pytest.mark.parametrize(
    ("f", "i", "n", "flag", "v", "expected"),
    [
        (0.1, -5, 7, False, (1.0, 2.0, 0.75), float(np.float32(0.1)) * 2 - 4.25),
        (3, 127, 7, False, (1, 2, 3), 136.0),
        (np.float32(0.1), np.int64(3), 7, False, (0, 0, 0), float(np.float32(0.1)) * 2 + 3),
        (np.float64(0.1), np.int32(3), 7, False, (0, 0, 0), float(np.float32(0.1)) * 2 + 3),
        (1e-42, 0, 7, False, (0, 0, 0), 2 * float(np.float32(1e-42))),
        (0.0, 0, (1 << 62) + 1024, True, (0, 0, 0), float((1 << 62) + 1024)),
        (0.0, 0, (1 << 63) + 4096, True, (0, 0, 0), float((1 << 63) + 4096)),
        (np.float16(0.5), np.uint8(9), np.uint64(7), np.bool_(True), (0, 0, 0), 7.0),
    ],
)
def test_numbers_of_every_kind(
    path: str, f: Any, i: Any, n: Any, flag: Any, v: tuple[float, ...], expected: float
) -> None:
    out, a = wp.zeros(3, dtype=wp.float64), wp.full(3, 2.0)
    for vector in (wp.vec3(*v), v, np.array(v, np.float32)):
        for _ in range(3):
            out.zero_()
            wp.launch(most, 3, [out, a, f, i, n, flag, vector])
            assert out.list() == [expected] * 3


@wp.kernel
def weigh(body: Body, out: wp.array(dtype=wp.float64), x: wp.bfloat16):
    i = wp.tid()
    out[i] = wp.float64(body.near[i]) * body.mass + wp.float64(body.at.y) + wp.float64(x)


@wp.kernel
def fill(body: Body):
    body.near[wp.tid()] = body.at.x


def a_body(near: Any = None, y: float = 0.0) -> Body:
    made = Body()
    made.at, made.mass = wp.vec3(9.0, y, 0.0), 0.5
    made.near = wp.full(3, 4.0) if near is None else near
    return made


def test_structs_and_their_arrays(path: str) -> None:
    out = wp.zeros(3, dtype=wp.float64)
    for y in (1.0, 2.0, 3.0, 4.0):
        wp.launch(weigh, 3, [a_body(y=y), out, 0.25])
        assert out.list() == [2.25 + y] * 3
    assert is_quick(lambda: wp.launch(weigh, 3, [a_body(), out, 1])) is (path == "entry")
    assert out.list() == [3.0] * 3
    for code, argument in (
        ("H0702", wp.vec3()), ("H0702", None), ("H0704", a_body(wp.zeros(3, device="sim"))),
    ):  # fmt: skip
        with pytest.raises(wp.LaunchError, match=code):
            wp.launch(weigh, 3, [argument, out, 0.25])
    with pytest.raises(wp.LaunchError, match="H0702"):
        wp.launch(weigh, 3, [a_body(), out, 1e39])
    with pytest.raises(wp.LaunchError, match="H0701"):
        wp.launch(weigh, 3, [a_body(), out])
    with pytest.raises(wp.OutOfBoundsError, match=r"index 0 outside .* of shape 0"):
        wp.launch(weigh, 3, [Body(), out, 0.25])


def test_structs_with_arrays_that_cannot_be_written(path: str) -> None:
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    near = wp.zeros(3)
    warm(fill, 3, [a_body(near)])
    assert near.list() == [9.0] * 3
    with pytest.raises(wp.LaunchError, match="H0705"):
        wp.launch(fill, 3, [a_body(wp.array(frozen, copy=False))])
    # An extent of 2^31 takes another program; every element is the same one.
    memory = np.zeros(1, np.float32)
    wide = wp.array(ptr=memory.ctypes.data, shape=(1 << 31,), strides=(0,), dtype=wp.float32)
    wp.launch(fill, 1, [a_body(wide)])
    assert memory.tolist() == [9.0]
    assert len(fill.programs()) == 2


@wp.kernel
def shaped(out: wp.array(dtype=int, ndim=2), maybe: wp.array(dtype=float)):
    i, j = wp.tid()
    out[i, j] = 100 * maybe.shape[0] + 10 * i + j


def test_dims_and_absent_arrays(path: str) -> None:
    for dim, maybe, count in (
        ((2, 3), None, 0), ([2, 3], wp.zeros(4), 4), ((np.int64(2), 3), wp.zeros(0), 0),
        ((2, 3), wp.zeros(7), 7), ((2, 3), None, 0), ((0, 3), None, 0), ((2, 0), wp.zeros(1), 1),
    ):  # fmt: skip
        out = wp.full((2, 3), -1, dtype=int)
        wp.launch(shaped, dim, [out, maybe])
        expected = np.full((2, 3), -1)
        if 0 not in dim:
            expected = 100 * count + np.add.outer(np.array([0, 10]), np.arange(3))
        assert (out.numpy() == expected).all()


def test_arguments_may_be_split_and_given_as_tuples(path: str) -> None:
    a, out = wp.full(3, 2.0), wp.zeros(3, dtype=wp.float64)
    rest = (1.5, 1, 0, False, wp.vec3())
    warm(most, 3, [out, a, *rest])
    for inputs, outputs in (
        ([out, a, *rest], []), ((out, a, *rest), ()), ([out], (a, *rest)), ((), [out, a, *rest]),
        ([out, a, *rest], [])
    ):  # fmt: skip
        out.zero_()
        wp.launch(most, dim=3, inputs=inputs, outputs=outputs, device="cpu", block_dim=64)
        assert out.list() == [4.0] * 3


@wp.kernel
def put(a: wp.array(dtype=float), x: float):
    a[wp.tid()] = x


def test_the_second_launch_makes_the_entry() -> None:
    if not has_entries():
        pytest.skip(NO_ENTRIES)

    @wp.kernel
    def fresh(a: wp.array(dtype=float), x: float):
        a[wp.tid()] = x

    a = wp.zeros(3)
    assert not is_quick(lambda: wp.launch(fresh, 3, [a, 1.0]))
    assert not is_quick(lambda: wp.launch(fresh, 3, [a, 2.0]))
    for device in (None, "cpu", wp.get_device("cpu")):
        assert is_quick(lambda device=device: wp.launch(fresh, 3, [a, 3.0], device=device))
    assert a.list() == [3.0] * 3
    wp.config.touch()
    assert not is_quick(lambda: wp.launch(fresh, 3, [a, 4.0]))
    assert is_quick(lambda: wp.launch(fresh, 3, [a, 5.0]))


# ---------------------------------------------------------------------------------------- generics


@wp.kernel
def twice(a: wp.array(dtype=wp.Any), x: wp.Any):
    i = wp.tid()
    a[i] = x + x


def test_generic_kernels_take_what_each_argument_means(path: str) -> None:
    for _ in range(3):
        for dtype, x, expected in (
            (wp.float32, 1.5, 3.0), (wp.int32, 3, 6), (wp.float64, np.float64(0.1), 0.2),
            (wp.int64, 1 << 40, 1 << 41), (wp.float32, np.float32(0.25), 0.5),
            (wp.vec3, wp.vec3(1.0, 2.0, 3.0), wp.vec3(2.0, 4.0, 6.0)),
        ):  # fmt: skip
            a = wp.zeros(2, dtype=dtype)
            wp.launch(twice, 2, [a, x])
            assert a.list() == [expected] * 2
    # An int is an int32 to a generic parameter, whatever came before.
    with pytest.raises(wp.CompileError):
        wp.launch(twice, 2, [wp.zeros(2, dtype=wp.vec3), 3])


@wp.kernel
def zero(a: wp.array(dtype=wp.Any)):
    i = wp.tid()
    a[i] = a[i] - a[i]


def test_a_kernel_keeps_few_entries(path: str) -> None:
    kinds = [wp.float32, wp.float64, wp.int32, wp.int64, wp.uint32, wp.vec3]
    for _ in range(3):
        for dtype in kinds:
            a = wp.full(3, 5, dtype=dtype)
            wp.launch(zero, 3, [a])
            assert not a.numpy().any()
            _, known = zero.entries
            assert len(known) <= 4
            assert len({entry.program for entry in known}) == len(known)
    # The last four types are known, so that they take turns quickly.
    for dtype in kinds[2:]:
        a = wp.full(3, 5, dtype=dtype)
        assert is_quick(lambda a=a: wp.launch(zero, 3, [a])) is (path == "entry")
        assert not a.numpy().any()


@wp.kernel
def mixed(a: wp.array(dtype=wp.Float), b: wp.array(dtype=wp.Float), x: wp.Float):
    a[0] = b[0] + x


def test_type_classes_bind_one_type(path: str) -> None:
    for dtype in (wp.float32, wp.float64, wp.float32):
        a, b = wp.zeros(1, dtype=dtype), wp.full(1, 0.25, dtype=dtype)
        for _ in range(3):
            if dtype is wp.float32:
                wp.launch(mixed, 1, [a, b, 0.5])
            else:
                wp.launch(mixed, 1, [a, b, np.float64(0.5)])
            assert a.list() == [0.75]


# -------------------------------------------------------------------------------------- wide index


@wp.kernel
def extent(a: wp.array(dtype=float), out: wp.array(dtype=wp.int64)):
    out[wp.tid()] = wp.int64(a.shape[0])


def test_wide_arrays_get_wide_indices(path: str) -> None:
    memory, out = np.ones(1, np.float32), wp.zeros(2, dtype=wp.int64)
    wide = wp.array(ptr=memory.ctypes.data, shape=(1 << 31,), strides=(0,), dtype=wp.float32)
    narrow = wp.zeros(9)
    for array in (narrow, narrow, wide, wide, wide, narrow):
        wp.launch(extent, 2, [array, out])
        assert out.list() == [array.shape[0]] * 2


# ------------------------------------------------------------------------------------------ errors


class Sub(wp.array):
    """A class of a user's own; objects of it can only come about by force."""


def wrong_calls() -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Launches of ``most`` that are refused."""
    out, a, v = wp.zeros(3, dtype=wp.float64), wp.zeros(3), wp.vec3()
    good: list[Any] = [out, a, 1.5, 1, 1, True, v]
    frozen = np.zeros(3)
    frozen.flags.writeable = False

    def call(index: int, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (3, [*good[:index], value, *good[index + 1 :]]), {}

    sub = wp.zeros(3)
    return {
        "too few": ((3, good[:-1]), {}),
        "too many": ((3, good), {"outputs": [1]}),
        "none": ((3,), {}),
        "dtype": call(1, wp.zeros(3, dtype=int)),
        "rank": call(1, wp.zeros((3, 3))),
        "device": call(1, wp.zeros(3, device="sim")),
        "read-only": call(0, wp.array(frozen, copy=False)),
        "list for array": call(1, [1.0, 2.0]),
        "number for array": call(1, 2.0),
        "array for number": call(2, sub),
        "text for number": call(2, "1.0"),
        "none for number": call(2, None),
        "bool for float": call(2, True),
        "float too large": call(2, 1e39),
        "int not exact": call(2, (1 << 24) + 1),
        "float for int": call(3, 1.0),
        "bool for int": call(3, True),
        "int too large": call(3, 128),
        "int far too large": call(3, 1 << 80),
        "negative for unsigned": call(4, -1),
        "int for bool": call(5, 1),
        "wrong vector": call(6, wp.vec2()),
        "other vector": call(6, wp.vec3d()),
        "bytes for vector": call(6, b"123456789abc"),
        "dims": (((3, 1), good), {}),
        "no dims": (((), good), {}),
        "many dims": (((1,) * 5, good), {}),
        "float dim": ((3.0, good), {}),
        "bool dim": ((True, good), {}),
        "negative dim": ((-3, good), {}),
        "huge dims": (((1 << 31, 1 << 31, 2), good), {}),
        "block of 0": ((3, good), {"block_dim": 0}),
        "large block": ((3, good), {"block_dim": 1025}),
        "float block": ((3, good), {"block_dim": 256.0}),
        "unknown device": ((3, good), {"device": "cuda:7"}),
        "device that is no name": ((3, good), {"device": 7}),
        "sim": ((3, good), {"device": "sim"}),
        "inputs that are no list": ((3, 7), {}),
    }


@pytest.mark.parametrize("name", wrong_calls())
def test_errors_are_the_same_on_both_paths(name: str) -> None:
    if not has_entries():
        pytest.skip(NO_ENTRIES)
    good = [wp.zeros(3, dtype=wp.float64), wp.zeros(3), 1.5, 1, 1, True, wp.vec3()]
    warm(most, 3, good)
    assert is_quick(lambda: wp.launch(most, 3, good))
    args, options = wrong_calls()[name]
    with pytest.raises((wp.HealdError, TypeError)) as through_entry:
        wp.launch(most, *args, **options)
    with pytest.raises((wp.HealdError, TypeError)) as carefully:
        launching._launch(
            most, *args, *[()] * (2 - len(args)), options.get("outputs", ()),
            options.get("device"), options.get("block_dim", 256), False
        )  # fmt: skip
    assert type(through_entry.value) is type(carefully.value)
    assert str(through_entry.value) == str(carefully.value)
    # What was refused has done no harm.
    assert is_quick(lambda: wp.launch(most, 3, good))


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(wp.LaunchError, match="H0707"):
        wp.launch(np.sin, 3)  # type: ignore[call-overload]


@pytest.mark.parametrize("inputs", [None, 5, "a", wp.zeros(3, dtype=float), np.zeros(3, "f4")])
def test_one_argument_is_no_list_of_them(inputs: Any) -> None:
    with pytest.raises(wp.LaunchError, match=r"H0701.* is a list of arguments"):
        wp.launch(shift, 3, inputs)
    with pytest.raises(wp.LaunchError, match=r"H0701.*outputs is a list of arguments"):
        wp.launch(shift, 3, [], inputs)


@wp.kernel
def line(a: wp.array(dtype=float)):
    a[wp.tid()] = 1.0


@wp.kernel
def plane(a: wp.array(dtype=float)):
    i, j = wp.tid()
    a[i + j] = 1.0


@pytest.mark.parametrize(
    ("kernel", "dim", "read", "hint"),
    [
        (plane, 6, "2 thread indices,", "2 dimensions; or read 1 of them, `i = wp.tid()`"),
        (line, (2, 3), "1 thread index,", "or read 2 of them, `i, j = wp.tid()`"),
        (plane, (1, 2, 3), "2 thread indices,", "or read 3 of them, `i, j, k = wp.tid()`"),
        (line, (1, 2, 3, 1), "1 thread index,", "or read 4 of them, `i, j, k, l = wp.tid()`"),
    ],
)
def test_dims_of_another_number_say_how_to_read_them(
    kernel: wp.Kernel, dim: Any, read: str, hint: str
) -> None:
    with pytest.raises(wp.LaunchError, match="H0706") as caught:
        wp.launch(kernel, dim, [wp.zeros(6, dtype=float)])
    assert read in str(caught.value)
    assert hint in str(caught.value)


def test_unknown_options_are_refused_with_near_names() -> None:
    a = wp.zeros(3, dtype=float)
    for _ in range(3):
        with pytest.raises(wp.LaunchError, match=r"H0707.*'blockdim'[^$]*did you mean block_dim"):
            wp.launch(shift, 3, [a, a, 0], blockdim=64)  # type: ignore[call-overload]
        wp.launch(shift, 3, [a, a, 0])
    with pytest.raises(wp.LaunchError, match=r"H0707.*'foo'[^$]*it has kernel, dim, inputs"):
        wp.launch(shift, 3, [a, a, 0], foo=1)  # type: ignore[call-overload]


# ------------------------------------------------------------------------------------------ faults


@wp.kernel
def shift(a: wp.array(dtype=float), b: wp.array(dtype=float), by: int):
    i = wp.tid()
    b[i] = a[i + by]


@wp.kernel
def divide(a: wp.array(dtype=int, ndim=2), by: int):
    i, j = wp.tid()
    a[i, j] = a[i, j] // (by - i)


@wp.kernel
def positive(a: wp.array(dtype=float)):
    i = wp.tid()
    assert a[i] > 0.0, "not positive"


def test_faults_are_the_same_on_both_paths(path: str) -> None:
    a, b = wp.array(np.arange(1.0, 9.0), dtype=float), wp.zeros(8)
    for _ in range(3):
        wp.launch(shift, 8, [a, b, 0])
    for _ in range(3):
        b.fill_(7.0)
        with pytest.raises(wp.OutOfBoundsError) as out_of_bounds:
            wp.launch(shift, 8, [a, b, 5])
        assert b.list() == [6.0, 7.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        text = str(out_of_bounds.value)
        assert "index 8 outside 'a' of shape 8, in thread 3 of kernel 'shift'" in text
        assert "b[i] = a[i + by]" in text
        assert "5 threads faulted" in text

    def fails() -> None:
        with pytest.raises(wp.OutOfBoundsError):
            wp.launch(shift, 8, [a, b, 5])

    assert is_quick(fails) is (path == "entry")
    wp.launch(shift, 8, [a, b, 0])
    grid = wp.full((3, 4), 12, dtype=int)
    for _ in range(3):
        with pytest.raises(wp.DivisionFault, match=r"thread \(2, 0\) of kernel 'divide'"):
            wp.launch(divide, (3, 4), [grid, 2])
        grid.fill_(12)
        wp.launch(divide, (2, 4), [grid, 2])
        assert grid.numpy()[:, 0].tolist() == [6, 12, 12]
        with pytest.raises(wp.AssertFault, match="not positive"):
            wp.launch(positive, 2, [wp.array([1.0, 0.0])])
        wp.launch(positive, 2, [wp.array([1.0, 2.0])])


def test_each_launch_takes_the_variant_that_fits_it(path: str) -> None:
    # Within its array the kernel needs no guards, so there are two variants.
    a = wp.zeros(8)
    for count in (8, 8, 8, 3, 9, 8, 9, 9, 5):
        a.zero_()
        if count <= 8:
            wp.launch(put, count, [a, 1.0])
        else:
            with pytest.raises(wp.OutOfBoundsError, match="index 8"):
                wp.launch(put, count, [a, 1.0])
        assert a.numpy().sum() == min(count, 8)


@wp.kernel
def tell(a: wp.array(dtype=float)):
    i = wp.tid()
    print(a[i])  # noqa: T201


def test_prints_come_every_time(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    a = wp.array([1.5, 2.5])
    for _ in range(4):
        wp.launch(tell, 2, [a])
        assert capsys.readouterr().out == "1.5\n2.5\n"


# ------------------------------------------------------------------------------------------ handles


@wp.kernel
def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), count: wp.array(dtype=int)):
    i = wp.tid()
    n = 0
    for _ in wp.hash_grid_query(grid, points[i], 0.1):
        n = n + 1
    count[i] = n


def test_handles_are_those_of_the_launch(path: str) -> None:
    points = wp.array([[0.0, 0.0, 0.0], [0.05, 0.0, 0.0], [9.0, 0.0, 0.0]], dtype=wp.vec3)
    grid = wp.HashGrid(8, 8, 8)
    count = wp.zeros(3, dtype=int)
    for _ in range(4):
        grid.build(points, 0.1)
        wp.launch(neighbours, 3, [grid.id, points, count])
        first, second, third = count.list()
        assert first >= 2
        assert second >= 2
        assert third >= 1
    handle = grid.id
    del grid
    gc.collect()
    with pytest.raises(wp.KernelFault, match="H0406"):
        wp.launch(neighbours, 3, [handle, points, count])


# ----------------------------------------------------------------------------------------- settings


@wp.kernel
def fused(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i] - 1.0


FUSED_INPUT = 1 + 2**-12
ROUNDED, EXACT = 2**-11, 2**-11 + 2**-24
"""Of its square less 1, with the square rounded and not."""


def test_settings_count_from_the_next_launch_on(path: str) -> None:
    a, b = wp.array([FUSED_INPUT]), wp.zeros(1)

    def bits() -> float:
        wp.launch(fused, 1, [a, b])
        wp.launch(fused, 1, [a, b])
        wp.launch(fused, 1, [a, b])
        return float(b.list()[0])

    assert bits() == EXACT
    wp.config.strict_fp = True
    assert bits() == ROUNDED
    fused.module.options["strict_fp"] = False
    assert bits() == EXACT
    fused.module.options.clear()
    assert bits() == ROUNDED
    wp.config.strict_fp = False
    assert bits() == EXACT
    wp.set_module_options({"strict_fp": True})
    assert bits() == ROUNDED
    fused.module.options.pop("strict_fp")
    assert bits() == EXACT
    fused.options["strict_fp"] = True
    assert bits() == ROUNDED
    del fused.options["strict_fp"]
    assert bits() == EXACT


def test_options_cannot_be_replaced_behind_our_back() -> None:
    for owner in (put, put.module):
        with pytest.raises(AttributeError):
            owner.options = {}  # type: ignore[misc]


def test_every_change_of_options_is_noticed() -> None:
    options = put.options
    seen = [wp.config.revision]
    for change in (
        lambda: options.update({"safety": "guarded"}),
        lambda: options.update(safety="auto"),
        lambda: options.setdefault("mode", "release"),
        lambda: options.__ior__({"mode": "debug"}),
        lambda: options.pop("mode"),
        lambda: options.__setitem__("strict_fp", True),
        lambda: options.__delitem__("strict_fp"),
        options.popitem,
        options.clear,
    ):
        change()
        seen.append(wp.config.revision)
    assert len({id(revision) for revision in seen}) == len(seen)


@pytest.mark.parametrize(
    "change",
    [
        lambda: wp.kernel(lambda: None, safety="careful"),
        lambda: put.options.update(safety="careful"),
        lambda: put.options.setdefault("safety", "careful"),
        lambda: put.options.__setitem__("safety", "careful"),
        lambda: wp.set_module_options({"safety": "careful"}),
    ],
)
def test_values_that_an_option_does_not_take_are_refused(change) -> None:
    message = "H0707.*option 'safety' of kernels cannot be 'careful': .*auto, guarded, strict"
    with pytest.raises(wp.TypingError, match=message):
        change()
    assert "safety" not in put.options
    assert "safety" not in wp.get_module_options()


def test_options_are_kept_as_settings_are() -> None:
    put.options["strict_fp"] = "0"
    assert put.option("strict_fp") is False
    del put.options["strict_fp"]


def test_safety_counts_from_the_next_launch_on(path: str) -> None:
    @wp.kernel
    def beyond(a: wp.array(dtype=float), n: int):
        for k in range(n):
            a[k] = 1.0

    memory = wp.zeros(8)
    short = memory[:2]
    for _ in range(3):
        with pytest.raises(wp.OutOfBoundsError):
            wp.launch(beyond, 1, [short, 4])
    beyond.options["safety"] = "unchecked"
    for _ in range(3):
        wp.launch(beyond, 1, [short, 4])  # writes to memory of its owner
    assert memory.list() == [1.0] * 4 + [0.0] * 4
    beyond.options["safety"] = None
    for _ in range(3):
        with pytest.raises(wp.OutOfBoundsError):
            wp.launch(beyond, 1, [short, 4])


def test_invalidated_kernels_are_compiled_again(path: str) -> None:
    factor = 2.0

    @wp.kernel
    def scaled(a: wp.array(dtype=float)):
        a[wp.tid()] = factor

    a = wp.zeros(1)
    warm(scaled, 1, [a])
    assert a.list() == [2.0]
    factor = 3.0
    wp.launch(scaled, 1, [a])
    assert a.list() == [2.0]
    scaled.invalidate()
    for _ in range(3):
        wp.launch(scaled, 1, [a])
        assert a.list() == [3.0]


def test_the_current_device_counts(path: str) -> None:
    a, b = wp.zeros(3), wp.zeros(3, device="sim")
    warm(put, 3, [a, 1.0])
    with wp.ScopedDevice("sim"):
        wp.launch(put, 3, [b, 2.0])
        with pytest.raises(wp.LaunchError, match="H0704"):
            wp.launch(put, 3, [a, 2.0])
        wp.launch(put, 3, [a, 3.0], device="cpu")
    assert (a.list(), b.list()) == ([3.0] * 3, [2.0] * 3)
    wp.launch(put, 3, [b, 4.0], device="sim")
    with pytest.raises(wp.LaunchError, match="H0704"):
        wp.launch(put, 3, [b, 4.0])
    assert b.list() == [4.0] * 3


# -------------------------------------------------------------------------------- hostile arguments


def test_arrays_that_were_tampered_with_do_no_harm(path: str) -> None:
    keep = wp.zeros(3)
    warm(put, 3, [keep, 1.0])
    for slot, value in (("packed", None), ("packed", b""), ("packed", b"x" * 32),
                        ("packed", bytearray(32)), ("packed", 5)):  # fmt: skip
        a = wp.zeros(3)
        setattr(a, slot, value)
        wp.launch(put, 3, [a, 1.0])
        assert a.list() == [1.0] * 3
    a = wp.zeros(3)
    del a.packed
    wp.launch(put, 3, [a, 1.0])
    assert a.list() == [1.0] * 3
    del a._owner
    with pytest.raises(AttributeError):
        wp.launch(put, 3, [a, 1.0])


def test_objects_that_pretend_are_refused(path: str) -> None:
    class Pretender:
        packed = wp.zeros(3).packed
        _owner = None

    class Number(float):
        pass

    class Listed(list):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Any:
            return iter([a, 5.0])

    a = wp.zeros(3)
    warm(put, 3, [a, 1.0])
    with pytest.raises(wp.LaunchError, match="H0702"):
        wp.launch(put, 3, [Pretender(), 1.0])
    wp.launch(put, 3, [a, Number(2.0)])
    assert a.list() == [2.0] * 3
    wp.launch(put, 3, Listed())
    assert a.list() == [5.0] * 3


def test_no_reference_is_lost_or_kept(path: str) -> None:
    a, v = wp.zeros(3), wp.vec3(1.0, 2.0, 3.0)
    out, x = wp.zeros(3, dtype=wp.float64), 1.5 + len(a)
    arguments = [out, a, x, 1, 1, True, v]
    watched = [a, out, x, v, a.owner, a.packed, v._leaves, arguments]
    warm(most, 3, arguments)
    count = 10_000 if path == "entry" else 300
    gc.collect()
    before, blocks = [sys.getrefcount(o) for o in watched], sys.getallocatedblocks()
    for _ in range(count):
        wp.launch(most, 3, arguments)
    gc.collect()
    assert [sys.getrefcount(o) for o in watched] == before
    assert abs(sys.getallocatedblocks() - blocks) < 200


def test_kernels_let_go_of_their_code() -> None:
    if not has_entries():
        pytest.skip(NO_ENTRIES)

    @wp.kernel
    def short_lived(a: wp.array(dtype=float), x: float):
        a[wp.tid()] = x

    a = wp.zeros(3)
    warm(short_lived, 3, [a, 1.0])
    _, ((entry),) = short_lived.entries
    variants = list(entry.program.compiled().values())
    code = weakref.ref(variants[0].code.keepalive)  # type: ignore[arg-type]
    call = entry.call
    short_lived.invalidate()
    del variants, entry
    short_lived.entries = (None, ())
    gc.collect()
    assert code() is not None  # the call alone keeps it
    assert call(3, 256, [a, 2.0], ()) is None
    assert a.list() == [2.0] * 3
    del call
    gc.collect()
    assert code() is None


def test_parameters_with_defaults_may_be_left_out(path: str) -> None:
    @wp.kernel
    def scaled(a: wp.array(dtype=float), factor: float = 2.0, shift: int = 1):
        i = wp.tid()
        a[i] = a[i] * factor + float(shift)

    for _ in range(3):
        a = wp.ones(2)
        wp.launch(scaled, 2, [a])
        assert a.list() == [3.0, 3.0]
        wp.launch(scaled, 2, [a, 10.0])
        assert a.list() == [31.0, 31.0]
        wp.launch(scaled, 2, [a, 1.0, 0])
        assert a.list() == [31.0, 31.0]
    with pytest.raises(wp.LaunchError, match="H0701"):
        wp.launch(scaled, 2, [])
    with pytest.raises(wp.LaunchError, match="H0701"):
        wp.launch(scaled, 2, [wp.ones(2), 1.0, 1, 1])


@wp.kernel
def anything(a: wp.array(dtype=Any)):
    a[0] = a[1]


def test_a_generic_array_is_named_as_it_is_written() -> None:
    with pytest.raises(
        wp.LaunchError, match=r"is heald.array\(dtype=typing.Any, ndim=1\), not list"
    ):
        wp.launch(anything, 1, [[1.0]])


@wp.kernel
def take_first(values: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = values[0]


@pytest.mark.parametrize("values", [np.zeros(3, ">f4"), np.zeros(3, "c8"), np.ma.zeros(3, "f4")])
def test_a_numpy_array_that_cannot_be_shared_is_named(values: Any) -> None:
    with pytest.raises(wp.LaunchError, match=r"H0712.*argument 'values' of kernel 'take_first': "):
        wp.launch(take_first, 1, [values, wp.zeros(1)])
