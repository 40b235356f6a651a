"""The part of the launch entry that gives a launch to a GPU, as LLVM text.

It writes the rest of the header and the record in the log of the queue (``abi.QUEUE_OPEN`` and on),
and calls the driver by the addresses that stand in the queue.
"""

from __future__ import annotations

from heald.artifact import abi
from heald.codegen import entry_table as table
from heald.codegen.entry_conditions import read

PROBE_GPU = ("heald_probe_launch", "heald_probe_current", "heald_probe_push", "heald_probe_pop")
PROBE_CONTEXT = 0x1234_5678
PROBE_CONFIG = 8
PROBE_ATTRIBUTE = PROBE_CONFIG + abi.CONFIG_SIZE
PROBE_BLOCK = PROBE_ATTRIBUTE + abi.ATTRIBUTE_SIZE
"""Where a launch shows what it was called with."""
WARP = 32
"""Threads that run together; a block of few threads has no more warps than it needs."""

_HEADER_WORDS = "\n".join(
    f"""\
{read(f"q.{name}", "%queue", place)}
  %h.{name} = getelementptr i8, ptr %header, i64 {slot}
  store i64 %q.{name}, ptr %h.{name}, align 8"""
    for name, place, slot in (
        ("fault", abi.QUEUE_FAULT, abi.HEADER_FAULT),
        ("resources", abi.QUEUE_RESOURCES, abi.HEADER_RESOURCES),
    )
)
_PREPARE = f"""\
; Threads of the grid for a launch, as ``artifact.Lanes`` says: as many as it has, or fewer where
; each may take several of a row; more than any grid has for a launch that wants other code.
define internal i64 @grid_threads(ptr %variant, ptr %header, i64 %rank, i64 %total) nounwind {{
{read("stretch", "%variant", table.STRETCH)}
{read("least", "%variant", table.LEAST)}
  %has.lanes = icmp ne i64 %stretch, 0
  %few = icmp ule i64 %total, {abi.MAX_NARROW}
  %may = and i1 %has.lanes, %few
  br i1 %may, label %try, label %alone
alone:
  %others = icmp uge i64 %total, %least
  %refused = select i1 %has.lanes, i1 false, i1 %others
  br i1 %refused, label %refuse, label %each
refuse:
  ret i64 {1 << 62}
try:
{read("spacing", "%variant", table.SPACING)}
  %axis = sub i64 %rank, 1
  %place = getelementptr i64, ptr %header, i64 %axis
  %row = load i64, ptr %place, align 8
  %row.before = sub i64 %row, 1
  %whole = udiv i64 %row.before, %stretch
  %stretches = add i64 %whole, 1
  %covered = mul i64 %stretches, %stretch
  %seven = mul i64 %covered, 7
  %eight = mul i64 %row, 8
  %dense = icmp uge i64 %eight, %seven
  %rows = udiv i64 %total, %row
  %of.row = mul i64 %stretches, %spacing
  %threads = mul i64 %rows, %of.row
  %enough = icmp uge i64 %threads, %least
  %worth = and i1 %dense, %enough
  br i1 %worth, label %together, label %each
together:
  ret i64 %threads
each:
  ret i64 %total
}}

; A launch for a GPU: the rest of its header, and its record in the log.  Gives blocks and threads
; of a block; no blocks where the careful path must look.
define internal {{i64, i64}} @prepare_gpu(ptr %queue, ptr %variant, ptr %header, i64 %rank,
  i64 %total, i64 %size) nounwind {{
{read("open", "%queue", abi.QUEUE_OPEN)}
{read("flag", "%queue", abi.QUEUE_FLAG, "ptr")}
  %raised = load volatile i64, ptr %flag, align 8
  %is.open = icmp ne i64 %open, 0
  %is.clean = icmp eq i64 %raised, 0
{read("most", "%variant", table.THREADS)}
  %threads = call i64 @llvm.umin.i64(i64 %size, i64 %most)
  %grid.total = call i64 @grid_threads(ptr %variant, ptr %header, i64 %rank, i64 %total)
{read("exact", "%variant", table.EXACT)}
  %any.size = icmp eq i64 %exact, 0
  %raised.total = add i64 %grid.total, {WARP - 1}
  %warps = and i64 %raised.total, -{WARP}
  %needed = call i64 @llvm.umin.i64(i64 %threads, i64 %warps)
  %block = select i1 %any.size, i64 %needed, i64 %threads
  %before = sub i64 %grid.total, 1
  %whole.blocks = udiv i64 %before, %block
  %blocks = add i64 %whole.blocks, 1
  %few = icmp ule i64 %blocks, {(1 << 31) - 1}
  %as.asked = icmp eq i64 %threads, %size
  %right.size = or i1 %any.size, %as.asked
  %usable = and i1 %is.open, %is.clean
  %possible = and i1 %few, %right.size
  %ready = and i1 %usable, %possible
  br i1 %ready, label %fill, label %refuse
fill:
{read("last", "%queue", abi.QUEUE_NUMBER)}
  %following = add i64 %last, 2
  %fits = icmp ule i64 %following, {(1 << 32) - 1}
  %number = select i1 %fits, i64 %following, i64 2
  store i64 %number, ptr %last.at, align 8
{read("log", "%queue", abi.QUEUE_LOG, "ptr")}
  %slot = and i64 %number, {abi.LOG_RECORDS - 1}
  %offset = mul i64 %slot, {abi.LOG_RECORD_SIZE}
  %record = getelementptr i8, ptr %log, i64 %offset
  %r.number = getelementptr i8, ptr %record, i64 {abi.LOG_NUMBER}
  store i64 %number, ptr %r.number, align 8
{read("source", "%variant", table.SOURCE)}
  %r.source = getelementptr i8, ptr %record, i64 {abi.LOG_SOURCE}
  store i64 %source, ptr %r.source, align 8
  %r.rank = getelementptr i8, ptr %record, i64 {abi.LOG_RANK}
  store i64 %rank, ptr %r.rank, align 8
  %r.dim = getelementptr i8, ptr %record, i64 {abi.LOG_DIM}
  %dims = load <4 x i64>, ptr %header, align 8
  store <4 x i64> %dims, ptr %r.dim, align 8
  %size.32 = trunc i64 %size to i32
  %h.size = getelementptr i8, ptr %header, i64 {abi.HEADER_BLOCK_DIM}
  store i32 %size.32, ptr %h.size, align 4
  %number.32 = trunc i64 %number to i32
  %h.number = getelementptr i8, ptr %header, i64 {abi.HEADER_LAUNCH}
  store i32 %number.32, ptr %h.number, align 4
{_HEADER_WORDS}
  %h.print = getelementptr i8, ptr %header, i64 {abi.HEADER_PRINT}
  store i64 0, ptr %h.print, align 8
  %half = insertvalue {{i64, i64}} poison, i64 %blocks, 0
  %grid = insertvalue {{i64, i64}} %half, i64 %block, 1
  ret {{i64, i64}} %grid
refuse:
  ret {{i64, i64}} zeroinitializer
}}
"""


