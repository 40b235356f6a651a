"""What the writers of one thread's function share: names of values, flags, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heald.codegen.aliases import Aliases
from heald.codegen.locations import Places
from heald.codegen.spelling import component_types, literal
from heald.codegen.writer import Writer
from heald.diagnostics import InternalError
from heald.ir import Kernel, Op, Value, op_ids, walk
from heald.passes.array_roots import Root, array_roots
from heald.passes.facts import has_narrow_indices, is_guarded
from heald.passes.guards_ahead import find_roots
from heald.types import Array, Scalar, Type, i32, i64, leaves, size_of

FAULTED = "%faulted"
FAULT_PLACE = "%fault.place"
PRINTED = "%printed"
HEADER = "%header"
THREAD = "%thread"
BLOCK_DIM = "%block_dim"
DEVICE_SCOPE = ' syncscope("device")'


@dataclass(frozen=True, slots=True)
class ArrayNames:
    """The names of an array's pointer, extents and byte strides (both i64).

    ``compact`` says that all its elements lie within 2^31 bytes.
    """

    pointer: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]
    compact: bool = False

    @property
    def components(self) -> tuple[str, ...]:
        """All names, in the order of ``component_types``."""
        return (self.pointer, *self.extents, *self.strides)


@dataclass(frozen=True, slots=True)
class ParameterLeaf:
    """A scalar or array that the kernel takes, alone or inside a composite parameter."""

    parameter: int
    leaf: int
    type: Scalar | Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its components, the same in the range function and in the body."""
        stem = f"%p{self.parameter}.{self.leaf}"
        if isinstance(self.type, Scalar):
            return (stem,)
        axes = range(self.type.ndim)
        return (stem, *(f"{stem}.n{k}" for k in axes), *(f"{stem}.s{k}" for k in axes))


@dataclass(slots=True)
class Team:
    """How the threads of a GPU meet in a kernel without exits.

    Attributes:
        parting: branches and loops in which threads of a warp meet and that may part them.
        leaving: for each loop in which threads meet whether a fault of one makes those of the
            ``block`` or of the ``warp`` leave it, or none, since it ends in any case.
        mask: the name of the lanes of the warp that are here, a bit for each, i32.
    """

    parting: frozenset[Op]
    leaving: Mapping[Op, str]
    mask: str = ""


