"""Packing: every leaf at the byte that the layout says, and back."""

import ctypes
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald import types
from heald.artifact import Access, Artifact, Parameter
from heald.diagnostics import InternalError
from heald.runtime import codec_of, packer_of
from heald.types import Array, Matrix, Quaternion, Struct, Transform, Vector

VALUES = {
    "b1": True,
    "i8": -128,
    "i16": -32768,
    "i32": -(2**31),
    "i64": -(2**63),
    "u8": 255,
    "u16": 65535,
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "f16": 65504.0,
    "bf16": -1.5,
    "f32": 3.4028234663852886e38,
    "f64": 5e-324,
}


@pytest.mark.parametrize("t", types.SCALARS, ids=str)
def test_scalars_are_their_carrier_bytes(t):
    value = VALUES[t.name]
    data = codec_of(t).encode([value])
    expected = t.carrier.type(0xBFC0) if t is types.bf16 else t.carrier.type(value)
    assert data == expected.tobytes()
    assert codec_of(t).decode(data) == (value,)


@pytest.mark.parametrize("t", types.FLOATS, ids=str)
@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.0, math.nan])
def test_special_floats_survive(t, value):
    codec = codec_of(t)
    (back,) = codec.decode(codec.encode([value]))
    assert back == value or math.isnan(back) is math.isnan(value) is True
    assert math.isnan(value) or math.copysign(1, back) == math.copysign(1, value)


INNER = Struct("Inner", (("flag", types.b1), ("x", types.f64)))
OUTER = Struct(
    "Outer", (("a", types.i8), ("v", Vector(types.f32, 3)), ("s", INNER), ("h", types.f16))
)


@pytest.mark.parametrize(
    "t",
    [
        Vector(types.f16, 3),
        Vector(types.bf16, 2),
        Matrix(types.f32, 2, 3),
        Quaternion(types.f64),
        Transform(types.f32),
        OUTER,
    ],
    ids=str,
)
def test_composites_agree_with_their_numpy_dtype(t):
    codec = codec_of(t)
    values = [float(k) + 0.5 for k in range(len(types.leaves(t)))]
    for k, leaf in enumerate(types.leaves(t)):
        if leaf is types.b1:
            values[k] = True
        elif leaf.is_integer:
            values[k] = k - 3
    data = codec.encode(values)
    assert len(data) == codec.itemsize == types.size_of(t)
    assert list(codec.decode(data)) == values
    for k, (offset, leaf) in enumerate(zip(types.leaf_offsets(t), types.leaves(t), strict=True)):
        raw = np.frombuffer(data, leaf.carrier, 1, offset)[0]
        if leaf is types.bf16:
            raw = types.descriptors.from_bfloat16(raw)
        assert raw == values[k]


def test_padding_is_zero():
    data = codec_of(OUTER).encode([1, 0.0, 0.0, 0.0, False, 0.0, 0.0])
    assert data == b"\x01" + bytes(len(data) - 1)


def test_arrays_are_no_elements():
    with pytest.raises(InternalError, match="never an element"):
        codec_of(Struct("Bad", (("a", Array(types.f32, 1)),)))


def make_artifact(*kinds):
    offsets, size = types.parameter_layout(kinds)
    parameters = tuple(
        Parameter(f"p{k}", t, offset, Access.READ)
        for k, (t, offset) in enumerate(zip(kinds, offsets, strict=True))
    )
    return Artifact("cpu", b"", "entry", parameters, size, 1)


class Block(ctypes.Structure):
    """What a C compiler makes of (int8, array<f32,2>, int16, double, vec<f32,3>)."""

    _fields_ = (
        ("small", ctypes.c_int8),
        ("ptr", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * 2),
        ("strides", ctypes.c_int64 * 2),
        ("short", ctypes.c_int16),
        ("real", ctypes.c_double),
        ("vector", ctypes.c_float * 3),
    )


def test_a_block_is_what_c_would_read():
    artifact = make_artifact(
        types.i8, Array(types.f32, 2), types.i16, types.f64, Vector(types.f32, 3)
    )
    assert artifact.block_size == ctypes.sizeof(Block)
    words = [-5, 2**64 - 64, 3, 4, -16, 4, 1234, 0.1, 1.0, 2.0, 3.0]
    data = packer_of(artifact).pack(words)
    block = Block.from_buffer_copy(data)
    assert (block.small, block.ptr, block.short, block.real) == (-5, 2**64 - 64, 1234, 0.1)
    assert list(block.shape) == [3, 4]
    assert list(block.strides) == [-16, 4]
    assert list(block.vector) == [1.0, 2.0, 3.0]


def test_bfloat16_parameters_are_given_as_values():
    artifact = make_artifact(types.f32, types.bf16, Vector(types.bf16, 2))
    data = packer_of(artifact).pack([1.0, 1.5, -2.0, math.inf])
    assert struct.unpack_from("<fHHH", data) == (1.0, 0x3FC0, 0xC000, 0x7F80)


def test_an_empty_block():
    artifact = make_artifact()
    assert packer_of(artifact).pack([]) == b""


def test_equal_signatures_share_a_packer():
    first, second = make_artifact(types.i32, types.f32), make_artifact(types.i32, types.f32)
    assert packer_of(first) is packer_of(second)
    assert packer_of(first) is not packer_of(make_artifact(types.f32, types.i32))


@pytest.mark.parametrize("words", [[1], [1, 2, 3], [2**31, 0.0], ["x", 0.0], [1, 1e300]])
def test_words_that_nobody_checked_are_our_bug(words):
    with pytest.raises(InternalError):
        packer_of(make_artifact(types.i32, types.f32)).pack(words)


@given(st.lists(st.sampled_from([*types.SCALARS, Array(types.f64, 3), OUTER]), max_size=6))
def test_any_signature_packs_to_its_layout(kinds):
    artifact = make_artifact(*kinds)
    packer = packer_of(artifact)
    places, words = [], []
    for parameter in artifact.parameters:
        t = parameter.type
        for offset, leaf in zip(types.leaf_offsets(t), types.leaves(t), strict=True):
            at = parameter.offset + offset
            if isinstance(leaf, Array):
                for k in range(7):
                    places.append((at + 8 * k, np.dtype("int64"), 1000 + len(words)))
                    words.append(1000 + len(words))
            else:
                value = VALUES[leaf.name]
                raw = 0xBFC0 if leaf is types.bf16 else value
                places.append((at, leaf.carrier, raw))
                words.append(value)
    data = packer.pack(words)
    assert packer.words == len(words)
    assert len(data) == artifact.block_size
    for at, carrier, value in places:
        assert np.frombuffer(data, carrier, 1, at)[0] == carrier.type(value)
