"""Casting numpy arrays: the values of astype, and refusals where a number would be lost."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from heald import types
from heald.api.casting import cast_elements, cast_scalars, scalar_of
from heald.api.scalars import Misfit, convert
from heald.diagnostics import TypingError
from heald.types import Struct, Vector, is_ml_bfloat16
from heald.types.descriptors import from_bfloat16

NUMERIC = [t for t in types.SCALARS if t is not types.bf16]
DTYPES = st.sampled_from([t.carrier.newbyteorder(o) for t in NUMERIC for o in "<>"])


def value_of(t, carried):
    return from_bfloat16(carried) if t is types.bf16 else carried


@given(st.data(), DTYPES, st.sampled_from(types.SCALARS))
def test_casts_are_astype_or_refused(data, dtype, t):
    source = data.draw(hnp.arrays(dtype, st.integers(0, 6)))
    fits = all(acceptable(x, t) for x in source.tolist())
    if not fits:
        with pytest.raises(TypingError) as caught:
            cast_scalars(source, t)
        assert caught.value.codes == ("H0712",)
        return
    found = cast_scalars(source, t)
    assert found.dtype == t.carrier
    assert found.shape == source.shape
    for given_number, carried in zip(source.tolist(), found, strict=True):
        got = value_of(t, carried)
        if t is types.bf16:
            expected = convert(types.bf16, float(given_number))
        else:
            with np.errstate(all="ignore"):
                expected = np.asarray(given_number, source.dtype.newbyteorder("=")).astype(
                    t.carrier
                )
        assert got == expected or (math.isnan(got) and math.isnan(expected))


def acceptable(x, t):
    """May the number become a ``t``?  Written without numpy."""
    if t is types.b1 or isinstance(x, bool):
        return True
    if t.is_integer:
        return math.isfinite(x) and t.lowest <= math.trunc(x) <= t.highest
    if not math.isfinite(x):
        return True
    try:
        return not isinstance(convert(t, float(x)), Misfit)
    except OverflowError:
        return False


@pytest.mark.parametrize("t", types.INTEGERS, ids=str)
def test_the_bounds_of_integers_are_exact(t):
    below, above = math.nextafter(t.lowest - 1, math.inf), float(t.highest + 1)
    inside = math.nextafter(above, 0)
    if t.lowest == 0 or t.bits < 64:
        assert cast_scalars(np.array([below]), t)[0] == t.lowest
    assert cast_scalars(np.array([inside]), t)[0] == math.trunc(inside)
    for bad in (above, math.nan, math.inf, -math.inf, float(t.lowest) * 2 - 2):
        with pytest.raises(TypingError, match=f"{t.public} holds {t.lowest} to {t.highest}"):
            cast_scalars(np.array([0.0, bad]), t)


def test_the_refusal_names_element_and_value():
    with pytest.raises(TypingError, match=r"element 2 of the data is 300; uint8 holds 0 to 255"):
        cast_scalars(np.array([1, 2, 300]), types.u8)
    with pytest.raises(TypingError, match=r"element \[1, 0\] of the data is -1; uint64 holds"):
        cast_scalars(np.array([[1, 2], [-1, 3]]), types.u64)
    with pytest.raises(TypingError, match=r"element 1 of the data is 1e\+39; that is beyond"):
        cast_scalars(np.array([1.0, 1e39]), types.f32)
    with pytest.raises(TypingError, match=r"the number of the data is 70000"):
        cast_scalars(np.array(70000), types.f16)


def test_nothing_is_copied_where_nothing_changes():
    source = np.arange(6.0)[::-2]
    assert cast_scalars(source, types.f64) is source
    bits = np.zeros(3, np.uint16)
    assert cast_scalars(bits, types.u16) is bits


def test_bits_of_floats_survive():
    source = np.array([0x7FC12345, 0x80000000, 1], np.uint32).view(np.float32)
    assert cast_scalars(source, types.f32).view(np.uint32).tolist() == [0x7FC12345, 0x80000000, 1]
    swapped = source.astype(">f4")
    assert cast_scalars(swapped, types.f32).view(np.uint32).tolist()[1:] == [0x80000000, 1]


def test_a_uint16_is_a_number_not_the_bits_of_a_bfloat16():
    assert from_bfloat16(cast_scalars(np.array([2], np.uint16), types.bf16)).tolist() == [2.0]


def test_bfloat16_is_rounded_once():
    source = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, 1 + 3 * 2**-8 - 2**-40])
    found = from_bfloat16(cast_scalars(source, types.bf16))
    assert found.tolist() == [1 + 2**-7, 1.0, 1 + 2**-7]


def test_long_doubles_are_rounded():
    source = np.array([1, 3], np.longdouble) / 3
    assert cast_scalars(source, types.f64).tolist() == [1 / 3, 1.0]
    assert scalar_of(source.dtype) is None


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (np.array([1j]), "holds complex numbers"),
        (np.array(["a"]), "holds text"),
        (np.array([b"a"]), "holds bytes"),
        (np.array([None]), "holds Python objects"),
        (np.array([1], "M8[s]"), "holds dates"),
        (np.array([1], "m8[s]"), "holds time spans"),
        (np.zeros(1, "V3"), "holds raw bytes"),
        (np.zeros(1, [("a", "f4")]), "holds records"),
    ],
)
def test_what_holds_no_numbers_is_refused(source, why):
    with pytest.raises(TypingError, match=why) as caught:
        cast_scalars(source, types.f32)
    assert caught.value.codes == ("H0712",)
    assert scalar_of(source.dtype) is None


@pytest.mark.parametrize("t", NUMERIC, ids=str)
def test_dtypes_are_recognised_in_any_byte_order(t):
    for order in "<>=":
        assert scalar_of(t.carrier.newbyteorder(order)) is t


def test_the_bfloat16_of_ml_dtypes_is_recognised_by_name():
    assert is_ml_bfloat16(SimpleNamespace(name="bfloat16", itemsize=2))
    assert not is_ml_bfloat16(np.dtype("float16"))


INNER = Struct("Inner", (("n", types.i16), ("v", Vector(types.f32, 2))))
RECORD = Struct("Record", (("a", types.u8), ("inner", INNER)))


def test_records_are_cast_field_by_field():
    dtype = [("inner", [("v", ">f8", (2,)), ("n", "i8")]), ("a", "i4")]
    source = np.zeros((2, 3), dtype)
    source["a"] = [[1, 2, 3], [4, 5, 255]]
    source["inner"]["n"] = -5
    source["inner"]["v"] = [0.1, 2]
    found = cast_elements(source, RECORD)
    assert found.dtype == types.numpy_dtype(RECORD)
    assert found["a"].tolist() == source["a"].tolist()
    assert (found["inner"]["n"] == -5).all()
    assert (found["inner"]["v"] == np.array([0.1, 2], np.float32)).all()
    source["a"][1, 1] = 256
    with pytest.raises(TypingError, match=r"element \[1, 1\] of the data is 256"):
        cast_elements(source, RECORD)


def test_records_of_the_same_layout_are_taken_as_they_are():
    source = np.zeros(3, types.numpy_dtype(RECORD))
    assert cast_elements(source, RECORD) is source
