"""Launch entries: what they take, what they refuse, which variant they choose, what they hold."""

import ctypes
import gc
import struct
import sys
import threading
import weakref
from collections.abc import Sequence
from enum import IntEnum
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heald.api.scalars import Misfit, convert
from heald.artifact import (
    Access,
    Apart,
    ArrayPlace,
    Clause,
    LaunchCondition,
    LinearTerm,
    Parameter,
    Symbol,
    Unit,
    abi,
)
from heald.codegen import (
    ArrayClass,
    ArrayTake,
    BytesTake,
    CpuCode,
    EntryTable,
    NumberTake,
    Report,
    Take,
    ValueTake,
    compile_object,
    entry,
    host_target,
    make_entry,
    slot_offset,
    takes_number,
)
from heald.codegen.entry_check import works
from heald.codegen.entry_code import EntryCode, compile_entry
from heald.codegen.entry_layout import measure_objects
from heald.codegen.jit import load_object
from heald.diagnostics import InternalError, LaunchError
from heald.runtime import check_dims
from heald.types import (
    SCALARS,
    Array,
    Scalar,
    Type,
    b1,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    parameter_layout,
    u8,
    u64,
)

pytestmark = pytest.mark.cpu

SIGNATURE = 0x77 << 2
SIZE = abi.HEADER_SIZE + 16
CORES = 5


def entry_code() -> EntryCode:
    code = entry._entry_code()
    if code is None:
        pytest.skip("this interpreter has no launch entries")
    return code


class Slots:
    __slots__ = ("__weakref__", "owner", "packed")

    owner: object
    packed: Any

    def __init__(self, words: Sequence[int], owner: object = None, flags: int = 0) -> None:
        self.packed = struct.pack(f"<{1 + len(words)}Q", SIGNATURE | flags, *words)
        self.owner = owner


class Sub(Slots):
    __slots__ = ()


class Memory:
    """Where the probe writes, as its first two arguments."""

    def __init__(self, room: int = 0) -> None:
        self.buffer = ctypes.create_string_buffer(SIZE + 24 + 8 + room)
        words = [ctypes.addressof(self.buffer), len(self.buffer), 1]
        self.array = Slots(words, self.buffer)
        self.args = [self.array, 24 + 8 + room]

    def block(self) -> bytes:
        return self.buffer.raw[SIZE + 32 :]

    def header(self) -> tuple[int, ...]:
        return struct.unpack_from("<4qi4xQ2Q2q", self.buffer.raw)


def arrays_of(cls: type = Slots) -> ArrayClass:
    packed, owner = slot_offset(cls, "packed"), slot_offset(cls, "owner")
    assert packed is not None
    assert owner is not None
    return ArrayClass(cls, packed, owner)


def make(*takes: Take, types: Sequence[Type] = (), **options: Any) -> Any:
    """An entry whose kernel is the probe; its own two parameters come first."""
    code = entry_code()
    kinds = (Array(u8, 1), i64, *types)
    offsets, size = parameter_layout(kinds)
    settings: dict[str, Any] = {
        "rank": 0,
        "block_size": size,
        "takes": (ArrayTake(0, SIGNATURE, 0, 1, optional=False), NumberTake(24, i64), *takes),
        "arrays": arrays_of(),
        "parameters": tuple(map(Parameter, ("",) * 99, kinds, offsets, (Access.NONE,) * 99)),
        "conditions": (),
        "variants": {0: CpuCode(code.probe, 1, 0)},
        "launcher": code.probe_team,
        "cores": CORES,
        "parallel": 1000,
    }
    enter = make_entry(EntryTable(**{**settings, **options}), [code])
    assert enter is not None
    return enter


# ---------------------------------------------------------------------------------------- numbers


class Color(IntEnum):
    RED = 1


class Real(float):
    pass


ODD_NUMBERS: list[object] = [
    True, False, None, "1", 1 + 0j, Color.RED, Real(1.5), np.bool_(True), np.uint8(3), np.int8(-3),
    np.float16(1.5), np.array(2.0), [1], float("nan"), float("inf"), -0.0, 1e-320, 1 << 70,
]  # fmt: skip
EDGES = [s * (1 << bits) + d for bits in (0, 7, 8, 15, 24, 31, 32, 53, 63, 64) for s in (1, -1)
         for d in (-1, 0, 1)]  # fmt: skip
