"""Memory of host devices: allocation, sizes checked against overflow, bytes of foreign memory.

Nothing is ever freed by hand: memory lives as long as something refers to its owner, so there is no
use after free.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.diagnostics import DeviceError, Diagnostic, Note

Bytes = npt.NDArray[np.uint8]

ALIGNMENT = 64  # a cache line, and the widest vector register
MAX_BYTES = (1 << 63) - 1
_ZERO_PAGE_SIZE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """Bytes of host memory; they live as long as this object or a view of ``buffer`` does.

    Attributes:
        ptr: address of the first byte, a multiple of 64.
        nbytes: how many bytes were asked for.
        buffer: the bytes, uint8 of shape (nbytes,).
        written: where it is tracked, one bool for each byte: has anybody written it?
    """

    ptr: int
    nbytes: int
    buffer: Bytes
    written: npt.NDArray[np.bool_] | None = None

    def mark_written(self, start: int, stop: int) -> None:
        """Bytes [start, stop) were written, or may have been."""
        if self.written is not None:
            self.written[start:stop] = True


def allocate(nbytes: int, *, zeroed: bool = False, tracked: bool = False) -> Allocation:
    """New host memory aligned to 64 bytes; with ``zeroed`` all bytes are 0, else their contents are
    unspecified, and with ``tracked`` it is known which bytes were written.

    Raises:
        DeviceError: there is not that much memory (H0802).
    """
    if not 0 <= nbytes <= MAX_BYTES - ALIGNMENT:
        raise _exhausted(nbytes)
    make = np.zeros if zeroed else np.empty
    try:
        raw = make(nbytes + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):
        raise _exhausted(nbytes) from None
    skip = -raw.ctypes.data % ALIGNMENT
    buffer = raw[skip : skip + nbytes]
    written = np.zeros(nbytes, np.bool_) if tracked and not zeroed else None
    return Allocation(raw.ctypes.data + skip, nbytes, buffer, written)


ZERO_PAGE: Allocation = allocate(_ZERO_PAGE_SIZE, zeroed=True)
ZERO_PAGE.buffer.flags.writeable = False
"""Where arrays without elements point: 64 KiB of zeros."""


def empty_memory(itemsize: int) -> Allocation:
    """Valid zeroed memory for one element of ``itemsize`` bytes that nobody may ever address.

    A guarded read may load from an array of extent zero before it discards the value, so the
    pointer of one must be good for an element.
    """
    return ZERO_PAGE if itemsize <= ZERO_PAGE.nbytes else allocate(itemsize, zeroed=True)


def byte_size(shape: Sequence[int], itemsize: int) -> int:
    """Bytes of an array without gaps.

    Raises:
        DeviceError: the size, or the stride of an axis, is beyond what an address can hold (H0802).
    """
    if prod(max(1, extent) for extent in shape) * itemsize > MAX_BYTES:
        raise DeviceError(
            Diagnostic(
                "H0802",
                f"an array of shape {tuple(shape)} with elements of {itemsize} bytes would take "
                + (
                    "strides beyond what an address can reach"
                    if 0 in shape
                    else f"{prod(shape) * itemsize:,} bytes, more than an address can reach"
                ),
            )
        )
    return prod(shape) * itemsize


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Byte strides of a row-major array without gaps; an extent of 0 counts as 1."""
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


def byte_span(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """First byte and the one after the last that elements occupy, from element (0, ..., 0) on."""
    if 0 in shape:
        return 0, 0
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(min(0, r) for r in reach), sum(max(0, r) for r in reach) + itemsize


class _Foreign:
    """Says to numpy that bytes at an address are an array that keeps an owner alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, ptr: int, nbytes: int, owner: object, *, read_only: bool) -> None:
        self.owner = owner
        self.__array_interface__: dict[str, Any] = {
            "data": (ptr, read_only),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


class ForeignMemory:
    """Memory of somebody else that is given back when nothing refers to this object any more.

    Args:
        ptr: address of the first byte.
        nbytes: how many bytes.
        deleter: called with both, once; also at the end of the process.
    """

    __slots__ = ("__weakref__", "nbytes", "ptr")

    def __init__(self, ptr: int, nbytes: int, deleter: Callable[[int, int], object]) -> None:
        self.ptr = ptr
        self.nbytes = nbytes
        weakref.finalize(self, deleter, ptr, nbytes)


def memory_bytes(ptr: int, nbytes: int, owner: object, *, read_only: bool = False) -> Bytes:
    """The memory at an address as uint8 of shape (nbytes,); it keeps ``owner`` alive.

    The caller knows that these bytes belong to ``owner``.
    """
    return np.asarray(_Foreign(ptr, nbytes, owner, read_only=read_only))


def _exhausted(nbytes: int) -> DeviceError:
    scale = next((n for n in ("TiB", "GiB", "MiB") if nbytes >= _UNITS[n]), "bytes")
    size = f"{nbytes:,} bytes"
    readable = f" ({nbytes / _UNITS[scale]:.1f} {scale})" if scale != "bytes" else ""
    return DeviceError(
        Diagnostic(
            "H0802",
            f"cannot allocate {size}{readable} on the host",
            notes=(Note("memory is freed when no array, view or numpy array refers to it"),),
            hint="use smaller arrays or elements, or let go of arrays that are no longer needed",
        )
    )


_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
