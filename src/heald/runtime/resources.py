"""Resource tables: what kernels find behind a handle of a hash grid, mesh or BVH
(``artifact.abi``).

A handle is kind | generation | index.  Every registration of a slot has a generation of its own and
a slot whose generations are used up is never used again, so a stale handle never matches.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from heald.artifact import abi
from heald.diagnostics import DeviceError, Diagnostic, InternalError
from heald.forks import ForkSafeLock
from heald.runtime.device import CPU, SIM, Device
from heald.runtime.memory import Allocation, allocate

_LAST_GENERATION = (1 << (abi.HANDLE_KIND_SHIFT - abi.HANDLE_GENERATION_SHIFT)) - 1
_INDEX_MASK = (1 << abi.HANDLE_GENERATION_SHIFT) - 1
_SCALAR_SIZE = 8
_ARRAY = struct.Struct("<Qqq")


@dataclass(frozen=True, slots=True, eq=False)
class ResourceArray:
    """One array of a resource.

    Attributes:
        ptr: address of its first element.
        extent: how many elements.
        stride: bytes from one to the next.
        owner: what the memory belongs to; the table keeps it alive.
    """

    ptr: int
    extent: int
    stride: int
    owner: object


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A live record.  The scalars are numpy scalars, whose dtypes say how many bytes a kernel
    reads."""

    handle: int
    scalars: tuple[np.generic, ...]
    arrays: tuple[ResourceArray, ...]

    def is_same(self, other: Resource) -> bool:
        """Do kernels find the same under both?  Both keep their memory alive, so equal addresses
        are the same memory."""
        return self is other or _encode(self) == _encode(other)


