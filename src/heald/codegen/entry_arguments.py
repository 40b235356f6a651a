"""The part of the launch entry that reads Python objects, as LLVM text.

Only exact types are read, and nothing here runs code of the user.
"""

from __future__ import annotations

from heald.codegen import entry_table as table
from heald.codegen.entry_conditions import read
from heald.codegen.entry_layout import ObjectLayout

MAX_EXTENT = (1 << 31) - 1
MAX_THREADS = 1 << 62


def arguments_text(layout: ObjectLayout) -> str:
    """``@take_dims(object, header)``, ``@take(table, record, object, block)`` and what they
    call."""
    return "\n".join([_objects(layout), _DIMS, _numbers(layout), _take(layout)])


def _objects(layout: ObjectLayout) -> str:
    return f"""\
define internal i1 @is(ptr %object, ptr %type) alwaysinline nounwind {{
{read("own", "%object", layout.type, "ptr")}
  %same = icmp eq ptr %own, %type
  ret i1 %same
}}

; The value of an exact int, and whether it is one that fits.
define internal {{i64, i1}} @whole(ptr %object, i64 %lowest, i64 %highest) alwaysinline nounwind {{
  %overflow = alloca i32, align 4
  %is = call i1 @is(ptr %object, ptr @py_int)
  br i1 %is, label %read, label %refuse
read:
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow, align 4
  %fits = icmp eq i32 %over, 0
  %not.low = icmp sge i64 %number, %lowest
  %not.high = icmp sle i64 %number, %highest
  %within = and i1 %not.low, %not.high
  %good = and i1 %fits, %within
  %half = insertvalue {{i64, i1}} poison, i64 %number, 0
  %pair = insertvalue {{i64, i1}} %half, i1 %good, 1
  ret {{i64, i1}} %pair
refuse:
  ret {{i64, i1}} zeroinitializer
}}

; How many items an exact list or tuple has; -1 for anything else.
define internal i64 @count(ptr %object) alwaysinline nounwind {{
  %is.list = call i1 @is(ptr %object, ptr @py_list)
  %is.tuple = call i1 @is(ptr %object, ptr @py_tuple)
  %good = or i1 %is.list, %is.tuple
  br i1 %good, label %read, label %refuse
read:
{read("size", "%object", layout.size)}
  ret i64 %size
refuse:
  ret i64 -1
}}

; An item of an exact list or tuple.
define internal ptr @item(ptr %object, i64 %index) alwaysinline nounwind {{
  %is.tuple = call i1 @is(ptr %object, ptr @py_tuple)
  br i1 %is.tuple, label %of.tuple, label %of.list
of.tuple:
  %items = getelementptr i8, ptr %object, i64 {layout.tuple}
  %place = getelementptr ptr, ptr %items, i64 %index
  %one = load ptr, ptr %place, align 8
  ret ptr %one
of.list:
  %other = call ptr @PyList_GetItem(ptr %object, i64 %index)
  ret ptr %other
}}
"""


_DIMS = f"""\
; Launch extents into the header.  Gives how many dims and threads there are, or -1 dims.
define internal {{i64, i64}} @take_dims(ptr %object, ptr %header) nounwind {{
entry:
  store <4 x i64> <i64 1, i64 1, i64 1, i64 1>, ptr %header, align 8
  %is.int = call i1 @is(ptr %object, ptr @py_int)
  %listed = call i64 @count(ptr %object)
  %count = select i1 %is.int, i64 1, i64 %listed
  %less = sub i64 %count, 1
  %usable = icmp ult i64 %less, 4
  br i1 %usable, label %axis, label %refuse
axis:
  %k = phi i64 [ 0, %entry ], [ %next, %store ]
  %total = phi i64 [ 1, %entry ], [ %product, %store ]
  %limit = phi i64 [ 1, %entry ], [ %bound, %store ]
  br i1 %is.int, label %take, label %pick
pick:
  %listed.one = call ptr @item(ptr %object, i64 %k)
  br label %take
take:
  %one = phi ptr [ %object, %axis ], [ %listed.one, %pick ]
  %pair = call {{i64, i1}} @whole(ptr %one, i64 0, i64 {MAX_EXTENT})
  %extent = extractvalue {{i64, i1}} %pair, 0
  %good = extractvalue {{i64, i1}} %pair, 1
  %some = call i64 @llvm.umax.i64(i64 %extent, i64 1)
  %bound.pair = call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 %limit, i64 %some)
  %bound = extractvalue {{i64, i1}} %bound.pair, 0
  %over = extractvalue {{i64, i1}} %bound.pair, 1
  %few = icmp ule i64 %bound, {MAX_THREADS}
  %exact = xor i1 %over, true
  %small = and i1 %few, %exact
  %usable.extent = and i1 %good, %small
  br i1 %usable.extent, label %store, label %refuse
store:
  %place = getelementptr i64, ptr %header, i64 %k
  store i64 %extent, ptr %place, align 8
  %product = mul i64 %total, %extent
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %axis, label %done
done:
  %half = insertvalue {{i64, i64}} poison, i64 %count, 0
  %both = insertvalue {{i64, i64}} %half, i64 %product, 1
  ret {{i64, i64}} %both
refuse:
  ret {{i64, i64}} {{ i64 -1, i64 0 }}
}}
"""


