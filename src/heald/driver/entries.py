"""Launch entries of programs: from what parameters take and variants need to a compiled call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from heald.artifact import Lanes, Parameter
from heald.codegen import (
    ArrayClass,
    ArrayTake,
    BytesTake,
    CpuCode,
    Enter,
    EntryTable,
    GpuCode,
    NumberTake,
    Take,
    ValueTake,
    has_entries,
    make_entry,
    parallel_launcher,
    slot_offset,
    takes_number,
)
from heald.config import config
from heald.driver.arguments import Argument
from heald.driver.gpu import GpuVariant
from heald.driver.program import Program, Variant
from heald.runtime import CPU, PARALLEL_WORK, READ_ONLY, Device, array_signature, table_of
from heald.runtime.cuda import has_resources, uses_resources
from heald.types import Array, Scalar, Struct, b1, f32, i32, leaves, size_of

_OWN_TYPES = (f32, i32, b1)
"""What Python numbers are where nothing else decides."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A way to launch a program without the path through ctypes.

    Attributes:
        call: ``(dim, block_dim, inputs, outputs)``; see ``codegen.entry_text`` for what it returns.
        program: what it launches.
        device: where; on a GPU calls take the address of the queue of a stream besides.
        variants: those that it knows, by their masks.
        is_shared: whether it knows how to share work among cores.
        is_direct: does it read all arguments itself, so that they keep alive what it has read?
        is_fixed: was the variant chosen when it was made?
        alias: the name of the device.
        is_queued: do calls take the queue of a stream?
        tables: of the program, which calls take behind the other arguments.
    """

    call: Enter
    program: Program
    device: Device
    variants: Mapping[int, Variant | GpuVariant] = field(hash=False)
    is_shared: bool
    is_direct: bool = True
    is_fixed: bool = False
    alias: str = field(init=False)
    is_queued: bool = field(init=False)
    tables: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alias", self.device.alias)
        object.__setattr__(self, "is_queued", self.device.is_cuda)
        object.__setattr__(self, "tables", tuple(table for _, table in self.program.tables))

    @property
    def is_current(self) -> bool:
        """Would a new entry know no more?"""
        program = self.program
        return self.is_fixed or (
            self.variants == _variants(program, self.device)
            and (self.device.is_cuda or self.is_shared == program.is_shared)
        )


@dataclass(frozen=True, slots=True)
class HostClasses:
    """What entries need to know of the classes of host objects.

    Attributes:
        array: the class of arrays, whose slots hold packed bytes and the owner of the memory.
        packed: name of the first slot.
        owner: name of the second.
        value_class: the class of the values of a vector, matrix, quaternion or transform type.
        leaves: name of the slot with the list of their numbers.
    """

    array: type
    packed: str
    owner: str
    value_class: Callable[[Any], type]
    leaves: str


Pack = Callable[[object], tuple[bytes, object] | None]
"""The bytes of an argument and what they need to stay alive, or None where there are none."""


def entry_of(
    program: Program,
    device: Device,
    strict: Sequence[bool],
    host: HostClasses,
    packer: Callable[[int, Parameter, bool], Pack],
) -> Entry | None:
    """An entry that takes the arguments of launches as users give them.

    None where there is none: for this interpreter, for a kernel that prints or needs care at each
    launch (proofs, contents), and where a parameter takes what entries do not understand.

    Args:
        program: compiled at least once for ``device``.
        device: CPU or GPU.
        strict: for each parameter, whether its type was found out from the argument, so that only
            arguments which mean that type by themselves are taken.
        host: the classes of arguments.
        packer: gives, for the number and the record of a parameter and whether it is written, what
            packs its argument in Python.
    """
    artifact = program.artifact(device) if has_entries() else None
    arrays = None if artifact is None else _array_class(host)
    if artifact is None or arrays is None or program.needs_care:
        return None
    takes: list[Take] = []
    packs: dict[int, Pack] = {}
    for k, (parameter, written) in enumerate(
        zip(artifact.parameters, program.written(), strict=True)
    ):
        take = _take(parameter, device, host, strict=strict[k], written=written)
        if take is None and isinstance(parameter.type, Scalar) and strict[k]:
            return None
        if take is None:
            take = BytesTake(parameter.offset, size_of(parameter.type))
            packs[k] = packer(k, parameter, written)
        takes.append(take)
    made = _make(program, device, takes, arrays)
    if made is None or not packs:
        return made
    return replace(made, call=_with_packs(made.call, packs), is_direct=False)


def replay_of(program: Program, device: Device) -> Entry | None:
    """An entry that takes one argument, the bytes of the parameter block; None as above."""
    artifact = program.artifact(device)
    if program.needs_care or artifact is None:
        return None
    revision, known = config.revision, program.replays.get(device.alias)
    if isinstance(known, _Replay) and known.revision is revision and known.entry.is_current:
        return known.entry
    made = _make(program, device, (BytesTake(0, artifact.block_size),), None)
    if made is not None:
        program.replays[device.alias] = _Replay(revision, made)
    return made


def fixed_replay_of(
    program: Program, device: Device, dims: Sequence[int], arguments: Sequence[Argument]
) -> Entry | None:
    """The same for launches on a GPU with these dims and arguments: the variant is chosen now, and
    compiled."""
    if program.needs_care or not program.keeps_shapes(dims, arguments):
        return None
    variant = program.choose_on_gpu(device, dims, arguments)
    revision, key = config.revision, f"{device.alias} {variant.source}"
    known = program.replays.get(key)
    if isinstance(known, _Replay) and known.revision is revision:
        return known.entry
    takes = (BytesTake(0, variant.artifact.block_size),)
    made = _make(program, device, takes, None, only=variant)
    if made is not None:
        program.replays[key] = _Replay(revision, made)
    return made


@dataclass(frozen=True, slots=True)
class _Replay:
    """The replay of a program, for one revision of the settings."""

    revision: object
    entry: Entry


def _variants(program: Program, device: Device) -> Mapping[int, Variant | GpuVariant]:
    return program.compiled_for_gpu(device) if device.is_cuda else program.compiled()


# --------------------------------------------------------------------------------------- arguments


def _take(
    parameter: Parameter, device: Device, host: HostClasses, *, strict: bool, written: bool
) -> Take | None:
    match parameter.type:
        case Array(dtype, ndim):
            signature = array_signature(dtype, ndim, device)
            ignored = 0 if written else READ_ONLY
            return ArrayTake(parameter.offset, signature, ignored, ndim, optional=not strict)
        case Scalar() as scalar:
            if not takes_number(scalar) or (strict and scalar not in _OWN_TYPES):
                return None
            return NumberTake(parameter.offset, scalar, strict)
        case Struct():
            return None
        case composite:
            scalar, count = composite.dtype, len(leaves(composite))
            cls = host.value_class(composite)
            slot = _slot(cls, host.leaves)
            if slot is None or not takes_number(scalar):
                return None
            return ValueTake(parameter.offset, cls, slot, scalar, count)


@cache
def _slot(cls: type, name: str) -> int | None:
    return slot_offset(cls, name)


def _array_class(host: HostClasses) -> ArrayClass | None:
    packed, owner = _slot(host.array, host.packed), _slot(host.array, host.owner)
    return None if packed is None or owner is None else ArrayClass(host.array, packed, owner)


# ------------------------------------------------------------------------------------------- calls


def _make(
    program: Program,
    device: Device,
    takes: Sequence[Take],
    arrays: ArrayClass | None,
    *,
    only: GpuVariant | None = None,
) -> Entry | None:
    """With ``only``, for launches that take that variant."""
    variants, artifact = _variants(program, device), program.artifact(device)
    assert artifact is not None
    conditions = program.conditions
    if only is not None:
        variants, conditions = {0: only}, ()
    is_shared = program.is_shared and not device.is_cuda
    table = EntryTable(
        rank=program.rank,
        block_size=artifact.block_size,
        takes=tuple(takes),
        arrays=arrays,
        parameters=artifact.parameters,
        conditions=conditions,
        variants={mask: _code(variant) for mask, variant in variants.items()},
        launcher=parallel_launcher() if is_shared else None,
        cores=config.num_threads,
        parallel=PARALLEL_WORK,
    )
    if artifact.formats or not table.fits:
        return None
    call = make_entry(table, [table, *(variant.code for variant in variants.values())])
    if call is None:
        return None
    if uses_resources(artifact):
        call = _with_queue_resources(call, device) if device.is_cuda else _with_resources(call)
    return Entry(call, program, device, variants, is_shared, is_fixed=only is not None)


def _code(variant: Variant | GpuVariant) -> CpuCode | GpuCode:
    if isinstance(variant, GpuVariant):
        code, artifact = variant.code, variant.artifact
        lanes = artifact.lanes if artifact.rank else None
        least = Lanes.fewest(code.least) if artifact.few else code.least
        known = (code.function, code.threads, variant.source)
        return GpuCode(*known, lanes, least, artifact.blocks, code.early, artifact.few)
    artifact = variant.artifact
    return CpuCode(variant.code.address, artifact.work, artifact.grain)


def _with_resources(enter: Enter) -> Enter:
    """The same for a kernel that has handles: it sees the resources as they are at the launch."""
    table = table_of(CPU)

    def call(dim: object, block_dim: object, inputs: object, outputs: object) -> Any:
        held = table.hold()
        try:
            return enter(dim, block_dim, inputs, outputs, held.ptr)
        finally:
            table.let_go(held)

    return call


def _with_queue_resources(enter: Enter, device: Device) -> Enter:
    """The same on a GPU, whose queues have the table as it was at their last launch."""
    table = table_of(device)

    def call(dim: object, block_dim: object, inputs: object, outputs: object, queue: int) -> Any:
        held = table.hold()
        try:
            if not has_resources(device, queue, held):
                return NotImplemented
            return enter(dim, block_dim, inputs, outputs, queue)
        finally:
            table.let_go(held)

    return call


def _with_packs(enter: Enter, packs: Mapping[int, Pack]) -> Enter:
    """The same where some arguments have to be packed in Python."""

    def call(dim: object, block_dim: object, inputs: Any, outputs: Any, *place: int) -> Any:
        if type(inputs) not in (list, tuple) or type(outputs) not in (list, tuple):
            return NotImplemented
        values = [*inputs, *outputs]
        kept = []
        for k, pack in packs.items():
            packed = pack(values[k]) if k < len(values) else None
            if packed is None:
                return NotImplemented
            values[k], owner = packed
            kept.append(owner)
        return enter(dim, block_dim, values, (), *place)

    return call
