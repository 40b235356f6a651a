"""``wp.array2d`` and its kin: arrays of a fixed number of dimensions."""

from __future__ import annotations

from functools import partial
from typing import Any

from heald.api.array import array
from heald.api.array_types import annotation
from heald.api.indexed import indexedarray
from heald.types import Pattern


class RankedArray:
    """``wp.array2d`` and its kin: :class:`array` of a fixed number of dimensions."""

    __slots__ = ("_ndim",)

    def __init__(self, ndim: int) -> None:
        self._ndim = ndim

    def __call__(self, *args: Any, **options: Any) -> Any:
        """As :class:`array` with this ``ndim``.

        Raises:
            TypingError, LaunchError, DeviceError: as :class:`array` does.
        """
        return array(*args, **{"ndim": self._ndim, **options})

    def __getitem__(self, dtype: Any) -> Pattern:
        return annotation(dtype, self._ndim)

    def __repr__(self) -> str:
        return f"heald.array{self._ndim}d"


array1d = RankedArray(1)
array2d = RankedArray(2)
array3d = RankedArray(3)
array4d = RankedArray(4)

indexedarray1d = partial(indexedarray, ndim=1)
indexedarray2d = partial(indexedarray, ndim=2)
indexedarray3d = partial(indexedarray, ndim=3)
indexedarray4d = partial(indexedarray, ndim=4)
