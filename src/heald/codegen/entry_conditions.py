"""The part of the launch entry that evaluates launch conditions, as LLVM text.

It says what ``LaunchCondition.holds`` says, on the header and parameter block of a launch: 64-bit
arithmetic in the same order, false where a number does not fit.
"""

from __future__ import annotations

from heald.codegen import entry_table as table


def read(name: str, base: str, offset: int | str, kind: str = "i64") -> str:
    """``%name``, loaded from a place that is a multiple of 8."""
    return (
        f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 8"
    )


_CHOOSE = f"""\
; The mask of the conditions that hold.
define internal i64 @choose(ptr %table, ptr %header, ptr %block) nounwind {{
entry:
{read("conditions", "%table", table.CONDITIONS)}
  %first = getelementptr i8, ptr %table, i64 %conditions
  br label %condition
condition:
  %at = phi ptr [ %first, %entry ], [ %end, %judged ]
  %mask = phi i64 [ 0, %entry ], [ %mask.next, %judged ]
  %bit = phi i64 [ 1, %entry ], [ %bit.next, %judged ]
  %length = load i64, ptr %at, align 8
  %end = getelementptr i8, ptr %at, i64 %length
  %last = icmp eq i64 %length, 0
  br i1 %last, label %done, label %begin
begin:
  %clauses = getelementptr i8, ptr %at, i64 {table.WORD}
  br label %clause
clause:
  %here = phi ptr [ %clauses, %begin ], [ %following, %next ]
  %finished = icmp eq ptr %here, %end
  br i1 %finished, label %judged, label %evaluate
evaluate:
  %size = load i64, ptr %here, align 8
{read("kind", "%here", 8)}
  %rest = getelementptr i8, ptr %here, i64 {table.CLAUSE_HEAD}
  switch i64 %kind, label %unit [
    i64 {table.LINEAR}, label %linear
    i64 {table.APART}, label %apart
  ]
linear:
  %holds.linear = call i1 @linear(ptr %rest, ptr %header, ptr %block)
  br label %decide
apart:
  %holds.apart = call i1 @apart(ptr %rest, ptr %block)
  br label %decide
unit:
  %holds.unit = call i1 @unit(ptr %rest, ptr %block)
  br label %decide
decide:
  %holds = phi i1 [ %holds.linear, %linear ], [ %holds.apart, %apart ], [ %holds.unit, %unit ]
  br i1 %holds, label %next, label %judged
next:
  %following = getelementptr i8, ptr %here, i64 %size
  br label %clause
judged:
  %gained = phi i64 [ %bit, %clause ], [ 0, %decide ]
  %mask.next = or i64 %mask, %gained
  %bit.next = shl i64 %bit, 1
  br label %condition
done:
  ret i64 %mask
}}
"""

_LOADS = "\n".join(
    f"""\
load.{kind}:
  %raw.{kind} = load i{kind[1:]}, ptr %place, align 1
  %wide.{kind} = {"sext" if kind[0] == "i" else "zext"} i{kind[1:]} %raw.{kind} to i64
  br label %loaded"""
    for kind in table.LOADS
    if not kind.endswith("64")
)
_CASES = "\n".join(
    f"    i64 {code}, label %load.{kind}"
    for code, kind in enumerate(table.LOADS)
    if not kind.endswith("64")
)
_LOADED = ", ".join(
    f"[ %wide.{kind}, %load.{kind} ]" for kind in table.LOADS if not kind.endswith("64")
)

_LINEAR = f"""\
; constant + sum(coefficient * symbol) >= 0
define internal i1 @linear(ptr %clause, ptr %header, ptr %block) nounwind {{
entry:
{read("count", "%clause", 0)}
{read("constant", "%clause", 8)}
  %first = getelementptr i8, ptr %clause, i64 16
  br label %term
term:
  %k = phi i64 [ 0, %entry ], [ %k.next, %added ]
  %at = phi ptr [ %first, %entry ], [ %at.next, %added ]
  %total = phi i64 [ %constant, %entry ], [ %sum, %added ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %locate, label %done
locate:
{read("coefficient", "%at", 0)}
{read("home", "%at", 8)}
{read("offset", "%at", 16)}
{read("how", "%at", 24)}
  %in.block = icmp eq i64 %home, {table.IN_BLOCK}
  %base = select i1 %in.block, ptr %block, ptr %header
  %place = getelementptr i8, ptr %base, i64 %offset
  switch i64 %how, label %load.64 [
{_CASES}
  ]
load.64:
  %word = load i64, ptr %place, align 1
  %unsigned = icmp eq i64 %how, {table.LOADS.index("u64")}
  %negative = icmp slt i64 %word, 0
  %beyond = and i1 %unsigned, %negative
  br i1 %beyond, label %fail, label %loaded
{_LOADS}
loaded:
  %number = phi i64 [ %word, %load.64 ], {_LOADED}
  %product.pair = call {{i64, i1}} @llvm.smul.with.overflow.i64(i64 %coefficient, i64 %number)
  %product = extractvalue {{i64, i1}} %product.pair, 0
  %product.over = extractvalue {{i64, i1}} %product.pair, 1
  %sum.pair = call {{i64, i1}} @llvm.sadd.with.overflow.i64(i64 %total, i64 %product)
  %sum = extractvalue {{i64, i1}} %sum.pair, 0
  %sum.over = extractvalue {{i64, i1}} %sum.pair, 1
  %over = or i1 %product.over, %sum.over
  br i1 %over, label %fail, label %added
added:
  %k.next = add i64 %k, 1
  %at.next = getelementptr i8, ptr %at, i64 {table.TERM_SIZE}
  br label %term
done:
  %holds = icmp sge i64 %total, 0
  ret i1 %holds
fail:
  ret i1 false
}}
"""

