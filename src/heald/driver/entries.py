"""Launch entries of programs: from what parameters take and variants need to a compiled call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from heald.artifact import Artifact, Parameter
from heald.codegen import (
    ArrayClass,
    ArrayTake,
    BytesTake,
    Enter,
    EntryTable,
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
from heald.driver.program import Program
from heald.runtime import CPU, PARALLEL_WORK, READ_ONLY, array_signature, table_of
from heald.types import Array, Scalar, Struct, b1, f32, i32, leaves, size_of

_OWN_TYPES = (f32, i32, b1)
"""What Python numbers are where nothing else decides."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A way to launch a program without the path through ctypes.

    Attributes:
        call: ``(dim, block_dim, inputs, outputs)``; see ``codegen.entry_text`` for what it returns.
        program: what it launches.
        masks: the variants that it knows.
        is_shared: whether it knows how to share work among cores.
    """

    call: Enter
    program: Program
    masks: frozenset[int]
    is_shared: bool

    @property
    def is_current(self) -> bool:
        """Would a new entry know no more?"""
        program = self.program
        return self.masks == program.compiled().keys() and self.is_shared == program.is_shared


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
    strict: Sequence[bool],
    host: HostClasses,
    packer: Callable[[int, Parameter, bool], Pack],
) -> Entry | None:
    """An entry that takes the arguments of launches as users give them.

    None where there is none: for this interpreter, for a kernel that prints or is strict (each
    launch asks for proofs), and where a parameter takes what entries do not understand.

    Args:
        program: compiled at least once.
        strict: for each parameter, whether its type was found out from the argument, so that only
            arguments which mean that type by themselves are taken.
        host: the classes of arguments.
        packer: gives, for the number and the record of a parameter and whether it is written, what
            packs its argument in Python.
    """
    arrays = _array_class(host) if has_entries() and program.compiled() else None
    if arrays is None or program.safety == "strict":
        return None
    takes: list[Take] = []
    packs: dict[int, Pack] = {}
    for k, (parameter, written) in enumerate(
        zip(_artifact(program).parameters, program.written(), strict=True)
    ):
        take = _take(parameter, host, strict=strict[k], written=written)
        if take is None and isinstance(parameter.type, Scalar) and strict[k]:
            return None
        if take is None:
            take = BytesTake(parameter.offset, size_of(parameter.type))
            packs[k] = packer(k, parameter, written)
        takes.append(take)
    made = _make(program, takes, arrays)
    if made is None or not packs:
        return made
    return replace(made, call=_with_packs(made.call, packs))


def replay_of(program: Program) -> Entry | None:
    """An entry that takes one argument, the bytes of the parameter block; None as above."""
    if program.safety == "strict":
        return None
    revision, known = config.revision, program.replay
    if isinstance(known, _Replay) and known.revision is revision and known.entry.is_current:
        return known.entry
    made = _make(program, (BytesTake(0, _artifact(program).block_size),), None)
    if made is not None:
        program.replay = _Replay(revision, made)
    return made


@dataclass(frozen=True, slots=True)
class _Replay:
    """The replay of a program, for one revision of the settings."""

    revision: object
    entry: Entry


def _artifact(program: Program) -> Artifact:
    """Of some variant; what is asked of it is the same for all."""
    return next(iter(program.compiled().values())).artifact


# --------------------------------------------------------------------------------------- arguments


def _take(parameter: Parameter, host: HostClasses, *, strict: bool, written: bool) -> Take | None:
    match parameter.type:
        case Array(dtype, ndim):
            signature = array_signature(dtype, ndim, CPU)
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


def _make(program: Program, takes: Sequence[Take], arrays: ArrayClass | None) -> Entry | None:
    artifact, variants = _artifact(program), program.compiled()
    is_shared = program.is_shared
    table = EntryTable(
        rank=program.rank,
        block_size=artifact.block_size,
        takes=tuple(takes),
        arrays=arrays,
        parameters=artifact.parameters,
        conditions=program.conditions,
        variants={
            m: (v.code.address, v.artifact.work, v.artifact.grain) for m, v in variants.items()
        },
        launcher=parallel_launcher() if is_shared else None,
        cores=config.num_threads,
        parallel=PARALLEL_WORK,
    )
    if artifact.formats or not table.fits:
        return None
    call = make_entry(table, [table, *(variant.code for variant in variants.values())])
    if call is None:
        return None
    if _has_handles(artifact):
        call = _with_resources(call)
    return Entry(call, program, frozenset(variants), is_shared)


def _has_handles(artifact: Artifact) -> bool:
    return any(site.op in ("resource_array", "resource_scalar") for site in artifact.sites.values())


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


def _with_packs(enter: Enter, packs: Mapping[int, Pack]) -> Enter:
    """The same where some arguments have to be packed in Python."""

    def call(dim: object, block_dim: object, inputs: Any, outputs: Any) -> Any:
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
        return enter(dim, block_dim, values, ())

    return call
