"""Values to bytes and back: one element of an array, and the parameter block of a launch.

A *word* is what one field of the packed form takes: a Python number for a scalar leaf (bfloat16:
its value), and ``pointer, extent..., byte stride...`` for an array leaf.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cache

from heald.artifact import Artifact, Parameter
from heald.diagnostics import InternalError
from heald.types import Array, Leaf, Scalar, Type, bf16, leaf_offsets, leaves, size_of
from heald.types.descriptors import from_bfloat16, to_bfloat16

Word = bool | int | float

_CODES = {
    "b1": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f16": "e",
    "bf16": "H",
    "f32": "f",
    "f64": "d",
}


class _Layout:
    """A little-endian ``struct.Struct`` over leaves at given offsets, and which of its words are
    bfloat16."""

    __slots__ = ("narrow", "struct", "words")

    def __init__(self, fields: Iterable[tuple[int, Leaf]], size: int) -> None:
        codes = ["<"]
        narrow = []
        end = words = 0
        for offset, leaf in fields:
            if offset < end:
                raise InternalError(f"fields overlap at byte {offset}")
            codes.append(f"{offset - end}x")
            if isinstance(leaf, Scalar):
                codes.append(_CODES[leaf.name])
                if leaf is bf16:
                    narrow.append(words)
                words += 1
            else:
                codes.append(f"Q{2 * leaf.ndim}q")
                words += 1 + 2 * leaf.ndim
            end = offset + size_of(leaf)
        if end > size:
            raise InternalError(f"fields end at byte {end} of {size}")
        codes.append(f"{size - end}x")
        self.struct = struct.Struct("".join(codes))
        self.narrow = tuple(narrow)
        self.words = words

    def pack(self, words: Sequence[Word]) -> bytes:
        if self.narrow:
            words = list(words)
            for k in self.narrow:
                words[k] = int(to_bfloat16(words[k]))
        try:
            return self.struct.pack(*words)
        except (struct.error, OverflowError) as error:
            raise InternalError(f"unchecked words {tuple(words)!r}: {error}") from None

    def unpack(self, data: bytes) -> tuple[Word, ...]:
        words = self.struct.unpack(data)
        if not self.narrow:
            return words
        changed = list(words)
        for k in self.narrow:
            changed[k] = float(from_bfloat16(changed[k]))
        return tuple(changed)


class ElementCodec:
    """Leaves of one array element to its bytes and back.  Padding is zero."""

    __slots__ = ("_layout", "itemsize")

    def __init__(self, t: Type) -> None:
        self.itemsize = size_of(t)
        self._layout = _Layout(zip(leaf_offsets(t), leaves(t), strict=True), self.itemsize)

    def encode(self, leaf_values: Sequence[Word]) -> bytes:
        """The bytes of an element with these leaves, each already a value of its type."""
        return self._layout.pack(leaf_values)

    def decode(self, data: bytes) -> tuple[Word, ...]:
        """The leaves of an element as Python numbers."""
        return self._layout.unpack(data)


@cache
def codec_of(t: Type) -> ElementCodec:
    """The codec of an element type without arrays."""
    if any(isinstance(leaf, Array) for leaf in leaves(t)):
        raise InternalError(f"{t} holds an array and is never an element")
    return ElementCodec(t)


class Packer:
    """Words of all parameters to the parameter block of a launch.

    Attributes:
        block_size: bytes of the block.
        words: how many words one launch takes.
    """

    __slots__ = ("_layout", "block_size", "words")

    def __init__(self, parameters: Sequence[Parameter], block_size: int) -> None:
        self._layout = _Layout(
            (
                (parameter.offset + offset, leaf)
                for parameter in parameters
                for offset, leaf in zip(
                    leaf_offsets(parameter.type), leaves(parameter.type), strict=True
                )
            ),
            block_size,
        )
        self.block_size = block_size
        self.words = self._layout.words

    def pack(self, words: Sequence[Word]) -> bytes:
        """The parameter block.

        Raises:
            InternalError: the words are not those of the parameters; whoever calls has checked
                them.
        """
        return self._layout.pack(words)


@cache
def _packer(parameters: tuple[Parameter, ...], block_size: int) -> Packer:
    return Packer(parameters, block_size)


def packer_of(artifact: Artifact) -> Packer:
    """The packer of an artifact's parameters; kernels with equal parameters share it."""
    return _packer(artifact.parameters, artifact.block_size)
