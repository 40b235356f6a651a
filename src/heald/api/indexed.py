"""Indexed arrays: elements of an array picked by lists of indices, one list for a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.array import array, new_array
from heald.api.array_input import bad_shape, element_of, read_only_error
from heald.api.indexing import find_view
from heald.api.scalars import describe
from heald.api.struct import spell
from heald.diagnostics import Diagnostic, LaunchError, OutOfBoundsError, TypingError
from heald.runtime import Device
from heald.types import i32
from heald.types.descriptors import Element

NDArray = npt.NDArray[Any]


class indexedarray:  # noqa: N801 - the name that users know
    """The elements of an array at chosen indices of each dimension, without a copy.

    ``wp.indexedarray(a, [rows, None])`` has element ``[i, j]`` at ``a[rows[i], j]``: as numpy's
    ``a[numpy.ix_(rows, columns)]``, but writing to it writes to ``a``.  ``None`` takes a dimension
    as it is.  Indices are checked when the indexed array is made, and kept: changes of ``rows``
    later have no effect.

    Kernels take arrays, so pass ``x.contiguous()``, or the array and its indices.

    Args:
        data: the array, of one to four dimensions.
        indices: int32 arrays of one dimension (or lists, numpy arrays) or None, at most one for
            each dimension; one array alone stands for the first dimension.
        dtype: checked to be the element type of ``data``.
        ndim: checked to be its number of dimensions.

    Raises:
        TypingError: ``data`` is no array, or indices are no integers (H0702); without ``data``,
            since kernels take no indexed arrays (H0207).
        LaunchError: too many indices, or not of one dimension (H0711).
        OutOfBoundsError: an index outside its dimension (H0401).
    """

    __slots__ = ("__weakref__", "_data", "_picked", "_shape")

    _data: array
    _picked: tuple[NDArray | None, ...]
    _shape: tuple[int, ...]

    def __init__(
        self, data: Any = None, indices: Any = None, dtype: Any = None, ndim: int | None = None
    ) -> None:
        if not isinstance(data, array):
            raise TypingError(_no_data(data))
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
        self._data = data
        self._picked = tuple(_read_indices(entry, k, data) for k, entry in enumerate(given))
        self._shape = tuple(
            extent if picked is None else len(picked)
            for extent, picked in zip(data.shape, self._picked, strict=True)
        )

    def __class_getitem__(cls, _: Any) -> Any:
        """Refuse annotations.

        Raises:
            TypingError: kernels take no indexed arrays (H0207).
        """
        raise TypingError(_no_data(None))

    @property
    def data(self) -> array:
        """The array whose elements these are."""
        return self._data

    @property
    def indices(self) -> tuple[array | None, ...]:
        """For each dimension a copy of its indices as int32 or int64, or None."""
        return tuple(None if p is None else array(p) for p in self._picked)

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
        find_view(key, self._shape, (0,) * self.ndim)  # checks the key
        keys = list(key) if isinstance(key, tuple) else [key]
        if ... in keys:
            at = keys.index(...)
            keys[at : at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        keys += [slice(None)] * (self.ndim - len(keys))
        chosen = [range(extent)[k] for extent, k in zip(self._shape, keys, strict=True)]
        if all(isinstance(k, range) for k in chosen):
            return _pick(self, chosen)
        fixed = tuple(
            slice(None) if isinstance(k, range) else self._position(axis, k)
            for axis, k in enumerate(chosen)
        )
        if not any(isinstance(k, slice) for k in fixed):
            return self._data[fixed]
        rest = [
            _compose(picked, k)
            for picked, k in zip(self._picked, chosen, strict=True)
            if isinstance(k, range)
        ]
        return _make(self._data[fixed], rest)

    def _position(self, axis: int, k: int) -> int:
        picked = self._picked[axis]
        return k if picked is None else int(picked[k])

    def _mesh(self) -> tuple[NDArray, ...]:
        axes = [
            np.arange(extent) if picked is None else picked
            for extent, picked in zip(self._shape, self._picked, strict=True)
        ]
        return np.ix_(*axes)

    def contiguous(self) -> array:
        """The elements as an array of their own."""
        made = new_array(self.element_type, self._shape, self.device)
        made._put(made.raw(fresh=True), self._data.raw()[self._mesh()])
        return made

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

    def __repr__(self) -> str:
        shown = repr(self.contiguous())
        return f"indexed{shown}"


def _make(data: array, picked: Sequence[NDArray | None]) -> indexedarray:
    """An indexed array of indices that are known to be good."""
    made = object.__new__(indexedarray)
    made._data = data
    made._picked = tuple(picked)
    made._shape = tuple(
        extent if p is None else len(p) for extent, p in zip(data.shape, picked, strict=True)
    )
    return made


def _pick(source: indexedarray, chosen: Sequence[range]) -> indexedarray:
    picked = [_compose(p, k) for p, k in zip(source._picked, chosen, strict=True)]
    return _make(source._data, picked)


def _compose(picked: NDArray | None, positions: range) -> NDArray:
    every = np.arange(positions.start, positions.stop, positions.step, dtype=np.int64)
    return every if picked is None else picked[every]


def _is_indices(entry: Any) -> bool:
    return entry is None or isinstance(entry, (array, np.ndarray, list, tuple, range))


def _no_data(data: Any) -> Diagnostic:
    if data is None:
        return Diagnostic(
            "H0207",
            "kernels take no indexed arrays",
            hint="annotate a wp.array(dtype=...) and pass x.contiguous(), or pass the array and "
            "its indices and read a[indices[i]]",
        )
    return Diagnostic("H0702", f"an indexed array is made of an array, not of {describe(data)}")


def _read_indices(entry: Any, axis: int, data: array) -> NDArray | None:
    """The indices of a dimension as a copy, each of them inside it."""
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
    extent = data.shape[axis]
    bad = np.flatnonzero((numbers < 0) | (numbers >= extent))
    if bad.size:
        where = int(bad[0])
        raise OutOfBoundsError(
            Diagnostic(
                "H0401",
                f"index {numbers[where]} (number {where} of dimension {axis}) is outside an array "
                f"of shape {data.shape}",
            )
        )
    wide = numbers.dtype.itemsize > i32.carrier.itemsize or extent > i32.highest
    return numbers.astype(np.int64 if wide else np.int32)
