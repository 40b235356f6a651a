"""Bytes: array views that callers hand in, and the one place where the interpreter touches memory.

Every access of every kernel goes through :class:`Memory`; whoever observes accesses (traces, race
detection) observes them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.types import Array, Scalar, as_type, leaf_offsets, leaves, numpy_dtype, size_of
from heald.types.descriptors import Element

Lanes = npt.NDArray[Any]
"""A value of each lane: one-dimensional, of extent 1 where all lanes share it."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class ArrayView:
    """An array in a buffer of bytes, as a kernel sees it.

    Two views of one buffer, or of overlapping buffers, alias.

    Attributes:
        buffer: one-dimensional contiguous uint8 array; nothing outside it is ever touched.
        offset: byte offset of element (0, ..., 0) in the buffer.
        shape: extent of each axis.
        strides: bytes from one element to the next on each axis; may be zero or negative.
        dtype: the element type; its scalars lie at ``types.leaf_offsets``, at any alignment.
        written: one bool for each byte of ``buffer``.  Where given, reading a byte that is still
            False is a fault, and stores set it.

    Raises:
        ValueError: a malformed view, or one with an element outside the buffer.
    """

    buffer: Bytes
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Element
    written: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        buffer = self.buffer
        if buffer.ndim != 1 or buffer.dtype != np.uint8 or not buffer.flags.c_contiguous:
            raise ValueError("the buffer of an array view is a contiguous 1-D uint8 array")
        if len(self.shape) != len(self.strides):
            raise ValueError(f"shape {self.shape} and strides {self.strides} differ in length")
        if any(extent < 0 for extent in self.shape):
            raise ValueError(f"shape {self.shape} has a negative extent")
        if 0 in self.shape:
            return
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(min(0, r) for r in reach)
        high = self.offset + sum(max(0, r) for r in reach) + size_of(self.dtype)
        if low < 0 or high > len(buffer):
            raise ValueError(f"the view spans bytes {low} to {high} of a {len(buffer)}-byte buffer")
        if self.written is not None and self.written.shape != buffer.shape:
            raise ValueError("`written` has one entry for each byte of the buffer")

    def leaf(self, k: int = 0) -> npt.NDArray[Any]:
        """Leaf ``k`` of every element: a numpy view of shape ``shape`` on its carrier."""
        leaf = leaves(self.dtype)[k]
        assert isinstance(leaf, Scalar)
        if 0 in self.shape:
            return np.empty(self.shape, leaf.carrier)
        start = self.offset + leaf_offsets(self.dtype)[k]
        return np.ndarray(self.shape, leaf.carrier, self.buffer.data, start, self.strides)

    @classmethod
    def allocate(
        cls, dtype: Element, shape: Sequence[int], *, initialised: bool = True
    ) -> ArrayView:
        """A new C-contiguous array of zeros; unless ``initialised``, reads before writes fault."""
        size = prod(shape) * size_of(dtype)
        written = None if initialised else np.zeros(size, bool)
        extents = tuple(shape)
        return cls(np.zeros(size, np.uint8), 0, extents, c_strides(dtype, extents), dtype, written)

    @classmethod
    def from_numpy(cls, array: npt.NDArray[Any], dtype: Element | None = None) -> ArrayView:
        """The memory of ``array`` itself, seen as elements of ``dtype``.

        A vector or matrix type takes its components from trailing axes, a struct type takes
        ``types.numpy_dtype`` of itself; without ``dtype`` the elements are the numbers of the array
        (bfloat16 has no numpy dtype and must be asked for; its array is uint16).

        Raises:
            ValueError: the numpy dtype or the trailing axes are not those of ``dtype``.
        """
        element = as_type(array.dtype) if dtype is None else dtype
        if element is None or not isinstance(element, Element):
            raise ValueError(f"numpy dtype {array.dtype} is no element type")
        component = numpy_dtype(element)
        base, inner = component.base, component.shape
        outer = array.ndim - len(inner)
        if array.dtype != base or outer < 0 or array.shape[outer:] != inner:
            raise ValueError(f"a numpy array of {array.dtype}{array.shape} holds no {element}")
        packed = tuple(base.itemsize * prod(inner[k + 1 :]) for k in range(len(inner)))
        if array.size and array.strides[outer:] != packed:
            raise ValueError(f"the components of {element} are not packed in the numpy array")
        buffer, offset = _bytes_of(array)
        return cls(buffer, offset, array.shape[:outer], array.strides[:outer], element)