def _numbers(layout: ObjectLayout) -> str:
    return f"""\
; The value of an integer, and whether it is one that fits: an exact int; where %loose also numpy's.
define internal {{i64, i1}} @integer(ptr %table, ptr %record, ptr %object, i1 %loose) nounwind {{
{read("lowest", "%record", table.LOWEST)}
{read("highest", "%record", table.HIGHEST)}
  %is.int = call i1 @is(ptr %object, ptr @py_int)
  br i1 %is.int, label %int, label %other
int:
  %own = call {{i64, i1}} @whole(ptr %object, i64 %lowest, i64 %highest)
  ret {{i64, i1}} %own
other:
  br i1 %loose, label %numpy, label %refuse
numpy:
{read("int32", "%table", table.NUMPY_TYPES + 16, "ptr")}
{read("int64", "%table", table.NUMPY_TYPES + 24, "ptr")}
  %place = getelementptr i8, ptr %object, i64 {layout.number}
  %is.int32 = call i1 @is(ptr %object, ptr %int32)
  br i1 %is.int32, label %narrow, label %not.narrow
narrow:
  %short = load i32, ptr %place, align 4
  %extended = sext i32 %short to i64
  br label %range
not.narrow:
  %is.int64 = call i1 @is(ptr %object, ptr %int64)
  br i1 %is.int64, label %wide, label %refuse
wide:
  %long = load i64, ptr %place, align 8
  br label %range
range:
  %number = phi i64 [ %extended, %narrow ], [ %long, %wide ]
  %not.low = icmp sge i64 %number, %lowest
  %not.high = icmp sle i64 %number, %highest
  %good = and i1 %not.low, %not.high
  %half = insertvalue {{i64, i1}} poison, i64 %number, 0
  %pair = insertvalue {{i64, i1}} %half, i1 %good, 1
  ret {{i64, i1}} %pair
refuse:
  ret {{i64, i1}} zeroinitializer
}}

; The value of a real number, and whether it is one: an exact float; where %loose also numpy's and
; integers that are exact.
define internal {{double, i1}} @real(ptr %table, ptr %record, ptr %object, i1 %loose) nounwind {{
  %is.float = call i1 @is(ptr %object, ptr @py_float)
  br i1 %is.float, label %float, label %other
float:
  %own = call double @PyFloat_AsDouble(ptr %object)
  br label %done
other:
  br i1 %loose, label %numpy, label %done
numpy:
{read("float32", "%table", table.NUMPY_TYPES, "ptr")}
{read("float64", "%table", table.NUMPY_TYPES + 8, "ptr")}
  %place = getelementptr i8, ptr %object, i64 {layout.number}
  %is.float32 = call i1 @is(ptr %object, ptr %float32)
  br i1 %is.float32, label %narrow, label %not.narrow
narrow:
  %short = load float, ptr %place, align 4
  %extended = fpext float %short to double
  br label %done
not.narrow:
  %is.float64 = call i1 @is(ptr %object, ptr %float64)
  br i1 %is.float64, label %wide, label %whole
wide:
  %long = load double, ptr %place, align 8
  br label %done
whole:
  %pair = call {{i64, i1}} @integer(ptr %table, ptr %record, ptr %object, i1 true)
  %integer = extractvalue {{i64, i1}} %pair, 0
  %exact = extractvalue {{i64, i1}} %pair, 1
  %converted = sitofp i64 %integer to double
  br label %done
done:
  %value = phi double [ %own, %float ], [ 0.0, %other ], [ %extended, %narrow ], [ %long, %wide ],
    [ %converted, %whole ]
  %good = phi i1 [ true, %float ], [ false, %other ], [ true, %narrow ], [ true, %wide ],
    [ %exact, %whole ]
  %half = insertvalue {{double, i1}} poison, double %value, 0
  %both = insertvalue {{double, i1}} %half, i1 %good, 1
  ret {{double, i1}} %both
}}

; A number into its place in the block; false where it is none of the type of the parameter.
define internal i1 @take_number(ptr %table, ptr %record, ptr %object, ptr %place) nounwind {{
{read("how", "%record", table.NUMBER)}
{read("others", "%record", table.LOOSE)}
{read("size", "%record", table.SIZE)}
  %loose = icmp ne i64 %others, 0
  switch i64 %how, label %truth [
    i64 {table.DOUBLE}, label %real
    i64 {table.FLOAT}, label %real
    i64 {table.WHOLE}, label %integer
  ]
truth:
  %true = icmp eq ptr %object, @py_True
  %false = icmp eq ptr %object, @py_False
  %byte = zext i1 %true to i8
  store i8 %byte, ptr %place, align 1
  %known = or i1 %true, %false
  ret i1 %known
real:
  %real.pair = call {{double, i1}} @real(ptr %table, ptr %record, ptr %object, i1 %loose)
  %double = extractvalue {{double, i1}} %real.pair, 0
  %is.real = extractvalue {{double, i1}} %real.pair, 1
  %is.wide = icmp eq i64 %how, {table.DOUBLE}
  br i1 %is.wide, label %wide, label %narrow
wide:
  store double %double, ptr %place, align 1
  ret i1 %is.real
narrow: ; a finite number never becomes infinite
  %float = fptrunc double %double to float
  store float %float, ptr %place, align 1
  %float.size = call float @llvm.fabs.f32(float %float)
  %double.size = call double @llvm.fabs.f64(double %double)
  %float.infinite = fcmp oeq float %float.size, 0x7FF0000000000000
  %double.infinite = fcmp oeq double %double.size, 0x7FF0000000000000
  %same = icmp eq i1 %float.infinite, %double.infinite
  %fits = and i1 %same, %is.real
  ret i1 %fits
integer:
  %pair = call {{i64, i1}} @integer(ptr %table, ptr %record, ptr %object, i1 %loose)
  %number = extractvalue {{i64, i1}} %pair, 0
  %good = extractvalue {{i64, i1}} %pair, 1
  switch i64 %size, label %size.8 [
    i64 1, label %size.1
    i64 2, label %size.2
    i64 4, label %size.4
  ]
size.1:
  %bits.8 = trunc i64 %number to i8
  store i8 %bits.8, ptr %place, align 1
  ret i1 %good
size.2:
  %bits.16 = trunc i64 %number to i16
  store i16 %bits.16, ptr %place, align 1
  ret i1 %good
size.4:
  %bits.32 = trunc i64 %number to i32
  store i32 %bits.32, ptr %place, align 1
  ret i1 %good
size.8:
  store i64 %number, ptr %place, align 1
  ret i1 %good
}}
"""


