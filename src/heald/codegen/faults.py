"""Guards: the branch around an op that may fail, and the cold code that records a fault.

The helper is compiled once for all kernels (``support``, ``nvptx``).  On CPUs counting is one
atomic add; the lock is taken only by a thread that is lower than the one on record, which in an
ascending range of threads is rare.  On GPUs, where a warp must not wait for its own threads, the
record is a minimum and details go to slots (``abi.GPU_FAULT_KEY``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heald.artifact import FaultKind, abi
from heald.codegen.body import (
    DEVICE_SCOPE,
    FAULT_PLACE,
    FAULTED,
    HEADER,
    THREAD,
    Body,
)
from heald.codegen.helpers import MAX_RANK
from heald.codegen.writer import INVARIANT, Writer
from heald.diagnostics import InternalError
from heald.ir import Op

_LOW, _RANK = 2 * MAX_RANK, 2 * MAX_RANK + 1
"""Words behind index and shape: the lower part of the key, and how many axes there are."""


def checked(
    body: Body,
    good: str,
    record: Callable[[], None],
    run: Callable[[], Sequence[str]],
    otherwise: Sequence[str],
    types: Sequence[str],
) -> tuple[str, ...]:
    """``run`` where the i1 ``good`` holds, else ``record`` and take ``otherwise``."""
    w = body.writer
    then, cold, end = w.label("good"), w.label("bad"), w.join("checked")
    w.branch(good, then, cold, likely=True)
    w.start(then)
    w.jump(end, run())
    w.start(cold)
    record()
    w.jump(end, otherwise)
    values = w.land(end, types)
    assert values is not None
    return values


def require(body: Body, op: Op, good: str, kind: FaultKind) -> None:
    """Record a fault of ``kind`` unless the i1 ``good`` holds; go on either way."""
    w = body.writer
    cold, end = w.label("bad"), w.label("go")
    w.branch(good, end, cold, likely=True)
    w.start(cold)
    record_fault(body, op, kind)
    w.do(f"br label %{end}")
    w.start(end)


def record_fault(
    body: Body, op: Op, kind: FaultKind, index: Sequence[str] = (), shape: Sequence[str] = ()
) -> None:
    """Record a fault; ``index`` and ``shape`` are i64, one a axis of the array at hand."""
    w = body.writer
    words = list(zip(index, shape, strict=True))[:MAX_RANK]
    if body.gpu:
        _note_on_gpu(body, op, kind, words)
        return
    _place_words(body, words)
    w.do(
        f"call void @heald_fault(ptr {HEADER}, i64 {THREAD}, i1 {has_faulted(body)}, "
        f"i64 {body.ids[op]}, i64 {int(kind)}, i64 {len(words)}, ptr {FAULT_PLACE})"
    )
    w.do(f"store i1 true, ptr {FAULTED}")


def record_lack(w: Writer, size: int) -> None:
    """In a range function of a CPU: there are no ``size`` bytes for it, so it runs no thread."""
    place = w.ins(f"alloca [{2 * MAX_RANK} x i64]")
    w.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {16 * MAX_RANK}, i1 false)")
    w.do(f"store i64 {size}, ptr {place}")
    w.do(
        f"call void @heald_fault(ptr {HEADER}, i64 %lo, i1 false, i64 {abi.NO_OP}, "
        f"i64 {int(FaultKind.MEMORY)}, i64 1, ptr {place})"
    )


def _place_words(body: Body, words: Sequence[tuple[str, str]]) -> None:
    for n, pair in enumerate(words):
        for slot, word in zip((n, MAX_RANK + n), pair, strict=True):
            _place_word(body, slot, word)


def _place_word(body: Body, slot: int, word: str) -> None:
    place = body.writer.ins(f"getelementptr i64, ptr {FAULT_PLACE}, i64 {slot}")
    body.writer.do(f"store i64 {word}, ptr {place}")


def _note_on_gpu(body: Body, op: Op, kind: FaultKind, words: Sequence[tuple[str, str]]) -> None:
    """Keep the thread's first fault; it is reported when the thread ends.

    A call here, in the midst of the code, would cost registers and uniform ones most of all.
    """
    w, number = body.writer, body.ids[op]
    if number >> abi.FAULT_OP_BITS:
        raise InternalError(f"op {number} of {body.kernel.name} does not fit a fault record")
    first, end = w.label("first"), w.label("noted")
    w.branch(has_faulted(body), end, first)
    w.start(first)
    _place_words(body, words)
    _place_word(body, _LOW, str(number << abi.FAULT_KIND_BITS | int(kind)))
    _place_word(body, _RANK, str(len(words)))
    w.do(f"store i1 true, ptr {FAULTED}")
    w.do(f"br label %{end}")
    w.start(end)


def report_on_gpu(body: Body) -> None:
    """At the end of a thread: what it has noted goes to the record of the launch."""
    w = body.writer
    report, end = w.label("report"), w.label("reported")
    healthy = w.ins(f"xor i1 {has_faulted(body)}, true")
    w.branch(healthy, end, report, likely=True)
    w.start(report)
    slot = w.ins(f"getelementptr i8, ptr {HEADER}, i64 {abi.HEADER_FAULT}")
    record = w.ins(f"load ptr, ptr {slot}, align 8{INVARIANT}")
    high = w.ins(f"shl i64 {THREAD}, {abi.FAULT_THREAD_SHIFT}")
    w.do(
        f"call void @heald_gpu_fault(ptr {record}, i64 {launch_number(body)}, i64 {high}, "
        f"ptr {FAULT_PLACE})"
    )
    w.do(f"br label %{end}")
    w.start(end)


def launch_number(body: Body) -> str:
    """The number of the launch on a GPU, an i64."""
    w = body.writer
    place = w.ins(f"getelementptr i8, ptr {HEADER}, i64 {abi.HEADER_LAUNCH}")
    number = w.ins(f"load i32, ptr {place}, align 4{INVARIANT}")
    return w.ins(f"zext i32 {number} to i64")


def has_faulted(body: Body) -> str:
    """Did this thread fault before?  An i1."""
    return body.writer.ins(f"load i1, ptr {FAULTED}")


def flag_allocas() -> list[str]:
    """What the head of a function with guards needs."""
    return [
        f"{FAULTED} = alloca i1",
        f"store i1 false, ptr {FAULTED}",
        f"{FAULT_PLACE} = alloca [{2 * MAX_RANK + 2} x i64]",
    ]


DECLARATION = "declare void @heald_fault(ptr, i64, i1, i64, i64, i64, ptr) #1"
_ON_GPU = "ptr %record, i64 %launch, i64 %high, ptr %place"
_DEVICE = DEVICE_SCOPE + " monotonic"
GPU_DECLARATION = "declare void @heald_gpu_fault(ptr, i64, i64, ptr) #1"
GPU_HELPER = f"""\
define void @heald_gpu_fault({_ON_GPU}) #1 {{
entry:
  %fault = addrspacecast ptr %record to ptr addrspace(1)
  %p.low = getelementptr i64, ptr %place, i64 {_LOW}
  %low = load i64, ptr %p.low, align 8
  %key = or i64 %high, %low
  %p.axes = getelementptr i64, ptr %place, i64 {_RANK}
  %rank = load i64, ptr %p.axes, align 8
  %owner = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_OWNER}
  %p.flag = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_FLAG}
  %flag = load ptr, ptr addrspace(1) %p.flag, align 8
  %pair = cmpxchg ptr addrspace(1) %owner, i64 0, i64 %launch{_DEVICE} monotonic, align 8
  %taken = extractvalue {{i64, i1}} %pair, 1
  br i1 %taken, label %raise, label %known.owner
