"""Launching: what machine code finds in its header, how faults and prints come back.

Most of the code launched here is Python behind a C callback, which sees exactly what compiled code
would.
"""

import ctypes
import os
import struct
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest

from heald import types
from heald.artifact import (
    Access,
    Artifact,
    Fault,
    FaultKind,
    Parameter,
    PrintFormat,
    PrintRecord,
    abi,
)
from heald.diagnostics import InternalError, LaunchError
from heald.runtime import (
    ParallelLauncher,
    PrintOutput,
    ResourceTable,
    check_block_dim,
    check_dims,
    launch,
    packer_of,
    printing,
)

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
LAUNCHER = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, *[ctypes.c_int32] * 2)


def address(callback):
    return ctypes.cast(callback, ctypes.c_void_p).value


def artifact(*kinds, formats=None, work=0, grain=0):
    offsets, size = types.parameter_layout(kinds)
    parameters = tuple(
        Parameter(f"p{k}", t, offset, Access.READ)
        for k, (t, offset) in enumerate(zip(kinds, offsets, strict=True))
    )
    return Artifact(
        "cpu", b"", "k", parameters, size, 1, formats=formats or {}, work=work, grain=grain
    )


def run(body, dims, kinds=(), words=(), **options):
    """Launch ``body(header bytes, args pointer, lo, hi)``; errors inside it come out."""
    errors = []

    @ENTRY
    def entry(header, args, lo, hi):
        try:
            body(header, args, lo, hi)
        except BaseException as error:  # noqa: BLE001 - nothing may leave a C callback
            errors.append(error)

    made = artifact(*kinds, formats=options.pop("formats", None), work=options.pop("work", 0))
    outcome = launch(address(entry), made, packer_of(made).pack(words), dims, **options)
    if errors:
        raise errors[0]
    return outcome


def test_the_header():
    seen = []

    def body(header, args, lo, hi):
        data = ctypes.string_at(header, abi.HEADER_SIZE)
        seen.append(struct.unpack_from("<4q", data, abi.HEADER_DIM))
        seen.append(struct.unpack_from("<i", data, abi.HEADER_BLOCK_DIM)[0])
        seen.append((lo, hi))
        assert header % 8 == args % 16 == 0

    outcome = run(body, (3, 5), block_dim=128)
    assert seen == [(3, 5, 1, 1), 128, (0, 15)]
    assert outcome.fault is None
    assert outcome.printed == PrintOutput()


def test_the_parameters_arrive():
    seen = []

    def body(header, args, lo, hi):
        seen.append(struct.unpack("<i4xd", ctypes.string_at(args, 16)))

    run(body, (1,), (types.i32, types.f64), (7, 0.5))
    assert seen == [(7, 0.5)]


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_bytes_will_do(wrap):
    seen = []

    @ENTRY
    def entry(header, args, lo, hi):
        seen.append(ctypes.string_at(args, 8))

    launch(address(entry), artifact(types.i64), wrap(b"ABCDEFGH"), (1,))
    assert seen == [b"ABCDEFGH"]


def test_a_block_of_another_size_is_our_bug():
    with pytest.raises(InternalError, match="4 bytes of parameters, not 8"):
        launch(0, artifact(types.i64), b"1234", (1,))


def test_nothing_runs_where_an_extent_is_zero():
    def body(*_):
        raise AssertionError("ran")

    assert run(body, (4, 0)).fault is None


def test_a_fault_comes_back_with_its_place():
    def body(header, args, lo, hi):
        (fault,) = struct.unpack("<Q", ctypes.string_at(header + abi.HEADER_FAULT, 8))
        fresh = struct.unpack("<14q", ctypes.string_at(fault, abi.FAULT_SIZE))
        assert fresh == (0, 0, abi.NO_THREAD, *[0] * 11)
        record = [0, 3, 17, 42, FaultKind.BOUNDS, 2, 9, -1, 77, 77, 8, 4, 77, 77]
        ctypes.memmove(fault, struct.pack("<14q", *record), abi.FAULT_SIZE)

    outcome = run(body, (100,))
    assert outcome.fault == Fault(FaultKind.BOUNDS, 42, 17, (9, -1), (8, 4), 3)
    assert run(lambda *_: None, (1,)).fault is None


def test_the_resource_table_is_held_during_the_launch():
    table = ResourceTable(2)
    handle = table.register(9, [np.int32(5)])
    seen = []

    def body(header, args, lo, hi):
        (place,) = struct.unpack("<Q", ctypes.string_at(header + abi.HEADER_RESOURCES, 8))
        table.release(handle)
        seen.append(struct.unpack("<Qi", ctypes.string_at(place, 12)))

    run(body, (1,), resources=table)
    assert seen == [(handle, 5)]
    assert table.look_up(handle) is None
    assert table.hold().holders == 1