def c_strides(dtype: Element, shape: Sequence[int]) -> tuple[int, ...]:
    """Byte strides of a row-major array without gaps."""
    return tuple(size_of(dtype) * prod(shape[k + 1 :]) for k in range(len(shape)))


def _bytes_of(array: npt.NDArray[Any]) -> tuple[Bytes, int]:
    """All bytes of a strided array, gaps included, and where its first element is."""
    if not array.size:
        return np.zeros(0, np.uint8), 0
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = sum(min(0, r) for r in reach)
    span = sum(abs(r) for r in reach) + array.itemsize
    lowest = array[(*(-1 if s < 0 else 0 for s in array.strides), ...)]
    start = lowest.reshape(1).view(np.uint8)
    buffer = np.lib.stride_tricks.as_strided(start, (span,), (1,), writeable=array.flags.writeable)
    return buffer, -low


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A buffer that kernels read and write, and which of its bytes are initialised."""

    buffer: Bytes
    written: npt.NDArray[np.bool_] | None = None

    def cells(self, carrier: np.dtype[Any], address: Lanes) -> tuple[npt.NDArray[Any], Lanes]:
        """The buffer as numbers of ``carrier``, and which of them is at each byte address."""
        size = carrier.itemsize
        if size == 1:
            return self.buffer.view(carrier), address
        phase = int(address[0]) & (size - 1) if len(address) else 0
        if not ((address - phase) & (size - 1)).any():
            count = (len(self.buffer) - phase) // size
            cells = np.ndarray((count,), carrier, self.buffer.data, phase)
            return cells, (address - phase) // size
        every = np.ndarray((len(self.buffer) - size + 1,), carrier, self.buffer.data, 0, (1,))
        return every, address

    def unwritten(self, carrier: np.dtype[Any], address: Lanes) -> Lanes | None:
        """Which numbers have a byte that was never written; None where that is not recorded."""
        if self.written is None:
            return None
        bytes_written: Lanes = self.written[address[:, None] + np.arange(carrier.itemsize)]
        return np.asarray(~bytes_written.all(axis=1))

    def read(self, carrier: np.dtype[Any], address: Lanes) -> Lanes:
        """The numbers at byte addresses, which lie inside; a bool is true unless its byte is 0."""
        if carrier.kind == "b":
            return np.asarray(self.buffer[address] != 0)
        cells, position = self.cells(carrier, address)
        return np.asarray(cells[position])

    def write(self, address: Lanes, numbers: Lanes) -> None:
        """Put numbers at byte addresses, which lie inside; where two meet, the later one stays."""
        cells, position = self.cells(numbers.dtype, address)
        cells[position] = numbers
        self.mark(numbers.dtype, address)

    def mark(self, carrier: np.dtype[Any], address: Lanes) -> None:
        """Note that the numbers at byte addresses are initialised from now on."""
        if self.written is not None:
            self.written[address[:, None] + np.arange(carrier.itemsize)] = True


_ZERO = np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayValue:
    """An array as a value of a kernel: every field may differ from lane to lane.

    Every index inside ``shape`` addresses an element inside the memory of its lane; whoever makes
    an ``ArrayValue`` sees to that.

    Attributes:
        memories: the memories that lanes may refer to.
        which: position in ``memories``.
        offset: byte offset of the first element.
        shape: int64 extents, one entry per axis.
        strides: int64 byte strides, one entry per axis.
        dtype: the element type.
    """

    memories: tuple[Memory, ...]
    which: Lanes
    offset: Lanes
    shape: tuple[Lanes, ...]
    strides: tuple[Lanes, ...]
    dtype: Element

    @classmethod
    def of(cls, view: ArrayView) -> ArrayValue:
        """The same array for all lanes."""
        return cls(
            (Memory(view.buffer, view.written),),
            _ZERO,
            np.array([view.offset], np.int64),
            tuple(np.array([n], np.int64) for n in view.shape),
            tuple(np.array([s], np.int64) for s in view.strides),
            view.dtype,
        )

    @classmethod
    def local(cls, t: Array, lanes: int) -> ArrayValue:
        """A fresh zeroed array of type ``t`` for each of ``lanes`` lanes."""
        shape = t.shape or ()
        size = prod(shape) * size_of(t.dtype)
        return cls(
            (Memory(np.zeros(lanes * size, np.uint8)),),
            _ZERO,
            np.arange(lanes, dtype=np.int64) * size,
            tuple(np.array([n], np.int64) for n in shape),
            tuple(np.array([s], np.int64) for s in c_strides(t.dtype, shape)),
            t.dtype,
        )
