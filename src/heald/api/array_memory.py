"""The memory of an array: where it lies, what it holds, and how the host and others see it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.array_input import read_only_error
from heald.api.array_types import public_type
from heald.api.device_memory import Bytes, cuda_interface, fetch, is_pinned, put_back, settle
from heald.api.struct import spell
from heald.diagnostics import LaunchError
from heald.runtime import (
    Allocation,
    Device,
    byte_size,
    byte_span,
    contiguous_strides,
    memory_bytes,
)
from heald.types import Array, Struct, bf16, leaves, numpy_dtype, size_of
from heald.types.descriptors import Element, from_bfloat16

NDArray = npt.NDArray[Any]


class ArrayMemory:
    """What every array is: typed, strided memory of a device; ``array`` makes them."""

    __slots__ = (
        "__weakref__",
        "_device",
        "_element",
        "_owner",
        "_ptr",
        "_read_only",
        "_shape",
        "_strides",
        "packed",
    )

    _element: Element
    _ptr: int
    _shape: tuple[int, ...]
    _strides: tuple[int, ...]
    _device: Device
    _owner: object
    _read_only: bool
    packed: bytes
    """What launch entries read (``runtime.descriptors``)."""

    # -- properties --------------------------------------------------------------------------------

    @property
    def __heald_type__(self) -> Array:
        return Array(self._element, len(self._shape))

    @property
    def element_type(self) -> Element:
        """The descriptor of one element."""
        return self._element

    @property
    def dtype(self) -> Any:
        """The element type as users write it: ``wp.float32``, ``wp.vec3``, a struct class."""
        return public_type(self._element)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next in each dimension; may be zero or negative."""
        return self._strides

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self._shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return size_of(self._element)

    @property
    def capacity(self) -> int:
        """Bytes between the first and the last byte of elements."""
        low, high = byte_span(self._shape, self._strides, self.itemsize)
        return high - low

    @property
    def ptr(self) -> int:
        """Address of element (0, ..., 0); of zeros where there are no elements.

        Who asks may write there, so afterwards nothing counts as unwritten.
        """
        self._mark_written(*byte_span(self._shape, self._strides, self.itemsize))
        return self._ptr

    @property
    def address(self) -> int:
        """The same for Heald itself, which says what it writes."""
        return self._ptr

    def _mark_written(self, low: int, high: int) -> None:
        """Bytes [low, high) from element (0, ..., 0) on were written, or may have been."""
        owner = self._owner
        if isinstance(owner, Allocation):
            start = self._ptr - owner.ptr
            owner.mark_written(start + low, start + high)

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return self._device

    @property
    def owner(self) -> object:
        """What the memory belongs to; the array keeps it alive."""
        return self._owner

    @property
    def read_only(self) -> bool:
        """Does it share memory that must not be written?"""
        return self._read_only

    @property
    def pinned(self) -> bool:
        """Does it live in memory of the host that GPUs copy from and to by themselves?"""
        return is_pinned(self._owner)

    @property
    def requires_grad(self) -> bool:
        """Does it keep a gradient?  No."""
        return False

    @property
    def is_contiguous(self) -> bool:
        """Do the elements follow each other without gaps, last dimension fastest?"""
        return self._strides == contiguous_strides(self._shape, self.itemsize)

    def __len__(self) -> int:
        return self._shape[0]

    # -- contents ----------------------------------------------------------------------------------

    def numpy(self) -> NDArray:
        """A numpy array that shares the memory, with the axes of vectors and matrices last; a copy
        of the memory of a GPU.

        Structs give records.  bfloat16 gives a float32 copy that cannot be written, as numpy has no
        such type.
        """
        if leaves(self._element)[0] is bf16 and not isinstance(self._element, Struct):
            copy = np.asarray(from_bfloat16(self.carriers()))
            copy.flags.writeable = False
            return copy
        return self.carriers()

    def carriers(self, *, fresh: bool = False) -> NDArray:
        """As :meth:`numpy`, but bfloat16 as uint16, its bits: the memory itself, or a copy of a
        GPU's.  ``fresh`` says that all elements will be overwritten, so none needs to be fetched.
        """
        t = numpy_dtype(self._element)
        inner = contiguous_strides(t.shape, t.base.itemsize)
        return self._expose(t.base, self._shape + t.shape, self._strides + inner, fresh)

    def raw(self, *, fresh: bool = False) -> NDArray:
        """The same as pieces of the size of an element, whatever they mean."""
        size = self.itemsize
        piece = np.dtype(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")
        return self._expose(piece, self._shape, self._strides, fresh)

    def _expose(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], strides: Any, fresh: bool
    ) -> NDArray:
        low, high = byte_span(self._shape, self._strides, self.itemsize)
        if low == high:
            return np.empty(shape, dtype)
        self._mark_written(low, high)
        settle(self._owner)
        if not self._device.is_cuda:
            memory = memory_bytes(
                self._ptr + low, high - low, self._owner, read_only=self._read_only
            )
        elif fresh and self.is_contiguous:
            memory = np.zeros(high - low, np.uint8)
        else:
            memory = fetch(self._device, self._ptr + low, high - low)
        return np.ndarray(shape, dtype, memory, -low, strides)

    def _bytes(self) -> Bytes:
        """The memory of a contiguous array."""
        size = byte_size(self._shape, self.itemsize)
        return Bytes(self._device, self._ptr, size, self._owner)

    def _put(self, host: NDArray, values: Any) -> None:
        """Assign all elements through what :meth:`raw` or :meth:`carriers` gave."""
        _move(host, values)
        self.put_back(host)

    def put_back(self, host: NDArray) -> None:
        """Let changes of what :meth:`raw` or :meth:`carriers` gave count on a GPU, too."""
        put_back(self._device, self._ptr, (self._shape, self._strides), self.itemsize, host)

    def _check_writable(self) -> None:
        if self._read_only:
            raise LaunchError(read_only_error("this array"))

    # -- Python protocols --------------------------------------------------------------------------

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if (
            isinstance(self._element, Struct)
            or leaves(self._element)[0] is bf16
            or self._device.is_cuda
        ):
            # numpy then asks __array__, which says these types exactly, and copies from a GPU.
            raise AttributeError("__array_interface__")
        interface: dict[str, Any] = self.carriers().__array_interface__
        return interface

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device, in the words of DLPack."""
        return (2, self._device.ordinal) if self._device.is_cuda else (1, 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if isinstance(self._element, Struct) or not self._device.is_cuda:
            raise AttributeError("__cuda_array_interface__")
        layout = (self._shape, self._strides)
        return cuda_interface(self._device, self._element, layout, self._ptr, self._read_only)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        mine = self.numpy()
        if copy is False:
            if dtype is not None and np.dtype(dtype) != mine.dtype:
                raise ValueError(f"an array of {spell(self._element)} is no {dtype} without a copy")
            if self._device.is_cuda or not (0 in self._shape or mine.ctypes.data == self._ptr):
                raise ValueError(
                    f"numpy cannot share an array of {spell(self._element)} on '{self._device}'"
                )
        converted = mine if dtype is None else mine.astype(dtype, copy=False)
        return converted.copy() if copy and converted is mine else converted

    def __repr__(self) -> str:
        content = np.array2string(self.numpy(), separator=", ", prefix="array(")
        return (
            f"array({content}, shape={self._shape}, dtype={spell(self._element)}, "
            f"device={self._device})"
        )

    def __str__(self) -> str:
        return str(self.numpy())


def overlap(a: ArrayMemory, b: ArrayMemory) -> bool:
    """May two arrays have bytes in common?"""
    (low, high), (first, last) = _addresses(a), _addresses(b)
    return a._device == b._device and low < last and first < high


def is_same(a: ArrayMemory, b: ArrayMemory) -> bool:
    """Has each element of two arrays the same bytes?"""
    return (a._device, a._ptr, a._shape, a._strides, a.itemsize) == (
        (b._device, b._ptr, b._shape, b._strides, b.itemsize)
    )


def _addresses(a: ArrayMemory) -> tuple[int, int]:
    # Not by `ptr`, which says that all is written.
    low, high = byte_span(a._shape, a._strides, a.itemsize)
    return a._ptr + low, a._ptr + high


def _move(dest: NDArray, source: NDArray) -> None:
    """Assign all elements; what is read is what was there before."""
    # numpy 2.4 overwrites what it still has to read where strides differ: x[::-5] = x[8:5:-1].
    dest[...] = source.copy() if np.may_share_memory(dest, source) else source
