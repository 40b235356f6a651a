"""Resource handles: what host classes register so that kernels find it behind a ``uint64``.

For ``heald.geometry``; a handle names one object on one device, and a stale one is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heald.api.array import array
from heald.runtime import Device, ResourceArray, table_of


def register(
    device: Device, kind: int, scalars: Sequence[np.generic[Any]], arrays: Sequence[array]
) -> int:
    """Enter an object into a device's table; gives its handle.

    Args:
        device: where kernels will use the handle.
        kind: 1 to 255; the same number that the library's queries name.
        scalars: numpy scalars, read by ``resource_scalar`` at their position.
        arrays: one-dimensional arrays on ``device``, kept alive while they are registered.

    Raises:
        DeviceError: the table is full (H0803).
    """
    return table_of(device).register(kind, scalars, [_entry(a) for a in arrays])


def update(
    device: Device, handle: int, scalars: Sequence[np.generic[Any]], arrays: Sequence[array]
) -> None:
    """Replace what stands behind a handle.  Launches that are running keep seeing the old content.

    Raises:
        DeviceError: the handle is stale (H0406).
    """
    table_of(device).update(handle, scalars, [_entry(a) for a in arrays])


def release(device: Device, handle: int) -> None:
    """Take an object out of the table; safe in finalisers, and on handles that are gone."""
    table_of(device).release(handle)


def _entry(a: array) -> ResourceArray:
    return ResourceArray(a.ptr, a.shape[0], a.strides[0], a)