class Snapshot:
    """Bytes of a table and what they refer to.  Never changed while a launch holds it.

    ``revision`` grows with every change.
    """

    __slots__ = ("__weakref__", "holders", "memory", "records", "revision")

    def __init__(self, capacity: int) -> None:
        self.memory: Allocation = allocate(capacity * abi.RESOURCE_SIZE, zeroed=True)
        self.records: dict[int, Resource] = {}
        self.holders = 0
        self.revision = 0

    @property
    def ptr(self) -> int:
        """Address of the records."""
        return self.memory.ptr

    def copy(self) -> Snapshot:
        """The same table in other memory, which nobody holds."""
        twin = Snapshot(self.memory.nbytes // abi.RESOURCE_SIZE)
        twin.memory.buffer[:] = self.memory.buffer
        twin.records = dict(self.records)
        return twin

    def write(self, index: int, data: bytes) -> None:
        """Replace the bytes of a record."""
        self.revision += 1
        start = index * abi.RESOURCE_SIZE
        self.memory.buffer[start : start + abi.RESOURCE_SIZE] = np.frombuffer(data, np.uint8)


class ResourceTable:
    """The resources of one device.

    Threads may use it at the same time, and finalisers may call :meth:`release` at any moment.  A
    running launch sees the table as it was when the launch began, and that table keeps its memory
    alive.
    """

    def __init__(self, capacity: int = abi.RESOURCE_CAPACITY) -> None:
        self._capacity = capacity
        self._snapshot = Snapshot(capacity)
        self._generations = [1] * capacity
        self._free = list(range(capacity - 1, -1, -1))
        self._lock = ForkSafeLock()
        self._released: deque[int] = deque()

    def register(
        self, kind: int, scalars: Sequence[np.generic] = (), arrays: Sequence[ResourceArray] = ()
    ) -> int:
        """Enter a resource of a kind (1 to 255) and return its handle, which is never 0.

        Raises:
            DeviceError: every slot is taken (H0803).
            InternalError: more scalars or arrays than a record holds.
        """
        if not 1 <= kind <= 255:
            raise InternalError(f"resource kinds are 1 to 255, not {kind}")
        with self._locked():
            if not self._free:
                raise DeviceError(
                    Diagnostic(
                        "H0803",
                        f"a device holds at most {self._capacity} hash grids, meshes and BVHs at a "
                        "time, and all places are taken",
                        hint="drop the ones that are no longer used, for example with `del grid`",
                    )
                )
            index = self._free[-1]
            handle = (
                kind << abi.HANDLE_KIND_SHIFT
                | self._generations[index] << abi.HANDLE_GENERATION_SHIFT
                | index
            )
            self._put(index, Resource(handle, tuple(scalars), tuple(arrays)))
            self._free.pop()
        return handle

    def update(self, resource: Resource) -> None:
        """Replace everything behind a live handle, which stays valid.

        Raises:
            DeviceError: the handle is stale or foreign (H0406).
        """
        with self._locked():
            index = self._index_of(resource.handle)
            if index is None:
                raise stale(resource.handle)
            if resource.is_same(self._snapshot.records[index]):
                self._snapshot.records[index] = resource  # so that it is found to be the same soon
            else:
                self._put(index, resource)

    def release(self, handle: int) -> None:
        """Let a resource go; its handle never matches again.  Does nothing when it is stale
        already."""
        self._released.append(handle)
        while self._released and self._lock.acquire(blocking=False):
            # When the lock is taken, its holder (perhaps this very thread, in whose middle a
            # finaliser runs) or the next one to take it does the work.
            try:
                self._drain()
            finally:
                self._lock.release()

    def look_up(self, handle: int) -> Resource | None:
        """The live resource behind a handle, or None."""
        with self._locked():
            index = self._index_of(handle)
            return None if index is None else self._snapshot.records[index]

    def live(self) -> dict[int, Resource]:
        """Every live resource by its index in the table."""
        with self._locked():
            return dict(self._snapshot.records)

    def hold(self) -> Snapshot:
        """The table as it is now: unchanged, and with its memory alive, until :meth:`let_go`."""
        with self._lock:
            self._drain()
            self._snapshot.holders += 1
            return self._snapshot

    def let_go(self, snapshot: Snapshot) -> None:
        """End what :meth:`hold` began."""
        with self._lock:
            snapshot.holders -= 1
            self._drain()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            self._drain()
            yield
        if self._released:
            with self._lock:
                self._drain()

    def _drain(self) -> None:
        while self._released:
            index = self._index_of(self._released.popleft())
            if index is None:
                continue
            snapshot = self._writable()
            snapshot.write(index, bytes(abi.RESOURCE_SIZE))
            del snapshot.records[index]
            self._generations[index] += 1
            if self._generations[index] <= _LAST_GENERATION:
                self._free.append(index)

    def _writable(self) -> Snapshot:
        if self._snapshot.holders:
            self._snapshot = self._snapshot.copy()
        return self._snapshot

    def _index_of(self, handle: int) -> int | None:
        index = handle & _INDEX_MASK
        record = self._snapshot.records.get(index)
        return index if record is not None and record.handle == handle else None

    def _put(self, index: int, resource: Resource) -> None:
        data = _encode(resource)
        snapshot = self._writable()
        snapshot.write(index, data)
        snapshot.records[index] = resource


def stale(handle: int) -> DeviceError:
    """The error of a handle whose resource is gone."""
    return DeviceError(Diagnostic("H0406", f"handle {handle:#018x} names no live resource"))


def _encode(resource: Resource) -> bytes:
    if len(resource.scalars) > abi.RESOURCE_SCALAR_COUNT:
        raise InternalError(f"a resource has at most {abi.RESOURCE_SCALAR_COUNT} scalars")
    if len(resource.arrays) > abi.RESOURCE_ARRAY_COUNT:
        raise InternalError(f"a resource has at most {abi.RESOURCE_ARRAY_COUNT} arrays")
    data = bytearray(abi.RESOURCE_SIZE)
    struct.pack_into("<Q", data, abi.RESOURCE_HANDLE, resource.handle)
    for slot, scalar in enumerate(resource.scalars):
        if not isinstance(scalar, np.generic) or scalar.nbytes > _SCALAR_SIZE:
            raise InternalError(f"{scalar!r} is no numpy scalar of at most 8 bytes")
        start = abi.RESOURCE_SCALARS + slot * _SCALAR_SIZE
        data[start : start + scalar.nbytes] = _little_endian(scalar)
    for slot, array in enumerate(resource.arrays):
        start = abi.RESOURCE_ARRAYS + slot * abi.RESOURCE_ARRAY_SIZE
        _ARRAY.pack_into(data, start, array.ptr, array.extent, array.stride)
    return bytes(data)


def _little_endian(scalar: np.generic[Any]) -> bytes:
    return np.asarray(scalar).astype(scalar.dtype.newbyteorder("<")).tobytes()


_TABLES: dict[str, ResourceTable] = {device.alias: ResourceTable() for device in (CPU, SIM)}


def table_of(device: Device) -> ResourceTable:
    """The resource table of a device; that of a GPU is made when it is first asked for."""
    found = _TABLES.get(device.alias)
    return found or _TABLES.setdefault(device.alias, ResourceTable())
