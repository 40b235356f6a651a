"""Launch arguments: what a program needs to know of each parameter's value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import heald.interp as interp
from heald.artifact import Symbol
from heald.runtime import Allocation, byte_span, cuda, memory_bytes
from heald.types import Element, Leaf, Scalar, Type, bf16, leaves, size_of


@dataclass(frozen=True, slots=True, eq=False)
class ArrayArgument:
    """An array: where its element (0, ..., 0) lies, its extents, byte strides and element type.

    ``owner`` keeps the memory alive; ``read_only`` memory must not be written by a kernel.
    ``allocation`` knows which of its bytes were written, where that is tracked.  ``pinned`` memory
    may still be used by copies of a GPU.
    """

    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Element
    owner: object
    read_only: bool = False
    allocation: Allocation | None = None
    pinned: cuda.PinnedMemory | None = None

    def view(self) -> interp.ArrayView:
        """The same memory as the interpreter sees it."""
        low, high = byte_span(self.shape, self.strides, size_of(self.dtype))
        if low == high:
            return interp.ArrayView.allocate(self.dtype, self.shape)
        memory = memory_bytes(self.ptr + low, high - low, self.owner, read_only=self.read_only)
        written = None
        if self.allocation is not None and self.allocation.written is not None:
            start = self.ptr + low - self.allocation.ptr
            written = self.allocation.written[start : start + high - low]
        return interp.ArrayView(memory, -low, self.shape, self.strides, self.dtype, written)


LeafValue = bool | int | float | ArrayArgument


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """One parameter's value: its type, and a number or array for each leaf."""

    type: Type
    leaves: tuple[LeafValue, ...]

    def words(self) -> list[bool | int | float]:
        """The fields of the packed form (``runtime.packing``)."""
        out: list[bool | int | float] = []
        for leaf in self.leaves:
            if isinstance(leaf, ArrayArgument):
                out += [leaf.ptr, *leaf.shape, *leaf.strides]
            else:
                out.append(leaf)
        return out

    def simulated(self) -> object:
        """The value as the interpreter takes it."""
        kinds = leaves(self.type)
        parts = [_datum(leaf, t) for leaf, t in zip(self.leaves, kinds, strict=True)]
        return parts[0] if kinds == (self.type,) else tuple(parts)


def _datum(leaf: LeafValue, t: Leaf) -> object:
    if isinstance(leaf, ArrayArgument):
        return leaf.view()
    assert isinstance(t, Scalar)
    return leaf if t is bf16 else t.carrier.type(leaf)  # the interpreter rounds it


def is_pinned(argument: Argument) -> bool:
    """Has a GPU perhaps not yet ended copies from or to its memory?"""
    return any(isinstance(leaf, ArrayArgument) and leaf.pinned for leaf in argument.leaves)


def settle(arguments: Sequence[Argument]) -> None:
    """Before the host runs a launch: wait for copies of GPUs that use its arrays.

    Raises:
        KernelFault: a launch on the stream of such a copy has failed.
    """
    for argument in arguments:
        for leaf in argument.leaves:
            if isinstance(leaf, ArrayArgument) and leaf.pinned is not None:
                cuda.settle(leaf.pinned)


def look_up(arguments: Sequence[Argument], dims: Sequence[int], symbol: Symbol) -> int:
    """The number that a symbol of a launch condition stands for."""
    if symbol.kind == "dim":
        return dims[symbol.axis] if symbol.axis < len(dims) else 1
    leaf = arguments[symbol.parameter].leaves[symbol.leaf]
    if not isinstance(leaf, ArrayArgument):
        return int(leaf)
    if symbol.kind == "pointer":
        return leaf.ptr
    return (leaf.strides if symbol.kind == "stride" else leaf.shape)[symbol.axis]


def needs_wide_index(arguments: Sequence[Argument], dims: Sequence[int]) -> bool:
    """Does a launch dim or an extent reach 2^31, so that int32 indices would not do?"""
    return is_wide(dims) or any(
        isinstance(leaf, ArrayArgument) and is_wide(leaf.shape)
        for argument in arguments
        for leaf in argument.leaves
    )


def is_wide(extents: Sequence[int]) -> bool:
    """Is one of them 2^31 or more?"""
    return any(extent >= _WIDE for extent in extents)


_WIDE = 1 << 31


def thread_count(dims: Sequence[int]) -> int:
    """Threads of a launch."""
    return prod(dims)


def thread_coordinates(thread: int, dims: Sequence[int]) -> tuple[int, ...]:
    """The launch coordinates of a linear thread index, row-major."""
    out = []
    for extent in reversed(dims):
        out.append(thread % extent)
        thread //= extent
    return tuple(reversed(out)) or (0,)
