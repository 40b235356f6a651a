"""CUDA GPUs: the driver, its devices, their memory, and launches.

Nothing here is imported before a name like ``cuda:0`` is used or devices are listed, and the driver
library is opened only then.
"""

from heald.runtime.cuda.assembler import assemble, assemble_on, resource_report
from heald.runtime.cuda.devices import Gpu, discover, driver_version, gpu_of
from heald.runtime.cuda.launch import CudaCode, launch_cuda, load_cuda
from heald.runtime.cuda.memory import DeviceMemory, allocate, copy, fill, read, write

__all__ = [
    "CudaCode",
    "DeviceMemory",
    "Gpu",
    "allocate",
    "assemble",
    "assemble_on",
    "copy",
    "discover",
    "driver_version",
    "fill",
    "gpu_of",
    "launch_cuda",
    "load_cuda",
    "read",
    "resource_report",
    "write",
]