def _take(layout: ObjectLayout) -> str:
    return f"""\
; One argument into the block.  Gives null where it does not fit, else what must stay alive (None
; where nothing must).
define internal ptr @take(ptr %table, ptr %record, ptr %object, ptr %block) nounwind {{
{read("kind", "%record", table.KIND)}
{read("offset", "%record", table.OFFSET)}
  %place = getelementptr i8, ptr %block, i64 %offset
  switch i64 %kind, label %bytes [
    i64 {table.TAKE_ARRAY}, label %array
    i64 {table.TAKE_NUMBER}, label %number
    i64 {table.TAKE_VALUE}, label %value
  ]

array:
{read("class", "%table", table.ARRAY_TYPE, "ptr")}
{read("ndim", "%record", table.NDIM)}
  %axes = shl i64 %ndim, 4
  %length = add i64 %axes, 8
  %is.array = call i1 @is(ptr %object, ptr %class)
  br i1 %is.array, label %slots, label %none
none:
{read("optional", "%record", table.OPTIONAL)}
  %is.none = icmp eq ptr %object, @py_None
  %allowed = icmp ne i64 %optional, 0
  %absent = and i1 %is.none, %allowed
  br i1 %absent, label %clear, label %refuse
clear:
  call void @llvm.memset.p0.i64(ptr %place, i8 0, i64 %length, i1 false)
  ret ptr @py_None
slots:
{read("packed.slot", "%table", table.ARRAY_PACKED)}
{read("owner.slot", "%table", table.ARRAY_OWNER)}
{read("packed", "%object", "%packed.slot", "ptr")}
{read("owner", "%object", "%owner.slot", "ptr")}
  %unpacked = icmp eq ptr %packed, null
  br i1 %unpacked, label %refuse, label %check
check:
{read("size", "%packed", layout.size)}
{read("signature", "%packed", layout.bytes)}
{read("expected", "%record", table.SIGNATURE)}
{read("ignored", "%record", table.IGNORED)}
  %is.packed = call i1 @is(ptr %packed, ptr @py_bytes)
  %whole = add i64 %length, 8
  %right.size = icmp eq i64 %size, %whole
  %different = xor i64 %signature, %expected
  %seen = xor i64 %ignored, -1
  %mismatch = and i64 %different, %seen
  %fits = icmp eq i64 %mismatch, 0
  %sound = and i1 %is.packed, %right.size
  %good = and i1 %sound, %fits
  br i1 %good, label %copy, label %refuse
copy:
  %words = getelementptr i8, ptr %packed, i64 {layout.bytes + 8}
  br label %word
word:
  %k = phi i64 [ 0, %copy ], [ %next, %word ]
  %from = getelementptr i8, ptr %words, i64 %k
  %to = getelementptr i8, ptr %place, i64 %k
  %datum = load i64, ptr %from, align 8
  store i64 %datum, ptr %to, align 8
  %next = add i64 %k, 8
  %more = icmp ult i64 %next, %length
  br i1 %more, label %word, label %copied
copied:
  ret ptr %owner

number:
  %converted = call i1 @take_number(ptr %table, ptr %record, ptr %object, ptr %place)
  br i1 %converted, label %done, label %refuse

value:
{read("value.class", "%record", table.CLASS, "ptr")}
{read("leaves.slot", "%record", table.LEAVES)}
{read("count", "%record", table.COUNT)}
{read("step", "%record", table.SIZE)}
  %is.value = call i1 @is(ptr %object, ptr %value.class)
  br i1 %is.value, label %leaves, label %refuse
leaves:
{read("list", "%object", "%leaves.slot", "ptr")}
  %unset = icmp eq ptr %list, null
  br i1 %unset, label %refuse, label %listed
listed:
  %found = call i64 @count(ptr %list)
  %complete = icmp eq i64 %found, %count
  br i1 %complete, label %leaf, label %refuse
leaf:
  %n = phi i64 [ 0, %listed ], [ %following, %taken ]
  %leaf.object = call ptr @item(ptr %list, i64 %n)
  %leaf.offset = mul i64 %n, %step
  %leaf.place = getelementptr i8, ptr %place, i64 %leaf.offset
  %leaf.good = call i1 @take_number(ptr %table, ptr %record, ptr %leaf.object, ptr %leaf.place)
  br i1 %leaf.good, label %taken, label %refuse
taken:
  %following = add i64 %n, 1
  %another = icmp ult i64 %following, %count
  br i1 %another, label %leaf, label %done

bytes:
{read("bytes.size", "%record", table.SIZE)}
  %is.bytes = call i1 @is(ptr %object, ptr @py_bytes)
  br i1 %is.bytes, label %measure, label %refuse
measure:
{read("given.size", "%object", layout.size)}
  %as.expected = icmp eq i64 %given.size, %bytes.size
  br i1 %as.expected, label %raw, label %refuse
raw:
  %data = getelementptr i8, ptr %object, i64 {layout.bytes}
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %data, i64 %bytes.size, i1 false)
  br label %done

done:
  ret ptr @py_None
refuse:
  ret ptr null
}}
"""
