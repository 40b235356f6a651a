"""CUDA GPUs: the driver, its devices, their memory, streams, launches and graphs.

The driver library is opened when a name like ``cuda:0`` is first used or devices are listed.
"""

from heald.runtime.cuda.assembler import (
    assemble,
    assemble_on,
    passing_turn,
    resource_report,
    taking_turns,
)
from heald.runtime.cuda.copies import (
    copy,
    copy_between,
    fill,
    read,
    read_pinned,
    settle,
    write,
    write_now,
    write_pinned,
)
from heald.runtime.cuda.devices import Gpu, discover, driver_version, gpu_of
from heald.runtime.cuda.launch import CudaCode, filling, launch_cuda, load_cuda, uses_resources
from heald.runtime.cuda.memory import DeviceMemory, PinnedMemory, after_work, allocate
from heald.runtime.cuda.queue import (
    entry_queue,
    has_resources,
    queue_of,
    raise_pending,
    register,
    synchronize_gpu,
    synchronize_stream,
)
from heald.runtime.cuda.streams import (
    CHOSEN,
    Event,
    ScopedStream,
    Stream,
    current_stream,
    other_device,
    outside_graph,
    use_stream,
)

__all__ = [
    "CHOSEN",
    "CudaCode",
    "DeviceMemory",
    "Event",
    "Gpu",
    "PinnedMemory",
    "ScopedStream",
    "Stream",
    "after_work",
    "allocate",
    "assemble",
    "assemble_on",
    "copy",
    "copy_between",
    "current_stream",
    "discover",
    "driver_version",
    "entry_queue",
    "fill",
    "filling",
    "gpu_of",
    "has_resources",
    "launch_cuda",
    "load_cuda",
    "other_device",
    "outside_graph",
    "passing_turn",
    "queue_of",
    "raise_pending",
    "read",
    "read_pinned",
    "register",
    "resource_report",
    "settle",
    "synchronize_gpu",
    "synchronize_stream",
    "taking_turns",
    "use_stream",
    "uses_resources",
    "write",
    "write_now",
    "write_pinned",
]
