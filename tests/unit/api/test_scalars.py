"""Numbers at the border to the host: rounded as IEEE says, or refused."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heald as wp
from heald import types
from heald.api.scalars import Misfit, convert, convert_or_raise, is_number, shortest, zero
from heald.diagnostics import TypingError
from heald.types.descriptors import from_bfloat16

floats = st.floats(allow_nan=False, allow_infinity=False)


def same(a, b):
    return a == b and math.copysign(1, a) == math.copysign(1, b)


@given(
    floats | st.floats(width=32, allow_nan=False, allow_infinity=False) | st.floats(-1e-37, 1e-37)
)
def test_float32_rounds_as_ieee_says(x):
    with np.errstate(over="ignore"):
        expected = float(np.float32(x))
    found = convert(types.f32, x)
    if math.isinf(expected):
        assert isinstance(found, Misfit)
    else:
        assert same(found, expected)


@given(floats | st.floats(-70000, 70000) | st.floats(-1e-4, 1e-4))
def test_float16_rounds_as_ieee_says(x):
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float16(x))
    found = convert(types.f16, x)
    if math.isinf(expected):
        assert isinstance(found, Misfit)
    else:
        assert same(found, expected)


def nearest_bfloat16(x):
    """By definition: the nearer of the two neighbours, at a tie the one with an even last bit."""
    magnitudes = np.arange(0x7F81, dtype=np.uint16)  # 0 to infinity
    values = from_bfloat16(magnitudes).astype(np.float64)
    k = int(np.searchsorted(values, abs(x), side="right")) - 1
    if values[k] == abs(x):
        return math.copysign(values[k], x)
    low = Fraction(values[k])
    high = Fraction(2) ** 128 if math.isinf(values[k + 1]) else Fraction(values[k + 1])
    distance = Fraction(abs(x)) - low, high - Fraction(abs(x))
    up = distance[1] < distance[0] or (distance[0] == distance[1] and k % 2)
    return math.copysign(values[k + 1] if up else values[k], x)


@given(floats | st.floats(-4, 4) | st.floats(-1e-38, 1e-38))
def test_bfloat16_rounds_once(x):
    expected = nearest_bfloat16(x)
    found = convert(types.bf16, x)
    if math.isinf(expected):
        assert isinstance(found, Misfit)
    else:
        assert same(found, expected)


def test_bfloat16_does_not_round_twice():
    """Just above a tie of bfloat16, but on it once rounded to float32."""
    x = 1 + 2**-8 + 2**-40
    assert float(np.float32(x)) == 1 + 2**-8
    assert convert(types.bf16, x) == 1 + 2**-7


@pytest.mark.parametrize("t", types.FLOATS, ids=str)
def test_the_largest_float_is_taken_and_what_rounds_beyond_it_is_not(t):
    if t is types.f64:
        assert convert(t, 1.7976931348623157e308) == 1.7976931348623157e308
        return
    bits, largest = {
        "f16": (11, 65504.0),
        "bf16": (8, 3.3895313892515355e38),
        "f32": (24, 3.4028234663852886e38),
    }[t.name]
    step = largest / (2**bits - 1)
    assert convert(t, largest) == largest
    assert convert(t, largest + step * 0.49) == largest
    for x in (largest + step * 0.5, largest * 2, -largest * 2):
        found = convert(t, x)
        assert isinstance(found, Misfit)
        assert found.code == "H0202"
        assert t.public in found.why


@pytest.mark.parametrize("t", types.FLOATS, ids=str)
def test_special_floats_pass(t):
    assert convert(t, math.inf) == math.inf
    assert convert(t, -math.inf) == -math.inf
    assert math.isnan(convert(t, math.nan))
    assert same(convert(t, -0.0), -0.0)


@pytest.mark.parametrize("t", types.INTEGERS, ids=str)
def test_integers_have_their_range(t):
    for x in (t.lowest, 0, 1, t.highest):
        found = convert(t, x)
        assert found == x
        assert type(found) is int
    for x in (t.lowest - 1, t.highest + 1, 10**30):
        found = convert(t, x)
        assert isinstance(found, Misfit)
        assert found.code == "H0202"
        assert f"{t.lowest} to {t.highest}, not {x}" in found.why


@pytest.mark.parametrize(
    ("t", "exact", "not_exact"),
    [
        (types.f16, [2048, -65504], [2049, 65536]),
        (types.bf16, [256, 2**127], [257, 2**128]),
        (types.f32, [2**24, -(2**24), 2**127], [2**24 + 1, 2**128]),
        (types.f64, [2**53, 2**1000], [2**53 + 1, 2**1024]),
    ],
    ids=str,
)
def test_integers_become_floats_only_when_exact(t, exact, not_exact):
    for x in exact:
        found = convert(t, x)
        assert found == x
        assert type(found) is float
    for x in not_exact:
        assert isinstance(convert(t, x), Misfit)


@pytest.mark.parametrize("t", types.SCALARS, ids=str)
def test_bools_and_numbers_do_not_mix(t):
    for x in (True, np.bool_(True)):
        found = convert(t, x)
        if t is types.b1:
            assert found is True
        else:
            assert isinstance(found, Misfit)
            assert found.hint == "write 1"
    if t is types.b1:
        assert isinstance(convert(t, 1), Misfit)
        assert isinstance(convert(t, 1.0), Misfit)


@pytest.mark.parametrize("t", types.INTEGERS, ids=str)
@pytest.mark.parametrize("x", [1.0, 1.5, np.float32(1), math.nan])
def test_floats_are_no_integers(t, x):
    found = convert(t, x)
    assert isinstance(found, Misfit)
    assert found.code == "H0201"
    assert "int(x)" in found.hint


@pytest.mark.parametrize(
    ("t", "value", "expected"),
    [
        (types.i32, np.int64(-5), -5),
        (types.u8, np.array(200), 200),
        (types.f32, np.float64(0.1), float(np.float32(0.1))),
        (types.f32, np.float16(0.5), 0.5),
        (types.f64, np.longdouble(0.25), 0.25),
        (types.f32, np.int16(7), 7.0),
        (types.f16, np.array(1.5), 1.5),
    ],
    ids=str,
)
def test_numpy_scalars_count_as_numbers(t, value, expected):
    found = convert(t, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "value", ["1", b"1", None, 1j, np.complex64(1), [1], np.zeros(1), np.str_("1"), object()]
)
@pytest.mark.parametrize("t", [types.f32, types.i32, types.b1], ids=str)
def test_other_objects_are_no_numbers(t, value):
    found = convert(t, value)
    assert isinstance(found, Misfit)
    assert found.code == "H0201"


def test_what_has_an_index_is_an_integer():
    class Three:
        def __index__(self):
            return 3

    assert convert(types.i16, Three()) == 3
    assert convert(types.f32, Three()) == 3.0


def test_errors_name_the_place():
    with pytest.raises(TypingError, match="the speed: an int8 holds -128 to 127") as caught:
        convert_or_raise(types.i8, 200, "the speed")
    assert caught.value.codes == ("H0202",)
    with pytest.raises(TypeError):
        convert_or_raise(types.i8, "x", "the speed")


def test_is_number():
    for x in (1, 1.5, True, np.float32(1), np.array(3)):
        assert is_number(x)
    for x in ([1], (), "1", np.zeros(1), None):
        assert not is_number(x)


@pytest.mark.parametrize("t", types.SCALARS, ids=str)
def test_zero(t):
    assert convert(t, zero(t)) == 0
    assert type(zero(t)) is (bool if t is types.b1 else float if t.is_float else int)


@given(st.sampled_from(types.FLOATS), floats)
def test_the_shortest_text_means_the_value(t, x):
    value = convert(t, x)
    if isinstance(value, Misfit):
        return
    text = shortest(t, value)
    assert same(convert(t, float(text)), value)
    assert len(text) <= len(repr(value))


def test_the_shortest_text_is_short():
    assert shortest(types.f32, convert(types.f32, 0.1)) == "0.1"
    assert shortest(types.f16, convert(types.f16, 0.1)) == "0.1"
    assert shortest(types.f64, 0.1) == "0.1"
    assert shortest(types.f32, 1000001.0) == "1000001.0"
    assert shortest(types.f32, float(np.float32(1e30))) == "1e+30"
    assert shortest(types.f16, -0.0) == "-0.0"
    assert shortest(types.i32, -3) == "-3"
    assert shortest(types.b1, True) == "True"


HALF = wp.bfloat16(0.1)  # 0.10009765625


@wp.kernel
def with_bfloat16(p: wp.bfloat16, y: wp.array(dtype=wp.bfloat16)):
    y[0] = wp.sin(p)
    y[1] = p + HALF
    y[2] = p * HALF
    y[3] = 1.0 / p
    y[4] = 0.1 - p
    y[5] = wp.lerp(p, 1.0, HALF)
    y[6] = wp.length(wp.vector(p, HALF, p))
    y[7] = -p


def test_calls_and_operators_of_bfloat16_give_the_bits_of_kernels():
    p = wp.bfloat16(0.3)
    y = wp.zeros(8, dtype=wp.bfloat16, device="sim")
    wp.launch(with_bfloat16, dim=1, inputs=[p, y], device="sim")
    host = [wp.sin(p), p + HALF, p * HALF, 1.0 / p, 0.1 - p, wp.lerp(p, 1.0, HALF)]
    host += [wp.length(wp.vector(p, HALF, p)), -p]
    assert [float(x) for x in host] == y.list()
    assert all(type(host[k]) is types.Bfloat16 for k in (1, 2, 3, 4, 7))


def test_bfloat16_is_a_type_of_its_own_on_the_host():
    x = wp.bfloat16(1 / 3)
    assert repr(x) == "bfloat16(0.33398438)"
    assert x == np.float32(0.333984375)
    assert hash(x) == hash(np.float32(0.333984375))
    assert types.as_concrete(type(x)) is types.bf16
    assert wp.array([x, x], device="cpu").dtype is wp.bfloat16
    assert wp.full(2, x, device="cpu").dtype is wp.bfloat16
    assert wp.vector(x, x).dtype is wp.bfloat16
    again = pickle.loads(pickle.dumps(x))
    assert again == x
    assert type(again) is type(copy.deepcopy(x)) is type(x)
    assert wp.bfloat16(1e39) == math.inf
    assert math.isnan(wp.bfloat16(math.nan))
    assert same(wp.bfloat16(-0.0), -0.0)


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_operators_of_bfloat16_round_once(x, y):
    a, b = wp.bfloat16(x), wp.bfloat16(y)
    assert float(a + b) == nearest_bfloat16(float(Fraction(float(a)) + Fraction(float(b))))
    assert float(a - b) == nearest_bfloat16(float(a) - float(b))
    assert float(a * b) == nearest_bfloat16(float(a) * float(b))
    assert type(a + 1) is type(1 - a) is type(abs(a)) is type(a)


def test_bfloat16_meets_other_types_as_float32():
    a = wp.bfloat16(1.5)
    assert type(a + np.float32(1)) is np.float32
    assert type(a + np.float64(1)) is np.float64
    assert type(np.float64(1) + a) is np.float64
    assert (a + np.ones(2, np.float32)).dtype == np.float32
    with pytest.raises(TypingError, match=r"H0203.*'lerp' does not take \(bfloat16, float16"):
        wp.lerp(a, wp.float16(1), a)
    with pytest.raises(TypeError):
        a + "1"