_SPAN = """\
; First byte of elements of an array and the one after the last.  Gives 0 where an address does not
; fit, 1 where it does, 2 where there are no elements.
define internal i64 @span(ptr %array, i64 %ndim, i64 %itemsize, ptr %result) nounwind {
entry:
  %pointer = load i64, ptr %array, align 8
  %extents = getelementptr i8, ptr %array, i64 8
  %strides = getelementptr i64, ptr %extents, i64 %ndim
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %n.next, %some ]
  %left = icmp ult i64 %n, %ndim
  br i1 %left, label %seen, label %begin
seen:
  %n.place = getelementptr i64, ptr %extents, i64 %n
  %n.extent = load i64, ptr %n.place, align 8
  %empty = icmp sle i64 %n.extent, 0
  br i1 %empty, label %nothing, label %some
some:
  %n.next = add i64 %n, 1
  br label %look
begin:
  %end.pair = call {i64, i1} @llvm.sadd.with.overflow.i64(i64 %pointer, i64 %itemsize)
  %end.first = extractvalue {i64, i1} %end.pair, 0
  %end.over = extractvalue {i64, i1} %end.pair, 1
  br i1 %end.over, label %fail, label %axis
axis:
  %k = phi i64 [ 0, %begin ], [ %k.next, %reached ]
  %low = phi i64 [ %pointer, %begin ], [ %low.next, %reached ]
  %high = phi i64 [ %end.first, %begin ], [ %high.next, %reached ]
  %more = icmp ult i64 %k, %ndim
  br i1 %more, label %reach, label %done
reach:
  %extent.place = getelementptr i64, ptr %extents, i64 %k
  %stride.place = getelementptr i64, ptr %strides, i64 %k
  %extent = load i64, ptr %extent.place, align 8
  %stride = load i64, ptr %stride.place, align 8
  %steps = sub i64 %extent, 1
  %reach.pair = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %steps, i64 %stride)
  %distance = extractvalue {i64, i1} %reach.pair, 0
  %reach.over = extractvalue {i64, i1} %reach.pair, 1
  %down = call i64 @llvm.smin.i64(i64 %distance, i64 0)
  %up = call i64 @llvm.smax.i64(i64 %distance, i64 0)
  %low.pair = call {i64, i1} @llvm.sadd.with.overflow.i64(i64 %low, i64 %down)
  %low.next = extractvalue {i64, i1} %low.pair, 0
  %low.over = extractvalue {i64, i1} %low.pair, 1
  %high.pair = call {i64, i1} @llvm.sadd.with.overflow.i64(i64 %high, i64 %up)
  %high.next = extractvalue {i64, i1} %high.pair, 0
  %high.over = extractvalue {i64, i1} %high.pair, 1
  %over.one = or i1 %low.over, %high.over
  %over = or i1 %over.one, %reach.over
  br i1 %over, label %fail, label %reached
reached:
  %k.next = add i64 %k, 1
  br label %axis
done:
  store i64 %low, ptr %result, align 8
  %second = getelementptr i8, ptr %result, i64 8
  store i64 %high, ptr %second, align 8
  ret i64 1
nothing:
  ret i64 2
fail:
  ret i64 0
}
"""

