"""Launches on ``device="sim"``: the interpreter with the device's resources."""

from __future__ import annotations

import heald.interp as interp
from heald.artifact import abi
from heald.ir import Kernel, walk
from heald.runtime import Device, Resource, memory_bytes, table_of
from heald.types import Array, Element, i32, size_of

_UNREAD = i32  # the element type of an array that the kernel does not read


def simulated_resources(kernel: Kernel, device: Device) -> dict[int, interp.Resource]:
    """The live resources of a device as the interpreter takes them.

    A resource table knows bytes only; the element types of its arrays are those that the kernel
    reads.
    """
    dtypes = _element_types(kernel)
    if not dtypes and not any(op.name == "resource_scalar" for op in walk(kernel.body)):
        return {}
    return {
        index: _simulated(resource, dtypes) for index, resource in table_of(device).live().items()
    }


def _element_types(kernel: Kernel) -> dict[tuple[object, object], Element]:
    out: dict[tuple[object, object], Element] = {}
    for op in walk(kernel.body):
        if op.name == "resource_array":
            assert isinstance(op.result.type, Array)
            out[op.attrs["kind"], op.attrs["slot"]] = op.result.type.dtype
    return out


def _simulated(resource: Resource, dtypes: dict[tuple[object, object], Element]) -> interp.Resource:
    kind = resource.handle >> abi.HANDLE_KIND_SHIFT
    arrays = []
    for slot, array in enumerate(resource.arrays):
        dtype = dtypes.get((kind, slot))
        if dtype is None or array.extent == 0:
            arrays.append(interp.ArrayView.allocate(_UNREAD if dtype is None else dtype, (0,)))
            continue
        size = (array.extent - 1) * array.stride + size_of(dtype)
        memory = memory_bytes(array.ptr, size, array.owner)
        arrays.append(interp.ArrayView(memory, 0, (array.extent,), (array.stride,), dtype))
    words = tuple(int.from_bytes(s.tobytes(), "little") for s in resource.scalars)
    return interp.Resource(resource.handle, words, tuple(arrays))
