"""Devices, memory, resource tables, and launching machine code.  Knows artifacts, nothing of the
compiler."""

from heald.runtime.descriptors import READ_ONLY, array_signature, pack_array
from heald.runtime.device import (
    CPU,
    SIM,
    Device,
    DeviceLike,
    current_device,
    devices,
    get_device,
    set_device,
    synchronize,
)
from heald.runtime.launch import (
    PARALLEL_WORK,
    LaunchOutcome,
    ParallelLauncher,
    Sharing,
    ThreadSharing,
    check_block_dim,
    check_dims,
    is_shared,
    launch,
    read_fault,
)
from heald.runtime.memory import (
    ZERO_PAGE,
    Allocation,
    allocate,
    byte_size,
    byte_span,
    contiguous_strides,
    empty_memory,
    memory_bytes,
)
from heald.runtime.packing import ElementCodec, Packer, Word, codec_of, packer_of
from heald.runtime.printing import PrintOutput
from heald.runtime.resources import Resource, ResourceArray, ResourceTable, table_of

__all__ = [
    "CPU",
    "PARALLEL_WORK",
    "READ_ONLY",
    "SIM",
    "ZERO_PAGE",
    "Allocation",
    "Device",
    "DeviceLike",
    "ElementCodec",
    "LaunchOutcome",
    "Packer",
    "ParallelLauncher",
    "PrintOutput",
    "Resource",
    "ResourceArray",
    "ResourceTable",
    "Sharing",
    "ThreadSharing",
    "Word",
    "allocate",
    "array_signature",
    "byte_size",
    "byte_span",
    "check_block_dim",
    "check_dims",
    "codec_of",
    "contiguous_strides",
    "current_device",
    "devices",
    "empty_memory",
    "get_device",
    "is_shared",
    "launch",
    "memory_bytes",
    "pack_array",
    "packer_of",
    "read_fault",
    "set_device",
    "synchronize",
    "table_of",
]
