"""The launch entry as LLVM text: a ``METH_FASTCALL`` function of CPython.

``enter(dim, block_dim, inputs, outputs[, place])`` checks everything that a launch is given, packs
the parameter block, chooses the variant, runs it without the GIL and returns

* None where it ran and no thread faulted, or where it was given to a GPU,
* bytes, the *report*, where some thread did: {mask, launch dims, i64 dim[4], fault record},
* NotImplemented where something is not as the entry knows it.  Then nothing has happened, and the
  careful path in Python handles it or says why not.

``place`` is the address of a resource table, for kernels that have handles; for a GPU that of the
queue of a stream (``abi.QUEUE_OPEN``), which must be open and know of no fault.

While the GIL is held no code of the user runs: only exact ints, floats, lists, tuples, bytes and
the slots of exact types are read, so what was checked stays as it is until it has been copied.  The
owners of the arrays are held until the launch has ended, whatever other threads do to the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

from heald.artifact import abi
from heald.codegen import entry_table as table
from heald.codegen.entry_arguments import arguments_text
from heald.codegen.entry_conditions import CONDITIONS_TEXT, read
from heald.codegen.entry_gpu import GPU_TEXT
from heald.codegen.entry_layout import ObjectLayout

ENTRY = "heald_enter"

PROBE = "heald_probe"
PROBE_TEAM = "heald_probe_team"

OBJECTS: Mapping[str, object] = {
    "None": None,
    "NotImplemented": NotImplemented,
    "True": True,
    "False": False,
    **{t.__name__: t for t in (int, float, list, tuple, bytes)},
}
"""Objects whose addresses the code refers to as ``py_<name>``."""
FUNCTIONS = (
    "PyBytes_FromStringAndSize",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_AsDouble",
    "PyList_GetItem",
    "PyLong_AsLongLongAndOverflow",
    "Py_DecRef",
    "Py_IncRef",
)
"""Functions of the interpreter that the code calls."""

REPORT_RANK, REPORT_DIMS, REPORT_FAULT = 8, 16, 48
REPORT_SIZE = REPORT_FAULT + abi.FAULT_SIZE
PROBE_FAULTS = 7
_TEAM = "ptr %kernel, ptr %header, ptr %args, i64 %total, i32 %cores, i32 %grain"


def entry_text(layout: ObjectLayout) -> str:
    """The module without its header."""
    parts = [_DECLARATIONS, arguments_text(layout), CONDITIONS_TEXT, GPU_TEXT]
    parts += [_enter(layout), _PROBES]
    return "\n".join(parts)


_DECLARATIONS = (
    "\n".join(f"@py_{name} = external global i8" for name in OBJECTS)
    + """
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare float @llvm.fabs.f32(float)
declare double @llvm.fabs.f64(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
)


