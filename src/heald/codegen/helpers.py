"""LLVM text of the functions that compiled kernels call in the cold; see ``support``."""

from __future__ import annotations

from heald.artifact import abi
from heald.codegen.writer import QUOTIENT, UNROLL

MAX_RANK = 4

_FAULT = "ptr %header, i64 %thread, i1 %before, i64 %op, i64 %kind, i64 %rank, ptr %place"
FAULT = f"""\
define void @heald_fault({_FAULT}) #1 {{
entry:
  br i1 %before, label %done, label %first
first:
  %slot = getelementptr i8, ptr %header, i64 {abi.HEADER_FAULT}
  %fault = load ptr, ptr %slot, align 8
  %lock = getelementptr i8, ptr %fault, i64 {abi.FAULT_LOCK}
  %counter = getelementptr i8, ptr %fault, i64 {abi.FAULT_COUNT}
  %lowest = getelementptr i8, ptr %fault, i64 {abi.FAULT_THREAD}
  %n = atomicrmw add ptr %counter, i64 1 monotonic
  %known = load atomic i64, ptr %lowest monotonic, align 8
  %lower = icmp slt i64 %thread, %known
  br i1 %lower, label %take, label %done
take:
  %old = atomicrmw xchg ptr %lock, i64 1 acquire
  %free = icmp eq i64 %old, 0
  br i1 %free, label %held, label %take
held:
  %now = load atomic i64, ptr %lowest monotonic, align 8
  %still = icmp slt i64 %thread, %now
  br i1 %still, label %write, label %leave
write:
  store atomic i64 %thread, ptr %lowest monotonic, align 8
  %p.op = getelementptr i8, ptr %fault, i64 {abi.FAULT_OP}
  store i64 %op, ptr %p.op, align 8
  %p.kind = getelementptr i8, ptr %fault, i64 {abi.FAULT_KIND}
  store i64 %kind, ptr %p.kind, align 8
  %p.rank = getelementptr i8, ptr %fault, i64 {abi.FAULT_RANK}
  store i64 %rank, ptr %p.rank, align 8
  br label %axis
axis:
  %k = phi i64 [ 0, %write ], [ %k1, %copy ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %copy, label %leave
copy:
  %offset = shl i64 %k, 3
  %from.index = getelementptr i64, ptr %place, i64 %k
  %index = load i64, ptr %from.index, align 8
  %p.index = getelementptr i8, ptr %fault, i64 {abi.FAULT_INDEX}
  %to.index = getelementptr i8, ptr %p.index, i64 %offset
  store i64 %index, ptr %to.index, align 8
  %k.extent = add i64 %k, {MAX_RANK}
  %from.extent = getelementptr i64, ptr %place, i64 %k.extent
  %extent = load i64, ptr %from.extent, align 8
  %p.extent = getelementptr i8, ptr %fault, i64 {abi.FAULT_SHAPE}
  %to.extent = getelementptr i8, ptr %p.extent, i64 %offset
  store i64 %extent, ptr %to.extent, align 8
  %k1 = add i64 %k, 1
  br label %axis
leave:
  store atomic i64 0, ptr %lock release, align 8
  br label %done
done:
  ret void
}}
"""
"""Records a fault of a thread, whose index and shape stand at ``%place``."""

_LANES = (
    "ptr %header, i64 %thread, ptr %flags, i64 %lanes, i64 %width, i64 %op, i64 %kind, i64 %rank, "
    "ptr %place"
)
LANES_FAULT = f"""\
define void @heald_lanes_fault({_LANES}) #1 {{
entry:
  %row = alloca [{2 * MAX_RANK} x i64], align 8
  %before = load i64, ptr %flags, align 8
  %after = or i64 %before, %lanes
  store i64 %after, ptr %flags, align 8
  %known = xor i64 %before, -1
  %fresh = and i64 %lanes, %known
  br label %next
next:
  %left = phi i64 [ %fresh, %entry ], [ %rest, %report ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %take
take:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  br label %word
word:
  %n = phi i64 [ 0, %take ], [ %n1, %word ]
  %base = mul i64 %n, %width
  %from.at = add i64 %base, %lane
  %from = getelementptr i64, ptr %place, i64 %from.at
  %value = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr %row, i64 %n
  store i64 %value, ptr %to, align 8
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, {2 * MAX_RANK}
  br i1 %more, label %word, label %report
report:
  %who = add i64 %thread, %lane
  call void @heald_fault(ptr %header, i64 %who, i1 false, i64 %op, i64 %kind, i64 %rank, ptr %row)
  br label %next
end:
  ret void
}}
"""
"""Records what several lanes did, the first lane first."""


