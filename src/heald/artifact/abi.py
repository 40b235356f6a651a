"""The launch ABI: byte offsets that code generators and runtimes agree on.

A CPU entry is ``void entry(const Header*, const void* args, i64 lo, i64 hi)`` and runs the threads
with linear index in [lo, hi), row-major over the launch dims.  ``args`` holds the parameters packed
in order with natural alignment (``types.parameter_layout``); an array is ``{pointer, i64 shape[n],
i64 byte_stride[n]}``.

A GPU entry takes header and arguments as one parameter by value, the arguments behind the header;
thread (b, t) of the grid is linear thread ``b * threads of a block + t``.
"""

from __future__ import annotations

MAX_BLOCK_DIM = 1024  # threads of a block, on every device
# Most threads of a launch whose numbers fit 32 bits, those of the rest of the last block too.
MAX_NARROW = (1 << 32) - MAX_BLOCK_DIM

# Header
HEADER_DIM = 0  # i64[4], unused extents are 1
HEADER_BLOCK_DIM = 32  # i32
HEADER_LAUNCH = 36  # u32, the number of a launch on a GPU, 0 on a CPU
HEADER_FAULT = 40  # pointer to the fault record
HEADER_RESOURCES = 48  # pointer to the resource table
HEADER_PRINT = 56  # pointer to the print buffer
HEADER_SIZE = 64

# Fault record.  Updated under the spin lock; keeps the fault of the lowest thread.
FAULT_LOCK = 0  # i64, 0 free
FAULT_COUNT = 8  # i64, threads that faulted
FAULT_THREAD = 16  # i64, lowest faulting linear thread, NO_THREAD when none
FAULT_OP = 24  # i64, op id
FAULT_KIND = 32  # i64, artifact.FaultKind
FAULT_RANK = 40  # i64, how many of index and shape count
FAULT_INDEX = 48  # i64[4]
FAULT_SHAPE = 80  # i64[4]
FAULT_SIZE = 112
NO_THREAD = (1 << 63) - 1
NO_OP = (1 << 63) - 1  # the kernel as a whole

# Fault record of a GPU, where threads must not wait for each other and launches follow each other
# before the host looks.  The first launch with a fault takes the record (``owner``); of the others
# only the threads are counted.  ``key`` is the minimum over faults of thread << 21 | op id << 3 |
# kind.  A thread that lowered it leaves index and shape in a slot of its own while there are free
# ones; the slot with the lowest key is the one that counts.  Whoever takes the record, and the
# first of other launches, stores its launch number at ``flag``, which the host reads.
GPU_FAULT_KEY = 0  # i64, NO_THREAD when none
GPU_FAULT_COUNT = 8  # i64, threads that faulted
GPU_FAULT_USED = 16  # i64, slots asked for
GPU_FAULT_OWNER = 24  # i64, number of the launch, 0 when none
GPU_FAULT_LAST = 32  # i64, the last other launch with a fault
GPU_FAULT_OTHERS = 40  # i64, threads of other launches that faulted; never cleared
GPU_FAULT_FLAG = 48  # address of an i64 in pinned memory of the host
GPU_FAULT_HEAD = 64
GPU_FAULT_SLOTS = 1024
GPU_FAULT_SLOT_SIZE = 80  # i64 key, rank, index[4], shape[4]
GPU_FAULT_SIZE = GPU_FAULT_HEAD + GPU_FAULT_SLOTS * GPU_FAULT_SLOT_SIZE
FAULT_KIND_BITS = 3
FAULT_OP_BITS = 18
FAULT_THREAD_SHIFT = FAULT_KIND_BITS + FAULT_OP_BITS
GPU_MAX_THREADS = 1 << (63 - FAULT_THREAD_SHIFT)

# Resource table: RESOURCE_CAPACITY records.
# A handle is kind << 56 | generation << 32 | index; a record is live when its word 0 equals the
# handle.
RESOURCE_CAPACITY = 4096
RESOURCE_SIZE = 256
RESOURCE_HANDLE = 0  # u64, 0 when free
RESOURCE_SCALARS = 8  # 8 slots of 8 bytes, each value in its low bytes
RESOURCE_SCALAR_COUNT = 8
RESOURCE_ARRAYS = 72  # 7 slots of {pointer, i64 extent, i64 byte stride}
RESOURCE_ARRAY_COUNT = 7
RESOURCE_ARRAY_SIZE = 24
HANDLE_KIND_SHIFT = 56
HANDLE_GENERATION_SHIFT = 32

# Print buffer: header, then records {i64 thread, i64 sequence, u32 op id, u32 launch number, i64
# payload[operands]}.  ``used`` grows by an atomic add; a record that does not fit is dropped and
# counted.
PRINT_CAPACITY = 0  # i64, bytes after the header
PRINT_USED = 8  # i64
PRINT_DROPPED = 16  # i64
PRINT_DATA = 24
PRINT_RECORD_HEAD = 24
PRINT_LAUNCH_SHIFT = 32

# Queue of a stream of a GPU: what launch entries need of it, in memory of the host.  Every word has
# 64 bits.
QUEUE_OPEN = 0  # 0 where launches take the careful path, as while they are captured
QUEUE_FLAG = 8  # address of the pinned word of the fault record
QUEUE_STREAM = 16  # the driver's handle
QUEUE_CONTEXT = 24  # the driver's handle
QUEUE_NUMBER = 32  # of the last launch by an entry; those of the careful path are odd
QUEUE_FAULT = 40  # device address of the fault record
QUEUE_RESOURCES = 48  # device address of the resource table, or 0
QUEUE_LOG = 56  # address of the log
QUEUE_LAUNCH = 64  # cuLaunchKernelEx
QUEUE_GET_CONTEXT = 72  # cuCtxGetCurrent
QUEUE_PUSH_CONTEXT = 80  # cuCtxPushCurrent
QUEUE_POP_CONTEXT = 88  # cuCtxPopCurrent
QUEUE_SIZE = 96

# CUlaunchConfig of the driver (cuda.h): u32 extents of grid and block, u32 bytes of shared memory,
# and after a gap
CONFIG_STREAM = 32
CONFIG_ATTRIBUTES = 40  # address
CONFIG_COUNT = 48  # u32, of attributes
CONFIG_SIZE = 56
# CUlaunchAttribute
ATTRIBUTE_KIND = 0  # i32
ATTRIBUTE_VALUE = 8
ATTRIBUTE_SIZE = 72
ATTRIBUTE_EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, an i32 that says yes

# Log of the last launches of a queue; launch n stands in record n % LOG_RECORDS.
LOG_NUMBER = 0  # i64
LOG_SOURCE = 8  # i64, number of the variant
LOG_RANK = 16  # i64
LOG_DIM = 24  # i64[4]
LOG_RECORD_SIZE = 64
LOG_RECORDS = 4096
