"""``wp.array2d`` and its kin: arrays of a fixed number of dimensions."""

from __future__ import annotations

from typing import Any

from heald.api.array import array
from heald.api.indexed import indexedarray
from heald.diagnostics import Diagnostic, LaunchError
from heald.types import Pattern


class RankedArray:
    """``wp.array2d`` and its kin: :class:`array` or :class:`indexedarray` of a fixed number of
    dimensions."""

    __slots__ = ("_kind", "_ndim")

    def __init__(self, kind: Any, ndim: int) -> None:
        self._kind = kind
        self._ndim = ndim

    def __call__(self, *args: Any, **options: Any) -> Any:
        """As the kind with this ``ndim``.

        Raises:
            LaunchError: another ``ndim`` (H0703).
            TypingError, LaunchError, DeviceError: as the kind does.
        """
        wanted = options.setdefault("ndim", self._ndim)
        if wanted is not None and wanted != self._ndim:
            name = f"wp.{self._kind.__name__}"
            raise LaunchError(
                Diagnostic(
                    "H0703",
                    f"{name}{self._ndim}d has ndim={self._ndim}, not {wanted!r}",
                    hint=f"use {name} with ndim=",
                )
            )
        options["ndim"] = self._ndim
        return self._kind(*args, **options)

    def __getitem__(self, dtype: Any) -> Pattern:
        made: Pattern = self._kind[dtype, self._ndim]
        return made

    def __repr__(self) -> str:
        return f"heald.{self._kind.__name__}{self._ndim}d"


array1d = RankedArray(array, 1)
array2d = RankedArray(array, 2)
array3d = RankedArray(array, 3)
array4d = RankedArray(array, 4)

indexedarray1d = RankedArray(indexedarray, 1)
indexedarray2d = RankedArray(indexedarray, 2)
indexedarray3d = RankedArray(indexedarray, 3)
indexedarray4d = RankedArray(indexedarray, 4)