_DISTINCT = """\
; Are different indices different bytes?  Axes are taken from the last to the first.
define internal i1 @distinct(ptr %array, i64 %ndim, i64 %itemsize) nounwind {
entry:
  %extents = getelementptr i8, ptr %array, i64 8
  %strides = getelementptr i64, ptr %extents, i64 %ndim
  br label %axis
axis:
  %left = phi i64 [ %ndim, %entry ], [ %k, %next ]
  %size = phi i64 [ %itemsize, %entry ], [ %size.next, %next ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %inspect, label %good
inspect:
  %k = sub i64 %left, 1
  %extent.place = getelementptr i64, ptr %extents, i64 %k
  %stride.place = getelementptr i64, ptr %strides, i64 %k
  %extent = load i64, ptr %extent.place, align 8
  %stride = load i64, ptr %stride.place, align 8
  %several = icmp sgt i64 %extent, 1
  br i1 %several, label %measure, label %next
measure:
  %step = call i64 @llvm.abs.i64(i64 %stride, i1 false)
  %wide = icmp sge i64 %step, %size
  br i1 %wide, label %grow, label %fail
grow:
  %steps = sub i64 %extent, 1
  %reach.pair = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %steps, i64 %step)
  %reach = extractvalue {i64, i1} %reach.pair, 0
  %reach.over = extractvalue {i64, i1} %reach.pair, 1
  %sum.pair = call {i64, i1} @llvm.sadd.with.overflow.i64(i64 %size, i64 %reach)
  %sum = extractvalue {i64, i1} %sum.pair, 0
  %sum.over = extractvalue {i64, i1} %sum.pair, 1
  %over = or i1 %reach.over, %sum.over
  br i1 %over, label %fail, label %next
next:
  %size.next = phi i64 [ %size, %inspect ], [ %sum, %grow ]
  br label %axis
good:
  ret i1 true
fail:
  ret i1 false
}
"""

_APART = f"""\
; Is nothing that is written also something else?
define internal i1 @apart(ptr %clause, ptr %block) nounwind {{
entry:
  %spans = alloca [{2 * table.MAX_APART} x i64], align 16
  %states = alloca [{table.MAX_APART} x i64], align 16
{read("count", "%clause", 0)}
{read("written", "%clause", 8)}
  %places = getelementptr i8, ptr %clause, i64 16
  br label %array
array:
  %k = phi i64 [ 0, %entry ], [ %k.next, %fine ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %measure, label %pairs
measure:
  %k.offset = shl i64 %k, 5
  %k.place = getelementptr i8, ptr %places, i64 %k.offset
{read("offset", "%k.place", 0)}
{read("ndim", "%k.place", 8)}
{read("itemsize", "%k.place", 16)}
  %descriptor = getelementptr i8, ptr %block, i64 %offset
  %k.double = shl i64 %k, 1
  %k.span = getelementptr i64, ptr %spans, i64 %k.double
  %state = call i64 @span(ptr %descriptor, i64 %ndim, i64 %itemsize, ptr %k.span)
  %k.state = getelementptr i64, ptr %states, i64 %k
  store i64 %state, ptr %k.state, align 8
  switch i64 %state, label %fail [
    i64 1, label %filled
    i64 2, label %fine
  ]
filled:
  %is.written = icmp ult i64 %k, %written
  br i1 %is.written, label %check, label %fine
check:
  %good = call i1 @distinct(ptr %descriptor, i64 %ndim, i64 %itemsize)
  br i1 %good, label %fine, label %fail
fine:
  %k.next = add i64 %k, 1
  br label %array

pairs:
  %i = phi i64 [ 0, %array ], [ %i.next, %row.end ]
  %i.more = icmp ult i64 %i, %written
  br i1 %i.more, label %row, label %done
row:
  %i.offset = shl i64 %i, 5
  %i.place = getelementptr i8, ptr %places, i64 %i.offset
  %i.state.at = getelementptr i64, ptr %states, i64 %i
  %i.state = load i64, ptr %i.state.at, align 8
  %i.double = shl i64 %i, 1
  %i.span = getelementptr i64, ptr %spans, i64 %i.double
  %i.filled = icmp eq i64 %i.state, 1
  br i1 %i.filled, label %pair, label %row.end
pair:
  %j.before = phi i64 [ %i, %row ], [ %j, %pair.end ]
  %j = add i64 %j.before, 1
  %j.more = icmp ult i64 %j, %count
  br i1 %j.more, label %compare, label %row.end
compare:
  %j.state.at = getelementptr i64, ptr %states, i64 %j
  %j.state = load i64, ptr %j.state.at, align 8
  %j.filled = icmp eq i64 %j.state, 1
  br i1 %j.filled, label %overlap, label %pair.end
overlap:
  %j.double = shl i64 %j, 1
  %j.span = getelementptr i64, ptr %spans, i64 %j.double
{read("i.low", "%i.span", 0)}
{read("i.high", "%i.span", 8)}
{read("j.low", "%j.span", 0)}
{read("j.high", "%j.span", 8)}
  %before = icmp sle i64 %i.high, %j.low
  %after = icmp sle i64 %j.high, %i.low
  %disjoint = or i1 %before, %after
  br i1 %disjoint, label %pair.end, label %same
same:
{read("merged", "%i.place", 24)}
  %j.bit = lshr i64 %merged, %j
  %may = trunc i64 %j.bit to i1
  br i1 %may, label %equal, label %fail
equal:
  %j.offset = shl i64 %j, 5
  %j.place = getelementptr i8, ptr %places, i64 %j.offset
  %are.same = call i1 @same(ptr %i.place, ptr %j.place, ptr %block)
  br i1 %are.same, label %pair.end, label %fail
pair.end:
  br label %pair
row.end:
  %i.next = add i64 %i, 1
  br label %pairs
done:
  ret i1 true
fail:
  ret i1 false
}}

; Do two places describe one and the same array?
define internal i1 @same(ptr %one, ptr %two, ptr %block) nounwind {{
entry:
{read("one.offset", "%one", 0)}
{read("one.ndim", "%one", 8)}
{read("one.itemsize", "%one", 16)}
{read("two.offset", "%two", 0)}
{read("two.ndim", "%two", 8)}
{read("two.itemsize", "%two", 16)}
  %rank = icmp eq i64 %one.ndim, %two.ndim
  %item = icmp eq i64 %one.itemsize, %two.itemsize
  %kind = and i1 %rank, %item
  %double = shl i64 %one.ndim, 1
  %words = add i64 %double, 1
  %first = getelementptr i8, ptr %block, i64 %one.offset
  %second = getelementptr i8, ptr %block, i64 %two.offset
  br i1 %kind, label %word, label %fail
word:
  %k = phi i64 [ 0, %entry ], [ %k.next, %equal ]
  %more = icmp ult i64 %k, %words
  br i1 %more, label %compare, label %good
compare:
  %first.at = getelementptr i64, ptr %first, i64 %k
  %second.at = getelementptr i64, ptr %second, i64 %k
  %a = load i64, ptr %first.at, align 8
  %b = load i64, ptr %second.at, align 8
  %matches = icmp eq i64 %a, %b
  br i1 %matches, label %equal, label %fail
equal:
  %k.next = add i64 %k, 1
  br label %word
good:
  ret i1 true
fail:
  ret i1 false
}}
"""

