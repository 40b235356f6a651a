"""The bytes of arrays: one word tells every difference that a launch refuses."""

import struct

from heald.runtime import CPU, SIM, array_signature, pack_array
from heald.runtime.descriptors import READ_ONLY, WIDE
from heald.types import Struct, Vector, f32, i32


def test_every_kind_of_array_has_a_word_of_its_own():
    kinds = [f32, i32, Vector(f32, 3), Struct("S", (("x", f32),)), Struct("S", (("x", i32),))]
    words = {
        array_signature(kind, ndim, device) | flags
        for kind in kinds
        for ndim in (1, 2, 3, 4)
        for device in (CPU, SIM)
        for flags in (0, READ_ONLY, WIDE, READ_ONLY | WIDE)
    }
    assert len(words) == len(kinds) * 4 * 2 * 4
    assert array_signature(Vector(f32, 3), 2, CPU) == array_signature(Vector(f32, 3), 2, CPU)


def test_the_bytes_of_an_array():
    word = array_signature(f32, 2, CPU)
    small = pack_array(f32, CPU, 0xFFFF_FFFF_FFFF_0000, (3, 5), (-20, 4), read_only=False)
    assert struct.unpack("<QQ4q", small) == (word, 0xFFFF_FFFF_FFFF_0000, 3, 5, -20, 4)
    frozen = pack_array(f32, CPU, 16, (3, 5), (20, 4), read_only=True)
    assert struct.unpack_from("<Q", frozen) == (word | READ_ONLY,)
    wide = pack_array(f32, CPU, 16, (1 << 31, 1), (4, 4), read_only=False)
    assert struct.unpack_from("<Q", wide) == (word | WIDE,)
    narrow = pack_array(f32, CPU, 16, ((1 << 31) - 1, 1), (4, 4), read_only=False)
    assert struct.unpack_from("<Q", narrow) == (word,)