numbers = st.one_of(
    st.floats(),
    st.floats(width=32),
    st.integers(-(1 << 65), 1 << 65),
    st.sampled_from(EDGES),
    st.sampled_from(ODD_NUMBERS),
    st.floats().map(np.float64),
    st.floats(width=32).map(np.float32),
    st.integers(-(1 << 31), (1 << 31) - 1).map(np.int32),
    st.integers(-(1 << 63), (1 << 63) - 1).map(np.int64),
)
FORMATS = {"b1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H",
           "u32": "I", "u64": "Q", "f32": "f", "f64": "d"}  # fmt: skip


def taken(t: Scalar, value: object, *, strict: bool = False) -> bytes | None:
    """The bytes of a number parameter, or None where it is refused."""
    memory = Memory(8)
    outcome = make(NumberTake(32, t, strict), types=(t,))(1, 64, memory.args, [value])
    if outcome is NotImplemented:
        return None
    assert outcome is None
    return memory.block()[: max(1, t.bits // 8)]


@given(st.sampled_from([t for t in SCALARS if takes_number(t)]), numbers)
@example(f32, 3.4028235677973366e38)
@example(f32, 3.4028235677973362e38)
@example(f32, (1 << 24) + 1)
@example(f64, -(1 << 53) - 1)
@example(i8, 128)
@example(u64, 1 << 63)
def test_numbers_become_what_convert_makes_of_them(t: Scalar, value: object) -> None:
    expected, found = convert(t, value), taken(t, value)
    if isinstance(expected, Misfit):
        assert found is None
    elif found is not None:
        wanted = struct.pack("<" + FORMATS[t.name], expected)
        assert found == wanted or value != value
    else:
        # Refusing is always right, but ordinary numbers must be fast.
        ordinary = type(value) in (int, float, bool, np.float32, np.float64, np.int32, np.int64)
        whole = int(value) if isinstance(value, int | np.integer) else 0
        far = (t.is_float and abs(whole) > 1 << 24) or whole >= 1 << 63
        assert far or not ordinary


def test_strict_parameters_take_only_what_is_of_their_type_by_itself() -> None:
    assert taken(f32, 1.5, strict=True) == struct.pack("<f", 1.5)
    assert taken(i32, -7, strict=True) == struct.pack("<i", -7)
    assert taken(b1, True, strict=True) == b"\1"
    for t, value in ((f32, 1), (f32, np.float32(1)), (f32, np.float64(1)), (i32, np.int32(1)),
                     (i32, 1 << 31), (b1, 1)):  # fmt: skip
        assert taken(t, value, strict=True) is None


def test_sixteen_bit_floats_are_not_taken() -> None:
    assert not takes_number(f16)
    assert not takes_number(bf16)


# -------------------------------------------------------------------------------------- composites


class Value:
    __slots__ = ("_leaves",)

    _leaves: Any


def value_entry(scalar: Scalar, count: int) -> Any:
    slot = slot_offset(Value, "_leaves")
    assert slot is not None
    return make(ValueTake(32, Value, slot, scalar, count), types=(scalar,) * count)


def test_values_are_taken_number_by_number() -> None:
    memory, value = Memory(24), Value()
    value._leaves = [0.1, -2.0, 3.0]
    assert value_entry(f32, 3)(1, 64, memory.args, [value]) is None
    assert memory.block()[:12] == struct.pack("<3f", 0.1, -2.0, 3.0)
    value._leaves = [1, -2]
    assert value_entry(i8, 2)(1, 64, memory.args, [value]) is None
    assert memory.block()[:2] == b"\x01\xfe"


@pytest.mark.parametrize(
    "leaves", [None, [1.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, "x"], (k for k in "abc"), 3.0, {}]
)
def test_broken_values_are_refused(leaves: object) -> None:
    memory, value = Memory(24), Value()
    value._leaves = leaves
    assert value_entry(f32, 3)(1, 64, memory.args, [value]) is NotImplemented
    del value._leaves
    assert value_entry(f32, 3)(1, 64, memory.args, [value]) is NotImplemented
    assert value_entry(f32, 3)(1, 64, memory.args, [[1.0, 2.0, 3.0]]) is NotImplemented
    assert not any(memory.buffer.raw)


def test_bytes_are_taken_as_they_are() -> None:
    enter, memory = make(BytesTake(32, 5), types=(u8,) * 5), Memory(8)
    assert enter(1, 64, memory.args, [b"hello"]) is None
    assert memory.block()[:5] == b"hello"
    for wrong in (b"hell", b"hello!", bytearray(b"hello"), "hello", 5):
        assert enter(1, 64, memory.args, [wrong]) is NotImplemented


# ------------------------------------------------------------------------------------------ arrays


def array_entry(ndim: int, *, optional: bool = False, ignored: int = 0) -> Any:
    take = ArrayTake(32, SIGNATURE, ignored, ndim, optional)
    return make(take, types=(Array(f32, ndim),))


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_descriptors_are_copied(ndim: int) -> None:
    words = [0xFFFF_0000_1234_5678, *range(1, 1 + ndim), *range(100, 100 + ndim)]
    memory = Memory(8 + 16 * ndim)
    assert array_entry(ndim)(1, 64, memory.args, [Slots(words)]) is None
    assert memory.block() == struct.pack(f"<{1 + 2 * ndim}Q", *words)


def test_none_stands_for_an_array_without_elements_where_it_may() -> None:
    memory = Memory(24)
    memory.buffer.raw = b"\xff" * len(memory.buffer)
    assert array_entry(1)(1, 64, memory.args, [None]) is NotImplemented
    assert array_entry(1, optional=True)(1, 64, memory.args, [None]) is None
    assert memory.block() == bytes(24)


def test_bits_that_do_not_matter_may_differ() -> None:
    memory = Memory(24)
    for flags, ignored in product(range(4), range(4)):
        outcome = array_entry(1, ignored=ignored)(
            1, 64, memory.args, [Slots([1, 2, 3], None, flags)]
        )
        assert (outcome is None) is (flags & ~ignored == 0)


def hostile_arrays() -> list[object]:
    no_packed, no_owner, *odd = (Slots([1, 2, 3]) for _ in range(9))
    del no_packed.packed
    del no_owner.owner
    good = odd[0].packed
    for one, packed in zip(
        odd,
        [None, good[:-1], good + b"\0", bytearray(good), b"", 7, struct.pack("<4Q", 1, 1, 2, 3)],
        strict=True,
    ):
        one.packed = packed
    subclassed = Sub([1, 2, 3])
    return [no_packed, no_owner, *odd, subclassed, object(), "array", b"", (), Slots, np.zeros(3)]


@pytest.mark.parametrize("number", range(len(hostile_arrays())))
def test_what_is_no_sound_array_is_refused(number: int) -> None:
    memory = Memory(24)
    enter = array_entry(1, optional=True)
    assert enter(1, 64, memory.args, [hostile_arrays()[number]]) is NotImplemented
    assert not any(memory.buffer.raw)


# ------------------------------------------------------------------------------------ dims and form

extents = st.one_of(
    st.integers(-2, 9),
    st.sampled_from([1 << 30, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62, 1 << 70]),
    st.sampled_from([True, 2.0, None, np.int64(3), Color.RED, "3"]),
)


@given(st.one_of(extents, st.lists(extents, max_size=5), st.lists(extents, max_size=5).map(tuple)))
@example([1 << 30, 1 << 30, 8])
@example((0, (1 << 31) - 1, (1 << 31) - 1, (1 << 31) - 1))
@example(((1 << 31) - 1, 1 << 30, 2, 1))
def test_dims_are_those_of_check_dims(dim: object) -> None:
    memory = Memory()
    enter = make(parallel=1 << 63)
    outcome = enter(dim, 64, memory.args, ())
    try:
        dims = check_dims(dim)
    except LaunchError:
        assert outcome is NotImplemented
        return
    total = int(np.prod(dims, dtype=object))
    plain = all(type(n) is int for n in (dim if isinstance(dim, (list, tuple)) else (dim,)))
    if outcome is NotImplemented:
        assert not plain or max(dims) >= 1 << 31
    elif isinstance(outcome, bytes):
        assert total == 7
    elif total == 0:
        assert not any(memory.buffer.raw)
    else:
        assert memory.header()[:4] == (*dims, *(1,) * (4 - len(dims)))
        assert memory.header()[8:] == (0, total)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_the_rank_is_that_of_the_kernel(rank: int) -> None:
    enter = make(rank=rank)
    for given_rank in (1, 2, 3, 4):
        outcome = enter((2,) * given_rank, 64, Memory().args, ())
        assert (outcome is None) is (rank in (0, given_rank))


def test_the_size_of_blocks() -> None:
    enter, memory = make(), Memory()
    for size in (1, 256, 1024):
        assert enter(1, size, memory.args, ()) is None
        assert memory.header()[4] == size
    for wrong in (0, -1, 1025, 1 << 40, 1 << 80, 2.0, True, None, np.int32(64)):
        assert enter(1, wrong, memory.args, ()) is NotImplemented


def test_inputs_and_outputs_are_one_row_of_arguments() -> None:
    enter, memory = make(), Memory()
    for inputs, outputs in (
        (memory.args, []), ([], memory.args), (memory.args[:1], memory.args[1:]),
        (tuple(memory.args), ()), ((), tuple(memory.args)), (memory.args[:1], (memory.args[1],)),
    ):  # fmt: skip
        memory.buffer.raw = bytes(len(memory.buffer))
        assert enter(3, 64, inputs, outputs) is None
        assert memory.header()[8:] == (0, 3)
    for inputs, outputs in (
        (memory.args, [1]), ([], []), (memory.args, None), (iter(memory.args), []),
        ({}, memory.args), (np.array(memory.args, object), ()),
        (type("L", (list,), {})(memory.args), ()),
    ):  # fmt: skip
        assert enter(3, 64, inputs, outputs) is NotImplemented


def test_wrong_calls_are_refused() -> None:
    enter, memory = make(), Memory()
    assert enter() is NotImplemented
    assert enter(1, 64, memory.args) is NotImplemented
    assert enter(1, 64, memory.args, (), "table") is NotImplemented
    with pytest.raises(TypeError):
        enter(dim=1)


# ---------------------------------------------------------------------------------------- launches


def test_the_table_of_resources_is_passed_on() -> None:
    enter, memory = make(), Memory()
    assert enter(1, 64, memory.args, ()) is None
    assert memory.header()[6] == 0
    assert enter(1, 64, memory.args, (), 0x7FFF_1234_5678) is None
    assert memory.header()[6] == 0x7FFF_1234_5678


def test_much_work_is_shared() -> None:
    memory = Memory()
    code = entry_code()

    def first_thread(threads: int, work: int, grain: int = 0, **options: Any) -> int:
        enter = make(variants={0: CpuCode(code.probe, work, grain)}, **options)
        assert enter(threads, 64, memory.args, ()) is None
        return memory.header()[8]

    assert first_thread(99, 10) == 0
    assert first_thread(100, 10) == CORES
    assert first_thread(100, 10, grain=7) == CORES + 7  # both reach the launcher
    assert first_thread(100, 10, cores=0) == 0
    assert first_thread(100, 10, cores=1) == 0
    assert first_thread(1 << 30, 1 << 40) == CORES  # the product is beyond 64 bits
    alone = make(launcher=None)
    assert alone(999, 64, memory.args, ()) is None
    assert alone(1000, 64, memory.args, ()) is NotImplemented


def test_a_fault_is_reported() -> None:
    memory = Memory()
    enter = make(parallel=1 << 62)
    data = enter((7, 1), 64, memory.args, ())
    report = Report.decode(data)
    assert (report.mask, report.dims) == (0, (7, 1))
    assert struct.unpack("<14q", report.fault) == (0, 7, abi.NO_THREAD, *(0,) * 11)
    assert enter((6, 1), 64, memory.args, ()) is None


def test_no_reference_is_lost_or_kept() -> None:
    memory, owner = Memory(24), object()
    array = Slots([1, 2, 3], owner)
    enter = make(ArrayTake(32, SIGNATURE, 0, 1, optional=False), NumberTake(56, f64),
                 types=(Array(f32, 1), f64))  # fmt: skip
    number, dims, args = 1.5 + len(memory.args), (4, 100), [*memory.args, array]
    watched = [owner, array, array.packed, number, dims, args, memory.array]
    before = [sys.getrefcount(x) for x in watched], sys.getrefcount(None)
    for _ in range(10_000):
        enter(dims, 64, args, (number,))
        enter(dims, 64, args, ("no number",))
        enter(7, 64, args, (number,))
    after = [sys.getrefcount(x) for x in watched], sys.getrefcount(None)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 100


WAITING = """
define void @wait(ptr %header, ptr %args, i64 %lo, i64 %hi) {
entry:
  %flags = load ptr, ptr %args
  store atomic i32 1, ptr %flags seq_cst, align 4
  %stop = getelementptr i32, ptr %flags, i64 1
  br label %look
look:
  %seen = load atomic i32, ptr %stop seq_cst, align 4
  %go = icmp ne i32 %seen, 0
  br i1 %go, label %done, label %look
done:
  ret void
}
"""


class Owner:
    pass


def test_a_running_launch_holds_memory_and_code_but_not_the_gil() -> None:
    (address,), library = load_object(
        compile_object(host_target().header + WAITING, host_target()), ["wait"]
    )
    flags = (ctypes.c_int32 * 2)()
    code, owner = Owner(), Owner()
    code.library = library  # type: ignore[attr-defined]
    array = Slots([ctypes.addressof(flags), 2, 4], owner)
    table = EntryTable(
        rank=1, block_size=24, takes=(ArrayTake(0, SIGNATURE, 0, 1, optional=False),),
        arrays=arrays_of(), parameters=(), conditions=(), variants={0: CpuCode(address, 1, 0)},
        launcher=None, cores=1,
        parallel=9,
    )  # fmt: skip
    calls = [make_entry(table, [code])]
    gone = [weakref.ref(code), weakref.ref(owner)]
    args = [array]
    thread = threading.Thread(target=lambda: calls.pop()(1, 1, args, ()))
    thread.start()
    while not flags[0]:
        assert thread.is_alive()
    # Everything that led to the memory and to the code is let go.
    array.owner = array.packed = None
    args.clear()
    del array, owner, code, library, table
    gc.collect()
    assert all(ref() is not None for ref in gone)
    flags[1] = 1
    thread.join()
    gc.collect()
    assert all(ref() is None for ref in gone)


# -------------------------------------------------------------------------------------- conditions

TYPES = (Array(f32, 1), Array(f64, 2), Array(f32, 2), i8, u64, Array(f32, 2))
PLACES = [ArrayPlace(2, 0, 1, 4), ArrayPlace(3, 0, 2, 8), ArrayPlace(4, 0, 2, 4),
          ArrayPlace(7, 0, 2, 4)]  # fmt: skip

descriptors = st.tuples(
    st.sampled_from([4096, 4100, 4104, 4160, (1 << 63) - 64]),
    st.lists(st.sampled_from([0, 1, 2, 3, 9, (1 << 31) - 1]), min_size=2, max_size=2),
    st.one_of(
        st.sampled_from([[4, 4], [12, 4], [8, 8], [24, 8]]),
        st.lists(
            st.sampled_from([-48, -12, -4, 0, 4, 8, 12, 24, 72, 1 << 28, 1 << 40]),
            min_size=2,
            max_size=2,
        ),
    ),
)
symbols = st.one_of(
    st.builds(Symbol, st.just("dim"), axis=st.integers(0, 3)),
    st.sampled_from([Symbol("value", 5), Symbol("value", 6)]),
    st.builds(
        Symbol,
        st.sampled_from(["shape", "stride"]),
        st.sampled_from([3, 4, 7]),
        axis=st.integers(0, 1),
    ),
    st.builds(Symbol, st.sampled_from(["pointer", "shape", "stride"]), st.just(2)),
)
factors = st.one_of(st.integers(-3, 3), st.sampled_from([1 << 32, -(1 << 61), (1 << 63) - 1]))
positions = st.permutations(range(4)).flatmap(
    lambda order: st.integers(1, 4).map(lambda count: [PLACES[k] for k in order[:count]])
)
clauses = st.one_of(
    st.builds(LinearTerm, factors, st.lists(st.tuples(factors, symbols), max_size=3).map(tuple)),
    st.builds(
        lambda arrays, split, merged: Apart(tuple(arrays[:split]), tuple(arrays[split:]), merged),
        positions,
        st.integers(0, 4),
        st.frozensets(st.sampled_from([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])),
    ),
    st.builds(lambda arrays, a: Unit(tuple(arrays), a), positions, st.sampled_from([1, 8, 64])),
)
conditions = st.lists(st.lists(clauses, max_size=3).map(tuple).map(LaunchCondition), max_size=3)


@given(
    conditions,
    st.lists(descriptors, min_size=4, max_size=4),
    st.booleans(),
    st.lists(st.sampled_from([1, 2, 3, 5]), min_size=1, max_size=4),
    st.integers(-128, 127),
    st.one_of(st.integers(0, 9), st.just((1 << 63) - 1)),
)
def test_conditions_hold_where_python_says_so(
    wanted: list[LaunchCondition],
    given_arrays: list[tuple[int, list[int], list[int]]],
    repeat: bool,
    dims: list[int],
    small: int,
    large: int,
) -> None:
    if repeat:
        given_arrays[3] = given_arrays[2]
    ranks = (1, 2, 2, 2)
    words = [
        (pointer, *shape[:n], *strides[:n])
        for n, (pointer, shape, strides) in zip(ranks, given_arrays, strict=True)
    ]
    where = dict(zip((2, 3, 4, 7), zip(words, ranks, strict=True), strict=True))

    def number(symbol: Symbol) -> int:
        if symbol.kind == "dim":
            return (*dims, 1, 1, 1)[symbol.axis]
        if symbol.kind == "value":
            return {5: small, 6: large}[symbol.parameter]
        array, ndim = where[symbol.parameter]
        return array[{"pointer": 0, "shape": 1, "stride": 1 + ndim}[symbol.kind] + symbol.axis]

    mask = sum(condition.holds(number) << bit for bit, condition in enumerate(wanted))
    offsets, size = parameter_layout((Array(u8, 1), i64, *TYPES))
    takes: list[Take] = [
        ArrayTake(offset, SIGNATURE, 0, t.ndim, optional=False)
        if isinstance(t, Array)
        else NumberTake(offset, t)
        for t, offset in zip(TYPES, offsets[2:], strict=True)
        if isinstance(t, Array | Scalar)
    ]
    only = {mask: CpuCode(entry_code().probe, 1, 0)}
    enter = make(*takes, types=TYPES, conditions=tuple(wanted), variants=only)
    memory, parts = Memory(size - 32), [Slots([w & (1 << 64) - 1 for w in row]) for row in words]
    outcome = enter(dims, 64, memory.args, [*parts[:3], small, large, parts[3]])
    assert outcome is not NotImplemented


def test_a_variant_that_was_not_compiled_is_asked_for() -> None:
    memory = Memory()
    holds = LaunchCondition((LinearTerm(-4, ((1, Symbol("dim")),)),))
    enter = make(conditions=(holds,))
    assert enter(3, 64, memory.args, ()) is None
    assert enter(4, 64, memory.args, ()) is NotImplemented


def test_what_an_entry_cannot_hold_is_said() -> None:
    places = tuple(ArrayPlace(0, 0, 1, 4) for _ in range(33))
    clause: Clause = Apart(places[:1], places[1:])
    for options in ({"takes": (NumberTake(0, i64),) * 257},
                    {"conditions": (LaunchCondition(),) * 4}, {"block_size": 4097},
                    {"conditions": (LaunchCondition((clause,)),)}):  # fmt: skip
        with pytest.raises(InternalError):
            make(**options)


# ------------------------------------------------------------------------------ other interpreters


@pytest.fixture
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "_STATE", entry._State())


LAYOUT = "heald.codegen.entry_layout."
CHANGES = {
    "PyPy": (sys.implementation, "name", "pypy"),
    "free-threaded": (LAYOUT + "_HEAD", 32),
    "subinterpreter": (LAYOUT + "_is_main_interpreter", lambda: False),
    "numpy": (LAYOUT + "_numpy_places", set),
    "function": ("heald.codegen.entry_code.FUNCTIONS", ("Py_NoSuchFunction",)),
    "self-test": (entry, "works", lambda code: False),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.usefixtures("_fresh")
def test_other_interpreters_have_no_entries(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*change)
    assert not entry.has_entries()
    table = EntryTable(0, 0, (), None, (), (), {}, None, 0, 0)
    assert make_entry(table, ()) is None


def test_the_self_test_sees_a_wrong_layout() -> None:
    layout = measure_objects()
    if layout is None:
        pytest.skip("this interpreter has no launch entries")
    assert works(compile_entry(layout))
    # Sizes are then the addresses of types: nothing has the right size.
    wrong = type(layout)(layout.type, layout.type, layout.bytes, layout.tuple, layout.number)
    assert not works(compile_entry(wrong))


def test_slots_are_found_where_they_are() -> None:
    assert slot_offset(Slots, "owner") != slot_offset(Slots, "packed")
    one = Slots([])
    one.owner = marker = object()
    offset = slot_offset(Slots, "owner")
    assert offset is not None
    assert ctypes.c_void_p.from_address(id(one) + offset).value == id(marker)

    class Twice:
        __slots__ = ("_a",)

        b = property(lambda self: self._a, lambda self, v: setattr(self, "_a", [v]),
                     lambda self: delattr(self, "_a"))  # fmt: skip

    assert slot_offset(Twice, "b") is None
