"""Indexed arrays as types: a struct of an array and of the indices that pick its elements.

Passes, provers and code generators see the struct; only the front end and the host know what it
means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from heald.types.descriptors import Array, Element, Scalar, Struct, Type

_KIND = "indexedarray()"
"""The name of every such struct: no class can have it."""


@dataclass(frozen=True, slots=True)
class IndexedArray:
    """What an indexed array consists of.

    Attributes:
        dtype: the element type.
        indices: for each axis the integer type of its indices, None where it is taken as it is.
    """

    dtype: Element
    indices: tuple[Scalar | None, ...]

    def spell(self, element: str) -> str:
        """The type as users write it, with ``element`` as the text of the element type."""
        return f"indexedarray(dtype={element}, ndim={self.ndim})"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.indices)

    def leaf(self, axis: int) -> int:
        """The leaf that holds the indices of an axis; the data are leaf 0."""
        return 1 + sum(t is not None for t in self.indices[:axis])


def indexed_array(dtype: Element, indices: tuple[Scalar | None, ...]) -> Struct:
    """The struct type of an indexed array."""
    fields: list[tuple[str, Type]] = [("data", Array(dtype, len(indices)))]
    for axis, t in enumerate(indices):
        if t is not None:
            fields.append((f"indices[{axis}]", Array(t, 1)))
    return Struct(_KIND, tuple(fields))


def array_like(t: Type) -> Array | IndexedArray | None:
    """What a type says of an array, plain or indexed; None for every other type."""
    return t if isinstance(t, Array) else as_indexed(t)


@cache
def as_indexed(t: Type) -> IndexedArray | None:
    """What a type says of an indexed array; None for every other type."""
    if not isinstance(t, Struct) or t.name != _KIND:
        return None
    data = t.fields[0][1]
    assert isinstance(data, Array)
    found = {name: field.dtype for name, field in t.fields if isinstance(field, Array)}
    indices = (found.get(f"indices[{axis}]") for axis in range(data.ndim))
    return IndexedArray(data.dtype, tuple(x if isinstance(x, Scalar) else None for x in indices))