raise:
  store volatile i64 %launch, ptr %flag, align 8
  br label %mine
known.owner:
  %holder = extractvalue {{i64, i1}} %pair, 0
  %same = icmp eq i64 %holder, %launch
  br i1 %same, label %mine, label %other
other:
  %others = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_OTHERS}
  %o = atomicrmw add ptr addrspace(1) %others, i64 1{_DEVICE}, align 8
  %last = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_LAST}
  %previous = atomicrmw xchg ptr addrspace(1) %last, i64 %launch{_DEVICE}, align 8
  %known.launch = icmp eq i64 %previous, %launch
  br i1 %known.launch, label %done, label %tell
tell:
  store volatile i64 %launch, ptr %flag, align 8
  br label %done
mine:
  %counter = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_COUNT}
  %n = atomicrmw add ptr addrspace(1) %counter, i64 1{_DEVICE}, align 8
  %lowest = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_KEY}
  %known = atomicrmw min ptr addrspace(1) %lowest, i64 %key{_DEVICE}, align 8
  %lower = icmp slt i64 %key, %known
  br i1 %lower, label %take, label %done
take:
  %used = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_USED}
  %slot = atomicrmw add ptr addrspace(1) %used, i64 1{_DEVICE}, align 8
  %free = icmp ult i64 %slot, {abi.GPU_FAULT_SLOTS}
  br i1 %free, label %write, label %done
write:
  %offset = mul i64 %slot, {abi.GPU_FAULT_SLOT_SIZE}
  %slots = getelementptr i8, ptr addrspace(1) %fault, i64 {abi.GPU_FAULT_HEAD}
  %p.key = getelementptr i8, ptr addrspace(1) %slots, i64 %offset
  store i64 %key, ptr addrspace(1) %p.key, align 8
  %p.rank = getelementptr i8, ptr addrspace(1) %p.key, i64 8
  store i64 %rank, ptr addrspace(1) %p.rank, align 8
  %p.words = getelementptr i8, ptr addrspace(1) %p.key, i64 16
  br label %copy
copy:
  %k = phi i64 [ 0, %write ], [ %k.next, %copy ]
  %from = getelementptr i64, ptr %place, i64 %k
  %word = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr addrspace(1) %p.words, i64 %k
  store i64 %word, ptr addrspace(1) %to, align 8
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, {2 * MAX_RANK}
  br i1 %more, label %copy, label %done
done:
  ret void
}}
"""