@dataclass(slots=True)
class Body:
    """The state of writing one thread's function.

    Attributes:
        names: the components of every value seen so far.
        extended: i32 values whose sign extension has a name too; it dominates what the value
            dominates.
        constants: values that are constants.
        checked: some op of the kernel keeps its guard, so the thread has a flag that it faulted.
        prints: some op prints, so the thread counts its prints.
        unit: the elements of parameter arrays follow each other along the last axis.
        gpu: the thread is one of a GPU: elements lie at natural alignment, which its launches
            check, and atomics order the threads of the device only.
        aliases: what is told of arrays that do not overlap.
        compact: arrays all of whose elements lie within 2^31 bytes.
        narrow: has every array that the kernel takes fewer than 2^31 elements on every axis?
        short: other arrays of which that is known.
        grouped: accesses that have been written together with an earlier one.
        used: values that some op reads.
        allocas: instructions for the head of the function.
        slots: what stands behind handles that the kernel takes, once it has been read.
        told: handles and kinds of which the thread has found out by now if they are good.
        loop_nodes: metadata of loops (``loops``).
        index: the name of the thread's number in its block, i32, where it is at hand.
        team: where threads of a GPU meet, and which ones.
        run_phase: writes what ``threads`` does, in the function that runs a block.
        scratch_bytes: of the arrays of a block that have no place on the stack of a CPU.
        globals: shared arrays of a GPU, as definitions of the module.
    """

    kernel: Kernel
    locations: Places | None
    gpu: bool = False
    aliases: Aliases | None = None
    writer: Writer = field(default_factory=Writer)
    names: dict[Value, tuple[str, ...]] = field(default_factory=dict)
    extended: dict[Value, str] = field(default_factory=dict)
    constants: dict[Value, bool | int | float] = field(default_factory=dict)
    ids: dict[Op, int] = field(default_factory=dict)
    checked: bool = False
    prints: bool = False
    unit: bool = False
    compact: set[Value] = field(default_factory=set)
    narrow: bool = False
    short: set[Value] = field(default_factory=set)
    grouped: set[Op] = field(default_factory=set)
    used: frozenset[Value] = frozenset()
    allocas: list[str] = field(default_factory=list)
    loop_nodes: list[str] = field(default_factory=list)
    slots: dict[tuple[Any, ...], tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    told: set[tuple[Value, object]] = field(default_factory=set)
    local_bytes: int = 0
    shared_bytes: int = 0
    scratch_bytes: int = 0
    roots: Mapping[Value, frozenset[Root]] | None = None
    sums: Mapping[Value, tuple[Value, int]] | None = None
    index: str = ""
    team: Team | None = None
    run_phase: Callable[[Op], None] | None = None
    globals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.writer.gpu = self.gpu
        self.ids = op_ids(self.kernel)
        ops = list(walk(self.kernel.body))
        self.checked = any(is_guarded(op) for op in ops)
        self.prints = any(op.name == "printf" for op in ops)
        self.used = frozenset(v for op in ops for v in op.operands)
        self.narrow = has_narrow_indices(self.kernel)
        self.unit = self.kernel.attrs.get("unit") is True
        if self.unit:
            self.compact.update(p for p in self.kernel.params if isinstance(p.type, Array))
        for leaf in parameter_leaves(self.kernel):
            param = self.kernel.params[leaf.parameter]
            if param.type is leaf.type:
                self.names[param] = self.leaf_names(leaf)

    @property
    def scope(self) -> str:
        """What atomic instructions say of the threads that they order."""
        return DEVICE_SCOPE if self.gpu else ""

    def leaf_names(self, leaf: ParameterLeaf) -> tuple[str, ...]:
        """The components of a parameter leaf; what the variant knows of them is a constant."""
        if self.unit and isinstance(leaf.type, Array):
            return (*leaf.names[:-1], str(size_of(leaf.type.dtype)))
        return leaf.names

    def notes(self, array: Value) -> str:
        """What a load or store of an array's elements says of others.

        Never that it is read only, as GPUs could use: they may begin a kernel before the one that
        writes it has ended (``grid``), and other streams may write it all the same.
        """
        return "" if self.aliases is None else self.aliases.of(self.roots_of_arrays(), array)

    def roots_of_arrays(self) -> Mapping[Value, frozenset[Root]]:
        """The parameters that each array may be."""
        if self.roots is None:
            self.roots = array_roots(self.kernel)
        return self.roots

    def name(self, value: Value) -> str:
        """The name of a scalar."""
        (name,) = self.names[value]
        return name

    def scalars(self, values: Sequence[Value]) -> list[str]:
        """The names of scalars."""
        return [self.name(v) for v in values]

    def components(self, values: Sequence[Value]) -> tuple[str, ...]:
        """All components of values, one after the other."""
        return tuple(name for v in values for name in self.names[v])

    def bind(self, values: Sequence[Value], components: Sequence[str]) -> None:
        """Give values their components, listed one after the other."""
        rest = iter(components)
        for v in values:
            self.names[v] = tuple(next(rest) for _ in component_types(v.type))

    def known(self, values: Sequence[Value]) -> list[tuple[Value, tuple[str, ...], str | None]]:
        """What values are called now, for :meth:`learn` after they have been written again."""
        return [(v, self.names[v], self.extended.get(v)) for v in values]

    def learn(self, known: Sequence[tuple[Value, tuple[str, ...], str | None]]) -> None:
        """Call values what they were called before."""
        for value, names, extended in known:
            self.names[value] = names
            if extended is not None:
                self.extended[value] = extended

    def array(self, value: Value) -> ArrayNames:
        """The names of an array."""
        pointer, *rest = self.names[value]
        rank = len(rest) // 2
        return ArrayNames(pointer, tuple(rest[:rank]), tuple(rest[rank:]), value in self.compact)

    def constant(self, op: Op) -> None:
        """``const``."""
        value, t = op.attrs["value"], op.result.type
        assert isinstance(t, Scalar)
        assert isinstance(value, bool | int | float)
        self.constants[op.result] = value
        self.names[op.result] = (literal(t, value),)

    def extend(self, value: Value) -> str:
        """An i32 or i64 value as i64.

        Raises:
            InternalError: a value of another type; the check of a kernel refuses that.
        """
        if value.type is i64:
            return self.name(value)
        if value.type is not i32:
            raise InternalError(f"index of type {value.type}")
        known = self.constants.get(value)
        if known is not None:
            return literal(i64, known)
        return self.extended.get(value) or self.writer.ins(f"sext i32 {self.name(value)} to i64")

    def root_of(self, value: Value) -> tuple[Value, int]:
        """The value and the constant of which an index is the sum, which may wrap."""
        if self.sums is None:
            self.sums = find_roots(self.kernel)
        return self.sums.get(value, (value, 0))

    def launch_index(self, value: Value) -> tuple[Value, int]:
        """A launch index and a constant of which an index is the sum; else itself and 0.

        What lies inside an array has not wrapped.
        """
        root, more = self.root_of(value)
        return (root, more) if more and root in self.extended else (value, 0)

    def shrink(self, result: Value, name: str) -> None:
        """Bind an i32 or i64 ``result`` to an i64 ``name``, which is known to fit."""
        if result.type is i32:
            self.extended[result] = name
            name = self.writer.ins(f"trunc i64 {name} to i32")
        self.names[result] = (name,)


def types_of(values: Sequence[Value]) -> list[str]:
    """LLVM types of all components of values, one after the other."""
    return [t for v in values for t in component_types(v.type)]


def zeros_of(types: Sequence[Type]) -> list[str]:
    """The constants zero of scalar types."""
    return [literal(t, 0) for t in types if isinstance(t, Scalar)]


def parameter_leaves(kernel: Kernel) -> list[ParameterLeaf]:
    """The leaves of parameters that a kernel uses, in order."""
    used: set[tuple[Value, int]] = set()
    for op in walk(kernel.body):
        if op.name == "extract":
            leaf = op.attrs["leaf"]
            assert isinstance(leaf, int)
            used.add((op.operands[0], leaf))
        else:
            used.update((v, 0) for v in op.operands)
    return [
        ParameterLeaf(n, k, leaf)
        for n, param in enumerate(kernel.params)
        for k, leaf in enumerate(leaves(param.type))
        if (param, k) in used
    ]
