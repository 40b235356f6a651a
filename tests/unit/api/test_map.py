"""``wp.map``: functions applied to elements, against numpy."""

import gc
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import heald as wp
from heald import types
from heald.config import config


def refused(code, match=""):
    return pytest.raises(wp.HealdError, match=f"(?s){code}.*{match}")


@wp.func
def scaled(x: wp.vec3, s: float):
    return s * x


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def twice(x: wp.vec3):  # noqa: F811
    return 3.0 * x


@wp.struct
class Pair:
    a: float
    b: int


FACTOR = 3


# -- shapes and types ------------------------------------------------------------------------------


@given(st.data())
def test_shapes_broadcast_as_in_numpy(data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_dims=1))
    x, y = (
        np.arange(k, k + math.prod(shape), dtype=np.int32).reshape(shape)
        for k, shape in enumerate(shapes.input_shapes)
    )
    found = wp.map(lambda a, b: 7 * a - b, wp.array(x), wp.array(y))
    assert found.shape == shapes.result_shape
    assert found.dtype is wp.int32
    assert found.numpy().tolist() == (7 * x - y).tolist()
    assert found.is_contiguous


@given(st.data())
def test_views_map_as_in_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    x = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    a, expected = wp.array(x)[key], x[key]
    if isinstance(a, wp.array):
        found = wp.map(lambda v: v * v, a.transpose())
        assert found.numpy().tolist() == (expected * expected).T.tolist()
        assert found.dtype is wp.float64


def test_what_can_be_mapped():
    a = wp.array([[0.0, 1.0], [2.0, 3.0]])
    assert wp.map(twice, a).numpy().tolist() == [[0, 2], [4, 6]]
    assert wp.map(twice, wp.ones(2, dtype=wp.vec3)).list() == [wp.vec3(3), wp.vec3(3)]
    assert wp.map(wp.sin, a).list() == [wp.sin(x) for x in a.list()]
    assert wp.map(abs, wp.array([-1, 2])).list() == [1, 2]
    assert wp.map(max, a, 1.5).list() == [1.5, 1.5, 2, 3]
    assert wp.map(min, a, wp.array([1.0, 2.0])).list() == [0, 1, 1, 2]

    def plain(x, power=3.0):
        """Early returns work, and so do defaults."""
        if x < 1.5:
            return -x
        return wp.pow(x, power)

    assert wp.map(plain, a).list() == [0, -1, 8, 27]


def test_values_go_to_every_element():
    a = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    assert wp.map(scaled, a, 2).list() == [wp.vec3(2, 4, 6), wp.vec3(8, 10, 12)]
    assert wp.map(wp.dot, a, wp.vec3(1, 0, 2)).list() == [7, 16]
    shift = Pair(a=0.5, b=2)
    found = wp.map(lambda x, s: x * s.a + float(s.b), wp.array([1.0, 2.0]), shift)
    assert found.list() == [2.5, 3.0]
    pairs = wp.map(lambda x: Pair(x, 7), wp.array([1.0, 2.0]))
    assert pairs.list() == [Pair(a=1, b=7), Pair(a=2, b=7)]
    assert wp.map(lambda p: p.a, pairs).list() == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (wp.float64, 0.1, 1.1),
        (wp.float32, 0.1, float(np.float32(1) + np.float32(0.1))),
        (wp.float16, 0.1, float(np.float16(1) + np.float16(0.1))),
        (wp.int64, 2**40, 2**40 + 1),
        (wp.uint32, 2**31, 2**31 + 1),
        (wp.int8, 3, 4),
        (wp.int32, 2**40, 2**40 + 1),
        (wp.float32, 2, 3),
        (wp.float64, np.float32(0.1), 1 + float(np.float32(0.1))),
    ],
)
def test_numbers_take_the_type_of_the_arrays(dtype, value, expected):
    assert wp.map(lambda x, y: x + y, wp.ones(1, dtype=dtype), value).list() == [expected]


def test_a_number_takes_the_annotated_type():
    @wp.func
    def power(x: float, n: wp.int64):
        return x * float(n)

    assert wp.map(power, wp.array([2.0]), 3).list() == [6.0]
    with refused("H0702", "float64|int64"):
        wp.map(power, wp.array([2.0]), 0.5)


def test_results_choose_the_type():
    a = wp.array([1, -2])
    assert wp.map(lambda x: x > 0, a).list() == [True, False]
    assert wp.map(lambda x: wp.float64(-x), a).dtype is wp.float64
    assert wp.map(lambda x: 1, a).list() == [1, 1]
    assert wp.map(lambda x: 0.5, a).dtype is wp.float32
    assert wp.map(lambda x: wp.vec2(float(x), 1.0), a).list() == [wp.vec2(1, 1), wp.vec2(-2, 1)]