def test_there_is_always_a_resource_table():
    seen = []

    def body(header, args, lo, hi):
        (place,) = struct.unpack("<Q", ctypes.string_at(header + abi.HEADER_RESOURCES, 8))
        seen.append(len(ctypes.string_at(place, abi.RESOURCE_CAPACITY * abi.RESOURCE_SIZE)))

    run(body, (1,))
    assert seen == [abi.RESOURCE_CAPACITY * abi.RESOURCE_SIZE]


# ------------------------------------------------------------------------------------- printing

FORMATS = {5: PrintFormat("{} {}", ("i32", "f32")), 8: PrintFormat("done", ())}


class Printer:
    """Appends records to the print buffer the way that compiled code does."""

    def __init__(self, header):
        (self.base,) = struct.unpack("<Q", ctypes.string_at(header + abi.HEADER_PRINT, 8))

    def word(self, at):
        return ctypes.c_int64.from_address(self.base + at)

    def __call__(self, *words):
        data = struct.pack(f"<{len(words)}q", *words)
        at = self.word(abi.PRINT_USED).value
        self.word(abi.PRINT_USED).value += len(data)
        if at + len(data) > self.word(abi.PRINT_CAPACITY).value:
            self.word(abi.PRINT_DROPPED).value += 1
            return
        ctypes.memmove(self.base + abi.PRINT_DATA + at, data, len(data))


def float_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def test_prints_are_sorted_by_thread_and_sequence():
    def body(header, args, lo, hi):
        out = Printer(header)
        out(2, 0, 8)
        out(0, 1, 5, 7, float_bits(0.25))
        out(0, 0, 5, 0xFFFFFFFF, float_bits(-0.5))

    printed = run(body, (3,), formats=FORMATS).printed
    assert printed.records == (
        PrintRecord(0, 0, 5, (-1, -0.5)),
        PrintRecord(0, 1, 5, (7, 0.25)),
        PrintRecord(2, 0, 8, ()),
    )
    assert printed.note == ""


def test_kernels_that_print_nothing_have_no_buffer():
    def body(header, args, lo, hi):
        assert ctypes.string_at(header + abi.HEADER_PRINT, 8) == bytes(8)

    run(body, (1,))


def test_an_overflow_keeps_the_first_records_and_counts_the_rest():
    size = abi.PRINT_RECORD_HEAD + 4 * 8
    room = printing.CAPACITY // size
    extra = 3
    # The first record that does not fit leaves a hole in which the head of a record would fit.
    assert printing.CAPACITY % size >= abi.PRINT_RECORD_HEAD

    def body(header, args, lo, hi):
        out = Printer(header)
        for k in range(room + extra):
            out(k, 0, 9, k, 1, 2, 3)

    formats = {9: PrintFormat("", ("i64",) * 4), 0: PrintFormat("", ())}
    printed = run(body, (1,), formats=formats).printed
    assert len(printed.records) == room
    assert printed.records[-1] == PrintRecord(room - 1, 0, 9, (room - 1, 1, 2, 3))
    assert printed.dropped == extra
    assert printed.note.startswith("... 3 more lines")


@pytest.mark.parametrize("t", types.SCALARS, ids=str)
def test_printed_values_are_read_from_the_low_bytes(t):
    value = True if t is types.b1 else 2 if t.kind == "u" else -2
    raw = 0xC000 if t is types.bf16 else value
    low = np.asarray(raw).astype(t.carrier).tobytes()
    word = int.from_bytes(low.ljust(8, b"\xee"), "little", signed=True)

    def body(header, args, lo, hi):
        Printer(header)(0, 0, 5, word)

    formats = {5: PrintFormat("{}", (t.name,))}
    (record,) = run(body, (1,), formats=formats).printed.records
    assert record.values == (value,)
    assert type(record.values[0]) is (bool if t is types.b1 else float if t.is_float else int)


def test_a_record_of_an_unknown_op_is_our_bug():
    with pytest.raises(InternalError, match="op 6"):
        run(lambda h, *_: Printer(h)(0, 0, 6), (1,), formats=FORMATS)


# ------------------------------------------------------------------------------------- parallel


def parallel_run(*, work, total, threads=0, survives_fork=False, process=None, grain=0):
    """Which of the two ways a launch took, and what it handed to it."""
    calls = []

    @ENTRY
    def entry(header, args, lo, hi):
        calls.append(("serial", lo, hi))

    @LAUNCHER
    def spread(entry, header, args, total, cores, grain):
        calls.append(("parallel", total, cores, grain))
        ENTRY(entry)(header, args, 0, total)

    parallel = ParallelLauncher(
        address(spread), survives_fork, os.getpid() if process is None else process
    )
    made = artifact(work=work, grain=grain)
    launch(address(entry), made, b"", (total,), parallel=parallel, threads=threads)
    return calls