def _enter(layout: ObjectLayout) -> str:
    return f"""\
define ptr @{ENTRY}(ptr %self, ptr %args, i64 %nargs) nounwind {{
entry:
  %header = alloca [{abi.HEADER_SIZE + table.MAX_BLOCK} x i8], align 64
  %block = getelementptr i8, ptr %header, i64 {abi.HEADER_SIZE}
  %report = alloca [{REPORT_SIZE} x i8], align 64
  %owners = alloca [{table.MAX_PARAMETERS} x ptr], align 64
  %few = icmp ult i64 %nargs, 4
  br i1 %few, label %refuse, label %begin
begin:
{read("data", "%self", layout.tuple, "ptr")}
  %table = getelementptr i8, ptr %data, i64 {layout.bytes}
{read("dim", "%args", 0, "ptr")}
{read("block.dim", "%args", 8, "ptr")}
{read("inputs", "%args", 16, "ptr")}
{read("outputs", "%args", 24, "ptr")}
{read("parameters", "%table", table.PARAMETERS)}
{read("rank", "%table", table.RANK)}
  %dims = call {{i64, i64}} @take_dims(ptr %dim, ptr %header)
  %given.rank = extractvalue {{i64, i64}} %dims, 0
  %total = extractvalue {{i64, i64}} %dims, 1
  %any.rank = icmp eq i64 %rank, 0
  %right.rank = icmp eq i64 %rank, %given.rank
  %has.rank = icmp sgt i64 %given.rank, 0
  %fits.rank = or i1 %any.rank, %right.rank
  %good.rank = and i1 %has.rank, %fits.rank
  br i1 %good.rank, label %threads, label %refuse
threads:
  %pair = call {{i64, i1}} @whole(ptr %block.dim, i64 1, i64 {abi.MAX_BLOCK_DIM})
  %size = extractvalue {{i64, i1}} %pair, 0
  %size.good = extractvalue {{i64, i1}} %pair, 1
  %first = call i64 @count(ptr %inputs)
  %second = call i64 @count(ptr %outputs)
  %signs = or i64 %first, %second
  %listed = icmp sge i64 %signs, 0
  %sum = add i64 %first, %second
  %complete = icmp eq i64 %sum, %parameters
  %countable = and i1 %listed, %complete
  %usable = and i1 %countable, %size.good
  br i1 %usable, label %arguments, label %refuse

arguments:
  %records = getelementptr i8, ptr %table, i64 {table.RECORDS}
  br label %more
more:
  %k = phi i64 [ 0, %arguments ], [ %next, %taken ]
  %record = phi ptr [ %records, %arguments ], [ %record.next, %taken ]
  %left = icmp ult i64 %k, %parameters
  br i1 %left, label %argument, label %choose
argument:
  %from.inputs = icmp ult i64 %k, %first
  %in.outputs = sub i64 %k, %first
  %list = select i1 %from.inputs, ptr %inputs, ptr %outputs
  %place = select i1 %from.inputs, i64 %k, i64 %in.outputs
  %object = call ptr @item(ptr %list, i64 %place)
  %missing = icmp eq ptr %object, null
  br i1 %missing, label %refuse, label %check
check:
  %owner = call ptr @take(ptr %table, ptr %record, ptr %object, ptr %block)
  %bad = icmp eq ptr %owner, null
  br i1 %bad, label %refuse, label %taken
taken:
  %owner.place = getelementptr ptr, ptr %owners, i64 %k
  store ptr %owner, ptr %owner.place, align 8
  %next = add i64 %k, 1
  %record.next = getelementptr i8, ptr %record, i64 {table.RECORD_SIZE}
  br label %more

choose:
  %mask = call i64 @choose(ptr %table, ptr %header, ptr %block)
  %variant.offset = shl i64 %mask, {table.VARIANT_SHIFT}
  %variants = getelementptr i8, ptr %table, i64 {table.VARIANTS}
  %variant = getelementptr i8, ptr %variants, i64 %variant.offset
{read("code", "%variant", table.CODE, "ptr")}
{read("is.gpu.word", "%table", table.IS_GPU)}
  %is.gpu = icmp ne i64 %is.gpu.word, 0
  %nothing = icmp eq i64 %total, 0
  %compiled = icmp ne ptr %code, null
  br i1 %compiled, label %usable.code, label %refuse
usable.code:
  br i1 %is.gpu, label %gpu, label %cpu

gpu:
  %with.queue = icmp ugt i64 %nargs, 4
  br i1 %with.queue, label %find.queue, label %refuse
find.queue:
{read("queue.object", "%args", 32, "ptr")}
  %queue.found = call {{i64, i1}} @whole(ptr %queue.object, i64 1, i64 {(1 << 63) - 1})
  %queue.place = extractvalue {{i64, i1}} %queue.found, 0
  %queue.good = extractvalue {{i64, i1}} %queue.found, 1
  %queue = inttoptr i64 %queue.place to ptr
  br i1 %queue.good, label %something, label %refuse
something:
  br i1 %nothing, label %none, label %enqueue
enqueue:
  %grid = call {{i64, i64}} @prepare_gpu(ptr %queue, ptr %variant, ptr %header,
    i64 %given.rank, i64 %total, i64 %size)
  %blocks = extractvalue {{i64, i64}} %grid, 0
  %of.block = extractvalue {{i64, i64}} %grid, 1
  %prepared = icmp ne i64 %blocks, 0
  br i1 %prepared, label %hold, label %refuse

cpu:
{read("work", "%variant", table.WORK)}
{read("grain", "%variant", table.GRAIN)}
{read("launcher", "%table", table.LAUNCHER, "ptr")}
{read("cores", "%table", table.CORES)}
{read("limit", "%table", table.PARALLEL)}
  %cores.32 = trunc i64 %cores to i32
  %grain.32 = trunc i64 %grain to i32
  %effort = call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 %work, i64 %total)
  %effort.low = extractvalue {{i64, i1}} %effort, 0
  %effort.over = extractvalue {{i64, i1}} %effort, 1
  %effort.much = icmp uge i64 %effort.low, %limit
  %much = or i1 %effort.over, %effort.much
  %several = icmp ne i64 %cores, 1
  %shared = and i1 %much, %several
  %alone = xor i1 %shared, true
  %has.launcher = icmp ne ptr %launcher, null
  %can = or i1 %alone, %has.launcher
  br i1 %can, label %prepare, label %refuse

prepare:
  br i1 %nothing, label %none, label %resources
resources:
  %with.table = icmp ugt i64 %nargs, 4
  br i1 %with.table, label %find, label %fill
find:
{read("address", "%args", 32, "ptr")}
  %found = call {{i64, i1}} @whole(ptr %address, i64 0, i64 {(1 << 63) - 1})
  %found.place = extractvalue {{i64, i1}} %found, 0
  %found.good = extractvalue {{i64, i1}} %found, 1
  br i1 %found.good, label %fill, label %refuse
fill:
  %resource.table = phi i64 [ 0, %resources ], [ %found.place, %find ]
  %size.32 = trunc i64 %size to i32
  %h.size = getelementptr i8, ptr %header, i64 {abi.HEADER_BLOCK_DIM}
  store i32 %size.32, ptr %h.size, align 8
  %fault = getelementptr i8, ptr %report, i64 {REPORT_FAULT}
  %h.fault = getelementptr i8, ptr %header, i64 {abi.HEADER_FAULT}
  store ptr %fault, ptr %h.fault, align 8
  %h.resources = getelementptr i8, ptr %header, i64 {abi.HEADER_RESOURCES}
  store i64 %resource.table, ptr %h.resources, align 8
  %h.print = getelementptr i8, ptr %header, i64 {abi.HEADER_PRINT}
  store ptr null, ptr %h.print, align 8
  call void @llvm.memset.p0.i64(ptr align 8 %fault, i8 0, i64 {abi.FAULT_SIZE}, i1 false)
  %f.thread = getelementptr i8, ptr %fault, i64 {abi.FAULT_THREAD}
  store i64 {abi.NO_THREAD}, ptr %f.thread, align 8
  br label %hold
hold:
  %h = phi i64 [ 0, %fill ], [ 0, %enqueue ], [ %h.next, %held ]
  %to.team = phi i1 [ %shared, %fill ], [ false, %enqueue ], [ %to.team, %held ]
  %team.launcher = phi ptr [ %launcher, %fill ], [ null, %enqueue ], [ %team.launcher, %held ]
  %team.cores = phi i32 [ %cores.32, %fill ], [ 0, %enqueue ], [ %team.cores, %held ]
  %team.grain = phi i32 [ %grain.32, %fill ], [ 0, %enqueue ], [ %team.grain, %held ]
  %to.queue = phi ptr [ null, %fill ], [ %queue, %enqueue ], [ %to.queue, %held ]
  %grid.blocks = phi i64 [ 0, %fill ], [ %blocks, %enqueue ], [ %grid.blocks, %held ]
  %grid.threads = phi i64 [ 0, %fill ], [ %of.block, %enqueue ], [ %grid.threads, %held ]
  %h.more = icmp ult i64 %h, %parameters
  br i1 %h.more, label %held, label %run
held:
  %h.place = getelementptr ptr, ptr %owners, i64 %h
  %h.owner = load ptr, ptr %h.place, align 8
  call void @Py_IncRef(ptr %h.owner)
  %h.next = add i64 %h, 1
  br label %hold

run:
  %state = call ptr @PyEval_SaveThread()
  br i1 %is.gpu, label %submit, label %here
submit:
  %sent = call i32 @submit(ptr %to.queue, ptr %variant, i64 %grid.blocks, i64 %grid.threads,
    ptr %header)
  br label %ran
here:
  br i1 %to.team, label %team, label %single
single:
  call void %code(ptr %header, ptr %block, i64 0, i64 %total)
  br label %ran
team:
  call void %team.launcher(ptr %code, ptr %header, ptr %block, i64 %total, i32 %team.cores,
    i32 %team.grain)
  br label %ran
ran:
  %status = phi i32 [ %sent, %submit ], [ 0, %single ], [ 0, %team ]
  call void @PyEval_RestoreThread(ptr %state)
  br label %release
release:
  %r = phi i64 [ 0, %ran ], [ %r.next, %released ]
  %r.more = icmp ult i64 %r, %parameters
  br i1 %r.more, label %released, label %result
released:
  %r.place = getelementptr ptr, ptr %owners, i64 %r
  %r.owner = load ptr, ptr %r.place, align 8
  call void @Py_DecRef(ptr %r.owner)
  %r.next = add i64 %r, 1
  br label %release

result:
  br i1 %is.gpu, label %of.gpu, label %of.cpu
of.gpu:
  %accepted = icmp eq i32 %status, 0
  br i1 %accepted, label %none, label %refuse
of.cpu:
  %f.count = getelementptr i8, ptr %report, i64 {REPORT_FAULT + abi.FAULT_COUNT}
  %faults = load i64, ptr %f.count, align 8
  %clean = icmp eq i64 %faults, 0
  br i1 %clean, label %none, label %tell
tell:
  store i64 %mask, ptr %report, align 8
  %t.rank = getelementptr i8, ptr %report, i64 {REPORT_RANK}
  store i64 %given.rank, ptr %t.rank, align 8
  %t.dims = getelementptr i8, ptr %report, i64 {REPORT_DIMS}
  call void @llvm.memcpy.p0.p0.i64(ptr %t.dims, ptr %header, i64 32, i1 false)
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr %report, i64 {REPORT_SIZE})
  ret ptr %bytes
none:
  call void @Py_IncRef(ptr @py_None)
  ret ptr @py_None
refuse:
  call void @Py_IncRef(ptr @py_NotImplemented)
  ret ptr @py_NotImplemented
}}
"""