def test_several_results_are_several_arrays():
    a = wp.array([[1.0, 2.0]])
    whole, part = wp.map(lambda x: (int(x), x * 0.5), a)
    assert whole.numpy().tolist() == [[1, 2]]
    assert part.numpy().tolist() == [[0.5, 1.0]]
    out = [wp.zeros((1, 2), dtype=int), wp.zeros((1, 2), dtype=float)]
    assert wp.map(lambda x: (int(x), x * 0.5), a, out=out) == tuple(out)
    assert out[1].numpy().tolist() == [[0.5, 1.0]]


def test_arrays_of_others():
    x = np.arange(3.0)
    assert wp.map(lambda v: v + 1.0, x).list() == [1, 2, 3]
    out = np.zeros(3)
    wp.map(lambda v: v + 2.0, x, out=out)
    assert out.tolist() == [2, 3, 4]
    picked = wp.indexedarray(wp.array(x), [2, 0])
    assert wp.map(lambda v: v * 2.0, picked).list() == [4, 0]


def test_nothing_to_do():
    found = wp.map(lambda x, y: x + y, wp.zeros((0, 3)), wp.zeros(3))
    assert found.shape == (0, 3)
    assert wp.map(lambda: 2.5, out=wp.zeros(2)).list() == [2.5, 2.5]


def test_the_simulator_maps_too():
    a = wp.array([1.0, 2.0], device="sim")
    found = wp.map(lambda x: x * 3.0, a)
    assert found.device.alias == "sim"
    assert found.list() == [3, 6]


# -- lambdas, captures -----------------------------------------------------------------------------


def test_lambdas_of_one_line_are_told_apart():
    a = wp.array([1.0, 2.0])
    f, g = lambda x: x + 1.0, lambda x: x * 8.0
    assert wp.map(f, a).list() == [2, 3]
    assert wp.map(g, a).list() == [8, 16]
    pair = [wp.map(lambda x: -x, a).list(), wp.map(lambda x: (x, -x)[0], a).list()]
    assert pair == [[-1, -2], [1, 2]]
    make = lambda k: lambda x: x + k  # noqa: E731
    assert wp.map(make(5.0), a).list() == [6, 7]


def test_lambdas_over_several_lines():
    a = wp.array([1.0, 2.0])
    found = wp.map(
        lambda x, low=1.5: (
            x  # kept
            if x > low
            else low
        ),
        a,
    )
    assert found.list() == [1.5, 2.0]


def test_closures_are_read_as_they_are_now(monkeypatch):
    a = wp.array([1, 2])
    vector = wp.vec2i(1, 1)
    found = []
    for k in range(3):
        vector.x = k * 10
        found.append(wp.map(lambda x: x * k + vector.x + FACTOR, a).list())  # noqa: B023
    assert found == [[3, 3], [14, 15], [25, 27]]

    def reads(x):
        return x + FACTOR

    for factor in (100, 200):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert wp.map(reads, a).list() == [factor + 1, factor + 2]


def test_literals_of_other_types_are_other_functions():
    def add(c):
        return lambda x: x * 0.0 + c

    def with_sign(c):
        return lambda x: wp.copysign(x, c)

    a = wp.array([1.0])
    assert [wp.map(add(c), a).list() for c in (1, 1.5, True, 1)] == [[1], [1.5], [1], [1]]
    assert [wp.map(with_sign(c), a).list() for c in (-0.0, 0.0, -0.0)] == [[-1], [1], [-1]]


def test_what_has_no_description_is_compiled_each_time():
    class Settings:
        """An object whose attributes may be anything."""

        factor = 2.0

    settings = Settings()
    a = wp.array([1.0])

    def f(x):
        return x * wp.static(settings.factor)

    assert wp.map(f, a).list() == [2]
    settings.factor = 5.0
    assert wp.map(f, a).list() == [5]


def test_settings_count():
    a = wp.array([1.0 + 2.0**-12])

    def f(x):
        return x * x - 1.0

    one = wp.map(f, a).list()
    config.strict_fp = True
    try:
        other = wp.map(f, a).list()
    finally:
        config.reset()
    assert one == [2.0**-11 + 2.0**-24]
    assert other == [2.0**-11]


def test_kernels_are_made_once():
    def f(x):
        return x + 1.0

    a = wp.zeros(3)
    first = wp.map(f, a, return_kernel=True)
    assert wp.map(f, wp.zeros(5), return_kernel=True) is first
    assert wp.map(f, wp.zeros((2, 2)), return_kernel=True) is not first
    assert wp.map(f, wp.zeros(3, dtype=wp.float64), return_kernel=True) is not first
    out = wp.zeros(3)
    wp.launch(first, dim=3, inputs=[a], outputs=[out])
    assert out.list() == [1, 1, 1]
    assert all(p.compiled() for p in first.programs())


# -- shared memory ---------------------------------------------------------------------------------


