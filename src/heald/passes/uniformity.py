"""What neighbouring threads have in common: an analysis of kernels without exits.

A kernel is *widened* when one stream of vector instructions runs several threads that follow each
other on the last launch dimension, its *lanes*.  All lanes take every step together, so a value
that they share is computed once, and an index that grows evenly from lane to lane is known by its
first lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heald.diagnostics import InternalError
from heald.ir import ATOMICS, LOOPS, Kernel, Op, Region, Value, walk
from heald.passes.facts import Constants, constants_of, gather, is_guarded, launch_rank, space_of
from heald.types import Array, i32, i64, u32, u64

_STEP_LIMIT = 1 << 16
_EVEN_TYPES = (i32, i64, u32, u64)
_KEEP_STEP = frozenset({"trunc", "bitcast"})
"""Conversions between integers that commute with sums modulo the width of their result."""


@dataclass(frozen=True, slots=True)
class Uniformity:
    """What is known of every value.

    Attributes:
        steps: of a value that grows evenly from lane to lane, by how much (modulo the width of its
            type); 0 says that all lanes share it.  A value without an entry varies freely.  An
            array has an entry (0) where its address is shared; of a local array every lane has its
            own copy nevertheless.
        exact: values that grow evenly without wrapping around, such as the launch index itself.
        ragged: arrays of which extents or byte strides differ between lanes.
        divergent: branches and loops that lanes leave on different ways.
        late: ops that may run after an effect of the same thread.
        later: those, and ops of second arms that run after an effect of lanes in the first one.
        effectful: ops of which running them twice differs from running them once.
    """

    steps: Mapping[Value, int]
    exact: frozenset[Value]
    ragged: frozenset[Value]
    divergent: frozenset[Op]
    late: frozenset[Op]
    later: frozenset[Op]
    effectful: frozenset[Op]

    def is_uniform(self, value: Value) -> bool:
        """Do all lanes share the value?"""
        return self.steps.get(value) == 0

    def are_uniform(self, values: tuple[Value, ...]) -> bool:
        """Do all lanes share all of the values?"""
        return all(self.steps.get(v) == 0 for v in values)


def analyse_uniformity(kernel: Kernel) -> Uniformity:
    """Find what the lanes of a widened kernel share.

    Inside a loop that lanes leave at different iterations, a carried value is shared if all lanes
    that are still in the loop share it; its result is not, since each lane keeps the one with which
    it left.  A load is shared if its address is: lanes that see different contents there have
    raced.

    Lanes are neighbouring threads, or lie ``attrs["spacing"]`` threads of the last dimension apart.

    Raises:
        InternalError: the kernel has structured exits; ``normalise_exits`` comes before.
    """
    # Which views may fail late decides little, so there every branch may be divergent.
    branches = frozenset(op for op in walk(kernel.body) if op.name == "if")
    effectful = effectful_ops(kernel)
    late = find_late(kernel, branches, effectful)
    spacing = kernel.attrs.get("spacing", 1)
    assert isinstance(spacing, int)
    analysis = _Analysis(constants_of(kernel), launch_rank(kernel) - 1, spacing, late)
    analysis.run(kernel)
    divergent = frozenset(analysis.divergent)
    return Uniformity(
        analysis.steps,
        frozenset(analysis.exact),
        frozenset(analysis.ragged),
        divergent,
        find_late(kernel, frozenset(), effectful),
        find_late(kernel, divergent, effectful),
        effectful,
    )


@dataclass(slots=True)
class _Analysis:
    """Starts from the best case and walks until nothing gets worse.

    ``free`` are the results and region arguments that proved to vary freely; it only grows.
    """

    constants: Constants
    axis: int
    spacing: int
    late: frozenset[Op]
    steps: dict[Value, int] = field(default_factory=dict)
    exact: set[Value] = field(default_factory=set)
    ragged: set[Value] = field(default_factory=set)
    divergent: set[Op] = field(default_factory=set)
    free: set[Value] = field(default_factory=set)

    def run(self, kernel: Kernel) -> None:
        known = -1
        while known != len(self.free):
            known = len(self.free)
            self.steps = dict.fromkeys(kernel.params, 0)
            self.ragged.clear()
            self.divergent.clear()
            self._region(kernel.body)

    def _set(self, value: Value, step: int | None) -> None:
        if step is not None and (step == 0 or value.type in _EVEN_TYPES):
            self.steps[value] = step

    def _merge(self, value: Value, *steps: int | None) -> None:
        """A value that is one of several: what it is when all are alike."""
        first = steps[0]
        if value in self.free or first is None or any(step != first for step in steps):
            self.free.add(value)
            self.steps.pop(value, None)
        else:
            self._set(value, first)

    def _steps(self, values: tuple[Value, ...]) -> list[int | None]:
        return [self.steps.get(v) for v in values]

    # -- control flow ------------------------------------------------------------------------------

    def _region(self, region: Region) -> tuple[Value, ...]:
        """Walk a region; gives what it yields."""
        for op in region.ops:
            match op.name:
                case "if":
                    self._if(op)
                case "for" | "while":
                    self._loop(op)
                case "scope" | "break" | "continue" | "unreachable":
                    raise InternalError(f"{op.name} before widening: normalise exits first")
                case "yield" | "return":
                    return op.operands
                case _:
                    self._plain(op)
        raise InternalError("a region without a terminator")

    def _if(self, op: Op) -> None:
        splits = self.steps.get(op.operands[0]) != 0
        then, other = (self._region(region) for region in op.regions)
        if splits:
            self.divergent.add(op)
        for result, x, y in zip(op.results, then, other, strict=True):
            if splits and x is not y:
                self._merge(result, None)
            else:
                self._merge(result, self.steps.get(x), self.steps.get(y))

    def _loop(self, op: Op) -> None:
        """Carried values first as they come in, then as the body gives them."""
        count = len(op.results)
        inits = self._steps(op.operands[len(op.operands) - count :])
        rows = [region.args[len(region.args) - count :] for region in op.regions]
        for row in rows:
            for arg, init in zip(row, inits, strict=True):
                self._merge(arg, init)
        if op.name == "for":
            splits = any(step != 0 for step in self._steps(op.operands[:3]))
            low, _, step = self._steps(op.operands[:3])
            self._set(op.regions[0].args[0], low if step == 0 else None)
        else:
            (condition,) = self._region(op.regions[0])
            splits = self.steps.get(condition) != 0
        given = self._steps(self._region(op.regions[-1]))
        if splits:
            self.divergent.add(op)
        for k, result in enumerate(op.results):
            for row in rows:
                self._merge(row[k], inits[k], given[k])
            self._merge(result, None if splits else self.steps.get(rows[-1][k]))

    # -- ops without regions -----------------------------------------------------------------------

    def _plain(self, op: Op) -> None:
        steps = self._steps(op.operands)
        match op.name:
            case "tid":
                self._set(op.result, self.spacing if op.attrs["axis"] == self.axis else 0)
                self.exact.add(op.result)
            case "sext" | "zext" if op.operands[0] in self.exact:
                self._set(op.result, steps[0])
                self.exact.add(op.result)
            case "alloc":
                self._set(op.result, 0)
            case "dim" | "stride":
                ragged = op.operands[0] in self.ragged
                self._set(op.result, None if ragged else 0)
            case "subview" | "resource_array":
                self._array(op, steps)
            case "load":
                space = op.operands[0].type
                assert isinstance(space, Array)
                own = space.space == "local" or op.operands[0] in self.ragged
                self._set(op.result, None if own or any(s != 0 for s in steps) else 0)
            case _:
                if len(op.results) == 1:
                    self._set(op.result, self._even(op, steps))

    def _array(self, op: Op, steps: list[int | None]) -> None:
        """A view or a resource's array.  Where a guard fails too late it has no elements."""
        if all(s == 0 for s in steps):
            self._set(op.result, 0)
            return
        kinds = str(op.attrs.get("axes", "s"))
        if op.operands[0] in self.ragged or "s" in kinds or (is_guarded(op) and op in self.late):
            self.ragged.add(op.result)

    def _even(self, op: Op, steps: list[int | None]) -> int | None:
        """The step of the result of a value op."""
        if all(s == 0 for s in steps):
            return 0
        if any(s is None for s in steps):
            return None
        known = [s or 0 for s in steps]
        step = self._combined(op, known)
        return step if step is not None and abs(step) <= _STEP_LIMIT else None

    def _combined(self, op: Op, steps: list[int]) -> int | None:
        match op.name:
            case "iadd":
                return steps[0] + steps[1]
            case "isub":
                return steps[0] - steps[1]
            case "ineg":
                return -steps[0]
            case "imul":
                for value, step in zip(op.operands, reversed(steps), strict=True):
                    factor = self.constants.get(value)
                    if factor is not None:
                        return int(factor) * step
                return None
            case "select":
                return steps[1] if steps[0] == 0 and steps[1] == steps[2] else None
            case name if name in _KEEP_STEP:
                return steps[0] if op.operands[0].type in _EVEN_TYPES else None
        return None


