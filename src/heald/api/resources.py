"""Resource handles: what host classes register so that kernels find it behind a ``uint64``.

For ``heald.geometry``; a handle names one object on one device, and a stale one is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heald.api.array import array
from heald.diagnostics import Diagnostic, LaunchError
from heald.runtime import Device, Resource, ResourceArray, table_of
from heald.runtime.cuda import current_stream
from heald.types import i32

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Resource", "describe", "register", "release", "update"]


def register(
    device: Device, kind: int, scalars: Sequence[np.generic[Any]], arrays: Sequence[array]
) -> int:
    """Enter an object into a device's table; gives its handle.

    Args:
        device: where kernels will use the handle.
        kind: 1 to 255; the same number that the library's queries name.
        scalars: numpy scalars, read by ``resource_scalar`` at their position.
        arrays: one-dimensional arrays on ``device``, kept alive while they are registered.

    While the current stream of a GPU is captured, the object is empty until the graph runs.

    Raises:
        DeviceError: the table is full (H0803).
        LaunchError: an array of 2^31 elements or more, or on a GPU one that is not dense (H0711).
    """
    capture = current_stream(device).capture if device.is_cuda else None
    entries = tuple(_entry(a) for a in arrays)
    if capture is not None:
        return capture.register(kind, Resource(0, tuple(scalars), entries))
    return table_of(device).register(kind, scalars, entries)


def describe(handle: int, scalars: Sequence[np.generic[Any]], arrays: Sequence[array]) -> Resource:
    """What may stand behind a handle, for :func:`update`.

    Raises:
        LaunchError: as :func:`register`.
    """
    return Resource(handle, tuple(scalars), tuple(_entry(a) for a in arrays))


def update(device: Device, content: Resource) -> None:
    """Replace what stands behind a handle; at once where the same object stands there already.

    Launches that are running keep seeing the old content.  While the current stream of a GPU is
    captured, that is done whenever the graph runs.

    Raises:
        DeviceError: the handle is stale (H0406), or captured launches see the old content (H0811).
    """
    capture = current_stream(device).capture if device.is_cuda else None
    if capture is not None:
        capture.update(content)
    else:
        table_of(device).update(content)


def release(device: Device, handle: int) -> None:
    """Take an object out of the table; safe in finalisers, and on handles that are gone."""
    table_of(device).release(handle)


def _entry(a: array) -> ResourceArray:
    """Kernels read extents of resource arrays as int32, whatever the launch."""
    if a.shape[0] > i32.highest:
        message = f"{a.shape[0]:,} elements are more than an object in a resource table may have"
        raise LaunchError(Diagnostic("H0711", message))
    if a.device.is_cuda and a.strides[0] != a.itemsize:
        message = f"an object in a resource table has dense arrays, not strides {a.strides}"
        raise LaunchError(Diagnostic("H0711", message, hint="register a.contiguous()"))
    return ResourceArray(a.ptr, a.shape[0], a.strides[0], a)
