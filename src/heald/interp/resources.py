"""The resource table of a device, which kernels read through handles (see ``artifact.abi``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heald.artifact import abi
from heald.interp.memory import ArrayView


@dataclass(frozen=True, slots=True)
class Resource:
    """A live record of the resource table.

    Attributes:
        handle: word 0 of the record: kind, generation and index of the resource.
        scalars: 64-bit words, each with a value in its low bytes.
        arrays: one-dimensional views.
    """

    handle: int
    scalars: tuple[int, ...] = ()
    arrays: tuple[ArrayView, ...] = ()


Resources = Mapping[int, Resource]
"""By index in the table."""


def look_up(resources: Resources, handle: int, kind: int) -> Resource | None:
    """The resource that ``handle`` names; None if it is stale, foreign or of another kind."""
    index = handle & ((1 << abi.HANDLE_GENERATION_SHIFT) - 1)
    if index >= abi.RESOURCE_CAPACITY or handle >> abi.HANDLE_KIND_SHIFT != kind:
        return None
    found = resources.get(index)
    return found if found is not None and found.handle == handle else None