_PROBES = f"""\
; A kernel that copies its header, range and block (whose size is its second parameter) to the array
; that is its first, and faults when it is given {PROBE_FAULTS} threads.
define void @{PROBE}(ptr %header, ptr %args, i64 %lo, i64 %hi) nounwind {{
entry:
{read("to", "%args", 0, "ptr")}
{read("size", "%args", 24)}
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %header, i64 {abi.HEADER_SIZE}, i1 false)
  %range = getelementptr i8, ptr %to, i64 {abi.HEADER_SIZE}
  store i64 %lo, ptr %range, align 8
  %range.end = getelementptr i8, ptr %range, i64 8
  store i64 %hi, ptr %range.end, align 8
  %rest = getelementptr i8, ptr %range, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %size, i1 false)
  %faults = icmp eq i64 %hi, {PROBE_FAULTS}
  br i1 %faults, label %fault, label %done
fault:
{read("record", "%header", abi.HEADER_FAULT, "ptr")}
  %count = getelementptr i8, ptr %record, i64 {abi.FAULT_COUNT}
  store i64 %hi, ptr %count, align 8
  br label %done
done:
  ret void
}}

; A launcher that calls the kernel for the threads from the number of cores and the grain on.
define void @{PROBE_TEAM}({_TEAM}) nounwind {{
  %first = add i32 %cores, %grain
  %lo = zext i32 %first to i64
  call void %kernel(ptr %header, ptr %args, i64 %lo, i64 %total)
  ret void
}}
"""