_SUBMIT = f"""\
; Give a launch to the driver, in the context of its stream.
define internal i32 @submit(ptr %queue, ptr %variant, i64 %blocks, i64 %threads, ptr %header)
  nounwind {{
entry:
  %found = alloca ptr, align 8
  %parameters = alloca ptr, align 8
  %config = alloca [{abi.CONFIG_SIZE} x i8], align 8
  %attribute = alloca [{abi.ATTRIBUTE_SIZE} x i8], align 8
  store ptr null, ptr %found, align 8
  store ptr %header, ptr %parameters, align 8
{read("function", "%variant", table.CODE, "ptr")}
{read("early", "%variant", table.EARLY)}
{read("context", "%queue", abi.QUEUE_CONTEXT, "ptr")}
{read("stream", "%queue", abi.QUEUE_STREAM, "ptr")}
{read("launch", "%queue", abi.QUEUE_LAUNCH, "ptr")}
{read("current", "%queue", abi.QUEUE_GET_CONTEXT, "ptr")}
{read("push", "%queue", abi.QUEUE_PUSH_CONTEXT, "ptr")}
{read("pop", "%queue", abi.QUEUE_POP_CONTEXT, "ptr")}
  %asked = call i32 %current(ptr %found)
  %own = load ptr, ptr %found, align 8
  %same = icmp eq ptr %own, %context
  br i1 %same, label %launch.here, label %enter
enter:
  %entered = call i32 %push(ptr %context)
  %inside = icmp eq i32 %entered, 0
  br i1 %inside, label %launch.here, label %fail
launch.here:
  %grid = trunc i64 %blocks to i32
  %block = trunc i64 %threads to i32
  %extents.0 = insertelement <8 x i32> <i32 0, i32 1, i32 1, i32 0, i32 1, i32 1, i32 0, i32 0>,
    i32 %grid, i64 0
  %extents = insertelement <8 x i32> %extents.0, i32 %block, i64 3
  store <8 x i32> %extents, ptr %config, align 8
  %c.stream = getelementptr i8, ptr %config, i64 {abi.CONFIG_STREAM}
  store ptr %stream, ptr %c.stream, align 8
  %c.attributes = getelementptr i8, ptr %config, i64 {abi.CONFIG_ATTRIBUTES}
  store ptr %attribute, ptr %c.attributes, align 8
  %of.grid = mul i64 %blocks, %threads
  %is.early = icmp ule i64 %of.grid, %early
  %count = zext i1 %is.early to i64
  %c.count = getelementptr i8, ptr %config, i64 {abi.CONFIG_COUNT}
  store i64 %count, ptr %c.count, align 8
  store i64 {abi.ATTRIBUTE_EARLY}, ptr %attribute, align 8
  %a.value = getelementptr i8, ptr %attribute, i64 {abi.ATTRIBUTE_VALUE}
  store i64 1, ptr %a.value, align 8
  %status = call i32 %launch(ptr %config, ptr %function, ptr %parameters, ptr null)
  br i1 %same, label %done, label %leave
leave:
  %left = call i32 %pop(ptr %found)
  br label %done
done:
  ret i32 %status
fail:
  ret i32 %entered
}}
"""