def test_large_launches_go_to_all_cores():
    assert parallel_run(work=100, total=100_000, threads=3, grain=16) == [
        ("parallel", 100_000, 3, 16),
        ("serial", 0, 100_000),
    ]


def test_small_launches_stay_on_one_core():
    assert parallel_run(work=100, total=10) == [("serial", 0, 10)]


def test_one_core_means_one_core():
    assert parallel_run(work=100, total=100_000, threads=1) == [("serial", 0, 100_000)]


def test_a_child_process_does_not_use_what_hangs_there():
    parent = os.getpid() + 1
    assert parallel_run(work=100, total=100_000, process=parent)[0][0] == "serial"
    calls = parallel_run(work=100, total=100_000, process=parent, survives_fork=True)
    assert calls[0][0] == "parallel"


def test_launches_of_several_python_threads_do_not_mix():
    outcomes = {}

    def work(n):
        def body(header, args, lo, hi):
            (fault,) = struct.unpack("<Q", ctypes.string_at(header + abi.HEADER_FAULT, 8))
            assert struct.unpack("<q", ctypes.string_at(args, 8)) == (n,)
            assert hi == n + 1
            record = [0, 1, n, n, FaultKind.ASSERT, 0, *[0] * 8]
            ctypes.memmove(fault, struct.pack("<14q", *record), abi.FAULT_SIZE)

        outcomes[n] = [run(body, (n + 1,), (types.i64,), (n,)).fault for _ in range(50)]

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert outcomes == {n: [Fault(FaultKind.ASSERT, n, n)] * 50 for n in range(4)}


WAIT_FOR_FLAG = """
define void @entry(ptr %header, ptr %args, i64 %lo, i64 %hi) {
start:
  %flag = load ptr, ptr %args
  br label %loop
loop:
  %n = phi i64 [ 0, %start ], [ %next, %loop ]
  %seen = load atomic i64, ptr %flag seq_cst, align 8
  %next = add i64 %n, 1
  %ready = icmp eq i64 %seen, 1
  %late = icmp ugt i64 %n, 20000000000
  %end = or i1 %ready, %late
  br i1 %end, label %done, label %loop
done:
  %answer = getelementptr i64, ptr %flag, i64 1
  store i64 %seen, ptr %answer
  ret void
}
"""


@pytest.mark.cpu
def test_machine_code_runs_without_the_interpreter_lock():
    """The code spins until another Python thread sets a flag, which it can only do meanwhile."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(WAIT_FOR_FLAG), machine)
    engine.finalize_object()
    memory = np.zeros(2, np.int64)

    def raise_flag():
        memory[0] = 1

    timer = threading.Timer(0.05, raise_flag)
    timer.start()
    made = artifact(types.u64)
    block = packer_of(made).pack([memory.ctypes.data])
    launch(engine.get_function_address("entry"), made, block, (1,))
    timer.join()
    assert memory.tolist() == [1, 1]


# ----------------------------------------------------------------------------------- dimensions


@pytest.mark.parametrize(
    ("dim", "extents"),
    [
        (5, (5,)),
        (np.int64(5), (5,)),
        ((2, 3), (2, 3)),
        ([1, 2, 3, 4], (1, 2, 3, 4)),
        ((0, 7), (0, 7)),
        (1 << 62, (1 << 62,)),
    ],
)
def test_dims(dim, extents):
    found = check_dims(dim)
    assert found == extents
    assert all(type(extent) is int for extent in found)


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        (-1, "negative"),
        ((3, -2), "negative"),
        (2.0, "integer"),
        ("12", "integer"),
        (None, "integer"),
        (True, "integer"),
        (np.bool_(True), "integer"),
        ((), "1 to 4 dimensions, not 0"),
        ((1, 1, 1, 1, 1), "1 to 4 dimensions, not 5"),
        ((1 << 62) + 1, "2\\*\\*62 threads"),
        ((1 << 31, 1 << 32), "2\\*\\*62 threads"),
        ((0, 1 << 63), "2\\*\\*62 threads"),
    ],
)
def test_bad_dims(dim, message):
    with pytest.raises(LaunchError, match=message) as caught:
        check_dims(dim)
    assert caught.value.codes == ("H0706",)


def test_block_dims():
    assert check_block_dim(np.int32(64)) == 64
    assert check_block_dim(1024) == 1024
    for bad in (0, -1, 1025, 2.0, True, "64"):
        with pytest.raises(LaunchError, match="block_dim"):
            check_block_dim(bad)
