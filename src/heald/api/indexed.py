"""Indexed arrays: elements of an array picked by lists of indices, one list for a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.array import array, new_array
from heald.api.array_input import bad_shape, element_of, is_single, read_only_error
from heald.api.array_types import annotation_key, indexed_annotation, is_type
from heald.api.indexing import find_view
from heald.api.scalars import describe
from heald.api.struct import spell
from heald.diagnostics import Diagnostic, LaunchError, OutOfBoundsError, TypingError
from heald.runtime import Device, get_device
from heald.types import IndexedPattern, Scalar, Struct, i32, i64, indexed_array
from heald.types.descriptors import Element

NDArray = npt.NDArray[Any]


class indexedarray:  # noqa: N801 - the name that users know
    """The elements of an array at chosen indices of each dimension, without a copy.

    ``wp.indexedarray(a, [rows, None])`` has element ``[i, j]`` at ``a[rows[i], j]``: as numpy's
    ``a[numpy.ix_(rows, columns)]``, but writing to it writes to ``a``.  ``None`` takes a dimension
    as it is.  Indices in a ``wp.array`` of int32 on the device of ``data`` are shared, so later
    changes of them count; others are copied.  They are checked when the indexed array is made,
    whenever the host reads or writes through them, and at each access of a kernel.

    In annotations, ``wp.indexedarray(dtype=float, ndim=2)``, ``wp.indexedarray(float)`` and
    ``wp.indexedarray[float]`` are the types of parameters.  A kernel is compiled once for each
    choice of dimensions that have indices.

    Args:
        data: the array, of one to four dimensions.
        indices: int32 arrays of one dimension (or lists, numpy arrays) or None, at most one for
            each dimension; one array alone stands for the first dimension.
        dtype: checked to be the element type of ``data``.
        ndim: checked to be its number of dimensions.

    Raises:
        TypingError: ``data`` is no array, or indices are no integers (H0702).
        LaunchError: too many indices, or not of one dimension (H0711).
        OutOfBoundsError: an index outside its dimension (H0401).
    """

    __slots__ = ("__weakref__", "_data", "_indices", "_shape", "_type", "packed")

    _data: array
    _indices: tuple[array | None, ...]
    _shape: tuple[int, ...]
    _type: Struct
    packed: bytes | None
    """What kernels take, once a launch had to make it."""

    def __new__(
        cls, data: Any = None, indices: Any = None, dtype: Any = None, ndim: Any = None
    ) -> Any:
        """An indexed array, or without data the type of one."""
        if (data is None or is_type(data)) and indices is None:
            return indexed_annotation(data if dtype is None else dtype, ndim)
        if not isinstance(data, array):
            raise TypingError(
                Diagnostic(
                    "H0702", f"an indexed array is made of an array, not of {describe(data)}"
                )
            )
        given = [indices] if not isinstance(indices, (list, tuple)) else list(indices)
        if given and not any(_is_indices(entry) for entry in given):
            given = [indices]  # a plain list of numbers
        if len(given) > data.ndim:
            raise bad_shape(
                f"{len(given)} lists of indices are too many for an array of {data.ndim} dimensions"
            )
        given += [None] * (data.ndim - len(given))
        if dtype is not None and element_of(dtype) is not data.element_type:
            raise TypingError(
                Diagnostic(
                    "H0702", f"dtype={dtype!r}, but the array has {spell(data.element_type)}"
                )
            )
        if ndim is not None and ndim != data.ndim:
            raise LaunchError(
                Diagnostic("H0703", f"ndim={ndim}, but the array has {data.ndim} dimensions")
            )
        return _make(data, [_read_indices(entry, k, data) for k, entry in enumerate(given)])

    def __class_getitem__(cls, key: Any) -> IndexedPattern:
        """``wp.indexedarray[float]`` and ``wp.indexedarray[float, 2]`` in annotations."""
        return indexed_annotation(*annotation_key(key))

    @property
    def data(self) -> array:
        """The array whose elements these are."""
        return self._data

    @property
    def __heald_type__(self) -> Struct:
        return self._type

    @property
    def indices(self) -> tuple[array | None, ...]:
        """For each dimension its indices, int32 (int64 where the dimension needs it), or None."""
        return self._indices

    @property
    def element_type(self) -> Element:
        """The descriptor of one element."""
        return self._data.element_type

    @property
    def dtype(self) -> Any:
        """The element type as users write it."""
        return self._data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension: how many indices it has."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self._shape)

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return self._data.device

    def __len__(self) -> int:
        return self._shape[0]

    def __getitem__(self, key: Any) -> Any:
        """One element (a copy), or an indexed array of fewer; as indexing an array.

        Raises:
            TypingError, OutOfBoundsError: as indexing an array.
        """
        fixed, rest = self._locate(key)
        part = self._data[fixed]
        return _make(part, rest) if rest else part

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign an element; or all elements of a part, from one value or from as many.

        Raises:
            TypingError, LaunchError, OutOfBoundsError: as assigning to an array.
        """
        fixed, rest = self._locate(key)
        if not rest:
            self._data[fixed] = value
            return
        part = _make(self._data[fixed], rest)
        if is_single(value):
            part.fill_(value)
        else:
            part.assign(value)

    def _locate(self, key: Any) -> tuple[tuple[int | slice, ...], list[array | None]]:
        """What a key means for the data, and the indices of the dimensions that stay."""
        find_view(key, self._shape, (0,) * self.ndim)  # checks the key
        keys = list(key) if isinstance(key, tuple) else [key]
        if ... in keys:
            at = keys.index(...)
            keys[at : at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        keys += [slice(None)] * (self.ndim - len(keys))
        chosen = [range(extent)[k] for extent, k in zip(self._shape, keys, strict=True)]
        fixed: list[int | slice] = []
        rest: list[array | None] = []
        for axis, (key, k, own) in enumerate(zip(keys, chosen, self._indices, strict=True)):
            if not isinstance(k, range):
                fixed.append(k if own is None else int(self._numbers(axis, slice(k, k + 1))[0]))
                continue
            fixed.append(key if own is None else slice(None))
            rest.append(None if own is None else own[key])
        return tuple(fixed), rest

    def _numbers(self, axis: int, part: slice = slice(None)) -> NDArray:
        """Some of the indices of a dimension as they are now, each of them inside it."""
        own = self._indices[axis]
        if own is None:
            return np.arange(self._shape[axis])[part]
        start = part.indices(len(own))[0]
        return _check_inside(own[part].numpy(), axis, self._data, start)

    def _mesh(self) -> tuple[NDArray, ...]:
        return np.ix_(*(self._numbers(axis) for axis in range(self.ndim)))

    def contiguous(self) -> array:
        """The elements as an array of their own."""
        made = new_array(self.element_type, self._shape, self.device)
        made._put(made.raw(fresh=True), self._data.raw()[self._mesh()])
        return made

    def to(self, device: Any) -> indexedarray | array:
        """This indexed array if it lives on ``device``, else its elements as an array there."""
        return self if get_device(device) == self.device else self.contiguous().to(device)

    def numpy(self) -> NDArray:
        """The elements as a numpy array of their own."""
        return self.contiguous().numpy()

    def list(self) -> list[Any]:
        """All elements in order, as Python numbers or host values."""
        return self.contiguous().list()

    def assign(self, source: Any) -> indexedarray:
        """Write the elements from an array, or from anything an array can be made of, of the same
        shape.  Of elements that are picked twice the last one counts.

        Raises:
            TypingError: it does not make elements of this type (H0712).
            LaunchError: another shape (H0711), or the array is read-only (H0705).
        """
        if self._data.read_only:
            raise LaunchError(read_only_error("this array"))
        whole = new_array(self.element_type, self._shape, self.device).assign(source)
        host = self._data.raw()
        host[self._mesh()] = whole.raw()
        self._data.put_back(host)
        return self

    def fill_(self, value: Any) -> indexedarray:
        """Set every element to one value, and return the indexed array.

        Raises:
            TypingError: the value is of another type (H0201) or does not fit (H0202).
            LaunchError: the array is read-only (H0705).
        """
        return self.assign(new_array(self.element_type, self._shape, self.device).fill_(value))

    def zero_(self) -> indexedarray:
        """Set every element to zero, and return the indexed array."""
        return self.assign(new_array(self.element_type, self._shape, self.device, zeroed=True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("the elements of an indexed array cannot be had without a copy")
        return self.contiguous().__array__(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self._data, self._indices)

    def __repr__(self) -> str:
        shown = repr(self.contiguous())
        return f"indexed{shown}"


def _make(data: array, indices: Sequence[array | None]) -> indexedarray:
    """An indexed array of indices that were checked, or will be when they are used."""
    made: indexedarray = object.__new__(indexedarray)
    made._data = data
    made._indices = tuple(indices)
    made._shape = tuple(
        extent if own is None else len(own) for extent, own in zip(data.shape, indices, strict=True)
    )
    types = (None if own is None else own.element_type for own in indices)
    made._type = indexed_array(
        data.element_type, tuple(t if isinstance(t, Scalar) else None for t in types)
    )
    made.packed = None
    return made


def _is_indices(entry: Any) -> bool:
    return entry is None or isinstance(entry, (array, np.ndarray, list, tuple, range))


def _read_indices(entry: Any, axis: int, data: array) -> array | None:
    """The indices of a dimension as an array where the data are, each of them inside it."""
    if entry is None:
        return None
    numbers = entry.numpy() if isinstance(entry, array) else np.asarray(entry)
    if numbers.size == 0 and not isinstance(entry, (array, np.ndarray)):
        numbers = numbers.astype(i32.carrier)
    if numbers.dtype.kind not in "iu":
        raise TypingError(
            Diagnostic("H0702", f"indices of dimension {axis} are integers, not {describe(entry)}")
        )
    if numbers.ndim != 1:
        raise bad_shape(
            f"indices of dimension {axis} have shape {numbers.shape}, not one dimension"
        )
    _check_inside(numbers, axis, data, 0)
    if isinstance(entry, array) and entry.element_type is i32 and entry.device == data.device:
        return entry
    wide = data.shape[axis] > i32.highest
    made: array = array(numbers, i64 if wide else i32, device=data.device)
    return made


def _check_inside(numbers: NDArray, axis: int, data: array, first: int) -> NDArray:
    """Refuse indices outside a dimension; ``first`` is the position of the first of them."""
    bad = np.flatnonzero((numbers < 0) | (numbers >= data.shape[axis]))
    if bad.size:
        where = int(bad[0])
        raise OutOfBoundsError(
            Diagnostic(
                "H0401",
                f"index {numbers[where]} (number {first + where} of dimension {axis}) is outside "
                f"an array of shape {data.shape}",
            )
        )
    return numbers
