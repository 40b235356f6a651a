"""What a launch entry is told: a table of 64-bit words that the compiled function walks.

One function serves all kernels; what differs between them is data.  A table has a fixed head, a
record for each parameter, and the clauses of the conditions that choose the variant.  Places in it
are given in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heald.artifact import (
    Apart,
    ArrayPlace,
    Clause,
    Lanes,
    LaunchCondition,
    LinearTerm,
    Parameter,
    Symbol,
    abi,
)
from heald.diagnostics import InternalError
from heald.types import Array, Leaf, Scalar, leaf_offsets, leaves

MAX_PARAMETERS = 256
MAX_BLOCK = 4096
MAX_BITS = 3
MAX_APART = 32
WORD = 8

# Head
RANK = 0  # launch dims that the kernel reads; 0 takes any number
PARAMETERS = 8
CONDITIONS = 16  # place of the conditions
LAUNCHER = 24  # address, or 0
CORES = 32
PARALLEL = 40  # instructions from which on the launcher runs them
ARRAY_TYPE = 48
ARRAY_PACKED = 56  # place of a slot in an array object
ARRAY_OWNER = 64
NUMPY_TYPES = 72  # of _NUMPY_TYPES
IS_GPU = 104  # launches go to the queue of a GPU (abi.QUEUE_OPEN and on)
VARIANTS = 112  # one for each mask
VARIANT_SHIFT = 6
RECORDS = VARIANTS + (1 << VARIANT_SHIFT) * (1 << MAX_BITS)

# Variant
CODE = 0  # address of the code, on a GPU the driver's handle of the function; 0 where there is none
WORK = 8  # CPU: instructions a thread
GRAIN = 16  # CPU
THREADS = 8  # GPU: most threads of a block
SOURCE = 16  # GPU: number under which the runtime knows the variant
STRETCH = 24  # GPU: threads of a row that go together in a smaller grid, or 0 (artifact.Lanes)
SPACING = 32  # GPU: threads of that grid which run them
LEAST = 40  # GPU: threads of the smallest such grid that is worth it; without STRETCH, threads of
# the smallest launch that is refused, as it wants other code
EXACT = 48  # GPU: whether blocks must be as large as asked for
EARLY = 56  # GPU: most threads of a grid that may begin while the one before it ends

# Record of a parameter
KIND = 0
OFFSET = 8  # in the parameter block
SIGNATURE = 16  # array: the word that its bytes begin with
IGNORED = 24  # array: bits of that word that may differ
NDIM = 32  # array
OPTIONAL = 40  # array: takes None
NUMBER = 16  # how to convert
LOOSE = 24  # also numbers whose own type is another one
LOWEST = 32
HIGHEST = 40
SIZE = 48  # number: bytes; bytes: how many
COUNT = 56  # value: numbers
CLASS = 64  # value
LEAVES = 72  # value: place of the slot with the list of numbers
RECORD_SIZE = 80

TAKE_ARRAY, TAKE_NUMBER, TAKE_VALUE, TAKE_BYTES = range(4)
DOUBLE, FLOAT, WHOLE, TRUTH = range(4)

# Conditions: {place of the next condition, relative to this one, clause...}..., one word 0.
# A clause begins with its size in bytes and its kind.
LINEAR, APART, UNIT = range(3)
CLAUSE_HEAD = 16
TERM_SIZE = 32  # {coefficient, block or header, offset, how to load}
IN_HEADER, IN_BLOCK = range(2)
PLACE_SIZE = 32  # {offset in the block, ndim, itemsize, bit k: may be merged with place k}
_ANY = (1 << 63) - 1
_VARIANT = (1 << VARIANT_SHIFT) // WORD
_NUMPY_TYPES = (np.float32, np.float64, np.int32, np.int64)
LOADS = ("i64", "i8", "i16", "i32", "u8", "u16", "u32", "u64")


@dataclass(frozen=True, slots=True)
class ArrayTake:
    """A parameter that takes an array.

    Attributes:
        offset: in the parameter block.
        signature: what the packed bytes of a fitting array begin with, but for the bits
            ``ignored``.
        ndim: of the array.
        optional: None stands for an array without elements.
    """

    offset: int
    signature: int
    ignored: int
    ndim: int
    optional: bool


@dataclass(frozen=True, slots=True)
class NumberTake:
    """A parameter that takes a number, exactly as ``api.scalars.convert`` does.

    With ``strict``, only Python numbers that are of this type when nothing else decides.
    """

    offset: int
    scalar: Scalar
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ValueTake:
    """A parameter that takes an instance of ``cls`` with the list of its numbers in a slot."""

    offset: int
    cls: type
    leaves_slot: int
    scalar: Scalar
    count: int


@dataclass(frozen=True, slots=True)
class BytesTake:
    """A parameter that takes ``size`` bytes as they are."""

    offset: int
    size: int


Take = ArrayTake | NumberTake | ValueTake | BytesTake


def takes_number(scalar: Scalar) -> bool:
    """Can an entry convert numbers of this type?  16-bit floats need code that processors lack."""
    return scalar.name not in ("f16", "bf16")


@dataclass(frozen=True, slots=True)
class ArrayClass:
    """The class of arrays, and where its objects keep their packed bytes and their owner."""

    cls: type
    packed_slot: int
    owner_slot: int


@dataclass(frozen=True, slots=True)
class CpuCode:
    """Code of a variant: its address, instructions a thread, and grain (``Artifact.grain``)."""

    address: int
    work: int
    grain: int

    @property
    def words(self) -> tuple[int, ...]:
        """As the table holds it."""
        return (self.address, self.work, self.grain)


@dataclass(frozen=True, slots=True)
class GpuCode:
    """Code of a variant on a GPU.

    Attributes:
        function: the driver's handle.
        threads: most threads of a block.
        source: number under which the runtime knows it.
        lanes: how grids smaller than the launch run it, where they can.
        least: threads of the smallest such grid that is worth it, with ``few`` of such a launch.
        exact: must blocks be as large as asked for, as their threads work together?
        early: most threads of a grid that may begin while the one before it ends.
        few: are launches of ``least`` threads refused, as other code has lanes for them?
    """

    function: int
    threads: int
    source: int
    lanes: Lanes | None = None
    least: int = 0
    exact: bool = False
    early: int = 0
    few: bool = False

    @property
    def words(self) -> tuple[int, ...]:
        """As the table holds it."""
        lanes = self.lanes
        stretch, spacing = (0, 0) if lanes is None else (lanes.stretch, lanes.spacing)
        least = self.least if lanes or self.few else _ANY
        code = (self.function, self.threads, self.source)
        return (*code, stretch, spacing, least, self.exact, self.early)


@dataclass(frozen=True, slots=True)
class EntryTable:
    """Everything that a launch entry knows.

    Attributes:
        rank: launch dims that the kernel reads, 0 for any.
        block_size: bytes of the parameter block.
        takes: one for each argument.
        arrays: needed where some take is an array.
        parameters: of the kernel; say where the symbols of conditions lie.
        conditions: the bits of a mask, lowest first.
        variants: the code for each mask, all for one kind of device; others are refused.
        launcher: address of ``codegen.parallel_launcher``; without one, launches of ``parallel``
            instructions or more are refused.
        cores: most cores to use, 0 for all.
        parallel: instructions from which on a launch is shared among cores.
    """

    rank: int
    block_size: int
    takes: tuple[Take, ...]
    arrays: ArrayClass | None
    parameters: tuple[Parameter, ...]
    conditions: tuple[LaunchCondition, ...]
    variants: Mapping[int, CpuCode | GpuCode]
    launcher: int | None
    cores: int
    parallel: int

    @property
    def fits(self) -> bool:
        """Is it within the limits of entries?"""
        clauses = [clause for condition in self.conditions for clause in condition.clauses]
        apart = [len(c.written + c.others) for c in clauses if isinstance(c, Apart)]
        return (
            len(self.takes) <= MAX_PARAMETERS
            and self.block_size <= MAX_BLOCK
            and len(self.conditions) <= MAX_BITS
            and max(apart, default=0) <= MAX_APART
        )

    def encode(self) -> bytes:
        """The words.

        Raises:
            InternalError: it does not fit.
        """
        if not self.fits:
            raise InternalError("a kernel beyond the limits of launch entries")
        records = b"".join(_record(take) for take in self.takes)
        arrays = self.arrays
        none = CpuCode(0, 0, 0)
        variants = [self.variants.get(mask, none).words for mask in range(1 << MAX_BITS)]
        head = [
            self.rank,
            len(self.takes),
            RECORDS + len(records),
            self.launcher or 0,
            self.cores,
            self.parallel,
            *((id(arrays.cls), arrays.packed_slot, arrays.owner_slot) if arrays else (0, 0, 0)),
            *map(id, _NUMPY_TYPES),
            any(isinstance(code, GpuCode) for code in self.variants.values()),
            *(word for words in variants for word in (*words, *(0,) * (_VARIANT - len(words)))),
        ]
        conditions = b"".join(_condition(c, self.parameters) for c in self.conditions)
        return _words(*head) + records + conditions + _words(0)


def _words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *(n & 0xFFFF_FFFF_FFFF_FFFF for n in numbers))


# ----------------------------------------------------------------------------------- parameters


def _record(take: Take) -> bytes:
    match take:
        case ArrayTake(offset, signature, ignored, ndim, optional):
            words = [TAKE_ARRAY, offset, signature, ignored, ndim, optional, 0, 0, 0, 0]
        case NumberTake(offset, scalar, strict):
            words = [TAKE_NUMBER, offset, *_number(scalar, loose=not strict), 0, 0, 0]
        case ValueTake(offset, cls, slot, scalar, count):
            words = [TAKE_VALUE, offset, *_number(scalar, loose=True), count, id(cls), slot]
        case BytesTake(offset, size):
            words = [TAKE_BYTES, offset, 0, 0, 0, 0, size, 0, 0, 0]
    return _words(*words)


def _number(t: Scalar, *, loose: bool) -> list[int]:
    """The words NUMBER, LOOSE, LOWEST, HIGHEST, SIZE."""
    size = max(1, t.bits // 8)
    if t.is_float:
        # Integers up to there are exact, so that no rounding has to be found out.
        exact = 1 << (24 if t.bits == 32 else 53)
        return [FLOAT if t.bits == 32 else DOUBLE, loose, -exact, exact, size]
    if t.is_integer:
        return [WHOLE, loose, t.lowest, min(t.highest, (1 << 63) - 1), size]
    return [TRUTH, loose, 0, 1, size]


# ----------------------------------------------------------------------------------- conditions


def _condition(condition: LaunchCondition, parameters: Sequence[Parameter]) -> bytes:
    clauses = b"".join(_clause(clause, parameters) for clause in condition.clauses)
    return _words(WORD + len(clauses)) + clauses


def _clause(clause: Clause, parameters: Sequence[Parameter]) -> bytes:
    if isinstance(clause, LinearTerm):
        terms = b"".join(
            _words(coefficient, *_locate(symbol, parameters))
            for coefficient, symbol in clause.terms
        )
        return _clause_words(LINEAR, _words(len(clause.terms), clause.constant) + terms)
    if isinstance(clause, Apart):
        arrays = clause.written + clause.others
        merged = [sum(1 << j for i, j in clause.merged if i == k) for k in range(len(arrays))]
        places = b"".join(
            _words(_offset_of(place, parameters), place.ndim, place.itemsize, mask)
            for place, mask in zip(arrays, merged, strict=True)
        )
        return _clause_words(APART, _words(len(arrays), len(clause.written)) + places)
    places = b"".join(
        _words(_offset_of(place, parameters), place.ndim, place.itemsize, 0)
        for place in clause.arrays
    )
    return _clause_words(UNIT, _words(len(clause.arrays), clause.alignment - 1) + places)


def _clause_words(kind: int, rest: bytes) -> bytes:
    return _words(CLAUSE_HEAD + len(rest), kind) + rest


def _locate(symbol: Symbol, parameters: Sequence[Parameter]) -> tuple[int, int, int]:
    """Where a symbol lies: block or header, offset, how to load it."""
    if symbol.kind == "dim":
        return IN_HEADER, abi.HEADER_DIM + WORD * symbol.axis, 0
    leaf, offset = _leaf(symbol.parameter, symbol.leaf, parameters)
    if symbol.kind == "value":
        assert isinstance(leaf, Scalar)
        return IN_BLOCK, offset, LOADS.index(leaf.name)
    assert isinstance(leaf, Array)
    word = {"pointer": 0, "shape": 1, "stride": 1 + leaf.ndim}[symbol.kind] + symbol.axis
    return IN_BLOCK, offset + WORD * word, 0


def _offset_of(place: ArrayPlace, parameters: Sequence[Parameter]) -> int:
    return _leaf(place.parameter, place.leaf, parameters)[1]


def _leaf(parameter: int, leaf: int, parameters: Sequence[Parameter]) -> tuple[Leaf, int]:
    found = parameters[parameter]
    return leaves(found.type)[leaf], found.offset + leaf_offsets(found.type)[leaf]