def print_room(*, linkage: str = "", scope: str = "") -> str:
    """The function that takes room in a print buffer, with atomics of a scope."""
    return f"""\
define{linkage} ptr @heald_print_room(ptr %buffer, i64 %size) #1 {{
entry:
  %p.capacity = getelementptr i8, ptr %buffer, i64 {abi.PRINT_CAPACITY}
  %capacity = load i64, ptr %p.capacity, align 8
  %p.used = getelementptr i8, ptr %buffer, i64 {abi.PRINT_USED}
  %first = load atomic i64, ptr %p.used{scope} monotonic, align 8
  br label %try
try:
  %used = phi i64 [ %first, %entry ], [ %seen, %take ]
  %end = add i64 %used, %size
  %fits = icmp sle i64 %end, %capacity
  br i1 %fits, label %take, label %full
take:
  %pair = cmpxchg ptr %p.used, i64 %used, i64 %end{scope} monotonic monotonic, align 8
  %seen = extractvalue {{i64, i1}} %pair, 0
  %taken = extractvalue {{i64, i1}} %pair, 1
  br i1 %taken, label %room, label %try
room:
  %data = getelementptr i8, ptr %buffer, i64 {abi.PRINT_DATA}
  %place = getelementptr i8, ptr %data, i64 %used
  ret ptr %place
full:
  %p.dropped = getelementptr i8, ptr %buffer, i64 {abi.PRINT_DROPPED}
  %n = atomicrmw add ptr %p.dropped, i64 1{scope} monotonic, align 8
  ret ptr null
}}
"""


# What LLVM calls where a processor has no instructions for float16.  These may not convert it
# themselves: only integers and float32 are in the bodies.
HALVES = """\
define float @__extendhfsf2(half %x) nounwind {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %sign.16 = and i32 %bits, 32768
  %sign = shl i32 %sign.16, 16
  %magnitude = and i32 %bits, 32767
  %small = icmp ult i32 %magnitude, 1024
  %number = uitofp i32 %magnitude to float
  %scaled = fmul float %number, 0x3E70000000000000
  %scaled.bits = bitcast float %scaled to i32
  %moved = shl i32 %magnitude, 13
  %special = icmp uge i32 %magnitude, 31744
  %offset = select i1 %special, i32 1879048192, i32 939524096
  %normal = add i32 %moved, %offset
  %unsigned = select i1 %small, i32 %scaled.bits, i32 %normal
  %signed = or i32 %unsigned, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}

define half @__truncsfhf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %magnitude = and i32 %bits, 2147483647
  %above = bitcast i32 %magnitude to float
  %small = icmp ult i32 %magnitude, 947912704
  %aligned = fadd float %above, 5.0e-1
  %aligned.bits = bitcast float %aligned to i32
  %subnormal = sub i32 %aligned.bits, 1056964608
  %last = lshr i32 %magnitude, 13
  %odd = and i32 %last, 1
  %moved = sub i32 %magnitude, 939520001
  %rounded = add i32 %moved, %odd
  %normal = lshr i32 %rounded, 13
  %finite = select i1 %small, i32 %subnormal, i32 %normal
  %large = icmp uge i32 %magnitude, 1199566848
  %bounded = select i1 %large, i32 31744, i32 %finite
  %nan = icmp ugt i32 %magnitude, 2139095040
  %unsigned = select i1 %nan, i32 32256, i32 %bounded
  %signed = or i32 %unsigned, %sign
  %short = trunc i32 %signed to i16
  %result = bitcast i16 %short to half
  ret half %result
}
"""

_ROLLED = (1 << 20) - 2
"""Number of a metadata node: between those of places and those of loops."""
GPU_QUOTIENT = f"""\
define internal i64 @{QUOTIENT}(i64 %n, i64 %d) #0 {{
entry:
  %both = or i64 %n, %d
  %short = icmp ult i64 %both, {1 << 32}
  br i1 %short, label %words, label %long, !prof !0
words:
  %n.word = trunc i64 %n to i32
  %d.word = trunc i64 %d to i32
  %q.word = udiv i32 %n.word, %d.word
  %q.short = zext i32 %q.word to i64
  br label %done
long:
  %n.zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %d.zeros = call i64 @llvm.ctlz.i64(i64 %d, i1 false)
  %longer = icmp ugt i64 %n.zeros, %d.zeros
  br i1 %longer, label %done, label %begin
begin:
  %places = sub i64 %d.zeros, %n.zeros
  %highest = shl i64 %d, %places
  br label %bit
bit:
  %place = phi i64 [ %places, %begin ], [ %place.next, %bit ]
  %part = phi i64 [ %highest, %begin ], [ %part.next, %bit ]
  %left = phi i64 [ %n, %begin ], [ %left.next, %bit ]
  %q = phi i64 [ 0, %begin ], [ %q.next, %bit ]
  %fits = icmp uge i64 %left, %part
  %less = sub i64 %left, %part
  %left.next = select i1 %fits, i64 %less, i64 %left
  %q.twice = shl i64 %q, 1
  %one = zext i1 %fits to i64
  %q.next = or i64 %q.twice, %one
  %part.next = lshr i64 %part, 1
  %place.next = sub i64 %place, 1
  %more = icmp ne i64 %place, 0
  br i1 %more, label %bit, label %done, !llvm.loop !{_ROLLED}
done:
  %result = phi i64 [ %q.short, %words ], [ 0, %long ], [ %q.next, %bit ]
  ret i64 %result
}}
!{_ROLLED} = distinct !{{!{_ROLLED}, !{_ROLLED + 1}}}
!{_ROLLED + 1} = !{{!"{UNROLL}.disable"}}
"""
"""Long division, bit by bit of the quotient, where not both numbers have 32 bits."""