@given(st.data())
def test_outputs_may_overlap_inputs(data):
    n = data.draw(st.integers(2, 12))
    x = np.arange(n, dtype=np.float32)
    a = wp.array(x)
    keys = [slice(0, n - 1), slice(1, n), slice(n - 2, None, -1), slice(n - 1, 0, -1)]
    to, one, two = (data.draw(st.sampled_from(keys)) for _ in range(3))
    wp.map(lambda p, q: p * 2.0 + q, a[one], a[two], out=a[to])
    x[to] = (x[one] * 2 + x[two]).copy()
    assert a.list() == x.tolist()


def test_an_input_that_is_stretched_over_the_output_is_read_first():
    a = wp.array([[1, 2], [3, 4]])
    wp.map(lambda x, y: x + y, a, a[0], out=a)
    assert a.numpy().tolist() == [[2, 4], [4, 6]]


def test_inputs_are_not_written():
    x = np.arange(4.0)
    x.flags.writeable = False
    assert wp.map(lambda v: v + 1.0, x).list() == [1, 2, 3, 4]
    with refused("H0705", "out"):
        wp.map(lambda v: v + 1.0, np.arange(4.0), out=x)


# -- refusals --------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused():
    a, b = wp.zeros((2, 3)), wp.zeros(4)

    def f(*args):
        return args

    for code, match, call in (
        ("H0711", r"\(2, 3\), \(4,\) do not broadcast", lambda: wp.map(wp.add, a, b)),
        ("H0711", r"shape \(4,\), out has shape \(2, 3\)", lambda: wp.map(wp.neg, b, out=a)),
        ("H0702", "result 0 of 'neg' is float32, out has int32",
         lambda: wp.map(wp.neg, b, out=wp.zeros(4, dtype=int))),
        ("H0701", "1 results, out has 2", lambda: wp.map(wp.neg, b, out=[b, b])),
        ("H0702", "argument 1 of '<lambda>'", lambda: wp.map(lambda x, y: x, b, [1.0])),
        ("H0702", "needs an array", lambda: wp.map(lambda x: x, 1.0)),
        ("H0702", "returns nothing", lambda: wp.map(lambda x: None, b)),
        ("H0102", "takes a function, not", lambda: wp.map(3, b)),
        ("H0102", "takes a function, not", lambda: wp.map(wp.vec3, b)),
        ("H0102", "takes a function, not", lambda: wp.map(np.zeros(3), b)),
        ("H0102", "write wp.sin", lambda: wp.map(math.sin, b)),
        ("H0704", "'sim', the map is on 'cpu'",
         lambda: wp.map(lambda x, y: x + y, b, wp.zeros(4, device="sim"))),
        ("H0704", "'cpu', the map is on 'sim'", lambda: wp.map(lambda x: x, b, device="sim")),
        ("H0711", "share memory", lambda: wp.map(lambda x: (x, x), b, out=[b, b])),
        ("H0203", "", lambda: wp.map(lambda x: x, b, b)),
        ("H0104", "args", lambda: wp.map(f, b)),
        ("H0702", "out takes arrays", lambda: wp.map(lambda x: x, b, out=3)),
        ("H0702", "over 64 bits", lambda: wp.map(lambda x, y: x, b, 2**70)),
    ):  # fmt: skip
        with refused(code, match):
            call()
    gc.collect()


def test_an_output_without_room_for_each_element_is_refused():
    x = np.zeros(1, np.float32)
    wide = np.lib.stride_tricks.as_strided(x, (4,), (0,))
    with refused("H0711", "elements of out share memory"):
        wp.map(lambda v: v, wp.zeros(4), out=wp.array(wide, copy=False))
    assert x[0] == 0


def test_mistakes_point_into_the_function():
    with pytest.raises(wp.CompileError) as caught:
        wp.map(lambda x: x + undefined_name, wp.zeros(3))  # noqa: F821
    text = str(caught.value)
    assert "undefined_name" in text
    assert "test_map.py" in text


def test_faults_name_the_line():
    def f(x):
        return x // (x - 1)

    with pytest.raises(wp.DivisionFault, match=r"test_map\.py"):
        wp.map(f, wp.array([3, 1]))


def test_results_are_of_the_types_that_are_said():
    found = wp.map(wp.normalize, wp.zeros(2, dtype=wp.quat))
    assert found.element_type is types.Quaternion(types.f32)


def test_numpy_arrays_in_any_byte_order_and_at_any_address():
    memory = np.zeros(13, np.uint8)
    crooked = np.frombuffer(memory.data, np.float32, 3, 1)
    memory[1:] = np.array([1, 2, 3], np.float32).view(np.uint8)
    assert wp.map(lambda x: x + 1.0, crooked).list() == [2.0, 3.0, 4.0]
    assert wp.map(lambda x: x + 1.0, np.arange(3, dtype=">f4")).list() == [1.0, 2.0, 3.0]
