"""The state of writing the function that runs several threads, and how values take lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from heald.codegen.body import ArrayNames, Body
from heald.codegen.deciding import find_deciding
from heald.codegen.spelling import intrinsic_suffix, literal, scalar_type, splat
from heald.ir import Kernel, Op, Value
from heald.passes.facts import is_guarded
from heald.passes.uniformity import Uniformity, analyse_uniformity
from heald.types import Scalar, i64

LANES_FAULTED = "%faulted.lanes"
"""An i64 in memory: the lanes that have faulted."""


@dataclass(frozen=True, slots=True)
class Tests:
    """Two i1 that know of a condition without looking at its lanes.

    ``every`` says that it holds in all lanes, ``none`` that it holds in no lane; both may be false
    of a condition that some lanes fulfil, and of any other.
    """

    every: str
    none: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison of integers with a constant, ``icmp pred type values, constant``.

    ``pred`` is none of ``eq`` and ``ne``.
    """

    pred: str
    type: Scalar
    values: str
    constant: int


@dataclass(slots=True)
class WideBody(Body):
    """The state of writing the function of ``width`` threads.

    A value that the lanes share, or that grows evenly from lane to lane, has the name of the scalar
    that it is in the first lane; any other value has the name of a vector.

    Attributes:
        width: lanes.
        uniformity: which values are shared or even.
        mask: the lanes that run the code at hand, a vector of i1; None says all of them.  Where the
            code can fault or touches memory, at least one lane runs it.
        ahead: accesses whose guards were looked at before the first effect.
        deciding: values that must be pinned down when they are loaded.
        tests: what is known of conditions.
        bounds: the masks that are comparisons of integers with a constant.
        records: some guard stands behind an effect, so lanes have flags that they faulted.
        written: lanes in an arm before the one at hand may have written.
        depth: loops around the code at hand.
        apart: the block where threads start anew that part.
        parts: some branch leads to the careful body.
        escapes: some guard starts the threads anew.
    """

    width: int = field(kw_only=True)
    uniformity: Uniformity = field(init=False)
    mask: str | None = None
    ahead: set[Op] = field(default_factory=set)
    deciding: frozenset[Value] = frozenset()
    tests: dict[Value, Tests] = field(default_factory=dict)
    bounds: dict[str, Bound] = field(default_factory=dict)
    records: bool = False
    written: bool = False
    depth: int = 0
    apart: str = ""
    parts: bool = False
    escapes: bool = False
    _vectors: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super(WideBody, self).__post_init__()
        kernel = self.kernel
        self.uniformity = analyse_uniformity(kernel)
        self.deciding = find_deciding(kernel)
        self.records = any(is_guarded(op) for op in self.uniformity.later)

    def is_late(self, op: Op) -> bool:
        """May ``op`` run after an effect, so that its threads cannot be started anew?"""
        return self.written or op in self.uniformity.late

    def position(self, value: Value) -> str:
        """An i32 or i64 index in the first lane as i64.

        The launch index plus a constant is not cut to 32 bits: an index that lies inside has not
        wrapped, and that of a lane that does not run may be anything.
        """
        root, offset = self.launch_index(value)
        name = self.extend(root)
        return self.writer.ins(f"add i64 {name}, {offset}") if offset else name

    def launch_index(self, value: Value) -> tuple[Value, int]:
        """An index that grows from lane to lane too."""
        root, offset = self.root_of(value)
        return (root, offset) if offset and root in self.uniformity.exact else (value, 0)

    # -- forms -------------------------------------------------------------------------------------

    def step(self, value: Value) -> int | None:
        """How much a value grows from lane to lane; None where it varies freely."""
        return self.uniformity.steps.get(value)

    def is_uniform(self, value: Value) -> bool:
        """Do all lanes share the value?"""
        return self.uniformity.steps.get(value) == 0

    def vector(self, value: Value) -> str:
        """The name of a scalar value as a vector of all lanes."""
        step, name, t = self.step(value), self.name(value), value.type
        assert isinstance(t, Scalar)
        if step is None:
            return name
        known = self.constants.get(value)
        if known is not None:
            return splat(t, known, self.width)
        key = (self.writer.block, f"{t} {name}", step)
        if key not in self._vectors:
            whole = self.spread(scalar_type(t), name)
            self._vectors[key] = whole if step == 0 else self._ramp(t, whole, step)
        return self._vectors[key]

    def spread(self, t: str, name: str) -> str:
        """A scalar of LLVM type ``t`` in every lane."""
        if not name.startswith("%"):
            return "zeroinitializer" if name in ("0", "null") else f"splat ({t} {name})"
        key = (self.writer.block, f"{t} {name}", 0)
        if key not in self._vectors:
            w, whole = self.writer, f"<{self.width} x {t}>"
            first = w.ins(f"insertelement {whole} poison, {t} {name}, i64 0")
            zeros = f"<{self.width} x i32> zeroinitializer"
            spread = w.ins(f"shufflevector {whole} {first}, {whole} poison, {zeros}")
            self._vectors[key] = spread
        return self._vectors[key]

    def _ramp(self, t: Scalar, base: str, step: int) -> str:
        numbers = [literal(t, _wrap(t, step * k)) for k in range(self.width)]
        lanes = lane_constants(scalar_type(t), numbers)
        return self.writer.ins(f"add <{self.width} x {scalar_type(t)}> {base}, {lanes}")

    # -- where control flow meets ------------------------------------------------------------------

    def joined_type(self, value: Value) -> str:
        """The LLVM type of the phi of a result or region argument."""
        t = value.type
        assert isinstance(t, Scalar)
        return scalar_type(t, self.width if self.step(value) is None else 1)

    def joined_types(self, values: Sequence[Value]) -> list[str]:
        """LLVM types of phis."""
        return [self.joined_type(v) for v in values]

    def as_joined(self, value: Value, target: Value) -> str:
        """``value`` in the form that the phi of ``target`` has."""
        return self.vector(value) if self.step(target) is None else self.name(value)

    def all_as_joined(self, values: Sequence[Value], targets: Sequence[Value]) -> list[str]:
        """Values in the forms of what they become."""
        return [self.as_joined(v, t) for v, t in zip(values, targets, strict=True)]

    def name_all(self, values: Sequence[Value], names: Sequence[str]) -> None:
        """Bind scalars."""
        for value, name in zip(values, names, strict=True):
            self.names[value] = (name,)

    # -- masks -------------------------------------------------------------------------------------

    @property
    def mask_type(self) -> str:
        """LLVM type of a mask."""
        return f"<{self.width} x i1>"

    @contextmanager
    def masked(self, mask: str | None) -> Iterator[None]:
        """Write what only the lanes of ``mask`` run."""
        outer, self.mask = self.mask, mask
        yield
        self.mask = outer

    @property
    def active(self) -> str:
        """The mask as a vector, also where all lanes run."""
        return self.mask or "splat (i1 true)"

    def both(self, one: str | None, other: str | None) -> str | None:
        """The lanes of two masks."""
        if one is None or other is None:
            return one or other
        return self.writer.ins(f"and {self.mask_type} {one}, {other}")

    def inverted(self, mask: str) -> str:
        """The other lanes."""
        return self.writer.ins(f"xor {self.mask_type} {mask}, splat (i1 true)")

    def any_of(self, mask: str) -> str:
        """Is there a lane?  An i1."""
        lanes = self.width
        if mask in self.bounds:
            lanes, mask = self._extremes(self.bounds[mask])
        kind = f"v{lanes}i1(<{lanes} x i1> {mask})"
        return self.writer.ins(f"call i1 @llvm.vector.reduce.or.{kind}")

    def _extremes(self, bound: Bound) -> tuple[int, str]:
        """``bound`` of the largest, or smallest, number in the same lane of all vectors.

        Gives how many lanes that are, and the mask: one comparison instead of one a vector.
        """
        w, lanes = self.writer, vector_lanes(self.kernel)
        t, whole = scalar_type(bound.type, lanes), scalar_type(bound.type, self.width)
        how = f"{bound.pred[0]}{'max' if bound.pred[1] == 'g' else 'min'}"
        extreme = ""
        for first in range(0, self.width, lanes):
            numbers = ", ".join(f"i32 {first + k}" for k in range(lanes))
            order = f"<{lanes} x i32> <{numbers}>"
            part = w.ins(f"shufflevector {whole} {bound.values}, {whole} poison, {order}")
            pair = f"({t} {extreme}, {t} {part})"
            name = f"llvm.{how}.{intrinsic_suffix(bound.type, lanes)}"
            extreme = w.ins(f"call {t} @{name}{pair}") if extreme else part
        constant = splat(bound.type, bound.constant, lanes)
        return lanes, w.ins(f"icmp {bound.pred} {t} {extreme}, {constant}")

    def all_of(self, mask: str) -> str:
        """Are all lanes there?  An i1."""
        kind = f"v{self.width}i1({self.mask_type} {mask})"
        return self.writer.ins(f"call i1 @llvm.vector.reduce.and.{kind}")

    def all_active(self, lanes: str) -> str:
        """Does ``lanes`` hold all lanes that run?  An i1."""
        if self.mask is None:
            return self.all_of(lanes)
        idle = self.inverted(self.mask)
        return self.all_of(self.writer.ins(f"or {self.mask_type} {lanes}, {idle}"))

    def bits_of(self, mask: str) -> str:
        """A mask as an i64, the first lane in the lowest bit."""
        w = self.writer
        bits = w.ins(f"bitcast {self.mask_type} {mask} to i{self.width}")
        return bits if self.width == 64 else w.ins(f"zext i{self.width} {bits} to i64")

    def chosen(self, mask: str, t: str, then: str, other: str) -> str:
        """Lane by lane ``then`` where ``mask`` is set, else ``other``; both of LLVM type ``t``."""
        if then == other:
            return then
        return self.writer.ins(f"select {self.mask_type} {mask}, {t} {then}, {t} {other}")

    # -- arrays ------------------------------------------------------------------------------------

    def has_lane_pointers(self, array: Value) -> bool:
        """Is the address of the array's first element another one in each lane?"""
        return array not in self.uniformity.steps

    def is_ragged(self, array: Value) -> bool:
        """Are extents and strides of the array vectors?"""
        return array in self.uniformity.ragged

    def lane_extents(self, array: Value, names: ArrayNames) -> tuple[str, ...]:
        """The extents as vectors of i64."""
        if self.is_ragged(array):
            return names.extents
        return tuple(self.spread("i64", extent) for extent in names.extents)

    def wide_extend(self, value: Value) -> str:
        """An i32 or i64 value as a vector of i64."""
        if value.type is i64:
            return self.vector(value)
        whole = self.vector(value)
        if whole.startswith(("splat", "zero")):
            return splat(i64, self.constants[value], self.width)
        w = self.writer
        return w.ins(f"sext <{self.width} x i32> {whole} to <{self.width} x i64>")


def vector_lanes(kernel: Kernel) -> int:
    """Threads of one vector, of which several may run side by side."""
    width, vectors = kernel.attrs["width"], kernel.attrs.get("vectors", 1)
    assert isinstance(width, int)
    assert isinstance(vectors, int)
    return width // vectors


def _wrap(t: Scalar, number: int) -> int:
    """A number modulo the width of an integer type."""
    size = 1 << t.bits
    return (number - t.lowest) % size + t.lowest


def lane_constants(t: str, numbers: Sequence[str | int]) -> str:
    """A constant vector, one number of LLVM type ``t`` a lane."""
    return "<" + ", ".join(f"{t} {n}" for n in numbers) + ">"