_PROBES = f"""\
; A driver whose functions are addresses: a launch copies its configuration and its attribute there
; and, behind the word that says how much, header and parameters; a push of a context counts.
define i32 @{PROBE_GPU[0]}(ptr %config, ptr %to, ptr %parameters, ptr %extra) nounwind {{
{read("size", "%to", 0)}
{read("block", "%parameters", 0, "ptr")}
{read("attribute", "%config", abi.CONFIG_ATTRIBUTES, "ptr")}
  %config.to = getelementptr i8, ptr %to, i64 {PROBE_CONFIG}
  call void @llvm.memcpy.p0.p0.i64(ptr %config.to, ptr %config, i64 {abi.CONFIG_SIZE}, i1 false)
  %attribute.to = getelementptr i8, ptr %to, i64 {PROBE_ATTRIBUTE}
  call void @llvm.memcpy.p0.p0.i64(ptr %attribute.to, ptr %attribute, i64 {abi.ATTRIBUTE_SIZE},
    i1 false)
  %rest = getelementptr i8, ptr %to, i64 {PROBE_BLOCK}
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %block, i64 %size, i1 false)
  ret i32 0
}}

define i32 @{PROBE_GPU[1]}(ptr %to) nounwind {{
  store i64 {PROBE_CONTEXT}, ptr %to, align 8
  ret i32 0
}}

define i32 @{PROBE_GPU[2]}(ptr %context) nounwind {{
  %count = load i64, ptr %context, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %context, align 8
  ret i32 0
}}

define i32 @{PROBE_GPU[3]}(ptr %to) nounwind {{
  ret i32 0
}}
"""

GPU_TEXT = "\n".join((_PREPARE, _SUBMIT, _PROBES))
"""``@prepare_gpu``, ``@submit`` and what tests stand in for the driver."""
