"""Which ops and values matter: an analysis over regions, loops and exits, and the sweep that
follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from heald.ir import EXITS, LOOPS, STRUCTURAL, Attr, Effect, Kernel, Op, Region, Value, effects_of
from heald.ops import TABLE
from heald.passes.facts import constants_of, may_have_step_zero
from heald.passes.rebuild import Rebuild

_ROOTS = Effect.WRITE | Effect.SYNC | Effect.PRINT


@dataclass(frozen=True, slots=True)
class Liveness:
    """Ops that must stay, and values that something reads which stays."""

    ops: frozenset[Op]
    values: frozenset[Value]


def find_live(kernel: Kernel, *, prune: bool) -> Liveness:
    """Ops that write, print, synchronise, assert, leave the kernel or may run forever, and all they
    read.

    Reading and faulting alone keep no op: a dead access may be deleted, and its fault with it.  A
    loop whose step may be 0 stays, though, since ``normalise_exits`` leaves that check as an empty
    loop.  Without ``prune`` every carried value of a live loop counts as read.
    """
    marking = _Marking(kernel, prune)
    marking.run()
    return Liveness(frozenset(marking.live_ops), frozenset(marking.live_values))


def carried_args(op: Op) -> list[tuple[Value, ...]]:
    """The arguments for the carried values of each region of a loop, those of the body last."""
    return [region.args[len(region.args) - len(op.results) :] for region in op.regions]


def carried_inits(op: Op) -> tuple[Value, ...]:
    """What the carried values of a loop are before it."""
    return op.operands[len(op.operands) - len(op.results) :]


def ends_of(op: Op) -> list[Op]:
    """The terminators that give an ``if``, loop or scope its results or its next iteration."""
    match op.name:
        case "for" | "while":
            return [*_exits(op.regions[-1], frozenset({"break", "continue"}), through_loops=False)]
        case "scope":
            return [*_exits(op.regions[0], frozenset({"return"}), through_loops=True)]
        case "if":
            ends = [region.terminator for region in op.regions]
            return [end for end in ends if end.name == "yield"]
        case _:
            return []


def _exits(region: Region, names: frozenset[str], *, through_loops: bool) -> Iterator[Op]:
    """Exits of these names that leave ``region``; also the yield at its end where it is a loop
    body.
    """
    if not through_loops and region.terminator.name == "yield":
        yield region.terminator
    yield from _inner_exits(region, names, through_loops)


def _inner_exits(region: Region, names: frozenset[str], through_loops: bool) -> Iterator[Op]:
    for op in region.ops:
        if op.name in names:
            yield op
        elif op.regions and op.name != "scope" and (through_loops or op.name not in LOOPS):
            for inner in op.regions:
                yield from _inner_exits(inner, names, through_loops)


@dataclass(slots=True)
class _Marking:
    """The state of one run of the analysis: a worklist over ops and values."""

    kernel: Kernel
    prune: bool
    live_ops: set[Op] = field(default_factory=set)
    live_values: set[Value] = field(default_factory=set)
    _work: list[Op | Value] = field(default_factory=list)
    _parent: dict[Op, Op] = field(default_factory=dict)
    _source: dict[Value, tuple[Op, int]] = field(default_factory=dict)
    _ends: dict[Op, list[Op]] = field(default_factory=dict)
    _constants: Mapping[Value, bool | int | float] = field(default_factory=dict)

    def run(self) -> None:
        self._constants = constants_of(self.kernel)
        self._index(self.kernel.body, None, in_scope=False)
        while self._work:
            item = self._work.pop()
            if isinstance(item, Op):
                self._spread_op(item)
            else:
                self._spread_value(item)

    def _index(self, region: Region, parent: Op | None, in_scope: bool) -> None:
        """Note where every value comes from, and mark the ops that matter by themselves."""
        source = self._source
        for op in region.ops:
            if parent is not None:
                self._parent[op] = parent
            for k, value in enumerate(op.results):
                source[value] = (op, k)
            if op.regions:
                self._ends[op] = ends_of(op)
                for inner in op.regions:
                    skipped = len(inner.args) - len(
                        op.results
                    )  # the loop variable is no carried value
                    for k, value in enumerate(inner.args):
                        source[value] = (op, k - skipped)
                    self._index(inner, op, in_scope or op.name == "scope")
            if self._is_root(op, in_scope):
                self._mark(op)

    def _is_root(self, op: Op, in_scope: bool) -> bool:
        match op.name:
            case "alloc":
                return False
            case "while":
                return True
            case "for":
                return may_have_step_zero(op, self._constants)
            case "return":
                return not in_scope
            case name if name in STRUCTURAL:
                return not op.regions and bool(effects_of(op, TABLE) & _ROOTS)
            case _:
                return not op.results or bool(TABLE[op.name].effects & _ROOTS)

    def _mark(self, item: Op | Value) -> None:
        if isinstance(item, Op):
            if item not in self.live_ops:
                self.live_ops.add(item)
                self._work.append(item)
        elif item not in self.live_values:
            self.live_values.add(item)
            self._work.append(item)

    def _mark_all(self, items: tuple[Value, ...]) -> None:
        for item in items:
            self._mark(item)

    def _spread_op(self, op: Op) -> None:
        parent = self._parent.get(op)
        if parent is not None:
            self._mark(parent)
        match op.name:
            case "if":
                self._mark(op.operands[0])
            case "for":
                self._mark_all(op.operands[:3])
            case "while":
                self._mark_all(op.regions[0].terminator.operands)
            case "return" if parent is None or not self._has_scope(op):
                self._mark_all(op.operands)
            case name if name in EXITS or name == "yield":
                pass  # payloads live as the results that they become
            case _:
                self._mark_all(op.operands)
        if op.name in LOOPS or op.name == "scope":
            for end in self._ends[op]:
                self._mark(end)
        if op.name in LOOPS and not self.prune:
            for k in range(len(op.results)):
                self._spread_result(op, k)

    def _has_scope(self, op: Op) -> bool:
        parent = self._parent.get(op)
        while parent is not None:
            if parent.name == "scope":
                return True
            parent = self._parent.get(parent)
        return False

    def _spread_value(self, value: Value) -> None:
        found = self._source.get(value)
        if found is None:
            return  # a parameter
        op, k = found
        self._mark(op)
        if op.regions and k >= 0:
            self._spread_result(op, k)

    def _spread_result(self, op: Op, k: int) -> None:
        """Result ``k`` of an op with regions is read, or its carried value is."""
        for end in self._ends[op]:
            self._mark(end.operands[k])
        if op.name in LOOPS:
            self._mark(carried_inits(op)[k])
            self._mark(op.results[k])
            for args in carried_args(op):
                self._mark(args[k])


# -- sweep -----------------------------------------------------------------------------------------


def sweep(kernel: Kernel, live: Liveness) -> Kernel:
    """Remove what is not live: ops, results of ``if`` and scope, carried values of loops."""
    return _Sweep(kernel, live).run()


class _Sweep:
    """Drops dead ops and trims what the live ones with regions carry."""

    def __init__(self, kernel: Kernel, live: Liveness) -> None:
        self.build = Rebuild(kernel)
        self._live = live
        self._kept: dict[Op, list[int]] = {}

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> bool | None:
        if op in self._kept:  # a terminator whose target was trimmed
            operands = tuple([op.operands[k] for k in self._kept[op]])
            self.build.append(Op(op.name, operands, (), op.attrs, (), op.span))
        elif op.name == "yield" or op.name in EXITS:
            self.build.append(op)
        elif op in self._live.ops:
            self._keep(op)
        return None

    def _keep(self, op: Op) -> None:
        if not op.regions:
            self.build.append(op)
            return
        values = self._live.values
        kept = [k for k, value in enumerate(op.results) if value in values]
        if len(kept) == len(op.results):
            self.build.copy(op, self._one)
            return
        for end in ends_of(op):
            self._kept[end] = kept
        skipped = len(op.operands) - len(op.results) if op.name in LOOPS else len(op.operands)
        operands = op.operands[:skipped] + tuple(
            [op.operands[skipped + k] for k in kept] if op.name in LOOPS else ()
        )
        regions = tuple([self._trimmed(r, len(op.results), kept) for r in op.regions])
        results = tuple([op.results[k] for k in kept])
        attrs: Mapping[str, Attr] = op.attrs
        self.build.append(Op(op.name, operands, results, attrs, regions, op.span))

    def _trimmed(self, region: Region, count: int, kept: list[int]) -> Region:
        """A region of an op of which only the results ``kept`` stay."""
        args = region.args
        if args:
            skipped = len(args) - count
            args = args[:skipped] + tuple([args[skipped + k] for k in kept])
        self.build.open()
        self.build.visit_all(region.ops, self._one)
        return Region(args, tuple(self.build.pop()))