# -- effects ---------------------------------------------------------------------------------------


def effectful_ops(kernel: Kernel) -> frozenset[Op]:
    """Ops of which running them (their regions included) twice differs from running them once.

    A store to a local array does not count: whoever starts anew starts with new ones.
    """
    own = {op for op in walk(kernel.body) if _has_effect(op)}
    inside = gather(kernel, lambda op: op.name if op in own else None)
    return frozenset(own | {op for op, names in inside.items() if names})


def _has_effect(op: Op) -> bool:
    return op.name in ATOMICS or (op.name == "store" and space_of(op) != "local")


def find_late(kernel: Kernel, divergent: frozenset[Op], effectful: frozenset[Op]) -> frozenset[Op]:
    """Ops that may run after an effect of one of the lanes; before all, they can be started anew.

    Of a ``divergent`` branch the second arm runs after the first one.  ``effectful`` are the ops
    that :func:`effectful_ops` gives.
    """
    found: set[Op] = set()

    def visit(region: Region, late: bool) -> None:
        for op in region.ops:
            if late:
                found.add(op)
            inside = late or (op.name in LOOPS and op in effectful)
            for inner in op.regions:
                visit(inner, inside)
                inside = inside or (op in divergent and not effectful.isdisjoint(inner.ops))
            late = late or op in effectful

    visit(kernel.body, False)
    return frozenset(found)