_UNIT = f"""\
; Are arrays dense along their last axis, aligned, and within 2^31 bytes?
define internal i1 @unit(ptr %clause, ptr %block) nounwind {{
entry:
  %span = alloca [2 x i64], align 16
{read("count", "%clause", 0)}
{read("bits", "%clause", 8)}
  %places = getelementptr i8, ptr %clause, i64 16
  br label %array
array:
  %k = phi i64 [ 0, %entry ], [ %k.next, %fine ]
  %place = phi ptr [ %places, %entry ], [ %place.next, %fine ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %measure, label %done
measure:
{read("offset", "%place", 0)}
{read("ndim", "%place", 8)}
{read("itemsize", "%place", 16)}
  %descriptor = getelementptr i8, ptr %block, i64 %offset
  %pointer = load i64, ptr %descriptor, align 8
  %double = shl i64 %ndim, 1
  %last = getelementptr i64, ptr %descriptor, i64 %double
  %stride = load i64, ptr %last, align 8
  %dense = icmp eq i64 %stride, %itemsize
  %skew = and i64 %pointer, %bits
  %aligned = icmp eq i64 %skew, 0
  %laid = and i1 %dense, %aligned
  %state = call i64 @span(ptr %descriptor, i64 %ndim, i64 %itemsize, ptr %span)
  br i1 %laid, label %size, label %fail
size:
  switch i64 %state, label %fail [
    i64 1, label %filled
    i64 2, label %fine
  ]
filled:
{read("low", "%span", 0)}
{read("high", "%span", 8)}
  %pair = call {{i64, i1}} @llvm.ssub.with.overflow.i64(i64 %high, i64 %low)
  %reach = extractvalue {{i64, i1}} %pair, 0
  %over = extractvalue {{i64, i1}} %pair, 1
  %small = icmp slt i64 %reach, {1 << 31}
  %exact = xor i1 %over, true
  %fits = and i1 %small, %exact
  br i1 %fits, label %fine, label %fail
fine:
  %k.next = add i64 %k, 1
  %place.next = getelementptr i8, ptr %place, i64 {table.PLACE_SIZE}
  br label %array
done:
  ret i1 true
fail:
  ret i1 false
}}
"""

_DECLARATIONS = """\
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare {i64, i1} @llvm.sadd.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.ssub.with.overflow.i64(i64, i64)
"""

CONDITIONS_TEXT = "\n".join([_DECLARATIONS, _CHOOSE, _LINEAR, _SPAN, _DISTINCT, _APART, _UNIT])
"""``@choose(table, header, block)`` and what it calls."""
